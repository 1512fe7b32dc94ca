r"""Limits: removable singularities, growth at infinity, roots, small angles, and what takes a derivative twice.

From tier 4 on the working is L'Hospital's rule: the derivatives of top and bottom, then their values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from grpo_envs.math.derivative import nonzero, rule
from grpo_envs.math.exact import EXACT, joined, over, ratio, scaled, solved
from grpo_envs.math.writing import polynomial, power
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task


@task("math.limit", **EXACT)
def limit(rng: Rng, tier: int) -> Problem:
    """Find a limit: a factor to cancel (0, 1), infinity (2), roots (3), small angles (4), second order (5)."""
    return (_linear_left, _quotient_left, _infinity, _conjugate, _first_order, _second_order)[tier](rng)


def ask(f: str, to: str) -> str:
    """Write the question."""
    return f"Find the limit of {f} as x approaches {to}."


def lim(f: str, to: str) -> str:
    r"""Write a limit: "\lim_{x \to 0} f"."""
    return f"\\lim_{{x \\to {to}}} {f}"


def bracket(root: int) -> str:
    """Write the factor x - root."""
    return f"({polynomial([1, -root])})" if root else "x"


# --- cancel a factor


def _linear_left(rng: Rng) -> Problem:
    a, p, q = nonzero(rng, 9), rng.integer(1, 5), nonzero(rng, 12)
    left = polynomial([p, q])
    top = polynomial([p, q - a * p, -a * q])
    value = p * a + q
    lines = [f"{top} = {bracket(a)}({left})", f"{lim(f'({left})', str(a))} = {value}"]
    return solved(ask(over(top, polynomial([1, -a])), str(a)), lines, str(value))


def _quotient_left(rng: Rng) -> Problem:
    """Two quadratics with one root in common."""
    a, b, c = rng.sample([n for n in range(-9, 10) if n], 3)
    p, q = rng.integer(1, 4), rng.integer(1, 4)
    top, bottom = (polynomial([k, -k * (a + r), k * a * r]) for k, r in ((p, b), (q, c)))
    # what is left of either quadratic
    kept, under = polynomial([p, -p * b]), polynomial([q, -q * c])
    value = ratio(p * (a - b), q * (a - c))
    lines = [f"{top} = {bracket(a)}({kept})", f"{bottom} = {bracket(a)}({under})"]
    lines += [f"{lim(over(kept, under), str(a))} = {value}"]
    return solved(ask(over(top, bottom), str(a)), lines, value)


def _conjugate(rng: Rng) -> Problem:
    r"""k(\sqrt{cx + d} - s) / (x^2 - (a + b)x + ab), where ca + d = s^2."""
    a, c, s = rng.integer(-6, 9), nonzero(rng, 6), rng.integer(1, 9)
    b = rng.choice([n for n in range(-6, 10) if n != a])
    root = f"\\sqrt{{{polynomial([c, s * s - c * a])}}}"
    inner, other = f"{root} - {s}", f"{root} + {s}"
    bottom = polynomial([1, -(a + b), a * b])
    left = f"({other}){bracket(b)}"
    value = ratio(c, 2 * s * (a - b))
    lines = [f"({inner})({other}) = {polynomial([c, -c * a])}", f"{bottom} = {bracket(a)}{bracket(b)}"]
    lines += [f"{lim(over(str(c), left), str(a))} = {value}"]
    return solved(ask(over(inner, bottom), str(a)), lines, value)


# --- small angles


class Small(NamedTuple):
    """A function that vanishes at 0 like coefficient * x^order, with its derivatives in writing."""

    text: str
    derivatives: tuple[str, ...]
    coefficient: tuple[int, int]


def _multiple(number: int, text: str) -> str:
    """Write a multiple of a text; a sum in brackets loses them where it stands alone."""
    return text[1:-1] if number == 1 and text[0] == "(" else scaled(number, text)


def _pair(rng: Rng, draw: Callable[[Rng, int], Small]) -> Problem:
    """Return the limit of a quotient of two different functions; only the one above may have a minus sign."""
    top = draw(rng, nonzero(rng, 9))
    while True:
        bottom = draw(rng, rng.integer(1, 9))
        if top.text.lstrip("-0123456789") != bottom.text.lstrip("-0123456789"):
            return _hospital(top, bottom)


def _first_orders(rng: Rng, c: int) -> Small:
    a = rng.integer(1, 9)
    x = scaled(a, "x")
    text, derivative = (
        (f"\\sin({x})", f"\\cos({x})"),
        (f"\\tan({x})", f"\\frac{{{a * c}}}{{\\cos^2({x})}}"),
        (f"(e^{{{x}}} - 1)", f"e^{{{x}}}"),
        (f"\\ln({polynomial([a, 1])})", over(str(a * c), polynomial([a, 1]))),
    )[kind := rng.below(4)]
    derivative = derivative if kind in (1, 3) else scaled(a * c, derivative)
    derivative = f"-\\frac{{{-a * c}}}{{\\cos^2({x})}}" if kind == 1 and c < 0 else derivative
    return Small(_multiple(c, text), (derivative,), (a * c, 1))


def _hospital(top: Small, bottom: Small) -> Problem:
    """Return the limit at 0 of top / bottom, both of one order: differentiate until neither vanishes."""
    f = over(top.text, bottom.text)
    (p, q), (r, s) = top.coefficient, bottom.coefficient
    value = ratio(p * s, q * r)
    lines, before = [], (top.text, bottom.text)
    for pair in zip(top.derivatives, bottom.derivatives, strict=True):
        lines += [rule(old, new) for old, new in zip(before, pair, strict=True)]
        before = pair
    fraction = f"\\frac{{{before[0]}}}{{{before[1]}}}"
    lines += [f"{lim(f, '0')} = {lim(fraction, '0')}", f"{lim(fraction, '0')} = {value}"]
    return solved(ask(f, "0"), lines, value)


def _first_order(rng: Rng) -> Problem:
    return _pair(rng, _first_orders)


def _second_orders(rng: Rng, c: int) -> Small:
    """Return a function of order x^2 with its first and second derivative."""
    a = rng.integer(1, 9)
    x, n = scaled(a, "x"), a * c
    s, co, e = f"\\sin({x})", f"\\cos({x})", f"e^{{{x}}}"
    kind = rng.below(4)
    if kind == 0:
        return Small(_multiple(c, f"(1 - {co})"), (scaled(n, s), scaled(a * n, co)), (a * n, 2))
    if kind == 1:
        inner = joined([e, scaled(-a, "x"), "-1"])
        return Small(_multiple(c, f"({inner})"), (scaled(n, f"({e} - 1)"), scaled(a * n, e)), (a * n, 2))
    if kind == 2:
        first = joined([scaled(c, s), scaled(n, f"x{co}")])
        return Small(scaled(c, f"x{s}"), (first, joined([scaled(2 * n, co), scaled(-a * n, f"x{s}")])), (n, 1))
    first = joined([scaled(c, f"({e} - 1)"), scaled(n, f"x{e}")])
    return Small(scaled(c, f"x({e} - 1)"), (first, joined([scaled(2 * n, e), scaled(a * n, f"x{e}")])), (n, 1))


def _second_order(rng: Rng) -> Problem:
    return _pair(rng, _second_orders)


# --- infinity


def _infinity(rng: Rng) -> Problem:
    kind = rng.below(3)
    if kind == 0:  # the difference of a root and its leading term
        k, b, c = rng.integer(1, 6), nonzero(rng, 12), nonzero(rng, 12)
        root, line = f"\\sqrt{{{polynomial([k * k, b, c])}}}", scaled(k, "x")
        inner, other = f"{root} - {line}", f"{root} + {line}"
        value = ratio(b, 2 * k)
        top = polynomial([b, c])
        lines = [f"({inner})({other}) = {top}", f"{lim(over(top, other), INFINITY)} = {value}"]
        return solved(ask(inner, INFINITY), lines, value)
    if kind == 1:  # a compound interest
        a, b = nonzero(rng, 9), rng.integer(1, 9)
        base = joined(["1", over(str(a), "x")])
        exponent = scaled(b, "x")
        value = "e" if a * b == 1 else power("e", a * b)
        f = f"({base})^{{{exponent}}}"
        lines = [f"{lim(f'{exponent}{LN}({base})', INFINITY)} = {a * b}", f"{lim(f, INFINITY)} = {value}"]
        return solved(ask(f, INFINITY), lines, value)
    degree = rng.integer(2, 4)
    p, q = nonzero(rng, 12), rng.integer(1, 12)
    above, below = ([lead, *[rng.integer(-9, 9) for _ in range(degree - 1)], nonzero(rng, 9)] for lead in (p, q))
    top_text, bottom_text = polynomial(above), polynomial(below)
    extra = rng.integer(1, 9)  # a term that does not grow, so that the answer is not two leading numbers
    value = ratio(p + extra * q, q)
    small = over(scaled(extra, "x"), polynomial([1, nonzero(rng, 9)]))
    f = joined([over(top_text, bottom_text), small])
    lines = [f"{lim(over(top_text, bottom_text), INFINITY)} = {ratio(p, q)}", f"{lim(small, INFINITY)} = {extra}"]
    shown = joined([ratio(p, q), str(extra)])
    return solved(ask(f, INFINITY), [*lines, f"{shown} = {value}"], value)


INFINITY, LN = r"\infty", r"\ln"
