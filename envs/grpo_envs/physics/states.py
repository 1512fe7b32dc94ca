r"""Superpositions with whole-number amplitudes, and how quantum answers are written: multiples of 1/\pi, of i."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from grpo_envs.math.derivative import nonzero
from grpo_envs.math.exact import Surd, joined, scaled
from grpo_envs.physics.style import Steps, operand, over, show
from grpo_gym.rng import Rng


def amplitudes(rng: Rng, count: int, largest: int = 6) -> list[int]:
    """Return whole amplitudes without a common factor, none 0, the first one positive."""
    while True:
        drawn = [rng.integer(1, largest), *(nonzero(rng, largest) for _ in range(count - 1))]
        if math.gcd(*drawn) == 1:
            return drawn


def superposition(weights: Sequence[int], names: Sequence[object]) -> str:
    """Write an unnormalised state: "2|1> - 3|4>"."""
    return joined(scaled(c, f"|{name}>") for c, name in zip(weights, names, strict=True))


def norm(steps: Steps, weights: Sequence[int]) -> Fraction:
    """Return the sum of the squares."""
    squares = " + ".join(f"({c})^2" if c < 0 else f"{c}^2" for c in weights)
    return steps.rational(squares, sum(c * c for c in weights))


def mean(steps: Steps, weights: Sequence[int], values: Sequence[Fraction | int]) -> Fraction:
    """Return the mean of values that are measured with the probabilities of the amplitudes."""
    whole = norm(steps, weights)
    text = " + ".join(f"{c * c} * {operand(v)}" for c, v in zip(weights, values, strict=True))
    total = steps.rational(text, sum((c * c * v for c, v in zip(weights, values, strict=True)), Fraction(0)))
    return steps.rational(f"{show(total)} / {show(whole)}", total / whole)


def over_pi(value: Surd, power: int = 1) -> str:
    r"""Write a surd divided by a power of \pi: "\frac{\sqrt{3}}{8\pi}"."""
    if value.top == 0:
        return "0"
    below = "\\pi" if power == 1 else f"\\pi^{power}"
    top = str(Surd(abs(value.top), 1, value.radicand))
    return ("-" if value.top < 0 else "") + over(top, scaled(value.bottom, below))
