r"""A second opinion on formulas: a small reader of LaTeX and plain text that finds complex numbers, not exact values.

It shares no code with what it checks. Derivatives and limits are found from values, so they are right to a few digits.
"""

from __future__ import annotations

import cmath
import itertools
import math
import re
from collections.abc import Mapping

_TOKEN = re.compile(r"\s*(\d+(?:\.\d+)?|\\[a-zA-Z]+|\\.|sqrt|sin|cos|tan|ln|pi|[a-zA-Z]|[-+*/^()\[\]{}|_])")
_FUNCTIONS = {"sin": cmath.sin, "cos": cmath.cos, "tan": cmath.tan, "ln": cmath.log}
_CONSTANTS = {"pi": complex(math.pi), "e": complex(math.e), "i": 1j}

Values = Mapping[str, complex]


class _Reader:
    def __init__(self, text: str, values: Values) -> None:
        self.tokens: list[str] = []
        position = 0
        text = text.replace("\\left", "").replace("\\right", "").replace("\\,", " ").strip()
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None:
                raise ValueError(f"cannot read {text!r} at {position}")
            self.tokens.append(match[1].removeprefix("\\"))
            position = match.end()
        self.values = values

    def peek(self) -> str:
        return self.tokens[0] if self.tokens else ""

    def take(self, *wanted: str) -> str:
        return self.tokens.pop(0) if self.peek() in wanted else ""

    def need(self, wanted: str) -> None:
        if not self.take(wanted):
            raise ValueError(f"expected {wanted} before {self.tokens}")

    def sum(self) -> complex:
        value = self.product()
        while sign := self.take("+", "-"):
            value = value + self.product() if sign == "+" else value - self.product()
        return value

    def product(self) -> complex:
        value = self.signed()
        while True:
            if self.take("*", "cdot"):
                value *= self.signed()
            elif self.take("/"):
                value /= self.signed()
            elif self.peek() and self.peek() not in ("+", "-", ")", "]", "}", "|"):
                value *= self.power()
            else:
                return value

    def signed(self) -> complex:
        return -self.signed() if self.take("-") else self.power()

    def power(self) -> complex:
        if self.peek() in _FUNCTIONS:
            name = self.tokens.pop(0)
            exponent = self.exponent() if self.take("^") else 1
            return complex(_FUNCTIONS[name](self.power())) ** exponent
        base = self.atom()
        if not self.take("^"):
            return base
        if self.take("circ"):
            return base * math.pi / 180
        exponent = self.exponent()
        if base == complex(math.e):
            return cmath.exp(exponent)
        whole = exponent.imag == 0 and exponent.real == int(exponent.real)
        return base ** int(exponent.real) if whole else base**exponent

    def exponent(self) -> complex:
        return self.signed() if self.peek() == "-" else self.atom()

    def atom(self) -> complex:
        token = self.tokens.pop(0)
        if token in ("(", "[", "{"):
            value = self.sum()
            self.need({"(": ")", "[": "]", "{": "}"}[token])
            if token == "{" and self.take("^"):  # 15^\circ in braces
                raise ValueError("a power of braces")
            return value
        if token == "|":
            value = self.sum()
            self.need("|")
            return complex(abs(value))
        if token == "frac":
            if self.tokens[:3] == ["{", "d", "}"]:
                return self.derivative()
            return self.atom() / self.atom()
        if token == "sqrt":
            return cmath.sqrt(self.atom())
        if token in self.values:
            return complex(self.values[token])
        if token in _CONSTANTS:
            return _CONSTANTS[token]
        return complex(float(token))

    def derivative(self) -> complex:
        r"""Read \frac{d}{dx}(f) and differentiate f at x along the imaginary and the real axis."""
        del self.tokens[: len(["{", "d", "}", "{", "d", "x", "}"])]
        depth, inner = 0, list[str]()
        while not inner or depth:
            inner.append(self.tokens.pop(0))
            depth += (inner[-1] in "({[") - (inner[-1] in ")}]")
        x, h = self.values["x"], 1e-3

        def at(point: complex) -> complex:
            reader = _Reader("", {**self.values, "x": point})
            reader.tokens = list(inner)
            return reader.sum()

        # the mean over a small circle: exact but for rounding and the eighth derivative
        turns = [cmath.exp(2j * math.pi * k / 8) for k in range(8)]
        return sum(at(x + h * turn) / turn for turn in turns) / (8 * h)


def value(text: str, **values: complex) -> complex:
    r"""Return the value of a formula such as "\frac{5\pi\sqrt{3}}{2}" or "3x^2 - sin(2x)"."""
    reader = _Reader(text, values)
    found = reader.sum()
    if reader.tokens:
        raise ValueError(f"left over in {text!r}: {reader.tokens}")
    return found


def close(a: complex, b: complex, tolerance: float = 1e-7) -> bool:
    """Whether two numbers agree up to rounding."""
    return abs(a - b) <= tolerance * max(1.0, abs(a), abs(b))


def limit(text: str, to: str) -> complex:
    """Return the limit of f at a point or infinity, extrapolated from values on the way (Richardson)."""
    if to == "\\infty":
        points = [1e4, 2e4, 4e4, 8e4]
        values = [value(text, x=x) for x in points]
    else:
        steps = [2e-2, 1e-2, 5e-3, 2.5e-3]
        middle = value(to)
        values = [(value(text, x=middle + h) + value(text, x=middle - h)) / 2 for h in steps]
    while len(values) > 1:
        ratio = (2 if to == "\\infty" else 4) ** (5 - len(values))
        values = [(ratio * b - a) / (ratio - 1) for a, b in itertools.pairwise(values)]
    return values[0]
