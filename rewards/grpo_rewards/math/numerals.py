r"""Numerals: what counts as one number, thousands separators and repeating decimals included, and its exact value."""

from __future__ import annotations

import re
from fractions import Fraction

from grpo_rewards.math import guard
from grpo_rewards.math.guard import UnreadableError

_SPACED = r"(?:\\[,;:\ ]|~|\ )"
_COMMA = r"(?:(?:\\!)*(?:\{,\\?!?\}|,(?:\\!\ ?)+)(?:\\!)?)"
NUMBER = rf"""
    (?P<repeat>(?P<before>\d*)\.(?P<steady>\d*)(?:\\(?:overline|bar|dot)\ ?\{{?(?P<cycle>\d{{1,40}})\}}?
        |\((?P<cycle2>\d{{1,40}})\)(?![\w^(]))(?:\\ldots|\.\.\.)?)
  | (?P<endless>\d*\.\d+(?:\.\.\.|\\(?:ldots|dots|cdots)\b)(?:\ ?\.)?)
  | (?P<grouped>\d{{1,3}}(?:(?:{_COMMA}\d{{3}})+|(?:\\?'\d{{3}})+|(?:{_SPACED}\d{{3}})+)(?!\d)(?!\ ?/)(?:\.\d+)?)
  | (?P<commas>\d{{1,3}}(?:,\d{{3}})+(?![\d,])(?:\.\d+)?)
  | (?P<plain>\d+(?:\.\d*)?(?![.\d])|\.\d+|\d+)
"""
"""The pattern of a number, for a verbose regular expression; named groups tell its dress."""


def decimal(digits: str) -> Fraction:
    """Return the exact value of digits with at most one point. Raises TooBigError for very long ones."""
    guard.check(len(digits), guard.MAX_DIGITS, "digits")
    whole, _, fraction = digits.partition(".")
    joined = whole + fraction
    if len(joined) <= 4000:
        return Fraction(int(joined or "0"), 10 ** len(fraction))
    value = 0
    for start in range(0, len(joined), 4000):  # longer numerals than Python converts at once
        chunk = joined[start : start + 4000]
        value = value * 10 ** len(chunk) + int(chunk)
    return Fraction(value, 10 ** len(fraction))


def repeating(before: str, steady: str, cycle: str) -> Fraction:
    """Return the value of digits behind which a cycle repeats for ever."""
    shift = Fraction(1, 10 ** len(steady))
    return decimal(f"{before or 0}.{steady or 0}") + shift * Fraction(int(cycle), 10 ** len(cycle) - 1)


def endless(written: str) -> Fraction:
    """Read 0.333... and 0.1666...: the last digits must show what repeats, three times one digit or twice several."""
    digits = re.match(r"\d*\.\d+", written)
    whole, _, fraction = (digits[0] if digits else ".").partition(".")
    for size, times in ((1, 3), (2, 2), (3, 2), (6, 2)):
        cycle = fraction[-size:]
        if len(fraction) >= size * times and fraction.endswith(cycle * times):
            return repeating(whole, fraction[:-size], cycle)
    raise UnreadableError("a decimal that is cut off")
