"""Compiles and runs the solution's code in a module of its own, as Python runs a file."""

from __future__ import annotations
import __future__

import builtins
import io
import linecache
import sys
from types import CodeType, ModuleType
from typing import Any

from grpo_rewards.code.confined.faults import FILE, describe

_FUTURES = 0
for _name in __future__.all_feature_names:
    _FUTURES |= getattr(__future__, _name).compiler_flag

RECURSION = 1000
"""Frames that a program may stack, as in a fresh interpreter: those below it are not counted."""


class LoadError(Exception):
    """The code does not compile.

    Attributes:
        fault: What is wrong, as `faults.describe` tells it.
    """

    def __init__(self, fault: dict[str, Any]) -> None:
        super().__init__(fault["message"])
        self.fault = fault


def compiled(code: str, file: str = FILE, flags: int = 0) -> CodeType:
    """Compile a text, which may open with a byte order mark and end its lines in any way.

    Raises:
        LoadError: It is no Python.
    """
    try:
        result: CodeType = compile(code.removeprefix("\ufeff"), file, "exec", flags, dont_inherit=True)
        return result
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError) as error:
        raise LoadError(describe(error, "syntax", file)) from None


def new_module(name: str) -> ModuleType:
    """Make an empty module and register it, so that dataclasses, pickle and type hints find it."""
    module = ModuleType(name)
    module.__dict__.update(__file__=FILE, __builtins__=builtins)
    sys.modules[name] = module
    return module


def run_in(module: ModuleType, given: str, code: str) -> dict[str, type]:
    """Execute the code of the prompt, then the solution, in one module.

    Args:
        module: Where their names go.
        given: Code that the prompt defines; "" for none.
        code: The solution.

    Returns:
        The classes that the code of the prompt defines.

    Raises:
        LoadError: One of them does not compile; nothing has run then.
    """
    first = compiled(given, "given.py") if given else None
    second = compiled(code, flags=first.co_flags & _FUTURES if first else 0)
    for file, text in (("given.py", given), (FILE, code)):
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    sys.setrecursionlimit(RECURSION + _depth())
    classes = {}
    if first is not None:
        exec(first, module.__dict__)
        classes = classes_of(module)
    exec(second, module.__dict__)
    return classes


def classes_of(module: ModuleType) -> dict[str, type]:
    """The classes of data that a module's own code has defined so far: their instances cross by value."""
    found = {}
    for name, value in module.__dict__.items():
        own = isinstance(value, type) and value.__module__ == module.__name__ and value.__qualname__ == name
        if own and value.__new__ is object.__new__ and type(value) is type:
            found[name] = value
    return found


def _depth() -> int:
    depth, frame = 0, sys._getframe()
    while frame.f_back is not None:
        depth, frame = depth + 1, frame.f_back
    return depth


def open_streams() -> None:
    """Give the program standard streams of its own on the descriptors 0, 1 and 2, and `exit` and `quit`.

    A process that was forked from one which did so has them already.
    """
    if sys.argv == [FILE]:
        return
    from _sitebuiltins import Quitter

    sys.stdin = sys.__stdin__ = _text(0, "r")  # type: ignore[misc]
    sys.stdout = sys.__stdout__ = _text(1, "w")  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = _text(2, "w")  # type: ignore[misc]
    sys.argv = [FILE]
    for name in ("exit", "quit"):
        setattr(builtins, name, Quitter(name, "Ctrl-D (i.e. EOF)"))


def _text(fd: int, mode: str) -> io.TextIOWrapper:
    errors = "backslashreplace" if fd == 2 else "strict"
    stream = open(fd, mode, encoding="utf-8", errors=errors, newline=None if fd == 0 else "\n", closefd=False)  # noqa: SIM115 - they stay open
    assert isinstance(stream, io.TextIOWrapper)
    return stream


def flush() -> bool:
    """Write out what the program printed.

    Returns:
        Whether that was possible.
    """
    done = True
    for stream in (sys.stdout,) if sys.stdout is sys.__stdout__ else (sys.stdout, sys.__stdout__):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except BaseException:  # the stream may be the program's own
            done = False
    return done
