"""Plain data: the kinds of values that are compared, and how a value is written in a message."""

from __future__ import annotations

import sys
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from types import EllipsisType, NoneType
from typing import Any

KINDS: dict[type, str] = {
    NoneType: "None", bool: "a bool", int: "a number", float: "a number", complex: "a complex number", str: "a text",
    bytes: "bytes", bytearray: "bytes", list: "a list", tuple: "a list", set: "a set", frozenset: "a set",
    dict: "a dict", OrderedDict: "a dict", defaultdict: "a dict", Counter: "a dict", deque: "a deque",
    range: "a range", slice: "a slice", Fraction: "a fraction", Decimal: "a decimal", datetime: "a datetime",
    date: "a date", time: "a time", timedelta: "a timedelta", EllipsisType: "an ellipsis",
}  # fmt: skip
"""What each type counts as: values of different kinds are never equal."""

_BRACKETS: dict[type, tuple[str, str]] = {
    list: ("[", "]"), tuple: ("(", ")"), set: ("{", "}"), frozenset: ("frozenset({", "})"), deque: ("deque([", "])"),
}  # fmt: skip

DEEPEST = 200
"""Levels of nesting of an expected value: what a solution returns is not deeper."""


def why_not_plain(value: object, depth: int = DEEPEST) -> str:
    """Return why an expected value could never be equal to anything, "" when it could."""
    if depth == 0:
        return f"nested more than {DEEPEST} levels deep"
    value = unpacked(value)
    kind = KINDS.get(type(value))
    if kind is None:
        return f"holds a {type(value).__name__}, which is no plain data"
    parts: Sequence[object] | Iterator[object] = ()
    if kind == "a dict":
        assert isinstance(value, Mapping)
        parts = (part for item in value.items() for part in item)
    elif kind in ("a list", "a set", "a deque"):
        assert isinstance(value, (list, tuple, set, frozenset, deque))
        parts = iter(value)
    return next((why for part in parts if (why := why_not_plain(part, depth - 1))), "")


def shown(value: object, limit: int = 120) -> str:
    """Return a value as Python would write it, cut at about `limit` characters; never slow, never raises."""
    text = ""
    for piece in _pieces(value, limit):
        text += piece
        if len(text) > limit:
            break
    return cut(text, limit)


def unpacked(value: Any) -> Any:
    """Return the list or number that a value of numpy holds, anything else as it is."""
    if type(value) in KINDS:
        return value
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return value
    if type(value) is numpy.ndarray:
        return value.tolist()
    return value.item() if isinstance(value, numpy.generic) else value


def _pieces(value: Any, limit: int) -> Iterator[str]:
    """Yield the representation piece by piece, so that whoever has enough can stop."""
    value = unpacked(value)
    kind = KINDS.get(type(value))
    if kind == "a dict":
        yield "{"
        for number, (key, inner) in enumerate(value.items()):
            yield ", " * (number > 0)
            yield from _pieces(key, limit)
            yield ": "
            yield from _pieces(inner, limit)
        yield "}"
    elif kind in ("a list", "a set", "a deque") and value:
        opening, closing = _BRACKETS[type(value)]
        yield opening
        for number, inner in enumerate(value):
            yield ", " * (number > 0)
            yield from _pieces(inner, limit)
        yield "," * (type(value) is tuple and len(value) == 1) + closing
    elif kind in ("a text", "bytes"):
        yield repr(value[:limit]) + "..." * (len(value) > limit)
    else:
        yield _scalar(value, kind)


def _scalar(value: Any, kind: str | None) -> str:
    if kind is None:
        return f"a {type(value).__name__}"
    if type(value) is int and value.bit_length() > 1_000:
        return f"an integer of {value.bit_length()} bits"
    try:
        return repr(value)
    except ValueError:  # digits by the thousand in a fraction or range
        return f"{kind} too long to show"


def cut(text: str, limit: int) -> str:
    """Return the text, cut at the limit."""
    return text if len(text) <= limit else text[:limit] + "..."
