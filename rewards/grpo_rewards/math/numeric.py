"""Values at 50 digits and more: what decides equality where exact rational arithmetic does not.

Two passes. The first, at 170 bits, finds how far apart in size the values inside the expressions are; where that is
much, the second works with so many more bits that a difference of that size could not hide. What would need more than
`guard.MAX_SPAN` is refused as too big, so that `10^{10^{10}}+1` is never taken for `10^{10^{10}}`.

mpmath does the arithmetic, in a context of our own under a lock: its global one belongs to the program around us.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from grpo_rewards.math import guard
from grpo_rewards.math.guard import TooBigError, UndecidedError
from grpo_rewards.math.tree import Add, Call, Const, Mul, Node, Num, Pow, Sym, Text

BITS = 170
"""Precision of the first pass: 50 digits."""

SLACK = 40
"""Bits that rounding errors may eat."""

_lock = threading.RLock()


def _fresh_lock() -> None:
    global _lock
    _lock = threading.RLock()  # in a forked child the thread that held it is gone


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_fresh_lock)


class DomainError(ValueError):
    """A function outside its domain: the root of a negative number, a logarithm of zero, a division by zero."""


@cache
def context() -> Any:
    """Return our own mpmath context."""
    from mpmath.ctx_mp import MPContext  # not needed for plain numbers, which most answers are

    own = MPContext()
    own.prec = BITS
    return own


def with_lock() -> threading.RLock:
    """Return the lock under which the context is used: it holds the precision."""
    return _lock


class Evaluator:
    """Evaluates trees at one point.

    Args:
        point: Values of the variables.
        real: Whether leaving the real numbers is an error, as it is where variables stand for real numbers.
        base: What `log` without a base means: "e" or "10".
    """

    def __init__(self, point: Mapping[str, Any], real: bool, base: str = "e") -> None:
        self.context = context()
        self.point = point
        self.real = real
        self.base = base
        self.span = 0
        self.high = -(10**9)
        self.work = 0
        self.differentiating = False

    def value(self, node: Node) -> Any:
        """Return the value as an mpmath number.

        Raises:
            DomainError: When there is none here.
            UndecidedError: When it takes calculus to find it.
            TooBigError: When a guard says so.
        """
        self.work += self.context.prec
        guard.check(self.work, guard.MAX_WORK, "bits of arithmetic")
        try:
            found = self._value(node)
        except (DomainError, TooBigError, UndecidedError):
            raise
        except (ArithmeticError, ValueError, TypeError, IndexError) as error:
            raise DomainError(
                f"{type(error).__name__}: {error}"
            ) from None  # mpmath's ways to say that there is no value
        size = int(self.context.mag(found)) if found and self.context.isfinite(found) else 0
        if not self.context.isfinite(found):
            raise DomainError("not finite")
        self.span = max(self.span, abs(size))
        self.high = max(self.high, size)
        return found

    def _value(self, node: Node) -> Any:
        c = self.context
        if isinstance(node, Add):
            return c.fsum([self.value(term) for term in node.terms])
        if isinstance(node, Mul):
            product = c.mpf(1)
            for factor in node.factors:
                product *= self.value(factor)
            return product
        if isinstance(node, Pow):
            return self._power(self.value(node.base), self.value(node.exponent))
        if isinstance(node, Call):
            return self._call(node)
        return self._leaf(node)

    def _leaf(self, node: Node) -> Any:
        c = self.context
        if isinstance(node, Num):
            return c.mpf(node.value.numerator) / node.value.denominator
        if isinstance(node, Sym):
            if node.name not in self.point:
                raise UndecidedError(f"no value for {node.name}")
            return self.point[node.name]
        if isinstance(node, Const):
            if node.name == "inf":
                raise DomainError("infinity")
            return {"pi": lambda: +c.pi, "e": lambda: +c.e, "i": lambda: c.mpc(0, 1)}[node.name]()
        if isinstance(node, Text) and node.words in ("\u00b0", "degrees", "degree"):
            return c.pi / 180
        if isinstance(node, Text) and node.words in ("%", "percent"):
            return c.mpf(1) / 100
        raise UndecidedError(f"{type(node).__name__} has no value")

    def _power(self, base: Any, exponent: Any) -> Any:
        c = self.context
        if not base:
            if c.re(exponent) <= 0:
                raise DomainError("zero to a power that is not positive")
            return c.mpf(0)
        size = abs(int(c.mag(base))) + 1
        if exponent and int(c.mag(exponent)) + size.bit_length() > guard.MAX_EXPONENT_BITS:
            raise TooBigError("a power beyond all bounds")
        whole = c.isint(exponent)
        if self.real and not whole and (c.im(base) or c.re(base) < 0):
            raise DomainError("a power of a negative number")
        return c.power(base, int(c.re(exponent)) if whole else exponent)

    def _call(self, node: Call) -> Any:
        if node.name in ("sum", "prod"):
            return self._series(node)
        if node.name == "diff":
            return self._derivative(node)
        arguments = [self.value(argument) for argument in node.args]
        if node.name.rstrip("'").endswith("()"):
            return self._unknown(node.name, arguments)
        function = _FUNCTIONS.get(node.name)
        if function is None:
            raise UndecidedError(f"no value of {node.name}")
        found = function(self, arguments)
        if self.real and self.context.im(found) and not any(self.context.im(argument) for argument in arguments):
            raise DomainError(f"{node.name} leaves the real numbers")
        return found

    def _unknown(self, name: str, arguments: list[Any]) -> Any:
        """Stand in for f: some smooth function of its own for each name, so that f(a+b) is f(b+a) and not f(a)."""
        seed = hashlib.sha256(f"{name} {len(arguments)}".encode()).digest()
        total = self.context.mpf(seed[0] + 1) / 97
        for place, argument in enumerate(arguments):
            a, b = (self.context.mpf(seed[2 * place % 30 + k] + 3) / 131 for k in (1, 2))
            guard.check(abs(int(self.context.mag(argument))) if argument else 0, guard.MAX_SPAN, "binary digits")
            total += a * argument + b / (1 + argument * argument + place)
        return total

    def _series(self, node: Call) -> Any:
        body, index, low, high = node.args
        start, end = self.value(low), self.value(high)
        if not isinstance(index, Sym) or not self.context.isint(start) or not self.context.isint(end):
            raise UndecidedError("a sum without whole bounds")
        guard.check(int(end - start), guard.MAX_TERMS, "terms")
        outer = self.point
        total = self.context.mpf(0 if node.name == "sum" else 1)
        for k in range(int(start), int(end) + 1):
            self.point = {**outer, index.name: self.context.mpf(k)}
            value = self.value(body)
            total = total + value if node.name == "sum" else total * value
        self.point = outer
        return total

    def _derivative(self, node: Call) -> Any:
        body, variable, order = node.args
        if not isinstance(variable, Sym) or variable.name not in self.point or not isinstance(order, Num):
            raise UndecidedError("a derivative at no point")
        if order.value > 3 or self.differentiating:
            raise UndecidedError("a high derivative")
        self.differentiating = True
        outer = self.point

        def at(x: Any) -> Any:
            self.point = {**outer, variable.name: x}
            return self.value(body)

        try:
            bits, self.context.prec = self.context.prec, 3 * self.context.prec
            return self.context.diff(at, outer[variable.name], int(order.value))
        finally:
            self.differentiating = False
            self.context.prec = bits
            self.point = outer


def _angle(evaluator: Evaluator, x: Any) -> Any:
    guard.check(int(evaluator.context.mag(x)) if x else 0, guard.MAX_SPAN, "binary digits of an angle")
    return x


def _exponential(evaluator: Evaluator, x: Any) -> Any:
    if x and int(evaluator.context.mag(x)) > guard.MAX_EXPONENT_BITS:
        raise TooBigError("an exponential beyond all bounds")
    return x


def _modest(evaluator: Evaluator, x: Any) -> Any:
    """Arguments of functions that mpmath finds by series: large ones cost too much."""
    guard.check(int(evaluator.context.mag(x)) if x else 0, 24, "binary digits of an argument")
    return x


def _logarithm(e: Evaluator, a: list[Any]) -> Any:
    if not a[0]:
        raise DomainError("the logarithm of zero")
    if len(a) > 1:
        return e.context.ln(a[0]) / e.context.ln(a[1])
    return e.context.ln(a[0]) / (e.context.ln(10) if e.base == "10" else 1)


def _whole_part(e: Evaluator, x: Any, name: str) -> Any:
    """Floor and ceiling, where the precision shows the whole part beyond doubt."""
    c = e.context
    guard.check(int(c.mag(x)) if x else 0, c.prec - SLACK, "binary digits of a whole part")
    nearest = c.nint(x)
    if abs(x - nearest) < c.ldexp(1, SLACK - c.prec):
        return nearest
    return c.floor(x) if name == "floor" else c.ceil(x)


def _root(e: Evaluator, x: Any, n: Any) -> Any:
    """The real root of odd index of a negative number, else the principal one."""
    c = e.context
    if not c.im(x) and c.re(x) < 0 and c.isint(n) and int(c.re(n)) % 2:
        return -e._power(-x, 1 / n)
    return e._power(x, 1 / n)


def _modulo(e: Evaluator, a: list[Any]) -> Any:
    guard.check(max(int(e.context.mag(x)) for x in a if x) if any(a) else 0, e.context.prec - SLACK, "binary digits")
    return a[0] % a[1]


_PLAIN = "cot sec csc cosh sinh coth sech csch acot asec acsc asinh acosh atanh conj"
_RENAMED = {
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arccot": "acot", "sign": "sign", "re": "re", "im": "im",
    "arg": "arg", "tanh": "tanh",
}  # fmt: skip

_FUNCTIONS: dict[str, Callable[[Evaluator, list[Any]], Any]] = {
    "sin": lambda e, a: e.context.sin(_angle(e, a[0])),
    "cos": lambda e, a: e.context.cos(_angle(e, a[0])),
    "tan": lambda e, a: e.context.tan(_angle(e, a[0])),
    "ln": lambda e, a: e.context.ln(a[0]) if a[0] else _logarithm(e, a),
    "log": _logarithm,
    "log10": lambda e, a: e.context.ln(a[0]) / e.context.ln(10),
    "abs": lambda e, a: abs(a[0]),
    "floor": lambda e, a: _whole_part(e, a[0], "floor"),
    "ceil": lambda e, a: _whole_part(e, a[0], "ceil"),
    "root": lambda e, a: _root(e, a[0], a[1]),
    "factorial": lambda e, a: e.context.gamma(_modest(e, a[0]) + 1),
    "factorial2": lambda e, a: e.context.fac2(_modest(e, a[0])),
    "gamma": lambda e, a: e.context.gamma(_modest(e, a[0])),
    "binom": lambda e, a: e.context.binomial(_modest(e, a[0]), _modest(e, a[1])),
    "max": lambda e, a: max(a),
    "min": lambda e, a: min(a),
    "mod": _modulo,
}
for _name in _PLAIN.split():
    _FUNCTIONS[_name] = lambda e, a, name=_name: getattr(e.context, name)(_exponential(e, a[0]))  # type: ignore[misc]
for _name, _theirs in _RENAMED.items():
    _FUNCTIONS[_name] = lambda e, a, name=_theirs: getattr(e.context, name)(_exponential(e, a[0]))  # type: ignore[misc]
