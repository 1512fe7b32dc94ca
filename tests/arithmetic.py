"""A second opinion on arithmetic: a small parser over fractions that shares no code with what it checks."""

from __future__ import annotations

import re
from fractions import Fraction

_TOKEN = re.compile(r"\s*(\d+|[-+*/^()x])")


class _Parser:
    def __init__(self, text: str, x: Fraction) -> None:
        self.tokens = []
        position = 0
        while position < len(text.rstrip()):
            match = _TOKEN.match(text, position)
            if match is None:
                raise ValueError(f"not arithmetic at {position}: {text!r}")
            self.tokens.append(match.group(1))
            position = match.end()
        self.x = x

    def next(self) -> str:
        return self.tokens[0] if self.tokens else ""

    def take(self, *wanted: str) -> str:
        return self.tokens.pop(0) if self.next() in wanted else ""

    def sum(self) -> Fraction:
        value = self.product()
        while sign := self.take("+", "-"):
            value = value + self.product() if sign == "+" else value - self.product()
        return value

    def product(self) -> Fraction:
        value = self.signed()
        while True:
            if self.take("*") or self.next() in ("x", "("):  # 3x and 4(x + 1) multiply without a sign
                value *= self.signed()
            elif self.take("/"):
                value /= self.signed()
            else:
                return value

    def signed(self) -> Fraction:
        return -self.signed() if self.take("-") else self.power()

    def power(self) -> Fraction:
        base = self.atom()
        return base ** int(self.signed()) if self.take("^") else base

    def atom(self) -> Fraction:
        if self.take("("):
            value = self.sum()
            if not self.take(")"):
                raise ValueError("a bracket is not closed")
            return value
        if self.take("x"):
            return self.x
        return Fraction(int(self.tokens.pop(0)))


def evaluate(text: str, x: Fraction | int = 0) -> Fraction:
    """Return the exact value of a text such as "3 - 4(x + 1) / 2"."""
    parser = _Parser(text, Fraction(x))
    value = parser.sum()
    if parser.tokens:
        raise ValueError(f"left over in {text!r}: {parser.tokens}")
    return value


def solve(equation: str) -> Fraction:
    """Return the root of a linear equation in x, found from its values at 0 and 1 and checked at the root."""
    left, right = equation.split("=")

    def difference(x: Fraction | int) -> Fraction:
        return evaluate(left, x) - evaluate(right, x)

    root = -difference(0) / (difference(1) - difference(0))
    if difference(root) != 0 or difference(root + 1) == 0:
        raise ValueError(f"not linear: {equation!r}")
    return root
