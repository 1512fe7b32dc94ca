"""What every curriculum of ours keeps: how many groups each arm has had, and what they earned."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from grpo_gym.curriculum.arms import Arm, Offered, as_arms, draw
from grpo_gym.errors import InvalidValueError
from grpo_gym.rng import Rng


class Recorded:
    """Base of the curricula: counts groups, and turns a group into its mean reward.

    A curriculum of this kind overrides `choose` and, where it has a state of its own, `learn`, `own_state` and
    `load_own_state`.

    Args:
        arms: Arms with their shares in the mixture, or a list of arms with even shares.
    """

    def __init__(self, arms: Offered) -> None:
        self.arms = as_arms(arms)
        self.groups = dict.fromkeys(self.arms, 0)
        self._means = dict.fromkeys(self.arms, 0.0)
        self._spreads = dict.fromkeys(self.arms, 0.0)

    def choose(self, rng: Rng) -> Arm:
        """Return the arm of a group: by its share, until a curriculum says otherwise."""
        return draw(rng, self.arms)

    def update(self, arm: Arm, rewards: Sequence[float]) -> None:
        """Count a group and learn from the mean of its rewards. Raises InvalidValueError for an arm that is none."""
        if arm not in self.arms:
            raise InvalidValueError(f"{arm} is no arm of this curriculum")
        mean = statistics.fmean(rewards)
        self.groups[arm] += 1
        self._means[arm] += mean
        self._spreads[arm] += statistics.pstdev(rewards, mean)
        self.learn(arm, mean)

    def learn(self, arm: Arm, mean: float) -> None:
        """Learn from the mean reward of a group, in [0, 1]; nothing to do where only counts matter."""

    def statistics(self) -> dict[str, dict[str, float]]:
        """Return per arm seen its groups, the mean of their means, and the mean spread inside a group."""
        return {
            str(arm): {"groups": n, "mean": self._means[arm] / n, "spread": self._spreads[arm] / n}
            for arm, n in self.groups.items()
            if n
        }

    def state_dict(self) -> dict[str, Any]:
        """Return the state as a JSON object."""
        return {
            "kind": type(self).__name__,
            "groups": labelled(self.groups),
            "means": labelled(self._means),
            "spreads": labelled(self._spreads),
            **self.own_state(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state_dict` returned. Raises InvalidValueError for anything else."""
        groups = state.get("groups") if isinstance(state, Mapping) else None
        if not isinstance(groups, Mapping):
            raise InvalidValueError(f"the state of a curriculum is {state!r:.80}: give what state_dict() returned")
        if state.get("kind") != type(self).__name__ or set(groups) != set(map(str, self.arms)):
            raise InvalidValueError(
                f"this is the state of another curriculum ({state.get('kind')}, {len(groups)} arms), "
                f"not of this one ({type(self).__name__}, {len(self.arms)} arms): make the environment as it was made"
            )
        if missing := [name for name in self.state_dict() if name not in state]:
            raise InvalidValueError(
                f"the state of this curriculum has no {missing[0]!r}: give what state_dict() returned"
            )
        self.groups = self.by_arm(state["groups"])
        self._means = self.by_arm(state["means"])
        self._spreads = self.by_arm(state["spreads"])
        self.load_own_state(state)

    def own_state(self) -> dict[str, Any]:
        """Return what a curriculum knows beside the counts, as JSON values."""
        return {}

    def load_own_state(self, state: Mapping[str, Any]) -> None:
        """Take back what `own_state` returned."""

    def by_arm(self, labels: Mapping[str, Any]) -> dict[Arm, Any]:
        """Return a table of `labelled` by arm again. Raises InvalidValueError where it is none, or lacks an arm."""
        for arm in map(str, self.arms):
            if not isinstance(labels, Mapping) or arm not in labels:
                raise InvalidValueError(f"{labels!r:.80} in the state of this curriculum says nothing of {arm}")
        return {arm: labels[str(arm)] for arm in self.arms}


def labelled(table: Mapping[Arm, Any]) -> dict[str, Any]:
    """Return a table with the arms' labels as keys, as JSON wants it."""
    return {str(arm): value for arm, value in table.items()}


def tiers_by_task(arms: Iterable[Arm]) -> dict[str, list[int]]:
    """Return the tiers of each task, ascending."""
    tiers: dict[str, list[int]] = {}
    for task, tier in arms:
        tiers.setdefault(task, []).append(tier)
    return {task: sorted(found) for task, found in tiers.items()}
