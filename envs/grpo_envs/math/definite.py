r"""A definite integral as a problem: an antiderivative, its values at both ends, their difference, each in writing."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

from grpo_envs.math.angles import angle, cosine, sine
from grpo_envs.math.exact import Surd, factor, ratio, ratio_term, solved, surd
from grpo_envs.math.writing import power
from grpo_gym.problem import Problem


class Definite(NamedTuple):
    """An integral of f from low to high, all in writing.

    Attributes:
        f: The integrand.
        low: Lower bound.
        high: Upper bound.
        antiderivative: A function F whose derivative is f.
        end: F at the upper bound.
        begin: F at the lower bound.
        value: end - begin.
        steps: What has to be known for the values at the ends.
    """

    f: str
    low: str
    high: str
    antiderivative: str
    end: str
    begin: str
    value: str
    steps: tuple[str, ...] = ()

    def problem(self) -> Problem:
        """Ask for the value."""
        lines = [f"F(x) = {self.antiderivative}", *self.steps]
        lines += [f"F({self.high}) = {self.end}", f"F({self.low}) = {self.begin}"]
        # a sign of its own is turned around, a sum stands in brackets
        turned = self.begin[0] == "-" and " " not in self.begin
        shown = f"{self.end} + {self.begin[1:]}" if turned else f"{self.end} - {factor(self.begin)}"
        if shown != self.value:
            lines.append(f"{shown} = {self.value}")
        return solved(f"Compute the integral of {self.f} from x = {self.low} to x = {self.high}.", lines, self.value)


def rational(f: str, low: int, high: int, antiderivative: str, end: Fraction, begin: Fraction) -> Definite:
    """Return an integral whose antiderivative has rational values at both ends."""
    last, first, value = (ratio(v.numerator, v.denominator) for v in (end, begin, end - begin))
    return Definite(f, str(low), str(high), antiderivative, last, first, value)


def e_to(exponent: int) -> str:
    """Write a power of e; the exponent 0 is 1."""
    return "1" if exponent == 0 else power("e", exponent)


def e_term(top: int, bottom: int, exponent: int) -> str:
    """Write a rational multiple of a power of e."""
    return ratio_term(top, bottom, e_to(exponent) if exponent else "")


def over_surd(top: int, bottom: int, value: Surd) -> Surd:
    """Return top / bottom * value."""
    return surd(top * value.top, bottom * value.bottom, value.radicand)


def difference(a: Surd, b: Surd) -> list[Surd]:
    """Return a - b: one surd where both have the same root."""
    if a.radicand == b.radicand:
        return [surd(a.top * b.bottom - b.top * a.bottom, a.bottom * b.bottom, a.radicand)]
    return [value for value in (a, surd(-b.top, b.bottom, b.radicand)) if value.top]


def logarithms(top: int, bottom: int, a: int, b: int) -> tuple[tuple[str, str], str]:
    """Return top / bottom * (ln(a), ln(b)) and their difference as one logarithm."""
    values = ("0" if x == 1 else ratio_term(top, bottom, f"\\ln({x})") for x in (a, b))
    common = math.gcd(a, b)
    if a < b:  # the logarithm of a number above 1
        top, a, b = -top, b, a
    answer = ratio_term(top, bottom, f"\\ln({ratio(a, b)})")
    return (next(values), next(values)), answer if common < max(a, b) else "0"


def known_values(twelfths: int, *names: str) -> tuple[str, ...]:
    """Write the values of sine or cosine at a special angle."""
    return tuple(f"{f}({angle(twelfths)}) = {(sine if f[1] == 's' else cosine)(twelfths)}" for f in names)
