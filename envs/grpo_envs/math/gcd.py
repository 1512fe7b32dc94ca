"""Greatest common divisors and least common multiples by Euclid's algorithm."""

from __future__ import annotations

import math

from grpo_envs.math.effort import calculations
from grpo_envs.math.style import MATHS, Working, worked
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task

LARGEST = {0: 120, 1: 240, 2: 999, 3: 160, 4: 400, 5: 90}


@task(
    "math.gcd",
    effort=calculations,
    floors={"copied part": 0.25},  # the smaller number often divides the larger one
    **MATHS,
)
def gcd(rng: Rng, tier: int) -> Problem:
    """Greatest common divisor of two (tiers 0 to 2) or three numbers (4), least common multiple of two (3) or three."""
    multiple = tier in (3, 5)
    numbers = _related(rng, LARGEST[tier], 3 if tier >= 4 else 2)
    work = Working()
    value = numbers[0]
    for number in numbers[1:]:
        value = _lcm(work, value, number) if multiple else euclid(work, max(value, number), min(value, number))
    asked = "least common multiple" if multiple else "greatest common divisor"
    listed = " and ".join(filter(None, [", ".join(map(str, numbers[:-1])), str(numbers[-1])]))
    return worked(f"Find the {asked} of {listed}.", work.lines, value)


def _related(rng: Rng, largest: int, count: int) -> list[int]:
    """Return distinct numbers, largest first, that share a factor more often than chance would have it."""
    common = rng.integer(1, 12)
    factors = rng.sample(range(2, max(largest // common, count + 1) + 1), count)
    return sorted((common * factor for factor in factors), reverse=True)


def euclid(work: Working, a: int, b: int) -> int:
    """Return gcd(a, b) for a >= b > 0: one remainder after the other, the last before 0 is it."""
    while b:
        a, b = b, work.remainder(a, b)
    return a


def _lcm(work: Working, a: int, b: int) -> int:
    common = math.gcd(a, b)
    euclid(work, max(a, b), min(a, b))
    return work.multiply(a, work.divide(b, common)) if common > 1 else work.multiply(a, b)
