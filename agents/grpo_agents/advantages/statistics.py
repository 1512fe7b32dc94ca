"""What a batch of rewards says about its groups, for logs: which of them teach, and how far rewards spread."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from torch import Tensor

from grpo_agents.advantages.measuring import Groups, measure

RIGHT: Final = 1.0
"""A reward from here on counts as a right answer in the statistics."""


@dataclass(frozen=True)
class GroupStatistics:
    """What a batch of rewards says about its groups.

    Each group is `all_right`, `all_wrong`, `too_few_valid`, or has a signal. Under the baselines `mean` and
    `leave_one_out` only the last kind trains the policy.

    Attributes:
        groups: Number of groups.
        all_right: Groups of two or more valid rewards, all equal and at least 1.0: too easy to learn from.
        all_wrong: Groups of two or more valid rewards, all equal and below 1.0: too hard, or a broken grader.
        too_few_valid: Groups with fewer than two valid rewards: nothing to compare.
        mean: Mean of all valid rewards. NaN without a valid row.
        std: Sample std (n - 1) of all valid rewards. NaN with fewer than two valid rows.
        within_group_std: Sample std of each group with two or more valid rewards, averaged. NaN without such a group.
    """

    groups: int
    all_right: int
    all_wrong: int
    too_few_valid: int
    mean: float
    std: float
    within_group_std: float

    @property
    def zero_variance(self) -> int:
        """Groups of two or more valid rewards that are all equal: nothing to compare within them."""
        return self.all_right + self.all_wrong


def group_statistics(rewards: Tensor, groups: Groups, valid: Tensor | None = None) -> GroupStatistics:
    """Count the kinds of groups and measure the spread of the rewards.

    Args:
        rewards: As in `compute_advantages`, and so are the other two.
        groups: One id per row.
        valid: False where the reward abstained.

    Returns:
        Counts and means over valid rows only.

    Raises:
        ValueError: As in `compute_advantages`.
    """
    measured = measure(rewards, groups, valid)
    comparable = [group for group in measured.groups if group.count > 1]
    right = [group.mean >= RIGHT * (1 - measured.tolerance) for group in comparable if group.flat]
    return GroupStatistics(
        groups=len(measured.groups),
        all_right=sum(right),
        all_wrong=len(right) - sum(right),
        too_few_valid=len(measured.groups) - len(comparable),
        mean=measured.batch.mean if measured.batch.count else math.nan,
        std=measured.batch.std() if measured.batch.count > 1 else math.nan,
        within_group_std=_mean([group.std() for group in comparable]),
    )


def flat_expected(pass_rates: Sequence[float], group_size: int) -> float:
    """Share of groups that will be all right or all wrong: mean over prompts of p^n + (1 - p)^n.

    Says beforehand what a group size costs: at p = 0.18 a group of 2 is flat 70 times in 100, one of 8 20 times.

    Args:
        pass_rates: Chance p that a completion is right, per prompt, in [0, 1]; known from earlier samples. Rates of
            the very completions that are asked about make the share too large.
        group_size: Completions n per prompt, at least 1.

    Returns:
        A share in [0, 1]; NaN without a prompt.

    Raises:
        ValueError: A rate outside [0, 1], or a group_size below 1.
    """
    if group_size < 1:
        raise ValueError(f"group_size must be at least 1; got {group_size}")
    if outside := [rate for rate in pass_rates if not 0 <= rate <= 1]:
        raise ValueError(f"pass_rates must lie in [0, 1]; got {outside[0]}")
    return _mean([rate**group_size + (1 - rate) ** group_size for rate in pass_rates])


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan
