"""Remainders: of a number, a sum, a product, a power, and of two moduli at once."""

from __future__ import annotations

import math
import re

from grpo_envs.math.effort import digit_operations, operations
from grpo_envs.math.style import MATHS, Working, worked
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task


def effort(problem: Problem) -> float:
    """Return the digit operations of the working, and of trying each candidate where it tries several.

    The working of two moduli writes down how it comes from one candidate to the next. Of each of them one has seen
    whether the second modulus goes into it, has divided, and has compared the remainder.
    """
    first, *numbers = re.findall(r"\d+", problem.prompt)
    work, tried = Working(), 0
    if len(numbers) == 3:
        lines = str(problem.solution).split("\n")[:-1]
        candidates = [int(first), *(int(line.rpartition(" ")[2]) for line in lines)]
        tried = len(candidates)
        for candidate in candidates:
            work.remainder(candidate, int(numbers[2]))
    return digit_operations(problem) + operations(work.lines) + 2 * tried


@task(
    "math.remainder",
    effort=effort,
    floors={"constant answer": 0.3},  # a small divisor leaves few remainders
    **MATHS,
)
def remainder(rng: Rng, tier: int) -> Problem:
    """Find a remainder; from tier 3 on by reducing before multiplying."""
    work = Working()
    if tier == 5:
        return _two_moduli(rng)
    if tier in (0, 2):
        n, m = (rng.integer(10, 220), rng.integer(3, 12)) if tier == 0 else (rng.integer(100, 999), rng.integer(3, 20))
        text, answer = str(n), work.remainder(n, m)
    elif tier == 1:
        a, b, m = rng.integer(10, 99), rng.integer(10, 99), rng.integer(3, 12)
        text, answer = f"{a} + {b}", work.remainder(work.add(a, b), m)
    elif tier == 3:
        a, b, m = rng.integer(11, 99), rng.integer(11, 99), rng.integer(3, 19)
        reduced = work.remainder(a, m), work.remainder(b, m)
        text, answer = f"{a} * {b}", work.remainder(work.multiply(*reduced), m)
    else:
        base, exponent, m = rng.integer(2, 30), rng.integer(3, 9), rng.integer(5, 23)
        text, answer = f"{base}^{exponent}", _power(work, base, exponent, m)
    return worked(f"Find the remainder when {text} is divided by {m}.", work.lines, answer)


def _power(work: Working, base: int, exponent: int, m: int) -> int:
    reduced = work.remainder(base, m)
    value = reduced
    for _ in range(exponent - 1):
        value = work.remainder(work.multiply(value, reduced), m)
    return value


def _two_moduli(rng: Rng) -> Problem:
    """Ask for the smallest x >= 0 with two given remainders; the working tries one candidate after the other."""
    while True:
        m, n = rng.integer(4, 13), rng.integer(4, 13)
        if math.gcd(m, n) == 1:
            break
    x = rng.integer(0, m * n - 1)
    work = Working()
    candidate = x % m
    while candidate % n != x % n:
        candidate = work.add(candidate, m)
    prompt = (
        f"Find the smallest whole number that leaves remainder {x % m} when divided by {m} "
        f"and remainder {x % n} when divided by {n}."
    )
    return worked(prompt, work.lines, x)
