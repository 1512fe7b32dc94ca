"""The order in which a problem lists its parts makes no second problem, which could be in another split."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from grpo_gym.problem import Problem
from grpo_gym.registration import load_tasks

MANY = 1_500
NUMBERED = re.compile(r"^\d+\. (.*)$", re.MULTILINE)
EITHER_WAY = re.compile(r"(?P<before>(?:not \()?)(?P<one>(?:not )?\w) (?P<sign>or|and|iff) (?P<other>(?:not )?\w)\)?")


def premises(problem: Problem) -> object:
    """The premises as a set, each with the sides of "or", "and", "iff" as a set."""
    found = set()
    for said in NUMBERED.findall(problem.prompt):
        match = EITHER_WAY.fullmatch(said)
        found.add((match["before"], match["sign"], frozenset(match.group("one", "other"))) if match else said)
    return frozenset(found), problem.prompt.splitlines()[-1]


def speakers(problem: Problem) -> object:
    """Who says what, as a set."""
    return frozenset(NUMBERED.findall(problem.prompt))


def graph(problem: Problem) -> object:
    """Colours, joined pairs and given colours, each as a set."""
    first, joined, given = problem.prompt.split(". ")
    colors = re.findall(r"red|green|blue|yellow", first)
    return frozenset(colors), frozenset(re.findall(r"\w-\w", joined)), frozenset(given.strip(".").split(", "))


def numbers(problem: Problem) -> object:
    """The target, and the numbers in ascending order."""
    target, *given = map(int, re.findall(r"\d+", problem.prompt))
    return target, tuple(sorted(given))


@pytest.mark.parametrize(
    ("name", "unordered"),
    [("propositional", premises), ("knights", speakers), ("coloring", graph), ("countdown", numbers)],
)
def test_no_two_problems_differ_in_the_order_of_their_parts_alone(name: str, unordered: Callable[[Problem], object]):
    task = load_tasks(f"grpo/logic.{name}")[0]
    problems = [task.problem(0, "train" if k % 2 else "test", 3, k) for k in range(MANY)]
    assert len({problem.content for problem in problems}) == len({unordered(problem) for problem in problems})
