"""The five ways to combine: each says what the whole can be worth, and which part decided."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

from grpo_gym.errors import InvalidValueError, UnknownNameError
from grpo_gym.reward import PlainReward, Reward, as_reward
from grpo_gym.scoring import is_finite
from grpo_rewards.compose.composite import Composite, Part, checked_names, checked_weight, hull, judge_part
from grpo_rewards.compose.outcome import Interval, Outcome, Rows

Weighted = Reward | PlainReward | tuple[float, Reward | PlainReward]


class WeightedSum(Composite):
    """The sum of the parts, each times its weight.

    A value of 1 counts as solved wherever pass rates are told: choose weights that reach 1 only when the answer is
    right, e.g. 1.0 for the verifier and less than 1 for all else together.

    Args:
        parts: By name, (weight, reward), or a reward alone for weight 1. A weight is a finite number; 0 only watches.
        optional: Names of parts that are left out of the sum when they abstain. The whole abstains only if that leaves
            nothing. Rows with and without the part are then compared with each other: for small weights.
    """

    has_weights = True

    def __init__(self, parts: Mapping[str, Weighted], *, optional: Collection[str] = ()) -> None:
        named = {name: _weighted(name, part) for name, part in checked_names(self, parts).items()}
        for name in [optional] if isinstance(optional, str) else optional:
            if name not in named:
                raise UnknownNameError("part", name, named)
            weight, reward = named[name].weight, named[name].reward
            named[name] = Part(reward, weight, optional=True)
        self._assemble(named)

    def _bounds(self, parts: Mapping[str, Interval]) -> Interval:
        low = high = 0.0
        for name, interval in parts.items():
            ends = _scaled(interval, self.parts[name].weight)
            low, high = low + ends[0], high + ends[1]
        return low, high

    def _known_bounds(self, parts: Mapping[str, Outcome]) -> Interval:
        present = {
            name: part for name, part in parts.items() if part.known or part.failed or not self.parts[name].optional
        }
        return super()._known_bounds(present) if present else self.range

    def _decisive(self, parts: Mapping[str, Outcome]) -> str:
        """The part that cost the most; the first of equals."""

        def cost(name: str) -> float:
            part = self.parts[name]
            if not parts[name].known:
                return -math.inf
            return _scaled(part.reward.range, part.weight)[1] - _scaled(parts[name].bounds, part.weight)[1]

        return max(parts, key=cost)


class Product(Composite):
    """The product of the parts: one factor of 0 is enough."""

    def _bounds(self, parts: Mapping[str, Interval]) -> Interval:
        low, high = 1.0, 1.0
        for interval in parts.values():
            ends = [end * factor for end in (low, high) for factor in interval]
            low, high = min(ends), max(ends)
        return low, high

    def _decisive(self, parts: Mapping[str, Outcome]) -> str:
        """The factor lowest in its own range; the first of equals."""

        def height(name: str) -> float:
            low, high = self.parts[name].reward.range
            return (parts[name].bounds[0] - low) / (high - low) if parts[name].known and high > low else math.inf

        return min(parts, key=height)


class Minimum(Composite):
    """The lowest part's value."""

    def _bounds(self, parts: Mapping[str, Interval]) -> Interval:
        return min(low for low, _ in parts.values()), min(high for _, high in parts.values())

    def _decisive(self, parts: Mapping[str, Outcome]) -> str:
        """The lowest part; the first of equals."""
        return min(parts, key=lambda name: parts[name].bounds[1])


class Maximum(Composite):
    """The highest part's value."""

    def _bounds(self, parts: Mapping[str, Interval]) -> Interval:
        return max(low for low, _ in parts.values()), max(high for _, high in parts.values())

    def _decisive(self, parts: Mapping[str, Outcome]) -> str:
        """The highest part, which came closest; the first of equals."""
        return max(parts, key=lambda name: parts[name].bounds[0])


class Gate(Composite):
    """Stop at zero: each part but the last is a gate, and the last one's value counts if all of them are open.

    What is behind a closed gate is not evaluated, so an expensive judge sees only answers that deserve it.

    Args:
        parts: By name, in order: the gates, then what is behind them.
        threshold: The value from which a gate is open.
        closed: What a closed gate is worth; where the last part is a penalty, 0 would be its best value.
    """

    def __init__(
        self, parts: Mapping[str, Reward | PlainReward], *, threshold: float = 1.0, closed: float = 0.0
    ) -> None:
        for name, number in (("threshold", threshold), ("closed", closed)):
            if isinstance(number, bool) or not is_finite(number):
                raise InvalidValueError(f"{name} is {number!r:.80}, must be a finite number")
        if len(checked_names(self, parts)) < 2:
            raise InvalidValueError("Gate takes at least two parts: a gate, and what is behind it")
        self.threshold = float(threshold)
        self.closed = float(closed)
        super().__init__(parts)

    def _assemble(self, parts: dict[str, Part]) -> None:
        for name, part in list(parts.items())[:-1]:
            if part.reward.range[1] < self.threshold:
                raise InvalidValueError(
                    f"the gate {name!r} never opens: its range {part.reward.range} ends below the threshold "
                    f"{self.threshold}"
                )
        super()._assemble(parts)

    def _bounds(self, parts: Mapping[str, Interval]) -> Interval:
        shut = (self.closed, self.closed)
        *gates, last = self.parts
        bounds = parts.get(last, shut)
        for name in reversed(gates):
            low, high = parts.get(name, shut)  # absent parts are behind a closed gate, which decides below
            if high < self.threshold:
                bounds = shut
            elif low < self.threshold:
                bounds = hull(shut, bounds)
        return bounds

    def _decisive(self, parts: Mapping[str, Outcome]) -> str:
        """The gate that is closed, else the last part."""
        *gates, last = self.parts
        return next((name for name in gates if self._is_shut(parts[name])), last)

    def _judge(self, rows: Rows) -> list[Outcome]:
        """Judge part by part; a row goes on as long as no gate is certainly closed."""
        judged: list[dict[str, Outcome]] = [{} for _ in rows]
        still_open = list(range(len(rows)))
        for name, part in self.parts.items():
            outcomes = judge_part(part, [rows[row] for row in still_open])
            for row, outcome in zip(still_open, outcomes, strict=True):
                judged[row][name] = outcome
            still_open = [row for row in still_open if not self._is_shut(judged[row][name])]
        return [self._combined(parts) for parts in judged]

    def _is_shut(self, outcome: Outcome) -> bool:
        return outcome.bounds[1] < self.threshold


def _weighted(name: str, part: Any) -> Part:
    if not isinstance(part, tuple):
        return Part(as_reward(part))
    if len(part) != 2:
        raise InvalidValueError(f"the part {name!r} is {part!r:.80}: give (weight, reward)")
    weight, reward = part
    return Part(as_reward(reward), checked_weight(name, weight))


def _scaled(interval: Interval, weight: float) -> Interval:
    first, second = interval[0] * weight, interval[1] * weight
    return min(first, second), max(first, second)
