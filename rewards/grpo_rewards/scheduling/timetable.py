"""Orders of jobs on machines -> start times: every operation starts as soon as its job and its machine are free.

Such a schedule is called semi-active. Among those of given orders it is the shortest one, so an answer needs no times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grpo_rewards.scheduling.cost import BrokenPlanError

Jobs = Mapping[str, Sequence[Sequence[str | int]]]
"""Job -> its operations in order, each a machine and a time; as JSON has them. A job visits each machine once."""

Orders = Mapping[str, Sequence[str]]
"""Machine -> jobs in the order in which it takes them."""

Timetable = dict[str, list[tuple[str, int, int]]]
"""Machine -> (job, start, end) in order."""


def timetable(jobs: Jobs, orders: Orders) -> Timetable:
    """Return when everything happens.

    Args:
        jobs: The jobs with their operations.
        orders: For every machine all of its jobs, each once.

    Raises:
        BrokenPlanError: The machines wait for one another.
    """
    step = dict.fromkeys(jobs, 0)
    ready = dict.fromkeys(jobs, 0)
    table: Timetable = {machine: [] for machine in orders}
    moved = True
    while moved:
        moved = False
        for machine, order in orders.items():
            row = table[machine]
            while len(row) < len(order):
                job = order[len(row)]
                where, time = jobs[job][step[job]]
                if where != machine:
                    break
                start = max(ready[job], row[-1][2] if row else 0)
                ready[job] = start + int(time)
                row.append((job, start, ready[job]))
                step[job] += 1
                moved = True
    if any(len(table[machine]) < len(order) for machine, order in orders.items()):
        raise BrokenPlanError(_circle(jobs, orders, table, step))
    return table


def makespan(table: Timetable) -> int:
    """Return when the last job ends."""
    return max(row[-1][2] for row in table.values() if row)


def _circle(jobs: Jobs, orders: Orders, table: Timetable, step: Mapping[str, int]) -> str:
    """Say which machines wait for one another: follow the waiting from one of them until it comes round."""
    machine = next(name for name, order in orders.items() if len(table[name]) < len(order))
    seen: list[str] = []
    while machine not in seen:
        seen.append(machine)
        job = orders[machine][len(table[machine])]
        machine = str(jobs[job][step[job]][0])
    waits = []
    for name in seen[seen.index(machine) :]:
        job = orders[name][len(table[name])]
        waits.append(f"{name} waits for {job}, which must pass {jobs[job][step[job]][0]} first")
    return f"nothing can go on: {'; '.join(waits)}"
