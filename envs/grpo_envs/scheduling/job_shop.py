"""Job shop: every job passes the machines in an order of its own; in which order does each machine take the jobs?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grpo_envs.scheduling.branching import Search
from grpo_envs.scheduling.shops import Shop, bounds, drawn, explained, shop_task, shown
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_rewards.scheduling.dispatch import FIRST_IN, dispatched
from grpo_rewards.scheduling.shop import JobShopReward
from grpo_rewards.scheduling.timetable import makespan, timetable

SIZES = ((2, 2), (3, 2), (3, 3), (4, 3), (5, 4), (6, 4))
"""Jobs and machines by tier."""

PLAIN = (2, 4, 5, 6, 12, 40)
"""Of the problems that first in, first out solves, or nearly so, one in so many is kept."""

NEAR = (0, 0, 0, 0, 3, 9)
"""By how many per cent a schedule may miss the optimum to be nearly there."""

BUDGET = 1.5
"""Partial schedules that may be looked at for one draw, as a multiple of the operations: what takes more is rare."""


def written(orders: Mapping[str, Sequence[str]]) -> str:
    """Write orders as they are asked for."""
    return "; ".join(f"{machine}: {', '.join(row)}" for machine, row in orders.items())


def boxed(orders: Mapping[str, Sequence[str]]) -> str:
    """Write orders as a final answer."""
    return f"\\boxed{{{written(orders)}}}"


def first_in(problem: Problem, rng: Rng) -> str:
    """The weak solver: every machine takes the jobs as they come."""
    return boxed(dispatched(problem.meta["jobs"], problem.meta["machines"], FIRST_IN))


def others(problem: Problem) -> list[str]:
    """Return up to four optimal schedules."""
    return [boxed(found) for found in _search(problem).within(problem.meta["best"], most=4)]


def spellings(problem: Problem) -> list[str]:
    """Return the reference in other words."""
    rows = str(problem.reference).split("; ")
    return [
        f"\\boxed{{{text}}}"
        for text in (
            "; ".join(reversed(rows)),
            ", ".join(rows),
            "; ".join(rows).replace(",", ""),
            "; ".join(rows).replace(", ", " -> "),
        )
    ]


def looked_at(problem: Problem) -> float:
    """Return how many partial schedules the exact solver looks at."""
    search = _search(problem)
    search.within(problem.meta["best"])
    return search.nodes


def _search(problem: Problem) -> Search:
    return Search(problem.meta["jobs"], problem.meta["machines"])


def solved(shop: Shop, rng: Rng, tier: int) -> Problem | None:
    """Return the problem; None when it is too easy, or when no schedule that meets the bound is found soon."""
    jobs, machines = shop.jobs, shop.machines
    found = bounds(jobs, machines)
    best = max(map(sum, found.values()))
    plain = makespan(timetable(jobs, dispatched(jobs, machines, FIRST_IN)))
    if 100 * plain <= (100 + NEAR[tier]) * best and not rng.chance(1, PLAIN[tier]):
        return None
    schedules = Search(jobs, machines).within(best, budget=round(BUDGET * len(jobs) * len(machines)))
    if not schedules:
        return None
    table = timetable(jobs, schedules[0])
    lines = [*explained(found, machines), *shown(table), f"The last job ends at {makespan(table)}."]
    solution = "\n".join([*lines, boxed(schedules[0])])
    return Problem(shop.prompt, written(schedules[0]), solution, {"jobs": jobs, "machines": machines, "best": best})


@shop_task(
    "scheduling.job_shop",
    solved,
    reward=JobShopReward(),
    answer_format=r"Give the order of jobs on every machine, as in \boxed{M1: A, B; M2: B, A}.",
    equivalents=spellings,
    solver=others,
    effort=looked_at,
    guess=first_in,
)
def job_shop(rng: Rng, tier: int) -> Shop:
    """Order 2 jobs on 2 machines (0) up to 6 jobs on 4 machines (5)."""
    count, width = SIZES[tier]
    machines = [f"M{k}" for k in range(1, width + 1)]
    jobs = drawn(rng, count, lambda rng: rng.sample(machines, width))
    listed = "\n".join(f"{job}: {', '.join(f'{machine} {time}' for machine, time in jobs[job])}" for job in jobs)
    prompt = (
        "Every job passes machines in the order given, for the times given; one operation of a job at a time, one job "
        f"on a machine at a time, no interruption.\n{listed}\nIn which order must each machine take the jobs so that "
        "the last job ends as early as possible?"
    )
    return Shop(jobs, machines, prompt)
