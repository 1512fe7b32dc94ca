"""Coroutines, without asyncio and inspect until one is met: every run is forked from what is imported."""

from __future__ import annotations

import functools
from types import (
    BuiltinFunctionType,
    CoroutineType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    WrapperDescriptorType,
)
from typing import Any

_ROUTINES = (
    BuiltinFunctionType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    WrapperDescriptorType,
)

_CO_COROUTINE = 0x80
"""The flag of code objects made by `async def` (inspect.CO_COROUTINE)."""


def is_coroutine(value: object) -> bool:
    """Whether this is what a call of an `async def` function returns."""
    return isinstance(value, CoroutineType)


def is_coroutine_function(value: Any) -> bool:
    """Whether this is a function made by `async def`, or a method or `functools.partial` of one."""
    while isinstance(value, functools.partial):
        value = value.func
    if isinstance(value, MethodType):
        value = value.__func__
    return isinstance(value, FunctionType) and bool(value.__code__.co_flags & _CO_COROUTINE)


def is_routine(value: object) -> bool:
    """Whether this is a function or method, written in Python or built in."""
    return isinstance(value, _ROUTINES)


def finished(coroutine: Any) -> Any:
    """Run a coroutine to its end in a loop of its own, and return what it returns."""
    import asyncio

    return asyncio.run(coroutine)
