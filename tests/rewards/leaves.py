"""Leaves for tests of combinations: they do what the response tells them, and keep their batches.

A module of its own, since worker processes must find it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

from grpo_gym import Problem, Reason, Reward, Verdict
from grpo_gym.reward import Probe

PROBLEM = Problem("say it", "right", task="test.compose", problem_id="test-1")


def says(**values: Any) -> str:
    """The response that makes each leaf say its value: a number, None to abstain, "raise" to raise."""
    return json.dumps(values)


class Leaf(Reward):
    """Looks up its name in the response; 1 on the right answer, 0 on any other text."""

    def __init__(self, name: str, range: tuple[float, float] = (0.0, 1.0), reason: Reason = Reason.WRONG) -> None:
        self.name = name
        self.range = range
        self.reason = reason
        self.batches: list[list[str]] = []
        self.closed = 0

    def score(self, response: str, problem: Problem) -> Verdict:
        value = json.loads(response).get(self.name, 0.0) if response.startswith("{") else float(response == "right")
        if value == "raise":
            raise ValueError(f"{self.name} fails")
        if value is None:
            return Verdict.abstain(f"{self.name} is out")
        return Verdict(value, Reason.CORRECT if value >= self.range[1] else self.reason, feedback=f"{value:g}")

    def score_batch(self, rows: Sequence[tuple[str, Problem]]) -> list[Verdict]:
        self.batches.append([response for response, _ in rows])
        return super().score_batch(rows)

    def probes(self) -> Sequence[Probe]:
        return (Probe("nothing", lambda p: says(), at_most=self.range[0]), Probe("all", lambda p: "", self.range[1]))

    def close(self) -> None:
        self.closed += 1
        super().close()


class SlowLeaf(Leaf):
    """The same in a worker process."""

    cost: Literal["fast", "slow"] = "slow"
    time_limit = 20.0


def score(reward: Reward, **values: Any) -> Verdict:
    """The verdict on the response that says these values."""
    return reward.score(says(**values), PROBLEM)
