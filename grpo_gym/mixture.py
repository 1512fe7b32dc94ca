"""Mixtures: several environments in one stream of problems, each with a share.

    Mixture.of({"grpo/Math-v0": 2, "grpo/Logic.Zebra-v0": {"weight": 1, "tier": [1, 3]}})

Shares are kept in one of two ways. "sampled" draws the part of every problem by weight. "exact" lays the parts on a
circle, each as wide as its weight, and walks around it with a stride near the golden section: as many consecutive
problems as the weights sum up to hold every part exactly by its weight. Groups that begin together stand on that
circle at equal distances, so that a batch, too, holds every part by its share, rounded up or down to whole groups.
"""

from __future__ import annotations

import dataclasses
import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Literal, get_args

from grpo_gym.errors import InvalidValueError, UnknownNameError
from grpo_gym.rng import stable_hash
from grpo_gym.task import Task, replacement

TierChoice = int | Sequence[int] | None
"""One tier, a range (low, high) with both ends included, or None for a task's defaults."""

Schedule = Literal["sampled", "exact"]

Start = tuple[int, int]
"""Where an episode begins: (seed, index)."""

OWN_OPTIONS = ("weight", "tier", "reward", "id")
"""What `envs` may say of one environment, beside the options that name its data set."""

EXAMPLE = 'envs={"grpo/Math-v0": 2, "grpo/Physics-v0": {"weight": 1, "tier": [0, 2]}}'

Finder = Callable[[str, dict[str, Any]], Sequence[Task]]
"""Returns the tasks behind an environment id and options of its own."""


@dataclass(frozen=True)
class Part:
    """What one environment brings into a mixture.

    Attributes:
        tasks: Its tasks; they share the weight evenly.
        weight: Its share, beside the weights of the others; any number above 0.
        tier: Its tiers; None for those of the whole mixture.
        name: What it is called in messages.
    """

    tasks: tuple[Task, ...]
    weight: float = 1
    tier: TierChoice = None
    name: str = "the mixture"

    def __post_init__(self) -> None:
        if not self.tasks:
            raise InvalidValueError("an environment needs at least one task")
        check_weight(self.weight, self.name)


@dataclass(frozen=True)
class Mixture:
    """Parts and how their shares are kept.

    Attributes:
        parts: What is mixed.
        schedule: "sampled" by weight, or "exact" shares; training alone is scheduled, held-out splits are sampled.
    """

    parts: tuple[Part, ...]
    schedule: Schedule = "sampled"

    def __post_init__(self) -> None:
        if self.schedule not in get_args(Schedule):
            raise UnknownNameError("schedule", self.schedule, get_args(Schedule))
        known: dict[str, Task] = {}
        for part in self.parts:
            for task in part.tasks:
                if known.setdefault(task.name, task) != task:
                    raise InvalidValueError(
                        f"two different tasks of the mixture are called {task.name}, the second one in {part.name}: "
                        "a problem could not tell whose it is; leave one of them out"
                    )

    @classmethod
    def of(cls, envs: Mapping[str, Any], schedule: Schedule = "sampled", find: Finder | None = None) -> Mixture:
        """Read a mixture.

        Args:
            envs: Environment id -> its weight, or a mapping with `weight`, `tier`, `reward`, the options that name a
                data set, and `id` where the key is another name, so that one id can be there twice.
            schedule: "sampled" or "exact".
            find: Finds the tasks of an id; default: in the registry.

        Raises:
            InvalidValueError: No environments, a weight that is none, or two different tasks of one name.
            UnknownNameError: An id or option that does not exist.
        """
        if not isinstance(envs, Mapping) or not envs:
            raise InvalidValueError(f"envs is {envs!r}: name environments with their weights, e.g. {EXAMPLE}")
        if find is None:
            from grpo_gym.registration import tasks_with  # the registry knows mixtures, so this import comes late

            find = tasks_with
        return cls(tuple(part_of(str(name), entry, find) for name, entry in envs.items()), schedule)

    @cached_property
    def tasks(self) -> dict[str, Task]:
        """All tasks by name."""
        return {task.name: task for part in self.parts for task in part.tasks}

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """The weights of the parts as whole numbers in the same proportion."""
        return whole_weights([part.weight for part in self.parts])


def check_weight(weight: Any, name: str) -> None:
    """Raise InvalidValueError for a weight that is no finite number above 0."""
    if isinstance(weight, bool) or not isinstance(weight, numbers.Real) or not 0 < float(weight) < math.inf:
        raise InvalidValueError(f"the weight of {name} is {weight!r}: give a number above 0")


def whole_weights(weights: Sequence[float]) -> tuple[int, ...]:
    """Return weights as the least whole numbers in the same proportion."""
    exact = [Fraction(str(weight)) for weight in weights]
    whole = math.lcm(*(weight.denominator for weight in exact))
    counts = [int(weight * whole) for weight in exact]
    return tuple(count // math.gcd(*counts) for count in counts)


def as_mixture(tasks: Task | Sequence[Task] | Mixture) -> Mixture:
    """Return a mixture: itself, or one whose single part holds the tasks."""
    if isinstance(tasks, Mixture):
        return tasks
    listed = [tasks] if isinstance(tasks, Task) else tasks
    return Mixture((Part(tuple({task.name: task for task in listed}.values())),))


def exact_turn(weights: Sequence[int], name: str, start: Start, beside: Mapping[Start, int]) -> int:
    """Return which of the weights has its turn at a start, among the starts that begin together.

    Args:
        weights: Whole numbers above 0.
        name: Names the stream.
        start: One of `beside`.
        beside: The different starts of a batch and their places, 0, 1, 2 ...; the first decides where the batch stands.
    """
    total = sum(weights)
    seed, index = next(iter(beside))
    offset = (stable_hash("exact", name, seed) + index * _stride(total)) % total
    left = (offset + beside[start] * total) // len(beside)
    for turn, weight in enumerate(weights):
        left -= weight
        if left < 0:
            return turn
    raise AssertionError("unreachable: the slot is below the sum of the weights")


@lru_cache
def _stride(total: int) -> int:
    """Return the number nearest below the golden section of `total` that has no factor in common with it."""
    return next(n for n in range(max(1, round(total * 0.618)), 0, -1) if math.gcd(n, total) == 1)


def part_of(name: str, entry: Any, find: Finder) -> Part:
    """Return what one entry of `envs` brings: its key is the name, its value a weight or options, as `Mixture.of`."""
    options = dict(entry) if isinstance(entry, Mapping) else {"weight": entry}
    own = {option: options.pop(option) for option in OWN_OPTIONS if option in options}
    tasks = tuple(find(str(own.get("id", name)), options))
    reward = replacement(own.get("reward"), tasks)
    if reward is not None:
        tasks = tuple(
            task if task.dialogue is not None else dataclasses.replace(task, reward=reward.in_place_of(task.reward))
            for task in tasks
        )
    return Part(tasks, own.get("weight", 1), own.get("tier"), name)
