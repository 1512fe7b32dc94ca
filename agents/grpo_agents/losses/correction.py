"""Correction of the gap between the sampler and the trainer: same weights, other kernels, other numbers.

Another engine (or precision) gives the drawn tokens slightly other log-probs than the policy that learns from them. The
ratio exp(old - sampler), truncated or masked, multiplies the policy term (truncated importance sampling; TRL 1.16 has
it for vLLM).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

import torch
from torch import Tensor

from grpo_agents.config.objective import Correction
from grpo_agents.losses.ratios import completions, needed


def sampler_logprobs(values: Sequence[float | None]) -> Tensor:
    """Return log-probs as a server gave them as float64 [n]; NaN, which the correction masks, where it gave None."""
    return torch.tensor([torch.nan if value is None else value for value in values], dtype=torch.float64)


def sampler_ratio(
    old: Tensor,
    sampler: Tensor,
    *,
    mode: Correction,
    high: float,
    low: float = 0.0,
    rows: Tensor | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Factor of each token's policy term, from the ratio old policy / sampler.

    Modes:
        * `token_truncate`: the token's ratio, brought into [low, high].
        * `token_mask`: the token's ratio where it lies in [low, high], else 0.
        * `sequence_truncate`: the ratio of the whole completion, the product over its tokens, brought into [low, high].
        * `sequence_mask`: that product where it lies in [low, high], else 0.
        * `none`: 1 everywhere.

    A token without a finite ratio (its sampler log-prob is NaN or infinite) gets factor 0 by token, and so does its
    whole completion by sequence, since the product is unknown: what cannot be corrected is not learned from. `mismatch`
    counts such tokens.

    Args:
        old: Log-prob of each token under the policy that the trainer computes, before the update; [B, T] or packed [n].
        sampler: The same as the sampler gave it, same shape.
        mode: One of the above.
        high: The most that a ratio may be.
        low: The least.
        rows: int64 [n], completion number of each token; a padded batch does without.
        mask: bool, False where a token does not count. None: all count.

    Returns:
        float64, same shape, no gradient; exactly 1 where a token does not count.

    Raises:
        ValueError: An unknown mode, high not above low, a negative low, shapes that differ, or a mode of whole
            completions without them.
    """
    if mode not in get_args(Correction):
        raise ValueError(f"mode must be one of {', '.join(get_args(Correction))}; got {mode!r}")
    if not 0 <= low < high:
        raise ValueError(f"a correction's bounds must be 0 <= low < high; got low {low} and high {high}")
    log_ratio, counts, missing = _log_ratio(old, sampler, mask)
    if mode == "none":
        return torch.ones_like(log_ratio)
    if mode.startswith("sequence"):
        found = needed(completions(rows, counts), f"correction {mode}")
        log_ratio = found.total(log_ratio.flatten()).view(old.shape)
        missing = (found.total(missing.flatten()) > 0).view(old.shape)
    ratio = log_ratio.exp()
    if mode.endswith("truncate"):
        ratio = ratio.clamp(low, high)
    else:
        ratio = torch.where((ratio >= low) & (ratio <= high), ratio, 0.0)
    return torch.where(counts, torch.where(missing, 0.0, ratio), 1.0)


def mismatch(old: Tensor, sampler: Tensor, mask: Tensor | None = None) -> dict[str, float]:
    """Measure how far sampler and trainer are apart, over the tokens that count and have a finite ratio.

    With r = old policy / sampler of a token that the sampler drew:

    Args:
        old: Log-probs under the trainer's policy before the update, any shape.
        sampler: The sampler's, same shape.
        mask: bool, False where a token does not count. None: all count.

    Returns:
        `abs_mean` and `abs_max`: of |log r|, nats. `kl`: mean of -log r, KL(sampler || old policy), k1. `k3`: mean of
        r - 1 - log r, the same without negative values. `ratio_min`, `ratio_mean`, `ratio_max`: of r; the mean is 1 in
        expectation. `effective_share`: (sum r)^2 / (n sum r^2), the share of the n tokens that weighted ones are worth.
        `missing`: number of counted tokens without a finite ratio. All but `missing` are NaN where no token is left.

    Raises:
        ValueError: Shapes that differ, or a mask that is not bool.
    """
    log_ratio, counts, missing = _log_ratio(old, sampler, mask)
    logs = log_ratio[counts & ~missing]
    found = {"missing": float(missing.sum())}
    names = ("abs_mean", "abs_max", "kl", "k3", "ratio_min", "ratio_mean", "ratio_max", "effective_share")
    if not len(logs):
        return dict.fromkeys(names, torch.nan) | found
    ratio, size = logs.exp(), logs.abs()
    share = ratio.sum().square() / (len(ratio) * ratio.square().sum())
    k3 = (torch.expm1(logs) - logs).mean()
    values = (size.mean(), size.max(), -logs.mean(), k3, ratio.min(), ratio.mean(), ratio.max(), share)
    return dict(zip(names, torch.stack(values).tolist(), strict=True)) | found


def _log_ratio(old: Tensor, sampler: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """Return log ratio (float64, 0 where unknown or masked), what counts, and which of that is unknown."""
    counts = torch.ones_like(old, dtype=torch.bool) if mask is None else mask
    if counts.dtype != torch.bool or not old.shape == sampler.shape == counts.shape:
        shapes = [list(tensor.shape) for tensor in (old, sampler, counts)]
        raise ValueError(f"old, sampler and a bool mask must have one shape; got {counts.dtype} and shapes {shapes}")
    difference = old.detach().double() - sampler.detach().double()
    finite = difference.isfinite()
    return torch.where(counts & finite, difference, 0.0), counts, counts & ~finite
