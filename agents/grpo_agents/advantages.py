"""Advantages: how much better a completion did than the others of its group.

A group is all completions of one prompt. It stands in for the critic of PPO: the baseline is what the policy itself
scores on the same prompt. One choice is the baseline (`mean`, `leave_one_out`), the other is the unit in which the
difference is measured (`group`, `batch`, `none`); any pair works.

Rewards in, advantages out; no model, no environment, no order: a row belongs to a group by its id, not by its position.
All sums run in float64 on the CPU, in two passes (no `E[x^2] - mean^2`): equal rewards give equal bits on any device.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import torch
from torch import Tensor

Scale: TypeAlias = Literal["group", "batch", "none"]
Baseline: TypeAlias = Literal["mean", "leave_one_out"]
Groups: TypeAlias = Sequence[Hashable] | Tensor

STD_EPSILON: Final = 1e-4
"""Added to every std before dividing, in units of reward: what TRL 1.16 adds."""

ROUNDING_STEPS: Final = 4
"""Rewards of one group that differ by at most so many float steps (of their own dtype) count as equal."""

RIGHT: Final = 1.0
"""A reward from here on counts as a right answer in the statistics."""


@dataclass(frozen=True)
class GroupStatistics:
    """What a batch of rewards says about its groups, for logs.

    Each group is `all_right`, `all_wrong`, `too_few_valid`, or has a signal. Only the last kind trains the policy.

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
        """Groups of two or more valid rewards that are all equal: advantage 0, no gradient from the policy loss."""
        return self.all_right + self.all_wrong


@dataclass(frozen=True)
class _Measured:
    """The rewards of N rows in K groups, measured group by group: float64 on the CPU, valid rows only.

    Attributes:
        index: Group number of each row, int64 [N].
        rewards: The valid rewards, [number of valid rows].
        count: Valid rows of each group, [K].
        mean: Their mean, [K]; 0 where there is none.
        centred: Reward minus group mean, [N]; exactly 0 in invalid rows and in flat groups.
        std: Sample std of each group, [K]; exactly 0 in flat groups.
        flat: Groups without spread: all equal up to rounding, or fewer than two valid rows, bool [K].
        tolerance: Relative size of a difference that is only rounding.
    """

    index: Tensor
    rewards: Tensor
    count: Tensor
    mean: Tensor
    centred: Tensor
    std: Tensor
    flat: Tensor
    tolerance: float


def compute_advantages(
    rewards: Tensor,
    groups: Groups,
    *,
    scale: Scale,
    baseline: Baseline = "mean",
    valid: Tensor | None = None,
) -> Tensor:
    """Advantage of each row over its group.

    Baseline, subtracted from the reward:
        * `mean`: mean of the group's valid rows, the row itself included (GRPO, arXiv 2402.03300, section 4.1.2).
        * `leave_one_out`: mean of the group's OTHER valid rows (RLOO, arXiv 2402.14740), which leaves the gradient
          unbiased. Equal to the centred reward times n / (n - 1).

    Scale, by which the difference is then divided:
        * `group`: sample std (n - 1) of the group's valid rewards, plus 1e-4 (GRPO).
        * `batch`: sample std of all valid rewards of the batch, plus 1e-4.
        * `none`: 1 (Dr. GRPO, arXiv 2503.20783): dividing by the std weighs very easy and very hard prompts up.

    With `leave_one_out` the scale is still the std of the rewards; TRL's RLOOTrainer takes that of the advantages.

    Args:
        rewards: [N], float32 or float64. Invalid rows may hold anything, NaN too.
        groups: One id per row, [N]: a sequence of hashables or a tensor of numbers.
        scale: `group`, `batch` or `none`.
        baseline: `mean` or `leave_one_out`.
        valid: bool [N]; False where the reward abstained. None: all rows are valid.

    Returns:
        [N], dtype and device of `rewards`, no gradient. Exactly 0 in invalid rows, in groups with fewer than two valid
        rows, and in groups whose rewards are equal up to rounding.

    Raises:
        ValueError: An unknown name, shapes that do not fit, a dtype other than those above, or a valid reward that is
            not finite.
    """
    if scale not in SCALES:
        raise ValueError(f"scale must be one of {', '.join(SCALES)}; got {scale!r}")
    if baseline not in BASELINES:
        raise ValueError(f"baseline must be one of {', '.join(BASELINES)}; got {baseline!r}")
    measured = _measure(rewards, groups, valid)
    return (BASELINES[baseline](measured) / SCALES[scale](measured)).to(rewards)


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
    measured = _measure(rewards, groups, valid)
    comparable = measured.count >= 2
    constant = comparable & measured.flat
    right = measured.mean >= RIGHT * (1 - measured.tolerance)
    return GroupStatistics(
        groups=len(measured.count),
        all_right=int((constant & right).sum()),
        all_wrong=int((constant & ~right).sum()),
        too_few_valid=int((~comparable).sum()),
        mean=float(measured.rewards.mean()),
        std=float(_sample_std(measured.rewards)),
        within_group_std=float(measured.std[comparable].mean()),
    )


def _minus_group_mean(measured: _Measured) -> Tensor:
    return measured.centred


def _minus_mean_of_others(measured: _Measured) -> Tensor:
    count = measured.count[measured.index]
    return measured.centred * count / (count - 1).clamp(min=1)


def _by_group_std(measured: _Measured) -> Tensor:
    return measured.std[measured.index] + STD_EPSILON


def _by_batch_std(measured: _Measured) -> Tensor:
    if len(measured.rewards) < 2:
        return _by_one(measured)
    return _sample_std(measured.rewards) + STD_EPSILON


def _by_one(measured: _Measured) -> Tensor:
    return torch.ones_like(measured.centred)


BASELINES: Final[dict[Baseline, Callable[[_Measured], Tensor]]] = {
    "mean": _minus_group_mean,
    "leave_one_out": _minus_mean_of_others,
}
"""Every baseline: name -> reward minus baseline, [N]."""

SCALES: Final[dict[Scale, Callable[[_Measured], Tensor]]] = {
    "group": _by_group_std,
    "batch": _by_batch_std,
    "none": _by_one,
}
"""Every scale: name -> divisor, [N] or one for all rows."""


def _measure(rewards: Tensor, groups: Groups, valid: Tensor | None) -> _Measured:
    index = _group_index(groups)
    valid = torch.ones(len(index), dtype=torch.bool) if valid is None else valid.cpu()
    _check(rewards, index, valid)
    values = torch.where(valid, rewards.detach().to("cpu", torch.float64), 0.0)
    tolerance = ROUNDING_STEPS * torch.finfo(rewards.dtype).eps

    nothing = torch.zeros(int(index.max()) + 1 if len(index) else 0, dtype=torch.float64)
    count = nothing.index_add(0, index, valid.double())
    mean = nothing.index_add(0, index, values) / count.clamp(min=1)
    below, above = torch.full_like(nothing, -torch.inf), torch.full_like(nothing, torch.inf)
    highest = below.scatter_reduce(0, index, values.masked_fill(~valid, -torch.inf), "amax")
    lowest = above.scatter_reduce(0, index, values.masked_fill(~valid, torch.inf), "amin")
    flat = highest - lowest <= tolerance * torch.maximum(highest.abs(), lowest.abs())

    centred = torch.where(valid & ~flat[index], values - mean[index], 0.0)
    variance = nothing.index_add(0, index, centred.square()) / (count - 1).clamp(min=1)
    return _Measured(
        index=index,
        rewards=values[valid],
        count=count,
        mean=mean,
        centred=centred,
        std=variance.sqrt(),
        flat=flat,
        tolerance=tolerance,
    )


def _group_index(groups: Groups) -> Tensor:
    """Number the groups from 0 on: ids [N] -> int64 [N], on the CPU."""
    if isinstance(groups, Tensor):
        index: Tensor = torch.unique(groups.cpu(), return_inverse=True)[1]
        return index
    if any(isinstance(group, Tensor) for group in groups):
        raise ValueError("groups holds tensors, no two of which are one id; pass one tensor or its .tolist()")
    numbers: dict[Hashable, int] = {}
    return torch.tensor([numbers.setdefault(group, len(numbers)) for group in groups], dtype=torch.int64)


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
    broken = (valid & ~rewards.detach().cpu().isfinite()).nonzero().flatten().tolist()
    if broken:
        shown = ", ".join(map(str, broken[:10])) + (", ..." if len(broken) > 10 else "")
        raise ValueError(f"rewards are not finite in {len(broken)} rows ({shown}); mark them as not valid first")


def _sample_std(values: Tensor) -> Tensor:
    """Std with n - 1; NaN for fewer than two values (`Tensor.std` would warn)."""
    return values.std() if len(values) > 1 else values.new_tensor(torch.nan)
