"""Averages: the weight of each token in the loss, taken over the whole batch before anything is cut.

A mean inside the loss would count the tokens of its own microbatch (TRL's `bnpo` does, and depends on it). Here the
pieces add up to the loss of the whole, and no accumulation setting or number of ranks can change it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

from grpo_agents.config.objective import Average, LossName
from grpo_agents.losses.forms import FORMS


@dataclass(frozen=True)
class Totals:
    """What the whole batch counts, where a mask shows only a part of it: of a rank, or of a minibatch.

    For m minibatches of one rollout batch, give 1/m of the rollout batch's counts: then each optimiser step has the
    size of a step on the whole, and no completion weighs more for having been drawn into a short minibatch.

    Attributes:
        rows: Completions, those without a counted token too.
        tokens: Counted tokens.
    """

    rows: float
    tokens: float


def token_weights(
    mask: Tensor, loss: LossName, max_length: int, *, average: Average = "auto", totals: Totals | None = None
) -> Tensor:
    """Weight of each token in the mean over the whole batch: 1 / divisor where it counts, 0 elsewhere.

    Divisors, for B rows of which row i has n_i counted tokens:
        * `token`: sum of all n_i (DAPO, arXiv 2503.14476, equation 8). Each token weighs the same. A row without
          tokens adds nothing. Cut into minibatches, the sum is that of the rollout batch: pass `totals`.
        * `minibatch_token`: sum of the n_i of this optimiser step. The same without minibatches; with them, a token
          weighs more in a minibatch of short completions.
        * `sequence`: n_i * B (GRPO, arXiv 2402.03300, equation 3). Each completion weighs the same, so the tokens of a
          long one weigh less. A row without tokens still counts in B.
        * `constant`: B * max_length (Dr. GRPO, arXiv 2503.20783). The lengths drawn never change a token's weight. A
          row without tokens still counts in B.
        * `sequence_sum`: B (LUSPO, arXiv 2602.05261). Each completion weighs as much as it is long. A row without
          tokens still counts in B.

    Args:
        mask: bool [B, T], True where the policy's own token carries loss: all completions of one optimiser step, or,
            with `totals`, a part of them.
        loss: Name of the loss; its own average is taken where `average` is "auto".
        max_length: Most tokens a completion may have, in tokens; only `constant` reads it.
        average: Name of a divisor above, or "auto".
        totals: Counts of the whole batch in place of the mask's own; n_i is always the mask's.

    Returns:
        float64 [B, T]. All 0 where no token counts.

    Raises:
        ValueError: An unknown name, a mask that is not bool [B, T], a max_length below 1, or totals that are not
            above 0 although tokens count.
    """
    if loss not in FORMS:
        raise ValueError(f"loss must be one of {', '.join(FORMS)}; got {loss!r}")
    chosen = FORMS[loss].average if average == "auto" else average
    if chosen not in AVERAGES:
        raise ValueError(f"average must be auto or one of {', '.join(AVERAGES)}; got {average!r}")
    if mask.ndim != 2 or mask.dtype != torch.bool:
        raise ValueError(f"mask must be bool of shape [B, T]; got {mask.dtype} of shape {list(mask.shape)}")
    if max_length < 1:
        raise ValueError(f"max_length must be at least 1 token; got {max_length}")
    counted = mask.double()
    own = counted.sum(dim=1, keepdim=True)
    if totals is None:
        # An empty batch has no token that the divisor would meet; 1 keeps 0 / 0 out.
        rows, tokens = own.new_tensor(max(len(mask), 1)), own.sum().clamp(min=1)
    else:
        if mask.any() and not (0 < totals.rows < math.inf and 0 < totals.tokens < math.inf):
            raise ValueError(f"totals must be finite and above 0 where a token counts; got {totals}")
        rows, tokens = own.new_tensor(totals.rows or 1.0), own.new_tensor(totals.tokens or 1.0)
    return counted / AVERAGES[chosen](own.clamp(min=1), rows, tokens, max_length)


def _all_tokens(own: Tensor, rows: Tensor, tokens: Tensor, max_length: int) -> Tensor:
    return tokens


def _own_tokens_times_rows(own: Tensor, rows: Tensor, tokens: Tensor, max_length: int) -> Tensor:
    return own * rows


def _rows_times_constant(own: Tensor, rows: Tensor, tokens: Tensor, max_length: int) -> Tensor:
    return rows * max_length


def _rows(own: Tensor, rows: Tensor, tokens: Tensor, max_length: int) -> Tensor:
    return rows


AVERAGES: Final[dict[Average, Callable[[Tensor, Tensor, Tensor, int], Tensor]]] = {
    "token": _all_tokens,
    "minibatch_token": _all_tokens,
    "sequence": _own_tokens_times_rows,
    "constant": _rows_times_constant,
    "sequence_sum": _rows,
}
"""Every average: name -> divisor, [B, 1] or one for all, from (tokens per row [B, 1], rows, tokens, max_length)."""
