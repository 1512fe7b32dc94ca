"""The value loss of PPO: squared error to the returns, a weighted sum over tokens like the policy loss.

    weights = token_weights(mask, "dapo", max_length)      # 1 / tokens of the whole batch, once
    terms = value_loss(critic.values(...), old_values[rows], targets[rows], weights[rows], clip=0.2)
    (value_coef * terms.loss).backward()

As there, the mean is taken before the batch is cut, so the pieces of any split add up to the loss of the whole.
A token with weight 0 does not count: its numbers may be anything, NaN too.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class ValueTerms:
    """A value loss and what happened in it. Pieces of one batch add up: `a + b` is what both together would have given.

    All are tensors of one number, so that nothing waits for the device before it is read; all but `loss` are detached.

    Attributes:
        loss: To be minimised, not times value_coef. float64.
        squared_error: Sum over counted tokens of (value - target)^2, without clipping and without the half. float64.
        clipped: Number of counted tokens whose gradient is cut: the value moved by more than `clip` and is nearer to
            its target for it.
        tokens: Number of tokens that count (weight not 0).
    """

    loss: Tensor
    squared_error: Tensor
    clipped: Tensor
    tokens: Tensor

    def __add__(self, other: ValueTerms) -> ValueTerms:
        return ValueTerms(
            loss=self.loss + other.loss,
            squared_error=self.squared_error + other.squared_error,
            clipped=self.clipped + other.clipped,
            tokens=self.tokens + other.tokens,
        )

    def metrics(self) -> dict[str, float]:
        """Plain numbers for a log; error and clip share are means over the counted tokens, 0 where none counts."""
        tokens = max(int(self.tokens), 1)
        return {
            "value_loss": float(self.loss.detach()),
            "value_error": float(self.squared_error) / tokens,
            "value_clip": float(self.clipped) / tokens,
        }


def value_loss(new: Tensor, old: Tensor, targets: Tensor, weights: Tensor, *, clip: float) -> ValueTerms:
    """Sum over tokens of weight * half the squared error, or of the larger of two when clipped.

    Per token, with value v, old value o and target t:

        0.5 * max((v - t)^2, (clip(v, o - clip, o + clip) - t)^2)

    The practice of PPO's first code and not of its paper (arXiv 2005.12729, section 3). A value that has moved towards
    its target by more than `clip` gets no further gradient; one that moved away keeps its own. Where o is far from t
    compared with `clip`, this slows the critic down much: 0 switches it off.

    Args:
        new: [n] (or any shape that all share), the critic's values now; carries the gradient.
        old: Its values before this batch's first update. Takes no gradient.
        targets: The returns (`gae.returns`). Takes no gradient.
        weights: From `losses.token_weights` over the WHOLE batch, cut like the other tensors.
        clip: How far a value may move, in units of reward, at least 0; 0 for no limit.

    Returns:
        The loss and its metrics, computed in float64; tokens with weight 0 add exactly 0 to the loss and to every
        gradient.

    Raises:
        ValueError: Shapes that differ, or a negative clip.
    """
    _check([new, old, targets, weights], clip)
    counts = weights != 0
    # Cleaned first and not after: a NaN that `where` only hides afterwards returns in the gradient.
    value, start, target = (
        torch.where(counts, tensor.double(), 0.0) for tensor in (new, old.detach(), targets.detach())
    )
    error = (value - target) ** 2
    limited = (value.clamp(start - clip, start + clip) - target) ** 2 if clip else error
    cut = limited > error
    return ValueTerms(
        loss=0.5 * (weights.detach().double() * torch.where(cut, limited, error)).sum(),
        squared_error=error.detach().sum(),
        clipped=cut.sum(),
        tokens=counts.sum(),
    )


def _check(tensors: list[Tensor], clip: float) -> None:
    if not clip >= 0:
        raise ValueError(f"clip is {clip}, must be at least 0; 0 switches clipping off")
    shapes = [list(tensor.shape) for tensor in tensors]
    if any(shape != shapes[0] for shape in shapes):
        raise ValueError(f"new, old, targets and weights must have one shape; got {shapes}")
