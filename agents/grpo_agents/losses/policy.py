"""The policy loss: a weighted sum over tokens of surrogate, KL and entropy, with what happened in it.

A token with weight 0 does not count: its log-probs, advantage, KL and entropy may hold anything, NaN and inf too.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from grpo_agents.config.objective import Objective
from grpo_agents.losses.forms import Form, form_of
from grpo_agents.losses.ratios import Completions, at_level, completions
from grpo_agents.losses.surrogates import Bound, Outcome, Tokens
from grpo_agents.losses.terms import LossTerms


def policy_loss(
    logprobs: Tensor,
    old_logprobs: Tensor,
    advantages: Tensor,
    weights: Tensor,
    *,
    objective: Objective,
    rows: Tensor | None = None,
    clip_low: Bound | None = None,
    clip_high: Bound | None = None,
    kl: Tensor | None = None,
    kl_coef: float = 0.0,
    factor: Tensor | None = None,
    keep: Tensor | None = None,
    entropies: Tensor | None = None,
    entropy_weights: Tensor | None = None,
) -> LossTerms:
    """Sum over tokens of weight * (kl_coef * KL - factor * surrogate), minus entropy_coef * the entropy bonus.

    All tensors have one shape: padded [B, T], a row per completion, or packed [n]. Any split into WHOLE completions
    adds up to the loss of all. Only logprobs, kl and entropies take a gradient.

    Args:
        logprobs: Natural-log probability of each drawn token under the policy that is trained.
        old_logprobs: The same as it was drawn; `logprobs.detach()` in a first, on-policy update.
        advantages: Advantage of each token, as a rule that of its completion.
        weights: From `token_weights` over the WHOLE batch, cut like the rest: the average, and what counts at all.
        objective: The loss and its numbers; its `average` is already in the weights.
        rows: int64 [n], completion number of each packed token: any numbers, in any order.
        clip_low: In place of the objective's, for all or per token (a tensor's values are not checked).
        clip_high: Likewise.
        kl: KL estimate per token (`grpo_agents.kl`).
        kl_coef: Weight of the KL term: higher pulls harder to the reference.
        factor: Sampler correction per token (`sampler_ratio`), for the policy term only.
        keep: bool; False takes a token out of the policy term. It stays in the divisor, the ratio and the KL term.
        entropies: Entropy of the policy at each token, nats.
        entropy_weights: Their weights in the bonus: `token_weights(mask, "dapo", 1)` for the mean over tokens.

    Returns:
        The loss and its metrics; tokens with weight 0 add exactly 0 to the loss and to every gradient.

    Raises:
        ValueError: Shapes that differ, negative numbers, a coefficient without its tensors, an override that the loss
            does not have, `rows` missing where the ratio needs them, a vespo factor under correction "none".
    """
    numbers = {"clip_low": clip_low, "clip_high": clip_high, "kl_coef": kl_coef}
    extras = {"kl": kl, "factor": factor, "keep": keep, "entropies": entropies, "entropy_weights": entropy_weights}
    _check(objective, numbers, extras)
    _check_shapes(logprobs, {"old_logprobs": old_logprobs, "advantages": advantages, "weights": weights})
    _check_shapes(logprobs, numbers | extras)
    low = objective.clip_low if clip_low is None else clip_low
    high = objective.clip_high if clip_high is None else clip_high
    tokens = _tokens(logprobs, old_logprobs, advantages, weights != 0, (low, high), factor, rows, form_of(objective))
    return _terms(tokens, objective, logprobs, weights, extras, kl_coef)


def _terms(
    tokens: Tokens,
    objective: Objective,
    logprobs: Tensor,
    weights: Tensor,
    extras: dict[str, Tensor | None],
    kl_coef: float,
) -> LossTerms:
    flat = weights.flatten()
    counts, form = flat != 0, form_of(objective)
    outcome = form.surrogate(tokens, objective)
    kept = counts if extras["keep"] is None else counts & extras["keep"].flatten()
    value = outcome.value
    if tokens.factor is not None:
        kept = kept & (tokens.factor != 0)
        value = value if outcome.corrected else value * tokens.factor
    policy = -(flat * torch.where(kept, value, 0.0)).sum()
    kl = _cleaned(extras["kl"], flat)
    loss = policy + kl_coef * (flat * kl).sum() if kl_coef else policy
    if objective.entropy_coef and extras["entropy_weights"] is not None:
        share = extras["entropy_weights"].flatten()
        loss = loss - objective.entropy_coef * (share * _cleaned(extras["entropies"], share)).sum()
    return LossTerms(
        loss=loss,
        policy=policy.detach(),
        gradient_l1=_slopes(policy, logprobs),
        kl=kl.detach().sum(),
        old_kl=tokens.log_ratio.detach().square().sum() / 2,
        entropy=_cleaned(extras["entropies"], flat).detach().sum(),
        kept=kept.sum(),
        **_counted(outcome, counts, tokens.completions if form.ratio != "token" else None),
    )


def importance_ratio(
    logprobs: Tensor, old_logprobs: Tensor, weights: Tensor, objective: Objective, rows: Tensor | None = None
) -> Tensor:
    """Importance ratio of each token at the loss's own level, before any clip: what a KL term is weighted by.

    By token for gmpo, vespo and reinforce, whose policy term has no such level.

    Args:
        logprobs: Under the policy, [B, T] or [n]; the ratio carries its gradient.
        old_logprobs: As drawn, same shape. Takes no gradient.
        weights: From `token_weights`; 0 where a token does not count.
        objective: Its loss and ratio are read.
        rows: As in `policy_loss`.

    Returns:
        float64, shape of `logprobs`; exactly 1, without gradient, where a token does not count.

    Raises:
        ValueError: Shapes that differ, or completions that are needed and unknown.
    """
    form = form_of(objective)
    _check_shapes(logprobs, {"old_logprobs": old_logprobs, "weights": weights})
    counts = weights != 0
    log_ratio = torch.where(counts, logprobs - old_logprobs.detach(), 0.0).double().flatten()
    level = at_level(log_ratio, completions(rows, counts), form.ratio)
    return torch.where(counts.flatten(), level, 0.0).exp().view(logprobs.shape)


def _tokens(
    logprobs: Tensor,
    old_logprobs: Tensor,
    advantages: Tensor,
    counts: Tensor,
    clip: tuple[Bound, Bound],
    factor: Tensor | None,
    rows: Tensor | None,
    form: Form,
) -> Tokens:
    # Cleaned before exp and products, not after: a NaN that `where` only hides afterwards returns in the gradient.
    log_ratio = torch.where(counts, logprobs - old_logprobs.detach(), 0.0).double().flatten()
    found = completions(rows, counts)
    low, high = (torch.where(counts, b, 0.0).flatten() if isinstance(b, Tensor) else b for b in clip)
    return Tokens(
        logprobs=torch.where(counts, logprobs, 0.0).double().flatten(),
        log_ratio=log_ratio,
        level=at_level(log_ratio, found, form.ratio),
        advantages=torch.where(counts, advantages.detach(), 0.0).double().flatten(),
        clip_low=low,
        clip_high=high,
        factor=None if factor is None else torch.where(counts, factor.detach(), 0.0).double().flatten(),
        completions=found,
    )


def _cleaned(values: Tensor | None, weights: Tensor) -> Tensor:
    """Return values [n] in float64, 0 where their weight is 0, or zeros for None."""
    if values is None:
        return torch.zeros_like(weights, dtype=torch.float64)
    return torch.where(weights != 0, values.flatten(), 0.0).double()


def _slopes(policy: Tensor, logprobs: Tensor) -> Tensor:
    """Return the sum of |d policy / d logprobs|: back through the loss only, not through the model."""
    if not policy.requires_grad:
        return policy.new_zeros(())
    (gradient,) = torch.autograd.grad(policy, logprobs, retain_graph=True)
    return gradient.double().abs().sum()


def _counted(outcome: Outcome, counts: Tensor, found: Completions | None) -> dict[str, Tensor]:
    """Count tokens, or, where one ratio stands for a completion, completions: a token is 1 / length of one."""
    unit = counts.double() if found is None else counts / found.length.clamp(min=1)
    clips = {"clipped_low": outcome.low, "clipped_high": outcome.high, "clipped_dual": outcome.dual}
    return {
        "tokens": counts.sum(),
        "masked": (~counts).sum(),
        "units": unit.sum(),
        **{name: unit.new_zeros(()) if acts is None else (acts * unit).sum() for name, acts in clips.items()},
        "ratio_min": torch.cat(
            [torch.where(counts, outcome.ratio, torch.inf), outcome.ratio.new_full((1,), torch.inf)]
        ).min(),
        "ratio_max": torch.cat([torch.where(counts, outcome.ratio, 0.0), outcome.ratio.new_zeros(1)]).max(),
    }


def _check(objective: Objective, numbers: dict[str, Bound | None], extras: dict[str, Tensor | None]) -> None:
    own = {"objective." + name: getattr(objective, name) for name in ("clip_low", "clip_high", "entropy_coef")}
    for name, number in (own | numbers).items():
        # Bounds per token are not looked into: that would wait for the device.
        if not (number is None or isinstance(number, Tensor) or number >= 0):
            raise ValueError(f"{name} must not be negative; got {number}")
    if numbers["kl_coef"] and extras["kl"] is None:
        raise ValueError(f"kl_coef is {numbers['kl_coef']} but no kl is given: pass it per token, or take kl_coef 0")
    if objective.entropy_coef and (extras["entropies"] is None or extras["entropy_weights"] is None):
        raise ValueError("an entropy_coef above 0 needs entropies and entropy_weights, one per token")
    if extras["factor"] is not None and objective.loss == "vespo" and objective.correction == "none":
        raise ValueError("vespo takes the factor into its weight: say by objective.correction what kind it is")
    if (keep := extras["keep"]) is not None and keep.dtype != torch.bool:
        raise ValueError(f"keep must be bool; got {keep.dtype}")


def _check_shapes(logprobs: Tensor, given: Mapping[str, Tensor | Bound | None]) -> None:
    for name, tensor in given.items():
        if isinstance(tensor, Tensor) and tensor.shape != logprobs.shape:
            shapes = f"{list(tensor.shape)} against {list(logprobs.shape)}"
            raise ValueError(f"{name} must have the shape of logprobs, one number per token; got {shapes}")
