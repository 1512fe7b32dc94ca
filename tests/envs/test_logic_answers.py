"""Grids, placements and number games alike: what no answer may do, what every right one earns, harder tier by tier."""

from __future__ import annotations

import re
import statistics

import pytest

from grpo_envs.logic.coloring import coloring
from grpo_envs.logic.countdown import countdown
from grpo_envs.logic.cryptarithm import cryptarithm
from grpo_envs.logic.game24 import game24
from grpo_envs.logic.mini_sudoku import mini_sudoku
from grpo_envs.logic.queens import queens
from grpo_envs.logic.sudoku import sudoku
from grpo_rewards.logic import PuzzleReward
from tests.envs.puzzles import TIERS, boxed, hasty, problems, value

TASKS = (mini_sudoku, sudoku, queens, coloring, countdown, game24, cryptarithm)
HOSTILE = (
    "",
    "\\boxed{}",
    "\\boxed{__import__('os').getpid()}",
    "\\boxed{" + "1 2 3 4 / " * 10_000 + "}",
    "A: red, " * 12_500,
    "\\boxed{" + "[" * 50_000 + "]" * 50_000 + "}",
    "\\boxed{" + "(" * 150 + "1" + ")" * 149 + "}",
    "\\boxed{1 2 3 4 / 3 4 1 2 / 2 1 4 3 / 4 3 2 1} or \\boxed{1 2 3 4 / 3 4 1 2 / 2 1 4 3 / 4 3 2 2}",
    "\\boxed{\ud800\u0661 \u0662}",
    "\\boxed{1, 2, 3, 4, 5, 6, 7, 8e0}",
    "\\boxed{A: red or blue}",
    "\\boxed{A = 1, B = 2 or 3}",
    "\\boxed{9**9**9**9}",
    "\\boxed{99999999999 * 99999999999}",
    "\\boxed{1 / 0}",
    "\\boxed{\\frac{1}{0}}",
)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_hostile_answers_earn_nothing_and_raise_nothing(task):
    for problem in (problems(task, tier, 1)[0] for tier in (0, 5)):
        right = boxed(problem.reference)
        for answer in (
            *HOSTILE,
            f"{right}, {boxed('1')}",
            f"<think>{right}",
            boxed(f"{problem.reference} 1"),
            problem.prompt,
        ):
            assert value(task, problem, answer) == 0, answer[:80]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_other_spellings_are_paid_and_solutions_are_short_in_the_lowest_tier(task):
    assert task.equivalents is not None
    for problem in problems(task, 0, 10):
        for answer in [problem.solution, task.answer(problem), *task.equivalents(problem)]:
            assert value(task, problem, answer) == 1, answer
        assert len(re.findall(r"\w|[^\w\s]", str(problem.solution))) < 260


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
@pytest.mark.parametrize("tier", TIERS)
def test_every_tier_has_working_of_bounded_length_that_ends_in_the_answer(task, tier):
    for problem in problems(task, tier, 15, seed=8):
        lines = str(problem.solution).splitlines()
        assert len(lines) > 1
        assert lines[-1] == boxed(problem.reference)
        assert len(str(problem.solution)) <= 3_000
        assert value(task, problem, problem.solution) == 1


@pytest.mark.parametrize("task", [queens, coloring], ids=lambda task: task.name)
@pytest.mark.parametrize("tier", TIERS)
def test_partial_credit_begins_above_what_a_weak_solver_gets_right(task, tier):
    reward = task.reward
    assert isinstance(reward, PuzzleReward)
    guesses = [reward.check(reward.read(hasty(task, p)[7:-1], p), p) for p in problems(task, tier, 40)]
    wrong = [findings for findings in guesses if findings.broken]
    assert statistics.fmean(findings.share - findings.luck for findings in wrong) <= 0.02


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_each_tier_takes_more_work_than_the_one_before(task):
    assert task.effort is not None
    medians = [statistics.median(task.effort(p) for p in problems(task, tier, 60)) for tier in TIERS]
    assert medians == sorted(set(medians))
