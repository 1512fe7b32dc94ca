"""Rewards that are not the task's: what must not teach it. Wrappers around a vector environment.

* shuffled: the batch's own rewards, permuted over its rows: noise of the same size. For single turns: where rows end
  at different steps, it would pay those that go on.
* random: a fair coin per episode, tossed at its end.
* format: 1 for whatever the task's own reader can read as one answer, right or wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium.vector import VectorWrapper

from grpo_gym.verdict import Reason

UNREAD = (Reason.NO_ANSWER, Reason.UNPARSEABLE, Reason.HEDGED, Reason.TOO_BIG)
"""Reasons by which a task says that it found no answer, none it can read, several, or one beyond its limits."""


class FalseRewards(VectorWrapper):
    """Pays something else than the task does, and changes nothing besides."""

    def __init__(self, env: Any, seed: int = 0) -> None:
        super().__init__(env)
        self._rng = np.random.default_rng(seed)

    def step(self, actions: Any) -> Any:
        """Step, then pay anew."""
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        ended = np.asarray(terminated) | np.asarray(truncated)
        return observations, self.paid(rewards, infos, ended), terminated, truncated, infos

    def paid(self, rewards: Any, infos: Any, ended: Any) -> Any:
        """Return what every row gets, float64 [rows], from what the task paid and told, and whether the row is over."""
        raise NotImplementedError


class ShuffledRewards(FalseRewards):
    """Permutes every batch's rewards over its rows, so that they say nothing about the completions."""

    def paid(self, rewards: Any, infos: Any, ended: Any) -> Any:
        """Return the rewards in another order."""
        return self._rng.permutation(rewards)


class RandomRewards(FalseRewards):
    """Rewards every episode by the toss of a fair coin, 0 or 1, whatever is said in it."""

    def paid(self, rewards: Any, infos: Any, ended: Any) -> Any:
        """Toss a coin per row; a row that goes on gets nothing yet."""
        return self._rng.integers(0, 2, size=np.shape(rewards)).astype(np.float64) * ended


class FormatRewards(FalseRewards):
    """Rewards 1 where `info["reason"]` is none of UNREAD, so for any one answer that the task can read, else 0."""

    def paid(self, rewards: Any, infos: Any, ended: Any) -> Any:
        """Judge the form alone. Raises ValueError when a row says no reason."""
        told = infos.get("_reason")
        if told is None or not np.all(told):
            raise ValueError("the reward format needs info['reason'] in every row: take an environment of grpo_gym")
        return np.array([reason not in UNREAD for reason in infos["reason"]], dtype=np.float64)


TRUE = "true"
FALSE_REWARDS: dict[str, Callable[[Any, int], VectorWrapper]] = {
    "shuffled": ShuffledRewards,
    "random": RandomRewards,
    "format": FormatRewards,
}
"""What a run's `reward` may name beside "true": a function of the environment and a seed."""


def rewarded(env: Any, reward: str, seed: int) -> Any:
    """Return an environment that pays the named reward. Raises ValueError for a name that does not exist."""
    if reward == TRUE:
        return env
    if reward not in FALSE_REWARDS:
        raise ValueError(f"reward must be one of true, {', '.join(FALSE_REWARDS)}; got {reward!r}")
    return FALSE_REWARDS[reward](env, seed)
