"""Environments by id, made through Gymnasium, ours or anyone's, in three splits; and what a run asks of any one.

Environments registered by grpo_gym know groups, splits and tiers. Others get the seeds only: a group is the same seed G
times, and held-out problems are held-out seeds whose content nobody has checked.
"""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import gymnasium
from gymnasium.vector import AutoresetMode, VectorEnv

import grpo_gym
from grpo_agents.config import SFTConfig, TrainConfig
from grpo_agents.row_guard import EnvironmentRaisedError as EnvironmentRaisedError
from grpo_agents.row_guard import Member, Members, check_texts, raised
from grpo_agents.rows import Rows
from grpo_agents.watched import ENV_SECONDS, Watched, name_of
from grpo_gym.curriculum import Curriculum
from grpo_gym.errors import CheckpointError, GrpoGymError, InvalidValueError, UnknownNameError
from grpo_gym.infos import row_info
from grpo_gym.problem import Split
from grpo_gym.rng import stable_hash
from grpo_gym.stream import ProblemStream, as_tier
from grpo_gym.task import TIERS

MAX_SEED = 2**31
DRAWS_PER_PROBLEM = 20
"""Draws per distinct problem before a split counts as exhausted."""


class EnvSource(Protocol):
    """Where a run's environments come from: one to train on, others for held-out problems."""

    @property
    def ours(self) -> bool:
        """Whether held-out problems are apart by their content, as those of grpo-gym are."""

    def vector(self, rows: int, group_size: int = 1, split: Split = "train") -> Watched:
        """Return a vector environment of `rows` rows, for the caller to close."""


@dataclass(frozen=True)
class EnvChoice:
    """An environment id with its options.

    Attributes:
        id: Gymnasium id; "module:id" imports the module first.
        args: Keyword arguments of `gym.make`.
        seconds: How long a reset or step may take, wall seconds.
    """

    id: str
    args: dict[str, Any] = field(default_factory=dict)
    seconds: float = ENV_SECONDS

    @classmethod
    def of(cls, config: TrainConfig | SFTConfig) -> EnvChoice:
        """Return the environment that a config asks for."""
        return cls(config.env, options_of(config), getattr(config, "env_seconds", ENV_SECONDS))

    @property
    def ours(self) -> bool:
        """Whether grpo_gym registered the id, so that it knows groups and splits."""
        return self.id.rpartition(":")[2] in grpo_gym.registered_ids()

    def check(self) -> None:
        """Import the id's module, if it names one. Raises UnknownNameError, naming the nearest, for an unknown id."""
        module, _, name = self.id.rpartition(":")
        if module:
            try:
                importlib.import_module(module)
            except ImportError as error:
                raise InvalidValueError(f"cannot import the module of {self.id!r}: {error}") from error
        if name not in gymnasium.registry:
            raise UnknownNameError("environment", name, sorted({*grpo_gym.registered_ids(), *gymnasium.registry}))

    def vector(self, rows: int, group_size: int = 1, split: Split = "train") -> Watched:
        """Return a vector environment of `rows` rows."""
        self.check()
        if taken := {"num_envs", "group_size"} & set(self.args):
            raise InvalidValueError(f"env_args cannot set {taken.pop()}: prompts and group_size of the run decide it")
        if self.ours:
            own = {"split": split, **self.args}
            env: VectorEnv[Any, Any, Any] = gymnasium.make_vec(self.id, num_envs=rows, group_size=group_size, **own)
        else:
            env = Rows(Members((self.member(),), split), rows)
        return Watched(env, self.id, self.seconds)

    def member(self, weight: float = 1) -> Member:
        """Return the environment as one that rows may play."""
        return Member(self.id.rpartition(":")[2], lambda split: self._single(), weight)

    def _single(self) -> gymnasium.Env[Any, Any]:
        try:
            return gymnasium.make(self.id, **self.args)
        except (gymnasium.error.Error, TypeError) as error:
            raise InvalidValueError(f"cannot make {self.id}: {error}") from error


def options_of(config: TrainConfig | SFTConfig) -> dict[str, Any]:
    """Return the keyword arguments of `gym.make` that a config asks for."""
    tier = as_tier(config.tier)
    return {**config.env_args, **({} if tier is None else {"tier": tier})}


def reset_rows(
    env: VectorEnv[Any, Any, Any], seeds: Sequence[int], **options: Any
) -> tuple[Sequence[Any], dict[str, Any]]:
    """Reset with one seed per row, which every Gymnasium vector environment takes but the annotation leaves out.

    Args:
        env: The environment.
        seeds: One per row.
        options: Reset options, for an environment that knows them.
    """
    asked = {"options": options} if options else {}
    observations, infos = ask(env.reset, seed=list(seeds), **asked)
    return observations, infos


def ask(call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call into an environment. Raises EnvironmentRaisedError for whatever its code raises, our own errors excepted."""
    try:
        return call(*args, **kwargs)
    except GrpoGymError:
        raise
    except Exception as error:
        raise EnvironmentRaisedError(raised(error, type(getattr(call, "__self__", call)).__name__)) from error


def check_spaces(env: VectorEnv[Any, Any, Any]) -> None:
    """Raise InvalidValueError when observations or actions are numbers by the environment's own word."""
    check_texts(name_of(env), env, single="single_")


def seeds_for(purpose: str, seed: int, step: int, count: int) -> list[int]:
    """Return `count` episode seeds that depend on nothing but the arguments."""
    return list(itertools.islice(seed_stream(purpose, seed, step), count))


def seed_stream(purpose: str, seed: int, step: int) -> Iterator[int]:
    """Yield episode seeds without end; they depend on nothing but the arguments."""
    return (stable_hash(purpose, seed, step, place) % MAX_SEED for place in itertools.count())


def distinct_seeds(choice: EnvSource, split: Split, seed: int, count: int, rows: int = 256) -> list[int]:
    """Return seeds of `count` distinct problems of a split, fewer when so many draws do not find them.

    Problems are told apart by `info["problem_id"]`, or by their text in environments that give none. Of a data set with
    no more rows than that, every row is found once.
    """
    rows = min(rows, count)
    env = choice.vector(rows, split=split)
    chosen: dict[str, int] = {}
    try:
        size = problems_in(env)
        draws = DRAWS_PER_PROBLEM * count
        if size is not None and size <= count:
            count, draws = size, DRAWS_PER_PROBLEM * len(TIERS) * size  # enough for the last of them
        for draw in range(0, draws, rows):
            seeds = [stable_hash("held-out", split, seed, draw + row) % MAX_SEED for row in range(rows)]
            observations, infos = reset_rows(env, seeds)
            check_group(observations, 1)
            for row, text in enumerate(observations):
                problem = str(row_info(infos, row).get("problem_id", text))
                chosen.setdefault(problem, seeds[row])
            if len(chosen) >= count:
                break
    finally:
        env.close()
    return list(chosen.values())[:count]


def problems_in(env: VectorEnv[Any, Any, Any]) -> int | None:
    """Return how many problems an environment has to draw: the rows of a data set; None where nobody can tell."""
    stream = getattr(env.unwrapped, "stream", None)
    return stream.size() if isinstance(stream, ProblemStream) else None


def takes_turns(env: VectorEnv[Any, Any, Any], info: dict[str, Any]) -> bool:
    """Whether the episode that a reset began may take several turns; one of others may, for nobody can tell.

    Args:
        env: The environment.
        info: What the reset said about the row.
    """
    stream = getattr(env.unwrapped, "stream", None)
    return not isinstance(stream, ProblemStream) or stream.tasks[info["task"]].dialogue is not None


def autoreset_mode(env: VectorEnv[Any, Any, Any]) -> AutoresetMode:
    """Return the autoreset mode; an environment that names none is taken to do as Gymnasium does by default."""
    return AutoresetMode(env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP))


def wants_resets(env: VectorEnv[Any, Any, Any]) -> bool:
    """Whether rows that are done must be reset before the next step."""
    return autoreset_mode(env) is AutoresetMode.DISABLED and env.metadata.get("finished_rows") != "ignored"


def state_of(env: VectorEnv[Any, Any, Any]) -> dict[str, Any]:
    """Return what an environment carries from step to step, for a checkpoint; {} for one that carries nothing.

    An environment says so by the methods `state_dict` and `load_state_dict`, of its own or of a wrapper, with JSON.
    """
    keeper = _keeper(env)
    return {} if keeper is None else dict(ask(keeper.state_dict))


def restore(env: VectorEnv[Any, Any, Any], state: dict[str, Any]) -> None:
    """Give an environment back what `state_of` returned.

    Raises:
        CheckpointError: It carries nothing and was carrying something, or the state is another environment's.
    """
    keeper = _keeper(env)
    if keeper is None:
        if state:
            raise CheckpointError("the checkpoint holds a state of its environment, and this environment takes none")
        return
    try:
        ask(keeper.load_state_dict, state)
    except GrpoGymError as error:
        raise CheckpointError(f"the environment cannot go on from the checkpoint: {error}") from error


def curriculum_figures(env: VectorEnv[Any, Any, Any]) -> dict[str, float]:
    """Return what an environment's curriculum has to tell, as metrics; {} for an environment without one."""
    curriculum = getattr(env.unwrapped, "curriculum", None)
    if not isinstance(curriculum, Curriculum):
        return {}
    figures = curriculum.statistics()
    return {f"curriculum/{arm}/{name}": value for arm, of in figures.items() for name, value in of.items()}


def _keeper(env: VectorEnv[Any, Any, Any]) -> Any:
    """Return the outermost of an environment and its wrappers that keeps a state, None when none does."""
    while True:
        if hasattr(type(env), "state_dict") and hasattr(type(env), "load_state_dict"):
            return env
        if env is env.unwrapped:
            return None
        env = env.env  # type: ignore[attr-defined]  # every wrapper has one


def check_text(observation: Any) -> str:
    """Return an observation that is a text. Raises GrpoGymError for any other."""
    if not isinstance(observation, str):
        raise GrpoGymError(f"observations must be texts, got {type(observation).__name__}; wrap the environment")
    return observation


def check_group(observations: Sequence[Any], group_size: int) -> None:
    """Raise GrpoGymError unless every group shows one text: equal seeds must give equal prompts."""
    for start in range(0, len(observations), group_size):
        group = observations[start : start + group_size]
        for text in group:
            check_text(text)
        if any(text != group[0] for text in group):
            raise GrpoGymError(
                "equal seeds gave different prompts, so no group can be formed: "
                "the environment must draw its problem from the seed of reset()"
            )
