r"""Definite integrals with exact values: polynomials, powers and roots, elementary functions, substitution, by parts.

The working names an antiderivative F, its values at both ends and their difference.
"""

from __future__ import annotations

import math
from fractions import Fraction

from grpo_envs.math.angles import angle, cosine, sine
from grpo_envs.math.definite import Definite, difference, e_term, known_values, logarithms, over_surd, rational
from grpo_envs.math.derivative import nonzero
from grpo_envs.math.exact import EXACT, Surd, joined, over, ratio_term, scaled, surd, total
from grpo_envs.math.methods import PARTS, SUBSTITUTION
from grpo_envs.math.writing import polynomial, power
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task


@task("math.integral", **EXACT)
def integral(rng: Rng, tier: int) -> Problem:
    """Integrate between two bounds: polynomials (0, 1), powers (2), functions (3), substitution (4), parts (5)."""
    return rng.choice((TERMS, QUADRATIC, POWERS, FUNCTIONS, SUBSTITUTION, PARTS)[tier])(rng).problem()


# --- powers


def _terms(rng: Rng) -> Definite:
    """Two terms from 0 or 1 on, with a whole antiderivative."""
    n = rng.integer(1, 3)
    upper = [rng.integer(1, 6), *[0] * (n - 1), nonzero(rng, 12), 0]
    low = rng.integer(0, 1)
    return _polynomial([Fraction(c) for c in upper], low, low + rng.integer(1, 4 if n < 3 else 2))


def _quadratic(rng: Rng) -> Definite:
    """A quadratic between any bounds."""
    a, b, c = nonzero(rng, 6), rng.integer(-5, 5), nonzero(rng, 9)
    a *= rng.choice((1, 3))
    low = rng.integer(-3, 2)
    return _polynomial([Fraction(a, 3), Fraction(b), Fraction(c), Fraction(0)], low, low + rng.integer(1, 4))


def _polynomial(coefficients: list[Fraction], low: int, high: int) -> Definite:
    """Return the integral whose antiderivative has these coefficients, highest power first."""
    degree = len(coefficients) - 1
    slope = [int(c * (degree - k)) for k, c in enumerate(coefficients[:-1])]
    end, begin = (_value(coefficients, x) for x in (high, low))
    return rational(polynomial(slope), low, high, polynomial(coefficients), end, begin)


def _value(coefficients: list[Fraction], x: int) -> Fraction:
    value = Fraction(0)
    for c in coefficients:
        value = value * x + c
    return value


def _linear_power(rng: Rng) -> Definite:
    """A power of ax + b."""
    a, b, n, c = rng.integer(2, 5), nonzero(rng, 5), rng.integer(2, 4), rng.integer(1, 6)
    low = rng.integer(-1, 1)
    high = low + rng.integer(1, 2)
    inner = f"({polynomial([a, b])})"
    end, begin = (Fraction(c * (a * x + b) ** (n + 1), a * (n + 1)) for x in (high, low))
    f = scaled(c, power(inner, n))
    return rational(f, low, high, ratio_term(c, a * (n + 1), power(inner, n + 1)), end, begin)


def _inverse_power(rng: Rng) -> Definite:
    n, c = rng.integer(2, 4), rng.integer(1, 30)
    low = rng.integer(1, 4)
    high = low + rng.integer(1, 4)
    end, begin = (Fraction(-c, (n - 1) * x ** (n - 1)) for x in (high, low))
    below = power("x", n - 1)
    common = math.gcd(c, n - 1)
    antiderivative = f"-\\frac{{{c // common}}}{{{scaled((n - 1) // common, below)}}}"
    return rational(over(str(c), power("x", n)), low, high, antiderivative, end, begin)


def _root(rng: Rng) -> Definite:
    r"""A multiple of \sqrt{x} or 1/\sqrt{x}, and a constant, between squares."""
    c, d = rng.integer(1, 12), nonzero(rng, 9)
    low = rng.integer(0, 4)
    high = low + rng.integer(1, 3)
    if rng.chance(1, 2):
        f, roots = (
            joined([scaled(c, r"\sqrt{x}"), str(d)]),
            joined([ratio_term(2 * c, 3, r"x\sqrt{x}"), scaled(d, "x")]),
        )
        end, begin = (Fraction(2 * c * r**3, 3) + d * r * r for r in (high, low))
    else:
        low, high = low + 1, high + 1
        f, roots = joined([over(str(c), r"\sqrt{x}"), str(d)]), joined([scaled(2 * c, r"\sqrt{x}"), scaled(d, "x")])
        end, begin = (Fraction(2 * c * r + d * r * r) for r in (high, low))
    return rational(f, low * low, high * high, roots, end, begin)


# --- elementary functions


def _exponential(rng: Rng) -> Definite:
    c, k = nonzero(rng, 12), nonzero(rng, 5)
    low = rng.integer(0, 1)
    high = low + rng.integer(1, 2)
    f, antiderivative = (ratio_term(c, b, f"e^{{{scaled(k, 'x')}}}") for b in (1, k))
    end, begin = (e_term(c, k, k * x) for x in (high, low))
    answer = joined([end, e_term(-c, k, k * low)])
    return Definite(f, str(low), str(high), antiderivative, end, begin, answer)


def _circular(rng: Rng) -> Definite:
    """A multiple of sin(kx) or cos(kx) from 0 to a special angle divided by k."""
    c, k, m = nonzero(rng, 9), rng.integer(1, 6), rng.choice((2, 3, 4, 6, 8, 9, 10, 14, 15, 16))
    name = f"({scaled(k, 'x')})"
    if rng.chance(1, 2):
        f, back, end, begin = "\\sin", ratio_term(-c, k, "\\cos" + name), over_surd(-c, k, cosine(m)), surd(-c, k)
    else:
        f, back, end, begin = "\\cos", ratio_term(c, k, "\\sin" + name), over_surd(c, k, sine(m)), Surd(0)
    answer = total(*difference(end, begin))
    steps = known_values(m, "\\cos" if f == "\\sin" else "\\sin")
    return Definite(scaled(c, f + name), "0", angle(m, 12 * k), back, str(end), str(begin), answer, steps)


def _logarithm(rng: Rng) -> Definite:
    """A constant over ax + b, between bounds where ax + b is positive."""
    c, a, b = nonzero(rng, 12), rng.integer(1, 5), rng.integer(1, 9)
    low = rng.integer(0, 3)
    high = low + rng.integer(1, 5)
    inner = polynomial([a, b])
    values, answer = logarithms(c, a, a * high + b, a * low + b)
    return Definite(over(str(c), inner), str(low), str(high), ratio_term(c, a, f"\\ln({inner})"), *values, answer)


TERMS, QUADRATIC = (_terms,), (_quadratic,)
POWERS = (_linear_power, _inverse_power, _root)
FUNCTIONS = (_exponential, _circular, _logarithm)
