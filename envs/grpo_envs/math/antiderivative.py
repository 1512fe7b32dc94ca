"""Antiderivatives: the integrands of `math.integral`, and some that take two steps. Any one is right.

The reward differentiates the answer and compares the result with `meta["integrand"]`; the reference is one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from grpo_envs.math.definite import Definite
from grpo_envs.math.derivative import nonzero, rule
from grpo_envs.math.exact import EXACT, box, joined, over, plain, ratio_term, scaled, solved
from grpo_envs.math.integral import FUNCTIONS, POWERS
from grpo_envs.math.methods import PARTS, SUBSTITUTION
from grpo_envs.math.writing import polynomial, power
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task
from grpo_rewards.math.antiderivative import AntiderivativeReward


def others(problem: Problem) -> list[str]:
    """Return other antiderivatives, boxed: with a constant of integration, with a number, in plain spelling."""
    reference = str(problem.reference)
    return [box(text) for text in (f"{reference} + C", f"{reference} + 7", plain(reference), f"F(x) = {reference} + C")]


@task("math.antiderivative", **{**EXACT, "reward": AntiderivativeReward(), "equivalents": others})
def antiderivative(rng: Rng, tier: int) -> Problem:
    """Find an antiderivative: polynomials (0), powers (1), functions (2), substitution (3), parts (4), twice (5)."""
    if tier == 0:
        f, result = _whole(rng)
    else:
        f, result = _twice(rng) if tier == 5 else _first(rng, (POWERS, FUNCTIONS, SUBSTITUTION, PARTS)[tier - 1])
        more = (_linear, _whole)[tier > 1](rng) if tier <= 3 else _first(rng, FUNCTIONS)
        f, result = joined([f, more[0]]), joined([result, more[1]])
    prompt = f"Find an antiderivative of {f} with respect to x."
    return solved(prompt, [rule(result, f)], result, meta={"integrand": f, "variable": "x"})


def _whole(rng: Rng) -> tuple[str, str]:
    """Return a quadratic whose antiderivative has whole coefficients."""
    a, b, c = nonzero(rng, 4), nonzero(rng, 6), nonzero(rng, 12)
    return polynomial([3 * a, 2 * b, c]), polynomial([a, b, c, 0])


def _linear(rng: Rng) -> tuple[str, str]:
    b, c = nonzero(rng, 6), nonzero(rng, 12)
    return polynomial([2 * b, c]), polynomial([b, c, 0])


def _first(rng: Rng, kinds: Sequence[Callable[[Rng], Definite]]) -> tuple[str, str]:
    drawn = rng.choice(kinds)(rng)
    return drawn.f, drawn.antiderivative


def _twice(rng: Rng) -> tuple[str, str]:
    return rng.choice((_oscillation, _square_exponential, _square_circular))(rng)


def _oscillation(rng: Rng) -> tuple[str, str]:
    """Return ce^{ax} sin(bx) or the cosine: the antiderivative is ce^{ax}(a sin(bx) - b cos(bx)) / (a^2 + b^2)."""
    a, b, c = nonzero(rng, 6), rng.integer(1, 6), nonzero(rng, 12)
    exponential, s, co = f"e^{{{scaled(a, 'x')}}}", f"\\sin({scaled(b, 'x')})", f"\\cos({scaled(b, 'x')})"
    if rng.chance(1, 2):
        f, inner = s, joined([scaled(a, s), scaled(-b, co)])
    else:
        f, inner = co, joined([scaled(a, co), scaled(b, s)])
    return scaled(c, exponential + f), ratio_term(c, a * a + b * b, f"{exponential}({inner})")


def _square_exponential(rng: Rng) -> tuple[str, str]:
    """Return (px^2 + q)e^{kx}: the antiderivative is (pk^2x^2 - 2pkx + qk^2 + 2p)e^{kx} / k^3."""
    p, q, k = nonzero(rng, 9), nonzero(rng, 9), nonzero(rng, 4)
    exponential = f"e^{{{scaled(k, 'x')}}}"
    sign = 1 if k > 0 else -1
    inner = polynomial([sign * c for c in (p * k * k, -2 * p * k, q * k * k + 2 * p)])
    return f"({polynomial([p, 0, q])}){exponential}", over(f"({inner}){exponential}", abs(k) ** 3)


def _square_circular(rng: Rng) -> tuple[str, str]:
    """Return cx^2 sin(kx) or the cosine."""
    c, k = nonzero(rng, 30), rng.integer(1, 9)
    s, co, x2 = f"\\sin({scaled(k, 'x')})", f"\\cos({scaled(k, 'x')})", power("x", 2)
    f, g, sign = (s, co, -1) if rng.chance(1, 2) else (co, s, 1)
    parts = [(sign * c, k, x2 + g), (2 * c, k * k, "x" + f), (-2 * sign * c, k**3, g)]
    return scaled(c, x2 + f), joined(ratio_term(*part) for part in parts)
