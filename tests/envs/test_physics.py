"""Physics, solved a second time: every reference is what other methods find, every line of working is true."""

from __future__ import annotations

import itertools
import re

import pytest

from grpo_envs.index import FAMILIES
from grpo_gym import Problem, Task
from grpo_gym.problem import SPLITS
from grpo_gym.registration import load_tasks
from tests.numeric import close, value
from tests.physics import SOLVERS

OURS = {name: load_tasks(f"grpo/{name}")[0] for name in SOLVERS}
TIERS = [pytest.param(task, tier, id=f"{name}-{tier}") for name, task in OURS.items() for tier in task.tiers]
SEEDS = 60


def problems(task: Task, tier: int) -> list[Problem]:
    return [task.problem(tier, split, seed, 0) for split in SPLITS for seed in range(SEEDS // 3)]


SLOW = ("physics.commutator", "physics.hydrogen", "physics.quantum_box")
"""Solved by large matrices and fine integrals: a few problems of each tier."""


def test_every_physics_task_has_a_second_solver():
    assert set(SOLVERS) == set(FAMILIES["physics"])


@pytest.mark.parametrize(("task", "tier"), TIERS)
def test_the_reference_is_what_another_method_finds(task, tier):
    for problem in problems(task, tier)[:: 4 if task.name in SLOW else 1]:
        SOLVERS[task.name](problem)


@pytest.mark.parametrize(("task", "tier"), TIERS)
def test_a_unit_that_is_asked_for_is_the_unit_of_the_answer(task, tier):
    for problem in problems(task, tier):
        unit = problem.reference.partition(" \\text{ ")[2].removesuffix("}")
        assert unit == problem.meta["unit"]
        if unit:
            assert re.search(rf"\bin {re.escape(unit)}(?![\w/^])", problem.prompt), problem.prompt


@pytest.mark.parametrize(("task", "tier"), TIERS)
def test_every_line_of_a_solution_is_true_and_the_last_is_the_answer(task, tier):
    for problem in problems(task, tier):
        *lines, last = str(problem.solution).split("\n")
        assert last == f"\\boxed{{{problem.reference}}}" == task.answer(problem)
        assert lines, problem
        for line in lines:
            left, right = line.split(" = ")
            assert left != right, line
            if "{d" in line:
                sides = (re.sub(r"(?<![a-z\\])p(?![a-z])", "x", side) for side in (left, right))
                left, right = (side.replace("{dp}", "{dx}") for side in sides)
            point = {"x": 0.7 + 0.2j, "p": 1.3 - 0.4j}
            assert close(value(left, **point), value(right, **point), 1e-6), line


@pytest.mark.parametrize(("task", "tier"), TIERS)
def test_a_prompt_is_written_as_people_do(task, tier):
    for problem in problems(task, tier):
        for text in (problem.prompt, str(problem.solution)):
            assert text.isascii()
            assert "  " not in text
            assert not re.search(r"(?<![\d./^])1[xi\\](?!boxed)|\+ -|- -(?!\()|(?<![\d.])0[ix\\]|--|\{\}", text), text
        assert len(problem.prompt) < 330
        assert f"boxed{{{problem.reference}}}" not in problem.prompt


@pytest.mark.parametrize(("task", "tier"), TIERS)
def test_no_constant_answer_is_right_too_often(task, tier):
    references = [task.problem(tier, "train", seed, 1).reference for seed in range(250)]
    assert max(references.count(reference) for reference in set(references)) <= 25


@pytest.mark.parametrize(("task", "tier"), TIERS)
def test_right_answers_in_every_form_are_paid_and_others_are_not(task, tier):
    for problem, other in itertools.pairwise(problems(task, tier)[:20]):
        assert task.reward.score(problem.solution, problem).value == 1.0, problem
        for text in task.equivalents(problem):
            verdict = task.reward.score(text, problem)
            assert verdict.value == 1.0, (text, problem.reference, verdict)
        if other.reference != problem.reference:
            assert task.reward.score(task.answer(other), problem).value == 0.0
        if problem.meta["unit"]:
            wrong = problem.reference.replace(problem.meta["unit"], "m" if problem.meta["unit"] != "m" else "s")
            assert task.reward.score(f"\\boxed{{{wrong}}}", problem).value == 0.0, wrong
