"""Definite integrals that take a method: substitution (tier 4 of `math.integral`), by parts, partial fractions."""

from __future__ import annotations

from fractions import Fraction

from grpo_envs.math.angles import angle, cosine, sine
from grpo_envs.math.definite import Definite, difference, e_term, known_values, logarithms, over_surd, rational
from grpo_envs.math.derivative import multiple, nonzero
from grpo_envs.math.exact import Surd, joined, over, ratio, ratio_term, scaled, surd, times, total
from grpo_envs.math.writing import polynomial, power
from grpo_gym.rng import Rng

# --- substitution


def _inner_power(rng: Rng) -> Definite:
    """A multiple of x times a power of ax^2 + b."""
    c, a, b, n = rng.integer(1, 9), rng.integer(1, 3), nonzero(rng, 5), rng.integer(2, 3)
    low, high = rng.choice(((0, 1), (0, 2), (1, 2), (-1, 0), (-1, 2)))
    inner = f"({polynomial([a, 0, b])})"
    end, begin = (Fraction(c * (a * x * x + b) ** (n + 1), 2 * a * (n + 1)) for x in (high, low))
    f = times(c, "x", power(inner, n))
    return rational(f, low, high, ratio_term(c, 2 * a * (n + 1), power(inner, n + 1)), end, begin)


def _inner_exponential(rng: Rng) -> Definite:
    c, a, b = nonzero(rng, 12), nonzero(rng, 3), rng.integer(-4, 4)
    low, high = rng.choice(((0, 1), (0, 2), (1, 2), (-1, 0), (-1, 2)))
    inner = f"e^{{{polynomial([a, 0, b])}}}"
    exponents = [a * x * x + b for x in (high, low)]
    end, begin = (e_term(c, 2 * a, exponent) for exponent in exponents)
    answer = joined([end, e_term(-c, 2 * a, exponents[1])])
    return Definite(times(c, "x", inner), str(low), str(high), ratio_term(c, 2 * a, inner), end, begin, answer)


def _inner_logarithm(rng: Rng) -> Definite:
    c, a, b = nonzero(rng, 12), rng.integer(1, 4), rng.integer(1, 9)
    low, high = rng.choice(((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)))
    inner = polynomial([a, 0, b])
    values, answer = logarithms(c, 2 * a, a * high * high + b, a * low * low + b)
    antiderivative = ratio_term(c, 2 * a, f"\\ln({inner})")
    return Definite(over(scaled(c, "x"), inner), str(low), str(high), antiderivative, *values, answer)


def _sine_power(rng: Rng) -> Definite:
    """A power of sin(kx) times cos(kx), from 0 to a special angle."""
    c, k, n, m = nonzero(rng, 9), rng.integer(1, 4), rng.integer(2, 5), rng.choice((2, 3, 4, 6, 8, 9, 10))
    name = f"({scaled(k, 'x')})"
    s = sine(m)
    whole, half = s.radicand ** ((n + 1) // 2), (n + 1) % 2
    end = surd(c * s.top ** (n + 1) * whole, k * (n + 1) * s.bottom ** (n + 1), s.radicand if half else 1)
    f = times(c, power("\\sin", n) + name, "\\cos" + name)
    back = ratio_term(c, k * (n + 1), power("\\sin", n + 1) + name)
    return Definite(f, "0", angle(m, 12 * k), back, str(end), "0", str(end), known_values(m, "\\sin"))


# --- by parts and by partial fractions


def _parts_exponential(rng: Rng) -> Definite:
    r"""(px + q)e^{kx}, whose antiderivative is ((px + q)/k - p/k^2)e^{kx}."""
    p, q, k = nonzero(rng, 6), rng.integer(-6, 6), nonzero(rng, 3)
    low = rng.integer(0, 1)
    high = low + rng.integer(1, 2)
    exponential = f"e^{{{scaled(k, 'x')}}}"
    f = times(polynomial([p, q]), exponential) if q else scaled(p, f"x{exponential}")
    if k * q == p:
        back = ratio_term(p, k, f"x{exponential}")
    else:
        back = over(times(polynomial([k * p, k * q - p]), exponential), k * k)
    tops = [k * (p * x + q) - p for x in (high, low)]
    end, begin = (e_term(top, k * k, k * x) if top else "0" for top, x in zip(tops, (high, low), strict=True))
    answer = joined([end, e_term(-tops[1], k * k, k * low) if tops[1] else "0"])
    return Definite(f, str(low), str(high), back, end, begin, answer)


def _parts_circular(rng: Rng) -> Definite:
    """Cx sin(kx) or cx cos(kx) from 0 to a special angle divided by k."""
    c, k, m = nonzero(rng, 9), rng.integer(1, 4), rng.choice((2, 3, 4, 6, 8, 9, 10, 12))
    name = f"({scaled(k, 'x')})"
    s, co = sine(m), cosine(m)
    if rng.chance(1, 2):
        f = "\\sin"
        back = joined([ratio_term(-c, k, f"x\\cos{name}"), ratio_term(c, k * k, f"\\sin{name}")])
        parts = [surd(-c * m * co.top, 12 * k * k * co.bottom, co.radicand, pi=True), over_surd(c, k * k, s)]
        begin = Surd(0)
    else:
        f = "\\cos"
        back = joined([ratio_term(c, k, f"x\\sin{name}"), ratio_term(c, k * k, f"\\cos{name}")])
        parts = [surd(c * m * s.top, 12 * k * k * s.bottom, s.radicand, pi=True), over_surd(c, k * k, co)]
        begin = surd(c, k * k)
    end = total(*(part for part in parts if part.top))
    answer = total(*(part for part in (parts[0], *difference(parts[1], begin)) if part.top))
    steps = known_values(m, "\\sin", "\\cos")
    return Definite(scaled(c, f"x{f}{name}"), "0", angle(m, 12 * k), back, end, str(begin), answer, steps)


def _parts_logarithm(rng: Rng) -> Definite:
    """cx^n ln(x) from 1 on."""
    c, n, high = nonzero(rng, 12), rng.integer(1, 4), rng.integer(2, 6)
    x = power("x", n + 1)
    back = joined([ratio_term(c, n + 1, f"{x}\\ln(x)"), ratio_term(-c, (n + 1) ** 2, x)])
    grown = high ** (n + 1)
    log = ratio_term(c * grown, n + 1, f"\\ln({high})")
    end = joined([log, ratio(-c * grown, (n + 1) ** 2)])
    answer = joined([log, ratio(-c * (grown - 1), (n + 1) ** 2)])
    return Definite(scaled(c, power("x", n) + "\\ln(x)"), "1", str(high), back, end, ratio(-c, (n + 1) ** 2), answer)


def _partial_fractions(rng: Rng) -> Definite:
    """C / ((x + a)(x + b)) with 0 < a < b."""
    c, a = nonzero(rng, 12), rng.integer(1, 6)
    b = a + rng.integer(1, 5)
    low = rng.integer(0, 3)
    high = low + rng.integer(1, 4)
    left, right = multiple(1, [1, a]), multiple(1, [1, b])
    back = joined([ratio_term(c, b - a, f"\\ln{left}"), ratio_term(-c, b - a, f"\\ln{right}")])
    end, begin = (
        joined("0" if p == 1 else ratio_term(t, b - a, f"\\ln({p})") for t, p in ((c, x + a), (-c, x + b)))
        for x in (high, low)
    )
    _, answer = logarithms(c, b - a, (high + a) * (low + b), (high + b) * (low + a))
    return Definite(over(str(c), left + right), str(low), str(high), back, end, begin, answer)


SUBSTITUTION = (_inner_power, _inner_exponential, _inner_logarithm, _sine_power)
PARTS = (_parts_exponential, _parts_circular, _parts_logarithm, _partial_fractions)
