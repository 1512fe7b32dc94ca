"""Sequences: arithmetic, geometric, quadratic, and recurrences of order two, by steps and by their closed form.

No question asks for "the next number": every prompt names the law, so that it has one reading.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from grpo_envs.math.answers import number_forms
from grpo_envs.math.effort import digit_operations
from grpo_envs.math.polynomials import nonzero
from grpo_envs.math.style import MATHS, Working, worked
from grpo_envs.math.system import cramer
from grpo_envs.math.writing import bracketed, listed, power, signed_sum
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task


@task("math.sequence", equivalents=number_forms, effort=digit_operations, **MATHS)
def sequence(rng: Rng, tier: int) -> Problem:
    """Terms and sums: arithmetic, from two terms, geometric sums, quadratic, recurrences (4), closed forms (5)."""
    return (_arithmetic, _two_terms, _quadratic, _geometric, _recurrence, _closed_form)[tier](rng)


def nth(n: int) -> str:
    """Write an ordinal: "21st", "12th"."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th") if n % 100 not in (11, 12, 13) else "th"
    return f"{n}{ending}"


def _arithmetic(rng: Rng) -> Problem:
    first, difference, n = rng.integer(-20, 60), nonzero(rng, 15), rng.integer(8, 60)
    work = Working()
    step = work.subtract(first + difference, first)
    value = work.add(first, work.multiply(work.subtract(n, 1), step))
    shown = listed(first + k * difference for k in range(3))
    return worked(f"Find the {nth(n)} term of the arithmetic sequence {shown}, ...", work.lines, value)


def _two_terms(rng: Rng) -> Problem:
    """Two terms of an arithmetic sequence are known; the sum of the first n is asked for."""
    first, difference = rng.integer(-30, 60), nonzero(rng, 12)
    i = rng.integer(2, 8)
    j, n = i + rng.integer(2, 9), rng.integer(10, 40)
    low, high = first + (i - 1) * difference, first + (j - 1) * difference
    work = Working()
    step = work.divide(work.subtract(high, low), work.subtract(j, i))
    start = work.subtract(low, work.multiply(i - 1, step))
    last = work.add(start, work.multiply(n - 1, step))
    value = work.divide(work.multiply(n, work.add(start, last)), 2)
    prompt = (
        f"In an arithmetic sequence the {nth(i)} term is {low} and the {nth(j)} term is {high}. "
        f"Find the sum of the first {n} terms."
    )
    return worked(prompt, work.lines, value)


def _quadratic(rng: Rng) -> Problem:
    """The n-th term is a quadratic polynomial in n: its second differences are constant."""
    a, b, c, n = nonzero(rng, 9), rng.integer(-20, 20), rng.integer(-40, 40), rng.integer(20, 90)
    terms = [a * k * k + b * k + c for k in (1, 2, 3)]
    work = Working()
    one, two = work.subtract(terms[1], terms[0]), work.subtract(terms[2], terms[1])
    second = work.subtract(two, one)
    # Newton's form: first + (n - 1) * one + (n - 1)(n - 2)/2 * second
    pairs = work.divide(work.multiply(n - 1, n - 2), 2)
    value = work.add(work.add(terms[0], work.multiply(n - 1, one)), work.multiply(pairs, second))
    prompt = (
        f"The n-th term of a sequence is a polynomial in n of degree 2. The sequence begins {listed(terms)}. "
        f"Find its {nth(n)} term."
    )
    return worked(prompt, work.lines, value)


def _geometric(rng: Rng) -> Problem:
    """The sum of the first n terms of a geometric sequence; the ratio may be a fraction."""
    while True:
        ratio = Fraction(nonzero(rng, 5), rng.integer(1, 4))
        n = rng.integer(5, 7)
        if ratio.denominator != 1 or abs(ratio) > 1:
            break
    first = rng.integer(1, 60) * ratio.denominator ** rng.integer(1, 3)
    terms = [Fraction(first)]
    work = Working()
    work.line(f"{terms[0] * ratio} / {first}", ratio)
    while len(terms) < n:
        work.line(f"{terms[-1]} * {bracketed(ratio)}", terms[-1] * ratio)
        terms.append(terms[-1] * ratio)
    total = sum(terms, Fraction(0))
    work.line(" + ".join([str(terms[0]), *map(bracketed, terms[1:])]), total)
    prompt = f"Find the sum of the first {n} terms of the geometric sequence {listed(terms[:3])}, ..."
    return worked(prompt, work.lines, total)


def _posed(p: int, q: int, start: Sequence[int], n: int) -> str:
    law = signed_sum([(p, "a_{n-1}"), (q, "a_{n-2}")], " * ")
    asked = f"a_{n}" if n < 10 else f"a_{{{n}}}"
    return f"A sequence has a_1 = {start[0]}, a_2 = {start[1]} and a_n = {law} for n > 2. Find {asked}."


def _recurrence(rng: Rng) -> Problem:
    p, q, n = nonzero(rng, 5), nonzero(rng, 9), rng.integer(8, 10)
    terms = [rng.integer(-9, 12), nonzero(rng, 12)]
    prompt = _posed(p, q, terms, n)
    work = Working()
    while len(terms) < n:
        before, last = terms[-2:]
        terms.append(p * last + q * before)
        work.line(f"{p} * {bracketed(last)} + {bracketed(q)} * {bracketed(before)}", terms[-1])
    return worked(prompt, work.lines, terms[-1])


def _closed_form(rng: Rng) -> Problem:
    """A recurrence far enough along that its closed form A r^n + B s^n is worth finding."""
    r, s = sorted(rng.sample([k for k in range(-5, 7) if k], 2))
    if r + s == 0:
        s += 1
    a, b, n = nonzero(rng, 20), nonzero(rng, 20), rng.integer(10, 13)
    start = [a + b, a * r + b * s]  # a_1 and a_2, for a_n = a r^(n-1) + b s^(n-1)
    work = Working()
    work.add(r, s)
    work.multiply(r, s)
    one, two = (int(value) for value in cramer(work, (1, 1, start[0]), (r, s, start[1])))
    parts = []
    for factor, root in ((one, r), (two, s)):
        work.line(power(bracketed(root), n - 1), root ** (n - 1))
        parts.append(work.multiply(factor, root ** (n - 1)))
    return worked(_posed(r + s, -r * s, start, n), work.lines, work.add(*parts))
