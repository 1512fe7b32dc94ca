r"""Expressions over whole numbers, read by a small parser and calculated exactly. Nothing is evaluated as code.

    sum      = ["-"] product {("+" | "-") product}
    product  = factor {("*" | "/") factor | bracket}
    factor   = number | bracket | "\frac" "{" sum "}" "{" sum "}"
    bracket  = "(" sum ")"

Signs may be ASCII, Unicode or LaTeX; brackets may be square. An expression
may be one side of an equation whose other side is its value.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from grpo_gym.verdict import Reason
from grpo_rewards.logic.reading import UnreadError

LONGEST = 300
"""Characters of an expression."""

MOST_NUMBERS = 16
DEEPEST = 24
"""Brackets inside brackets."""

_SIGNS = {
    "\\times": "*", "\\cdot": "*", "\\ast": "*", "\\div": "/", "\\left": "", "\\right": "", "\\dfrac": "\\frac",
    "\\tfrac": "\\frac", "\\,": "", "\\;": "", "\\!": "", "\\ ": "",
    "\u00d7": "*", "\u22c5": "*", "\u00b7": "*", "\u2217": "*", "\u2715": "*", "x": "*", "X": "*",
    "\u00f7": "/", "\u2215": "/", "\u2044": "/", "\u2212": "-", "\u2013": "-", "[": "(", "]": ")",
}  # fmt: skip
_ONE = "".join(re.escape(sign) for sign in _SIGNS if len(sign) == 1)
_TOKEN = re.compile(
    rf"\s*(?:(?P<number>0|[1-9]\d{{0,8}})(?!\d)|(?P<sign>\\[A-Za-z]+|\\[,;! ]|[-+*/(){{}}={_ONE}]))\s*", re.ASCII
)


@dataclass(frozen=True)
class Expression:
    """A calculated expression.

    Attributes:
        value: Its exact value; None where it divides by zero.
        numbers: The numbers that stand in it, from left to right.
        claimed: The value on the other side of an equals sign, None without one.
    """

    value: Fraction | None
    numbers: tuple[int, ...]
    claimed: int | None = None


def expression(text: str) -> Expression:
    """Read an expression such as "(8 - 4) * 6" or "(8 - 4) * 6 = 24".

    Raises:
        UnreadError: It is no expression, or one that is too long.
    """
    if len(text) > LONGEST:
        raise UnreadError(f"an expression of {len(text)} characters", Reason.TOO_BIG)
    tokens = _tokens(text)
    claimed = None
    if tokens.count("=") == 1 and len(tokens) > 2:
        if tokens[-2] == "=" and tokens[-1].isdecimal():
            claimed, tokens = int(tokens[-1]), tokens[:-2]
        elif tokens[1] == "=" and tokens[0].isdecimal():
            claimed, tokens = int(tokens[0]), tokens[2:]
    parser = _Parser(tokens)
    value = parser.sum(0)
    if parser.place < len(tokens):
        raise UnreadError(f"nothing may follow before {tokens[parser.place]!r}")
    return Expression(value, tuple(int(token) for token in tokens if token.isdecimal()), claimed)


def _tokens(text: str) -> list[str]:
    tokens: list[str] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise UnreadError(f"{text[position : position + 20]!r} does not belong into an expression")
        position = match.end()
        token = match["number"] or _SIGNS.get(match["sign"], match["sign"])
        if token.startswith("\\") and token != "\\frac":
            raise UnreadError(f"{token[:20]!r} does not belong into an expression")
        if token:
            tokens.append(token)
    if sum(token.isdecimal() for token in tokens) > MOST_NUMBERS:
        raise UnreadError("too many numbers", Reason.TOO_BIG)
    return tokens


class _Parser:
    """Recursive descent over tokens, which calculates as it goes. None stands for what divides by zero."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens
        self.place = 0

    def sum(self, depth: int) -> Fraction | None:
        if depth > DEEPEST:
            raise UnreadError("too many brackets", Reason.TOO_BIG)
        negative = self._takes("-")
        value = self._product(depth)
        if negative and value is not None:
            value = -value
        while (sign := self._next()) in ("+", "-"):
            self.place += 1
            other = self._product(depth)
            value = None if value is None or other is None else value + (other if sign == "+" else -other)
        return value

    def _product(self, depth: int) -> Fraction | None:
        value, before = self._factor(depth), "*"
        while (sign := self._next()) in ("*", "/", "("):
            if sign == "(" and before == "/":
                raise UnreadError("6 / 2 (3) has two meanings: write the sign of multiplication")
            self.place += sign != "("
            before = sign
            other = self._factor(depth)
            if value is None or other is None or (sign == "/" and other == 0):
                value = None
            else:
                value = value / other if sign == "/" else value * other
        return value

    def _factor(self, depth: int) -> Fraction | None:
        token = self._next()
        if token.isdecimal():
            self.place += 1
            return Fraction(int(token))
        if token == "\\frac":
            self.place += 1
            top, bottom = self._enclosed("{", "}", depth), self._enclosed("{", "}", depth)
            return None if top is None or not bottom else top / bottom
        return self._enclosed("(", ")", depth)

    def _enclosed(self, opening: str, closing: str, depth: int) -> Fraction | None:
        if not self._takes(opening):
            where = f"before {self._next()!r}" if self._next() else "at the end"
            raise UnreadError(f"a number or a bracket is missing {where}")
        value = self.sum(depth + 1)
        if not self._takes(closing):
            raise UnreadError("a bracket is not closed")
        return value

    def _next(self) -> str:
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def _takes(self, token: str) -> bool:
        found = self._next() == token
        self.place += found
        return found
