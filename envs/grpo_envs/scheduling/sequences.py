"""Exact solvers for the flow shop with one order for all machines.

Two machines: Johnson's rule (1954). More: depth-first over orders, given up when some machine cannot do what is left
within a limit; the optimum is found from below, by raising the limit from a lower bound.
"""

from __future__ import annotations

from grpo_rewards.scheduling.timetable import Jobs


def johnson(jobs: Jobs) -> tuple[list[str], list[str]]:
    """Return what goes first, by rising time on the first machine, and what goes last, by falling time on the second.

    A job goes first when it takes no longer on the first machine than on the second.
    """
    times = {job: (int(one[1]), int(two[1])) for job, (one, two) in jobs.items()}
    first = sorted((job for job, (one, two) in times.items() if one <= two), key=lambda job: times[job][0])
    last = sorted((job for job, (one, two) in times.items() if one > two), key=lambda job: -times[job][1])
    return first, last


class Search:
    """Orders of a flow shop that end within a limit.

    Args:
        jobs: The jobs.

    Attributes:
        nodes: Beginnings of orders that were looked at so far.
    """

    def __init__(self, jobs: Jobs) -> None:
        self.names = list(jobs)
        self.times = [[int(time) for _, time in operations] for operations in jobs.values()]
        self.tails = [[sum(times[k + 1 :]) for k in range(len(times))] for times in self.times]
        self.nodes = 0

    def within(self, limit: int, most: int = 1, budget: int = 10**9) -> list[list[str]]:
        """Return up to `most` orders that end within a limit. Complete unless `nodes` exceeds the budget."""
        self.limit, self.most, self.budget = limit, most, budget
        self.found: list[list[str]] = []
        machines = len(self.times[0])
        work = [sum(times[machine] for times in self.times) for machine in range(machines)]
        self._extend([], list(range(len(self.names))), [0] * machines, work)
        return self.found

    def _extend(self, order: list[int], rest: list[int], free: list[int], work: list[int]) -> None:
        self.nodes += 1
        if self.nodes > self.budget:
            return
        if not rest:
            self.found.append([self.names[job] for job in order])
            return
        for machine, (start, total) in enumerate(zip(free, work, strict=True)):
            if start + total + min(self.tails[job][machine] for job in rest) > self.limit:
                return
        choices = sorted(((self._after(free, job), job) for job in rest), key=lambda row: row[0])
        for ends, job in choices:
            left = [total - time for total, time in zip(work, self.times[job], strict=True)]
            self._extend([*order, job], [other for other in rest if other != job], ends, left)
            if len(self.found) >= self.most or self.nodes > self.budget:
                return

    def _after(self, free: list[int], job: int) -> list[int]:
        """Return when each machine is free once a job has passed."""
        ends, end = [], 0
        for start, time in zip(free, self.times[job], strict=True):
            end = max(start, end) + time
            ends.append(end)
        return ends


def optimum(jobs: Jobs, low: int) -> tuple[int, list[str]]:
    """Return the least makespan and an order that reaches it; `low` is any lower bound."""
    search = Search(jobs)
    while not (found := search.within(low)):
        low += 1
    return low, found[0]
