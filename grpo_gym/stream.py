"""Which problem comes when: the pure function from (tasks, tiers, split, seed, index) to a problem."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

from grpo_gym.errors import InvalidValueError, UnknownNameError
from grpo_gym.problem import SPLITS, Problem, Split
from grpo_gym.rng import Rng
from grpo_gym.sources import Key
from grpo_gym.task import TIERS, Task

RESET_OPTIONS = ("tier", "task", "index", "split", "problem")

TierChoice = int | Sequence[int] | None
"""One tier, a range (low, high) with both ends included, or None for a task's defaults."""


@dataclass(frozen=True)
class Drawn:
    """A problem together with the task that judges it."""

    task: Task
    problem: Problem


class Finite(Protocol):
    """A source with a fixed number of problems, such as the rows of a data set."""

    def size(self, split: Split, tiers: Sequence[int] | None = None) -> int:
        """Return the number of problems in a split, of all tiers or of some."""

    def problem_among(self, tiers: Sequence[int], key: Key) -> Problem:
        """Return the problem at `key` in a walk through all problems of several tiers."""


class ProblemStream:
    """Problems of one or several tasks, addressed by seed and index.

    Args:
        name: Names the stream in the hash that picks a task and tier (the environment id without its version).
        tasks: Picked uniformly when there are several.
        tier: One tier, a range (low, high), or None for each task's default tiers; picked uniformly, but for the rows
            of a data set, which count alike whatever their tier.
        split: "train", "val" or "test".
    """

    def __init__(self, name: str, tasks: Sequence[Task], tier: TierChoice = None, split: str = "train") -> None:
        if not tasks:
            raise InvalidValueError("an environment needs at least one task")
        self.name = name
        self.tasks = {task.name: task for task in tasks}
        self.tier = tier
        self.split = check_split(split)
        self._choices(tier, tuple(self.tasks))

    def at(self, seed: int, index: int, options: Mapping[str, Any] | None = None) -> Drawn:
        """Return the problem at (seed, index), or the one that the reset options ask for.

        Raises:
            UnknownNameError: An option, task or problem field that does not exist.
            InvalidValueError: A tier that no task has, a split that does not exist.
        """
        options = options or {}
        for option in options:
            if option not in RESET_OPTIONS:
                raise UnknownNameError("reset option", option, RESET_OPTIONS)
        if options.get("problem") is not None:
            return self._given(options["problem"])
        split = check_split(options.get("split") or self.split)
        names = tuple(self.tasks) if options.get("task") is None else (self._known(options["task"]),)
        tier = self.tier if options.get("tier") is None else options["tier"]
        choices = self._choices(tier, names)
        rng = Rng("stream", self.name, split, seed, index)
        task, tiers = choices[rng.below(len(choices))] if len(choices) > 1 else choices[0]
        if len(tiers) > 1 and (rows := _finite(task)) is not None:
            key = Key(task.full_name, task.version, tiers[0], split, seed, index)
            return Drawn(task, rows.problem_among(tiers, key))
        chosen = tiers[rng.below(len(tiers))] if len(tiers) > 1 else tiers[0]
        return Drawn(task, task.problem(chosen, split, seed, index))

    def size(self) -> int | None:
        """Return how many problems there are to draw, None where a generator makes ever new ones."""
        total = 0
        for task, tiers in self._choices(self.tier, tuple(self.tasks)):
            rows = _finite(task)
            if rows is None:
                return None
            total += rows.size(self.split, tiers)
        return total

    def _choices(self, tier: TierChoice, names: tuple[str, ...]) -> list[tuple[Task, tuple[int, ...]]]:
        if tier is None:
            return [(self.tasks[name], self.tasks[name].default_tiers) for name in names]
        wanted = tiers_of(tier)
        choices = []
        for name in names:
            tiers = tuple(t for t in self.tasks[name].tiers if t in wanted)
            if tiers:
                choices.append((self.tasks[name], tiers))
        if not choices:
            has = sorted({t for name in names for t in self.tasks[name].tiers})
            raise InvalidValueError(f"no task of {self.name} has tier {tier!r}; the tiers here are {has}")
        return choices

    def _known(self, name: str) -> str:
        if name not in self.tasks:
            raise UnknownNameError("task", name, self.tasks)
        return name

    def _given(self, record: Problem | dict[str, Any]) -> Drawn:
        problem = record if isinstance(record, Problem) else Problem.from_json(record)
        name = problem.task or next(iter(self.tasks))
        return Drawn(self.tasks[self._known(name)], problem)


def _finite(task: Task) -> Finite | None:
    """Return a task's source when it is finite. Not by isinstance, which is slow for a protocol."""
    return cast(Finite, task.source) if hasattr(task.source, "problem_among") else None


def chosen_index(options: Mapping[str, Any], following: int) -> int:
    """Return the index that the reset options ask for, else the one that follows. Raises InvalidValueError."""
    index = options.get("index")
    if index is None:
        return following
    if isinstance(index, bool) or not isinstance(index, numbers.Integral) or index < 0:
        raise InvalidValueError(f"index is {index!r}: give a whole number, 0 or more")
    return int(index)


def as_tier(numbers: Sequence[int]) -> TierChoice:
    """Return what an option list means: nothing is the defaults, one number a tier, two the lowest and the highest."""
    if not numbers:
        return None
    return numbers[0] if len(numbers) == 1 else list(numbers)


def tiers_of(tier: TierChoice) -> range:
    """Return the tiers meant by an int or by a range (low, high); lists are accepted, since JSON knows no tuples."""
    if isinstance(tier, Sequence) and not isinstance(tier, str) and len(tier) == 2:
        low, high = tier
    else:
        low = high = tier  # type: ignore[assignment]  # checked below
    if not all(isinstance(t, int) and not isinstance(t, bool) and t in TIERS for t in (low, high)) or low > high:
        raise InvalidValueError(f"tier is {tier!r}: give one of {list(TIERS)}, or a range (low, high) of them")
    return range(low, high + 1)


def check_split(split: Any) -> Split:
    """Return the split, or raise UnknownNameError naming the nearest one."""
    for known in SPLITS:
        if split == known:
            return known
    raise UnknownNameError("split", split, SPLITS)
