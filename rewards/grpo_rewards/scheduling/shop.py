"""Job shop and flow shop: an answer gives orders of jobs, the times follow, and the last end is what it costs.

`problem.meta` holds `jobs` (job -> [machine, time] in order), `machines` and `best`, the least makespan.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from grpo_gym.problem import Problem
from grpo_gym.verdict import Reason
from grpo_rewards.logic.reading import UnreadError
from grpo_rewards.scheduling.cost import BrokenPlanError, CostReward
from grpo_rewards.scheduling.dispatch import FIRST_IN, dispatched, ranked
from grpo_rewards.scheduling.timetable import makespan, timetable

_MACHINE = re.compile(r"(?<![^\W_])M(?:achine ?M?)?_?\{?([0-9]{1,2})\}?[\"']?\s*[:=]", re.IGNORECASE)
_BETWEEN = re.compile(r"[\s,;>\u2192\u227b|\"'-]+|\\(?:to|gt|succ|(?:long)?rightarrow)(?![a-zA-Z])|\bthen\b|\band\b")
_AROUND = " \t\n,;.|[](){}&\\-*\"'"


class JobShopReward(CostReward):
    r"""The order of jobs on every machine, `\boxed{M1: A, B; M2: B, A}`: least makespan over makespan."""

    def read(self, text: str, problem: Problem) -> dict[str, list[str]]:
        """Read one order per machine; which jobs stand in it is not looked at yet."""
        head, *parts = _MACHINE.split(text)
        if head.strip(_AROUND) or not parts:
            raise UnreadError(f"{text[:60]!r} does not begin with a machine and a colon")
        orders: dict[str, list[str]] = {}
        for name, body in zip(parts[::2], parts[1::2], strict=True):
            machine = f"M{name}"
            if machine in orders:
                raise UnreadError(f"{machine} is given two orders", Reason.HEDGED)
            orders[machine] = named(body, problem)
        return orders

    def cost_of(self, plan: dict[str, list[str]], problem: Problem) -> int:
        """Return the makespan."""
        machines: list[str] = problem.meta["machines"]
        for machine in plan:
            if machine not in machines:
                raise BrokenPlanError(f"there is no machine {machine}")
        for machine in machines:
            if machine not in plan:
                raise BrokenPlanError(f"{machine} is given no order")
            complete(plan[machine], problem, machine)
        return makespan(timetable(problem.meta["jobs"], {machine: plan[machine] for machine in machines}))

    def baseline(self, problem: Problem) -> float:
        """Return the makespan of first in, first out."""
        jobs = problem.meta["jobs"]
        return makespan(timetable(jobs, dispatched(jobs, problem.meta["machines"], FIRST_IN)))

    def praise(self, cost: int) -> str:
        """Say when the last job ends."""
        return f"a valid schedule that ends at {cost}"


class FlowShopReward(CostReward):
    r"""One order of jobs for all machines, `\boxed{B, A, C}`: least makespan over makespan."""

    def read(self, text: str, problem: Problem) -> list[str]:
        """Read the order."""
        return named(text, problem)

    def cost_of(self, plan: list[str], problem: Problem) -> int:
        """Return the makespan."""
        complete(plan, problem, "the order")
        return _flow(plan, problem)

    def baseline(self, problem: Problem) -> float:
        """Return the makespan of first in, first out: the jobs as they are listed."""
        return _flow(ranked(problem.meta["jobs"], FIRST_IN), problem)

    def praise(self, cost: int) -> str:
        """Say when the last job ends."""
        return f"a valid order that ends at {cost}"


def named(text: str, problem: Problem) -> list[str]:
    """Read jobs one after another. Raises UnreadError when anything else stands there."""
    pieces = [piece for piece in _BETWEEN.split(text.strip(_AROUND)) if piece]
    known = {job.casefold(): job for job in problem.meta["jobs"]}
    for piece in pieces:
        if piece.casefold() not in known:
            raise UnreadError(f"{piece[:60]!r} is no job")
    return [known[piece.casefold()] for piece in pieces]


def complete(order: Sequence[str], problem: Problem, where: str) -> None:
    """Raise BrokenPlanError unless every job stands in an order exactly once."""
    for job in problem.meta["jobs"]:
        if job not in order:
            raise BrokenPlanError(f"{where} leaves out job {job}")
    if len(order) > len(problem.meta["jobs"]):
        twice = next(job for job in order if order.count(job) > 1)
        raise BrokenPlanError(f"{where} holds job {twice} more than once")


def _flow(order: Sequence[str], problem: Problem) -> int:
    return makespan(timetable(problem.meta["jobs"], dict.fromkeys(problem.meta["machines"], order)))
