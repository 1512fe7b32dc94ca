"""Tiers get harder by the tasks' own measure, in every task that has one."""

from __future__ import annotations

import statistics

import pytest

from grpo_gym import Task
from grpo_gym.registration import tasks_of
from tests.shared import product_ids

TASKS = {task.name: task for identifier in product_ids() for task in tasks_of(identifier) if task.effort is not None}


def effort(task: Task, tier: int, seed: int) -> float:
    assert task.effort is not None
    return task.effort(task.problem(tier, "train", seed, 2))


def test_most_tasks_measure_their_effort():
    assert len(TASKS) >= 40


@pytest.mark.parametrize(
    "task", [pytest.param(t, id=n, marks=pytest.mark.long if n.startswith("code") else ()) for n, t in TASKS.items()]
)
def test_the_effort_does_not_fall_from_tier_to_tier(task):
    medians = [statistics.median(effort(task, tier, seed) for seed in range(200)) for tier in task.tiers]
    assert medians == sorted(medians), medians
