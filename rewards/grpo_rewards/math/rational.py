r"""Read a rational number the way people and models write one: 12, -3/4, \frac{3}{4}, 1,250, 0.75, 5\%.

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
      | \\[cdt]?frac\{{(?P<top>[+-]?{_INTEGER})\}}\{{(?P<bottom>[+-]?{_INTEGER})\}}
    )(?P<percent>\\?%)?""",
    re.VERBOSE | re.ASCII,
)
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
    while folded.startswith("{") and folded.endswith("}"):
        folded = folded[1:-1].strip()
    folded = re.sub(r"\s*([/{}]|\\?%)\s*", r"\1", folded)
    return re.sub(r"(^|[{/])([+-])\s+", r"\1\2", folded)


def _magnitude(match: re.Match[str]) -> Fraction | None:
    if match["top"] is not None:
        top, bottom = _integer(match["top"]), _integer(match["bottom"])
        return Fraction(top, bottom) if bottom else None
    whole = Fraction(match["whole"].replace(",", ""))
    if match["under"] is None:
        return whole
    under = _integer(match["under"])
    return whole / under if under else None


def _integer(text: str) -> int:
    return int(text.replace(",", ""))
