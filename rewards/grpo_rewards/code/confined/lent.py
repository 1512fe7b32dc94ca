"""The tests' own objects in the hands of the solution: what it may do with them, and nothing else.

A function can be called, an iterator can be asked for its next item. An object shows the public attributes that it
holds itself, the public methods and properties that its class defines in Python, and the special methods among those
that cross. Names with an underscore are never read: behind them lie frames, globals and code.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from grpo_rewards.code.confined.channel import Malformed
from grpo_rewards.code.confined.coroutines import finished, is_coroutine, is_coroutine_function, is_routine
from grpo_rewards.code.confined.operators import CROSSING
from grpo_rewards.code.confined.values import builtin_name, by_name

DEPTH = 50
"""Calls of the tests and the solution into one another that may be open at a time."""


class Lent:
    """The objects lent so far, by number.

    Args:
        may_change: Whether the solution may set attributes of what it was passed.
    """

    def __init__(self, *, may_change: bool) -> None:
        self.may_change = may_change
        self.things: list[tuple[str, Any]] = []
        self.numbers: dict[int, int] = {}
        self.errors: list[BaseException] = []
        self.depth = 0
        self.commands: dict[str, Callable[..., Any]] = {
            "call": _call,
            "next": _next,
            "get": _get,
            "set": self._set,
            "special": _special,
        }

    def lend(self, thing: Any) -> dict[str, Any]:
        """Describe an object to the solution: by its name where it has it too, else by a number."""
        name = builtin_name(thing)
        body = {"k": "b", "n": name} if name is not None else by_name(thing)
        if body is not None:
            return body
        number = self.numbers.get(id(thing))
        if number is None:
            number = self.numbers[id(thing)] = len(self.things)
            self.things.append((_kind(thing), thing))
        kind = self.things[number][0]
        body = {"k": kind, "h": number}
        if kind == "f":
            body["a"] = is_coroutine_function(thing)
        elif kind == "o":
            body["d"] = [name for name in CROSSING if _defined(thing, name) is not None]
        return body

    def returned(self, number: Any) -> Any:
        """The object with a number that the solution sent back."""
        return self._thing(number)[1]

    def do(self, request: dict[str, Any], args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Do what the solution asks for with one of the objects.

        Raises:
            Malformed: The request is none that its stubs make.
            Exception: What the tests' own code raises.
        """
        kind, thing = self._thing(request["cb"])
        command, name = self.commands.get(request["do"]), request["name"]
        if command is None or type(name) is not str:
            raise Malformed("no request")
        if self.depth >= DEPTH:
            raise RecursionError("the tests and the solution call one another without end")
        self.depth += 1
        try:
            return command(kind, thing, name, *args, **kwargs)
        finally:
            self.depth -= 1

    def fault(self, error: BaseException) -> dict[str, Any]:
        """Tell the solution of an exception that the tests' code raised; one of their own classes by a number."""
        message = str(error)[:300]
        name = builtin_name(type(error))
        if name is not None:
            return {"type": name, "message": message}
        self.errors.append(error)
        return {"ref": len(self.errors) - 1, "message": message}

    def raised(self, number: Any) -> BaseException:
        """The exception with a number."""
        if type(number) is not int or not 0 <= number < len(self.errors):
            raise Malformed("no exception of the tests")
        return self.errors[number]

    def _thing(self, number: Any) -> tuple[str, Any]:
        if type(number) is not int or not 0 <= number < len(self.things):
            raise Malformed("no object of the tests")
        return self.things[number]

    def _set(self, kind: str, thing: Any, name: str, value: Any) -> None:
        if not self.may_change or kind != "o" or name.startswith("_") or hasattr(type(thing), name):
            raise AttributeError(f"cannot set {name}")
        setattr(thing, name, value)


def _kind(thing: Any) -> str:
    if isinstance(thing, type) or is_routine(thing):
        return "f"
    if hasattr(type(thing), "__next__"):
        return "i"
    return "f" if callable(thing) and _defined(thing, "__call__") is None else "o"


def _defined(thing: Any, name: str) -> FunctionType | None:
    """The plain function that an object's class defines under a name."""
    for base in type(thing).__mro__:
        if name in base.__dict__:
            found = base.__dict__[name]
            return found if isinstance(found, FunctionType) else None
    return None


def _call(kind: str, thing: Any, name: str, /, *args: Any, **kwargs: Any) -> Any:
    if kind != "f":
        raise TypeError("not callable")
    value = thing(*args, **kwargs)
    return _finished(value) if is_coroutine(value) else value


def _finished(coroutine: Any) -> Any:
    """Run a coroutine to its end beside the loop in which the tests wait for the solution."""
    import threading

    found: list[Any] = []

    def run() -> None:
        try:
            found.append((True, finished(coroutine)))
        except BaseException as error:  # handed to the thread that waits
            found.append((False, error))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    done, value = found[0]
    if not done:
        raise value
    return value


def _next(kind: str, thing: Any, name: str) -> tuple[bool, Any]:
    if kind != "i":
        raise TypeError("not an iterator")
    try:
        return False, next(thing)
    except StopIteration:
        return True, None


def _get(kind: str, thing: Any, name: str) -> Any:
    if kind != "o" or name.startswith("_"):
        raise AttributeError(name)
    own = getattr(thing, "__dict__", {})
    if name in own:
        return own[name]
    if _defined(thing, name) is not None or any(
        isinstance(b.__dict__.get(name), property) for b in type(thing).__mro__
    ):
        return getattr(thing, name)
    raise AttributeError(name)


def _special(kind: str, thing: Any, name: str, /, *args: Any) -> Any:
    method = _defined(thing, name) if kind == "o" and name in CROSSING else None
    if method is None:
        raise AttributeError(name)
    return method(thing, *args)
