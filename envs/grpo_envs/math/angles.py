r"""Angles whose sine is known exactly: whole multiples of a twelfth of pi that are multiples of pi/4 or pi/6."""

from __future__ import annotations

from grpo_envs.math.exact import Surd, surd

FULL = 24
"""Twelfths of pi in a full turn."""

SPECIAL = tuple(m for m in range(FULL) if m % 2 == 0 or m % 3 == 0)
"""The angles of one turn in twelfths of pi: 0, 2, 3, 4, 6, ..."""

_SINES = {0: (0, 1, 1), 2: (1, 2, 1), 3: (1, 2, 2), 4: (1, 2, 3), 6: (1, 1, 1)}


def sine(twelfths: int) -> Surd:
    """Return the sine of a special angle given in twelfths of pi."""
    m = twelfths % FULL
    sign, m = (-1, m - 12) if m >= 12 else (1, m)
    top, bottom, radicand = _SINES[min(m, 12 - m)]
    return Surd(sign * top, bottom, radicand if top else 1)


def cosine(twelfths: int) -> Surd:
    """Return the cosine of a special angle given in twelfths of pi."""
    return sine(twelfths + 6)


def tangent(twelfths: int) -> Surd:
    """Return the tangent of a special angle whose cosine is not 0."""
    s, c = sine(twelfths), cosine(twelfths)
    return product(s, Surd(c.bottom if c.top > 0 else -c.bottom, abs(c.top) * c.radicand, c.radicand))


def product(a: Surd, b: Surd) -> Surd:
    """Return a * b."""
    return surd(a.top * b.top, a.bottom * b.bottom, a.radicand * b.radicand, a.pi or b.pi)


def angle(top: int, bottom: int = 12) -> str:
    r"""Write top / bottom * pi: "\frac{5\pi}{6}" for 10 twelfths, "0" for none."""
    return str(surd(top, bottom, pi=True))


def add(values: list[Surd]) -> list[Surd]:
    """Add up surds with equal roots: the sum with one term for each root, smallest first, zeros left out."""
    sums: dict[tuple[int, bool], tuple[int, int]] = {}
    for value in values:
        top, bottom = sums.get((value.radicand, value.pi), (0, 1))
        sums[value.radicand, value.pi] = (top * value.bottom + value.top * bottom, bottom * value.bottom)
    return [surd(*sums[key], *key) for key in sorted(sums) if sums[key][0]]
