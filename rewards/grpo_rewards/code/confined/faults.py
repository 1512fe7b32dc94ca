"""What went wrong in a program, as plain data: told safely, since the exception may be of a hostile class."""

from __future__ import annotations

import builtins
from typing import Any

FILE = "solution.py"
"""The file name that the solution's code carries in tracebacks."""

MESSAGE = 300
"""Characters of a message that are told."""

_FRAMES = 100_000


def class_name(kind: type) -> str:
    """The name of a class, whatever its metaclass says."""
    return str(type.__dict__["__name__"].__get__(kind))[:60]


def base_name(kind: type) -> str:
    """The name of the nearest built-in exception among the bases of an exception class."""
    for base in type.__dict__["__mro__"].__get__(kind):
        name = class_name(base)
        if builtins.__dict__.get(name) is base:
            return name
    return "Exception"


def text_of(error: BaseException) -> str:
    """The message of an exception, bounded; "" when its own methods fail."""
    try:
        return str.__str__(str.__getitem__(str(error), slice(MESSAGE)))
    except BaseException:  # a hostile __str__ may raise anything
        return ""


def line_of(error: BaseException, file: str = FILE) -> int | None:
    """The line of the program's own text at which an exception was raised."""
    if isinstance(error, SyntaxError) and error.filename == file:
        return error.lineno
    line, trace = None, error.__traceback__
    for _ in range(_FRAMES):
        if trace is None:
            break
        if trace.tb_frame.f_code.co_filename == file:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def describe(error: BaseException, kind: str | None = None, file: str = FILE) -> dict[str, Any]:
    """Tell an exception as plain data.

    Args:
        error: What was raised.
        kind: "syntax" for code that did not compile; otherwise "exit" for SystemExit and "exception" for the rest.
        file: The file name of the text whose line is told.

    Returns:
        "kind", "type", "base" (the nearest built-in class), "message" and "line".
    """
    cls = type(error)
    return {
        "kind": kind or ("exit" if issubclass(cls, SystemExit) else "exception"),
        "type": class_name(cls),
        "base": base_name(cls),
        "message": text_of(error),
        "line": line_of(error, file),
    }
