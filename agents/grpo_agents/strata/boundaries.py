"""Where a number is cut into strata: edges in, edges out, nothing remembered.

Edges rise strictly; k of them make k + 1 strata. A value at an edge belongs above it: with (128, 256) the strata are
..127, 128..255 and 256.. .
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, TypeAlias

Edges: TypeAlias = tuple[float, ...]

LENGTH_128_256: Final[Edges] = (128.0, 256.0)
"""Cuts of prompts by tokens into easy, medium and hard."""


def place(value: float, edges: Sequence[float]) -> int:
    """Return the number of the stratum that a value belongs to, 0 to len(edges)."""
    return bisect_right(edges, value)


def counts(values: Sequence[float], edges: Sequence[float]) -> list[int]:
    """Return how many of the values each stratum holds, [len(edges) + 1]."""
    ordered = sorted(values)
    below = [0, *(bisect_left(ordered, edge) for edge in edges), len(ordered)]
    return [after - before for before, after in pairwise(below)]


def quantile_edges(values: Sequence[float], n: int) -> Edges:
    """Cut into strata of counts as equal as ties allow.

    Each cut is one of the values, so that equal values stay together; of all that there are, the one with the number
    of values below it nearest to k/n of all, the lower one of two. Cuts that coincide count once, so there are n strata
    exactly if there are n distinct values far enough apart in rank, and each holds at least one value.

    Args:
        values: Finite numbers in any order, may be empty.
        n: Strata wanted, at least 1.

    Raises:
        ValueError: n below 1, or a number that is not finite.
    """
    _check(values, n)
    ordered = sorted(values)
    distinct = sorted(set(ordered))[1:]
    if not distinct:
        return ()
    below = [bisect_left(ordered, value) for value in distinct]
    nearest = {min(range(len(distinct)), key=lambda i: (abs(below[i] * n - k * len(ordered)), i)) for k in range(1, n)}
    return tuple(distinct[i] for i in sorted(nearest))


def linear_edges(values: Sequence[float], n: int) -> Edges:
    """Cut the range of the values into n equal widths; no edges where all values are equal.

    Args:
        values: Finite numbers in any order, may be empty.
        n: Strata wanted, at least 1; fewer where the range has too few floats between its ends.

    Raises:
        ValueError: n below 1, or a number that is not finite.
    """
    _check(values, n)
    if not values:
        return ()
    low, high = min(values), max(values)
    cuts = (low * (1 - k / n) + high * (k / n) for k in range(1, n))  # no difference: high - low may overflow
    return tuple(sorted({cut for cut in cuts if low < cut <= high}))


def settled(old: Sequence[float], new: Sequence[float], spread: float, hysteresis: float) -> Edges:
    """Keep each old edge unless its new place is further away than hysteresis * spread.

    The new edges are taken as they are where their number differs, or where some kept and some moved would not rise.

    Args:
        old: Edges so far.
        new: Edges of the latest fit.
        spread: Standard deviation of the numbers, at least 0.
        hysteresis: Share of it, at least 0.

    Raises:
        ValueError: A spread or hysteresis that is negative or NaN.
    """
    if not (spread >= 0 and hysteresis >= 0):
        raise ValueError(f"spread is {spread} and hysteresis is {hysteresis}, both must be at least 0")
    if len(old) != len(new):
        return tuple(new)
    limit = hysteresis * spread
    mixed = [before if abs(after - before) <= limit else after for before, after in zip(old, new, strict=True)]
    return tuple(mixed) if all(a < b for a, b in pairwise(mixed)) else tuple(new)


def merged(edges: Sequence[float], values: Sequence[float], min_count: int) -> Edges:
    """Drop edges until every stratum holds min_count of the values, or one stratum is left.

    Step by step the smallest stratum joins the smaller of its neighbours; of equal ones the lower.

    Raises:
        ValueError: min_count below 1.
    """
    if min_count < 1:
        raise ValueError(f"min_count is {min_count}, must be at least 1")
    left = list(edges)
    while left:
        sizes = counts(values, left)
        smallest = min(range(len(sizes)), key=sizes.__getitem__)
        if sizes[smallest] >= min_count:
            break
        beside = [i for i in (smallest - 1, smallest + 1) if 0 <= i < len(sizes)]
        neighbour = min(beside, key=sizes.__getitem__)
        del left[min(smallest, neighbour)]  # edge i lies between strata i and i + 1
    return tuple(left)


def how_many(step: int, count: int, grow_every: int) -> int:
    """Return how many strata there are at a step (steps done before it): one more every grow_every, from 1 to count.

    Raises:
        ValueError: A negative step or grow_every, or a count below 1.
    """
    if step < 0 or grow_every < 0 or count < 1:
        raise ValueError(f"step {step} and grow_every {grow_every} must be at least 0, count {count} at least 1")
    return min(count, 1 + step // grow_every) if grow_every else count


def thinned(edges: Sequence[float], n: int) -> Edges:
    """Take n - 1 of the edges, evenly spread over them: what fixed edges are while the number of strata grows.

    Raises:
        ValueError: n below 1 or above len(edges) + 1.
    """
    if not 1 <= n <= len(edges) + 1:
        raise ValueError(f"{len(edges)} edges make 1 to {len(edges) + 1} strata, not {n}")
    return tuple(edges[(2 * i + 1) * len(edges) // (2 * (n - 1))] for i in range(n - 1))


def _check(values: Sequence[float], n: int) -> None:
    if n < 1:
        raise ValueError(f"n is {n}, must be at least 1 stratum")
    if not all(map(math.isfinite, values)):
        raise ValueError("the numbers that strata are cut by must be finite")
