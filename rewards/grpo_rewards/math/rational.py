"""Exact arithmetic in pure Python: the value of a tree as a Fraction where it has one, with a guard on every step."""

from __future__ import annotations

import math
from fractions import Fraction

from grpo_rewards.math import guard
from grpo_rewards.math.guard import TooBigError as TooBigError
from grpo_rewards.math.tree import Add, Call, Mul, Node, Num, Pow, Sym, Text, walk

MAX_FACTORIAL = 9_000
"""Largest argument of a factorial that is multiplied out (its result fits guard.MAX_BITS)."""


def rational(node: Node, point: dict[str, Fraction] | None = None) -> Fraction | None:
    """Return the exact value of an expression, None when it has none that rational arithmetic finds.

    Args:
        node: The expression.
        point: Values of variables.

    Raises:
        TooBigError: When a step would make a number of more than `guard.MAX_BITS` bits.
    """
    if isinstance(node, Num):
        return node.value
    if isinstance(node, Sym):
        return None if point is None else point.get(node.name)
    if isinstance(node, Text):
        return Fraction(1, 100) if node.words.strip() in ("%", "percent") else None
    if isinstance(node, (Add, Mul)):
        return _combined(node, point)
    if isinstance(node, Pow):
        return _power(rational(node.base, point), rational(node.exponent, point))
    if isinstance(node, Call):
        return _called(node, point)
    return None


def _combined(node: Add | Mul, point: dict[str, Fraction] | None) -> Fraction | None:
    is_sum = isinstance(node, Add)
    total = Fraction(0 if is_sum else 1)
    for part in node.parts:
        value = rational(part, point)
        if value is None:
            return None
        total = total + value if is_sum else total * value
        check_bits(total)
    return total


def _power(base: Fraction | None, exponent: Fraction | None) -> Fraction | None:
    if base is None or exponent is None or (base == 0 and exponent <= 0):
        return None
    if exponent.denominator != 1:
        return _root_power(base, exponent)
    if abs(base) == 1 or base == 0:
        return base if exponent % 2 or base == 0 else Fraction(1)
    guard.check_power(max(base.numerator.bit_length(), base.denominator.bit_length()), exponent.numerator)
    return base**exponent.numerator


def _root_power(base: Fraction, exponent: Fraction) -> Fraction | None:
    """Square roots of squares: sqrt(9/4) is 3/2."""
    if exponent.denominator != 2 or base < 0:
        return None
    top, bottom = math.isqrt(base.numerator), math.isqrt(base.denominator)
    if top * top != base.numerator or bottom * bottom != base.denominator:
        return None
    return _power(Fraction(top, bottom), Fraction(exponent.numerator))


def _called(node: Call, point: dict[str, Fraction] | None) -> Fraction | None:
    if node.name in ("sum", "prod"):
        return _series(node, point)
    values = [rational(argument, point) for argument in node.args]
    if any(value is None for value in values):
        return None
    known = [value for value in values if value is not None]
    first = known[0]
    if node.name == "abs":
        return abs(first)
    if node.name in ("floor", "ceil"):
        return Fraction(math.floor(first) if node.name == "floor" else math.ceil(first))
    if node.name in ("max", "min"):
        return max(known) if node.name == "max" else min(known)
    if any(value.denominator != 1 for value in known):
        return None
    return _whole(node.name, [value.numerator for value in known])


def _whole(name: str, values: list[int]) -> Fraction | None:
    """Functions of whole numbers."""
    first = values[0]
    if name in ("factorial", "factorial2") and first >= 0:
        guard.check(first, MAX_FACTORIAL, "factors in a factorial")
        return Fraction(math.factorial(first) if name == "factorial" else math.prod(range(first, 0, -2)))
    if name == "binom" and len(values) == 2 and 0 <= values[1] <= first:
        guard.check(min(values[1], first - values[1]) * first.bit_length(), guard.MAX_BITS, "bits in a binomial")
        return Fraction(math.comb(*values))
    if name in ("gcd", "lcm"):
        return Fraction(math.gcd(*values) if name == "gcd" else math.lcm(*values))
    if name == "mod" and len(values) == 2 and values[1]:
        return Fraction(first % values[1])
    return None


def _series(node: Call, point: dict[str, Fraction] | None) -> Fraction | None:
    body, index, low, high = node.args
    if any(isinstance(part, Call) and part.name == node.name for part in walk(body)):
        return None  # sums of sums: the numeric path counts their terms together
    start, end = rational(low, point), rational(high, point)
    if start is None or end is None or not isinstance(index, Sym) or start.denominator != 1 or end.denominator != 1:
        return None
    guard.check(int(end - start), guard.MAX_TERMS, "terms")
    total = Fraction(0 if node.name == "sum" else 1)
    for k in range(int(start), int(end) + 1):
        value = rational(body, {**(point or {}), index.name: Fraction(k)})
        if value is None:
            return None
        total = total + value if node.name == "sum" else total * value
        check_bits(total)
    return total


def check_bits(value: Fraction) -> None:
    """Raise TooBigError for a number of more than `guard.MAX_BITS` bits."""
    guard.check(max(value.numerator.bit_length(), value.denominator.bit_length()), guard.MAX_BITS, "bits")
