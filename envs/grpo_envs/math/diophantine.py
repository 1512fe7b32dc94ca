"""Linear equations in whole numbers: smallest solutions, their number, and what two coins cannot pay."""

from __future__ import annotations

import math

from grpo_envs.math.answers import number_forms, tuple_forms
from grpo_envs.math.effort import digit_operations
from grpo_envs.math.modular import inverse
from grpo_envs.math.style import MATHS, Working, worked
from grpo_envs.math.writing import ordered, signed_sum
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task


def other_forms(problem: Problem) -> list[str]:
    """Write the answer otherwise, a tuple or a number."""
    return (tuple_forms if str(problem.reference).startswith("(") else number_forms)(problem)


@task("math.diophantine", equivalents=other_forms, effort=digit_operations, **MATHS)
def diophantine(rng: Rng, tier: int) -> Problem:
    """Solve in whole numbers: two coins (0 and 1), the smallest solution, their number, with minus, three unknowns."""
    return (_small, _coins, _smallest, _number, _difference, _three)[tier](rng)


def _coprime(rng: Rng, low: int, high: int) -> tuple[int, int]:
    while True:
        a, b = rng.sample(range(low, high + 1), 2)
        if math.gcd(a, b) == 1:
            return a, b


def _small(rng: Rng) -> Problem:
    """Try x = 1, 2, ... until what is left is a multiple."""
    a, b = _coprime(rng, 2, 7)
    x, y = rng.integer(1, b), rng.integer(1, 60)
    c = a * x + b * y
    work = Working()
    for tried in range(1, x + 1):
        work.line(f"{c} - {a} * {tried}", c - a * tried)
    y = work.divide(c - a * x, b)
    prompt = f"Find the positive integers x and y with {signed_sum([(a, 'x'), (b, 'y')])} = {c} and the smallest x."
    return worked(f"{prompt} Give (x, y).", work.lines, ordered((x, y)))


def _coins(rng: Rng) -> Problem:
    """The largest amount that two coins cannot pay is ab - a - b; half of the amounts up to it cannot be paid."""
    a, b = _coprime(rng, 7, 150)
    work = Working()
    if rng.chance(1, 2):
        asked = "What is the largest whole amount that cannot be paid exactly?"
        answer = work.subtract(work.subtract(work.multiply(a, b), a), b)
    else:
        asked = "How many whole amounts from 1 on cannot be paid exactly?"
        answer = work.divide(work.multiply(work.subtract(a, 1), work.subtract(b, 1)), 2)
    return worked(f"There are only coins of {a} and of {b}. {asked}", work.lines, answer)


def _least_x(work: Working, a: int, b: int, c: int) -> int:
    """Return the smallest x >= 0 for which c - ax is a multiple of b, for coprime a and b."""
    left, right = (work.remainder(n, b) if n >= b else n for n in (a, c))
    if left == 1:
        return right
    return work.remainder(work.multiply(inverse(work, left, b), right), b)


def _smallest(rng: Rng) -> Problem:
    """The solution with the smallest x >= 0, by the inverse of a modulo b."""
    while True:
        a, b = _coprime(rng, 12, 60)
        x, y = rng.integer(0, b - 1), rng.integer(1, 60)
        if a % b > 1 and x > 1:
            break
    c = a * x + b * y
    work = Working()
    x = _least_x(work, a, b, c)
    y = work.divide(work.subtract(c, work.multiply(a, x)), b)
    prompt = f"Find the non-negative integers x and y with {signed_sum([(a, 'x'), (b, 'y')])} = {c} and the smallest x."
    return worked(f"{prompt} Give (x, y).", work.lines, ordered((x, y)))


def _number(rng: Rng) -> Problem:
    """How many solutions in non-negative integers: from the smallest x on in steps of b."""
    while True:
        a, b = _coprime(rng, 7, 40)
        if a % b > 1:
            break
    common = rng.integer(2, 9)
    c = a * rng.integer(0, b - 1) + b * rng.integer(0, a - 1) + a * b * rng.integer(1, 40)
    work = Working()
    for coefficient in (a, b, c):
        work.divide(common * coefficient, common)
    x = _least_x(work, a, b, c)
    left = work.subtract(c, work.multiply(a, x))
    steps = left // (a * b)
    work.line(f"{steps} * {work.multiply(a, b)} + {left % (a * b)}", left)
    equation = f"{signed_sum([(common * a, 'x'), (common * b, 'y')])} = {common * c}"
    prompt = f"How many pairs (x, y) of non-negative integers solve {equation}?"
    return worked(prompt, work.lines, work.add(steps, 1))


def _difference(rng: Rng) -> Problem:
    """Solve ax - by = c: infinitely many solutions, of which the smallest positive one is asked for."""
    while True:
        a, b = _coprime(rng, 40, 400)
        if a % b > 1:
            break
    common = rng.integer(2, 9)
    c = rng.integer(2, 300)
    work = Working()
    for coefficient in (a, b, c):
        work.divide(common * coefficient, common)
    x = _least_x(work, a, b, c)
    y = work.divide(work.subtract(work.multiply(a, x), c), b)
    while x <= 0 or y <= 0:
        x, y = work.add(x, b), work.add(y, a)
    equation = f"{signed_sum([(common * a, 'x'), (-common * b, 'y')])} = {common * c}"
    prompt = f"Find the positive integers x and y with {equation} and the smallest x. Give (x, y)."
    return worked(prompt, work.lines, ordered((x, y)))


def _three(rng: Rng) -> Problem:
    """Two equations in three unknowns: subtracting one leaves an equation in two."""
    while True:
        low, middle, high = sorted(rng.sample(range(10, 500), 3))
        a, b = high - low, middle - low
        if a % b > 1 and math.gcd(a, b) == 1:
            break
    x, y, z = rng.integer(2, b), rng.integer(1, a), rng.integer(1, 200)
    number = x + y + z
    total = high * x + middle * y + low * z
    work = Working()
    a, b = work.subtract(high, low), work.subtract(middle, low)
    c = work.subtract(total, work.multiply(low, number))
    x = _least_x(work, a, b, c)
    y = work.divide(work.subtract(c, work.multiply(a, x)), b)
    z = work.subtract(work.subtract(number, x), y)
    while z < 0:  # the next solution has b more x and a less y: less of the cheapest would be needed
        x, y = work.add(x, b), work.subtract(y, a)
        z = work.subtract(work.subtract(number, x), y)
    prompt = (
        f"{number} tickets cost {total} in all: x tickets at {high}, y at {middle} and z at {low} each. "
        f"Find the whole numbers x, y, z >= 0 with the smallest x. Give (x, y, z)."
    )
    return worked(prompt, work.lines, ordered((x, y, z)))
