"""How much work a maths problem is: digit operations by hand as in school, lines of working, size of the question."""

from __future__ import annotations

import re
from collections.abc import Iterable

from grpo_gym.problem import Problem

_TOKEN = re.compile(r"\d+|[-+*/^]")
_SIGN = re.compile(r"\d+|[-+*/()]")


def digit_operations(problem: Problem) -> float:
    """Return the digit operations of a worked solution's lines, and one for each line that must be thought of.

    Two numbers are added in as many steps as the longer one has digits, multiplied and divided in as many as their
    lengths multiply to; a power is its multiplications.
    """
    return operations((problem.solution or "").split("\n")[:-1])


def operations(lines: Iterable[str]) -> float:
    """Return the digit operations of equation lines, and one for each line."""
    return float(sum(1 + _line(line.partition(" = ")[0]) for line in lines))


def calculations(problem: Problem) -> float:
    """Return how many lines the working has: for tasks where it counts how many steps must be found, not their size."""
    return float((problem.solution or "").count("\n"))


def size_of_expression(problem: Problem) -> float:
    """Return how many numbers, signs and brackets the question has: the steps of reading it with a stack.

    A sum of three is more arithmetic than a product of a bracket, and less to understand: this measure goes by the
    second.
    """
    return float(len(_SIGN.findall(problem.prompt)))


def _line(text: str) -> int:
    steps, operator, before = 0, "", ""
    for token in _TOKEN.findall(text):
        if not token.isdigit():
            operator = token
        elif before:
            steps += _steps(before, operator, token)
            before, operator = token, ""
        else:
            before = token
    return steps


def _steps(left: str, operator: str, right: str) -> int:
    if operator == "^":
        return len(left) ** 2 * (min(int(right), 99) - 1)
    return len(left) * len(right) if operator in ("*", "/", "") else max(len(left), len(right))
