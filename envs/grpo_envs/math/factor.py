"""Factor over the integers. The question gives the shape of the product and asks for its coefficients as a tuple.

"Factor x^2 - 5x + 6" would be answered by its own echo where a verifier compares values. The shape with its order
(a > c, ...) makes the tuple unique: the factors are irreducible and without common divisor.
"""

from __future__ import annotations

import math

from grpo_envs.math.answers import tuple_forms
from grpo_envs.math.effort import digit_operations
from grpo_envs.math.polynomials import Polynomial, horner, multiply, nonzero, product
from grpo_envs.math.style import MATHS, Working, worked
from grpo_envs.math.writing import bracketed, ordered, polynomial, square_part
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task


@task("math.factor", equivalents=tuple_forms, effort=digit_operations, **MATHS)
def factor(rng: Rng, tier: int) -> Problem:
    """Factor quadratics (tiers 0 to 2), a cubic with one whole root (3), quartics into two quadratics (4 and 5)."""
    return (_monic, _with_content, _quadratic, _cubic, _quartic, _general)[tier](rng)


def _posed(work: Working, p: Polynomial, shape: str, conditions: str, answer: tuple[int, ...]) -> Problem:
    letters = ordered("abcdef"[: len(answer)])
    prompt = f"Write {polynomial(p)} as {shape} with integers {conditions}. Give {letters}."
    return worked(prompt, work.lines, ordered(answer))


def _sum_and_product(work: Working, b: int, c: int, pair: tuple[int, int]) -> None:
    low, high = pair
    assert low + high == b
    assert low * high == c
    work.multiply(low, high)
    work.add(low, high)


def _two(rng: Rng, largest: int) -> tuple[int, int]:
    """Return two different non-zero integers, the smaller one first."""
    while True:
        one, two = nonzero(rng, largest), nonzero(rng, largest)
        if one != two:
            return min(one, two), max(one, two)


def _monic(rng: Rng) -> Problem:
    a, b = _two(rng, 40)
    work = Working()
    _sum_and_product(work, a + b, a * b, (a, b))
    return _posed(work, [1, a + b, a * b], "(x + a)(x + b)", "a < b", (a, b))


def _with_content(rng: Rng) -> Problem:
    k = rng.integer(2, 9) * rng.choice((1, 1, -1))
    b, c = _two(rng, 15)
    work = Working()
    middle, constant = work.divide(k * (b + c), k) if b + c else 0, work.divide(k * b * c, k)
    _sum_and_product(work, middle, constant, (b, c))
    return _posed(work, [k, k * (b + c), k * b * c], "a(x + b)(x + c)", "b < c", (k, b, c))


def _quadratic(rng: Rng) -> Problem:
    """(ax + b)(cx + d): split the middle term into two numbers whose product is the product of the outer ones."""
    while True:
        c, a = sorted(rng.sample(range(1, 10), 2))
        b, d = nonzero(rng, 12), nonzero(rng, 12)
        if math.gcd(a, b) == math.gcd(c, d) == 1:
            break
    p = product([[a, b], [c, d]])
    work = Working()
    outer = work.multiply(p[0], p[2])
    one, two = a * d, b * c
    _sum_and_product(work, p[1], outer, (one, two))
    # acx^2 + adx + bcx + bd is ax(cx + d) + b(cx + d)
    work.divide(p[0], a)
    work.divide(one, a)
    work.divide(two, c)
    return _posed(work, p, "(ax + b)(cx + d)", "a > c > 0", (a, b, c, d))


def _irreducible(rng: Rng, leading: int, largest: int) -> Polynomial:
    """Return a quadratic without common divisor and without rational root; its middle coefficient may be zero."""
    while True:
        b, c = rng.integer(-largest, largest), nonzero(rng, largest)
        square = b * b - 4 * leading * c
        if math.gcd(leading, b, c) == 1 and (square < 0 or (square and square_part(square)[1] > 1)):
            return [leading, b, c]


def _no_root(work: Working, p: Polynomial) -> None:
    """Show that the discriminant is no square, so that the quadratic has no linear factor."""
    a, b, c = p
    work.line(f"{bracketed(b)}^2 - 4 * {a} * {bracketed(c)}", b * b - 4 * a * c)


def _cubic(rng: Rng) -> Problem:
    a = nonzero(rng, 12)
    rest = _irreducible(rng, 1, 25)
    p = product([[1, a], rest])
    work = Working()
    quotient, _ = horner(work, p, -a)
    _no_root(work, quotient)
    return _posed(work, p, "(x + a)(x^2 + bx + c)", "a, b, c", (a, rest[1], rest[2]))


def _quartic(rng: Rng) -> Problem:
    while True:
        one, two = _irreducible(rng, 1, 9), _irreducible(rng, 1, 9)
        if one[1] > two[1]:
            break
    return _two_quadratics(one, two, "(x^2 + ax + b)(x^2 + cx + d)", "a > c", (*one[1:], *two[1:]))


def _general(rng: Rng) -> Problem:
    low, high = sorted(rng.sample(range(1, 8), 2))
    one, two = _irreducible(rng, high, 12), _irreducible(rng, low, 12)
    return _two_quadratics(one, two, "(ax^2 + bx + c)(dx^2 + ex + f)", "a > d > 0", (*one, *two))


def _two_quadratics(one: Polynomial, two: Polynomial, shape: str, conditions: str, answer: tuple[int, ...]) -> Problem:
    """Pose a product of quadratics; the working compares coefficients and shows that neither factors further."""
    work = Working()
    p = multiply(work, one, two)
    _no_root(work, one)
    _no_root(work, two)
    return _posed(work, p, shape, conditions, answer)
