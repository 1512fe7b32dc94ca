"""A reward for plans that have a cost: the optimum over the cost of a valid plan, 0 for a plan that breaks a rule.

The ratio is 1 at the optimum alone, but nearly every valid plan earns a good part of it: a dispatch rule nine tenths.
`sharp=True` pays for what is better than a simple rule's plan: 0 at its cost, 1 at the optimum, in proportion between.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from grpo_gym.problem import Problem
from grpo_gym.reward import Probe, Reward
from grpo_gym.verdict import SOLVED, Reason, Verdict
from grpo_rewards.logic.probes import box, boxed_probes
from grpo_rewards.logic.reading import UnreadError, answer_text


class BrokenPlanError(Exception):
    """The plan breaks a rule; the message says which."""


class CostReward(Reward):
    """The value of a plan by its cost; `meta["best"]` of the problem is the least cost that is possible.

    Args:
        sharp: Pay only for what is cheaper than the baseline's plan.
    """

    def __init__(self, *, sharp: bool = False) -> None:
        self.sharp = sharp

    @abstractmethod
    def read(self, text: str, problem: Problem) -> Any:
        """Read a plan from the final answer. Raises UnreadError."""

    @abstractmethod
    def cost_of(self, plan: Any, problem: Problem) -> int:
        """Return what a plan costs. Raises BrokenPlanError when it breaks a rule."""

    @abstractmethod
    def baseline(self, problem: Problem) -> float:
        """Return what a plan costs that is made without search; the sharp reward pays below it."""

    @abstractmethod
    def praise(self, cost: int) -> str:
        """Say in words what a valid plan costs."""

    def score(self, response: str, problem: Problem) -> Verdict:
        """Judge one response; `details` holds the plan's cost and the least possible one.

        `components["solved"]` says whether the plan is optimal: a plan made without search earns much of the value.
        """
        try:
            cost = self.cost_of(self.read(answer_text(response), problem), problem)
        except UnreadError as error:
            return Verdict(0.0, error.reason, _parts(0.0), str(error))
        except BrokenPlanError as error:
            return Verdict(0.0, Reason.WRONG, _parts(0.0), str(error))
        best = int(problem.meta["best"])
        details = {"cost": cost, "best": best}
        if cost <= best:
            return Verdict(1.0, Reason.CORRECT, _parts(1.0), details=details)
        value = self._sharpened(cost, best, problem) if self.sharp else best / cost
        feedback = f"{self.praise(cost)}, {best} is possible"
        return Verdict(value, Reason.WRONG, _parts(value), feedback, details)

    def _sharpened(self, cost: int, best: int, problem: Problem) -> float:
        """Return the part of the way from the baseline to the optimum that a plan has come."""
        baseline = self.baseline(problem)
        return max(0.0, (baseline - cost) / (baseline - best)) if baseline > best else 0.0

    def probes(self) -> Sequence[Probe]:
        """Answers that try to be paid without being a plan."""
        return (
            *boxed_probes(),
            Probe("a plan cut short", lambda p: box(str(p.reference)[:-1].rstrip(" ,;:"))),
            Probe("the plan twice over", lambda p: box(f"{p.reference}, {p.reference}")),
            Probe("a number for a plan", lambda p: box(str(p.meta["best"]))),
        )


def _parts(value: float) -> dict[str, float]:
    """Return the components of a verdict: the score, and whether the plan is optimal."""
    return {"score": value, SOLVED: float(value >= 1.0)}
