"""Learnability under doubt: guess every arm's p from what is known of it, and take the one that would teach most.

Each arm has a Beta posterior of its p. A choice draws one p per arm (Thompson, Biometrika 25, 1933) and takes the arm
with the largest p(1 - p), so that arms which may be learnable are tried as often as that is likely. All evidence fades
with every group: an arm that was not played for long becomes uncertain again, and is tried again.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from grpo_gym.curriculum.arms import Arm, Offered
from grpo_gym.curriculum.record import Recorded, labelled
from grpo_gym.errors import InvalidValueError
from grpo_gym.rng import Rng


class ThompsonSampling(Recorded):
    """Takes the arm whose drawn p has the largest p(1 - p). Shares play no part.

    A group counts as one trial, won by its mean: its rows share a problem, and say less than as many problems would.

    Args:
        arms: As in `Recorded`.
        memory: Groups per arm, of all arms together, after which evidence counts half.
    """

    def __init__(self, arms: Offered, memory: float = 30.0) -> None:
        super().__init__(arms)
        if not memory > 0:
            raise InvalidValueError(f"memory is {memory} groups per arm, must be above 0")
        self.keep = 0.5 ** (1 / (memory * len(self.arms)))
        self.won = dict.fromkeys(self.arms, 0.0)
        self.lost = dict.fromkeys(self.arms, 0.0)

    def choose(self, rng: Rng) -> Arm:
        """Return the most learnable arm of one draw from the posteriors."""
        beta = random.Random(rng.below(2**64)).betavariate
        guesses = {arm: beta(1 + self.won[arm], 1 + self.lost[arm]) for arm in self.arms}
        return max(guesses, key=lambda arm: guesses[arm] * (1 - guesses[arm]))

    def learn(self, arm: Arm, mean: float) -> None:
        """Let all evidence fade a little, and add this group's."""
        for table in (self.won, self.lost):
            for known in table:
                table[known] *= self.keep
        self.won[arm] += mean
        self.lost[arm] += 1 - mean

    def own_state(self) -> dict[str, Any]:
        """Return the evidence."""
        return {"won": labelled(self.won), "lost": labelled(self.lost)}

    def load_own_state(self, state: Mapping[str, Any]) -> None:
        """Take back the evidence."""
        self.won, self.lost = self.by_arm(state["won"]), self.by_arm(state["lost"])
