"""Rewards by group and stratum: ids to numbers, checks, and sums that do not depend on the order of the rows.

Every mean and sum of squares goes through `summarise`. It adds with `math.fsum`, which rounds once at the end, so a
batch that is permuted, or gathered from other ranks in another order, gives the same bits. Squares are those of the
distances from the mean (no `E[x^2] - mean^2`), and values that differ by rounding alone have none.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import torch
from torch import Tensor

Groups: TypeAlias = Sequence[Hashable] | Tensor
"""One id per row, [N]: a sequence of hashables or a tensor of numbers."""

ROUNDING_STEPS: Final = 4
"""Values that differ by at most so many float steps (of the dtype they came in) count as equal."""

LARGEST: Final = 1e150
"""The most that a reward's size may be: the square of a larger one is close to the largest float64."""

MOST_NAMED: Final = 10
"""Rows that an error names before it says "..."."""


@dataclass(frozen=True)
class Summary:
    """A set of numbers, whatever their order.

    Attributes:
        count: How many.
        mean: Their mean; 0.0 of none.
        squares: Sum of their squared distances from the mean; exactly 0.0 where flat.
        flat: Whether all are equal up to rounding, or fewer than two.
    """

    count: int
    mean: float
    squares: float
    flat: bool

    def variance(self, ddof: int = 1) -> float:
        """Sum of squares over count - ddof; 0.0 of fewer than two."""
        return self.squares / max(self.count - ddof, 1)

    def std(self, ddof: int = 1) -> float:
        """Root of the variance."""
        return math.sqrt(self.variance(ddof))


@dataclass(frozen=True)
class Measured:
    """The rewards of N rows in K groups: float64 on the CPU, valid rows only.

    Attributes:
        rewards: [N]; 0 in invalid rows.
        valid: bool [N].
        index: Group number of each row, int64 [N].
        groups: The valid rewards of each group, [K].
        batch: All valid rewards.
        strata: Stratum number of each group, [K]; None where no strata were given.
        tolerance: Relative size of a difference that is only rounding.
    """

    rewards: Tensor
    valid: Tensor
    index: Tensor
    groups: list[Summary]
    batch: Summary
    strata: list[int] | None
    tolerance: float

    @property
    def centred(self) -> Tensor:
        """Reward minus the mean of its group, [N]; exactly 0 in invalid rows and in flat groups."""
        flat = torch.tensor([group.flat for group in self.groups], dtype=torch.bool)[self.index]
        distance = self.rewards - self.of_rows([group.mean for group in self.groups])
        return torch.where(self.valid & ~flat, distance, 0.0)

    @property
    def count(self) -> Tensor:
        """Valid rows in each row's group, float64 [N]."""
        return self.of_rows([float(group.count) for group in self.groups])

    def of_rows(self, of_groups: Sequence[float]) -> Tensor:
        """Give each row the number of its group: [K] -> float64 [N]."""
        return torch.tensor(of_groups, dtype=torch.float64)[self.index]


def summarise(values: Sequence[float], tolerance: float) -> Summary:
    """Measure a set of finite numbers; those that differ by `tolerance` times their size count as equal."""
    if not values:
        return Summary(0, 0.0, 0.0, True)
    low, high = min(values), max(values)
    mean = math.fsum(values) / len(values)
    if high - low <= tolerance * max(abs(low), abs(high)):
        return Summary(len(values), mean, 0.0, True)
    return Summary(len(values), mean, math.fsum((value - mean) ** 2 for value in values), False)


def measure(rewards: Tensor, groups: Groups, valid: Tensor | None, strata: Groups | None = None) -> Measured:
    """Sort rewards [N] into their groups.

    Raises:
        ValueError: Shapes that do not fit, a dtype that is neither float32 nor float64, a valid reward that is not
            finite or above 1e150 in size, or a group that lies in two strata.
    """
    index = numbered(groups, "groups")
    valid = torch.ones(len(index), dtype=torch.bool) if valid is None else valid.cpu()
    _check(rewards, index, valid)
    of_groups = None if strata is None else _strata_of_groups(numbered(strata, "strata"), index)
    values = torch.where(valid, rewards.detach().to("cpu", torch.float64), 0.0)
    tolerance = rounding(rewards.dtype)
    members: list[list[float]] = [[] for _ in range(int(index.max()) + 1 if len(index) else 0)]
    for number, value in zip(index[valid].tolist(), values[valid].tolist(), strict=True):
        members[number].append(value)
    return Measured(
        rewards=values,
        valid=valid,
        index=index,
        groups=[summarise(group, tolerance) for group in members],
        batch=summarise(values[valid].tolist(), tolerance),
        strata=of_groups,
        tolerance=tolerance,
    )


def rounding(dtype: torch.dtype) -> float:
    """Relative size of a difference that is only rounding in `dtype`."""
    return ROUNDING_STEPS * torch.finfo(dtype).eps


def numbered(ids: Groups, name: str) -> Tensor:
    """Number ids from 0 on: [N] -> int64 [N], on the CPU."""
    if isinstance(ids, Tensor):
        index: Tensor = torch.unique(ids.cpu(), return_inverse=True)[1]
        return index
    if any(isinstance(one, Tensor) for one in ids):
        raise ValueError(f"{name} holds tensors, no two of which are one id; pass one tensor or its .tolist()")
    numbers: dict[Hashable, int] = {}
    return torch.tensor([numbers.setdefault(one, len(numbers)) for one in ids], dtype=torch.int64)


def rows_named(rows: Sequence[int]) -> str:
    """Write the first few of a list of rows."""
    return ", ".join(map(str, rows[:MOST_NAMED])) + (", ..." if len(rows) > MOST_NAMED else "")


def check_finite(values: Tensor, valid: Tensor, name: str = "rewards") -> None:
    """Raise for rows of valid values [N, ...] that are not finite, or too large to be squared."""
    values = values.detach().cpu()
    for broken, what in ((~values.isfinite(), "not finite"), (values.abs() > LARGEST, f"above {LARGEST:g} in size")):
        where = (broken & valid.cpu()).flatten(1).any(dim=1) if values.ndim > 1 else broken & valid.cpu()
        rows = where.nonzero().flatten().tolist()
        if rows:
            raise ValueError(
                f"{name} are {what} in {len(rows)} rows ({rows_named(rows)}); mark them as not valid first"
            )


def _check(rewards: Tensor, index: Tensor, valid: Tensor) -> None:
    if rewards.ndim != 1 or rewards.dtype not in (torch.float32, torch.float64):
        raise ValueError(
            f"rewards must be float32 or float64 of shape [N]; got {rewards.dtype} of shape {list(rewards.shape)}"
        )
    if index.shape != rewards.shape:
        raise ValueError(
            f"groups must hold one id per reward: {len(rewards)} rewards, groups of shape {list(index.shape)}"
        )
    if valid.shape != rewards.shape or valid.dtype != torch.bool:
        raise ValueError(
            f"valid must be bool of shape {list(rewards.shape)}; got {valid.dtype} of shape {list(valid.shape)}"
        )
    check_finite(rewards, valid)


def _strata_of_groups(strata: Tensor, index: Tensor) -> list[int]:
    if strata.shape != index.shape:
        raise ValueError(
            f"strata must hold one id per reward: {len(index)} rewards, strata of shape {list(strata.shape)}"
        )
    first: dict[int, tuple[int, int]] = {}
    for row, (group, stratum) in enumerate(zip(index.tolist(), strata.tolist(), strict=True)):
        earlier, expected = first.setdefault(group, (row, stratum))
        if stratum != expected:
            raise ValueError(
                f"rows {earlier} and {row} are completions of one prompt but lie in different strata; a stratum may "
                "depend on the prompt and on past statistics only, never on the completion sampled: that makes the "
                "baseline depend on the action, and what separates the strata is then never learned"
            )
    return [first[group][1] for group in range(len(first))]
