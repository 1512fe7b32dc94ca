"""Rules of exponents: products, powers of powers, one base for all, fractional exponents, monomials, equations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from grpo_envs.math.answers import number_forms, tuple_forms
from grpo_envs.math.effort import digit_operations
from grpo_envs.math.polynomials import nonzero
from grpo_envs.math.style import MATHS, Working, worked
from grpo_envs.math.writing import bracketed, ordered, polynomial, power
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task

POWERS_OF = {2: (2, 6), 3: (2, 4), 5: (2, 3), 6: (2, 3), 7: (2, 3)}
"""Base -> the least and largest exponent of the powers that stand for it: 4 to 64 for 2."""


def other_forms(problem: Problem) -> list[str]:
    """Write the answer otherwise, a tuple or a number."""
    return (tuple_forms if str(problem.reference).startswith("(") else number_forms)(problem)


@task("math.powers", equivalents=other_forms, effort=digit_operations, **MATHS)
def powers(rng: Rng, tier: int) -> Problem:
    """Work with exponents: one base (tiers 0 and 1), fractional (2), several bases (3), monomials, equations."""
    return (_product, _nested, _fractional, _one_base, _monomials, _equation)[tier](rng)


def _product(rng: Rng) -> Problem:
    base = rng.integer(2, 20)
    exponents = [rng.integer(2, 30) for _ in range(2)]
    work = Working()
    n = work.add(*exponents)
    text = " * ".join(power(str(base), exponent) for exponent in exponents)
    return worked(f"Find n with {text} = {base}^n.", work.lines, n)


def _nested(rng: Rng) -> Problem:
    base, p, q = rng.integer(2, 12), rng.integer(2, 9), rng.integer(2, 9)
    r, s = rng.integer(2, 20), rng.integer(2, 40)
    work = Working()
    n = work.subtract(work.add(work.multiply(p, q), r), s)
    text = f"({power(str(base), p)})^{q} * {power(str(base), r)} / {power(str(base), s)}"
    return worked(f"Find n with {text} = {base}^n.", work.lines, n)


def _one_base(rng: Rng) -> Problem:
    """Powers of one base under other names: 4^5 * 8^3 / 2^7 = 2^n."""
    base = rng.choice(tuple(POWERS_OF))
    low, high = POWERS_OF[base]
    work = Working()
    factors = [(rng.integer(low, high), rng.integer(2, 15)) for _ in range(3)]
    parts = []
    for degree, exponent in factors:
        work.line(power(str(base), degree), base**degree)
        parts.append(work.multiply(degree, exponent))
    n = work.subtract(work.add(parts[0], parts[1]), parts[2])
    one, two, three = (power(str(base**degree), exponent) for degree, exponent in factors)
    return worked(f"Find n with {one} * {two} / {three} = {base}^n.", work.lines, n)


def _fractional(rng: Rng) -> Problem:
    """Two perfect powers with fractional exponents of either sign."""
    work = Working()
    texts, values = [], []
    for _ in range(2):
        root, degree = rng.integer(2, 6), rng.integer(2, 4)
        top = rng.choice([n for n in (1, 2, 3, 4, 5) if math.gcd(n, degree) == 1]) * rng.choice((1, -1))
        base = root**degree
        work.line(power(str(root), degree), base)
        values.append(Fraction(root) ** top)
        if top != 1:
            work.line(power(str(root), top), values[-1])
        texts.append(power(str(base), Fraction(top, degree)))
    value = values[0] * values[1]
    work.line(" * ".join(bracketed(v) for v in values), value)
    return worked(f"Compute {' * '.join(texts)}.", work.lines, value)


def _monomials(rng: Rng) -> Problem:
    """Powers of monomials, multiplied and divided: coefficient and both exponents are asked for."""
    work = Working()
    factors = [(rng.integer(2, 6), rng.integer(2, 5), rng.integer(2, 5), rng.integer(2, 3)) for _ in range(2)]
    factors.append((rng.integer(2, 9), rng.integer(1, 9), rng.integer(1, 9), 1))
    numbers, xs, ys, texts = list[int](), list[int](), list[int](), list[str]()
    for c, m, n, exponent in factors:
        if exponent > 1:
            work.line(power(str(c), exponent), c**exponent)
        numbers.append(c**exponent)
        xs.append(work.multiply(m, exponent) if exponent > 1 else m)
        ys.append(work.multiply(n, exponent) if exponent > 1 else n)
        texts.append(power(f"({c}{power('x', m)}{power('y', n)})", exponent))
    coefficient = work.quotient(work.multiply(numbers[0], numbers[1]), numbers[2])
    answer = (coefficient, *(work.subtract(work.add(e[0], e[1]), e[2]) for e in (xs, ys)))
    one, two, three = texts
    prompt = f"Write {one} * {two} / {three} as a * x^b * y^c. Give (a, b, c)."
    return worked(prompt, work.lines, ordered(answer))


def _equation(rng: Rng) -> Problem:
    """An equation between powers of one base whose exponents are linear in x."""
    base = rng.choice(tuple(POWERS_OF))
    low, high = POWERS_OF[base]
    work = Working()
    while True:
        degrees = [rng.integer(low, high) for _ in range(3)]
        lines = [(nonzero(rng, 12), nonzero(rng, 30)) for _ in range(3)]
        slope = degrees[0] * lines[0][0] + degrees[1] * lines[1][0] - degrees[2] * lines[2][0]
        if slope:
            break
    texts, slopes, constants = list[str](), list[int](), list[int]()
    for degree, (a, b) in zip(degrees, lines, strict=True):
        work.line(power(str(base), degree), base**degree)
        slopes.append(work.multiply(degree, a))
        constants.append(work.multiply(degree, b))
        texts.append(f"{base**degree}^{{{polynomial([a, b])}}}")
    slope = _left_less_right(work, slopes)
    constant = _left_less_right(work, constants)
    x = work.quotient(-constant, slope)
    return worked(f"Solve {texts[0]} * {texts[1]} = {texts[2]} for x.", work.lines, x)


def _left_less_right(work: Working, parts: Sequence[int]) -> int:
    return work.subtract(work.add(parts[0], parts[1]), parts[2])
