"""Values to trees; the rules stand in `codec.py`."""

from __future__ import annotations

import sys
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from datetime import date, datetime, timedelta, timezone
from datetime import time as day_time
from decimal import Decimal
from fractions import Fraction
from typing import Any

DEPTH = 200
"""Levels of nesting that a value may have."""

ITEMS = 2_000_000
"""Values that one message may hold; lists that are shared over and over grow to more than any memory."""

BITS = 1_000_000
"""Bits of the largest integer that crosses."""

FRACTION_BITS = 20_000
"""Bits of the parts of a Fraction, which are divided by their common factor, in quadratic time."""

EXPONENT = 100_000
"""The largest exponent of a Decimal: its digits can be asked for, all of them."""

NUMPY_KINDS = frozenset("biufcUS")
"""Kinds of dtype that cross: no objects, no records."""

Inner = Callable[[Any], Any]
"""Writes or reads a part of the value that a hook was given."""

Hook = Callable[[Any, Inner], Any]
"""Writes what is not plain as a tree, as an object `{"o": ...}` where it is a tree of the hook's own; or reads what
such an object holds."""

_WORD = 1 << 63
_SIMPLE = frozenset({bool, str, type(None)})
_INFINITY = float("inf")


class NotPlain(Exception):
    """A value cannot cross: it is of another type, too deep or too large."""


def encode(value: Any, foreign: Hook | None = None) -> Any:
    """Write a value as a tree of JSON.

    Args:
        value: Any value; whatever it is, no method of a class of its own is called.
        foreign: Writes what is not plain; it may raise `NotPlain`.

    Raises:
        NotPlain: With the name of the type, or the bound that was passed.
    """
    if value is None or type(value) is bool:  # the commonest answers, spared the rest
        return value
    try:
        return _Writer(foreign).write(value)
    except RecursionError:
        raise NotPlain("too deep") from None


class _Writer:
    """One pass over a value; counts what it writes."""

    def __init__(self, foreign: Hook | None) -> None:
        self.foreign = foreign
        self.depth = 0
        self.items = 0

    def write(self, value: Any) -> Any:
        """Write one value at the present depth."""
        kind = type(value)
        if kind in _SIMPLE:
            return value if kind is not str or value.isascii() else _write_text(value)
        if kind is int:
            return value if -_WORD < value < _WORD else _write_int(value)
        if kind is float:
            return value if -_INFINITY < value < _INFINITY else {"f": repr(value)}
        write = _WRITERS.get(kind)
        if write is None:
            tree = self._write_numpy(value, kind)
            if tree is not None:
                return tree
            if self.foreign is None:
                raise NotPlain(_name(kind))
            write = _write_foreign
        self.depth += 1
        if self.depth > DEPTH:
            raise NotPlain("too deep")
        tree = write(self, value)
        self.depth -= 1
        return tree

    def write_all(self, values: Iterable[Any]) -> list[Any]:
        """Write the items of a container."""
        items = list(values)
        self.items += len(items)
        if self.items > ITEMS:
            raise NotPlain("too large")
        kinds = set(map(type, items))
        if len(kinds) == 1:  # most long lists hold one type, and then nothing needs to be done per item
            (kind,) = kinds
            if kind is int and min(items) > -_WORD and max(items) < _WORD:
                return items
            if kind is bool:
                return items
        return [self.write(item) for item in items]

    def write_pairs(self, pairs: Iterable[tuple[Any, Any]]) -> list[Any]:
        """Write keys and values, in turn."""
        return self.write_all([part for pair in pairs for part in pair])

    def _write_numpy(self, value: Any, kind: type) -> Any:
        numpy = sys.modules.get("numpy")
        if numpy is None or not (kind is numpy.ndarray or issubclass(kind, numpy.generic)):
            return None
        if value.dtype.kind not in NUMPY_KINDS or value.size > ITEMS:
            return None
        data = self.write_all(value.ravel().tolist())
        return {"a": [value.dtype.str, list(value.shape) if kind is numpy.ndarray else None, data]}


def _write_foreign(writer: _Writer, value: Any) -> Any:
    assert writer.foreign is not None
    depth = writer.depth
    tree = writer.foreign(value, writer.write)
    writer.depth = depth
    return tree


def _name(kind: type) -> str:
    """The name of a class, whatever its metaclass says."""
    return str(type.__dict__["__name__"].__get__(kind))[:60]


def _write_text(value: str) -> Any:
    """JSON would join two halves of a surrogate pair, so texts with halves go as bytes."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return {"u": value.encode("utf-8", "surrogatepass").hex()}
    return value


def _write_int(value: int) -> Any:
    if value.bit_length() > BITS:
        raise NotPlain("an integer that is too large")
    return {"i": hex(value)}


def _write_fraction(writer: _Writer, value: Fraction) -> Any:
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > FRACTION_BITS:
        raise NotPlain("a Fraction that is too large")
    return {"F": [writer.write(value.numerator), writer.write(value.denominator)]}


def _write_decimal(writer: _Writer, value: Decimal) -> Any:
    if value.is_finite() and (abs(value.adjusted()) > EXPONENT or len(value.as_tuple().digits) > EXPONENT):
        raise NotPlain("a Decimal that is too large")
    return {"D": str(value)}


def _write_moment(writer: _Writer, value: Any) -> Any:
    if value.tzinfo is not None and type(value.tzinfo) is not timezone:
        raise NotPlain(_name(type(value.tzinfo)))
    return {"dt" if type(value) is datetime else "tm": value.isoformat()}


_WRITERS: dict[type, Callable[[_Writer, Any], Any]] = {
    list: lambda w, v: w.write_all(v),
    tuple: lambda w, v: {"t": w.write_all(v)},
    set: lambda w, v: {"s": w.write_all(v)},
    frozenset: lambda w, v: {"fs": w.write_all(v)},
    dict: lambda w, v: {"d": w.write_pairs(dict.items(v))},
    defaultdict: lambda w, v: {"d": w.write_pairs(dict.items(v))},
    OrderedDict: lambda w, v: {"od": w.write_pairs(dict.items(v))},
    Counter: lambda w, v: {"c": w.write_pairs(dict.items(v))},
    deque: lambda w, v: {"q": [v.maxlen, *w.write_all(v)]},
    complex: lambda w, v: {"z": [w.write(v.real), w.write(v.imag)]},
    bytes: lambda w, v: {"b": v.hex()},
    bytearray: lambda w, v: {"ba": v.hex()},
    range: lambda w, v: {"r": [w.write(v.start), w.write(v.stop), w.write(v.step)]},
    slice: lambda w, v: {"sl": [w.write(v.start), w.write(v.stop), w.write(v.step)]},
    Fraction: _write_fraction,
    Decimal: _write_decimal,
    datetime: _write_moment,
    day_time: _write_moment,
    date: lambda w, v: {"da": v.isoformat()},
    timedelta: lambda w, v: {"td": [v.days, v.seconds, v.microseconds]},
    type({}.keys()): lambda w, v: {"dk": w.write_pairs(zip(v, range(len(v)), strict=True))},
    type({}.values()): lambda w, v: {"dv": w.write_pairs(enumerate(v))},
    type({}.items()): lambda w, v: {"di": w.write_pairs(v)},
}
