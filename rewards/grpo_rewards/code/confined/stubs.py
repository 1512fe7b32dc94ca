"""What the solution sees of objects that belong to the tests: callables, iterators, and objects with public names.

A stub holds a number. Everything asked of it goes over to the tests' process, which decides what it gives away.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from grpo_rewards.code.confined.operators import CROSSING

Ask = Callable[[int, str, str, tuple[Any, ...], dict[str, Any]], Any]
"""Number of the object, what is done with it, a name, arguments, keyword arguments -> what came of it."""


class Stub:
    """An object of the tests; it has their public attributes and methods."""

    __slots__ = ("__weakref__", "_ask", "_number")

    def __init__(self, number: int, ask: Ask) -> None:
        object.__setattr__(self, "_number", number)
        object.__setattr__(self, "_ask", ask)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._ask(self._number, "get", name, (), {})

    def __setattr__(self, name: str, value: Any) -> None:
        self._ask(self._number, "set", name, (value,), {})


class Function(Stub):
    """A callable of the tests."""

    __slots__ = ()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Have the tests call it."""
        return self._ask(self._number, "call", "", args, kwargs)


class AsyncFunction(Stub):
    """A coroutine function of the tests."""

    __slots__ = ()

    async def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Have the tests run it to its end."""
        return self._ask(self._number, "call", "", args, kwargs)


class Iterator(Stub):
    """An iterator of the tests."""

    __slots__ = ()

    def __iter__(self) -> Iterator:
        return self

    def __next__(self) -> Any:
        done, value = self._ask(self._number, "next", "", (), {})
        if done:
            raise StopIteration
        return value


_CLASSES: dict[tuple[str, ...], type[Stub]] = {}


def stub_class(names: list[str]) -> type[Stub]:
    """The class of stubs whose objects have these special methods."""
    wanted = tuple(sorted(CROSSING.intersection(names)))
    if wanted not in _CLASSES:
        body: dict[str, Any] = {name: _special(name) for name in wanted}
        _CLASSES[wanted] = type("Stub", (Stub,), {"__slots__": (), **body})
    return _CLASSES[wanted]


def _special(name: str) -> Callable[..., Any]:
    def method(self: Stub, *args: Any) -> Any:
        return self._ask(self._number, "special", name, args, {})

    method.__name__ = name
    return method
