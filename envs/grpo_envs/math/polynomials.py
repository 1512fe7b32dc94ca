"""Integer polynomials, highest coefficient first, and their working: products and Horner's scheme line by line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

from grpo_envs.math.style import Working
from grpo_envs.math.writing import bracketed
from grpo_gym.rng import Rng

Polynomial = list[int]


def nonzero(rng: Rng, largest: int) -> int:
    """Return a non-zero integer of at most this size."""
    return rng.integer(1, largest) * rng.choice((1, -1))


def product(factors: Iterable[Sequence[int]]) -> Polynomial:
    """Return the product of polynomials."""
    return reduce(_times, factors, [1])


def _times(p: Sequence[int], q: Sequence[int]) -> Polynomial:
    result = [0] * (len(p) + len(q) - 1)
    for i, a in enumerate(p):
        for j, b in enumerate(q):
            result[i + j] += a * b
    return result


def multiply(work: Working, p: Sequence[int], q: Sequence[int]) -> Polynomial:
    """Return p * q; each coefficient is one line such as "3 * 5 + 2 * (-4) = 7"."""
    result = _times(p, q)
    for k, value in enumerate(result):
        pairs = [(p[i], q[k - i]) for i in range(len(p)) if 0 <= k - i < len(q)]
        work.line(" + ".join(f"{bracketed(a) if n else a} * {bracketed(b)}" for n, (a, b) in enumerate(pairs)), value)
    return result


def horner(work: Working, p: Sequence[int], x: int) -> tuple[Polynomial, int]:
    """Divide by (variable - x); every step of Horner's scheme is one line. Return the quotient and the value at x."""
    row = [p[0]]
    for coefficient in p[1:]:
        value = row[-1] * x + coefficient
        shown = f"+ {coefficient}" if coefficient >= 0 else f"- {-coefficient}"
        work.line(f"{row[-1]} * {bracketed(x)} {shown}", value)
        row.append(value)
    return row[:-1], row[-1]
