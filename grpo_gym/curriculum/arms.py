"""What a curriculum chooses among, and what it has to offer."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from grpo_gym.errors import InvalidValueError
from grpo_gym.rng import Rng
from grpo_gym.stream import ProblemStream

FINE = 2**53
"""Steps in which a uniform number between 0 and 1 is drawn: as many as a float can tell apart."""


class Arm(NamedTuple):
    """One choice: problems of a task and tier."""

    task: str
    tier: int

    def __str__(self) -> str:
        return f"{self.task} tier {self.tier}"


Arms = Mapping[Arm, float]
"""The arms that exist and the share of each: what the mixture would draw without a curriculum."""

Offered = Mapping[Any, Any] | Iterable[tuple[str, int]]
"""Arms as a caller may give them: (task, tier) with shares, or a plain list of them with even ones."""


@runtime_checkable
class Curriculum(Protocol):
    """Chooses the arm of each group and learns from what the group earned.

    `choose` must not change the state: groups that begin together are chosen from one state, and equal seeds among them
    get equal arms.
    """

    def choose(self, rng: Rng) -> Arm:
        """Return the arm of a group, a function of the state and the random numbers alone."""

    def update(self, arm: Arm, rewards: Sequence[float]) -> None:
        """Learn from a group that has ended: the rewards of its judged rows, each in [0, 1], at least one."""

    def statistics(self) -> dict[str, dict[str, float]]:
        """Return figures per arm that was seen, for logs: label -> name -> number."""

    def state_dict(self) -> dict[str, Any]:
        """Return the state as a JSON object."""

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state_dict` returned."""


def arms_of(env: Any) -> Arms:
    """Return the arms of one of our environments, single or vector, through any wrappers: its tasks in its tiers.

    Raises:
        InvalidValueError: The environment is not one of grpo-gym's, or its shares are to be exact.
    """
    stream = getattr(env.unwrapped, "stream", None)
    if not isinstance(stream, ProblemStream):
        raise InvalidValueError(f"{type(env.unwrapped).__name__} has no tasks and tiers to choose from")
    if stream.mixture.schedule == "exact":
        raise InvalidValueError("a curriculum chooses the tasks, so their shares cannot be exact: leave schedule out")
    return as_arms(stream.shares())


def as_arms(shares: Offered) -> Arms:
    """Return arms with their shares. Raises InvalidValueError when there are none or a share is not above 0."""
    weighed = shares if isinstance(shares, Mapping) else dict.fromkeys(shares, 1)
    arms = {Arm(*arm): float(share) for arm, share in weighed.items()}
    if not arms or not all(share > 0 for share in arms.values()):
        raise InvalidValueError(f"a curriculum needs arms with shares above 0, got {weighed!r:.80}")
    return arms


def checked_groups(name: str, value: int) -> int:
    """Return an option that counts groups. Raises InvalidValueError when it is no whole number above 0."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < 1:
        raise InvalidValueError(f"{name} is {value!r:.80}, must be a whole number of groups, at least 1")
    return int(value)


def draw(rng: Rng, arms: Arms) -> Arm:
    """Return an arm by its share."""
    left = rng.below(FINE) / FINE * sum(arms.values())
    for arm, share in arms.items():
        left -= share
        if left < 0:
            return arm
    return arm  # rounding alone leads here
