"""No curriculum at all, with the figures of one: what the others are compared with."""

from __future__ import annotations

from grpo_gym.curriculum.record import Recorded


class Fixed(Recorded):
    """Draws every arm by its share in the mixture, from the first group to the last."""
