"""Exceptions of the solution, made anew among the tests.

A built-in exception becomes the same one, an exception of the solution's own class an instance of the class that stands
for it here. Those by which Python ends loops, generators and programs become RuntimeError: raised in the middle of
`all(map(f, xs))` they would end the test early, and with success.
"""

from __future__ import annotations

import builtins
from typing import Any

from grpo_rewards.code.confined.channel import Malformed

ENDING = (StopIteration, StopAsyncIteration, GeneratorExit, SystemExit, KeyboardInterrupt)
"""Exceptions that end more than the call which raised them."""

_MESSAGE = 300


class SolutionError(RuntimeError):
    """The solution raised an exception that would end the tests."""


def safe_base(name: Any) -> type[BaseException]:
    """The built-in exception with a name, or `SolutionError` for one that would end the tests.

    Raises:
        Malformed: There is none.
    """
    cls = builtins.__dict__.get(name) if type(name) is str else None
    if not isinstance(cls, type) or not issubclass(cls, BaseException):
        raise Malformed("no class of exceptions")
    return SolutionError if issubclass(cls, ENDING) or not issubclass(cls, Exception) else cls


def exception_from(fault: dict[str, Any], value: Any, own: BaseException | None) -> BaseException:
    """Make the exception that a reply tells of.

    Args:
        fault: "type", "base" and "message".
        value: Arguments of the exception, or the proxy that stands for it.
        own: An exception of the tests, which the solution let pass.

    Raises:
        Malformed: The reply tells of none.
    """
    if own is not None or isinstance(value, BaseException):
        error = own if own is not None else value
        return SolutionError(f"{type(error).__name__}: {error}") if isinstance(error, ENDING) else error
    name, base, message = fault.get("type"), fault.get("base"), fault.get("message")
    cls = safe_base(base)
    if type(name) is not str or type(message) is not str:
        raise Malformed("no exception")
    if cls is SolutionError:
        return SolutionError(f"{name[:60]}: {message[:_MESSAGE]}")
    error = cls.__new__(cls)
    plain = type(value) is list and name == base and all(type(part) in (str, int, float, bool) for part in value)
    error.args = tuple(value) if plain else (message[:_MESSAGE],)
    return error
