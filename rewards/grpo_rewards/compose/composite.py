"""What all combinations share: named parts, declarations that follow from them, and how outcomes become verdicts."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from grpo_gym.errors import InvalidValueError, UnknownNameError
from grpo_gym.problem import Problem
from grpo_gym.reward import LONGEST_LIMIT, PlainReward, Probe, Reward, as_reward
from grpo_gym.scoring import is_finite
from grpo_gym.verdict import Reason, Verdict
from grpo_rewards.compose.outcome import Interval, Outcome, Rows, judge_leaf

_NO_EXPLANATION = (Reason.CORRECT, Reason.ABSTAIN, Reason.SCORER_ERROR)
"""Reasons that cannot explain a known value below the maximum."""


@dataclass(frozen=True)
class Part:
    """One named part of a combination.

    Attributes:
        reward: A leaf, or a combination again.
        weight: What a weighted sum multiplies it by.
        optional: Whether a weighted sum leaves it out when it abstains.
    """

    reward: Reward
    weight: float = 1.0
    optional: bool = False

    def reach(self, at_most: float = math.inf) -> Interval:
        """Return the values it can have, up to a bound; a part that may be left out can always be worth 0."""
        low, high = self.reward.range
        high = min(high, at_most)
        low = min(low, high)
        return (min(low, 0.0), max(high, 0.0)) if self.optional else (low, high)


class Composite(Reward):
    """A reward made of named rewards.

    Attributes:
        parts: The parts by name, in the order given.
    """

    has_weights: ClassVar[bool] = False
    """Whether the parts' weights count."""

    def __init__(self, parts: Mapping[str, Reward | PlainReward]) -> None:
        self._assemble({name: Part(as_reward(reward)) for name, reward in checked_names(self, parts).items()})

    @property
    def is_sum(self) -> bool:
        """Whether the leaves times their weights make the value: weighted sums all the way down."""
        inner = [part.reward for part in self.parts.values() if isinstance(part.reward, Composite)]
        return self.has_weights and all(part.is_sum for part in inner)

    def _assemble(self, parts: dict[str, Part]) -> None:
        """Take the parts, and declare what follows from them."""
        for name, part in parts.items():
            low, high = part.reward.range
            if not (is_finite(low) and is_finite(high) and low <= high):
                raise InvalidValueError(
                    f"the part {name!r} declares the range {part.reward.range}: a combination needs finite ends, "
                    "low <= high, to know what an abstention could change"
                )
        self.parts = parts
        slow = [part.reward.time_limit for part in parts.values() if part.reward.cost == "slow"]
        self.cost = "slow" if slow else "fast"
        self.time_limit = min(sum(slow), LONGEST_LIMIT) if slow else Reward.time_limit
        self.range = self._bounds({name: part.reach() for name, part in parts.items()})
        if not all(map(math.isfinite, self.range)):
            raise InvalidValueError(f"the range of this {type(self).__name__} is {self.range}: use smaller weights")

    @abstractmethod
    def _bounds(self, parts: Mapping[str, Interval]) -> Interval:
        """Return the values that the whole can have, given those of its parts. Parts that are left out are absent."""

    @abstractmethod
    def _decisive(self, parts: Mapping[str, Outcome]) -> str:
        """Return the name of the part that kept a known value from the maximum."""

    def score(self, response: str, problem: Problem) -> Verdict:
        """Judge one answer: a batch of one."""
        return self.score_batch([(response, problem)])[0]

    def score_batch(self, rows: Rows) -> list[Verdict]:
        """Judge several answers; each part is given all rows at once. Never raises because of a part."""
        weights = dict(self._leaf_weights())
        return [self._verdict(outcome, weights) for outcome in self._judge(rows)]

    def probes(self) -> Sequence[Probe]:
        """Return the parts' hostile answers with bounds for the whole.

        A bound on a part is not one on the whole: what the other parts could add is added. A probe whose bound then is
        the maximum would say nothing and is left out.
        """
        reach = {name: part.reach() for name, part in self.parts.items()}
        found = []
        for name, part in self.parts.items():
            for probe in part.reward.probes():
                _, highest = self._bounds({**reach, name: part.reach(probe.at_most)})
                if highest < self.range[1]:
                    found.append(Probe(f"{name}: {probe.name}", probe.response, highest))
        return found

    def close(self) -> None:
        """Close the parts, and give up this reward's share of the worker pool."""
        for part in self.parts.values():
            part.reward.close()
        super().close()

    @property
    def weights(self) -> dict[str, float]:
        """Every weight of the weighted sums in here, by the dotted name of the part that it weighs."""
        own = {name: part.weight for name, part in self.parts.items()} if self.has_weights else {}
        nested = ((name, part.reward) for name, part in self.parts.items() if isinstance(part.reward, Composite))
        return own | {f"{name}.{below}": weight for name, inner in nested for below, weight in inner.weights.items()}

    def with_weights(self, weights: Mapping[str, float] | None = None, /, **named: float) -> Self:
        """Return the same reward with other weights; the leaves are shared, this one stays as it is.

        Args:
            weights: New weights by dotted name, e.g. {"style.short": 0.1}; what is not named keeps its weight.
            named: The same as keywords, for names without dots.

        Raises:
            UnknownNameError: A name that no weighted sum in here has.
            InvalidValueError: A weight that is not a finite number.
        """
        wanted = {**(weights or {}), **named}
        known = self.weights
        for name, weight in wanted.items():
            if name not in known:
                raise UnknownNameError("weight", name, known)
            checked_weight(name, weight)
        return self._reweighted(wanted)

    def _reweighted(self, wanted: Mapping[str, float]) -> Self:
        parts = {}
        for name, part in self.parts.items():
            reward = part.reward
            if isinstance(reward, Composite):
                inside = {key.removeprefix(f"{name}."): w for key, w in wanted.items() if key.startswith(f"{name}.")}
                reward = reward._reweighted(inside)
            parts[name] = dataclasses.replace(part, reward=reward, weight=float(wanted.get(name, part.weight)))
        new = copy.copy(self)
        new._assemble(parts)
        return new

    def _judge(self, rows: Rows) -> list[Outcome]:
        judged = {name: judge_part(part, rows) for name, part in self.parts.items()}
        return [self._combined({name: judged[name][row] for name in judged}) for row in range(len(rows))]

    def _combined(self, parts: Mapping[str, Outcome]) -> Outcome:
        """Return the whole's outcome from those of the parts that were judged."""
        bounds = self._known_bounds(parts)
        known = bounds[0] == bounds[1]
        failed = not known and any(
            part.failed and not part.known and self.parts[name].weight for name, part in parts.items()
        )
        leaves = {_dotted(name, below): leaf for name, part in parts.items() for below, leaf in part.leaves.items()}
        return Outcome(bounds, self._reason(bounds[0], parts) if known else Reason.ABSTAIN, failed, leaves)

    def _known_bounds(self, parts: Mapping[str, Outcome]) -> Interval:
        low, high = self._bounds({name: part.bounds for name, part in parts.items()})
        return low + 0.0, high + 0.0  # no negative zero

    def _reason(self, value: float, parts: Mapping[str, Outcome]) -> Reason:
        if value >= self.range[1]:
            return Reason.CORRECT
        reason = parts[self._decisive(parts)].reason
        return Reason.WRONG if reason in _NO_EXPLANATION else reason

    def _verdict(self, outcome: Outcome, weights: Mapping[str, float]) -> Verdict:
        leaves = outcome.leaves
        low, _ = outcome.bounds
        if outcome.known:
            value, reason, named = low, outcome.reason, leaves
        elif outcome.failed:
            value, reason, named = min(0.0, low), Reason.SCORER_ERROR, {n: f for n, f in leaves.items() if f.error}
        else:
            value, reason, named = None, Reason.ABSTAIN, {n: f for n, f in leaves.items() if f.value is None}
        texts = ((name, leaf.error or leaf.feedback) for name, leaf in named.items())
        return Verdict(
            value,
            reason,
            components={name: leaf.value for name, leaf in leaves.items() if leaf.value is not None},
            feedback="; ".join(f"{name}: {text}" for name, text in texts if text),
            details={
                "sum": self.is_sum,
                "leaves": {name: _record(leaf, weights[name]) for name, leaf in leaves.items()},
            },
        )

    def _leaf_weights(self) -> Iterator[tuple[str, float]]:
        for name, part in self.parts.items():
            if isinstance(part.reward, Composite):
                yield from ((_dotted(name, n), part.weight * weight) for n, weight in part.reward._leaf_weights())
            else:
                yield name, part.weight


def judge_part(part: Part, rows: Rows) -> list[Outcome]:
    """Judge answers with one part; a combination is asked for its bounds, a leaf for its verdicts."""
    return part.reward._judge(rows) if isinstance(part.reward, Composite) else judge_leaf(part.reward, rows)


def checked_names(owner: object, parts: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the parts, or raise InvalidValueError when there are none or a name is not one."""
    kind = type(owner).__name__
    if not isinstance(parts, Mapping) or not parts:
        raise InvalidValueError(f"{kind} takes its parts by name, {kind}({{'correct': ...}}), got {parts!r:.80}")
    for name in parts:
        if not isinstance(name, str) or not name.isidentifier() or name.startswith("_"):
            raise InvalidValueError(
                f"{name!r} cannot name a part of {kind}: use letters, digits and underscores, a letter first "
                "(dots are put in where combinations are nested)"
            )
    return parts


def checked_weight(name: str, weight: object) -> float:
    """Return the weight, or raise InvalidValueError when it is not a finite number."""
    if isinstance(weight, bool) or not is_finite(weight):
        raise InvalidValueError(f"the weight of {name!r} is {weight!r:.80}, must be a finite number")
    return float(weight)  # type: ignore[arg-type]  # is_finite has seen a real number


def hull(*intervals: Interval) -> Interval:
    """Return the smallest interval around several."""
    ends = list(itertools.chain(*intervals))
    return min(ends), max(ends)


def _dotted(name: str, below: str) -> str:
    return f"{name}.{below}" if below else name


def _record(leaf: Any, weight: float) -> dict[str, Any]:
    return {
        "value": leaf.value,
        "weight": weight,
        "seconds": leaf.seconds,
        "error": leaf.error,
        "reason": str(leaf.reason),
        "feedback": leaf.feedback,
        "components": {str(name): float(value) for name, value in leaf.components.items()},
        "details": dict(leaf.details),
    }
