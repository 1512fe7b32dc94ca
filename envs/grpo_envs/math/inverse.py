"""Inverse matrices: of two rows with whole and rational entries, of three rows, by cofactors over the determinant."""

from __future__ import annotations

import math
from fractions import Fraction

from grpo_envs.math.exact import EXACT, solved
from grpo_envs.math.matrices import (
    Matrix,
    determinant_value,
    dot,
    matrix_forms,
    minor,
    pmatrix,
    random_matrix,
    shown,
    two_by_two,
    unimodular,
)
from grpo_envs.math.style import Working
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task


@task("math.inverse", **{**EXACT, "equivalents": matrix_forms})
def inverse(rng: Rng, tier: int) -> Problem:
    """Invert two rows: whole (0), any (1), rational (2); three rows: determinant 1 (3), 2 or 3 (4), any (5)."""
    denominator = rng.integer(2, 6) if tier == 2 else 1
    while True:
        a = _draw(rng, tier)
        determinant = determinant_value(a)
        common = math.gcd(denominator, *(x for row in a for x in row))
        if determinant and common == 1:
            break
    work = Working()
    if tier == 2:
        work.line(shown(_over(a, denominator)), f"{Fraction(1, denominator)} * {shown(a)}")
    adjugate = _two_rows(work, a) if tier <= 2 else _three_rows(work, a)
    answer = [[Fraction(x * denominator, determinant) for x in row] for row in adjugate]
    scale = Fraction(denominator, determinant)
    if scale != 1:
        work.line(f"{scale} * {shown(adjugate)}", shown(answer))
    prompt = f"Find the inverse of the matrix {shown(_over(a, denominator))}."
    return solved(prompt, work.lines, pmatrix(answer))


def _draw(rng: Rng, tier: int) -> Matrix:
    if tier == 0:  # [[a, b], [c, d]] with ad - bc = 1 or -1
        p, q, r = rng.integer(-6, 6), rng.integer(-6, 6), rng.integer(-3, 3)
        sign = rng.choice((1, -1))
        return [[1 + p * q, (p + r + p * q * r) * sign], [q, (1 + q * r) * sign]]
    if tier <= 2:
        return random_matrix(rng, 2, 2, 9)
    if tier == 5:
        return random_matrix(rng, 3, 3, 5)
    a = unimodular(rng, 2)[0]
    if tier == 4:
        scale = rng.choice((2, 3, -2, -3))
        row = rng.below(3)
        a[row] = [scale * x for x in a[row]]
    return a


def _over(a: Matrix, denominator: int) -> list[list[Fraction]]:
    return [[Fraction(x, denominator) for x in row] for row in a]


def _two_rows(work: Working, a: Matrix) -> Matrix:
    two_by_two(work, *a[0], *a[1])
    return [[a[1][1], -a[0][1]], [-a[1][0], a[0][0]]]


def _three_rows(work: Working, a: Matrix) -> Matrix:
    """Return the transposed cofactors; the first row of them gives the determinant."""
    cofactors = []
    for i in range(3):
        row = []
        for j in range(3):
            m = minor(a, i, j)
            row.append((-1) ** (i + j) * two_by_two(work, *m[0], *m[1]))
        cofactors.append(row)
    dot(work, a[0], cofactors[0])
    return [list(column) for column in zip(*cofactors, strict=True)]
