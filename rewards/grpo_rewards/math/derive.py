"""The derivative of a tree, rule by rule. Nothing is simplified beyond dropping zeros and ones: values are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction

from grpo_rewards.math import guard
from grpo_rewards.math.guard import UndecidedError
from grpo_rewards.math.tree import (
    HALF,
    MINUS_ONE,
    ONE,
    Add,
    Call,
    Const,
    Mul,
    Node,
    Num,
    Pow,
    Sym,
    add,
    integer,
    multiply,
    negate,
    symbols,
)

ZERO = Num(Fraction(0))

_Rule = Callable[[Node], Node]


def _square(node: Node) -> Node:
    return Pow(node, integer(2))


def _inverse(node: Node) -> Node:
    return Pow(node, MINUS_ONE)


def _call(name: str, node: Node) -> Node:
    return Call(name, (node,))


_RULES: dict[str, _Rule] = {
    "sin": lambda u: _call("cos", u),
    "cos": lambda u: negate(_call("sin", u)),
    "tan": lambda u: Pow(_call("cos", u), integer(-2)),
    "cot": lambda u: negate(Pow(_call("sin", u), integer(-2))),
    "sec": lambda u: multiply(_call("sec", u), _call("tan", u)),
    "csc": lambda u: negate(multiply(_call("csc", u), _call("cot", u))),
    "sinh": lambda u: _call("cosh", u),
    "cosh": lambda u: _call("sinh", u),
    "tanh": lambda u: Pow(_call("cosh", u), integer(-2)),
    "arcsin": lambda u: Pow(add(ONE, negate(_square(u))), negate(HALF)),
    "arccos": lambda u: negate(Pow(add(ONE, negate(_square(u))), negate(HALF))),
    "arctan": lambda u: _inverse(add(ONE, _square(u))),
    "ln": _inverse,
    "log": _inverse,
    "abs": lambda u: multiply(u, _inverse(_call("abs", u))),
}
"""Function -> its derivative. `log` without a base is the natural logarithm here, as in calculus."""


def derive(node: Node, variable: str, depth: int = 0) -> Node:
    """Return the derivative of an expression; other variables are constants.

    Raises:
        UndecidedError: When a function has no rule here.
        TooBigError: When the tree is too deep.
    """
    guard.check(depth, 4 * guard.MAX_DEPTH, "expressions in expressions")
    if variable not in symbols(node):
        return ZERO
    if isinstance(node, Sym):
        return ONE
    if isinstance(node, Add):
        return _sum(derive(term, variable, depth + 1) for term in node.terms)
    if isinstance(node, Mul):
        return _product(node, variable, depth)
    if isinstance(node, Pow):
        return _power(node, variable, depth)
    if isinstance(node, Call):
        return _function(node, variable, depth)
    raise UndecidedError(f"{type(node).__name__} cannot be differentiated")


def _sum(terms: Iterable[Node]) -> Node:
    kept = [term for term in terms if term != ZERO]
    return add(*kept) if kept else ZERO


def _times(*factors: Node) -> Node:
    if ZERO in factors:
        return ZERO
    kept = [factor for factor in factors if factor != ONE]
    return multiply(*kept) if kept else ONE


def _product(node: Mul, variable: str, depth: int) -> Node:
    terms = []
    for place, factor in enumerate(node.factors):
        others = node.factors[:place] + node.factors[place + 1 :]
        terms.append(_times(derive(factor, variable, depth + 1), *others))
    return _sum(terms)


def _power(node: Pow, variable: str, depth: int) -> Node:
    base, exponent = node.base, node.exponent
    inner = derive(base, variable, depth + 1)
    if variable not in symbols(exponent):
        lower = Num(exponent.value - 1) if isinstance(exponent, Num) else add(exponent, MINUS_ONE)
        return _times(exponent, Pow(base, lower), inner)
    outer = _times(node, Call("ln", (base,)), derive(exponent, variable, depth + 1))
    if base == Const("e"):
        return _times(node, derive(exponent, variable, depth + 1))
    return _sum((outer, _times(exponent, Pow(base, add(exponent, MINUS_ONE)), inner)))


def _function(node: Call, variable: str, depth: int) -> Node:
    first, *rest = node.args
    if any(variable in symbols(argument) for argument in rest):
        raise UndecidedError(f"{node.name} cannot be differentiated")
    inner = derive(first, variable, depth + 1)
    if node.name == "root":
        return _times(derive(Pow(first, _inverse(rest[0])), variable, depth + 1))
    if node.name == "log" and rest:
        return _times(_inverse(multiply(first, Call("ln", tuple(rest)))), inner)
    rule = _RULES.get(node.name)
    if rule is None or rest:
        raise UndecidedError(f"{node.name} cannot be differentiated")
    return _times(rule(first), inner)
