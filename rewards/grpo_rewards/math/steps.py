r"""The working of a solution: finds its equations between numbers and checks each.

`16 - 3 - 4 = 9`, `$\frac{10}{2} = 5$`, `x = 10/2 = 5` and GSM8K's `<<48/2=24>>` state something that is true or false.
Equations with unknowns (`2x + 3 = 7`) are conditions and are left alone, and so is what cannot be read: a line
counts as unsound only when it is false beyond doubt. A decimal that is the left side rounded to as many places is
sound.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from grpo_rewards.math.compare import Comparison, needs_calculus
from grpo_rewards.math.fold import fold
from grpo_rewards.math.guard import TooBigError, UndecidedError, UnreadableError
from grpo_rewards.math.parser import parse
from grpo_rewards.math.policy import Policy
from grpo_rewards.math.rational import rational
from grpo_rewards.math.shapes import quantity
from grpo_rewards.math.tree import Node, Num, Relation, Text, symbols
from grpo_rewards.soundness import Soundness

MAX_EQUATIONS = 200
"""Equations of one response that are checked; more would only cost time."""

_LONGEST = 300
_ANNOTATION = re.compile(r"<<([^<>\n]{3,200})>>")
_SPAN = re.compile(r"\$\$?([^$\n]{3,300})\$\$?|\\\(([^\n]{3,300}?)\\\)|\\\[([^\n]{3,300}?)\\\]")
_RUN = re.compile(
    r"[-($]{0,3}\d[-\d \t.,+*/\u00d7\u00f7\u00b7\u2212^()$%]{0,200}"
    r"(?:=[-\d \t.,+*/\u00d7\u00f7\u00b7\u2212^()$%]{1,200})+"
)
_OPERATOR = re.compile(r"[+*/\u00d7\u00f7\u00b7^]|\d\)?\s*[-\u2212]|\\(?:frac|times|cdot|div|sqrt|dfrac)")
_GOES_ON = re.compile(r"\s*(?:[b-zB-HJ-Z](?![a-zA-Z])|[\\_{=])")
"""What makes the end of a run a part of something larger: a variable, a command."""

_COMPARISON = Comparison(Policy(unevaluated=True))


def check_steps(response: str) -> Soundness:
    """Check every equation between numbers in a response, thoughts included. Never raises because of the text."""
    checked, unsound = 0, []
    seen: set[str] = set()
    for written in equations(response):
        if written in seen:
            continue
        seen.add(written)
        if len(seen) > MAX_EQUATIONS:
            break
        sound = is_sound(written)
        if sound is not None:
            checked += 1
            if not sound:
                unsound.append(written)
    return Soundness(checked, tuple(unsound))


def equations(response: str) -> Iterator[str]:
    """Yield what may be an equation: annotations, formulas, and runs of figures in prose."""
    for line in response.splitlines():
        rest = line
        for pattern in (_ANNOTATION, _SPAN):
            for match in pattern.finditer(rest):
                content = next(group for group in match.groups() if group is not None)
                if "=" in content and (pattern is _ANNOTATION or not _is_prose(content)):
                    yield from (part.replace("&", "").strip() for part in content.split("\\\\") if "=" in part)
            rest = pattern.sub(lambda m: m[0] if _is_prose(m[0]) else " ; ", rest)
        for match in _RUN.finditer(rest):
            if _stands_alone(rest, match):
                yield match[0].strip().rstrip(".,(").strip()
        if (
            "\\" in rest
            and "=" in rest
            and len(rest) <= _LONGEST
            and re.search(r"[A-Za-z]{2,} [A-Za-z]{2,}", rest) is None
        ):
            yield rest.replace("&", "").strip().rstrip("\\., ")


def is_sound(written: str) -> bool | None:
    """Whether an equation is true; None when it says nothing definite or cannot be read."""
    if len(written) > _LONGEST or _OPERATOR.search(written) is None:
        return None
    try:
        tree = parse(fold(written.replace("$", " ")))
    except (UnreadableError, TooBigError, RecursionError):
        return None
    if not isinstance(tree, Relation) or needs_calculus(tree):
        return None
    decided: bool | None = None
    for left, sign, right in zip(tree.items, tree.signs, tree.items[1:], strict=False):
        if sign != "=" or symbols(left) or symbols(right) or isinstance(left, Text) or isinstance(right, Text):
            continue
        pair = _pair(left, right)
        if pair is False:
            return False
        decided = pair if decided is None else decided
    return decided


def _pair(left: Node, right: Node) -> bool | None:
    try:
        exact = rational(left), rational(right)
        if exact[0] is not None and exact[0] == exact[1]:
            return True
        if _COMPARISON.same(left, right) or _COMPARISON.same(right, left):
            return True
        return _is_rounded(left, right) or _is_rounded(right, left)
    except (UndecidedError, TooBigError, RecursionError):
        return None


def _is_rounded(exact: Node, shown: Node) -> bool:
    """Whether a decimal is the other side, rounded to its places."""
    value, decimal = rational(quantity(exact)[0]), quantity(shown)[0]
    if value is None or not isinstance(decimal, Num) or not decimal.rounded:
        return False
    places = next((k for k in range(20) if (decimal.value * 10**k).denominator == 1), 20)
    return abs(value - decimal.value) <= Fraction(1, 2 * 10**places)


def _stands_alone(line: str, match: re.Match[str]) -> bool:
    """Whether a run of figures is a whole equation, not the end of one with unknowns."""
    before = line[max(0, match.start() - 30) : match.start()].rstrip(" $")
    glued = match.start() > 0 and line[match.start() - 1].isalnum()
    if glued or before.endswith(tuple("+-*/^=(\u00d7\u00f7\u00b7\u2212\\{}_,.<>")):
        return before.endswith("=") and not glued
    if re.search(r"[+*/^=\u00d7-]\s*[A-Za-z]{1,20}$", before):
        return False  # 5 apples * 2 = 10
    end = match.start() + len(match[0].rstrip())
    if line[end - 1] in "+-*/^\u00d7\u00f7\u00b7\u2212(":
        return False
    return _GOES_ON.match(line, end) is None and not line[end : end + 1].isalpha()


def _is_prose(text: str) -> bool:
    """Whether what stands between two dollar signs is text between two amounts of money."""
    return re.search(r"(?<![\\{A-Za-z])[A-Za-z]{2,} [A-Za-z]{2,}", text) is not None
