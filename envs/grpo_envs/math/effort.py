"""How much work a worked solution is: the digit operations of doing its lines by hand, as one learns it in school."""

from __future__ import annotations

import re

from grpo_gym.problem import Problem

_TOKEN = re.compile(r"\d+|[-+*/^]")


def digit_operations(problem: Problem) -> float:
    """Return the digit operations of a worked solution's lines, and one for each line that must be thought of.

    Two numbers are added in as many steps as the longer one has digits, multiplied and divided in as many as their
    lengths multiply to; a power is its multiplications.
    """
    lines = (problem.solution or "").split("\n")[:-1]
    return float(sum(1 + _line(line.partition(" = ")[0]) for line in lines))


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
