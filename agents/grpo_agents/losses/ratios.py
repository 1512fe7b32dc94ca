"""Importance ratios: how far the policy has moved since the tokens were drawn, by token or by completion.

All in float64 and in logs until the last step. A completion's sum runs over its tokens in the order they stand in, one
by one, so that padding, packing and the split into microbatches leave every bit of it as it is.
"""

from __future__ import annotations

import torch
from torch import Tensor

from grpo_agents.config.objective import Ratio


class Completions:
    """Which completion each of n tokens belongs to, and sums over them.

    Args:
        rows: int64 [n], any numbers: tokens of one completion share theirs and need not stand together.
        counts: bool [n], whether a token counts. Those that do not are part of no sum.
    """

    def __init__(self, rows: Tensor, counts: Tensor) -> None:
        # Numbered anew from 0 without asking how many there are: that would wait for the device.
        ranked, order = rows.sort(stable=True)
        steps = torch.zeros_like(ranked)
        steps[1:] = ranked[1:] != ranked[:-1]
        self.index = torch.empty_like(rows).scatter_(0, order, steps.cumsum(0))
        self.counts = counts
        self.length = self.total(counts.double())

    def total(self, values: Tensor) -> Tensor:
        """Return the sum over each token's completion, [n] float64, of values that are 0 where nothing counts."""
        sums = torch.zeros_like(values, dtype=torch.float64).index_add(0, self.index, values.double())
        return sums.index_select(0, self.index)

    def mean(self, values: Tensor) -> Tensor:
        """Return the mean over the counted tokens of each token's completion, [n]; 0 where none counts."""
        return self.total(values) / self.length.clamp(min=1)


def completions(rows: Tensor | None, counts: Tensor) -> Completions | None:
    """Return the completions of tokens that are padded [B, T] (a row each) or packed [n] (by number).

    Args:
        rows: int64, shape of `counts`: a number per token. None: a padded batch's rows, unknown of a packed one.
        counts: bool [B, T] or [n].

    Returns:
        None where they are unknown.

    Raises:
        ValueError: Rows that are not int64 of the shape of `counts`.
    """
    if rows is None:
        if counts.ndim != 2:
            return None
        rows = torch.arange(len(counts), device=counts.device)[:, None].expand_as(counts)
    if rows.dtype != torch.int64 or rows.shape != counts.shape:
        raise ValueError(
            f"rows must be int64, one completion number per token, of shape {list(counts.shape)}; "
            f"got {rows.dtype} of shape {list(rows.shape)}"
        )
    return Completions(rows.flatten(), counts.flatten())


def needed(found: Completions | None, what: str) -> Completions:
    """Return the completions, or raise ValueError that says why they are needed."""
    if found is None:
        raise ValueError(f"{what} is of whole completions: packed tokens [n] need `rows`, a completion number for each")
    return found


def at_level(log_ratio: Tensor, found: Completions | None, level: Ratio) -> Tensor:
    """Return the log of the ratio that stands for each token.

    * `token`: its own, log policy - log old policy.
    * `sequence`: the completion's mean, so the ratio is the geometric mean over tokens (GSPO, arXiv
      2507.18071).
    * `product`: the completion's sum, so the ratio is that of the whole completion's probability (RLOO,
      arXiv 2402.14740).

    Args:
        log_ratio: float64 [n], 0 where a token does not count.
        found: The completions; `token` does without.
        level: One of the above.

    Raises:
        ValueError: A level of whole completions without them.
    """
    if level == "sequence":
        return needed(found, "ratio sequence").mean(log_ratio)
    if level == "product":
        return needed(found, "ratio product").total(log_ratio)
    return log_ratio
