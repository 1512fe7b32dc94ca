"""KL divergence to the reference policy, estimated from the log-prob of the drawn token alone.

With x = log reference - log policy of a token the policy drew (John Schulman, "Approximating KL divergence", 2020):

    k1 = -x                    unbiased, either sign; for the reward
    k2 = x^2 / 2               never negative, biased a little; for the loss
    k3 = exp(x) - x - 1        never negative, unbiased, low variance; for the loss

The value of an estimator and its gradient are two things. What pulls the policy, by expectation over drawn tokens:

    used as                        tokens from the policy               tokens from an old policy
    k1 off the reward              KL(policy || reference)              the same with a product or token ratio
    k1 in the loss                 0: refused                           refused
    k2 in the loss                 KL(policy || reference)              neither
    k2, ratio without gradient     KL(policy || reference)              KL(policy || reference)
    k2, ratio with gradient        E[k2], not a KL                      E[k2], not a KL
    k3 in the loss                 KL(reference || policy)              neither
    k3, ratio with gradient        KL(policy || reference)              KL(policy || reference)

Every line is a test. Per token means: the effect of a token on the KL of later tokens is not followed, except where
the ratio is the product over the completion, which gives the KL of whole completions. With a geometric mean as ratio no
line holds exactly.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor


def k1(logprobs: Tensor, ref_logprobs: Tensor, mask: Tensor) -> Tensor:
    """Log policy - log reference, to be taken off the reward: reward - kl_coef * k1. It carries no gradient.

    As part of the reward, its policy gradient is that of KL(policy || reference), exactly. In a loss its gradient would
    have mean 0, since the mean of grad log policy is 0: `kl_in_loss` refuses it.

    Args:
        logprobs: Natural-log probability of each drawn token under the policy, any shape.
        ref_logprobs: The same under the reference, same shape.
        mask: bool, same shape; False where a token does not count. The log-probs there may hold anything.

    Returns:
        In nats per token, shape of `logprobs`, detached; exactly 0 where `mask` is False.

    Raises:
        ValueError: Shapes that differ or a mask that is not bool.
    """
    return -_log_ratio(logprobs, ref_logprobs, mask).detach()


def k2(logprobs: Tensor, ref_logprobs: Tensor, mask: Tensor) -> Tensor:
    """Half the squared log ratio.

    With tokens drawn from the policy, the mean GRADIENT is that of KL(policy || reference), exactly, although the VALUE
    only approximates it (to second order). Arguments, result and errors as in `k3`.
    """
    return _log_ratio(logprobs, ref_logprobs, mask).square() / 2


def k3(logprobs: Tensor, ref_logprobs: Tensor, mask: Tensor) -> Tensor:
    """Schulman's k3 (DeepSeekMath, arXiv 2402.03300, equation 4).

    Its VALUE estimates KL(policy || reference), its GRADIENT does not: with tokens drawn from the policy, the mean
    gradient is that of KL(reference || policy), exactly. That still pulls to the reference, but covers the reference's
    modes instead of keeping to them. With the ratio it has the gradient that the name promises.

    Args:
        logprobs: Natural-log probability of each drawn token under the policy, any shape.
        ref_logprobs: The same under the reference, same shape; no gradient flows into it.
        mask: bool, same shape; False where a token does not count. The log-probs there may hold anything.

    Returns:
        In nats per token, shape of `logprobs`; exactly 0, with gradient exactly 0, where `mask` is False.

    Raises:
        ValueError: Shapes that differ or a mask that is not bool.
    """
    log_ratio = _log_ratio(logprobs, ref_logprobs, mask)
    return torch.expm1(log_ratio) - log_ratio


def with_ratio(kl: Tensor, ratio: Tensor) -> Tensor:
    """Weight an estimate by the importance ratio policy / old policy, through which the gradient flows too.

    k3 that way is DeepSeek-V3.2's (arXiv 2512.02556, section 3.1, equation 7; TRL's `use_bias_correction_kl`): with
    tokens drawn from the old policy its mean is KL(policy || reference), and its mean gradient that of just this. k2
    that way has the gradient of its own mean, half the mean squared log ratio, which is no KL, on-policy neither: give
    it `ratio.detach()`. The ratio is not clipped: a large one makes a large term.

    Args:
        kl: Estimate per token, any shape, 0 where a token does not count.
        ratio: Same shape, `losses.importance_ratio`: at the loss's own level, 1 where a token does not count.

    Returns:
        In nats per token, same shape.

    Raises:
        ValueError: Shapes that differ.
    """
    if kl.shape != ratio.shape:
        raise ValueError(f"kl and ratio must have one shape; got {list(kl.shape)} and {list(ratio.shape)}")
    return kl * ratio


def kl_in_loss(
    estimator: str, logprobs: Tensor, ref_logprobs: Tensor, mask: Tensor, ratio: Tensor | None = None
) -> Tensor:
    """KL term of a loss by name, weighted by a ratio in the one way that gives the gradient of KL(policy || reference).

    Args:
        estimator: `k2`, whose ratio is taken without its gradient, or `k3`, whose ratio is taken with it.
        logprobs: As in `k3`, and so are the next two.
        ref_logprobs: Under the reference.
        mask: Where a token counts.
        ratio: `losses.importance_ratio`; None for no correction.

    Returns:
        In nats per token, shape of `logprobs`.

    Raises:
        ValueError: `k1` or an unknown name, and as in `k3` and `with_ratio`.
    """
    if estimator == "k1":
        raise ValueError("k1 has a gradient of mean 0 in a loss and pulls nowhere: take it off the reward, or use k2")
    if estimator not in ("k2", "k3"):
        raise ValueError(f"estimator must be k2 or k3; got {estimator!r}")
    if estimator == "k2":
        kl = k2(logprobs, ref_logprobs, mask)
        return kl if ratio is None else with_ratio(kl, ratio.detach())
    kl = k3(logprobs, ref_logprobs, mask)
    return kl if ratio is None else with_ratio(kl, ratio)


def next_kl_coef(coef: float, measured: float, target: float, horizon: int) -> float:
    """Return the KL coefficient of the next step: coef * (1 + clip(measured / target - 1, -0.2, 0.2) / horizon).

    The proportional controller of Ziegler et al. (arXiv 1909.08593, section 2.2), whose gain K = 0.1 is 1 / horizon:
    horizon 10 is theirs. A step changes the coefficient by at most 0.2 / horizon of itself, `horizon` steps by about a
    fifth; at horizon 10 doubling takes at least 36 steps.

    Args:
        coef: Coefficient of this step, above 0: from 0 it could never rise.
        measured: Mean KL per token of this step, nats; k1 may give less than 0.
        target: KL to be steered to, nats per token, above 0.
        horizon: Steps, at least 1.

    Raises:
        ValueError: A value out of these bounds, or one that is not finite.
    """
    if not 0 < coef < math.inf or not 0 < target < math.inf or not 1 <= horizon < math.inf:
        raise ValueError(f"coef and target must be above 0, horizon at least 1; got {coef}, {target} and {horizon}")
    if not math.isfinite(measured):
        raise ValueError(f"the measured KL is {measured}: no step can be taken on it, leave the coefficient as it is")
    return coef * (1 + min(max(measured / target - 1, -0.2), 0.2) / horizon)


def _log_ratio(logprobs: Tensor, ref_logprobs: Tensor, mask: Tensor) -> Tensor:
    """Return log reference - log policy, 0 where masked. Cleaned here, before any exp or product: a NaN that `where`
    only hides afterwards returns in the gradient.
    """
    shapes = [list(tensor.shape) for tensor in (mask, logprobs, ref_logprobs)]
    if mask.dtype != torch.bool or any(shape != shapes[0] for shape in shapes):
        raise ValueError(f"mask must be bool and all shapes equal; got {mask.dtype} and shapes {shapes}")
    return torch.where(mask, ref_logprobs.detach() - logprobs, 0.0)
