"""Gymnasium's own random generator, built when somebody looks at it.

Our problems come from `Rng` streams; `np_random` is there because Gymnasium promises it after a seeded reset. Building
one costs more time than most problems do, so a reset notes the seed and leaves it at that.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils import seeding


class SeededLater(gymnasium.Env[str, str]):
    """An environment whose `np_random` is built from the last reset's seed at first sight."""

    _generator: np.random.Generator | None = None
    _seed_to_build: int | None = None

    @property
    def _np_random(self) -> np.random.Generator | None:  # an attribute in Gymnasium's Env
        if self._seed_to_build is not None:
            self._generator, _ = seeding.np_random(self._seed_to_build)
            self._seed_to_build = None
        return self._generator

    @_np_random.setter
    def _np_random(self, generator: np.random.Generator | None) -> None:
        self._generator, self._seed_to_build = generator, None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Note the seed. Raises gymnasium.error.Error for one that Gymnasium refuses."""
        if seed is not None:
            if not isinstance(seed, int) or seed < 0:
                seeding.np_random(seed)  # says what is wrong with it
            self._np_random_seed, self._seed_to_build = seed, seed
        return "", {}
