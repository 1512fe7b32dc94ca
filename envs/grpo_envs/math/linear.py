"""Linear equations in one unknown: from "Solve 3x + 4 = 19 for x." to brackets and fractional solutions."""

from __future__ import annotations

from fractions import Fraction

from grpo_envs.math.effort import digit_operations, operations
from grpo_envs.math.gcd import euclid
from grpo_envs.math.style import MATHS, Working, worked
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task

ONE_SIDED = {0: (9, 1, 15, 20, False), 1: (12, 0, 20, 40, False), 2: (15, -20, 20, 60, True)}
"""Tier -> largest coefficient, smallest and largest solution, largest constant, whether negative coefficients occur."""


def effort(problem: Problem) -> float:
    """Return the digit operations of the working, and of making sure that a fraction is in lowest terms."""
    value, work = Fraction(str(problem.reference)), Working()
    if value.denominator > 1:
        top = abs(value.numerator)
        euclid(work, max(top, value.denominator), min(top, value.denominator))
    return digit_operations(problem) + operations(work.lines)


@task("math.linear", effort=effort, **MATHS)
def linear(rng: Rng, tier: int) -> Problem:
    """Solve a linear equation for x: constants on one side, then on both, then brackets, then fractions."""
    if tier in ONE_SIDED:
        return _one_sided(rng, tier)
    if tier == 3:
        return _two_sided(rng, 12, rng.integer(-12, 20))
    if tier == 4:
        return _bracket(rng)
    return _fractional(rng)


def _one_sided(rng: Rng, tier: int) -> Problem:
    largest, low, high, constant, negative = ONE_SIDED[tier]
    a = rng.integer(2, largest) * (rng.choice((1, -1)) if negative else 1)
    x = rng.integer(low, high)
    b = rng.integer(1, constant) * (rng.choice((1, -1)) if tier else 1)
    c = a * x + b
    work = Working()
    work.divide(work.subtract(c, b), a)
    return worked(f"Solve {side(a, b)} = {c} for x.", work.lines, x)


def _two_sided(rng: Rng, largest: int, x: int) -> Problem:
    a, c = rng.sample(range(1, largest + 1), 2)
    b = rng.integer(1, 40) * rng.choice((1, -1))
    d = (a - c) * x + b
    work = Working()
    difference = work.subtract(a, c)
    work.divide(work.subtract(d, b), difference)
    return worked(f"Solve {side(a, b)} = {side(c, d)} for x.", work.lines, x)


def _bracket(rng: Rng) -> Problem:
    x = rng.integer(-12, 15)
    a, d = rng.sample(range(2, 10), 2)
    b, c = (rng.integer(1, 20) * rng.choice((1, -1)) for _ in range(2))
    e = a * (x + b) + c - d * x
    work = Working()
    constant = work.add(work.multiply(a, b), c)
    difference = work.subtract(a, d)
    work.divide(work.subtract(e, constant), difference)
    bracket = f"{a}(x + {b})" if b > 0 else f"{a}(x - {-b})"
    constant_text = f"+ {c}" if c > 0 else f"- {-c}"
    return worked(f"Solve {bracket} {constant_text} = {side(d, e)} for x.", work.lines, x)


def _fractional(rng: Rng) -> Problem:
    a, c = rng.sample(range(1, 16), 2)
    b, d = (rng.integer(1, 60) * rng.choice((1, -1)) for _ in range(2))
    work = Working()
    bottom = work.subtract(a, c)
    top = work.subtract(d, b)
    x = Fraction(top, bottom)
    if str(x) != f"{top}/{bottom}":
        work.line(f"{top}/{bottom}", x)
    return worked(f"Solve {side(a, b)} = {side(c, d)} for x.", work.lines, x)


def side(coefficient: int, constant: int) -> str:
    """Write "3x + 4" the way people do: no 1x, no + -4, no + 0."""
    x = {1: "x", -1: "-x"}.get(coefficient, f"{coefficient}x")
    if constant == 0:
        return x
    return f"{x} + {constant}" if constant > 0 else f"{x} - {-constant}"
