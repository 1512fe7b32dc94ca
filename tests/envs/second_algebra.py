"""Second solvers of the algebra tasks: substitution, sampling and sympy. Each says whether a reference is right."""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import sympy

from grpo_gym import Problem
from tests.envs.formulas import holds, parts, polynomial, same, value


def groups(pattern: str, text: str) -> tuple[str, ...]:
    match = re.fullmatch(pattern, text)
    assert match is not None, f"{text!r} does not read as {pattern!r}"
    return match.groups()


def quadratic(problem: Problem) -> bool:
    equation, letter, kind = groups(r"Solve (.+) for ([xyt])\. Give all (real|complex) solutions\.", problem.prompt)
    found = sympy.roots(polynomial(equation, letter))
    assert all(root.is_real for root in found) == (kind == "real")
    answers = parts(problem.reference)
    return len(answers) == len(found) and all(any(same(a, root) for root in found) for a in answers)


def system(problem: Problem) -> bool:
    listed, names, larger = groups(
        r"Solve (.+) for \(([xyz, ]+)\)\.( Give the solution with the larger x\.)?", problem.prompt
    )
    equations = re.split(r", | and ", listed)
    answer = parts(problem.reference)
    if larger:
        line, circle = equations
        y = sympy.solve(polynomial(line, "x").as_expr() if "y" not in line else _in(line), sympy.Symbol("y"))[0]
        both = sympy.solve(_in(circle).subs(sympy.Symbol("y"), y), sympy.Symbol("x"))
        assert len(both) == 2
        return bool(max(both) == answer[0]) and all(_holds(e, names, answer) for e in equations)
    symbols = sympy.symbols(names)
    matrix, _ = sympy.linear_eq_to_matrix([_in(e) for e in equations], symbols)
    return bool(matrix.det() != 0) and all(_holds(e, names, answer) for e in equations)


def _in(equation: str) -> Any:
    names = dict(zip("xyz", sympy.symbols("x y z"), strict=True))
    left, right = equation.split(" = ")
    return value(left, **names) - value(right, **names)


def _holds(equation: str, names: str, answer: list[Any]) -> bool:
    return holds(equation, **dict(zip(names.split(", "), answer, strict=True)))


def inequality(problem: Problem) -> bool:
    (question,) = groups(r"Solve (.+) for x\. Give the solution set in interval notation\.", problem.prompt)
    pieces = [_piece(text) for text in problem.reference.split(r" \cup ")]
    ends = [end for piece in pieces for end in (piece[1], piece[2]) if abs(end) != math.inf]
    tiny = Fraction(1, 1000)
    points = [Fraction(n, 7) for n in range(-300, 300, 11)]
    points += [Fraction(end) + shift for end in ends for shift in (-tiny, 0, tiny)]
    ordered = all(one[2] < two[1] for one, two in itertools.pairwise(pieces))
    return ordered and all(any(_inside(p, x) for p in pieces) == _true(question, x) for x in points)


def _piece(text: str) -> tuple[bool, Any, Any, bool]:
    opening, low, high, closing = groups(r"([\[(])(\S+), (\S+)([\])])", text)
    ends = [{r"\infty": math.inf, r"-\infty": -math.inf}.get(end) or Fraction(end) for end in (low, high)]
    return opening == "[", *ends, closing == "]"  # type: ignore[return-value]


def _inside(piece: tuple[bool, Any, Any, bool], x: Fraction) -> bool:
    with_low, low, high, with_high = piece
    return (low < x or (with_low and low == x)) and (x < high or (with_high and x == high))


def _true(question: str, x: Fraction) -> bool:
    sides = re.split(r" (<=|>=|<|>) ", question)
    try:
        values = [value(side, x=x) for side in sides[::2]]
    except ZeroDivisionError:
        return False
    compare = {"<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b}
    return all(compare[sign](a, b) for sign, a, b in zip(sides[1::2], values, values[1:], strict=False))


def expand(problem: Problem) -> bool:
    (product,) = groups(r"Expand (.+) and write it as a polynomial in x\.", problem.prompt)
    expected = sympy.expand(value(product, x=sympy.Symbol("x")))
    return bool(str(expected).replace("**", "^").replace("*", "") == problem.reference)


def factor(problem: Problem) -> bool:
    given, shape, conditions, letters = groups(
        r"Write (.+) as (.+) with integers (.+)\. Give \((.+)\)\.", problem.prompt
    )
    answer = dict(zip(letters.split(", "), map(int, parts(problem.reference)), strict=True))
    filled = re.sub(r"(?<![a-z])[a-f](?![a-z])|[a-f](?=x)|(?<=[(])[a-f]", lambda m: f"({answer[m[0]]})", shape)
    p = polynomial(given)
    assert sympy.expand(value(filled, x=sympy.Symbol("x")) - p.as_expr()) == 0, (given, filled)
    # unique: as many irreducible factors as the shape has brackets, and the order that the conditions name
    _, found = sympy.factor_list(p.as_expr())
    assert sum(multiplicity for _, multiplicity in found) == shape.count("(")
    return conditions == "a, b, c" or bool(eval(conditions.replace(" > ", ">"), {"__builtins__": {}}, answer))


def roots(problem: Problem) -> bool:
    equation, rest = groups(r"Solve (.+ = 0) for x\. (.+)", problem.prompt)
    found = sympy.roots(polynomial(equation))
    assert all(root.is_rational for root in found)
    answer = parts(problem.reference)
    if problem.reference.startswith("("):
        assert "as often as its multiplicity" in rest
        return [sympy.Rational(a) for a in answer] == sorted(r for r, count in found.items() for _ in range(count))
    return len(answer) == len(set(answer)) and {sympy.Rational(a) for a in answer} == set(found)


def powers(problem: Problem) -> bool:
    text = problem.prompt
    if text.startswith("Find n"):
        left, base = groups(r"Find n with (.+) = (\d+)\^n\.", text)
        return bool(value(left) == Fraction(int(base)) ** int(problem.reference))
    if text.startswith("Compute"):
        (product,) = groups(r"Compute (.+)\.", text)
        number = sympy.Integer(1)
        for base, exponent in re.findall(r"(\d+)\^(?:\{([^}]*)\})?", product):
            number *= sympy.Integer(base) ** sympy.Rational(exponent)
        return bool(number == sympy.Rational(problem.reference))
    if text.startswith("Write"):
        (product,) = groups(r"Write (.+) as a \* x\^b \* y\^c\. Give \(a, b, c\)\.", text)
        a, b, c = parts(problem.reference)
        return all(
            value(_times(product), x=x, y=y) == a * x**b * y**c
            for x, y in ((Fraction(2), Fraction(3)), (Fraction(5), Fraction(7, 2)))
        )
    left, right = groups(r"Solve (.+) = (.+) for x\.", text)
    x = float(Fraction(problem.reference))
    sides = [sum(math.log(int(b)) * _at(e, x) for b, e in re.findall(r"(\d+)\^\{([^}]*)\}", s)) for s in (left, right)]
    return math.isclose(*sides, rel_tol=1e-9, abs_tol=1e-6) and _is_linear_once(left, right)


def _times(text: str) -> str:
    return re.sub(r"(?<=[\dxy}])(?=y)", "*", text)


def _at(exponent: str, x: float) -> float:
    return float(value(exponent, x=Fraction(x).limit_denominator(10_000)))


def _is_linear_once(left: str, right: str) -> bool:
    slopes = [
        sum(math.log(int(b)) * (_at(e, 1) - _at(e, 0)) for b, e in re.findall(r"(\d+)\^\{([^}]*)\}", s))
        for s in (left, right)
    ]
    return not math.isclose(*slopes, abs_tol=1e-9)


def logs(problem: Problem) -> bool:
    text = problem.prompt
    if text.startswith("Compute"):
        (expression,) = groups(r"Compute (.+)\.", text)
        return math.isclose(_log_value(expression, 0), float(Fraction(problem.reference)), rel_tol=1e-9, abs_tol=1e-9)
    equation, several = groups(r"Solve (.+) for x\.( Give all solutions\.)?", text)
    left, right = equation.split(" = ")
    answers = [float(Fraction(part)) for part in problem.reference.split(", ")]
    assert len(set(answers)) == (2 if several else 1)
    assert all(math.isclose(_log_value(left, x), _log_value(right, x), rel_tol=1e-9, abs_tol=1e-7) for x in answers)
    return several is not None or _solutions(left, right) == 1


@functools.cache
def _log_code(expression: str) -> Any:
    """Compile for floats: log_b(u) is log(u) / log(b)."""
    python = re.sub(r"log_\{?(\d+)\}?\(([^()]*)\)", r"(log(\2)/log(\1))", expression)
    return compile(re.sub(r"(\d)x", r"\1*x", python).replace("^", "**"), "formula", "eval")


def _log_value(expression: str, x: float) -> float:
    return float(eval(_log_code(expression), {"__builtins__": {}}, {"log": math.log, "x": x}))


def _solutions(left: str, right: str) -> int:
    """Count the sign changes of the difference on a fine grid where both sides are defined."""
    signs: list[bool | None] = []
    for k in range(-400, 1_200):
        try:
            signs.append(_log_value(left, k / 10 + 0.0071) > _log_value(right, k / 10 + 0.0071))
        except ValueError:
            signs.append(None)
    changes = sum(a is not None and b is not None and a != b for a, b in itertools.pairwise(signs))
    return changes or 1  # the root lies beyond the grid


SOLVERS: dict[str, Callable[[Problem], bool]] = {
    "math.quadratic": quadratic,
    "math.system": system,
    "math.inequality": inequality,
    "math.expand": expand,
    "math.factor": factor,
    "math.roots": roots,
    "math.powers": powers,
    "math.logs": logs,
}
