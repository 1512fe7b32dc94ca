r"""Derivatives: polynomials, products and quotients, elementary functions, the chain rule, and what combines them.

The pieces f and f' are made side by side, so that a line "\frac{d}{dx}(f) = f'" cannot be false.
"""

from __future__ import annotations

from collections.abc import Sequence

from grpo_envs.math.exact import EXACT, factor, joined, over, scaled, solved, times
from grpo_envs.math.style import Working
from grpo_envs.math.writing import polynomial, power, signed_sum
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task

Pair = tuple[str, str]
"""A function of x and its derivative."""

ASK = "Find the derivative of {} with respect to x."


@task("math.derivative", **EXACT)
def derivative(rng: Rng, tier: int) -> Problem:
    """Differentiate: polynomials (tiers 0, 1), products and quotients, functions, chain rule, all of it together."""
    make = (_terms, _at_a_point, _product_or_quotient, _times_function, _chain, _combined)[tier]
    return make(rng)


def rule(f: str, derived: str) -> str:
    """Write one line of working."""
    return f"\\frac{{d}}{{dx}}({f}) = {derived}"


def derived_polynomial(coefficients: Sequence[int]) -> list[int]:
    """Return the coefficients of the derivative, highest power first."""
    degree = len(coefficients) - 1
    return [c * (degree - k) for k, c in enumerate(coefficients[:-1])]


def multiple(number: int, coefficients: Sequence[int]) -> str:
    """Write a multiple of a polynomial in brackets."""
    return scaled(number, f"({polynomial(coefficients)})")


def nonzero(rng: Rng, largest: int) -> int:
    """Return a whole number from -largest to largest that is not 0."""
    return rng.integer(1, largest) * rng.choice((1, -1))


def signed_polynomial(rng: Rng, degree: int, largest: int) -> list[int]:
    """Return coefficients, highest power first; the first is positive, those between may be 0, the last is not."""
    middle = [rng.integer(-largest, largest) for _ in range(degree - 1)]
    return [rng.integer(1, largest), *middle, nonzero(rng, largest)]


# --- the tiers


def _terms(rng: Rng) -> Problem:
    """Two powers and a constant, term by term."""
    high, low = sorted(rng.sample(range(1, 6), 2), reverse=True)
    a, b = nonzero(rng, 12), nonzero(rng, 12)
    x = {n: "" if n == 0 else power("x", n) for n in range(6)}
    f = signed_sum([(a, x[high]), (b, x[low]), (nonzero(rng, 20), "")])
    answer = signed_sum([(a * high, x[high - 1]), (b * low, x[low - 1])])
    lines = [rule(signed_sum([(c, x[n])]), signed_sum([(c * n, x[n - 1])])) for c, n in ((a, high), (b, low))]
    return solved(ASK.format(f), lines, answer)


def _at_a_point(rng: Rng) -> Problem:
    """A polynomial of degree 3 or 4, its derivative at a whole number by Horner's scheme."""
    f = signed_polynomial(rng, rng.integer(3, 4), 9)
    at = nonzero(rng, 4)
    slope = derived_polynomial(f)
    work = Working()
    work.lines.append(rule(polynomial(f), polynomial(slope)))
    value = slope[0]
    for c in slope[1:]:
        value = work.multiply(value, at)
        value = work.add(value, c) if c else value
    return solved(f"Let f(x) = {polynomial(f)}. Find f'({at}).", work.lines, str(value))


def _product_or_quotient(rng: Rng) -> Problem:
    if rng.chance(1, 2):
        u, v = signed_polynomial(rng, 1, 9), signed_polynomial(rng, 2, 9)
        (a, b), (c, d, e) = u, v
        line = f"{multiple(a, v)} + {times(polynomial(u), polynomial(derived_polynomial(v)))}"
        answer = polynomial([3 * a * c, 2 * (a * d + b * c), a * e + b * d])
        f = f"({polynomial(u)})({polynomial(v)})"
        return solved(ASK.format(f), [rule(f, line), f"{line} = {answer}"], answer, also=[line])
    while True:
        (a, b), (c, d) = signed_polynomial(rng, 1, 9), signed_polynomial(rng, 1, 9)
        if a * d != b * c:
            break
    u, v = [a, b], [c, d]
    bottom = f"({polynomial(v)})^2"
    line = f"{multiple(a, v)} - {multiple(c, u)}"
    answer = over(str(a * d - b * c), bottom)
    f = over(polynomial(u), polynomial(v))
    lines = [rule(f, over(line, bottom)), f"{line} = {a * d - b * c}"]
    return solved(ASK.format(f), lines, answer, also=[over(line, bottom)])


def _times_function(rng: Rng) -> Problem:
    """A multiple of a power of x times sin, cos, exp or ln of a multiple of x."""
    c, n = nonzero(rng, 9), rng.integer(1, 4)
    u = (times(c, power("x", n)), times(c * n, power("x", n - 1) if n > 1 else "1"))
    g, dg = _function(rng, [rng.integer(2, 9), 0])
    f = times(c, power("x", n), g)
    if g.startswith(r"\ln"):  # x^n / x
        second = u[1] if n == 1 else times(c, power("x", n - 1))
        second = str(c) if n == 1 else second
    else:
        second = product(u[0], dg)
    answer = joined([product(u[1], g), second])
    lines = [rule(*u), rule(g, dg), rule(f, answer)]
    return solved(ASK.format(f), lines, answer)


def _chain(rng: Rng) -> Problem:
    """A function of a quadratic."""
    inner = signed_polynomial(rng, 2, 9)
    c = nonzero(rng, 6)
    g, dg = _function(rng, inner) if rng.chance(2, 3) else _power(rng, inner)
    slope = polynomial(derived_polynomial(inner))
    f, answer = product(str(c), g), product(str(c), dg)
    lines = [rule(polynomial(inner), slope), rule(g, dg), *([rule(f, answer)] if c != 1 else [])]
    return solved(ASK.format(f), lines, answer)


def _combined(rng: Rng) -> Problem:
    kind = rng.below(3)
    if kind == 0:
        u, v = _exponential(rng, [nonzero(rng, 6), 0]), _circular(rng, [rng.integer(2, 6), nonzero(rng, 9)])
    elif kind == 1:
        p = signed_polynomial(rng, rng.integer(1, 2), 9)
        u, v = (polynomial(p), polynomial(derived_polynomial(p))), _function(rng, signed_polynomial(rng, 2, 6))
    else:
        return _quotient_of_functions(rng)
    f = product(u[0], v[0])
    answer = joined([product(u[1], v[0]), product(u[0], v[1])])
    return solved(ASK.format(f), [rule(*u), rule(*v), rule(f, answer)], answer)


def _quotient_of_functions(rng: Rng) -> Problem:
    """A function of a multiple of x over x^2 + c with c > 0."""
    u, c = _function(rng, [rng.integer(2, 9), 0]), rng.integer(1, 30)
    v = f"x^2 + {c}"
    top = joined([product(u[1], v), product("-2x", u[0])])
    answer = over(top, f"({v})^2")
    f = over(u[0], v)
    return solved(ASK.format(f), [rule(*u), rule(v, "2x"), rule(f, answer)], answer)


# --- pieces


def product(a: str, b: str) -> str:
    r"""Write a product of two texts that may begin with numbers: ("-2x", "3\cos(x)") is "-6x\cos(x)"."""
    (m, u), (n, v) = _number_and_rest(a), _number_and_rest(b)
    if v.startswith(r"\frac"):  # u * p/q is one fraction
        cut = v.index("}{")
        top = v[6:cut]
        return over(product(a, f"{n}{factor(top)}" if n != 1 else top), v[cut + 2 : -1])
    return times(m * n, u, v)


def _number_and_rest(text: str) -> tuple[int, str]:
    """Split a product into its leading number and the rest; a sum has the number 1."""
    if factor(text.removeprefix("-")) != text.removeprefix("-"):
        return 1, text
    sign, body = (-1, text[1:]) if text[0] == "-" else (1, text)
    digits = len(body) - len(body.lstrip("0123456789"))
    return sign * int(body[:digits] or 1), body[digits:] or "1"


def _function(rng: Rng, inner: Sequence[int]) -> Pair:
    kind = rng.below(3)
    return _circular(rng, inner) if kind == 0 else (_exponential(rng, inner) if kind == 1 else _logarithm(inner))


def _circular(rng: Rng, inner: Sequence[int]) -> Pair:
    text, slope = polynomial(inner), polynomial(derived_polynomial(inner))
    if rng.chance(1, 2):
        return f"\\sin({text})", product(slope, f"\\cos({text})")
    return f"\\cos({text})", product(product("-1", slope), f"\\sin({text})")


def _exponential(rng: Rng, inner: Sequence[int]) -> Pair:
    f = f"e^{{{polynomial(inner)}}}"
    return f, product(polynomial(derived_polynomial(inner)), f)


def _logarithm(inner: Sequence[int]) -> Pair:
    text = polynomial(inner)
    if inner[-1] == 0:  # ln(kx)
        return f"\\ln({text})", r"\frac{1}{x}"
    return f"\\ln({text})", over(polynomial(derived_polynomial(inner)), text)


def _power(rng: Rng, inner: Sequence[int]) -> Pair:
    n, text = rng.integer(3, 7), polynomial(inner)
    below = power(f"({text})", n - 1)
    return power(f"({text})", n), product(times(n, polynomial(derived_polynomial(inner))), below)
