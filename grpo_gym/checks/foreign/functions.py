"""A reward function of others as a task: found by its name, called as it wants, asked with sums or the user's cases.

What it pays for right answers at most, by trial, is its maximum. Where no usual way to write an answer is paid, the
note says so, and the line "oracle" fails.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

from grpo_gym.calling import calling_of
from grpo_gym.checks.foreign.cases import SUMS, Cases
from grpo_gym.checks.foreign.trials import tried
from grpo_gym.checks.target import TaskTarget
from grpo_gym.foreign import ForeignReward, found_by_name
from grpo_gym.problem import Problem
from grpo_gym.reward import Reward
from grpo_gym.sources import Key, Source
from grpo_gym.task import Task

_SAMPLE = (0, 1, 2, 3, 4)

_NOT_ITS_OWN = (
    "generator", "generation cost", "duplicates", "neighbouring seeds", "splits", "tiers", "effort", "leaks",
)  # fmt: skip


def target_of_function(
    spec: str, style: str = "auto", cases: Path | None = None, range: tuple[float, float] | None = None
) -> TaskTarget:
    """Return a function of others as the thing under check, with a note that says how it was read."""
    task, note = _read(spec, style, cases, range)
    whose = "the problems are sums of grpo-gym's own" if cases is None else f"the problems come from {cases.name}"
    return TaskTarget(spec, [task], foreign=True, note=note, not_applicable=dict.fromkeys(_NOT_ITS_OWN, whose))


def task_of_function(
    spec: str, style: str = "auto", cases: Path | None = None, range: tuple[float, float] | None = None
) -> Task:
    """Return a function of others as a task.

    Args:
        spec: "module:function", or a class or object that can be called.
        style: How it is called: auto, plain, trl or verl.
        cases: A file of problems and references; default: sums.
        range: The least and the most it pays; default: what a Reward declares, else found by trial.

    Raises:
        InvalidValueError: There is no such function, or it cannot be told how it is called.
        DataError: The file of cases cannot be read.
    """
    return _read(spec, style, cases, range)[0]


def _read(spec: str, style: str, cases: Path | None, range: tuple[float, float] | None) -> tuple[Task, str]:
    source: Source = SUMS if cases is None else Cases(cases)
    columns = source.columns if isinstance(source, Cases) else ()
    found = found_by_name(spec)
    calling = calling_of(found.score if isinstance(found, Reward) else found, spec, style, columns)
    problems = [source.problem(Key("foreign/foreign.function", 0, 0, "train", 0, n)) for n in _SAMPLE]
    trial = tried(calling, problems, ours=cases is None)
    chosen = dataclasses.replace(calling, messages=trial.manner.messages)
    answer: Callable[[Problem], Any] = lambda problem: trial.manner.answer(problem.reference)  # noqa: E731
    task = Task(
        "foreign.function",
        source=source,
        reward=found
        if isinstance(found, Reward)
        else ForeignReward(chosen, trial.manner.spell, trial.range if range is None else range),
        answer_format=trial.manner.asked,
        tiers=(0,),
        answer=answer,  # None where none can be written
        namespace="foreign",
    )
    shape = " with messages" if chosen.messages else ""
    return task, f"style {calling.style}{shape}, {calling.why}; {trial.note(problems[0])}"
