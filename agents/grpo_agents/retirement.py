"""Prompts that are solved leave: after a few groups in a row at a high pass rate there is nothing left to learn.

ScaleRL (arXiv 2510.13786) drops prompts of a pass rate of 0.9 and more and finds a better asymptote. Only prompts that
come back can be retired: those of data sets, not made-up ones.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import Any, Final

ROUNDING: Final = 1e-6
"""A pass rate so little below the limit has reached it: the mean of nine ones in ten is 0.8999999 in float32."""

PROBLEMS_KEPT: Final = 100_000
"""Problems with a count, the latest seen; one that is forgotten comes back and is counted anew."""


class Retirement:
    """Counts each problem's groups in a row at or above a pass rate.

    Args:
        retire_at: Pass rate from which on a group counts, 0 to 1; 0 switches retirement off.
        retire_after: Groups in a row that retire a problem, at least 1.

    Raises:
        ValueError: A number outside its bounds.
    """

    def __init__(self, retire_at: float, retire_after: int) -> None:
        if not 0 <= retire_at <= 1:
            raise ValueError(f"retire_at is {retire_at}, must be a pass rate from 0 to 1; 0 retires none")
        if retire_after < 1:
            raise ValueError(f"retire_after is {retire_after}, must be at least 1 group")
        self._at = retire_at
        self._after = retire_after
        self._in_a_row: OrderedDict[str, int] = OrderedDict()

    def __len__(self) -> int:
        """Number of retired problems."""
        return sum(count >= self._after for count in self._in_a_row.values())

    def observe(self, problem_id: str, pass_rate: float) -> None:
        """Take in one group.

        A retired problem that is met all the same, and falls below, is let in again.

        Args:
            problem_id: The problem; "" for one without a name is not counted.
            pass_rate: Share of the group's judged completions that were right; NaN where none was judged, which
                neither counts nor interrupts.

        Raises:
            ValueError: A pass rate outside 0 to 1.
        """
        if not (math.isnan(pass_rate) or 0 <= pass_rate <= 1 + ROUNDING):
            raise ValueError(f"the pass rate of {problem_id!r} is {pass_rate}, must be 0 to 1, or NaN if unknown")
        if not self._at or not problem_id or math.isnan(pass_rate):
            return
        count = self._in_a_row.pop(problem_id, 0)
        if pass_rate >= self._at - ROUNDING:
            self._in_a_row[problem_id] = min(count + 1, self._after)
            if len(self._in_a_row) > PROBLEMS_KEPT:
                self._in_a_row.popitem(last=False)

    def is_retired(self, problem_id: str) -> bool:
        """Whether a problem has been solved often enough in a row."""
        return self._in_a_row.get(problem_id, 0) >= self._after

    def state_dict(self) -> dict[str, Any]:
        """Return plain JSON values, from which `load_state_dict` restores everything."""
        return {"in_a_row": [[problem, count] for problem, count in self._in_a_row.items()]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take up where `state_dict` left off."""
        self._in_a_row = OrderedDict((problem, count) for problem, count in state["in_a_row"])
