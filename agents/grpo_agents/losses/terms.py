"""What a loss reports: sums over tokens, so that the reports of all pieces of a batch add up to that of the whole."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class LossTerms:
    """A loss and what happened in it. Pieces of one batch add up: `a + b` is what both together would have given.

    All are tensors of one number, so that nothing waits for the device before it is read; all but `loss` are detached.

    Attributes:
        loss: To be minimised: policy term + kl_coef * KL term - entropy_coef * entropy term. float64, as the weights.
        policy: The policy term alone. On-policy it only shows how lengths and advantages fall together (under `grpo` it
            is 0), whatever the gradient: no sign of learning or of its lack.
        gradient_l1: Sum over tokens of the size of the policy term's slope in the token's log-prob: 0 says that this
            batch teaches nothing. 0 where gradients are off.
        kl: Sum of the KL estimates over counted tokens, nats, not times kl_coef; 0 without KL.
        old_kl: Sum over counted tokens of half the squared log ratio to the old policy, nats: k2, an estimate of how
            far the policy has moved since it drew them, by token at any ratio level.
        entropy: Sum of the entropies of counted tokens, nats; 0 where they are not given.
        tokens: Number of tokens that count (weight not 0).
        kept: Number of those that the policy term counts (`keep`, and a factor other than 0).
        masked: Number of tokens that do not count.
        units: What the clip counts are out of: counted tokens, or completions where the ratio is one per completion.
        clipped_low: Of these, those whose gradient is cut because the ratio fell below 1 - clip_low with advantage < 0.
        clipped_high: The same above 1 + clip_high with advantage > 0; under `cispo` those whose weight is cut there,
            whatever the sign.
        clipped_dual: Those whose gradient is cut by clip_dual, with advantage < 0.
        ratio_min: Smallest importance ratio of a counted token, at the loss's own level; infinite where none counts.
        ratio_max: The largest; 0 where none counts.
    """

    loss: Tensor
    policy: Tensor
    gradient_l1: Tensor
    kl: Tensor
    old_kl: Tensor
    entropy: Tensor
    tokens: Tensor
    kept: Tensor
    masked: Tensor
    units: Tensor
    clipped_low: Tensor
    clipped_high: Tensor
    clipped_dual: Tensor
    ratio_min: Tensor
    ratio_max: Tensor

    def __add__(self, other: LossTerms) -> LossTerms:
        both = {f.name: (getattr(self, f.name), getattr(other, f.name)) for f in dataclasses.fields(self)}
        together = {"ratio_min": torch.minimum, "ratio_max": torch.maximum}
        return LossTerms(**{name: together.get(name, torch.add)(*pair) for name, pair in both.items()})

    def detach(self) -> LossTerms:
        """Return the same numbers without the graph, to be kept after `loss.backward()`."""
        return dataclasses.replace(self, loss=self.loss.detach())

    def metrics(self) -> dict[str, float]:
        """Plain numbers for a log, read from the device at once.

        `kl`, `kl_to_old` and `entropy` are means over the counted tokens, the clip shares are out of `units`; all are 0
        where none counts.
        """
        names = [field.name for field in dataclasses.fields(self)]
        read = dict(zip(names, torch.stack([getattr(self, n).detach().double() for n in names]).tolist(), strict=True))
        tokens, units = max(read["tokens"], 1.0), read["units"] or 1.0
        return {
            "loss": read["loss"],
            "policy_loss": read["policy"],
            "gradient_l1": read["gradient_l1"],
            "kl": read["kl"] / tokens,
            "kl_to_old": read["old_kl"] / tokens,
            "entropy": read["entropy"] / tokens,
            "clip_low": read["clipped_low"] / units,
            "clip_high": read["clipped_high"] / units,
            "clip_dual": read["clipped_dual"] / units,
            "ratio_min": read["ratio_min"] if read["tokens"] else 0.0,
            "ratio_max": read["ratio_max"],
            "tokens": read["tokens"],
            "kept_tokens": read["kept"],
            "masked_tokens": read["masked"],
        }
