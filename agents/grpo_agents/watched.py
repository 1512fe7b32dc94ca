"""A vector environment under watch: its calls have a deadline, its errors a name, and its time is taken."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from gymnasium.vector import VectorEnv, VectorWrapper

from grpo_agents.deadline import LateError, within
from grpo_agents.row_guard import EnvironmentRaisedError, raised
from grpo_gym.errors import GrpoGymError
from grpo_gym.vector import GroupVectorEnv

logger = logging.getLogger(__name__)

ENV_SECONDS = 600.0
"""Seconds that an environment may take where nobody says otherwise: judges that ask a network need minutes."""

TRIES = 3
"""How often the pool may wait for one answer: it is tried twice, and a right one beside it."""

SHOWN = 3
"""Seeds that an error names."""


class Watched(VectorWrapper[Any, Any, Any, Any, Any]):
    """Passes everything on.

    What scorers may take that have deadlines of their own is added to the seconds; rows that are stepped one by one
    (`rows.Rows`) have them each.

    Args:
        env: The environment.
        name: What errors call it.
        seconds: How long one reset or step may take, wall seconds.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], name: str, seconds: float = ENV_SECONDS) -> None:
        super().__init__(env)
        self.name = name
        self.seconds = seconds
        self._spent = 0.0
        self._seeds: list[Any] = []

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Reset the environment. Raises EnvironmentRaisedError when it raises or is late."""
        if seed is not None:
            self._seeds = list(dict.fromkeys(seed)) if isinstance(seed, (Sequence, np.ndarray)) else [seed]
        found: tuple[Any, dict[str, Any]] = self._ask(self.env.reset, seed=seed, options=options)
        return found

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Step the environment. Raises EnvironmentRaisedError when it raises or is late."""
        found: tuple[Any, Any, Any, Any, dict[str, Any]] = self._ask(self.env.step, actions)
        return found

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "env":
            raise AttributeError(name)
        return getattr(self.env, name)

    def close(self, **kwargs: Any) -> None:
        """Close the environment; one that hangs is left."""
        try:
            within(self.seconds, self.env.close, **kwargs)
        except LateError:
            logger.warning("%s could not be closed within %g s and is left", self.name, self.seconds)

    def take_seconds(self) -> float:
        """Return the seconds spent in the environment since this was asked last."""
        spent, self._spent = self._spent, 0.0
        return spent

    def _ask(self, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        began = time.perf_counter()
        limit = self.seconds + _own_deadlines(self.unwrapped)
        try:
            return within(limit, call, *args, **kwargs)
        except LateError as error:
            raise EnvironmentRaisedError(
                f"the environment gave no answer within {limit:g} s and was cut [{self._where()}]; where it is only "
                "slow, raise env_seconds"
            ) from error
        except GrpoGymError:
            raise
        except Exception as error:
            raise EnvironmentRaisedError(raised(error, self._where())) from error
        finally:
            self._spent += time.perf_counter() - began

    def _where(self) -> str:
        shown = ", ".join(map(str, self._seeds[:SHOWN]))
        more = f" and {len(self._seeds) - SHOWN} more" if len(self._seeds) > SHOWN else ""
        return f"{self.name}, {self.num_envs} rows, seeds {shown or 'none'}{more}"


def name_of(env: VectorEnv[Any, Any, Any]) -> str:
    """Return what to call an environment that somebody made: its id where it has one, else its class."""
    inside: Any = env.unwrapped
    several = getattr(inside, "envs", None)
    inside = several[0].unwrapped if isinstance(several, (list, tuple)) and several else inside
    spec = getattr(inside, "spec", None)
    return str(spec.id) if spec is not None else type(inside).__name__


def _own_deadlines(env: Any) -> float:
    """Return the seconds that a batch's slow rewards may take by their own deadlines, 0 where there are none."""
    if not isinstance(env, GroupVectorEnv):
        return 0.0
    rewards = [env.reward] if env.reward is not None else [task.reward for task in env.stream.tasks.values()]
    slow = max((reward.time_limit for reward in rewards if reward.cost == "slow"), default=0.0)
    return env.num_envs * slow * TRIES
