"""Determinants: of two and three rows, with an unknown entry, of products and powers, of four rows."""

from __future__ import annotations

from grpo_envs.math.exact import EXACT, joined, scaled, solved
from grpo_envs.math.matrices import (
    determinant_by_rows,
    determinant_value,
    dot,
    minor,
    random_matrix,
    shown,
    two_by_two,
)
from grpo_envs.math.style import Working
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task


@task("math.determinant", **EXACT)
def determinant(rng: Rng, tier: int) -> Problem:
    """Find a determinant: two rows (0), three with zeros (1), three (2), four with zeros (3), four (5); or an entry."""
    if tier == 4:
        return _unknown(rng)
    size, largest = {0: (2, 12), 1: (3, 9), 2: (3, 9), 3: (4, 6), 5: (4, 6)}[tier]
    a = random_matrix(rng, size, size, largest)
    if tier in (1, 3):  # one row has a single entry left, so that one minor is enough
        row = rng.below(size)
        kept = rng.below(size)
        a[row] = [rng.integer(1, 9) * rng.choice((1, -1)) if j == kept else 0 for j in range(size)]
    work = Working()
    value = determinant_by_rows(work, a)
    return solved(f"Find the determinant of {shown(a)}.", work.lines, str(value))


def _unknown(rng: Rng) -> Problem:
    """Ask for the entry that makes the determinant what it is said to be."""
    while True:
        a = random_matrix(rng, 3, 3, 7)
        i, j = rng.below(3), rng.below(3)
        minors = [minor(a, i, k) for k in range(3)]
        if determinant_value(minors[j]):
            break
    work = Working()
    cofactors = [(-1) ** (i + k) * two_by_two(work, *m[0], *m[1]) for k, m in enumerate(minors)]
    others = [k for k in range(3) if k != j]
    constant = dot(work, [a[i][k] for k in others], [cofactors[k] for k in others])
    slope, entry = cofactors[j], rng.integer(-12, 12)
    value = constant + slope * entry
    rows: list[list[int | str]] = [list(row) for row in a]
    rows[i][j] = "k"
    lines = [f"{joined([scaled(slope, 'k'), str(constant)])} = {value}", f"k = {entry}"]
    return solved(f"The determinant of {shown(rows)} is {value}. Find k.", [*work.lines, *lines], str(entry))
