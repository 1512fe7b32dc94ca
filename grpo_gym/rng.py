"""Random numbers whose streams never change: a small generator over the bits of `random.Random`.

numpy promises no stable streams across builds, and most methods of `random.Random` may change between Python versions;
its Mersenne Twister bits do not. Everything here is made of `getrandbits`, so a problem is the same on every machine.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, MutableSequence, Sequence
from typing import TypeVar

T = TypeVar("T")

_Twister: Callable[[int], random.Random] = random.Random.__base__  # type: ignore[assignment]  # it has one
"""The generator under `random.Random`: the same bits, without seeding twice, which is most of what a new one costs."""


class Rng:
    """A seeded stream of integers, choices and shuffles for problem generators.

    Args:
        *key: Strings and integers that name the stream. Equal keys give equal streams, on every platform and under
            every PYTHONHASHSEED; different keys give unrelated ones.
    """

    def __init__(self, *key: str | int) -> None:
        self._bits = _Twister(stable_hash(*key)).getrandbits

    def below(self, n: int) -> int:
        """Return a uniform integer in [0, n). Raises ValueError when n < 1."""
        if n < 1:
            raise ValueError(f"cannot draw below {n}: the range is empty")
        width = n.bit_length()
        while (value := self._bits(width)) >= n:
            pass
        return value

    def integer(self, low: int, high: int) -> int:
        """Return a uniform integer in [low, high], both ends included."""
        return low + self.below(high - low + 1)

    def choice(self, items: Sequence[T]) -> T:
        """Return a uniform element of a non-empty sequence. Sets are refused: their order is not stable."""
        if isinstance(items, (set, frozenset)):
            raise TypeError("choose from a sorted list, not from a set: the order of a set depends on PYTHONHASHSEED")
        return items[self.below(len(items))]

    def shuffle(self, items: MutableSequence[T]) -> None:
        """Shuffle in place (Fisher-Yates)."""
        for i in range(len(items) - 1, 0, -1):
            j = self.below(i + 1)
            items[i], items[j] = items[j], items[i]

    def sample(self, items: Sequence[T], k: int) -> list[T]:
        """Return k distinct elements in random order."""
        pool = list(items)
        if not 0 <= k <= len(pool):
            raise ValueError(f"cannot draw {k} distinct elements from {len(pool)}")
        for i in range(k):
            j = i + self.below(len(pool) - i)
            pool[i], pool[j] = pool[j], pool[i]
        return pool[:k]

    def chance(self, numerator: int, denominator: int) -> bool:
        """Return True with probability numerator / denominator."""
        return self.below(denominator) < numerator

    def weighted(self, weights: Sequence[int]) -> int:
        """Return an index with probability proportional to its non-negative integer weight."""
        draw = self.below(sum(weights))
        for index, weight in enumerate(weights):
            draw -= weight
            if draw < 0:
                return index
        raise AssertionError("unreachable: the draw is below the sum of the weights")


def stable_hash(*key: str | int) -> int:
    """Return a 64-bit integer from strings and integers: sha256 over an unambiguous encoding of the parts."""
    text = "\x1f".join([f"{type(part).__name__}:{part}" for part in key])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def permuted(position: int, n: int, *key: str | int) -> int:
    """Return where `position` goes in the permutation of range(n) that the key names, without storing it.

    A Feistel network of four rounds on the smallest 2h bits that hold n, applied again while it lands outside (cycle
    walking): a bijection for any round function, in fewer than four walks on average.

    Raises:
        ValueError: When position is not in range(n).
    """
    if not 0 <= position < n:
        raise ValueError(f"position {position} is not in range({n})")
    half = max(1, ((n - 1).bit_length() + 1) // 2)
    mask = (1 << half) - 1
    while True:
        left, right = position >> half, position & mask
        for turn in range(4):
            left, right = right, left ^ (stable_hash("permuted", turn, right, *key) & mask)
        position = left << half | right
        if position < n:
            return position
