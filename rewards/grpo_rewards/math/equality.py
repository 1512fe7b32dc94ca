"""Whether two expressions have the same value: structure first, then exact rationals, then numbers at sample points."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from grpo_rewards.math import guard
from grpo_rewards.math.canonical import key
from grpo_rewards.math.guard import TooBigError, UndecidedError
from grpo_rewards.math.numeric import BITS, SLACK, DomainError, Evaluator, context, with_lock
from grpo_rewards.math.rational import rational
from grpo_rewards.math.tree import Call, Node, Num, symbols, walk

POINTS_NEEDED = 3
"""Sample points at which two expressions must agree; a pair that differs fails at the first, all but surely."""

_RANGES = (
    (0.5, 2.5, "+"), (0.1, 0.9, "+"), (0.5, 2.5, "-+"), (3.0, 30.0, "+"), (0.5, 2.5, "-+"), (0.1, 0.9, "-+"),
    (30.0, 90.0, "+"),
)  # fmt: skip
"""Where variables are sampled: size and signs. Powers and logarithms need positive ones, absolute values both."""

_WHOLE = ((4, 9, 2), (5, 8, 3), (7, 6, 4), (2, 3, 5))

Point = dict[str, Fraction]


def equal(left: Node, right: Node) -> bool:
    """Whether two expressions are equal wherever both are real numbers (or complex ones, where they are nowhere real).

    Raises:
        UndecidedError: When they have no values that can be compared here.
        TooBigError: When a limit of `guard` is hit on the way.
    """
    if key(left) == key(right):
        return True
    names = sorted(symbols(left) | symbols(right))
    if not names:
        try:
            a, b = rational(left), rational(right)
        except TooBigError:
            a = b = None
        if a is not None and b is not None:
            return a == b
    _check_size(left, right)
    return _agree(left, right, names, "e") or _with_other_logarithm(left, right, names)


def sample(names: Sequence[str]) -> Iterator[tuple[Point, bool]]:
    """Yield points, always the same for the same names, and whether leaving the real numbers is an error at them."""
    source = random.Random(20_240_229)
    for low, high, signs in _RANGES:
        point = {}
        for name in names:
            value = Fraction(round(source.uniform(low, high) * 2**20), 2**20)
            point[name] = -value if signs == "-+" and source.random() < 0.5 else value
        if signs == "-+" and point and all(value > 0 for value in point.values()):
            point = {name: -value for name, value in point.items()}
        yield point, True
    for whole in _WHOLE:
        yield {name: Fraction(whole[place % 3] + place // 3) for place, name in enumerate(names)}, True
    for low, high, _ in _RANGES[:3]:
        yield {name: Fraction(round(source.uniform(low, high) * 2**20), 2**20) for name in names}, False


def values(nodes: Sequence[Node], point: Point, real: bool, base: str = "e") -> tuple[list[Any], Any]:
    """Return the values of expressions at one point, and the largest difference that rounding may explain.

    Raises:
        DomainError: When one of them has no value there.
        UndecidedError: When it takes calculus to find it.
        TooBigError: When a limit is hit.
    """
    c = context()
    bits = BITS
    with with_lock():
        before = c.prec
        try:
            for _ in range(2):
                c.prec = bits
                numbers = {name: c.mpf(x.numerator) / x.denominator for name, x in point.items()}
                evaluator = Evaluator(numbers, real, base)
                found = [evaluator.value(node) for node in nodes]
                if evaluator.span <= 40:
                    break
                if evaluator.span > guard.MAX_SPAN:
                    if _far_apart(c, found):
                        return found, c.mpf(0)
                    raise TooBigError("values too far apart in size to be compared")
                if bits > BITS:
                    break
                bits = BITS + 2 * evaluator.span
            return found, c.ldexp(1, evaluator.high + SLACK - bits)
        finally:
            c.prec = before


def _far_apart(c: Any, found: list[Any]) -> bool:
    """Whether two huge or tiny values differ beyond doubt at the precision at hand."""
    return len(found) == 2 and abs(found[0] - found[1]) > abs(found[0]) * c.ldexp(1, -SLACK)


def _agree(left: Node, right: Node, names: list[str], base: str) -> bool:
    used, too_big = 0, None
    for point, real in sample(names):
        if not real and used:
            break  # complex values only where there are no real ones
        try:
            (a, b), noise = values((left, right), point, real and bool(names), base)
        except (DomainError, TooBigError) as error:
            too_big = error if isinstance(error, TooBigError) else too_big
            if not names:
                break
            continue
        if abs(a - b) > noise:
            return False
        used += 1
        if not names or used >= POINTS_NEEDED + 3:
            return True
    if used >= POINTS_NEEDED:
        return True
    if too_big is not None:
        raise too_big
    raise UndecidedError("no sample point is in the domain of both")


def _with_other_logarithm(left: Node, right: Node, names: list[str]) -> bool:
    """Try `log` as the decimal logarithm, where it is written without a base."""
    parts = (*walk(left), *walk(right))
    if any(isinstance(part, Call) and part.name == "log" and len(part.args) == 1 for part in parts):
        return _agree(left, right, names, "10")
    return False


def _check_size(left: Node, right: Node) -> None:
    size = 0
    for node in (left, right):
        for part in walk(node):
            size += 1
            guard.check(size, 2 * guard.MAX_NODES, "nodes")
            if isinstance(part, Num) and part.value.denominator.bit_length() > guard.MAX_BITS:
                raise TooBigError("a number too long to be evaluated")
