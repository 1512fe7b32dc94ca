"""What the calculator can do with exact numbers, each step bounded before it is taken."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

MAX_DIGITS = 200
"""Digits of a numeral, and of a result."""

MAX_BITS = 4_096
"""Bits of a numerator or denominator on the way to a result."""

MAX_FACTORIAL = 400


class CalculatorError(ValueError):
    """Why there is no result: a few words that repeat nothing of the expression."""


def bits(value: Fraction) -> tuple[int, int]:
    """Return the lengths of numerator and denominator."""
    return value.numerator.bit_length(), value.denominator.bit_length()


def check(length: int) -> None:
    """Raise CalculatorError when a number of so many bits is too big."""
    if length > MAX_BITS:
        raise CalculatorError("the numbers become too big")


def bounded(value: Fraction) -> Fraction:
    """Return the value. Raises CalculatorError when it is too big to be computed with."""
    check(max(bits(value)))
    return value


def added(a: Fraction, b: Fraction) -> Fraction:
    """Return a + b."""
    return bounded(a + b)  # both are bounded, so the sum has at most twice the bits


def multiplied(a: Fraction, b: Fraction) -> Fraction:
    """Return a * b."""
    return bounded(a * b)


def divided(a: Fraction, b: Fraction) -> Fraction:
    """Return a / b. Raises CalculatorError for b = 0."""
    if b == 0:
        raise CalculatorError("division by zero")
    return bounded(a / b)


def modulo(a: Fraction, b: Fraction) -> Fraction:
    """Return a - b * floor(a / b). Raises CalculatorError for b = 0."""
    if b == 0:
        raise CalculatorError("division by zero")
    return bounded(a % b)


def power_of(base: Fraction, exponent: Fraction) -> Fraction:
    """Return base ^ exponent. Raises CalculatorError when it is irrational, not real, or has no value."""
    if exponent.denominator > 1:
        if exponent.denominator > 64:
            raise CalculatorError("a root of too high a degree")
        base, exponent = root(base, exponent.denominator), Fraction(exponent.numerator)
    if base == 0 and exponent <= 0:
        raise CalculatorError("0 to a power that is not positive" if exponent else "0^0 has no value")
    if abs(base) in (0, 1):
        return base if base >= 0 or exponent.numerator % 2 else -base
    check(max(abs(base.numerator).bit_length() - 1, base.denominator.bit_length() - 1, 1) * abs(exponent.numerator))
    return bounded(base**exponent.numerator)


def root(value: Fraction, degree: int) -> Fraction:
    """Return an exact root. Raises CalculatorError when it is irrational or not real."""
    if value < 0 and degree % 2 == 0:
        raise CalculatorError("an even root of a negative number")
    top, bottom = _whole_root(abs(value.numerator), degree), _whole_root(value.denominator, degree)
    if top**degree != abs(value.numerator) or bottom**degree != value.denominator:
        raise CalculatorError(f"the root is irrational, about {_about(value, degree)}")
    return Fraction(top if value >= 0 else -top, bottom)


def _whole_root(n: int, degree: int) -> int:
    """Return the largest whole number whose power is at most n."""
    if degree == 2:
        return math.isqrt(n)
    low, high = 0, 1 << (n.bit_length() // degree + 1)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle**degree <= n else (low, middle - 1)
    return low


def _about(value: Fraction, degree: int) -> str:
    """Write a root with six decimals, cut off behind them."""
    shifted = _whole_root(abs(value.numerator) * 10 ** (6 * degree) // value.denominator, degree)
    text = str(shifted).rjust(7, "0")
    if len(text) > MAX_DIGITS:
        return "a number too long to write"
    return f"{'-' if value < 0 else ''}{text[:-6]}.{text[-6:]}"


def _whole(value: Fraction) -> int:
    if value.denominator != 1:
        raise CalculatorError("whole numbers are needed")
    return value.numerator


def factorial(value: Fraction) -> Fraction:
    """Return n!. Raises CalculatorError outside 0 to MAX_FACTORIAL."""
    n = _whole(value)
    if not 0 <= n <= MAX_FACTORIAL:
        raise CalculatorError(f"factorials go from 0 to {MAX_FACTORIAL}")
    return bounded(Fraction(math.factorial(n)))


def binomial(top: Fraction, bottom: Fraction) -> Fraction:
    """Return how many ways there are to choose bottom out of top. Raises CalculatorError below 0."""
    n, k = _whole(top), _whole(bottom)
    if n < 0 or k < 0:
        raise CalculatorError("binomial takes numbers from 0 on")
    k = min(k, n - k)
    if k < 0:
        return Fraction(0)
    check(max(n.bit_length() - k.bit_length(), 0) * k)  # (n / k)^k is a lower bound
    return bounded(Fraction(math.comb(n, k)))


def lcm(*values: Fraction) -> Fraction:
    """Return the least common multiple of whole numbers."""
    result = 1
    for value in values:
        result = math.lcm(result, _whole(value))
        check(result.bit_length())
    return Fraction(result)


FUNCTIONS: dict[str, tuple[Callable[..., Fraction], int, int]] = {
    "sqrt": (lambda value: root(value, 2), 1, 1),
    "cbrt": (lambda value: root(value, 3), 1, 1),
    "gcd": (lambda *values: Fraction(math.gcd(*map(_whole, values))), 1, 99),
    "lcm": (lcm, 1, 99),
    "mod": (modulo, 2, 2),
    "factorial": (factorial, 1, 1),
    "binomial": (binomial, 2, 2),
    "abs": (abs, 1, 1),
    "min": (min, 1, 99),
    "max": (max, 1, 99),
    "floor": (lambda value: Fraction(math.floor(value)), 1, 1),
    "ceil": (lambda value: Fraction(math.ceil(value)), 1, 1),
}
"""Name -> function, fewest and most arguments."""
