r"""How every maths task asks, works and answers: equation lines, then `\boxed{...}`."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from grpo_envs.boxed import boxed
from grpo_gym.problem import Problem
from grpo_rewards.math import MathReward

ANSWER_FORMAT = r"Answer in \boxed{}."


def worked(prompt: str, lines: Iterable[str], answer: int | Fraction | str, **meta: Any) -> Problem:
    """Return a problem whose solution is the equation lines with the boxed answer behind them; `meta` is JSON."""
    reference = str(answer)
    return Problem(prompt, reference, solution="\n".join([*lines, f"\\boxed{{{reference}}}"]), meta=meta)


MATHS: dict[str, Any] = {
    "reward": MathReward(),
    "answer_format": ANSWER_FORMAT,
    "answer": boxed,
    "default_tiers": (0, 1),
}
"""The Task fields that all maths tasks share."""


class Working:
    """Collects equation lines while it calculates, so that working and answer cannot disagree.

    Every method writes one line such as "12 + 7 = 19" and returns the result.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []

    def line(self, left: str, value: int | Fraction | str) -> None:
        """Write "left = value"."""
        self.lines.append(f"{left} = {value}")

    def add(self, a: int, b: int) -> int:
        """Return a + b; a negative b is written as a subtraction."""
        self.line(f"{a} + {b}" if b >= 0 else f"{a} - {-b}", a + b)
        return a + b

    def subtract(self, a: int, b: int) -> int:
        """Return a - b; a negative b is written as an addition."""
        self.line(f"{a} - {b}" if b >= 0 else f"{a} + {-b}", a - b)
        return a - b

    def multiply(self, a: int, b: int) -> int:
        """Return a * b."""
        self.line(f"{a} * {b}", a * b)
        return a * b

    def divide(self, a: int, b: int) -> int:
        """Return a / b, which must be whole."""
        if a % b:
            raise ValueError(f"{a} / {b} is not whole")
        self.line(f"{a} / {b}", a // b)
        return a // b

    def quotient(self, top: int, bottom: int) -> Fraction:
        """Return top / bottom, whole or not; a fraction that is in lowest terms as it stands needs no line."""
        value = Fraction(top, bottom)
        if str(value) != f"{top}/{bottom}":
            self.line(f"{top} / {bottom}" if bottom > 0 else f"{top} / ({bottom})", value)
        return value

    def remainder(self, n: int, m: int) -> int:
        """Return n mod m for n >= 0 by long division: one digit of the quotient, largest first, per pair of lines."""
        quotient = n // m
        place = 10 ** max(len(str(quotient)) - 1, 0)
        while place:
            digit = quotient // place % 10
            if digit:
                n = self.subtract(n, self.multiply(m, digit * place))
            place //= 10
        return n
