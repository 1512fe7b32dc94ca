"""One failing row costs one row: a wrapper for single environments that others wrote.

Gymnasium's vector environments let an exception in one row end the batch. Wrapped in this, the row ends and abstains,
and the others go on. Our own environments need no guard: their steps never raise because of an answer.
"""

from __future__ import annotations

import math
from typing import Any

import gymnasium


def number(reward: Any) -> float:
    """Return a reward as a float, NaN when it is none: one such row must not end the batch."""
    try:
        return float(reward)
    except (TypeError, ValueError):
        return math.nan


class RowGuard(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Ends an episode whose step raises: terminated, reward 0.0, `info["abstain"]` 1.0, the error in `feedback`."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        self._last: Any = ""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Reset the environment. What it raises here is raised: without a problem there is no row to leave out."""
        self._last, info = self.env.reset(seed=seed, options=options)
        return self._last, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Step the environment; an exception ends the episode."""
        try:
            self._last, reward, terminated, truncated, info = self.env.step(action)
        except Exception as error:
            feedback = f"the environment raised {type(error).__name__}: {error}"[:300]
            return self._last, 0.0, True, False, {"abstain": 1.0, "reason": "abstain", "feedback": feedback}
        return self._last, number(reward), terminated, truncated, info
