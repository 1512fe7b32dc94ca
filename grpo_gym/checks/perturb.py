"""Answers that look right and are not: the right one with a digit, a sign, a unit or a letter too many or too few.

Only changes that certainly change the meaning are made; where that cannot be known, none is.
"""

from __future__ import annotations

import re
from fractions import Fraction

_NUMBER = re.compile(r"(?P<sign>[+-]?)(?P<magnitude>(?P<whole>\d+)(?:\.\d+|/0*[1-9]\d*)?)", re.ASCII)
_WORD = re.compile(r"[^\W\d_]{2,}")
_ITEM = r"[+-]?\d+(?:\.\d+)?"
_SEQUENCE = re.compile(
    rf"(?P<open>[(\[]?)(?P<head>(?:{_ITEM}(?:\s*[,;]\s*|\s+))+)(?P<last>{_ITEM})(?P<close>[)\]]?)", re.ASCII
)

LONGEST = 50
"""Digits of a number that is still changed: exact values of longer ones are not worth the time."""

LONGEST_SEQUENCE = 1_000

EXACT_DIGITS = 5
DOUBLE_DIGITS = 14
"""Digits of a number that a thousandth, and that one more digit, is still added to: where there are more, an honest
comparison of floats loses the difference."""

_SUPERSCRIPTS = str.maketrans("0123456789", "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079")


def wrong_references(reference: object) -> dict[str, object]:
    """Return what was changed -> wrong reference, for a reference that is one number or one word; else nothing.

    A wrong reference is of the right one's type where it can be.
    """
    if isinstance(reference, bool) or not isinstance(reference, (str, int, float)):
        return {}
    text = str(reference).strip()
    number = _NUMBER.fullmatch(text)
    if number is None or len(text) > LONGEST:
        return dict(_words(text)) if _WORD.fullmatch(text) else {}
    changed = {what: _typed(wrong, reference) for what, wrong in _numbers(text, number).items()}
    return {what: wrong for what, wrong in changed.items() if value_of(str(wrong)) != value_of(text)}


def wrong_sequences(reference: object) -> dict[str, object]:
    """Return what was changed -> wrong text, for a text of several numbers: a list, a pair, a grid; else nothing."""
    if not isinstance(reference, str) or len(reference) > LONGEST_SEQUENCE:
        return {}
    found = _SEQUENCE.fullmatch(reference.strip())
    if found is None:
        return {}
    head, last = found["head"], found["last"]
    items = re.findall(_ITEM, head)
    between = re.findall(r"[^0-9.+-]+", head)[-1]
    wrong = {
        "the last number changed": f"{head}{last}1",
        "a number more": f"{head}{last}{between}{last}1",
        "a number before": f"{last}1{between}{head}{last}",
    }
    if all(value_of(item) != value_of(last) for item in items):  # of two equal ones, one may stand for both
        wrong["a number less"] = re.sub(r"\D+\Z", "", head)
    return {
        what: f"{found['open']}{text}{found['close']}" for what, text in wrong.items() if _differs(text, head + last)
    }


def value_of(text: str) -> Fraction | None:
    """Return the exact value of a number's text, None for any other text."""
    return Fraction(text) if _NUMBER.fullmatch(text) else None


def _numbers(text: str, number: re.Match[str]) -> dict[str, str]:
    sign, magnitude, whole = number["sign"], number["magnitude"], number["whole"]
    following = f"{sign}{int(whole) + 1}"
    changed = {
        "a digit before": f"{sign}1{magnitude}",
        "a digit less": f"{sign}{whole[:-1] or 0}",
        "the digits reversed": f"{sign}{magnitude[::-1]}",
        "the other sign": magnitude if sign == "-" else f"-{magnitude}",
        "the whole part alone": f"{sign}{whole}",
        "the number twice": f"{text}{magnitude}",
        "a range": f"{text} to {following}",
        "an expression": f"{text}+1",
        "an expression that ends with it": f"1+{magnitude}",
        "a letter behind": f"{text}x",
        "a unit that nobody asked for": f"{text} furlongs",
    }
    if len(magnitude) <= DOUBLE_DIGITS:
        changed |= {"a digit behind": f"{text}1", "a zero behind": f"{text}0"}
        changed |= {"a neighbour": following, "a decimal behind": f"{text}.4"}
    if whole == magnitude and len(whole) <= EXACT_DIGITS:
        changed["a small difference"] = f"{text}.001"
    if whole == magnitude and len(whole) > 1:
        changed["a superscript"] = f"{text[:-1]}{text[-1].translate(_SUPERSCRIPTS)}"
    return changed


def _typed(wrong: str, reference: object) -> object:
    """Return a wrong number as what the right one is: whole, with decimals, or text."""
    kind = type(reference)
    if kind is int and re.fullmatch(r"[+-]?\d+", wrong, re.ASCII):
        return int(wrong)
    if kind is float and re.fullmatch(r"[+-]?\d+\.\d+", wrong, re.ASCII):
        return float(wrong)
    return wrong


def _differs(wrong: str, right: str) -> bool:
    """Whether two texts hold different numbers."""
    return [value_of(item) for item in re.findall(_ITEM, wrong)] != [value_of(i) for i in re.findall(_ITEM, right)]


def _words(text: str) -> dict[str, str]:
    changed = {
        "a letter behind": f"{text}q",
        "a letter before": f"q{text}",
        "the word twice": f"{text}{text}",
        "the word denied": f"not {text}",
        "another word behind": f"{text} qualm",
    }
    if len(text) > 2:  # "n" may well stand for "no"
        changed["a letter less"] = text[:-1]
    if text[::-1].casefold() != text.casefold():
        changed["the letters reversed"] = text[::-1]
    return changed
