r"""How formulas are written: no `1x`, no `+ -3`, no negative zero; exponents of one character without braces.

Every text here is LaTeX, and plain text as far as that goes: `x^2 - 3x + 2`, `-\frac{3}{4}`, `\frac{1 - \sqrt{5}}{2}`.
Polynomials are lists of coefficients, highest power first. Numbers are integers or fractions, never floats.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

Number = int | Fraction


def tex(value: Number) -> str:
    r"""Write a number as LaTeX: `5`, `-\frac{3}{4}`. Plain text, `-3/4`, is what `str` makes of a Fraction."""
    value = Fraction(value)
    if value.denominator == 1:
        return str(value.numerator)
    return f"{'-' if value < 0 else ''}\\frac{{{abs(value.numerator)}}}{{{value.denominator}}}"


def bracketed(value: Number) -> str:
    """Write a number as a factor or a base: in brackets where it carries a sign or a fraction bar."""
    text = str(value)
    return text if text.isdigit() else f"({text})"


def power(base: str, exponent: Number | str) -> str:
    """Write base^exponent; an exponent 1 is left out, a longer one stands in braces."""
    text = str(exponent)
    if text == "1":
        return base
    return f"{base}^{text}" if len(text) == 1 else f"{base}^{{{text}}}"


def signed_sum(terms: Iterable[tuple[Number, str]], times: str = "") -> str:
    """Write a sum of coefficient times symbol ("" for a plain number): `2x - y + 3`. Zeros are left out."""
    text = ""
    for coefficient, symbol in terms:
        if coefficient == 0:
            continue
        size = -coefficient if coefficient < 0 else coefficient
        shown = symbol if size == 1 and symbol else tex(size) + (times + symbol if symbol else "")
        if text:
            text += f" - {shown}" if coefficient < 0 else f" + {shown}"
        else:
            text = f"-{shown}" if coefficient < 0 else shown
    return text or "0"


def polynomial(coefficients: Sequence[Number], variable: str = "x") -> str:
    """Write a polynomial from its coefficients, highest power first: [1, -3, 2] is `x^2 - 3x + 2`."""
    degree = len(coefficients) - 1
    return signed_sum((c, power(variable, degree - k) if k < degree else "") for k, c in enumerate(coefficients))


def in_words(parts: Iterable[object]) -> str:
    """Write a list as a sentence does: "a, b and c"."""
    texts = [str(part) for part in parts]
    return " and ".join(filter(None, [", ".join(texts[:-1]), texts[-1]]))


def listed(parts: Iterable[object]) -> str:
    """Write a list of answers: "1, 2"."""
    return ", ".join(map(str, parts))


def ordered(parts: Iterable[object]) -> str:
    """Write a tuple: "(2, -1)"."""
    return f"({listed(parts)})"


def square_part(n: int) -> tuple[int, int]:
    """Return (s, r) with n = s^2 * r for n > 0, s as large as possible."""
    s, factor = 1, 2
    while factor * factor <= n:
        while n % (factor * factor) == 0:
            n //= factor * factor
            s *= factor
        factor += 1
    return s, n


def root(radicand: int) -> str:
    r"""Write the square root of a number without square factors, 1 excepted: `\sqrt{3}`, `i`, `i\sqrt{3}`."""
    if radicand == -1:
        return "i"
    return f"{'i' if radicand < 0 else ''}\\sqrt{{{abs(radicand)}}}"


def surd(rational: int, factor: int, radicand: int, denominator: int = 1) -> str:
    r"""Write (rational + factor * sqrt(radicand)) / denominator in lowest terms; radicand < 0 gives a complex number.

    surd(2, 1, 20, 4) is `\frac{1 + \sqrt{5}}{2}`, surd(1, 2, -9) is `1 + 6i`, surd(1, 1, 9, 2) is `2`.
    """
    square, rest = square_part(abs(radicand)) if radicand else (0, 1)
    if rest == 1 and radicand >= 0:
        return tex(Fraction(rational + factor * square, denominator))
    a, b, d = _lowest(rational, factor * square, denominator)
    if a == 0 and d > 1:  # the sign stands before the bar, as with numbers
        return ("-" if b < 0 else "") + _over(signed_sum([(abs(b), root(rest if radicand > 0 else -rest))]), d)
    return _over(signed_sum([(a, ""), (b, root(rest if radicand > 0 else -rest))]), d)


def plus_minus(rational: int, factor: int, radicand: int, denominator: int = 1) -> str:
    r"""Write both (rational +- factor * sqrt(radicand)) / denominator at once: `\frac{1 \pm \sqrt{5}}{2}`.

    The radicand is no square.
    """
    square, rest = square_part(abs(radicand))
    a, b, d = _lowest(rational, factor * square, denominator)
    part = signed_sum([(abs(b), root(rest if radicand > 0 else -rest))])
    return _over(f"{a} \\pm {part}", d) if a else f"\\pm {_over(part, d)}"


def _lowest(a: int, b: int, denominator: int) -> tuple[int, int, int]:
    common = math.gcd(a, b, denominator) * (-1 if denominator < 0 else 1)
    return a // common, b // common, denominator // common


def _over(text: str, denominator: int) -> str:
    return text if denominator == 1 else f"\\frac{{{text}}}{{{denominator}}}"
