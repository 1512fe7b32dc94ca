r"""Calculus by sympy, in a worker process only: integrals, limits and infinite sums become their values.

sympy's objects are made from the tree by constructors, and its results turned back into trees, so that no text is ever
parsed or evaluated by sympy.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import sympy

from grpo_rewards.math.guard import UndecidedError
from grpo_rewards.math.tree import (
    INFINITY,
    Add,
    Call,
    Const,
    Group,
    Mul,
    Node,
    Num,
    PlusMinus,
    Pow,
    Sym,
    add,
    integer,
    multiply,
)

CALCULUS = frozenset({"int", "lim", "sum", "prod", "diff"})

_FUNCTIONS: dict[str, Any] = {
    "sin": sympy.sin, "cos": sympy.cos, "tan": sympy.tan, "cot": sympy.cot, "sec": sympy.sec, "csc": sympy.csc,
    "arcsin": sympy.asin, "arccos": sympy.acos, "arctan": sympy.atan, "sinh": sympy.sinh, "cosh": sympy.cosh,
    "tanh": sympy.tanh, "asinh": sympy.asinh, "acosh": sympy.acosh, "atanh": sympy.atanh, "ln": sympy.log,
    "abs": sympy.Abs, "factorial": sympy.factorial, "gamma": sympy.gamma, "floor": sympy.floor, "ceil": sympy.ceiling,
    "binom": sympy.binomial, "sign": sympy.sign,
}  # fmt: skip
_NAMES = {function: name for name, function in _FUNCTIONS.items()}
_DIGITS = 60


def resolved(node: Node) -> Node:
    """Return the tree with its calculus worked out. Raises UndecidedError where sympy cannot."""
    if isinstance(node, Call) and node.name in CALCULUS:
        found = from_sympy(_value(to_sympy(node)))
        return add(found, Sym("C")) if node.name == "int" and len(node.args) == 2 else found
    if isinstance(node, Group):
        return replace(node, items=tuple(map(resolved, node.items)))
    if isinstance(node, Add):
        return Add(tuple(map(resolved, node.terms)))
    if isinstance(node, Mul):
        return Mul(tuple(map(resolved, node.factors)))
    if isinstance(node, Pow):
        return Pow(resolved(node.base), resolved(node.exponent))
    if isinstance(node, Call):
        return Call(node.name, tuple(map(resolved, node.args)))
    if isinstance(node, PlusMinus):
        return PlusMinus(resolved(node.left), resolved(node.right), node.sign)
    return node


def _value(expression: Any) -> Any:
    done = expression.doit()
    if not done.has(sympy.Integral, sympy.Sum, sympy.Limit, sympy.Product, sympy.Derivative):
        return done
    if done.free_symbols:
        raise UndecidedError("sympy finds no closed form")
    number = done.evalf(_DIGITS)
    if not number.is_Float:
        raise UndecidedError("sympy finds no value")
    return number


def to_sympy(node: Node) -> Any:
    """Build a sympy object by constructors. Raises UndecidedError for what has no counterpart."""
    if isinstance(node, Num):
        return sympy.Rational(node.value.numerator, node.value.denominator)
    if isinstance(node, Sym):
        return sympy.Symbol(node.name, real=True)
    if isinstance(node, Const):
        return {"pi": sympy.pi, "e": sympy.E, "i": sympy.I, "inf": sympy.oo}[node.name]
    if isinstance(node, Add):
        return sympy.Add(*map(to_sympy, node.terms))
    if isinstance(node, Mul):
        return sympy.Mul(*map(to_sympy, node.factors))
    if isinstance(node, Pow):
        return sympy.Pow(to_sympy(node.base), to_sympy(node.exponent))
    if isinstance(node, Call):
        return _call(node)
    raise UndecidedError(f"{type(node).__name__} is no expression")


def _call(node: Call) -> Any:
    if node.name == "lim" and isinstance(node.args[2], Pow) and isinstance(node.args[2].exponent, Sym):
        near, side = node.args[2].base, node.args[2].exponent.name[-1]
        return sympy.Limit(to_sympy(node.args[0]), to_sympy(node.args[1]), to_sympy(near), side)
    arguments = [to_sympy(argument) for argument in node.args]
    if node.name == "int":
        return sympy.Integral(arguments[0], tuple(arguments[1:]))
    if node.name == "lim":
        return sympy.Limit(arguments[0], arguments[1], arguments[2], "+" if arguments[2].is_infinite else "+-")
    if node.name in ("sum", "prod"):
        index = sympy.Symbol(f"{arguments[1].name} whole", integer=True)
        body = arguments[0].subs(arguments[1], index)
        return (sympy.Sum if node.name == "sum" else sympy.Product)(body, (index, *arguments[2:]))
    if node.name == "diff":
        return sympy.Derivative(*arguments)
    if node.name == "root":
        return sympy.real_root(*arguments)
    if node.name in ("log", "log10"):
        base = arguments[1] if len(arguments) > 1 else 10
        natural = node.name == "log" and len(arguments) == 1
        return sympy.log(arguments[0]) if natural else sympy.log(arguments[0], base)
    if node.name in _FUNCTIONS:
        return _FUNCTIONS[node.name](*arguments)
    raise UndecidedError(f"no counterpart of {node.name}")


def from_sympy(expression: Any) -> Node:
    """Turn a result back into a tree. Raises UndecidedError for what has no counterpart."""
    if expression.is_Rational:
        return Num(Fraction(int(expression.p), int(expression.q)))
    if expression.is_Float:
        exact = sympy.Rational(expression)
        return Num(Fraction(int(exact.p), int(exact.q)))
    if expression.is_Symbol:
        return Sym(expression.name)
    known = {sympy.pi: Const("pi"), sympy.E: Const("e"), sympy.I: Const("i"), sympy.oo: INFINITY}
    if expression in known:
        return known[expression]
    if expression == -sympy.oo:
        return multiply(integer(-1), INFINITY)
    parts = [from_sympy(part) for part in expression.args]
    if expression.is_Add or expression.is_Mul:
        return (Add if expression.is_Add else Mul)(tuple(parts))
    if expression.is_Pow:
        return Pow(parts[0], parts[1])
    if isinstance(expression, sympy.exp):
        return Pow(Const("e"), parts[0])
    if expression.func in _NAMES:
        return Call(_NAMES[expression.func], tuple(parts))
    raise UndecidedError(f"no counterpart of {expression.func}")
