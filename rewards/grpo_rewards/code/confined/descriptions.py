"""What the solution's process says about its objects: enough for the tests to hold something in their place."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from types import (
    AsyncGeneratorType,
    BuiltinFunctionType,
    CoroutineType,
    FunctionType,
    GeneratorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
)
from typing import Any

from grpo_rewards.code.confined.basedata import BASES, IMMUTABLE, base_of
from grpo_rewards.code.confined.coroutines import is_coroutine_function
from grpo_rewards.code.confined.encoding import Inner
from grpo_rewards.code.confined.faults import MESSAGE, base_name, class_name, text_of
from grpo_rewards.code.confined.operators import special_methods
from grpo_rewards.code.confined.stubs import Stub
from grpo_rewards.code.confined.values import builtin_name

_FUNCTIONS = (
    FunctionType,
    BuiltinFunctionType,
    MethodType,
    MethodWrapperType,
    functools.partial,
    type(functools.lru_cache(lambda: None)),
    type(str.upper),
)
_ITERATOR_MODULES = ("builtins", "itertools", "collections", "functools")


def told_args(error: BaseException) -> list[Any]:
    """The arguments of an exception where they are plain and short, else its message."""
    args = error.args
    usual = len(args) < 5 and type(error).__str__ in (BaseException.__str__, KeyError.__str__)
    if usual and all(type(p) in (bool, int, float) or (type(p) is str and len(p) <= MESSAGE) for p in args):
        return list(args)
    return [text_of(error)]


class Thing:
    """Marks a value that crosses as an object even where its data could cross too."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _running(kind: type) -> str | None:
    """The letter for what has a beginning and an end: coroutines, iterators and asynchronous ones of the library."""
    if kind is CoroutineType:
        return "w"
    library = kind.__module__ in _ITERATOR_MODULES
    if kind is AsyncGeneratorType or (library and hasattr(kind, "__anext__")):
        return "a"
    return "i" if kind is GeneratorType or (library and hasattr(kind, "__next__")) else None


class Describer:
    """Numbers the objects that the tests hold, and describes them."""

    def __init__(self) -> None:
        self.things: dict[int, Any] = {}
        self.numbers: dict[int, int] = {}
        self.last = 0
        self.told: set[int] = set()

    def number(self, thing: Any) -> int:
        """The number of an object, which lives until the tests let it go."""
        number = self.numbers.get(id(thing))
        if number is None:
            self.last += 1
            number = self.numbers[id(thing)] = self.last
            self.things[number] = thing
        return number

    def forget(self, numbers: Iterable[int]) -> None:
        """Let objects go that the tests no longer hold."""
        for number in numbers:
            thing = self.things.pop(number, None)
            self.numbers.pop(id(thing), None)

    def data(self, thing: Any) -> Any:
        """The plain data inside an object whose class extends a built-in type."""
        found = base_of(thing)
        if found is None:
            raise TypeError("no data")
        return found[1]

    def exception(self, error: BaseException) -> Any:
        """What stands for an exception: its own object where its class is no built-in one, else its arguments."""
        return told_args(error) if builtin_name(type(error)) else Thing(error)

    def write(self, value: Any, inner: Inner) -> Any:
        """The hook of `encode` for values that are not plain."""
        return {"o": self._body(value, inner)}

    def _body(self, value: Any, inner: Inner) -> dict[str, Any]:
        kind = type(value)
        if kind is Thing:
            value, kind = value.value, type(value.value)
        elif issubclass(kind, Stub):
            return {"k": "t", "h": object.__getattribute__(value, "_number")}
        if isinstance(value, type):
            return self.describe_class(value)
        if kind is ModuleType:
            return {"k": "m", "n": value.__name__}
        number = self.number(value)
        running = _running(kind)
        if running is not None:
            return {"k": running, "h": number}
        if kind in _FUNCTIONS:
            return self._function(value, number)
        body = {"k": "o", "h": number, "c": self.describe_class(kind)}
        found = base_of(value)
        if found is not None:
            body["d"] = inner(found[1])
        elif isinstance(value, BaseException):
            body["d"] = inner(told_args(value))
        return body

    def _function(self, value: Any, number: int) -> dict[str, Any]:
        target = value.func if type(value) is functools.partial else value
        name = getattr(value, "__name__", "partial")
        return {
            "k": "f",
            "h": number,
            "n": name if type(name) is str else "function",
            "a": is_coroutine_function(target),
        }

    def describe_class(self, cls: type) -> dict[str, Any]:
        """Describe a class, in full when it is spoken of for the first time."""
        builtin = builtin_name(cls)
        if builtin is not None:
            return {"k": "b", "n": builtin}
        number = self.number(cls)
        if number in self.told:
            return {"k": "c", "h": number}
        self.told.add(number)
        mro = type.__dict__["__mro__"].__get__(cls)
        base = next((base.__name__ for base, _ in BASES if issubclass(cls, base)), "")
        methods: set[str] = set()
        for part in mro:
            methods.update(n for n, v in part.__dict__.items() if type(v) is FunctionType and not n.startswith("__"))
        return {
            "k": "c",
            "h": number,
            "n": class_name(cls),
            "q": cls.__qualname__,
            "doc": cls.__doc__ if type(cls.__doc__) is str else None,
            "p": [self.describe_class(parent) for parent in cls.__bases__ if parent is not object],
            "d": special_methods(cls, own=base in IMMUTABLE),
            "m": sorted(methods),
            "b": base,
            "e": base_name(cls) if issubclass(cls, BaseException) else "",
            "l": type(cls) is not type,
        }
