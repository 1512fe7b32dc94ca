"""What a reward is: text and problem in, Verdict out. A plain function is enough; the class adds declarations."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from grpo_gym.errors import InvalidValueError
from grpo_gym.problem import Problem
from grpo_gym.verdict import Reason, Verdict

PlainReward = Callable[[str, Problem], "float | bool | Verdict | None"]


LONGEST_LIMIT = 86_400
"""Longest deadline of an answer, in seconds: a watchdog cannot wait for ever."""


@dataclass(frozen=True)
class Probe:
    """A hostile or degenerate answer that a reward is checked with.

    Attributes:
        name: What the probe tries, e.g. "two answers".
        response: Builds the answer for a problem.
        at_most: The highest value it may score.
    """

    name: str
    response: Callable[[Problem], str]
    at_most: float = 0.0


class Reward(ABC):
    """Scores answers.

    Attributes:
        range: Lowest and highest value; verifiers stay in [0, 1], penalties may be negative.
        cost: "fast" is scored in process; "slow" goes to a pool of worker processes with a deadline per answer: `score`
            is called there on a pickled copy, so state that it changes is lost.
        time_limit: Seconds one answer may take in the pool before it scores 0 with reason timeout.
    """

    range: tuple[float, float] = (0.0, 1.0)
    cost: Literal["fast", "slow"] = "fast"
    time_limit: float = 10.0

    @abstractmethod
    def score(self, response: str, problem: Problem) -> Verdict:
        """Judge one answer. May raise: the environment turns that into a counted verdict, never into a crash."""

    def score_batch(self, rows: Sequence[tuple[str, Problem]]) -> list[Verdict]:
        """Judge several answers; override where that is cheaper than one by one."""
        return [self.score(response, problem) for response, problem in rows]

    def in_place_of(self, own: Reward) -> Reward:
        """Return what judges the problems of a task whose own reward this one replaces: this one, whatever the task.

        Override where some tasks are to be judged otherwise. Equal rewards in, the same object out.
        """
        return self

    def probes(self) -> Sequence[Probe]:
        """Return this reward's own hostile answers, for `check_reward`."""
        return ()

    def close(self) -> None:
        """Release what the reward holds. Scoring after it must work: environments share rewards.

        An override calls `super().close()`, which gives up the reward's share of the worker pool.
        """
        if self.cost == "slow":
            from grpo_gym.scoring import release_workers  # scoring knows rewards, so this import comes late

            release_workers(self)


class FunctionReward(Reward):
    """A plain `f(response, problem) -> number` as a Reward. None abstains; NaN and infinities are refused."""

    def __init__(self, function: PlainReward, range: tuple[float, float] = (0.0, 1.0)) -> None:
        self.function = function
        self.range = range

    def score(self, response: str, problem: Problem) -> Verdict:
        """Call the function and wrap its number. Raises InvalidValueError when it is not a finite number."""
        value = self.function(response, problem)
        if isinstance(value, Verdict):
            return value
        if value is None:
            return Verdict.abstain(f"{_name(self.function)} returned None")
        try:
            if isinstance(value, (str, bytes)):
                raise TypeError("a text that reads as a number is a mistake all the same")
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            raise InvalidValueError(f"{_name(self.function)} returned {value!r:.80}, not a number") from None
        if not math.isfinite(number):
            raise InvalidValueError(f"{_name(self.function)} returned {number}: a reward is a finite number or None")
        return Verdict(number, Reason.CORRECT if number >= 1.0 else Reason.WRONG)


def as_reward(reward: Reward | PlainReward) -> Reward:
    """Return a Reward: itself, or a plain function wrapped. Raises InvalidValueError for a wrong declaration."""
    if isinstance(reward, Reward):
        if reward.cost not in ("fast", "slow"):
            raise InvalidValueError(f"{_name(reward)}.cost is {reward.cost!r}, must be 'fast' or 'slow'")
        if not 0 < reward.time_limit <= LONGEST_LIMIT:
            raise InvalidValueError(
                f"{_name(reward)}.time_limit is {reward.time_limit}, must be in (0, {LONGEST_LIMIT}] s"
            )
        return reward
    if isinstance(reward, type):
        raise InvalidValueError(f"{reward.__name__} is a class: give an instance, {reward.__name__}()")
    if callable(reward):
        return FunctionReward(reward)
    raise InvalidValueError(f"a reward is a Reward or a function (response, problem) -> number, got {reward!r:.80}")


def _name(function: object) -> str:
    return str(getattr(function, "__name__", type(function).__name__))
