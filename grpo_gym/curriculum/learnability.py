"""Practise what is neither known nor hopeless: arms in proportion to p(1 - p).

A group teaches by the differences inside it, and the variance of a reward that is earned with probability p is p(1 - p)
(arXiv 2502.12272 chooses questions so). p is the discounted mean of an arm's groups, and 1/2 before the first one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from grpo_gym.curriculum.arms import Arm, Offered, draw
from grpo_gym.curriculum.record import Recorded, labelled
from grpo_gym.errors import InvalidValueError
from grpo_gym.rng import Rng

PRIOR = 0.1
"""Groups of mean 1/2 that every estimate begins with: one lucky group is not yet a certainty."""


class Learnability(Recorded):
    """Draws arms in proportion to share times p(1 - p), and now and then by their share alone.

    Args:
        arms: As in `Recorded`.
        explore: Part of the groups that is drawn by share alone, so that an arm that was hopeless is tried again.
        memory: Groups of an arm after which an observation counts 1/e.
    """

    def __init__(
        self,
        arms: Offered,
        explore: float = 0.1,
        memory: float = 8.0,
    ) -> None:
        super().__init__(arms)
        if not 0 < explore <= 1:
            raise InvalidValueError(f"explore is {explore}, must be above 0 and at most 1: else no arm is tried again")
        if not memory > 0:
            raise InvalidValueError(f"memory is {memory} groups, must be above 0")
        self.explore = explore
        self.memory = memory
        self.seen = dict.fromkeys(self.arms, 0.0)
        self.earned = dict.fromkeys(self.arms, 0.0)

    def probability(self, arm: Arm) -> float:
        """Return the estimate of p."""
        return (self.earned[arm] + 0.5 * PRIOR) / (self.seen[arm] + PRIOR)

    def choose(self, rng: Rng) -> Arm:
        """Return an arm by share times learnability, or by share alone."""
        total = sum(self.arms.values())
        scores = {arm: share * (p := self.probability(arm)) * (1 - p) for arm, share in self.arms.items()}
        worth = sum(scores.values())
        return draw(
            rng,
            {
                arm: self.explore * share / total + (1 - self.explore) * scores[arm] / worth
                for arm, share in self.arms.items()
            },
        )

    def learn(self, arm: Arm, mean: float) -> None:
        """Discount what the arm's groups said before, and add this one."""
        keep = 1 - 1 / (1 + self.memory)
        self.seen[arm] = keep * self.seen[arm] + 1
        self.earned[arm] = keep * self.earned[arm] + mean

    def own_state(self) -> dict[str, Any]:
        """Return the discounted counts."""
        return {"seen": labelled(self.seen), "earned": labelled(self.earned)}

    def load_own_state(self, state: Mapping[str, Any]) -> None:
        """Take back the discounted counts."""
        self.seen, self.earned = self.by_arm(state["seen"]), self.by_arm(state["earned"])
