"""The maths tasks that a calculator helps with, and data sets (`gym.make("grpo/MathTool-v0", dataset="gsm8k")`)."""

from __future__ import annotations

import re
from typing import Any

from grpo_envs import datasets
from grpo_envs.math import chain as math_chain
from grpo_envs.math import fractions as math_fractions
from grpo_envs.math import gcd as math_gcd
from grpo_envs.math import linear as math_linear
from grpo_envs.math import remainder as math_remainder
from grpo_envs.math_tool.episode import with_calculator
from grpo_gym.problem import Problem
from grpo_gym.task import Task

_FORMS = (
    (re.compile(r"Compute (.+)\."), r"\1"),
    (re.compile(r"Find the greatest common divisor of (.+)\."), r"gcd(\1)"),
    (re.compile(r"Find the least common multiple of (.+)\."), r"lcm(\1)"),
    (re.compile(r"Find the remainder when (.+) is divided by (\d+)\."), r"mod(\1, \2)"),
)
"""Questions that are one calculation, and how it is written."""


def as_expression(problem: Problem) -> str | None:
    """Return a problem that is one calculation as an expression, None for any other."""
    for question, expression in _FORMS:
        match = question.fullmatch(problem.prompt)
        if match is not None:
            return match.expand(expression).replace(" and ", ", ")
    return None


chain = with_calculator(math_chain.chain, as_expression)
fractions = with_calculator(math_fractions.fractions, as_expression)
gcd = with_calculator(math_gcd.gcd, as_expression)
linear = with_calculator(math_linear.linear)
remainder = with_calculator(math_remainder.remainder, as_expression)


def from_dataset(dataset: Any, columns: Any = None, preset: Any = None, subset: Any = None) -> list[Task]:
    """Return the task of a data set with a calculator; arguments and errors as `grpo_envs.datasets.tasks`."""
    return [with_calculator(task) for task in datasets.tasks(dataset, columns, preset, subset)]
