"""Dispatch rules: whenever a machine is free and jobs wait for it, a rule says which one it takes. Nothing is searched.

The rules are the ones that shop floors use and papers compare with: first in first out, shortest processing time, most
work remaining. Ties go to the job that is listed first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from grpo_rewards.scheduling.timetable import Jobs

Rule = Callable[[int, Sequence[Sequence[str | int]], int], int]
"""(when the job came to the machine, its operations, which one is next) -> a number; the smallest goes first."""

FIRST_IN = "first in, first out"
SHORTEST = "shortest processing time"
MOST_WORK = "most work remaining"

RULES: dict[str, Rule] = {
    FIRST_IN: lambda came, operations, step: came,
    SHORTEST: lambda came, operations, step: int(operations[step][1]),
    MOST_WORK: lambda came, operations, step: -sum(int(time) for _, time in operations[step:]),
}


def dispatched(jobs: Jobs, machines: Sequence[str], rule: str) -> dict[str, list[str]]:
    """Return the orders on the machines that a rule leads to."""
    key = RULES[rule]
    step = dict.fromkeys(jobs, 0)
    ready = dict.fromkeys(jobs, 0)
    free = dict.fromkeys(machines, 0)
    orders: dict[str, list[str]] = {machine: [] for machine in machines}
    left = sum(len(operations) for operations in jobs.values())
    while left:
        waiting = [
            (max(ready[job], free[str(jobs[job][k][0])]), str(jobs[job][k][0]), job)
            for job, k in step.items()
            if k < len(jobs[job])
        ]
        now, machine, _ = min(waiting, key=lambda row: row[0])
        queue = [job for start, where, job in waiting if start == now and where == machine]
        job = min(queue, key=lambda name: key(ready[name], jobs[name], step[name]))
        ready[job] = free[machine] = now + int(jobs[job][step[job]][1])
        step[job] += 1
        orders[machine].append(job)
        left -= 1
    return orders


def ranked(jobs: Jobs, rule: str) -> list[str]:
    """Return the order in which a rule sends the jobs of a flow shop, which all wait for the first machine."""
    return sorted(jobs, key=lambda job: RULES[rule](0, jobs[job], 0))
