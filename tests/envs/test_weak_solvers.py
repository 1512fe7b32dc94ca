"""A tier is harder when somebody who is not very good at it is right less often.

The weak solvers are those of `benchmarks/weak_solver.py`: what a task calls its `guess`, else somebody who makes slips
with every unit of effort. The second goes by the effort that `test_effort.py` looks at. So there is a third for maths
and physics, who makes slips of the pen: by the symbols of the worked solution alone, whatever the task's effort is.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from itertools import pairwise

import pytest

from benchmarks.weak_solver import WeakSolver, near_miss, sample
from grpo_gym import Problem, Rng, Task
from grpo_gym.registration import tasks_of
from tests.shared import product_ids

TASKS = {task.name: task for identifier in product_ids() for task in tasks_of(identifier)}
GUESSING = [name for name, task in TASKS.items() if task.guess is not None]
FEW, MANY = 40, 160
PEN = [name for name in TASKS if name.startswith(("math.", "physics."))]
IN_THE_HEAD = {"math.fractions", "math.gcd", "math.linear", "math.logs", "math.percent", "math.remainder"}
"""Tasks with a tier whose working is shorter on paper than that of the tier below: what is new in it is an idea (a
product of fractions, a multiple from a divisor, a law of logarithms) or is tried out in the head (candidates)."""
ERRORS = 2.5
"""Standard errors of a difference by which a tier may look easier than the one before: 14 points for MANY at a half."""


def successes(task: Task, tiers: Sequence[int], many: int) -> list[float]:
    samples = [sample(task, tier, many, seed=5000) for tier in tiers]
    solver = WeakSolver.of(task, samples[0])
    return [solver.success(problems) for problems in samples]


def symbols(problem: Problem) -> int:
    """How many symbols the worked solution has."""
    return len((problem.solution or "").replace(" ", ""))


def tolerance(before: float, after: float, many: int) -> float:
    """How much higher a share may come out of two samples of equal chances."""
    pooled = (before + after) / 2
    return ERRORS * math.sqrt(2 * max(pooled * (1 - pooled), 1 / many) / many)


@pytest.mark.parametrize("name", [n if n in GUESSING else pytest.param(n, marks=pytest.mark.long) for n in TASKS])
def test_the_weak_solver_does_much_worse_in_the_highest_tier(name: str) -> None:
    task = TASKS[name]

    lowest, highest = successes(task, (task.tiers[0], task.tiers[-1]), FEW)

    assert highest < (0.7 if len(task.tiers) == 6 else 1) * lowest, (lowest, highest)
    assert 0 < lowest < 0.95, lowest


@pytest.mark.long
@pytest.mark.parametrize("name", TASKS)
def test_the_weak_solver_does_no_better_in_the_next_tier(name: str) -> None:
    many = MANY // 8 if name.startswith("code") else MANY  # programs come with tests, which take longer to make

    found = successes(TASKS[name], TASKS[name].tiers, many)

    for before, after in pairwise(found):
        assert after <= before + tolerance(before, after, many), found


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in PEN if name not in IN_THE_HEAD])
def test_slips_of_the_pen_do_not_get_fewer_in_the_next_tier(name: str) -> None:
    task = TASKS[name]
    written = [[symbols(p) for p in sample(task, tier, MANY, seed=5000)] for tier in task.tiers]
    usual = statistics.median(written[0])

    found = [statistics.fmean(0.5 ** (each / usual) for each in many) for many in written]

    for before, after in pairwise(found):
        assert after <= before + tolerance(before, after, MANY), found


@pytest.mark.parametrize("answer", [r"\boxed{412}", r"\boxed{0}", r"\boxed{\frac{3}{4}}", r"\boxed{-7x + 2}"])
def test_a_near_miss_is_another_answer_with_one_number_changed(answer: str) -> None:
    for key in range(50):
        wrong = near_miss(answer, Rng("test", key))
        assert wrong != answer
        assert sum(a != b for a, b in zip(_numbers(answer), _numbers(wrong), strict=True)) == 1


def test_a_near_miss_of_an_answer_without_a_number_has_another_sign() -> None:
    assert near_miss(r"\boxed{x}", Rng("test")) == r"\boxed{-x}"


def test_somebody_who_slips_is_right_half_the_time_on_a_typical_problem_of_the_lowest_tier() -> None:
    solver = WeakSolver(TASKS["math.chain"], unit=7)

    def chance(prompt: str) -> float:
        return solver.chance(Problem(prompt, "1", "", problem_id=prompt))

    assert chance("1 + 2 + 3 + 4") == 0.5
    assert chance("1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 * 9 * 9 * 9") < 0.15


def test_a_guess_is_judged_by_the_reward() -> None:
    solver = WeakSolver(TASKS["logic.guess_number"], unit=1)

    sure = Problem("I think of a whole number from 5 to 5.", "5", meta={"low": 5, "high": 5})
    hopeless = Problem("I think of a whole number from 6 to 9.", "5", meta={"low": 6, "high": 9})

    assert (solver.chance(sure), solver.chance(hopeless)) == (1.0, 0.0)


def test_a_guess_is_a_function_of_the_problem() -> None:
    for name in GUESSING:
        task = TASKS[name]
        for problem in sample(task, task.tiers[0], 3):
            assert task.hasty_answer(problem) == task.hasty_answer(problem)


def _numbers(text: str) -> list[str]:
    """The numbers of a text."""
    return "".join(sign if sign.isdigit() else " " for sign in text).split()
