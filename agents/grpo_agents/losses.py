"""The policy loss: a weighted sum over tokens, where the weights are the whole difference between the named losses.

    weights = token_weights(mask, "dapo", max_length)      # once, over the whole batch of an optimiser step
    for rows in microbatches:                              # any split, any order, padded [b, T] or packed [n]
        terms = policy_loss(logprobs[rows], old[rows], advantages[rows], weights[rows], clip_low=0.2, clip_high=0.28)
        terms.loss.backward()

The mean is taken before the batch is cut, so the pieces add up to the loss of the whole and no accumulation setting can
change it. A mean inside the loss would count the tokens of its own microbatch (TRL's `bnpo` does, and depends on it).

A token with weight 0 does not count: its log-probs may hold anything, -inf and NaN too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import torch
from torch import Tensor

LossType: TypeAlias = Literal["dapo", "grpo", "dr_grpo"]


@dataclass(frozen=True)
class LossTerms:
    """A loss and what happened in it. Pieces of one batch add up: `a + b` is what both together would have given.

    All are tensors of one number, so that nothing waits for the device before it is read; all but `loss` are detached.

    Attributes:
        loss: To be minimised: the policy term plus kl_coef times the KL term. float64, as the weights are.
        policy: The policy term alone. On-policy it only shows how lengths and advantages fall together (under `grpo` it
            is 0), whatever the gradient: no sign of learning or of its lack.
        kl: Sum of the KL estimates over counted tokens, nats, not times kl_coef; 0 without KL.
        tokens: Number of tokens that count (weight not 0).
        masked: Number of tokens that do not.
        clipped_low: Counted tokens whose gradient is cut because the ratio fell below 1 - clip_low with advantage < 0.
        clipped_high: The same above 1 + clip_high with advantage > 0.
        ratio_max: Largest importance ratio of a counted token; 0 where none counts.
    """

    loss: Tensor
    policy: Tensor
    kl: Tensor
    tokens: Tensor
    masked: Tensor
    clipped_low: Tensor
    clipped_high: Tensor
    ratio_max: Tensor

    def __add__(self, other: LossTerms) -> LossTerms:
        return LossTerms(
            loss=self.loss + other.loss,
            policy=self.policy + other.policy,
            kl=self.kl + other.kl,
            tokens=self.tokens + other.tokens,
            masked=self.masked + other.masked,
            clipped_low=self.clipped_low + other.clipped_low,
            clipped_high=self.clipped_high + other.clipped_high,
            ratio_max=torch.maximum(self.ratio_max, other.ratio_max),
        )

    def metrics(self) -> dict[str, float]:
        """Plain numbers for a log; `kl` and the clip shares are means over the counted tokens, 0 where none counts."""
        tokens = max(int(self.tokens), 1)
        return {
            "loss": float(self.loss.detach()),
            "policy_loss": float(self.policy),
            "kl": float(self.kl) / tokens,
            "clip_low": float(self.clipped_low) / tokens,
            "clip_high": float(self.clipped_high) / tokens,
            "ratio_max": float(self.ratio_max),
            "tokens": float(self.tokens),
            "masked_tokens": float(self.masked),
        }


def token_weights(mask: Tensor, loss_type: LossType, max_length: int) -> Tensor:
    """Weight of each token in the mean over the whole batch: 1 / divisor where it counts, 0 elsewhere.

    Divisors, for B rows of which row i has n_i counted tokens:
        * `dapo`: sum of all n_i (arXiv 2503.14476, equation 8). Each token weighs the same. A row without tokens adds
          nothing.
        * `grpo`: n_i * B (arXiv 2402.03300, equation 3). Each completion weighs the same, so the tokens of a long one
          weigh less. A row without tokens still counts in B.
        * `dr_grpo`: B * max_length (arXiv 2503.20783). A constant, so the lengths drawn never change a token's weight.
          A row without tokens still counts in B.

    Args:
        mask: bool [B, T], True where the policy's own token carries loss: all completions of one optimiser step.
        loss_type: `dapo`, `grpo` or `dr_grpo`.
        max_length: Most tokens a completion may have, in tokens; only `dr_grpo` reads it.

    Returns:
        float64 [B, T]. All 0 where no token counts.

    Raises:
        ValueError: An unknown name, a mask that is not bool [B, T], or a max_length below 1.
    """
    if loss_type not in DIVISORS:
        raise ValueError(f"loss_type must be one of {', '.join(DIVISORS)}; got {loss_type!r}")
    if mask.ndim != 2 or mask.dtype != torch.bool:
        raise ValueError(f"mask must be bool of shape [B, T]; got {mask.dtype} of shape {list(mask.shape)}")
    if max_length < 1:
        raise ValueError(f"max_length must be at least 1 token; got {max_length}")
    counted = mask.double()
    return counted / DIVISORS[loss_type](counted, max_length)


def _all_tokens(counted: Tensor, max_length: int) -> Tensor:
    return counted.sum().clamp(min=1)


def _own_tokens_times_rows(counted: Tensor, max_length: int) -> Tensor:
    return counted.sum(dim=1, keepdim=True).clamp(min=1) * len(counted)


def _constant(counted: Tensor, max_length: int) -> Tensor:
    return counted.new_tensor(len(counted) * max_length)


DIVISORS: Final[dict[LossType, Callable[[Tensor, int], Tensor]]] = {
    "dapo": _all_tokens,
    "grpo": _own_tokens_times_rows,
    "dr_grpo": _constant,
}
"""Every loss: name -> divisor of a token, from (1.0 where it counts [B, T], max_length), [B, 1] or one for all."""


def policy_loss(
    logprobs: Tensor,
    old_logprobs: Tensor,
    advantages: Tensor,
    weights: Tensor,
    *,
    clip_low: float,
    clip_high: float,
    kl: Tensor | None = None,
    kl_coef: float = 0.0,
) -> LossTerms:
    """Sum over tokens of weight * (clipped surrogate, as a loss, + kl_coef * KL).

    Per token, with ratio r = exp(logprobs - old_logprobs) and advantage A (PPO, arXiv 1707.06347, equation 7; the two
    bounds apart as in DAPO, arXiv 2503.14476, equation 8):

        -min(r * A, clip(r, 1 - clip_low, 1 + clip_high) * A) + kl_coef * kl

    Token by token, so any shape serves: [B, T] padded or [N] packed, as long as all tensors share it.

    Args:
        logprobs: Natural-log probability of each drawn token under the policy that is trained; carries the gradient.
        old_logprobs: The same as it was drawn; `logprobs.detach()` in a first, on-policy update. Takes no gradient.
        advantages: Advantage of the completion each token belongs to. Takes no gradient.
        weights: From `token_weights` over the WHOLE batch, cut like the other tensors.
        clip_low: How far the ratio may fall below 1, at least 0.
        clip_high: How far it may rise above 1, at least 0.
        kl: KL estimate per token (`grpo_agents.kl`), masked where `weights` is 0. None: no KL term.
        kl_coef: Weight of the KL term, at least 0: higher pulls harder to the reference.

    Returns:
        The loss and its metrics; tokens with weight 0 add exactly 0 to the loss and to every gradient.

    Raises:
        ValueError: Shapes that differ, or a negative clip_low, clip_high or kl_coef.
    """
    _check(clip_low, clip_high, kl_coef, [logprobs, old_logprobs, advantages, weights, *([] if kl is None else [kl])])
    counts = weights != 0
    # Cleaned before exp and not after: a NaN that `where` only hides afterwards returns in the gradient.
    ratio = torch.where(counts, logprobs - old_logprobs.detach(), 0.0).exp()
    advantages = torch.where(counts, advantages.detach(), 0.0)
    clipped = ratio.clamp(1 - clip_low, 1 + clip_high)
    policy = -(weights * torch.minimum(ratio * advantages, clipped * advantages)).sum()
    kl = torch.zeros_like(ratio) if kl is None else torch.where(counts, kl, 0.0)

    drawn_ratio = torch.where(counts, ratio.detach(), 0.0).flatten()
    return LossTerms(
        loss=policy + kl_coef * (weights * kl).sum(),
        policy=policy.detach(),
        kl=kl.detach().double().sum(),
        tokens=counts.sum(),
        masked=(~counts).sum(),
        clipped_low=((ratio < 1 - clip_low) & (advantages < 0)).sum(),
        clipped_high=((ratio > 1 + clip_high) & (advantages > 0)).sum(),
        ratio_max=torch.cat([drawn_ratio, drawn_ratio.new_zeros(1)]).max(),
    )


def _check(clip_low: float, clip_high: float, kl_coef: float, tensors: list[Tensor]) -> None:
    if min(clip_low, clip_high, kl_coef) < 0:
        raise ValueError(
            f"clip_low, clip_high and kl_coef must not be negative; got {clip_low}, {clip_high}, {kl_coef}"
        )
    shapes = [list(tensor.shape) for tensor in tensors]
    if any(shape != shapes[0] for shape in shapes):
        raise ValueError(f"logprobs, old_logprobs, advantages, weights and kl must have one shape; got {shapes}")
