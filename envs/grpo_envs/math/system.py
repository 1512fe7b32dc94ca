"""Systems of equations: two unknowns, three, and a line that meets a circle. The answer is a tuple in a given order."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from grpo_envs.math.answers import tuple_forms
from grpo_envs.math.effort import digit_operations
from grpo_envs.math.polynomials import nonzero
from grpo_envs.math.quadratic import solve
from grpo_envs.math.style import MATHS, Working, worked
from grpo_envs.math.writing import bracketed, ordered, signed_sum
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task

Row = list[int]
"""Coefficients of the unknowns in order, then the right side."""


@task("math.system", equivalents=tuple_forms, effort=digit_operations, **MATHS)
def system(rng: Rng, tier: int) -> Problem:
    """Solve a system: two equations (tiers 0 to 2, fractions at 2), three (3 and 4), a line and a circle (5)."""
    if tier == 5:
        return _line_and_circle(rng)
    if tier >= 3:
        return _three(rng, tier)
    work = Working()
    rows = _two(rng, tier)
    x, y = cramer(work, *rows)
    return worked(f"Solve {_shown(rows)} for (x, y).", work.lines, ordered((x, y)))


def _two(rng: Rng, tier: int) -> tuple[Row, Row]:
    while True:
        largest = (2, 6, 15)[tier]
        one, two = ([nonzero(rng, largest) for _ in range(2)] for _ in range(2))
        determinant = one[0] * two[1] - one[1] * two[0]
        if determinant == 0:
            continue
        if tier == 2:
            e, f = right = [nonzero(rng, 60), nonzero(rng, 60)]
            if (e * two[1] - f * one[1]) % determinant == (f * one[0] - e * two[0]) % determinant == 0:
                continue  # whole: a question of the tiers below
        else:
            x, y = rng.integer(-12, 20), rng.integer(-12, 20)
            right = [a * x + b * y for a, b in (one, two)]
        return [*one, right[0]], [*two, right[1]]


def cramer(work: Working, one: Sequence[int], two: Sequence[int]) -> tuple[Fraction, Fraction]:
    """Return the solution of two equations in two unknowns by determinants, writing each."""
    (a, b, e), (c, d, f) = one, two
    bottom = _minor(work, a, b, c, d)
    return work.quotient(_minor(work, e, b, f, d), bottom), work.quotient(_minor(work, a, e, c, f), bottom)


def _minor(work: Working, a: int, b: int, c: int, d: int) -> int:
    """Return ad - bc in one line."""
    value = a * d - b * c
    work.line(f"{a} * {bracketed(d)} - {bracketed(b)} * {bracketed(c)}", value)
    return value


def _three(rng: Rng, tier: int) -> Problem:
    """Return three equations with a whole solution; at tier 3 one unknown is missing in two of them."""
    while True:
        rows: list[Row] = [[nonzero(rng, 3 if tier == 3 else 6) for _ in range(3)] for _ in range(3)]
        if tier == 3:
            rows[1][2] = rows[2][rng.integer(0, 1)] = 0
            rows[2][2] = nonzero(rng, 3)
        if rows[0][2] and _determinant(rows) and (rows[1][2] or rows[2][2]):
            break
    solution = [nonzero(rng, 9) for _ in range(3)]
    for row in rows:
        row.append(sum(a * x for a, x in zip(row, solution, strict=True)))
    work = Working()
    first = rows[0]
    reduced = [_eliminate(work, first, row) if row[2] else [row[0], row[1], row[3]] for row in rows[1:]]
    x, y = (int(value) for value in cramer(work, *reduced))
    known = f"{first[0]} * {bracketed(x)} + {bracketed(first[1])} * {bracketed(y)}"
    value = first[0] * x + first[1] * y
    work.line(known, value)
    z = work.divide(work.subtract(first[3], value), first[2]) if first[2] != 1 else work.subtract(first[3], value)
    rng.shuffle(rows)
    return worked(f"Solve {_shown(rows)} for (x, y, z).", work.lines, ordered((x, y, z)))


def _determinant(rows: Sequence[Row]) -> int:
    (a, b, c), (d, e, f), (g, h, i) = rows
    return a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)


def _eliminate(work: Working, first: Row, row: Row) -> Row:
    """Return the row without its third unknown: row times first's coefficient, less first times its own."""
    return [_minor(work, first[2], first[k], row[2], row[k]) for k in (0, 1, 3)]


def _line_and_circle(rng: Rng) -> Problem:
    """Let a line cut a circle in two points with whole coordinates; the one further to the right is asked for."""
    h, k = rng.integer(-6, 6), rng.integer(-6, 6)
    while True:
        u, v = rng.sample(range(1, 10), 2)
        corners = [(s * a, t * b) for a, b in ((u, v), (v, u)) for s in (1, -1) for t in (1, -1)]
        (x1, y1), (x2, y2) = rng.sample(corners, 2)
        if abs(x1 - x2) not in (0, abs(y1 - y2)) and y1 != y2:  # no line that is level, upright or diagonal
            break
    slope = Fraction(y2 - y1, x2 - x1)
    a, b = slope.numerator, -slope.denominator
    c = a * (x1 + h) + b * (y1 + k)
    f = u * u + v * v - h * h - k * k
    work = Working()
    # y = (c - ax) / b in x^2 + y^2 + dx + ey = f, times b^2
    d, e = -2 * h, -2 * k
    a_, b_, c_, d_, e_ = map(bracketed, (a, b, c, d, e))
    leading = _line(work, f"{a_}^2 + {b_}^2", a * a + b * b)
    middle = _line(work, f"{b_}^2 * {d_} - 2 * {a_} * {c_} - {a_} * {b_} * {e_}", b * b * d - 2 * a * c - a * b * e)
    constant = _line(work, f"{c_}^2 + {b_} * {c_} * {e_} - {b_}^2 * {bracketed(f)}", c * c + b * c * e - b * b * f)
    x = int(solve(work, leading, middle, constant)[0][-1])
    top = _line(work, f"{c} - {bracketed(a)} * {bracketed(x)}", c - a * x)
    y = work.divide(top, b)
    line = f"{signed_sum([(a, 'x'), (b, 'y')])} = {c}"
    circle = f"{signed_sum([(1, 'x^2'), (1, 'y^2'), (d, 'x'), (e, 'y')])} = {f}"
    prompt = f"Solve {line} and {circle} for (x, y). Give the solution with the larger x."
    return worked(prompt, work.lines, ordered((x, y)))


def _line(work: Working, left: str, value: int) -> int:
    work.line(left, value)
    return value


def _shown(rows: Sequence[Row]) -> str:
    """Write the equations: "2x + y = 3 and x - y = 5"."""
    texts = [f"{signed_sum(list(zip(row[:-1], 'xyz', strict=False)))} = {row[-1]}" for row in rows]
    return ", ".join(texts[:-1]) + f" and {texts[-1]}"
