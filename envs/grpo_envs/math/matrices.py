r"""Matrices with whole entries: writing, products, determinants, and the tasks' shared working.

A matrix is a list of rows. Questions write it plainly, "[[1, 2], [3, 4]]", answers in LaTeX.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from grpo_envs.math.exact import box
from grpo_envs.math.style import Working
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng

Matrix = list[list[int]]


def shown(rows: Iterable[Iterable[int | Fraction | str]]) -> str:
    """Write a matrix as rows in brackets."""
    return f"[{', '.join('[' + ', '.join(map(str, row)) + ']' for row in rows)}]"


def pmatrix(rows: Iterable[Iterable[int | Fraction | str]]) -> str:
    """Write a matrix as LaTeX."""
    inside = " \\\\ ".join(" & ".join(map(str, row)) for row in rows)
    return f"\\begin{{pmatrix}} {inside} \\end{{pmatrix}}"


def matrix_forms(problem: Problem) -> list[str]:
    """Return a matrix in other spellings, boxed: square brackets, rows in brackets, as an equation."""
    text = str(problem.reference)
    inside = text.removeprefix("\\begin{pmatrix} ").removesuffix(" \\end{pmatrix}")
    rows = [row.split(" & ") for row in inside.split(" \\\\ ")]
    tight = "\\\\".join("&".join(row) for row in rows)
    texts = [text.replace("pmatrix", "bmatrix"), f"\\begin{{pmatrix}}{tight}\\end{{pmatrix}}"]
    texts += [shown(rows)] if len(rows[0]) > 1 else []
    return [box(other) for other in texts]


def random_matrix(rng: Rng, rows: int, columns: int, largest: int) -> Matrix:
    """Return entries from -largest to largest."""
    return [[rng.integer(-largest, largest) for _ in range(columns)] for _ in range(rows)]


def times(a: Sequence[Sequence[int]], b: Sequence[Sequence[int]]) -> Matrix:
    """Return the product of two matrices."""
    return [[sum(x * y for x, y in zip(row, column, strict=True)) for column in zip(*b, strict=True)] for row in a]


def dot(work: Working, row: Sequence[int], column: Sequence[int]) -> int:
    """Return a scalar product, on one line."""
    value = sum(x * y for x, y in zip(row, column, strict=True))
    work.line(" + ".join(f"{_signed(x)} * {_signed(y)}" for x, y in zip(row, column, strict=True)), value)
    return value


def _signed(n: int) -> str:
    return str(n) if n >= 0 else f"({n})"


def two_by_two(work: Working, a: int, b: int, c: int, d: int) -> int:
    """Return ad - bc, on one line."""
    work.line(f"{_signed(a)} * {_signed(d)} - {_signed(b)} * {_signed(c)}", a * d - b * c)
    return a * d - b * c


def minor(a: Matrix, i: int, j: int) -> Matrix:
    """Return the matrix without row i and column j."""
    return [row[:j] + row[j + 1 :] for k, row in enumerate(a) if k != i]


def determinant_by_rows(work: Working, a: Matrix) -> int:
    """Return the determinant by the row or column with most zeros, minor by minor; every value on a line of its own."""
    size = len(a)
    if size == 2:
        return two_by_two(work, *a[0], *a[1])
    row = max(range(size), key=lambda i: a[i].count(0))
    columns = [j for j in range(size) if a[row][j]]
    parts = []
    for j in columns:
        value = determinant_by_rows(work, minor(a, row, j))
        parts.append((-a[row][j] if (row + j) % 2 else a[row][j], value))
    total = sum(x * y for x, y in parts)
    work.line(" + ".join(f"{_signed(x)} * {_signed(y)}" for x, y in parts) or "0", total)
    return total


def determinant_value(m: Matrix) -> int:
    """Return the determinant of a matrix of two or three rows."""
    if len(m) == 2:
        (p, q), (r, s) = m
        return p * s - q * r
    (a, b, c), (d, e, f), (g, h, i) = m
    return a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)


def unimodular(rng: Rng, largest: int) -> tuple[Matrix, Matrix]:
    """Return a matrix of three rows with determinant 1, and its inverse: a lower times an upper triangle of ones."""
    a, b, c, d, e, f = (rng.integer(-largest, largest) for _ in range(6))
    lower, upper = [[1, 0, 0], [a, 1, 0], [b, c, 1]], [[1, d, e], [0, 1, f], [0, 0, 1]]
    lower_inverse = [[1, 0, 0], [-a, 1, 0], [a * c - b, -c, 1]]
    upper_inverse = [[1, -d, d * f - e], [0, 1, -f], [0, 0, 1]]
    return times(lower, upper), times(upper_inverse, lower_inverse)
