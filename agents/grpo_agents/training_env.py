"""What a run can be given to train on, and how that becomes rows in groups.

    "grpo/Math-v0"   an id, "module:ns/Env-v0" too          VectorEnv   prompts x group_size rows, stays open
    Env              made again for every row               () -> Env   a class or function that makes one
    (data, reward)   a data set and a reward, or a Data     Task, Mixture
    [these, ...]     a mixture, each (one, weight) or weight 1; {id: weight or options} is one of ids

A tuple whose second item is a number is (one, weight); one whose second item is a reward is (data, reward) or (data,
reward, columns). Any other is refused: several go in a list.

In a mixture every group shows one source, and which one follows from the group's seed alone. Where all sources are
grpo-gym's (ids, tasks, data sets), a batch is one GroupVectorEnv with its batch scoring and curricula; as soon as one
is of others, each row plays what its seed picks (`rows.py`).
"""

from __future__ import annotations

import copy
import inspect
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import gymnasium
from gymnasium.vector import VectorEnv
from gymnasium.wrappers import OrderEnforcing, PassiveEnvChecker

from grpo_agents.config import TrainConfig
from grpo_agents.environments import EnvChoice, EnvSource, check_spaces, options_of
from grpo_agents.row_guard import Member, Members
from grpo_agents.rows import Rows
from grpo_agents.watched import Watched, name_of
from grpo_gym import Data, Dataset, GroupVectorEnv, Mixture, Part, Reward, Task, TextEnv
from grpo_gym.errors import InvalidValueError, UnknownNameError
from grpo_gym.mixture import part_of
from grpo_gym.problem import Split
from grpo_gym.registration import tasks_with

WHAT = (
    "give an id, a gymnasium.Env, a class or function that makes one, a VectorEnv, (data set, reward), "
    "a list of these or of (one, weight), or a mapping id -> weight"
)


@dataclass(frozen=True)
class Given:
    """A vector environment that somebody made: it stays open, and cannot be made again for held-out problems."""

    env: VectorEnv[Any, Any, Any]
    seconds: float
    ours: bool = False

    def vector(self, rows: int, group_size: int = 1, split: Split = "train") -> Watched:
        """Return it under watch. Raises InvalidValueError when it has another number of rows, or is none of texts."""
        if not isinstance(self.env, VectorEnv):
            raise InvalidValueError(f"{_shown(self.env)} has rows but is no gymnasium.vector.VectorEnv: let it be one")
        if self.env.num_envs != rows:
            raise InvalidValueError(
                f"the environment has {self.env.num_envs} rows; prompts x group_size = {rows // group_size} x "
                f"{group_size} = {rows} are needed"
            )
        check_spaces(self.env)
        return Watched(self.env, name_of(self.env), self.seconds)


@dataclass(frozen=True)
class OwnTasks:
    """Tasks of grpo-gym, mixed.

    Attributes:
        mixture: Them.
        name: Of the stream of problems; None for the first task's.
        options: Keyword arguments of GroupVectorEnv.
        seconds: How long a reset or step may take.
    """

    mixture: Mixture
    name: str | None
    options: dict[str, Any]
    seconds: float
    ours: bool = True

    def vector(self, rows: int, group_size: int = 1, split: Split = "train") -> Watched:
        """Return rows in groups. Raises UnknownNameError for an option that does not exist."""
        known = [name for name in inspect.signature(GroupVectorEnv).parameters if name not in ("tasks", "name")]
        for option in self.options:
            if option not in known or option in ("num_envs", "group_size"):
                raise UnknownNameError("environment option", option, {*known} - {"num_envs", "group_size"})
        options = {"split": split, **self.options}
        env = GroupVectorEnv(self.mixture, name=self.name, num_envs=rows, group_size=group_size, **options)
        return Watched(env, self.name or next(iter(self.mixture.tasks)), self.seconds)


@dataclass(frozen=True)
class RowByRow:
    """Environments of which some are of others, one row at a time."""

    members: tuple[Member, ...]
    seconds: float
    ours: bool = False

    def vector(self, rows: int, group_size: int = 1, split: Split = "train") -> Watched:
        """Return rows. Raises InvalidValueError when a member cannot be made or is none of texts."""
        name = self.members[0].name if len(self.members) == 1 else "mixture"
        return Watched(Rows(Members(self.members, split), rows), name, self.seconds)


def as_source(env: Any, config: TrainConfig) -> EnvSource:
    """Return where a run's environments come from.

    Args:
        env: What this module's first lines list; None for the config's own.
        config: Of the run. Its tier and env_args go to environments made by their ids and to tasks of grpo-gym.

    Raises:
        InvalidValueError: It is nothing to train on, it could be two things, or the config's options do not apply.
        UnknownNameError: An id that does not exist.
        DataError: A data set that cannot be read, or lacks a column.
    """
    options, seconds = options_of(config), config.env_seconds
    if env is None:
        return EnvChoice.of(config)
    if isinstance(env, str):
        return EnvChoice(env, options, seconds)
    if isinstance(env, VectorEnv) or hasattr(env, "num_envs"):
        return Given(env, seconds)
    if isinstance(env, Mixture):
        return OwnTasks(env, "mixture", options, seconds)
    inside = _plain_text_env(env)
    if inside is not None:
        own: dict[str, Any] = {"tier": inside.stream.tier, "instructions": inside.instructions, "reward": inside.reward}
        own |= {} if inside.stream.split == "train" else {"split": inside.stream.split}
        return OwnTasks(inside.stream.mixture, inside.stream.name, own | options, seconds)
    read = _Reader().read(env)
    parts = tuple(one for one in read if isinstance(one, Part))
    mixture = Mixture(parts)  # also says when two tasks have one name
    if len(parts) == len(read):
        return OwnTasks(mixture, "mixture" if len(parts) > 1 else None, options, seconds)
    if options:
        raise InvalidValueError(
            f"the config's {' and '.join(sorted(options))} cannot be handed to environments that are given as objects "
            "or are of others: give each its own, {id: {'weight': 1, ...}}, or make it as you want it"
        )
    return RowByRow(tuple(one if isinstance(one, Member) else _member(one) for one in read), seconds)


@dataclass
class _Reader:
    """Reads what was given, one by one; names that come twice are numbered."""

    names: list[str] = field(default_factory=list)

    def read(self, env: Any) -> list[Part | Member]:
        """Return what is mixed; one alone is a mixture of one."""
        if isinstance(env, Mapping):
            if not env:
                raise InvalidValueError(f"an empty mapping is nothing to train on: {WHAT}")
            return [self._of_id(str(name), entry) for name, entry in env.items()]
        if not isinstance(env, list):
            return [self._one(env)]
        if not env or all(isinstance(item, Mapping) for item in env):
            what = "a list of rows needs a reward: give (rows, reward)" if env else f"an empty list is nothing: {WHAT}"
            raise InvalidValueError(what)
        return [self._one(item) for item in env]

    def _one(self, env: Any, weight: float = 1) -> Part | Member:
        if isinstance(env, str):
            return self._of_id(env, weight)
        if isinstance(env, tuple):
            return self._tuple(env)
        if isinstance(env, Data):
            name = self._new(env.title, "{}_no{}")
            return Part((replace(env, name=name).task(),), env.weight, None, f"data.{name}")
        if isinstance(env, Task):
            return Part((env,), weight, None, env.name)
        if isinstance(env, gymnasium.Env):
            return self._again(env, weight)
        if isinstance(env, (VectorEnv, Mixture, list, Mapping)) or _is_class_of(env, VectorEnv):
            raise InvalidValueError(f"{_shown(env)} cannot be part of a mixture: {WHAT}")
        if callable(env) and not isinstance(env, Reward):
            name = self._new(getattr(env, "__name__", type(env).__name__), "{} {}")
            return Member(name, lambda split: _made(env, name), weight)
        raise InvalidValueError(f"{_shown(env)} is nothing to train on: {WHAT}")

    def _tuple(self, item: tuple[Any, ...]) -> Part | Member:
        """Read (one, weight), (data, reward) or (data, reward, columns)."""
        second = item[1] if len(item) in (2, 3) else None
        if len(item) == 2 and isinstance(second, (numbers.Real, bool)):
            return self._weighted(item[0], second)
        if not _is_reward(second) or isinstance(item[0], tuple) or callable(item[0]):
            raise InvalidValueError(
                f"{_shown(item)} could be anything: a tuple is (one, weight), (data, reward) or (data, reward, "
                "columns); several environments go in a list"
            )
        if isinstance(item[0], str) and item[0].rpartition(":")[2] in gymnasium.registry:
            raise InvalidValueError(
                f"{item[0]!r} is an environment and no data set: its reward is replaced by {{id: {{'reward': ...}}}}"
            )
        columns = item[2] if len(item) == 3 else None
        if columns is not None and not isinstance(columns, Mapping):
            raise InvalidValueError(
                f"the third of (data, reward, columns) is {columns!r:.60}: map problem fields to columns; "
                "a weight goes around it, ((data, reward), weight)"
            )
        if not isinstance(item[0], (str, Path, Dataset, Mapping, Sequence)):
            raise InvalidValueError(f"{_shown(item[0])} is no data set: give a file, a hub id or a list of rows")
        return self._one(Data(item[0], second, columns))

    def _weighted(self, env: Any, weight: Any) -> Part | Member:
        if isinstance(env, Data):
            if env.weight != 1:
                raise InvalidValueError(f"{env.title} has two weights, {env.weight!r} and {weight!r}: leave one out")
            return self._one(replace(env, weight=weight))
        read = self._one(env, weight)
        return replace(read, weight=weight)

    def _of_id(self, name: str, entry: Any) -> Part | Member:
        """Read an id with its weight, or with options: weight, id where the key is another name, and its arguments."""
        options = dict(entry) if isinstance(entry, Mapping) else {"weight": entry}
        identifier = str(options.pop("id", name))
        weight = options.pop("weight", 1)
        choice = EnvChoice(identifier, options)
        choice.check()
        if choice.ours:
            own = {**options, "weight": weight, "id": identifier.rpartition(":")[2]}
            return part_of(name, own, tasks_with)
        return replace(choice.member(weight), name=self._new(name.rpartition(":")[2], "{} {}"))

    def _again(self, env: gymnasium.Env[Any, Any], weight: float) -> Member:
        """Return a member that makes an environment again: by its spec, else by copying it as it is now."""
        spec = env.spec
        name = self._new(type(env.unwrapped).__name__ if spec is None else spec.id, "{} {}")
        why = "it has none"
        if spec is not None:
            try:
                gymnasium.make(spec, disable_env_checker=True).close()
                return Member(name, lambda split: gymnasium.make(spec, disable_env_checker=True), weight)
            except Exception as error:
                why = f"{type(error).__name__}: {error}"
        try:
            kept = copy.deepcopy(env)
        except Exception as error:
            raise InvalidValueError(
                f"{name} can be made again neither by its spec ({why}) nor by a copy ({type(error).__name__}: "
                f"{error}): give a function that makes one"
            ) from error
        return Member(name, lambda split: copy.deepcopy(kept), weight)

    def _new(self, name: str, numbered: str) -> str:
        """Return a name that nothing else here has."""
        self.names.append(name)
        count = self.names.count(name)
        return name if count == 1 else numbered.format(name, count)


def _member(part: Part) -> Member:
    """Return tasks of ours as what rows may play."""
    alone = Mixture((part,))
    return Member(part.name, lambda split: TextEnv(alone, split=split), part.weight, part.tasks)


def _made(make: Callable[[], Any], name: str) -> gymnasium.Env[Any, Any]:
    env = make()
    if not isinstance(env, gymnasium.Env):
        raise InvalidValueError(f"{name}() made {_shown(env)}, which is no gymnasium.Env")
    return env


def _plain_text_env(env: Any) -> TextEnv | None:
    """Return the environment of ours inside what `gym.make` puts around it; None for others, and for other wrappers."""
    while isinstance(env, (OrderEnforcing, PassiveEnvChecker)):
        env = env.env
    return env if isinstance(env, TextEnv) else None


def _is_reward(thing: Any) -> bool:
    """Whether the second of a tuple is a reward: one of ours, "module:function", or a function; no environment."""
    if isinstance(thing, str):
        _, colon, name = thing.rpartition(":")
        return bool(colon) and name not in gymnasium.registry and "/" not in name
    is_env_class = _is_class_of(thing, gymnasium.Env) or _is_class_of(thing, VectorEnv)
    return isinstance(thing, Reward) or (callable(thing) and not is_env_class)


def _is_class_of(thing: Any, base: type) -> bool:
    return isinstance(thing, type) and issubclass(thing, base)


def _shown(thing: Any) -> str:
    return f"{thing!r:.80}" if isinstance(thing, (str, tuple)) else f"{thing!r:.60} ({type(thing).__name__})"
