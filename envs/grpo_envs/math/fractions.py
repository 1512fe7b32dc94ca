"""Fractions: sums with one denominator, with two, products, quotients, and nested expressions."""

from __future__ import annotations

import math
from fractions import Fraction

from grpo_envs.math.effort import size_of_expression
from grpo_envs.math.style import MATHS, Working, worked
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task

Ratio = tuple[int, int]
"""Numerator and denominator as written, not reduced."""


@task("math.fractions", effort=size_of_expression, **MATHS)
def fractions(rng: Rng, tier: int) -> Problem:
    """Compute with fractions; the answer may be given in any equal form."""
    work = FractionWorking()
    if tier == 0:
        n = rng.integer(3, 20)
        text, value = _sum(work, rng, (rng.integer(1, n - 1), n), (rng.integer(1, n - 1), n))
    elif tier == 1:
        text, value = _sum(work, rng, _proper(rng, 10), _proper(rng, 10))
    elif tier == 2:
        text, value = _product(work, rng, _proper(rng, 12), _proper(rng, 12))
    elif tier == 3:
        left, value = _sum(work, rng, _proper(rng, 10), _proper(rng, 10))
        third = _proper(rng, 9)
        text, value = f"{left} + {_show(third)}", work.add(value, third)
    else:
        text, value = _nested(work, rng, 9 if tier == 4 else 15, quotient=tier == 5)
    return worked(f"Compute {text}.", work.lines, Fraction(*value))


class FractionWorking(Working):
    """Working with fractions: every step is shown on whole numbers, then reduced."""

    def add(self, a: Ratio, b: Ratio) -> Ratio:  # type: ignore[override]  # same verbs on another kind of number
        """Return a + b reduced; a subtraction is a negative numerator."""
        (p, q), (r, s) = a, b
        if q == s:
            return self.reduce(super().add(p, r), q)
        left, right = self.multiply(p, s), self.multiply(abs(r), q)
        bottom = self.multiply(q, s)
        return self.reduce(super().add(left, right if r > 0 else -right), bottom)

    def times(self, a: Ratio, b: Ratio) -> Ratio:
        """Return a * b reduced."""
        return self.reduce(self.multiply(a[0], b[0]), self.multiply(a[1], b[1]))

    def reduce(self, top: int, bottom: int) -> Ratio:
        """Return top / bottom in lowest terms, showing both divisions."""
        common = math.gcd(top, bottom)
        if common == 1:
            return top, bottom
        return self.divide(top, common), self.divide(bottom, common)


def _proper(rng: Rng, largest: int) -> Ratio:
    bottom = rng.integer(2, largest)
    return rng.integer(1, bottom - 1), bottom


def _show(ratio: Ratio) -> str:
    return f"{ratio[0]}/{ratio[1]}"


def _sum(work: FractionWorking, rng: Rng, a: Ratio, b: Ratio) -> tuple[str, Ratio]:
    """Return text and value of a + b, or of the larger minus the smaller."""
    if rng.chance(1, 2) or Fraction(*a) == Fraction(*b):
        return f"{_show(a)} + {_show(b)}", work.add(a, b)
    if Fraction(*a) < Fraction(*b):
        a, b = b, a
    return f"{_show(a)} - {_show(b)}", work.add(a, (-b[0], b[1]))


def _product(work: FractionWorking, rng: Rng, a: Ratio, b: Ratio) -> tuple[str, Ratio]:
    if rng.chance(1, 2):
        return f"{_show(a)} * {_show(b)}", work.times(a, b)
    return f"({_show(a)}) / ({_show(b)})", work.times(a, (b[1], b[0]))


def _nested(work: FractionWorking, rng: Rng, largest: int, quotient: bool) -> tuple[str, Ratio]:
    inner, value = _sum(work, rng, _proper(rng, largest), _proper(rng, largest))
    outer = _proper(rng, largest)
    if quotient and value[0] != 0:
        return f"({_show(outer)}) / ({inner})", work.times(outer, (value[1], value[0]))
    return f"({inner}) * {_show(outer)}", work.times(value, outer)
