r"""Whether what a solution returned or printed is what was expected: decided in the trusted process, on plain data.

**Values** (style "function") are equal when they are of one kind and equal in it:

* None, bool, numbers (int and float), complex, str, bytes, list, set, dict, ... are kinds. A bool is no number.
* An int equals a float of exactly its value. nan equals nan where nan is expected, nothing else.
* list = tuple, set = frozenset, bytes = bytearray, and the dict types are one kind; order counts in lists only.
* Keys of dicts and members of sets follow the same rules: `{True: 1}` is not `{1: 1}`, `{"1": 1}` is not `{1: 1}`.
* Arrays and scalars of numpy are the lists and numbers that they hold.
* With a tolerance two finite numbers may differ by |got - expected| <= tolerance * max(1, |expected|), unless both are
  ints. A set of numbers is compared in ascending order; other sets, and keys, are compared exactly.
* Any other type equals nothing.

**Outputs** (style "stdio") are equal when they have the same lines:

* Blanks (space, tab, carriage return) at the end of a line and empty lines at the end do not count, so `\r\n` = `\n`.
  Blanks at the beginning of a line do, and so does the number of lines.
* Without a tolerance lines are equal as text. With one they are equal token by token, as text or as near numbers: by
  the rule above if either is written as a float, exactly if both are integers. Numbers are written in ASCII: `1_0`,
  other digits, `nan`, `inf` and whatever is too large for a float equal nothing but the same text.

What was got is hostile. It is never hashed into a table of ours, only looked up in one made of expected values; each
element is looked at a fixed number of times, and nothing of it is written out beyond a bound.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from itertools import zip_longest
from typing import Any

from grpo_rewards.code.plain import KINDS, cut, shown, unpacked

_BLANKS = " \t\r"
_TOKEN = re.compile(r"[^ \t\r]+")
_INTEGER = re.compile(r"([+-]?)0*([0-9]+)", re.ASCII)
_FLOAT = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)

MAX_NUMERAL = 1_000
"""Characters of a numeral that is read as a float; a longer one equals only the same text or integer."""

Difference = tuple[str, str]
"""Where two values differ ("[2]['a']", "" for the whole), and how."""


def same_value(got: object, expected: object, tolerance: float | None = None) -> bool:
    """Whether a returned value is the expected one, by the rules above."""
    return _difference(got, expected, tolerance) is None


def first_difference(got: object, expected: object, tolerance: float | None = None) -> str:
    """Return where and how a returned value differs first, in words; "" when it does not."""
    found = _difference(got, expected, tolerance)
    if found is None:
        return ""
    where, how = found
    return f"at {cut(where, 80)}: {how}" if where else how


def same_output(got: str, expected: str, tolerance: float | None = None) -> bool:
    """Whether a printed text is the expected one, by the rules above."""
    return not first_output_difference(got, expected, tolerance)


def first_output_difference(got: str, expected: str, tolerance: float | None = None) -> str:
    """Return the first line in which a printed text differs, in words; "" when it does not."""
    mine, theirs = _lines(got), _lines(expected)
    for number, (line, wanted) in enumerate(zip(mine, theirs, strict=False), 1):
        if line != wanted and (tolerance is None or not _near_lines(line, wanted, tolerance)):
            return f"line {number}: got {shown(line)}, expected {shown(wanted)}"
    if len(mine) != len(theirs):
        return f"got {_count(len(mine), 'line')}, expected {len(theirs)}"
    return ""


def _difference(got: Any, expected: Any, tolerance: float | None) -> Difference | None:
    got, expected = unpacked(got), unpacked(expected)
    kind, wanted = KINDS.get(type(got)), KINDS.get(type(expected))
    if kind is None or kind != wanted:
        return "", f"got {shown(got)}, expected {shown(expected)}{_types(got, expected)}"
    compare = _BY_KIND.get(kind)
    if compare is not None:
        return compare(got, expected, tolerance)
    same = _near(got, expected, tolerance) if kind == "a number" else _key(got) == _key(expected)
    return None if same else ("", f"got {shown(got)}, expected {shown(expected)}")


def _lists_differ(got: Any, expected: Any, tolerance: float | None) -> Difference | None:
    for index, (mine, theirs) in enumerate(zip(got, expected, strict=False)):
        found = _difference(mine, theirs, tolerance)
        if found is not None:
            return f"[{index}]{found[0]}", found[1]
    if len(got) != len(expected):
        return "", f"got {_count(len(got), 'element')}, expected {len(expected)}"
    return None


def _dicts_differ(got: Any, expected: Any, tolerance: float | None) -> Difference | None:
    table = {_key(key): (key, value) for key, value in expected.items()}
    for key, value in got.items():
        known = table.pop(_key(key), None)
        if known is None:
            return "", f"got the key {shown(key, 60)}, which is not expected"
        found = _difference(value, known[1], tolerance)
        if found is not None:
            return f"[{shown(key, 30)}]{found[0]}", found[1]
    if table:
        return "", f"no key {shown(next(iter(table.values()))[0], 60)}, which is expected"
    return None


def _sets_differ(got: Any, expected: Any, tolerance: float | None) -> Difference | None:
    if len(got) != len(expected):
        return "", f"got {_count(len(got), 'member')}, expected {len(expected)}"
    if tolerance is not None and all(map(_is_finite_number, got)) and all(map(_is_finite_number, expected)):
        pairs = zip(sorted(got), sorted(expected), strict=True)
        wrong = next((mine for mine, theirs in pairs if not _near(mine, theirs, tolerance)), None)
        return None if wrong is None else ("", f"got the member {shown(wrong)}, which is not expected")
    table = {_key(member) for member in expected}
    for member in got:
        key = _key(member)
        if key not in table:
            return "", f"got the member {shown(member, 60)}, which is not expected"
        table.remove(key)
    return None


_BY_KIND: dict[str, Callable[[Any, Any, float | None], Difference | None]] = {
    "a list": _lists_differ, "a deque": _lists_differ, "a dict": _dicts_differ, "a set": _sets_differ,
}  # fmt: skip


def _near(got: float, expected: float, tolerance: float | None) -> bool:
    """Whether two numbers are equal, or near where that is allowed."""
    if got == expected or (got != got and expected != expected):
        return True
    if tolerance is None or (type(got) is int and type(expected) is int):
        return False
    try:
        mine, theirs = float(got), float(expected)
    except OverflowError:  # an int that no float can be near to
        return False
    if not (math.isfinite(mine) and math.isfinite(theirs)):
        return False
    return abs(mine - theirs) <= tolerance * max(1.0, abs(theirs))


def _key(value: Any) -> object:
    """Return something hashable that is equal for exactly the values that are the same without a tolerance."""
    value = unpacked(value)
    kind = KINDS.get(type(value))
    if kind == "a number":
        return value if value == value else ("nan",)
    if kind == "a complex number":
        return kind, _key(value.real), _key(value.imag)
    if kind in ("a list", "a deque"):
        return kind, tuple(map(_key, value))
    if kind == "a set":
        return kind, frozenset(map(_key, value))
    if kind == "bytes":
        return kind, bytes(value)
    if kind == "a slice":
        return kind, _key(value.start), _key(value.stop), _key(value.step)
    if kind == "a decimal" and value.is_nan():
        return kind, "nan"
    return kind, value


def _is_finite_number(value: Any) -> bool:
    return type(value) is int or (type(value) is float and math.isfinite(value))


def _lines(text: str) -> list[str]:
    stripped = text.rstrip(_BLANKS + "\n")
    return [line.rstrip(_BLANKS) for line in stripped.split("\n")] if stripped else []


def _near_lines(got: str, expected: str, tolerance: float) -> bool:
    if _indent(got) != _indent(expected):
        return False
    pairs = zip_longest(_TOKEN.finditer(got), _TOKEN.finditer(expected))
    return all(mine and theirs and _near_tokens(mine[0], theirs[0], tolerance) for mine, theirs in pairs)


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(_BLANKS))]


def _near_tokens(got: str, expected: str, tolerance: float) -> bool:
    if got == expected:
        return True
    mine, theirs = _INTEGER.fullmatch(got), _INTEGER.fullmatch(expected)
    if mine and theirs:  # compared as text: digits by the thousand are slow to convert
        negative = (mine[1] == "-") != (theirs[1] == "-")
        return mine[2] == theirs[2] and (mine[2] == "0" or not negative)
    if not all(len(token) <= MAX_NUMERAL and _FLOAT.fullmatch(token) for token in (got, expected)):
        return False
    x, y = float(got), float(expected)
    return math.isfinite(x) and math.isfinite(y) and abs(x - y) <= tolerance * max(1.0, abs(y))


def _types(got: object, expected: object) -> str:
    mine, theirs = type(got).__name__, type(expected).__name__
    return f" ({mine} where {theirs} is expected)" if mine != theirs else ""


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
