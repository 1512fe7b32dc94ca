"""What job shop and flow shop share: drawing jobs, the bound that proves an optimum, worked solutions.

A problem is kept when some schedule is as short as a bound that can be said in a line: the time for one machine's whole
work with the shortest way to it and from it, or one job's work. So every optimum is proved, and a reader can check it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

from grpo_gym.errors import GeneratorError
from grpo_gym.problem import Problem, Split, split_of
from grpo_gym.rng import Rng
from grpo_gym.sources import Key, Procedural, labelled
from grpo_gym.task import Task
from grpo_rewards.scheduling.timetable import Jobs, Timetable

LETTERS = "ABCDEFGHJKLNPQRSTUVWXYZ"
"""Names of jobs: without I, M and O, which look like numbers and machines."""

LONGEST = 9
"""Units of time that an operation may take."""

DRAWS = 5_000
"""Draws until a problem must have been kept; of any tier, one in ten is, and of those, one in ten is of a split."""


@dataclass(frozen=True)
class Shop:
    """A question that was drawn, whether or not it has a proved optimum.

    Attributes:
        jobs: Job -> its operations, each a machine and a time.
        machines: The machines.
        prompt: How it is asked.
    """

    jobs: dict[str, list[list[Any]]]
    machines: list[str]
    prompt: str


Draw = Callable[[Rng, int], Shop]
Solve = Callable[[Shop, Rng, int], Problem | None]
"""Solves a question of a tier; None when it is not kept."""


class Shops(Procedural):
    """Problems from questions that are drawn, and solved only when they are of the split asked for: solving is dear."""

    def __init__(self, draw: Draw, solve: Solve) -> None:
        @wraps(draw)  # named as the task, so that a pickled source is found again
        def generate(rng: Rng, tier: int) -> Problem:
            return self._kept(rng, tier)

        super().__init__(generate)
        self.draw, self.solve = draw, solve

    def problem(self, key: Key) -> Problem:
        """Return the problem at `key`."""
        rng = Rng(key.task, key.version, key.tier, key.split, key.seed, key.index)
        return labelled(self._kept(rng, key.tier, key.split), key)

    def _kept(self, rng: Rng, tier: int, split: Split | None = None) -> Problem:
        """Return the first problem that is kept. Raises GeneratorError when there seems to be none."""
        for _ in range(DRAWS):
            shop = self.draw(rng, tier)
            if split is not None and split_of(Problem(shop.prompt, None).content) != split:
                continue
            if (problem := self.solve(shop, rng, tier)) is not None:
                return problem
        raise GeneratorError(f"no schedule of tier {tier} met its bound in {DRAWS} draws")


def shop_task(name: str, solve: Solve, **fields: Any) -> Callable[[Draw], Task]:
    """Turn a function that draws questions into a Task. The other keywords are Task's fields."""

    def decorate(draw: Draw) -> Task:
        return Task(name=name, source=Shops(draw, solve), answer=as_answer, default_tiers=(0, 1), **fields)

    return decorate


def as_answer(problem: Problem) -> str:
    """Write the reference as a final answer."""
    return f"\\boxed{{{problem.reference}}}"


def drawn(rng: Rng, count: int, routes: Callable[[Rng], list[str]]) -> dict[str, list[list[Any]]]:
    """Return jobs with operations of random times; a route is a list of machines."""
    names = sorted(rng.sample(LETTERS, count))
    return {name: [[machine, rng.integer(1, LONGEST)] for machine in routes(rng)] for name in names}


def bounds(jobs: Jobs, machines: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Return for every machine (shortest way to it, its work, shortest way from it), for every job its times.

    The sum of each is a lower bound of the makespan.
    """
    ways: dict[str, list[tuple[int, int, int]]] = {machine: [] for machine in machines}
    found: dict[str, tuple[int, ...]] = {}
    for job, operations in jobs.items():
        times = tuple(int(time) for _, time in operations)
        found[job] = times
        whole, before = sum(times), 0
        for (machine, _), time in zip(operations, times, strict=True):
            ways[str(machine)].append((before, time, whole - before - time))
            before += time
    for machine, rows in ways.items():
        heads, work, tails = zip(*rows, strict=True)
        found[machine] = (min(heads), sum(work), min(tails))
    return found


def explained(found: Mapping[str, tuple[int, ...]], machines: Sequence[str]) -> list[str]:
    """Write the bounds, one line each, and what follows from them."""
    names = [*machines, *(name for name in found if name not in machines)]
    lines = [
        "No schedule is shorter than a machine's shortest way to it + its work + shortest way from it, nor than a job:"
    ]
    lines += [f"{name}: {' + '.join(map(str, found[name]))} = {sum(found[name])}" for name in names]
    return [*lines, f"The largest is {max(map(sum, found.values()))}. A schedule that reaches it:"]


def shown(table: Timetable) -> list[str]:
    """Write a timetable, one line per machine."""
    return [
        f"{machine}: {', '.join(f'{job} {start}-{end}' for job, start, end in row)}" for machine, row in table.items()
    ]
