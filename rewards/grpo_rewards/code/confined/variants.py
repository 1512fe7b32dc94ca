"""Values that look like a given one and are not: for trying whether an equality tells anything apart."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any


def variants(value: Any, count: int) -> list[Any]:
    """Values of the same type, all different from this one and from each other.

    Args:
        value: Plain data.
        count: How many.

    Returns:
        As many as were asked for, or none where the type has no such neighbours.
    """
    kind = type(value)
    if kind in (int, float, complex, Fraction, Decimal):
        near = [value + (step // 2 + 1) * (-1) ** step for step in range(count)]
        return near if all(other != value for other in near) else []
    if kind is str:
        return [_other_text(value, step) for step in range(count)]
    if kind in (list, tuple) and value:
        return [kind([*value[:-1], other]) for other in variants(value[-1], count)]
    if kind in (list, tuple):
        return [kind([step]) for step in range(1, count + 1)]
    if kind is dict and value:
        last = list(value)[-1]
        return [{**value, last: other} for other in variants(value[last], count)]
    return []


def _other_text(value: str, step: int) -> str:
    letter = "abcdefgh"[step % 8] * (step // 8 + 1)
    return value + letter if step % 2 or not value else value[:-1] + chr(ord(value[-1]) + step + 1)
