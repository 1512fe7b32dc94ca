"""Broken programs of the code tasks, and data sets (`gym.make("grpo/CodeRepair-v0", dataset="mbpp")`)."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from grpo_envs.code import (
    calendars,
    games,
    intervals,
    ledgers,
    lists,
    machines,
    matrices,
    networks,
    records,
    robots,
    schedules,
    texts,
)
from grpo_envs.code.draft import CODE, Draft, Drafts, fenced
from grpo_envs.code_repair.breaking import broken
from grpo_envs.code_repair.episode import with_repair
from grpo_envs.datasets import code as datasets
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.sources import Procedural
from grpo_gym.task import Task

FUNCTIONS = (
    lists.lists,
    texts.texts,
    records.records,
    matrices.matrices,
    intervals.intervals,
    calendars.calendars,
    machines.machines,
    robots.robots,
    games.games,
    schedules.schedules,
)
PROGRAMS = (ledgers.ledgers, networks.networks)

_BROKEN = (
    "This program is meant to do that, but it is wrong:",
    "Here is a program that somebody has written for this. It has a mistake:",
    "The following program fails. Find the mistake:",
)


def _repair(rng: Rng, tier: int, tasks: Sequence[Task]) -> Problem:
    """Draw a problem of one of several tasks together with a broken program for it."""
    fitting = [task.source for task in tasks if tier in task.tiers]
    while True:
        source = rng.choice(fitting)
        assert isinstance(source, Drafts)
        draft: Draft = source.draft(rng, tier)
        wrong = broken(draft)
        if wrong is not None:
            problem = draft.problem()
            opening = Rng("code repair wording", draft.code).choice(_BROKEN)
            prompt = f"{problem.prompt}\n\n{opening}\n{fenced(wrong.code)}\n{wrong.complaint}"
            return dataclasses.replace(problem, prompt=prompt)


def _functions(rng: Rng, tier: int) -> Problem:
    """Mend a function: the rules of the function tasks, and a program with one mistake."""
    return _repair(rng, tier, FUNCTIONS)


def _programs(rng: Rng, tier: int) -> Problem:
    """Mend a program that reads standard input: the rules of the ledger and network tasks, and one mistake."""
    return _repair(rng, tier, PROGRAMS)


functions = with_repair(
    Task("code.functions", Procedural(_functions), tiers=(0, 1, 2, 3), default_tiers=(0, 1), **CODE)
)
programs = with_repair(Task("code.programs", Procedural(_programs), tiers=(1, 2, 3), default_tiers=(1, 2), **CODE))


def from_dataset(dataset: Any, columns: Any = None, preset: Any = None, subset: Any = None) -> list[Task]:
    """Return the task of a data set in several turns, without a broken program to begin with.

    Arguments and errors are those of `grpo_envs.datasets.code.tasks`.
    """
    return [with_repair(task) for task in datasets.tasks(dataset, columns, preset, subset)]
