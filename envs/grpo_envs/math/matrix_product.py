"""Products of matrices: with a vector, two by two, in a chain, powers, the difference of both orders."""

from __future__ import annotations

from grpo_envs.math.exact import EXACT, solved
from grpo_envs.math.matrices import Matrix, dot, matrix_forms, pmatrix, random_matrix, shown
from grpo_envs.math.style import Working
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task


@task("math.matrix_product", **{**EXACT, "equivalents": matrix_forms})
def matrix_product(rng: Rng, tier: int) -> Problem:
    """Multiply: a matrix and a vector (0), two rows (1), three and two (2), a cube (3), three rows (4), AB - BA (5)."""
    work = Working()
    if tier == 3:
        a = random_matrix(rng, 2, 2, 5)
        answer = _product(work, _product(work, a, a), a)
        return solved(f"Let A = {shown(a)}. Find A^3.", work.lines, pmatrix(answer))
    if tier == 5:
        a, b = random_matrix(rng, 3, 3, 4), random_matrix(rng, 3, 3, 4)
        one, other = _product(work, a, b), _product(work, b, a)
        answer = [[x - y for x, y in zip(*rows, strict=True)] for rows in zip(one, other, strict=True)]
        work.line(f"{shown(one)} - {shown(other)}", shown(answer))
        return solved(f"Let A = {shown(a)} and B = {shown(b)}. Find AB - BA.", work.lines, pmatrix(answer))
    rows, inner, columns, largest = {0: (2, 2, 1, 12), 1: (2, 2, 2, 9), 2: (2, 3, 2, 9), 4: (3, 3, 3, 6)}[tier]
    a, b = random_matrix(rng, rows, inner, largest), random_matrix(rng, inner, columns, largest)
    answer = _product(work, a, b)
    return solved(f"Let A = {shown(a)} and B = {shown(b)}. Find AB.", work.lines, pmatrix(answer))


def _product(work: Working, a: Matrix, b: Matrix) -> Matrix:
    """Return the product, every entry on a line of its own, and one line for the whole."""
    columns = list(zip(*b, strict=True))
    result = [[dot(work, row, column) for column in columns] for row in a]
    work.line(f"{shown(a)} * {shown(b)}", shown(result))
    return result
