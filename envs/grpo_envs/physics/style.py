r"""How every physics task asks and answers: constants in the question, exact numbers, the unit in the answer.

Constants are given as round numbers (g is 10 m/s^2), so that every answer is exact: a fraction, a root, a multiple of
pi, never a rounded decimal. No tolerance is needed, and nothing depends on when somebody rounds.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from grpo_envs.math.exact import EXACT, Surd, box, factor, plain, solved
from grpo_envs.math.writing import tex
from grpo_gym.problem import Problem

Value = int | Fraction | Surd | str
"""A number; a sum of roots comes as text."""

OTHER_UNITS = {
    "m": ("cm", 100), "km": ("m", 1000), "m/s": ("cm/s", 100), "J": ("mJ", 1000), "N": ("mN", 1000), "V": ("mV", 1000),
    "A": ("mA", 1000), "W": ("mW", 1000), "kJ": ("J", 1000), "s": ("ms", 1000), "eV": ("meV", 1000),
}  # fmt: skip
"""Unit -> another unit of the same quantity, and how many of it make one."""


def show(value: Value) -> str:
    """Write a number as LaTeX."""
    return str(value) if isinstance(value, Surd | str) else tex(value)


def given(value: int | Fraction) -> str:
    """Write a number as questions do: as a decimal where that is short and exact."""
    thousandths = Fraction(value) * 1000
    if thousandths.denominator > 1:
        return tex(value)
    whole, rest = divmod(abs(thousandths.numerator), 1000)
    sign = "-" if value < 0 else ""
    return f"{sign}{whole}" + (f".{rest:03d}".rstrip("0") if rest else "")


def operand(value: Value) -> str:
    """Write a number as a factor: in brackets where it carries a sign or is a sum."""
    return factor(show(value))


def quantity(value: Value, unit: str) -> str:
    r"""Write a number with its unit: "\frac{5}{2} \text{ m/s}"."""
    if not unit:
        return show(value)
    return f"{operand(value) if isinstance(value, str) else show(value)} \\text{{ {unit}}}"


def asked(prompt: str, steps: Steps, value: Value, unit: str = "", also: Iterable[str] = ()) -> Problem:
    """Return the problem whose answer is a value in a unit."""
    others = [*also, *([] if not unit else [show(value)])]
    if unit in OTHER_UNITS and isinstance(value, int | Fraction):
        name, many = OTHER_UNITS[unit]
        others.append(quantity(value * many, name))
    return solved(prompt, steps.lines, quantity(value, unit), others, {"unit": unit})


def spellings(problem: Problem) -> list[str]:
    """Return other right answers, boxed: without or in another unit, in plain spelling where there is no unit."""
    texts = list(problem.meta.get("also", ()))
    if not problem.meta.get("unit"):
        texts.append(plain(str(problem.reference)))
    return [box(text) for text in dict.fromkeys(texts) if text != problem.reference]


PHYSICS: dict[str, Any] = {**EXACT, "equivalents": spellings}
"""The Task fields that all physics tasks share."""


class Steps:
    """Collects lines of calculation, so that working and answer cannot disagree."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def get(self, text: str, value: Value) -> Value:
        """Write "text = value" and return the value; nothing is written where both look alike."""
        if text != show(value):
            self.lines.append(f"{text} = {show(value)}")
        return value

    def rational(self, text: str, value: Value) -> Fraction:
        """Write a line whose value is rational."""
        self.get(text, value)
        assert not isinstance(value, Surd | str)
        return Fraction(value)


def over(top: object, bottom: object) -> str:
    """Write a quotient."""
    return f"\\frac{{{top}}}{{{bottom}}}"
