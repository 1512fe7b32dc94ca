"""An exact solver for the job shop: depth-first over active schedules, cut off by one-machine bounds.

Active schedules (no operation can start earlier without delaying another) hold an optimum. They are enumerated as
Giffler and Thompson (1960) do: of all next operations the one that could end first names a machine; one of the
operations that could start there before that end goes next. A limit cuts off: a partial schedule is given up when a job
or a machine cannot end within it. The optimum is found from below, by raising the limit from a lower bound.
"""

from __future__ import annotations

from collections.abc import Sequence

from grpo_rewards.scheduling.timetable import Jobs

Orders = dict[str, list[str]]


class Search:
    """Active schedules of a job shop that end within a limit.

    Args:
        jobs: The jobs.
        machines: Names of the machines.

    Attributes:
        nodes: Partial schedules that were looked at so far.
    """

    def __init__(self, jobs: Jobs, machines: Sequence[str]) -> None:
        place = {machine: k for k, machine in enumerate(machines)}
        self.names, self.machines = list(jobs), list(machines)
        self.route = [[place[str(machine)] for machine, _ in operations] for operations in jobs.values()]
        self.time = [[int(time) for _, time in operations] for operations in jobs.values()]
        self.left = [[sum(times[k:]) for k in range(len(times) + 1)] for times in self.time]
        self.visit = [{machine: k for k, machine in enumerate(route)} for route in self.route]
        self.nodes = 0

    def within(self, limit: int, most: int = 1, budget: int = 10**9) -> list[Orders]:
        """Return up to `most` schedules that end within a limit, as orders on the machines.

        The search is complete unless `nodes` exceeds the budget.
        """
        self.limit, self.most, self.budget = limit, most, budget
        self.step, self.ready = [0] * len(self.names), [0] * len(self.names)
        self.free = [0] * len(self.machines)
        self.taken: list[list[int]] = [[] for _ in self.machines]
        self.found: list[Orders] = []
        self._extend()
        return self.found

    def _extend(self) -> None:
        """Try all ways to go on from the present partial schedule, and leave it as it was."""
        self.nodes += 1
        if self.nodes > self.budget:
            return
        open_jobs, starts, first, machine = self._next()
        if not open_jobs:
            orders = zip(self.machines, self.taken, strict=True)
            self.found.append({name: [self.names[job] for job in row] for name, row in orders})
            return
        if machine < 0 or not self._can_end(open_jobs, starts):
            return
        rivals = [job for job in open_jobs if self.route[job][self.step[job]] == machine and starts[job] < first]
        rivals.sort(key=lambda job: -self.left[job][self.step[job]])
        for job in rivals:
            step, ready, free = self.step[job], self.ready[job], self.free[machine]
            self.ready[job] = self.free[machine] = starts[job] + self.time[job][step]
            self.step[job] = step + 1
            self.taken[machine].append(job)
            self._extend()
            self.taken[machine].pop()
            self.step[job], self.ready[job], self.free[machine] = step, ready, free
            if len(self.found) >= self.most or self.nodes > self.budget:
                return

    def _next(self) -> tuple[list[int], list[int], int, int]:
        """Return open jobs, when each could start, the earliest end and its machine; -1 when a job ends too late."""
        first, machine = self.limit + 1, -1
        starts = [0] * len(self.names)
        open_jobs = []
        for job, step in enumerate(self.step):
            route = self.route[job]
            if step == len(route):
                continue
            open_jobs.append(job)
            start = starts[job] = max(self.ready[job], self.free[route[step]])
            if start + self.left[job][step] > self.limit:
                return open_jobs, starts, first, -1
            if start + self.time[job][step] < first:
                first, machine = start + self.time[job][step], route[step]
        return open_jobs, starts, first, machine

    def _can_end(self, open_jobs: list[int], starts: list[int]) -> bool:
        """Whether every machine can do what is left for it: first arrival, work, shortest way from it."""
        limit = self.limit
        for machine in range(len(self.machines)):
            head = tail = limit
            work = 0
            for job in open_jobs:
                step, visit, left = self.step[job], self.visit[job][machine], self.left[job]
                if visit < step:
                    continue
                work += left[visit] - left[visit + 1]
                if (arrival := starts[job] + left[step] - left[visit]) < head:  # the innermost loop: min() is slower
                    head = arrival
                if left[visit + 1] < tail:
                    tail = left[visit + 1]
            if work and head + work + tail > limit:
                return False
        return True


def optimum(jobs: Jobs, machines: Sequence[str], low: int) -> tuple[int, Orders]:
    """Return the least makespan and orders that reach it; `low` is any lower bound."""
    search = Search(jobs, machines)
    while not (found := search.within(low)):
        low += 1
    return low, found[0]
