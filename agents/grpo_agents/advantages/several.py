"""Advantages of several rewards per completion, each normalised by itself before they are summed.

Summing first lets one reward's spread drown another's: two completions that earn (1, 0) and (0, 1) get the same
advantage, whatever either is worth. GDPO (arXiv 2601.05242) measures each reward in its own unit, group by group.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from grpo_agents.advantages.measuring import Groups, check_finite, measure
from grpo_agents.advantages.scales import STD_EPSILON, whitened


def normalise_then_sum(
    rewards: Tensor,
    groups: Groups,
    weights: Sequence[float] | Tensor,
    *,
    valid: Tensor | None = None,
    standardise: bool = True,
) -> Tensor:
    """Normalise each reward in its group, sum them by weight, and standardise the sums over the batch.

    Per reward function: minus the mean of the group's valid rows, over their sample std (n - 1) plus 1e-4. The sum is
    then divided by its own std over the batch plus 1e-4; its mean over the batch is 0 by construction.

    Args:
        rewards: [N, R], one column per reward function, float32 or float64. Invalid places may hold anything.
        groups: One id per row, [N], as in `compute_advantages`.
        weights: [R], finite; a negative one turns a reward into a cost.
        valid: bool [N, R]; False where that function abstained, which leaves out that function only. None: all valid.
        standardise: Whether the sums are divided by their std over the batch. Without it their size grows with the
            number of functions.

    Returns:
        [N], dtype and device of `rewards`, no gradient. A function whose rewards are equal in a group, or of which a
        group has fewer than two, adds exactly 0 there. A row in which every function abstained gets 0 and counts
        nowhere.

    Raises:
        ValueError: Shapes that do not fit, no function, a dtype other than those above, or a weight or a valid reward
            that is not finite.
    """
    if rewards.ndim != 2 or not rewards.shape[1] or rewards.dtype not in (torch.float32, torch.float64):
        raise ValueError(
            "rewards must be float32 or float64 of shape [N, R] with at least one column; "
            f"got {rewards.dtype} of shape {list(rewards.shape)}"
        )
    valid = torch.ones(rewards.shape, dtype=torch.bool) if valid is None else valid.cpu()
    if valid.shape != rewards.shape or valid.dtype != torch.bool:
        raise ValueError(
            f"valid must be bool of shape {list(rewards.shape)}; got {valid.dtype} of shape {list(valid.shape)}"
        )
    factors = torch.as_tensor(weights, dtype=torch.float64).detach().cpu()
    if factors.shape != rewards.shape[1:] or not factors.isfinite().all():
        raise ValueError(
            f"weights must be {rewards.shape[1]} finite numbers, one per column of rewards; got {factors.tolist()}"
        )
    check_finite(rewards, valid)
    total = torch.zeros(len(rewards), dtype=torch.float64)
    for column, factor in enumerate(factors.tolist()):
        measured = measure(rewards[:, column], groups, valid[:, column])
        std = measured.of_rows([group.std() for group in measured.groups])
        total += factor * measured.centred / (std + STD_EPSILON)
    if standardise:
        total = whitened(total, valid.any(dim=1), centre=False)
    return total.to(rewards)
