"""Exponential moving averages by key: a plain mean at first, then one that forgets.

A key's weight is the number of values seen, up to `memory`. While it grows, all values count alike, so that no made-up
first value lingers; at the limit, n new values move the mean by n / (memory + n) of the difference. A batch is added at
once and not value by value, so that the order within it changes no bit.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, TypeAlias

Key: TypeAlias = tuple[str | int | None, ...]


class Averages:
    """Moving averages of the keys that were added to last.

    Args:
        memory: Values that a mean remembers, at least 1.
        kept: Keys kept at most; the one not added to for longest is forgotten first.

    Raises:
        ValueError: A number below 1.
    """

    def __init__(self, memory: int, kept: int) -> None:
        if memory < 1 or kept < 1:
            raise ValueError(f"memory is {memory} and kept is {kept}, both must be at least 1")
        self._memory = memory
        self._kept = kept
        self._records: OrderedDict[Key, tuple[float, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._records)

    def get(self, key: Key) -> tuple[float, int]:
        """Return a key's mean and its weight, 0 to `memory`; the mean of a weight of 0 says nothing."""
        return self._records.get(key, (0.0, 0))

    def means(self) -> dict[Key, float]:
        """Return the mean of every key."""
        return {key: mean for key, (mean, _) in self._records.items()}

    def add(self, values: dict[Key, list[float]]) -> None:
        """Add a batch: finite values by key. Neither the order of keys nor that of values changes anything."""
        for key in sorted(values, key=repr):
            count = len(values[key])
            if not count:
                continue
            mean, weight = self.get(key)
            mean += count / (weight + count) * (exact_mean(values[key]) - mean)
            self._records[key] = (mean, min(weight + count, self._memory))
            self._records.move_to_end(key)
        while len(self._records) > self._kept:
            self._records.popitem(last=False)

    def clear(self) -> None:
        """Forget everything."""
        self._records.clear()

    def state_dict(self) -> list[list[Any]]:
        """Return [key, mean, weight] of each key, plain JSON values, the one to be forgotten first in front."""
        return [[list(key), mean, weight] for key, (mean, weight) in self._records.items()]

    def load_state_dict(self, state: list[list[Any]]) -> None:
        """Take up where `state_dict` left off."""
        self._records = OrderedDict((tuple(key), (mean, weight)) for key, mean, weight in state)


def exact_mean(values: Sequence[float]) -> float:
    """Mean of finite values, at least one: the same in any order, and exactly v where all are v."""
    lowest = min(values)
    return lowest + math.fsum(value - lowest for value in values) / len(values)
