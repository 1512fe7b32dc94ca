"""Can this reward be fooled? `check_reward` asks everything that policies find out in training, in seconds.

    from grpo_gym.checks import check_reward

    report = check_reward("grpo/Math-v0")
    print(report)
    assert report.ok

The subject runs in a child process: a scorer that hangs, crashes or executes answers costs a line, not the checker.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from grpo_gym.checks.exam import Exam
from grpo_gym.checks.laboratory import Laboratory, SubjectError
from grpo_gym.checks.lines import QUESTIONS
from grpo_gym.checks.report import Line, Report, Status
from grpo_gym.checks.subjects import Subject
from grpo_gym.errors import InvalidValueError
from grpo_gym.task import Task

__all__ = ["QUESTIONS", "Line", "Report", "Status", "SubjectError", "check_reward"]


def check_reward(
    subject: str | Task,
    n: int = 64,
    *,
    style: str = "auto",
    cases: str | Path | None = None,
    args: Mapping[str, Any] | None = None,
) -> Report:
    """Ask every question about a task, an environment or a reward of others.

    Args:
        subject: An environment id ("grpo/Math-v0", "package:ns/Env-v0"), a Task, "module:attribute" of a Task or of a
            reward function of others, or "reasoning_gym:name".
        n: Problems in the sample.
        style: How a function of others is called: auto, plain, trl or verl.
        cases: A file of problems and references for such a function.
        args: Options of `gym.make` that decide about the tasks of a registered id, such as a mixture's `envs`.

    Returns:
        One line per question; `report.ok` says whether none failed.

    Raises:
        SubjectError: The subject cannot be opened.
        InvalidValueError: n is below 8, or a Task cannot be sent to another process.
    """
    if n < 8:
        raise InvalidValueError(f"n is {n}: fewer than 8 problems tell nothing")
    began = time.monotonic()
    described = Subject.of(subject, style, cases, args)
    with Laboratory(described) as lab, Exam(described, lab, n) as exam:
        lines = tuple(question.ask(exam) for question in QUESTIONS)
        notes = [exam.facts.note, "" if lab.isolation is None else f"confined: {lab.isolation[1]}"]
    return Report(described.spec, lines, time.monotonic() - began, "; ".join(filter(None, notes)))
