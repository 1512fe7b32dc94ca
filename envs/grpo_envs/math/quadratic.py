"""Quadratic equations: whole roots, fractions, surds, complex numbers. Every root is an answer, a double one once."""

from __future__ import annotations

from grpo_envs.math.answers import list_forms
from grpo_envs.math.effort import digit_operations
from grpo_envs.math.polynomials import nonzero
from grpo_envs.math.style import MATHS, Working, worked
from grpo_envs.math.writing import bracketed, listed, plus_minus, polynomial, signed_sum, square_part, surd
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task

LETTERS = ("x", "y", "t")


@task("math.quadratic", equivalents=list_forms, effort=digit_operations, **MATHS)
def quadratic(rng: Rng, tier: int) -> Problem:
    """Solve a quadratic equation: whole roots, with terms on both sides, fractions, surds (3, 4), complex roots (5)."""
    a, b, c = _coefficients(rng, tier)
    letter = rng.choice(LETTERS)
    work = Working()
    right = _right_side(rng, tier, b)
    left = (a + right[0], b + right[1], c + right[2])
    if tier:
        for above, below in zip(left, right, strict=True):
            if below:
                work.subtract(above, below)
    roots, joined = solve(work, a, b, c)
    kind = "complex" if tier == 5 else "real"
    equation = f"{polynomial(left, letter)} = {polynomial(right, letter)}"
    prompt = f"Solve {equation} for {letter}. Give all {kind} solutions."
    meta = {"joined": joined} if joined else {}
    return worked(prompt, work.lines, listed(roots), variable=letter, **meta)


def _right_side(rng: Rng, tier: int, b: int) -> tuple[int, int, int]:
    """Return what the right side holds: nothing or the term in x at first, any quadratic later."""
    if tier == 0:
        return (0, -b if rng.chance(1, 2) else 0, 0)
    return (0 if tier == 1 else rng.integer(1, 4), nonzero(rng, 9), nonzero(rng, 9))


def _coefficients(rng: Rng, tier: int) -> tuple[int, int, int]:
    """Return coefficients with a positive leading one and the kind of roots that the tier has."""
    while True:
        if tier <= 1:
            a, largest = (1, 16) if tier == 0 else (rng.integer(1, 3), 12)
            r, s = nonzero(rng, largest), nonzero(rng, largest)
            return a, -a * (r + s), a * r * s
        if tier == 2:
            p, r = rng.integer(2, 5), rng.integer(1, 4)
            q, s = nonzero(rng, 7), nonzero(rng, 7)
            if q % p:  # else both roots may be whole
                return p * r, p * s + q * r, q * s
            continue
        if tier == 3:
            a, b, c = 1, 2 * rng.integer(-20, 20), nonzero(rng, 90)
        else:
            largest = 40 if tier == 4 else 80
            a, b, c = rng.integer(2, 9), rng.integer(-largest, largest), nonzero(rng, 2 * largest)
        square = b * b - 4 * a * c
        if square < 0 if tier == 5 else square > 0 and square_part(square)[1] > 1:
            return a, b, c


def solve(work: Working, a: int, b: int, c: int) -> tuple[list[str], str]:
    r"""Solve ax^2 + bx + c = 0 by the discriminant, writing every step.

    Returns:
        The roots as text, the smaller one first, and both in one (`1 \pm \sqrt{2}`) where they are not rational.
    """
    four_a = work.multiply(4, a) if a != 1 else 4
    square = work.subtract(_square(work, b), work.multiply(four_a, c))
    if square == 0:
        return [str(work.quotient(-b, 2 * a))], ""
    outside, rest = square_part(abs(square))
    if square > 0 and rest == 1:
        work.line(f"{outside}^2", square)
        roots = sorted(work.quotient(work.add(-b, sign * outside), 2 * a) for sign in (-1, 1))
        return [str(value) for value in roots], ""
    texts = [_irrational(work, b, square, a, sign) for sign in ((-1, 1) if a > 0 else (1, -1))]
    return texts, plus_minus(-b, 1, square, 2 * a)


def _irrational(work: Working, b: int, square: int, a: int, sign: int) -> str:
    """Return the root (-b +- sqrt(square)) / 2a, bringing it to lowest terms in two lines."""
    unreduced = signed_sum([(-b, ""), (sign, f"\\sqrt{{{square}}}")])
    simpler = surd(-b, sign, square)
    if simpler != unreduced:
        work.line(unreduced, simpler)
    value = surd(-b, sign, square, 2 * a)
    work.line(f"({simpler}) / {bracketed(2 * a)}", value)
    return value


def _square(work: Working, b: int) -> int:
    work.line(f"{bracketed(b)}^2", b * b)
    return b * b
