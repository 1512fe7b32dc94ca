"""Names of strata: a number's by difficulty, a category's by itself, several joined."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

SEPARATOR: Final = " / "

BY_COUNT: Final = {
    1: ("all",),
    2: ("easy", "hard"),
    3: ("easy", "medium", "hard"),
    4: ("easy", "medium", "hard", "hardest"),
    5: ("easiest", "easy", "medium", "hard", "hardest"),
}
"""Names of a number's strata from easy to hard; from six on they are counted, 1 being the easiest."""


def difficulty_names(count: int, high_is_easy: bool) -> tuple[str, ...]:
    """Name the strata of a number, from its low values to its high ones.

    Args:
        count: Number of strata, at least 1.
        high_is_easy: Whether high values are easy (a pass rate) or hard (tokens of a prompt).

    Raises:
        ValueError: A count below 1.
    """
    if count < 1:
        raise ValueError(f"count is {count}, there must be at least 1 stratum to name")
    names = BY_COUNT.get(count) or tuple(f"{place} of {count}" for place in range(1, count + 1))
    return names[::-1] if high_is_easy else names


def joined(parts: Iterable[str]) -> str:
    """Join the names that a prompt has under several keys: "sums / hard"; "all" where there is no key."""
    return SEPARATOR.join(parts) or BY_COUNT[1][0]
