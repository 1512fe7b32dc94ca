"""Which tokens the policy term counts: those of high entropy, and completions that the policy has not left too far."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from grpo_agents.losses.ratios import completions, needed


def high_entropy(entropies: Tensor, mask: Tensor, share: float) -> Tensor:
    """Mark the share of tokens with the highest entropy (arXiv 2506.01939: about 20 % carry the learning).

    The threshold is the (1 - share) quantile over all counted tokens, linear between two of them; a token at the
    threshold is kept, so ties may keep more. Taken over the WHOLE batch of an optimiser step: a part of it has another
    threshold.

    Args:
        entropies: Nats, any shape; anything where `mask` is False.
        mask: bool, same shape, True where a token counts.
        share: Above 0, up to 1, which keeps all.

    Returns:
        bool, same shape; False where `mask` is.

    Raises:
        ValueError: A share out of bounds, shapes that differ, a mask that is not bool, or a counted entropy that is not
            finite.
    """
    if not 0 < share <= 1:
        raise ValueError(f"share must be above 0 and at most 1; got {share}")
    if mask.dtype != torch.bool or mask.shape != entropies.shape:
        shapes = f"{mask.dtype} of shape {list(mask.shape)} against {list(entropies.shape)}"
        raise ValueError(f"mask must be bool and of the shape of entropies; got {shapes}")
    values = entropies.detach()[mask].double().sort().values  # torch.quantile takes 16 million values at most
    if not len(values):
        return mask.clone()
    if not values.isfinite().all():
        raise ValueError("the entropy of a counted token is not finite; mask the token out first")
    place = (1 - share) * (len(values) - 1)
    if math.isclose(place, round(place), abs_tol=1e-9):  # 0.3 * 10 is not 3 in floats, and would drop the token there
        place = round(place)
    below = math.floor(place)
    lower, upper = values[below], values[min(below + 1, len(values) - 1)]
    threshold = lower + (place - below) * (upper - lower)
    return mask & (torch.where(mask, entropies.detach(), 0.0).double() >= threshold)


def on_policy_enough(
    new: Tensor,
    sampled: Tensor,
    advantages: Tensor,
    threshold: float,
    *,
    rows: Tensor | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Mark the tokens that stay: all but bad completions which the policy has already left (arXiv 2512.02556, 3.1).

    A completion is left where the mean over its counted tokens of (log-prob as sampled - log-prob now) is above the
    threshold. Only its tokens with a negative advantage are dropped: to push away from what the policy no longer does
    teaches nothing and can do harm; good completions always stay. A mean that is not a number counts as left.

    Args:
        new: Log-probs under the policy now, [B, T] or packed [n].
        sampled: Log-probs as the tokens were drawn, same shape.
        advantages: Per token, same shape.
        threshold: Nats per token, above 0.
        rows: int64 [n], completion number of each token; a padded batch does without.
        mask: bool, False where a token does not count. None: all count.

    Returns:
        bool, same shape, for `policy_loss(keep=...)`; True where a token does not count.

    Raises:
        ValueError: A threshold that is not above 0, shapes that differ, no bool mask, or unknown completions.
    """
    if not threshold > 0:
        raise ValueError(f"threshold must be above 0 nats; got {threshold}")
    counts = torch.ones_like(new, dtype=torch.bool) if mask is None else mask
    shapes = [list(tensor.shape) for tensor in (new, sampled, advantages, counts)]
    if counts.dtype != torch.bool or any(shape != shapes[0] for shape in shapes):
        raise ValueError(f"new, sampled, advantages and a bool mask must have one shape; got {counts.dtype}, {shapes}")
    found = needed(completions(rows, counts), "off_policy_threshold")
    fallen = torch.where(counts, sampled.detach() - new.detach(), 0.0).double().flatten()
    stays = (found.mean(fallen) <= threshold).view(new.shape)
    return stays | ~(advantages.detach() < 0) | ~counts
