"""How fast this machine is just now: a fixed piece of work, timed beside what is to be judged.

The CPU seconds of one and the same work differ by a factor of two and more between machines, and on one that is busy.
So a cost that seems too high is measured again, in turns with this work, and the least of both is taken: what remains
is told in seconds of the machine on which the limits were chosen.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable

STANDARD = 0.018
"""CPU seconds that the work takes on the machine on which the limits were chosen."""

TRIES = 3
"""How often both are measured."""

_WORD = re.compile(r"\b([a-z]+)(\d*)\b")
_TEXT = "answer 12 to the question 345, " * 200


def work() -> float:
    """Do the work and return the CPU seconds that it took: matching, hashing, numbers, calls, as in a reward."""
    began = time.thread_time()
    for _ in range(30):
        counts: dict[str, int] = {}
        for match in _WORD.finditer(_TEXT):
            counts[match[1]] = counts.get(match[1], 0) + len(match[2])
        sum(k * k % 7 for k in range(4_000))
        "".join(sorted(_TEXT[:2_000]))
    return time.thread_time() - began


def in_standard_seconds(measure: Callable[[], float], yardstick: Callable[[], float]) -> float:
    """Return a cost in seconds of the machine on which the limits were chosen; never more than was measured.

    Args:
        measure: Returns the CPU seconds of what is to be judged.
        yardstick: Returns those of `work`, done in the same process.
    """
    pairs = [(yardstick(), measure()) for _ in range(TRIES)]
    pace, cost = min(paced for paced, _ in pairs), min(measured for _, measured in pairs)
    return cost * min(1.0, STANDARD / pace)
