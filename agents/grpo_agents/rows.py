"""Environments of others, row by row, as one vector environment: guarded, made when first played, mixed by weights.

Gymnasium's own vector environments let an exception in one row end the batch, want equal spaces, force infos of unlike
types into one array, and reset rows behind their end. Here a row that is over stays over until the next `reset`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from grpo_agents.row_guard import Members, RowGuard
from grpo_gym.data.fingerprint import check_same
from grpo_gym.errors import GrpoGymError, InvalidValueError
from grpo_gym.spaces import TextSpace
from grpo_gym.task import fingerprints

logger = logging.getLogger(__name__)

MAX_SEED = 2**31


class Rows(VectorEnv[tuple[Any, ...], Sequence[str], np.ndarray]):
    """Rows of environments of others; a group is the same seed G times.

    Args:
        members: What a row plays; which of them follows from the seed of `reset`.
        num_envs: Rows.

    Raises:
        InvalidValueError: A member cannot be made, or is none of texts.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  # Gymnasium's own convention
        "autoreset_mode": AutoresetMode.DISABLED,
        "finished_rows": "ignored",
    }

    def __init__(self, members: Members, num_envs: int) -> None:
        self.members = members
        self.num_envs = num_envs
        self.single_observation_space = TextSpace()
        self.single_action_space = TextSpace()
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        owners: dict[int, int] = {}
        self.rows = [RowGuard(members, row, owners) for row in range(num_envs)]
        for place, member in enumerate(members.several):  # one of each, so that mistakes end here
            try:
                self.rows[0].env(place)
            except GrpoGymError:
                raise
            except Exception as error:
                raise InvalidValueError(f"cannot make {member.name}: {type(error).__name__}: {error}") from error

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Reset the rows.

        Args:
            seed: An int gives row i the seed + i; a list gives each row its own; None draws them.
            options: `reset_mask` ([num_envs] bool) for some rows only; the others are handed to the environments.

        Raises:
            EnvironmentRaisedError: An environment raised.
        """
        options = dict(options or {})
        mask = np.asarray(options.pop("reset_mask", np.ones(self.num_envs)), dtype=np.bool_)
        seeds = self._seeds(seed)
        infos: list[dict[str, Any]] = [{} for _ in self.rows]
        observations: list[Any] = [""] * self.num_envs
        for row in np.flatnonzero(mask):
            observations[row], infos[row] = self.rows[row].reset(seeds[row], options or None)
        return tuple(observations), _columns(infos)

    def step(
        self, actions: Sequence[str]
    ) -> tuple[tuple[Any, ...], np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Answer in every row; rows that are over ignore their action."""
        steps = [row.step(action) for row, action in zip(self.rows, actions, strict=True)]
        observations, rewards, terminated, truncated, infos = zip(*steps, strict=True)
        return (
            observations,
            np.array(rewards, dtype=np.float64),
            np.array(terminated, dtype=np.bool_),
            np.array(truncated, dtype=np.bool_),
            _columns(infos),
        )

    def state_dict(self) -> dict[str, Any]:
        """Return what must outlive a restart: which members there are, with what weights and data sets."""
        shares = [[m.name, w] for m, w in zip(self.members.several, self.members.weights, strict=True)]
        data = fingerprints(task for member in self.members.several for task in member.tasks)
        return {"members": shares, "data": data} if len(shares) > 1 or data else {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """See that a state is this environment's. Raises InvalidValueError when it is another's."""
        own = self.state_dict()
        if others := sorted({*state} - {"members", "data"}):
            raise InvalidValueError(
                f"the checkpoint holds a state of its environment, and this environment takes none of {others}"
            )
        if state.get("members") != own.get("members"):
            raise InvalidValueError(
                f"the run mixes {state.get('members')} (names and weights), and this environment {own.get('members')}"
            )
        check_same(state.get("data", {}), own.get("data", {}))

    def close_extras(self, **kwargs: Any) -> None:
        """Close the environments that were made; one that cannot be closed is a warning."""
        for row in self.rows:
            for env in row.made():
                try:
                    env.close()
                except Exception as error:
                    logger.warning("%s could not be closed: %s: %s", env, type(error).__name__, error)

    def _seeds(self, seed: int | Sequence[int | None] | None) -> list[int]:
        if isinstance(seed, (int, np.integer)):
            return [int(seed) + row for row in range(self.num_envs)]
        seeds = [None] * self.num_envs if seed is None else list(seed)
        if len(seeds) != self.num_envs:
            raise InvalidValueError(f"{len(seeds)} seeds for {self.num_envs} rows: give one per row, or one int")
        return [int(self.np_random.integers(MAX_SEED)) if own is None else int(own) for own in seeds]


def _columns(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return infos in Gymnasium's vector form, whatever the rows hold: an object array per key, and who has it."""
    columns: dict[str, Any] = {}
    for key in dict.fromkeys(key for row in rows for key in row):
        if not isinstance(key, str) or key.startswith("_"):  # would be taken for another key's mask
            continue
        values = np.empty(len(rows), dtype=object)
        for place, row in enumerate(rows):  # one by one: numpy would take lists of one length for a matrix
            values[place] = row.get(key)
        columns[key], columns[f"_{key}"] = values, np.array([key in row for row in rows], dtype=np.bool_)
    return columns
