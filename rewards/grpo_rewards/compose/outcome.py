"""What is known of one answer: bounds of its value, and what each leaf said. Leaves are judged here; none escapes."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grpo_gym.problem import Problem
from grpo_gym.reward import Reward
from grpo_gym.scoring import FAULTS, attempt, is_scorer_error, is_sound
from grpo_gym.verdict import Reason, Verdict

Interval = tuple[float, float]
"""Lowest and highest value that something can have; equal where it is known."""

Rows = Sequence[tuple[str, Problem]]


@dataclass(frozen=True)
class Leaf:
    """What one leaf made of one answer.

    Attributes:
        value: Its own value, before any weight; None when it abstained or failed.
        reason: Why.
        seconds: What judging cost; a batch's time is divided among its rows.
        error: What it raised, "" when it did not.
        feedback: What it said.
        components, details: Its verdict's own.
    """

    value: float | None
    reason: Reason
    seconds: float
    error: str
    feedback: str
    components: Mapping[str, float]
    details: Mapping[str, Any]


@dataclass(frozen=True)
class Outcome:
    """What a part made of one answer.

    Attributes:
        bounds: What its value can be, given what is known.
        reason: Why; of the part that decides.
        failed: Whether its value is missing because a leaf failed, not because one abstained.
        leaves: By dotted name below this part; "" names the part itself when it is a leaf.
    """

    bounds: Interval
    reason: Reason
    failed: bool
    leaves: Mapping[str, Leaf]

    @property
    def known(self) -> bool:
        """Whether the value is certain, whatever the missing leaves would have said."""
        return self.bounds[0] == self.bounds[1]


def judge_leaf(reward: Reward, rows: Rows) -> list[Outcome]:
    """Judge answers with one leaf, as a batch where that works; rows whose part of the batch is unusable go alone."""
    if not rows:
        return []
    started = time.perf_counter()
    verdicts = _judge_batch(reward, rows)
    each = (time.perf_counter() - started) / len(rows)
    return [
        _judge_alone(reward, *row) if verdict is None else _outcome(reward, verdict, each)
        for verdict, row in zip(verdicts, rows, strict=True)
    ]


def _judge_batch(reward: Reward, rows: Rows) -> Sequence[Verdict | None]:
    """Return the verdicts of a batch, None where there is no usable one."""
    try:
        verdicts = list(reward.score_batch(rows))
    except FAULTS:  # which row it was, and why, comes out when they are judged alone
        return [None] * len(rows)
    if len(verdicts) != len(rows):
        return [None] * len(rows)
    return [verdict if is_sound(verdict) else None for verdict in verdicts]


def _judge_alone(reward: Reward, response: str, problem: Problem) -> Outcome:
    started = time.perf_counter()
    verdict = attempt(lambda: reward.score(response, problem), is_sound)
    return _outcome(reward, verdict, time.perf_counter() - started)


def _outcome(reward: Reward, verdict: Verdict, seconds: float) -> Outcome:
    failed = is_scorer_error(verdict)
    value = None if verdict.value is None or failed else float(verdict.value)
    leaf = Leaf(
        value=value,
        reason=verdict.reason,
        seconds=seconds,
        error=verdict.feedback if failed else "",
        feedback="" if failed else verdict.feedback,
        components=verdict.components,
        details=verdict.details,
    )
    low, high = reward.range if value is None else (value, value)
    return Outcome((float(low), float(high)), verdict.reason, failed, {"": leaf})
