"""When a run has had enough: limits by what it computed and how long it idled, not by how busy the machine is.

The first look at the clocks comes only after `time_s` of wall time, since CPU time cannot run ahead of it (but by
several threads, which the kernel's own coarser limit bounds): a run that is quick costs no reading.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from grpo_gym.verdict import Reason
from grpo_rewards.code.clock import Clock

PATIENCE_S, PATIENCE_FACTOR = 60.0, 20.0
"""A run that neither computes nor idles, but is starved by other work, ends after PATIENCE_S + FACTOR * time_s."""

LEAST_IDLE_S = 1.0
"""A run may sleep so long whatever its limit."""

_LOOK_S = 0.05
"""Seconds between looks at the clocks when a run takes long."""


class LimitReached(Exception):
    """A run used up one of its limits.

    Attributes:
        reason: Which.
    """

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.value)
        self.reason = reason


class Watch:
    """The limits of one run, or of one part of it after another.

    Args:
        clocks: Returns the clocks of the processes that work together on the run.
        time_s: Seconds of CPU that each part may take; it may idle as long, or LEAST_IDLE_S.
    """

    def __init__(self, clocks: Callable[[], Sequence[Clock]], time_s: float) -> None:
        self._clocks = clocks
        self.time_s = time_s
        self._began = self._part = time.monotonic()
        self._used = self._busy = 0.0

    def next_part(self) -> None:
        """Start to count anew: the run goes on to its next test."""
        now = time.monotonic()
        if now - self._began > _LOOK_S:  # before that, what was used is too little to matter
            self._used, self._busy = self.cpu_s(), self._busy_s()
        self._part = now

    def cpu_s(self) -> float:
        """Seconds of CPU that the run used so far."""
        return sum(clock.cpu_s() for clock in self._clocks())

    def _busy_s(self) -> float:
        return sum(clock.busy_s() for clock in self._clocks())

    def timeout_ms(self) -> int:
        """Milliseconds after which `check` has something to look at."""
        left = self._part + self.time_s - time.monotonic()
        return max(1, int(1000 * max(left, _LOOK_S)) + 1)

    def check(self) -> None:
        """Raise LimitReached when a limit is reached."""
        wall = time.monotonic() - self._part
        if wall <= self.time_s:
            return
        if self.cpu_s() - self._used > self.time_s:
            raise LimitReached(Reason.CPU_LIMIT)
        idle = wall - (self._busy_s() - self._busy)
        if idle > max(self.time_s, LEAST_IDLE_S) or wall > PATIENCE_S + PATIENCE_FACTOR * self.time_s:
            raise LimitReached(Reason.WALL_LIMIT)
