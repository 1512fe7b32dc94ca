"""Which problem comes when: the pure function from (tasks, tiers, split, seed, index) to a problem."""

from __future__ import annotations

import itertools
import numbers
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, cast

from grpo_gym.errors import InvalidValueError, UnknownNameError
from grpo_gym.mixture import Mixture, Start, TierChoice, as_mixture, exact_turn
from grpo_gym.problem import SPLITS, Problem, Split
from grpo_gym.rng import Rng
from grpo_gym.sources import Key
from grpo_gym.task import TIERS, Task

RESET_OPTIONS = ("tier", "task", "index", "split", "problem")

Choice = tuple[Task, tuple[int, ...]]
"""A task and the tiers of it that may be drawn."""


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
        name: Names the stream in the hash that picks part, task and tier (the environment id without its version);
            None: the first task's full name.
        tasks: One Task, several, or a Mixture. The part of a mixture is picked by weight, a task of it uniformly.
        tier: One tier, a range (low, high), or None for each task's default tiers; picked uniformly, but for the rows
            of a data set, which count alike whatever their tier. A part's own tier comes first.
        split: "train", "val" or "test".
    """

    def __init__(
        self, name: str | None, tasks: Task | Sequence[Task] | Mixture, tier: TierChoice = None, split: str = "train"
    ) -> None:
        self.mixture = as_mixture(tasks)
        self.tasks = self.mixture.tasks
        self.name = name or next(iter(self.tasks.values())).full_name
        self.tier = tier
        self.split = check_split(split)
        for part in self.mixture.parts:
            if part.tier is not None and not _choices(part.tasks, part.tier):
                raise self._nothing(part.tier, part.tasks, part.name)
        self._usual = self._offers(None, None)

    def at(
        self,
        seed: int,
        index: int,
        options: Mapping[str, Any] | None = None,
        beside: Mapping[Start, int] | None = None,
    ) -> Drawn:
        """Return the problem at (seed, index), or the one that the reset options ask for.

        Args:
            seed: Names a walk through the problems.
            index: Position in that walk.
            options: Any of RESET_OPTIONS.
            beside: The different starts that begin together, with their places, for a mixture with exact shares;
                None: this one alone.

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
        asked = options.get("tier"), options.get("task")
        weights, parts = self._usual if asked == (None, None) else self._offers(*asked)
        if len(parts) == len(parts[0]) == len(parts[0][0][1]) == 1:  # nothing to draw, and seeding is not for nothing
            task, (only,) = parts[0][0]
            return Drawn(task, task.problem(only, split, seed, index))
        rng = Rng("stream", self.name, split, seed, index)
        choices = parts[0]
        if len(parts) > 1 and self.mixture.schedule == "exact" and split == "train":
            start = (seed, index)
            choices = parts[exact_turn(weights, self.name, start, beside or {start: 0})]
        elif len(parts) > 1:
            choices = parts[rng.weighted(weights)]
        task, tiers = choices[rng.below(len(choices))] if len(choices) > 1 else choices[0]
        if len(tiers) > 1 and (rows := _finite(task)) is not None:
            key = Key(task.full_name, task.version, tiers[0], split, seed, index)
            return Drawn(task, rows.problem_among(tiers, key))
        chosen = tiers[rng.below(len(tiers))] if len(tiers) > 1 else tiers[0]
        return Drawn(task, task.problem(chosen, split, seed, index))

    def size(self) -> int | None:
        """Return how many problems there are to draw, None where a generator makes ever new ones."""
        total = 0
        for task, tiers in itertools.chain.from_iterable(self._usual[1]):
            rows = _finite(task)
            if rows is None:
                return None
            total += rows.size(self.split, tiers)
        return total

    def shares(self) -> dict[tuple[str, int], Fraction]:
        """Return what share of the problems each (task, tier) has; a data set's tiers count alike here."""
        weights, parts = self._usual
        shares: dict[tuple[str, int], Fraction] = {}
        for weight, choices in zip(weights, parts, strict=True):
            for task, tiers in choices:
                for tier in tiers:
                    share = Fraction(weight, sum(weights) * len(choices) * len(tiers))
                    shares[task.name, tier] = shares.get((task.name, tier), Fraction(0)) + share
        return shares

    def _offers(self, tier: TierChoice, task: str | None) -> tuple[list[int], list[list[Choice]]]:
        """Return weights and choices of the parts that have what is asked for; None asks for nothing special."""
        if task is not None:
            self._known(task)
        weights, parts = [], []
        for part, weight in zip(self.mixture.parts, self.mixture.weights, strict=True):
            wanted = next((t for t in (tier, part.tier, self.tier) if t is not None), None)
            choices = _choices([t for t in part.tasks if task is None or t.name == task], wanted)
            if choices:
                weights.append(weight)
                parts.append(choices)
        if not parts:
            among = self.tasks.values() if task is None else [self.tasks[task]]
            raise self._nothing(self.tier if tier is None else tier, among, self.name)
        return weights, parts

    @staticmethod
    def _nothing(tier: TierChoice, tasks: Iterable[Task], name: str) -> InvalidValueError:
        has = sorted({t for task in tasks for t in task.tiers})
        return InvalidValueError(f"no task of {name} has tier {tier!r}; the tiers here are {has}")

    def _known(self, name: str) -> str:
        if name not in self.tasks:
            raise UnknownNameError("task", name, self.tasks)
        return name

    def _given(self, record: Problem | dict[str, Any]) -> Drawn:
        problem = record if isinstance(record, Problem) else Problem.from_json(record)
        name = problem.task or next(iter(self.tasks))
        return Drawn(self.tasks[self._known(name)], problem)


def _choices(tasks: Iterable[Task], tier: TierChoice) -> list[Choice]:
    """Return the tasks that have any of the tiers, each with those it has; its default tiers for None."""
    if tier is None:
        return [(task, task.default_tiers) for task in tasks]
    wanted = tiers_of(tier)
    found = [(task, tuple(t for t in task.tiers if t in wanted)) for task in tasks]
    return [(task, tiers) for task, tiers in found if tiers]


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
