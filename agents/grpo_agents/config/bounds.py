"""What a field's value may be. Each function raises InvalidValueError, which says field, value and bound."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from operator import attrgetter
from typing import Any

from grpo_gym.errors import InvalidValueError


def at_least(config: Any, bound: float, *names: str) -> None:
    """Refuse a field below its bound, NaN or infinite; a dot leads into a nested record."""
    for name in names:
        value = attrgetter(name)(config)
        if not bound <= value < math.inf:
            finite = " and finite" if value == math.inf else ""
            raise InvalidValueError(f"{name} is {value}, must be at least {bound}{finite}")


def at_most(config: Any, bound: float, *names: str) -> None:
    """Refuse a field above its bound."""
    for name in names:
        if not attrgetter(name)(config) <= bound:
            raise InvalidValueError(f"{name} is {attrgetter(name)(config)}, must be at most {bound}")


def above_0(config: Any, *names: str) -> None:
    """Refuse a field that is not above 0; infinity passes."""
    for name in names:
        if not attrgetter(name)(config) > 0:
            raise InvalidValueError(f"{name} is {attrgetter(name)(config)}, must be above 0")


def below_1(config: Any, *names: str) -> None:
    """Refuse a field that is not below 1."""
    for name in names:
        if not attrgetter(name)(config) < 1:
            raise InvalidValueError(f"{name} is {attrgetter(name)(config)}, must be below 1")


def share(config: Any, *names: str) -> None:
    """Refuse a field that is no share from 0 to 1."""
    for name in names:
        if not 0 <= attrgetter(name)(config) <= 1:
            raise InvalidValueError(f"{name} is {attrgetter(name)(config)}, must be a share from 0 to 1")


def tier(levels: tuple[int, ...]) -> None:
    """Refuse more than a lowest and a highest tier."""
    if len(levels) > 2:
        raise InvalidValueError(f"tier is {levels}: give one tier, or the lowest and the highest")


def each_at_least(name: str, bound: float, values: Sequence[float]) -> None:
    """Refuse a list with a number below the bound, NaN or infinite."""
    for value in values:
        if not bound <= value < math.inf:
            raise InvalidValueError(f"{name} holds {value}, every number in it must be finite and at least {bound}")


def rising(name: str, values: Sequence[float]) -> None:
    """Refuse edges that are not finite or do not rise."""
    if not all(map(math.isfinite, values)) or any(a >= b for a, b in pairwise(values)):
        raise InvalidValueError(f"{name} is {tuple(values)}, must be finite numbers that rise")
