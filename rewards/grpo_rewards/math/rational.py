r"""Read a rational number as people and models write one: 12, -3/4, \frac{3}{4}, 1\frac12, 1,250, 0.75, 5\%, x = 5.

A fixed grammar decides; nothing is evaluated, so the text of an answer can never run.
"""

from __future__ import annotations

import re
from fractions import Fraction

MAX_DIGITS = 400
"""Longer numerals are refused before they are converted: conversion costs grow with the square of the length."""

MAX_LENGTH = 2_000
"""Characters of a written number; what is longer is not looked at."""

_INTEGER = r"(?:\d{1,3}(?:,\d{3})+|\d+)"
_DECIMAL = rf"(?:{_INTEGER}(?:\.\d+)?|\.\d+)"
_NUMBER = re.compile(
    rf"""(?P<sign>[+-]?)
    (?: (?P<whole>{_DECIMAL}) (?:/(?P<under>[+-]?{_INTEGER}))?
      | (?:(?P<units>{_INTEGER})\s*)? \\[cdt]?frac
        (?: \{{(?P<top>[+-]?{_INTEGER})\}}\{{(?P<bottom>[+-]?{_INTEGER})\}} | \s?(?P<digit>\d)\s?(?P<digit_under>\d) )
      | (?P<mixed>{_INTEGER})\s(?P<part>{_INTEGER})/(?P<part_under>{_INTEGER})
    )(?P<percent>\\?%)?""",
    re.VERBOSE | re.ASCII,
)
_NAME = re.compile(r"^[A-Za-z]\s*=\s*", re.ASCII)
"""The unknown that an equation asked for: "x = 5" answers "Solve ... for x."."""

_PLAIN = str.maketrans({"\u2212": "-", "\u2013": "-", "$": " ", "\u00a0": " "})
"""Minus sign, en dash, dollar, no-break space."""


class TooBigError(ValueError):
    """A numeral longer than MAX_DIGITS, or a text longer than MAX_LENGTH."""


def read_rational(text: str) -> Fraction | None:
    """Return the exact value of a written rational number, None when the text is anything else.

    Raises:
        TooBigError: When a numeral is longer than MAX_DIGITS, or the text longer than MAX_LENGTH.
    """
    if len(text) > MAX_LENGTH:
        raise TooBigError(f"more than {MAX_LENGTH} characters")
    compact = _fold(text)
    if re.search(rf"\d{{{MAX_DIGITS + 1}}}", compact, re.ASCII):
        raise TooBigError(f"a numeral of more than {MAX_DIGITS} digits")
    match = _NUMBER.fullmatch(compact)
    if match is None:
        return None
    value = _magnitude(match)
    if value is None:
        return None
    value = value / 100 if match["percent"] else value
    return -value if match["sign"] == "-" else value


def _fold(text: str) -> str:
    """Drop what carries no value: dollar signs, outer text/brace wrappers, blanks around signs, a final full stop."""
    folded = text.translate(_PLAIN).replace("{,}", ",").strip().rstrip(". \t\n\\")
    folded = re.sub(r"\\(?:[,!;: ]|displaystyle\b)", "", folded).strip()
    folded = re.sub(r"^\\(?:text|mathrm|mathbf|textbf)\{(.*)\}$", r"\1", folded)
    folded = folded.strip("*").strip()
    folded = _NAME.sub("", folded)
    folded = folded.replace(r"\left(", "(").replace(r"\right)", ")")
    while folded[:1] + folded[-1:] in ("{}", "()"):
        folded = folded[1:-1].strip()
    folded = re.sub(r"\s*([/{}]|\\?%)\s*", r"\1", folded)
    return re.sub(r"(^|[{/])([+-])\s+", r"\1\2", folded)


def _magnitude(match: re.Match[str]) -> Fraction | None:
    """Return the value without its sign: a decimal, a quotient, or a whole number with a fraction behind it."""
    if match["whole"] is not None:
        return _over(Fraction(match["whole"].replace(",", "")), match["under"] or "1")
    if match["mixed"] is not None:
        units, top, bottom = match["mixed"], match["part"], match["part_under"]
    else:
        units, top, bottom = (
            match["units"] or "0",
            match["top"] or match["digit"],
            match["bottom"] or match["digit_under"],
        )
    fraction = _over(Fraction(_integer(top)), bottom)
    if fraction is None or (_integer(units) and not 0 <= fraction < 1):
        return None
    return _integer(units) + fraction


def _over(top: Fraction, bottom: str) -> Fraction | None:
    under = _integer(bottom)
    return top / under if under else None


def _integer(text: str) -> int:
    return int(text.replace(",", ""))
