"""KL divergence to the reference policy, estimated from the log-prob of the drawn token alone.

Both functions give one number per token, to be added to the loss times `kl_coef` (`losses.policy_loss`). They have the
same expected value on-policy, KL(policy || reference), but NOT the same gradient: read the docstrings before choosing.

With x = log reference - log policy of a token the policy drew (John Schulman, "Approximating KL divergence", 2020):

    k3 = exp(x) - x - 1        never negative, unbiased, low variance

Per token means: the effect of a token on the KL of later tokens is not followed.
"""

from __future__ import annotations

import torch
from torch import Tensor


def k3(logprobs: Tensor, ref_logprobs: Tensor, mask: Tensor) -> Tensor:
    """Schulman's k3 (DeepSeekMath, arXiv 2402.03300, equation 4).

    Its VALUE estimates KL(policy || reference), its GRADIENT does not: with tokens drawn from the policy, the mean
    gradient is that of KL(reference || policy), exactly. That still pulls to the reference, but covers the reference's
    modes instead of keeping to them. `k3_corrected` has the gradient that the name promises.

    Args:
        logprobs: Natural-log probability of each drawn token under the policy, any shape.
        ref_logprobs: The same under the reference, same shape; no gradient flows into it.
        mask: bool, same shape; False where a token does not count. The log-probs there may hold anything.

    Returns:
        In nats per token, shape of `logprobs`; exactly 0, with gradient exactly 0, where `mask` is False.

    Raises:
        ValueError: Shapes that differ or a mask that is not bool.
    """
    _check(mask, logprobs, ref_logprobs)
    # Cleaned before exp, not after: a NaN that `where` only hides afterwards returns in the gradient.
    log_ratio = torch.where(mask, ref_logprobs.detach() - logprobs, 0.0)
    return torch.expm1(log_ratio) - log_ratio


def k3_corrected(logprobs: Tensor, old_logprobs: Tensor, ref_logprobs: Tensor, mask: Tensor) -> Tensor:
    """k3 times the importance ratio policy / old policy, through which the gradient flows too.

    DeepSeek-V3.2 (arXiv 2512.02556, section 3.1, equation 7); `use_bias_correction_kl` in TRL 1.16, where it is the
    default. With tokens drawn from the old policy its mean is KL(policy || reference) and its mean gradient is the
    gradient of just that, off-policy too. The ratio is not clipped: a large one makes a large term.

    Args:
        logprobs: Natural-log probability of each drawn token under the policy, any shape.
        old_logprobs: The same as it was drawn, same shape; no gradient flows into it.
        ref_logprobs: The same under the reference, same shape; no gradient flows into it.
        mask: bool, same shape; False where a token does not count. The log-probs there may hold anything.

    Returns:
        In nats per token, shape of `logprobs`; exactly 0, with gradient exactly 0, where `mask` is False.

    Raises:
        ValueError: Shapes that differ or a mask that is not bool.
    """
    _check(mask, logprobs, old_logprobs, ref_logprobs)
    ratio = torch.where(mask, logprobs - old_logprobs.detach(), 0.0).exp()
    return ratio * k3(logprobs, ref_logprobs, mask)


def _check(mask: Tensor, *logprobs: Tensor) -> None:
    shapes = [list(tensor.shape) for tensor in (mask, *logprobs)]
    if mask.dtype != torch.bool or any(shape != shapes[0] for shape in shapes):
        raise ValueError(f"mask must be bool and all shapes equal; got {mask.dtype} and shapes {shapes}")
