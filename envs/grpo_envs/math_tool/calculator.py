r"""A calculator for hostile hands: exact rational numbers, a grammar of its own, and a limit on everything.

    calculate("12*(3+4)/5")          -> 84/5
    calculate("gcd(48, 36) + 5!")    -> 132
    calculate("\frac{1}{2} - 0.2")   -> 3/10

Operators: + - * / ^ (also **), // and mod (also % between two numbers), ! and % behind a number, x and "of" for times.
Functions: sqrt, cbrt, gcd, lcm, mod, factorial, binomial, abs, min, max, floor, ceil. LaTeX for the same is understood.
Two factors need a sign between them: what 1/2(3) means is not guessed. Length, nesting and the size of every number on
the way are bounded before anything is computed, which bounds the time as well; no text is ever run as code.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction

from grpo_envs.math_tool.exact import (
    FUNCTIONS,
    MAX_DIGITS,
    CalculatorError,
    added,
    binomial,
    bits,
    bounded,
    divided,
    factorial,
    modulo,
    multiplied,
    power_of,
)

MAX_LENGTH = 400
"""Characters of an expression."""

MAX_DEPTH = 40
"""Brackets in brackets, signs before signs, exponents on exponents."""

_FOLDED: dict[int, int | str] = {
    **str.maketrans("\u00d7\u00b7\u22c5\u2217\u00f7\u2215\u2212\u2013[]{}$", "****//--()() "),
    **dict(zip(map(ord, "\u221a\u00b2\u00b3"), (" sqrt ", "^2", "^3"), strict=True)),
}
"""Other spellings of the signs that the grammar knows."""


TIMES = ("x", "X", "of")
"""Words for multiplication: there are no variables here."""

_LATEX = (
    (re.compile(r"\\(?:left|right|,|;|!|:|displaystyle)(?![A-Za-z])"), " "),
    (re.compile(r"\\(?:cdot|times|ast)(?![A-Za-z])"), "*"),
    (re.compile(r"\\div(?![A-Za-z])"), "/"),
    (re.compile(r"\\[dtc]?frac(?![A-Za-z])"), " frac "),
    (re.compile(r"\\[dt]?binom(?![A-Za-z])"), " binom "),
    (re.compile(r"\\[bp]?mod(?![A-Za-z])"), " mod "),
    (re.compile(r"\\(sqrt|gcd|lcm|min|max|operatorname|%)"), r"\1"),
    (re.compile(r"operatorname\s*\(\s*([a-z]+)\s*\)"), r"\1"),
)
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d{1,3}(?:,\d{3})+(?![\d,])|\d+)(?:\.\d+)?|\.\d+)(?P<power>[eE][+-]?\d{1,3}(?![\w.]))?"
    r"|(?P<name>[A-Za-z]+)|(?P<sign>\*\*|//|[-+*/^%!(),|]))",
    re.ASCII,
)


def calculate(expression: str) -> Fraction:
    """Return the exact value of an expression. Raises CalculatorError when there is none, or it is too big."""
    if len(expression) > MAX_LENGTH:
        raise CalculatorError(f"more than {MAX_LENGTH} characters")
    return _Parser(_tokens(expression)).value()


def written(value: Fraction) -> str:
    """Write a value exactly: "84", "-1/3", "84/5 = 16.8". Raises CalculatorError when it is too long."""
    if max(bits(value)) > MAX_DIGITS * 3.33:
        raise CalculatorError(f"the result has more than {MAX_DIGITS} digits")
    if value.denominator == 1:
        return str(value)
    rest, places = value.denominator, 0
    for prime in (2, 5):
        power = 0
        while rest % prime == 0:
            rest, power = rest // prime, power + 1
        places = max(places, power)
    if rest > 1 or places > 12:
        return str(value)
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    return f"{value} = {'-' if value < 0 else ''}{digits[:-places]}.{digits[-places:]}"


def answer(expression: str) -> str:
    """Return what the calculator says to an expression: its value, or "error: " and why there is none. Never raises."""
    try:
        return written(calculate(expression))
    except CalculatorError as error:
        return f"error: {error}"


Token = tuple[str, str | Fraction]
"""Kind ("number", "name", "sign" or "end") and value."""


def _tokens(expression: str) -> list[Token]:
    text = expression.translate(_FOLDED)
    for pattern, plain in _LATEX:
        text = pattern.sub(plain, text)
    text = text.strip().removesuffix("=").rstrip()
    tokens: list[Token] = []
    position, calls = 0, [False]
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise CalculatorError(_unreadable(text[position:].lstrip()[:1]))
        position = match.end()
        if match["number"] is not None:
            number = match["number"]
            if "," in number and any(calls):  # max(1,200) has two arguments
                position = match.start("number") + number.index(",")
                number, power = number[: number.index(",")], ""
            else:
                power = match["power"] or ""
            tokens.append(("number", _numeral(number.replace(",", ""), power)))
        elif match["name"] is not None:
            name = match["name"]
            tokens.append(("sign", "*") if name in TIMES else ("name", name))
        else:
            sign = match["sign"]
            if sign == "(":
                calls.append(bool(tokens) and tokens[-1][0] == "name" and tokens[-1][1] not in ("frac", "binom"))
            elif sign == ")" and len(calls) > 1:
                calls.pop()
            tokens.append(("sign", "^" if sign == "**" else sign))
    return [*tokens, ("end", "")]


def _unreadable(character: str) -> str:
    if character == "=":
        return "one expression at a time, without ="
    return "a character that means nothing here"


def _numeral(digits: str, power: str) -> Fraction:
    if len(digits) > MAX_DIGITS:
        raise CalculatorError(f"a number of more than {MAX_DIGITS} digits")
    value = Fraction(digits)
    if power:
        value *= power_of(Fraction(10), Fraction(int(power[1:])))
    return bounded(value)


class _Parser:
    """Recursive descent over the tokens; every method reads one level of binding and returns its value."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.place = 0
        self.depth = 0

    def value(self) -> Fraction:
        if len(self.tokens) == 1:
            raise CalculatorError("nothing to compute")
        result = self._sum()
        kind, token = self.tokens[self.place]
        if kind == "end":
            return result
        if (kind, token) == ("sign", ")"):
            raise CalculatorError("a bracket is closed that was not opened")
        if (kind, token) == ("sign", ","):
            raise CalculatorError("a comma outside a function")
        raise CalculatorError("a sign is missing between two factors")

    def _take(self, *signs: str) -> str:
        """Step over the next token and return it when it is one of these signs or names, else return ""."""
        kind, token = self.tokens[self.place]
        if kind in ("sign", "name") and token in signs:
            self.place += 1
            return str(token)
        return ""

    def _deeper(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise CalculatorError(f"nested more than {MAX_DEPTH} deep")

    def _sum(self) -> Fraction:
        self._deeper()
        result = self._product()
        while sign := self._take("+", "-"):
            right = self._product()
            result = added(result, right if sign == "+" else -right)
        self.depth -= 1
        return result

    def _product(self) -> Fraction:
        result = self._signed()
        while sign := self._take("*", "/", "//", "%", "mod"):
            right = self._signed()
            if sign == "*":
                result = multiplied(result, right)
            elif sign == "/":
                result = divided(result, right)
            elif sign == "//":
                result = Fraction(math.floor(divided(result, right)))
            else:
                result = modulo(result, right)
        return result

    def _signed(self) -> Fraction:
        negative = False
        for _ in range(MAX_DEPTH):
            sign = self._take("+", "-")
            if not sign:
                return -self._raised() if negative else self._raised()
            negative ^= sign == "-"
        raise CalculatorError(f"more than {MAX_DEPTH} signs in a row")

    def _raised(self) -> Fraction:
        base = self._behind(self._atom())
        if not self._take("^"):
            return base
        self._deeper()
        exponent = self._signed()
        self.depth -= 1
        return power_of(base, exponent)

    def _behind(self, value: Fraction) -> Fraction:
        """Apply what stands behind a number: ! and %. Before another number % is the remainder, read elsewhere."""
        while True:
            if self._take("!"):
                value = factorial(value)
            elif self.tokens[self.place] == ("sign", "%") and not self._operand_at(self.place + 1):
                self.place += 1
                value /= 100
            else:
                return value

    def _operand_at(self, place: int) -> bool:
        kind, token = self.tokens[place]
        return kind == "number" or (kind == "name" and token != "mod") or (kind, token) == ("sign", "(")

    def _atom(self) -> Fraction:
        kind, token = self.tokens[self.place]
        if isinstance(token, Fraction):
            self.place += 1
            return token
        if (kind == "name" and token != "mod") or (token == "mod" and self.tokens[self.place + 1] == ("sign", "(")):
            self.place += 1
            return self._call(str(token))
        if self._take("("):
            return self._closed(self._sum(), ")")
        if self._take("|"):
            return abs(self._closed(self._sum(), "|"))
        raise CalculatorError("a number is missing")

    def _closed(self, value: Fraction, bracket: str) -> Fraction:
        if not self._take(bracket):
            ended = self.tokens[self.place][0] == "end"
            raise CalculatorError("a bracket is not closed" if ended else "a sign is missing between two factors")
        return value

    def _call(self, name: str) -> Fraction:
        self._deeper()
        value = self._called(name)
        self.depth -= 1
        return value

    def _called(self, name: str) -> Fraction:
        if name in ("frac", "binom"):
            top, bottom = self._group(), self._group()
            return divided(top, bottom) if name == "frac" else binomial(top, bottom)
        if name.lower() not in FUNCTIONS:
            raise CalculatorError(f"an unknown name; there are {', '.join(FUNCTIONS)}")
        function, least, most = FUNCTIONS[name.lower()]
        if self.tokens[self.place] != ("sign", "("):
            if name.lower() != "sqrt":
                raise CalculatorError(f"{name.lower()} needs brackets")
            return function(self._atom())
        self.place += 1
        values = [self._sum()]
        while self._take(","):
            values.append(self._sum())
        self._closed(values[0], ")")
        if not least <= len(values) <= most:
            raise CalculatorError(f"{name.lower()} takes {least if least == most else 'other'} arguments")
        return function(*values)

    def _group(self) -> Fraction:
        if not self._take("("):
            return self._atom()
        return self._closed(self._sum(), ")")
