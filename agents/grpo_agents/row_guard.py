"""One row of environments that others wrote, and what its faults cost: this row, and a name for who did it.

The row plays what its seed picks: its only member, or one of several by their weights. Members are made when they are
first played. A step that raises ends the row, which abstains, and the others go on. A reset that raises loses the
batch, since without a problem there is no row to leave out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import gymnasium
from gymnasium import spaces

from grpo_agents.deadline import progress
from grpo_gym.errors import GrpoGymError, InvalidValueError
from grpo_gym.mixture import check_weight, whole_weights
from grpo_gym.problem import Split
from grpo_gym.rng import Rng
from grpo_gym.task import Task

Env = gymnasium.Env[Any, Any]
RowStep = tuple[Any, float, bool, bool, dict[str, Any]]

MAX_SAID = 300
"""Characters of what an environment raised that are told."""

NOT_TEXTS = (
    spaces.Box,
    spaces.Dict,
    spaces.Discrete,
    spaces.Graph,
    spaces.MultiBinary,
    spaces.MultiDiscrete,
    spaces.OneOf,
    spaces.Sequence,
    spaces.Tuple,
)
"""Spaces whose members are no texts. A space of someone's own making may hold texts; resets and steps will tell."""


class EnvironmentRaisedError(GrpoGymError, RuntimeError):
    """An environment's own code raised or hung; the cause is chained. Training counts the step as lost and goes on."""


@dataclass(frozen=True)
class Member:
    """An environment that a row may play.

    Attributes:
        name: What it is called in errors, and in `info["task"]` where it does not say.
        make: Makes a new one for a split; those of others take no notice of the split.
        weight: Its share beside others; a finite number above 0.
        tasks: Its tasks, where it is one of grpo-gym's.
    """

    name: str
    make: Callable[[Split], Env]
    weight: float = 1
    tasks: tuple[Task, ...] = ()

    def __post_init__(self) -> None:
        check_weight(self.weight, self.name)


@dataclass(frozen=True)
class Members:
    """What rows are made of.

    Attributes:
        several: At least one.
        split: Of the problems, where a member knows splits.
    """

    several: tuple[Member, ...]
    split: Split = "train"

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """The weights as whole numbers in the same proportion."""
        return whole_weights([member.weight for member in self.several])

    def of_seed(self, seed: int) -> int:
        """Return which member a seed shows: by the weights, and by nothing but the seed."""
        return Rng("member", seed).weighted(self.weights) if len(self.several) > 1 else 0


class RowGuard:
    """One row; it ends with the first fault of its environment.

    Args:
        members: What it may play.
        row: Its number.
        owners: Which row has which environment, by the environment's `id`; shared by all rows.
    """

    def __init__(self, members: Members, row: int, owners: dict[int, int]) -> None:
        self.members = members
        self.row = row
        self.done = True
        self._owners = owners
        self._made: dict[int, Env] = {}
        self._member = 0
        self._seed = 0
        self._last: Any = ""
        self._problem = ""

    def reset(self, seed: int, options: dict[str, Any] | None) -> tuple[Any, dict[str, Any]]:
        """Reset what the seed picks.

        Raises:
            EnvironmentRaisedError: It raised; the message says which, with its row and seed.
        """
        progress()
        self._seed, self._problem = seed, ""
        self._member = self.members.of_seed(seed)
        try:
            env = self.env(self._member)
            self._last, told = env.reset(seed=seed, options=options)
            info = {"task": self._name, **told} if len(self.members.several) > 1 else dict(told)
        except GrpoGymError:
            raise
        except Exception as error:
            raise EnvironmentRaisedError(self._blame(error)) from error
        self._problem = str(info.get("problem_id", ""))
        self.done = False
        return self._last, info

    def step(self, action: Any) -> RowStep:
        """Step on; a row that is over takes no action. An exception ends the row, which abstains."""
        if self.done:
            return self._last, 0.0, True, False, {}
        progress()
        try:
            self._last, reward, terminated, truncated, told = self.env(self._member).step(action)
            info, self.done = dict(told), bool(terminated or truncated)
        except Exception as error:
            self.done = True
            fault = {"abstain": 1.0, "raised": 1.0, "reason": "abstain", "feedback": self._blame(error)}
            return self._last, 0.0, True, False, fault
        return self._last, number(reward), bool(terminated), bool(truncated), info

    def env(self, member: int) -> Env:
        """Return this row's environment of a member, made now if it was not yet.

        Raises:
            InvalidValueError: It is none of texts, or another row has the very same object.
            Exception: Whatever its making raises.
        """
        if member not in self._made:
            name = self.members.several[member].name
            env = self.members.several[member].make(self.members.split)
            if (owner := self._owners.setdefault(id(env), self.row)) != self.row or env in self._made.values():
                raise InvalidValueError(
                    f"{name} gives row {self.row} the environment that row {owner} has: make a new one at every call"
                )
            check_texts(name, env)
            self._made[member] = env
        return self._made[member]

    def made(self) -> list[Env]:
        """Return the environments that were made so far."""
        return [*self._made.values()]

    @property
    def _name(self) -> str:
        return self.members.several[self._member].name

    def _blame(self, error: Exception) -> str:
        problem = f", problem {self._problem}" if self._problem else ""
        return raised(error, f"{self._name}, row {self.row}, seed {self._seed}{problem}")


def raised(error: Exception, where: str) -> str:
    """Return the sentence that says what an environment raised, and where."""
    return f"the environment raised {type(error).__name__}: {str(error)[:MAX_SAID]} [{where}]"


def check_texts(name: str, env: Any, single: str = "") -> None:
    """Raise InvalidValueError when observations or actions are numbers by the environment's own word.

    Args:
        name: What the environment is called.
        env: The environment.
        single: "single_" for one that is vectorised.
    """
    for kind in ("observation", "action"):
        space = getattr(env, f"{single}{kind}_space", None)
        if isinstance(space, NOT_TEXTS):
            raise InvalidValueError(
                f"the {kind}s must be texts, but {name}'s {kind} space is a {type(space).__name__} space"
            )


def number(reward: Any) -> float:
    """Return a reward as a float, NaN when it is none: one such row must not end the batch."""
    try:
        return float(reward)
    except (TypeError, ValueError):
        return math.nan
