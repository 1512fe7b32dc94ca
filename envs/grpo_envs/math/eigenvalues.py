"""Eigenvalues: whole, with roots and complex for two rows; for three rows with a zero block, whole, and mixed.

The working is the characteristic polynomial in t: trace, principal minors, determinant, then its factors.
"""

from __future__ import annotations

from grpo_envs.math.answers import list_forms
from grpo_envs.math.exact import EXACT, solved
from grpo_envs.math.matrices import Matrix, determinant_by_rows, random_matrix, shown, times, two_by_two, unimodular
from grpo_envs.math.style import Working
from grpo_envs.math.writing import polynomial, square_part, surd
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task


@task("math.eigenvalues", **{**EXACT, "equivalents": list_forms})
def eigenvalues(rng: Rng, tier: int) -> Problem:
    """Find all eigenvalues: of two rows whole (0), real (1), complex (2), of three rows (3 to 5)."""
    if tier <= 2:
        return _two_rows(rng, tier)
    return _three_rows(rng, tier)


def ask(a: Matrix) -> str:
    """Write the question."""
    return f"Find all eigenvalues of the matrix {shown(a)}, complex ones included. Give each one once."


def roots(trace: int, determinant: int) -> list[str]:
    """Return the roots of t^2 - trace t + determinant in writing, the smaller one first, a double one once."""
    square = trace * trace - 4 * determinant
    if square == 0:
        return [surd(trace, 0, 0, 2)]
    return [surd(trace, sign, square, 2) for sign in (-1, 1)]


def whole_two_rows(rng: Rng, first: int, second: int) -> Matrix:
    """Return a matrix of two rows that has these eigenvalues and few zeros."""
    a = first + rng.choice((-3, -2, -1, 1, 2, 3))
    product = -(a - first) * (a - second)  # b * c
    if product == 0:
        b, c = (rng.integer(1, 6), 0) if rng.chance(1, 2) else (0, rng.integer(1, 6))
    else:
        b = rng.choice([d for d in range(-9, 10) if d and product % d == 0])
        c = product // b
    return [[a, b], [c, first + second - a]]


def _two_rows(rng: Rng, tier: int) -> Problem:
    if tier == 0:
        a = whole_two_rows(rng, *rng.sample(range(-9, 10), 2))
    while tier > 0:
        a = random_matrix(rng, 2, 2, 9)
        square = (a[0][0] - a[1][1]) ** 2 + 4 * a[0][1] * a[1][0]
        if square < 0 if tier == 2 else square > 0 and square_part(square)[1] > 1:
            break
    work = Working()
    trace = work.add(a[0][0], a[1][1])
    determinant = two_by_two(work, *a[0], *a[1])
    answer = ", ".join(found := roots(trace, determinant))
    equation = polynomial([1, -trace, determinant], "t")
    if tier == 0:
        work.line(equation, _factors([int(root) for root in found]))
    else:
        square = work.subtract(work.multiply(trace, trace), work.multiply(4, determinant))
        work.lines.append(f"{equation} = 0")
    return solved(ask(a), [*work.lines, f"t = {answer}"], answer)


def _factors(found: list[int]) -> str:
    """Write the product of t - root."""
    return "".join(_bracket(root) for root in found)


def _bracket(root: int) -> str:
    return f"({polynomial([1, -root], 't')})" if root else "t"


def _three_rows(rng: Rng, tier: int) -> Problem:
    """A block of two rows and one of one row: as they are (3), or hidden by a change of basis (4 whole, 5 any)."""
    single = rng.integer(-6, 6)
    if tier <= 4:
        block = whole_two_rows(rng, *rng.sample([n for n in range(-6, 7) if n != single], 2))
    else:
        while True:
            block = random_matrix(rng, 2, 2, 4)
            square = (block[0][0] - block[1][1]) ** 2 + 4 * block[0][1] * block[1][0]
            if square < 0 or square_part(max(square, 1))[1] > 1:
                break
    trace, determinant = block[0][0] + block[1][1], block[0][0] * block[1][1] - block[0][1] * block[1][0]
    if tier == 3:
        a = _with_block(rng, block, single)
    else:
        change, back = unimodular(rng, 1)
        a = times(times(change, [[*block[0], 0], [*block[1], 0], [0, 0, single]]), back)
    found = roots(trace, determinant)
    found = sorted([str(single), *found], key=int) if tier <= 4 else [str(single), *found]
    answer = ", ".join(found)
    work = Working()
    work.line(" + ".join(f"({a[i][i]})" if a[i][i] < 0 else str(a[i][i]) for i in range(3)), single + trace)
    minors = [two_by_two(work, a[i][i], a[i][j], a[j][i], a[j][j]) for i, j in ((0, 1), (0, 2), (1, 2))]
    work.line(" + ".join(f"({m})" if m < 0 else str(m) for m in minors), sum(minors))
    determinant_by_rows(work, a)
    cubic = polynomial([1, -single - trace, determinant + single * trace, -single * determinant], "t")
    left = polynomial([1, -trace, determinant], "t")
    work.line(cubic, f"{_bracket(single)}({left})")
    if tier <= 4:
        work.line(left, _factors([int(root) for root in found if int(root) != single]))
    return solved(ask(a), [*work.lines, f"t = {answer}"], answer)


def _with_block(rng: Rng, block: Matrix, single: int) -> Matrix:
    """Put the single entry first or last, with a row or a column of anything beside it."""
    x, y = rng.integer(-9, 9), rng.integer(-9, 9)
    if rng.chance(1, 2):
        return [[single, x, y], [0, *block[0]], [0, *block[1]]]
    return [[*block[0], 0], [*block[1], 0], [x, y, single]]
