"""Tiers get harder by the tasks' own measure, in every task."""

from __future__ import annotations

import statistics

import pytest

from benchmarks.weak_solver import efforts, sample
from grpo_gym import Problem, Task
from grpo_gym.registration import tasks_of
from tests.shared import product_ids

TASKS = {task.name: task for identifier in product_ids() for task in tasks_of(identifier)}
FEW, MANY = 12, 200


def median(task: Task, tier: int, many: int) -> float:
    return statistics.median(efforts(task, sample(task, tier, many)))


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.long if "code" in n else ()) for n in TASKS])
def test_every_task_measures_its_effort_and_the_highest_tier_is_the_most(name: str) -> None:
    task = TASKS[name]

    lowest, highest = (median(task, tier, FEW) for tier in (task.tiers[0], task.tiers[-1]))

    assert 0 < lowest < highest or len(task.tiers) == 1


@pytest.mark.long
@pytest.mark.parametrize("name", TASKS)
def test_the_effort_does_not_fall_from_tier_to_tier(name: str) -> None:
    many = MANY // 8 if name.startswith("code") else MANY  # programs come with tests, which take longer to make

    medians = [median(TASKS[name], tier, many) for tier in TASKS[name].tiers]

    assert medians == sorted(medians), medians


def solved(prompt: str, *lines: str) -> Problem:
    """A problem of `math.*` as its generator writes it: the lines, and the last one's value in a box."""
    value = lines[-1].rpartition(" = ")[2]
    return Problem(prompt, value, "\n".join([*lines, f"\\boxed{{{value}}}"]))


@pytest.mark.parametrize(
    ("name", "problem", "expected"),
    [
        # four numbers, three signs, four brackets
        ("math.chain", solved("Compute (3 + 4) * (2 - 9).", "3 + 4 = 7", "2 - 9 = -7", "7 * -7 = -49"), 11),
        ("math.gcd", solved("Find the greatest common divisor of 9 and 6.", "6 * 1 = 6", "9 - 6 = 3"), 2),
        # a line and a digit each for 9 - 4 and 5 - 3; a fraction: 5/2 by Euclid is 2 * 2, 5 - 4, 1 * 2, 2 - 2
        ("math.linear", Problem("Solve 5x + 4 = 3x + 9 for x.", "5/2", "5 - 3 = 2\n9 - 4 = 5\n\\boxed{5/2}"), 4 + 8),
        ("math.linear", Problem("Solve 2x + 1 = 7 for x.", "3", "7 - 1 = 6\n6 / 2 = 3\n\\boxed{3}"), 4),
        # 2, 7, 12 divided by 3: nothing to do for 2; 3 * 2, 7 - 6; 3 * 4, 12 - 12 of two digits; two looks at each
        (
            "math.remainder",
            Problem(
                "Find the smallest whole number that leaves remainder 2 when divided by 5 and remainder 0 when divided "
                "by 3.",
                "12",
                "2 + 5 = 7\n7 + 5 = 12\n\\boxed{12}",
            ),
            4 + 4 + 5 + 6,
        ),
        ("logic.guess_number", Problem("?", "7", meta={"low": 1, "high": 7}), 3),
        ("logic.guess_number", Problem("?", "4", meta={"low": 1, "high": 7}), 1),
    ],
)
def test_an_effort_is_counted_as_said(name: str, problem: Problem, expected: float) -> None:
    effort = TASKS[name].effort

    assert effort is not None
    assert effort(problem) == expected


def test_a_task_with_a_calculator_is_as_much_work_as_without() -> None:
    with_one = [name for name in TASKS if name.startswith("math_tool.")]

    assert len(with_one) == 5
    for name in with_one:
        assert TASKS[name].effort is TASKS[name.replace("math_tool", "math")].effort
