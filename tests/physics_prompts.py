"""What a physics prompt and its reference say, as plain floats."""

from __future__ import annotations

import re

from grpo_gym import Problem
from tests.numeric import value


def numbers(text: str) -> list[float]:
    """Return the numbers of a prompt; those of "m/s^2", "R1" and the like are part of a name."""
    bare = re.sub(r"\^2\b|g = 10 m/s|\bR\d|n = 0, 1, 2|E_?\d|[A-Za-z]_[xyz]", " ", text)
    bare = re.sub(r"\\frac\{(\d+)\}\{(\d+)\}", lambda m: str(int(m[1]) / int(m[2])), bare)
    return [float(n) for n in re.findall(r"-?\d+(?:\.\d+)?", bare)]


def answer(problem: Problem) -> tuple[complex, str]:
    text, _, unit = problem.reference.partition(" \\text{ ")
    return value(text), unit.removesuffix("}")
