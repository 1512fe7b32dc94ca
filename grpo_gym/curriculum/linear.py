"""From the lowest tier to the highest by the clock, whatever the policy can do."""

from __future__ import annotations

from grpo_gym.curriculum.arms import Arm, Offered, checked_groups, draw
from grpo_gym.curriculum.record import Recorded, tiers_by_task
from grpo_gym.rng import Rng


class Linear(Recorded):
    """Gives every tier of a task an equal part of the first `over` groups, then stays at the highest.

    Tasks are drawn by their share.

    Args:
        arms: As in `Recorded`.
        over: Groups, of all tasks together, until the highest tier has had its part.
    """

    def __init__(self, arms: Offered, over: int = 1000) -> None:
        super().__init__(arms)
        self.over = checked_groups("over", over)
        self.tiers = tiers_by_task(self.arms)

    def choose(self, rng: Rng) -> Arm:
        """Return a task by its share, in the tier whose time it is."""
        task = draw(rng, self.arms).task
        tiers = self.tiers[task]
        part = sum(self.groups.values()) * len(tiers) // self.over
        return Arm(task, tiers[min(part, len(tiers) - 1)])
