"""Values of the solution's subclasses of built-in types, as the data that the built-in type holds.

A namedtuple is a tuple, a member of an IntEnum an integer. The data is read by the built-in type's own methods, so that
a subclass cannot show one thing here and claim another elsewhere.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from grpo_rewards.code.confined.encoding import NotPlain
from grpo_rewards.code.confined.faults import class_name

BASES: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (int, lambda v: int.__add__(v, 0)),
    (float, lambda v: float.__pos__(v)),
    (complex, lambda v: complex.__pos__(v)),
    (str, lambda v: str.__str__(v)),
    (bytes, lambda v: bytes.__getitem__(v, slice(None))),
    (bytearray, lambda v: bytearray.__getitem__(v, slice(None))),
    (list, lambda v: list.__getitem__(v, slice(None))),
    (tuple, lambda v: tuple.__getitem__(v, slice(None))),
    (set, lambda v: set.copy(v)),
    (frozenset, lambda v: frozenset.__or__(v, frozenset())),
    (dict, lambda v: dict(dict.items(v))),
    (deque, lambda v: deque(deque.__iter__(v), deque.maxlen.__get__(v))),
)
"""Built-in types that can have subclasses, and how the data of one is read."""

IMMUTABLE = frozenset({"int", "float", "complex", "str", "bytes", "tuple", "frozenset"})
"""Names of those whose data never changes."""


def base_of(value: Any) -> tuple[type, Any] | None:
    """The built-in type that a value's class extends, and its data; None for other classes."""
    for base, read in BASES:
        if issubclass(type(value), base):
            return base, read(value)
    return None


def base_data(value: Any, inner: Callable[[Any], Any]) -> Any:
    """A hook of `encode` for values that nobody asks more of than their data."""
    found = base_of(value)
    if found is None:
        raise NotPlain(class_name(type(value)))
    return inner(found[1])
