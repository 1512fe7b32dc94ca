"""Chained integer arithmetic: from "Compute 3 + 9 - 4." to products of brackets."""

from __future__ import annotations

from grpo_envs.math.effort import size_of_expression
from grpo_envs.math.style import MATHS, Working, worked
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task

Factor = tuple[int, int] | int
"""A bracket (a, b) that stands for (a + b), or a plain number."""

SUMS = {0: (3, 20, 0, 99), 1: (4, 20, 0, 99), 2: (4, 60, -199, 299)}
"""Tier -> number of terms, largest term, smallest and largest running total."""

PRODUCTS = {3: (3, 9, 50, False), 4: (3, 9, 30, True), 5: (4, 19, 99, True)}
"""Tier -> number of terms, largest factor, largest plain term, whether factors may be brackets."""


@task("math.chain", effort=size_of_expression, **MATHS)
def chain(rng: Rng, tier: int) -> Problem:
    """Integer arithmetic, one operation after the other; products and brackets from tier 3 on."""
    if tier in SUMS:
        return _sum(rng, *SUMS[tier])
    return _products(rng, *PRODUCTS[tier])


def _sum(rng: Rng, terms: int, largest: int, low: int, high: int) -> Problem:
    total = rng.integer(1, largest)
    text = str(total)
    work = Working()
    for _ in range(terms - 1):
        step = _step(rng, total, largest, low, high)
        text += f" + {step}" if step > 0 else f" - {-step}"
        total = work.add(total, step)
    return worked(f"Compute {text}.", work.lines, total)


def _step(rng: Rng, total: int, largest: int, low: int, high: int) -> int:
    """Return a non-zero signed step that keeps the running total within its bounds."""
    while True:
        step = rng.integer(1, largest) * rng.choice((1, -1))
        if low <= total + step <= high:
            return step


def _products(rng: Rng, terms: int, largest_factor: int, largest_term: int, brackets: bool) -> Problem:
    product_at = rng.sample(range(terms), terms // 2)
    work = Working()
    texts: list[str] = []
    values: list[int] = []
    for position in range(terms):
        sign = "+" if position == 0 or rng.chance(1, 2) else "-"
        if position in product_at:
            left = _factor(rng, largest_factor, bracket=brackets)
            right = _factor(rng, largest_factor, bracket=brackets and rng.chance(1, 2))
            texts.append(f"{sign} {_show(left)} * {_show(right)}")
            values.append(work.multiply(_value(left, work), _value(right, work)))
        else:
            values.append(rng.integer(1, largest_term))
            texts.append(f"{sign} {values[-1]}")
        if sign == "-":
            values[-1] = -values[-1]
    total = values[0]
    for value in values[1:]:
        total = work.add(total, value)
    return worked(f"Compute {' '.join(texts).removeprefix('+ ')}.", work.lines, total)


def _factor(rng: Rng, largest: int, bracket: bool) -> Factor:
    if not bracket:
        return rng.integer(2, largest)
    a = rng.integer(2, largest)
    return (a, rng.choice([b for b in range(1 - a, largest + 1) if b]))


def _show(factor: Factor) -> str:
    if isinstance(factor, int):
        return str(factor)
    a, b = factor
    return f"({a} + {b})" if b > 0 else f"({a} - {-b})"


def _value(factor: Factor, work: Working) -> int:
    return factor if isinstance(factor, int) else work.add(*factor)
