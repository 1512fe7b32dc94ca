"""A second reading of the formulas that tasks write: into exact numbers of Python and sympy, by rewriting the text.

It evaluates text that our own tasks wrote, never an answer.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import sympy

_INSERT = re.compile(r"(?<=[\dxyzti)])\s*(?=[(xyzti])|(?<=[)xyzt])(?=\d)")


def rewritten(text: str) -> str:
    """Return a formula as a Python expression: powers, fractions, roots, bars and products without a sign."""
    for _ in range(3):
        text = re.sub(r"\\frac\{((?:[^{}]|\{[^{}]*\})*)\}\{([^{}]*)\}", r"((\1)/(\2))", text)
    text = re.sub(r"\\sqrt\{([^{}]*)\}", r"ROOT(\1)", text)
    text = re.sub(r"\^\{([^{}]*)\}", r"^(\1)", text)
    text = re.sub(r"\|([^|]*)\|", r"ABS(\1)", text)
    text = re.sub(r"(?<=[\dixyzt)])(?=ROOT|ABS)", "*", text)
    text = _INSERT.sub("*", text)
    text = re.sub(r"\d+", r"N(\g<0>)", text)
    return re.sub(r"\bi\b", "I", text.replace("^", "**"))


def value(text: str, **names: Any) -> Any:
    """Return a formula's exact value: a Fraction, or a sympy number where a root occurs."""
    exact = "\\" in text or any(isinstance(x, sympy.Basic) for x in names.values()) or re.search(r"\di|\bi\b", text)
    number = sympy.Integer if exact else Fraction
    known = {"N": number, "ROOT": sympy.sqrt, "ABS": abs, "I": sympy.I, "__builtins__": {}}
    return eval(rewritten(text), {**known, **names})


def same(left: Any, right: Any) -> bool:
    """Whether two exact values are equal."""
    if isinstance(left, sympy.Basic) or isinstance(right, sympy.Basic):
        return bool(sympy.expand(sympy.sympify(left) - sympy.sympify(right)) == 0)
    return bool(left == right)


def holds(equation: str, **names: Any) -> bool:
    """Whether a written equation is true."""
    left, right = equation.split(" = ")
    return same(value(left, **names), value(right, **names))


def line_is_true(line: str) -> bool:
    """Whether an equation line of a solution is true; one in x for many x."""
    if "x" not in line:
        return holds(line)
    return all(holds(line, x=Fraction(x, 3)) for x in range(-10, 11))


def parts(reference: str) -> list[Any]:
    """Return the values of a list or of a tuple."""
    return [value(part) for part in reference.removeprefix("(").removesuffix(")").split(", ")]


def polynomial(text: str, letter: str = "x") -> sympy.Poly:
    """Return a written polynomial, or "left = right" as left - right."""
    symbol = sympy.Symbol(letter)
    left, _, right = text.partition(" = ")
    return sympy.Poly(value(left, **{letter: symbol}) - value(right or "0", **{letter: symbol}), symbol)
