"""Flow shop: all jobs pass the machines in the same order, and every machine takes them in the same order: which?"""

from __future__ import annotations

from collections.abc import Sequence

from grpo_envs.scheduling.sequences import Search, johnson
from grpo_envs.scheduling.shops import Shop, bounds, drawn, explained, shop_task, shown
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_rewards.scheduling.dispatch import FIRST_IN, SHORTEST, ranked
from grpo_rewards.scheduling.shop import FlowShopReward
from grpo_rewards.scheduling.timetable import Jobs, makespan, timetable

SIZES = ((3, 2), (4, 2), (4, 3), (5, 3), (6, 4), (8, 5))
"""Jobs and machines by tier."""

PLAIN = (2, 3, 4, 6, 10, 20)
"""Of the problems that the listed order solves, one in so many is kept."""

BUDGET = 40
"""Beginnings of orders that may be looked at for one draw: what takes more is rare."""


def boxed(order: Sequence[str]) -> str:
    """Write an order as a final answer."""
    return f"\\boxed{{{', '.join(order)}}}"


def shortest_first(problem: Problem, rng: Rng) -> str:
    """The weak solver: what is quickly done on the first machine goes first; the other machines are not looked at."""
    return boxed(ranked(problem.meta["jobs"], SHORTEST))


def others(problem: Problem) -> list[str]:
    """Return up to four optimal orders."""
    return [boxed(found) for found in Search(problem.meta["jobs"]).within(problem.meta["best"], most=4)]


def spellings(problem: Problem) -> list[str]:
    """Return the reference in other words."""
    order = str(problem.reference).split(", ")
    return [f"\\boxed{{{mark.join(order)}}}" for mark in (" ", " -> ", ",", r" \to ")]


def looked_at(problem: Problem) -> float:
    """Return how many beginnings of orders the exact solver looks at."""
    search = Search(problem.meta["jobs"])
    search.within(problem.meta["best"])
    return search.nodes


def solved(shop: Shop, rng: Rng, tier: int) -> Problem | None:
    """Return the problem; None when it is too easy, or when no order that meets the bound is found soon."""
    jobs, machines = shop.jobs, shop.machines
    found = bounds(jobs, machines)
    best = max(map(sum, found.values()))
    plain = makespan(timetable(jobs, dict.fromkeys(machines, ranked(jobs, FIRST_IN))))
    if plain <= best and not rng.chance(1, PLAIN[tier]):
        return None
    rule, order = _ordered(jobs, len(machines), best)
    table = timetable(jobs, dict.fromkeys(machines, order)) if order else {}
    if not table or makespan(table) > best:
        return None
    lines = [*explained(found, machines), *rule, *shown(table), f"The last job ends at {best}."]
    meta = {"jobs": jobs, "machines": machines, "flow": True, "best": best}
    return Problem(shop.prompt, ", ".join(order), "\n".join([*lines, boxed(order)]), meta)


def _ordered(jobs: Jobs, width: int, best: int) -> tuple[list[str], list[str]]:
    """Return how an order was found, in words, and the order; none when none as short as the bound was found."""
    if width > 2:
        found = Search(jobs).within(best, budget=BUDGET)
        return [], found[0] if found else []
    first, last = johnson(jobs)
    lines = [
        f"Not longer on M1 than on M2, by rising M1: {_timed(jobs, first, 0)}",
        f"Longer on M1, by falling M2: {_timed(jobs, last, 1)}",
    ]
    return lines, [*first, *last]


def _timed(jobs: Jobs, order: Sequence[str], machine: int) -> str:
    return ", ".join(f"{job} {jobs[job][machine][1]}" for job in order) or "none"


@shop_task(
    "scheduling.flow_shop",
    solved,
    reward=FlowShopReward(),
    answer_format=r"Give the order of all jobs, as in \boxed{B, A, C}.",
    equivalents=spellings,
    solver=others,
    effort=looked_at,
    guess=shortest_first,
)
def flow_shop(rng: Rng, tier: int) -> Shop:
    """Order 3 jobs for 2 machines (0) up to 8 jobs for 5 machines (5)."""
    count, width = SIZES[tier]
    machines = [f"M{k}" for k in range(1, width + 1)]
    jobs = drawn(rng, count, lambda rng: machines)
    listed = "\n".join(f"{job}: {', '.join(str(time) for _, time in jobs[job])}" for job in jobs)
    prompt = (
        f"Every job passes the machines {', '.join(machines)} one after another; one job on a machine at a time, no "
        "interruption, and all machines take the jobs in the same order. The times of the jobs on the machines:\n"
        f"{listed}\nWhich order lets the last job end as early as possible?"
    )
    return Shop(jobs, machines, prompt)
