"""Up when it is too easy, down when it is too hard: one staircase per task."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

from grpo_gym.curriculum.arms import Arm, Offered, checked_groups, draw
from grpo_gym.curriculum.record import Recorded, tiers_by_task
from grpo_gym.errors import InvalidValueError
from grpo_gym.rng import Rng


class Threshold(Recorded):
    """Moves each task up a tier when the mean reward of its last groups reaches `up`, down when it falls to `down`.

    The two are far apart, and after a move a whole window of new groups is waited for, so that a tier does not flap:
    noise in a few groups moves nothing, and a tier left because it is easy is not come back to before its neighbour
    has proved to be hard. Tasks are drawn by their share.

    Args:
        arms: As in `Recorded`.
        up: Mean reward from which on a tier is too easy.
        down: Mean reward from which down a tier is too hard.
        window: Groups that the mean is taken over.
    """

    def __init__(
        self,
        arms: Offered,
        up: float = 0.8,
        down: float = 0.2,
        window: int = 16,
    ) -> None:
        super().__init__(arms)
        if not 0 <= down < up <= 1:
            raise InvalidValueError(f"down is {down} and up is {up}: 0 <= down < up <= 1 is needed")
        self.up, self.down, self.window = up, down, checked_groups("window", window)
        self.tiers = tiers_by_task(self.arms)
        self.now = {task: tiers[0] for task, tiers in self.tiers.items()}
        self.recent: dict[str, list[float]] = {task: [] for task in self.tiers}

    def choose(self, rng: Rng) -> Arm:
        """Return a task by its share, in its present tier."""
        task = draw(rng, self.arms).task
        return Arm(task, self.now[task])

    def learn(self, arm: Arm, mean: float) -> None:
        """Move the task when its window is full and says so; groups of a tier that was left say nothing."""
        task, tier = arm
        if tier != self.now[task]:
            return
        recent = self.recent[task] = [*self.recent[task], mean][-self.window :]
        if len(recent) < self.window:
            return
        level = statistics.fmean(recent)
        tiers = self.tiers[task]
        place = tiers.index(tier) + (level >= self.up) - (level <= self.down)
        if 0 <= place < len(tiers) and tiers[place] != tier:
            self.now[task], self.recent[task] = tiers[place], []

    def own_state(self) -> dict[str, Any]:
        """Return the present tiers and the windows."""
        return {"now": dict(self.now), "recent": {task: list(means) for task, means in self.recent.items()}}

    def load_own_state(self, state: Mapping[str, Any]) -> None:
        """Take back tiers and windows."""
        for name in ("now", "recent"):
            if not isinstance(state[name], Mapping) or set(state[name]) != set(self.tiers):
                raise InvalidValueError(
                    f"{name!r} in the state of this curriculum is {state[name]!r:.80}: it is damaged"
                )
        self.now = {task: int(state["now"][task]) for task in self.tiers}
        self.recent = {task: list(state["recent"][task]) for task in self.tiers}
