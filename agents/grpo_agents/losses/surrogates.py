"""Surrogates: what is maximised at each token, given how far the ratio has moved and what the advantage is.

All take the same record and return a value per token, to be weighted, summed and negated. Tokens that do not count
come with ratio 1 and advantage 0. Where a bound acts, the ratio is replaced BEFORE exp, so that a ratio too large for a
float has gradient 0 and not NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

import torch
from torch import Tensor

from grpo_agents.config.objective import Objective
from grpo_agents.losses.ratios import Completions, needed

Bound: TypeAlias = float | Tensor

LOWEST_LOG: Final = math.log(1e-8)
HIGHEST_LOG: Final = 20.0
"""Between these the log of `kernel`'s weight is kept (as TRL 1.16 does), nats: outside, no term of it is a number."""

FLAT_LOG: Final = 50.0
"""Log ratio from which on `soft`'s gate is flat to the last bit, nats."""


@dataclass(frozen=True)
class Tokens:
    """n tokens as a surrogate reads them, all float64 [n].

    Attributes:
        logprobs: Under the policy, with gradient; 0 where a token does not count.
        log_ratio: To the old policy, with gradient, by token.
        level: The log ratio that stands for each token: `log_ratio`, or its mean or sum over the completion.
        advantages: 0 where a token does not count.
        clip_low: How far a ratio may fall below 1, one for all or [n].
        clip_high: How far it may rise.
        factor: Correction for the sampler, 0 for a token that is masked out; None for none.
        completions: Sums over completions; None where they are unknown.
    """

    logprobs: Tensor
    log_ratio: Tensor
    level: Tensor
    advantages: Tensor
    clip_low: Bound
    clip_high: Bound
    factor: Tensor | None
    completions: Completions | None


@dataclass(frozen=True)
class Outcome:
    """What a surrogate made of the tokens.

    Attributes:
        value: To be maximised, per token [n], with gradient; not yet times the sampler's factor.
        ratio: The importance ratio it used, [n], detached.
        low: bool [n], where the lower bound took the gradient; None where there is no such bound.
        high: Where the upper one did, or cut the weight.
        dual: Where clip_dual did.
        corrected: Whether the sampler's factor is already in it.
    """

    value: Tensor
    ratio: Tensor
    low: Tensor | None = None
    high: Tensor | None = None
    dual: Tensor | None = None
    corrected: bool = False


Surrogate: TypeAlias = Callable[[Tokens, Objective], Outcome]


def clipped(tokens: Tokens, objective: Objective) -> Outcome:
    """min(r * A, clip(r, 1 - clip_low, 1 + clip_high) * A), PPO's (arXiv 1707.06347, equation 7).

    The two bounds apart as in DAPO (arXiv 2503.14476, equation 8). With clip_dual = c > 0 and A < 0 it is
    max(that, c * A), dual-clip PPO (arXiv 1912.09729): a bad token that has become far more likely pushes
    no harder than c, and has no gradient beyond. Above 1 + clip_high this equals TRL's `delta`, which bounds the ratio
    before the minimum is taken.
    """
    advantages = tokens.advantages
    ratio = tokens.level.detach().exp()
    lowest, highest = 1 - tokens.clip_low, 1 + tokens.clip_high
    high = (advantages > 0) & (ratio > highest)
    low = (advantages < 0) & (ratio < lowest)
    dual = (advantages < 0) & (ratio > (objective.clip_dual or math.inf))
    bound = torch.where(
        high, highest, torch.where(low, lowest, torch.where(dual, objective.clip_dual, ratio.new_ones(())))
    )
    held = high | low | dual | (advantages == 0)  # without advantage an infinite ratio would be NaN
    moving = torch.where(held, 0.0, tokens.level).exp()
    return Outcome(torch.where(held, bound, moving) * advantages, ratio, low, high, dual)


def weighted(tokens: Tokens, objective: Objective) -> Outcome:
    """min(r, 1 + clip_high), without gradient, times A * log policy: CISPO (MiniMax-M1, arXiv 2506.13585).

    Every token keeps a gradient; only its weight is bounded, and only from above. clip_low is not read. TRL's
    `epsilon_high` is the bound itself, 1 + clip_high here.
    """
    ratio = tokens.level.detach().exp()
    high = (ratio > 1 + tokens.clip_high) & (tokens.advantages != 0)
    weight = torch.where(ratio > 1 + tokens.clip_high, 1 + tokens.clip_high, ratio)
    return Outcome(weight * tokens.advantages * tokens.logprobs, ratio, high=high)


def soft(tokens: Tokens, objective: Objective) -> Outcome:
    """Soft gate 4 / tau * sigmoid(tau * (r - 1)) * A in place of a clip: SAPO (arXiv 2511.20347).

    tau is sapo_temperature_positive where A > 0, sapo_temperature_negative elsewhere. At r = 1 its slope in r is A, as
    without a gate; it falls smoothly to both sides. clip_low and clip_high are not read.
    """
    good = tokens.level.new_full((), objective.sapo_temperature_positive)
    tau = torch.where(tokens.advantages > 0, good, objective.sapo_temperature_negative)
    moved = tokens.level.clamp(max=FLAT_LOG).exp() - 1
    return Outcome(4 / tau * torch.sigmoid(tau * moved) * tokens.advantages, tokens.level.detach().exp())


def geometric(tokens: Tokens, objective: Objective) -> Outcome:
    """Geometric mean of the token ratios, each clipped in log space by the sign of A, times A: GMPO (arXiv 2507.20673).

    Where A > 0 a log ratio counts at most clip_high, where A < 0 at least -clip_low; a token beyond has no gradient,
    the others of its completion keep theirs. The paper's bounds are e^-0.4 and e^0.4: clip_low = clip_high = 0.4.
    """
    found = needed(tokens.completions, "loss gmpo")
    high = (tokens.advantages > 0) & (tokens.log_ratio > tokens.clip_high)
    low = (tokens.advantages < 0) & (tokens.log_ratio < -tokens.clip_low)
    zero = tokens.log_ratio.new_zeros(())
    logs = torch.where(high, zero + tokens.clip_high, torch.where(low, zero - tokens.clip_low, tokens.log_ratio))
    mean = found.mean(logs)
    moving = torch.where(tokens.advantages == 0, 0.0, mean).exp()  # an infinite ratio times 0 would be NaN
    return Outcome(moving * tokens.advantages, mean.detach().exp(), low, high)


def kernel(tokens: Tokens, objective: Objective) -> Outcome:
    """phi(w), without gradient, times A * log policy: VESPO (arXiv 2602.10693).

    w is the ratio of the whole completion's probability, and phi(w) = w^k * exp(lambda * (1 - w)), so phi(1) = 1; k and
    lambda are the first of vespo_shape and vespo_decay where A >= 0, the second elsewhere. The sampler's factor is
    multiplied into w: once where objective.correction is one per completion, token by token otherwise. A token that the
    correction masks (factor 0) leaves w and the policy term; the completion's other tokens stay.
    """
    found = needed(tokens.completions, "loss vespo")
    log_ratio = tokens.log_ratio.detach()
    kept = found.counts
    correction = torch.zeros_like(log_ratio)
    if tokens.factor is not None:
        kept = kept & (tokens.factor > 0)
        together = found.mean if objective.correction.startswith("sequence") else found.total
        correction = together(torch.where(kept, tokens.factor, 1.0).log())
    log_weight = (found.total(torch.where(kept, log_ratio, 0.0)) + correction).clamp(LOWEST_LOG, HIGHEST_LOG)
    good = tokens.advantages >= 0
    k, decay = (
        torch.where(good, log_weight.new_full((), pair[0]), pair[1])
        for pair in (objective.vespo_shape, objective.vespo_decay)
    )
    weight = log_weight.exp()
    phi = (k * log_weight + decay * (1 - weight)).exp()
    value = torch.where(kept, phi * tokens.advantages, 0.0) * tokens.logprobs
    return Outcome(value, weight, corrected=True)


def plain(tokens: Tokens, objective: Objective) -> Outcome:
    """A * log policy: REINFORCE, without a ratio, so exact on-policy only. The ratio is reported all the same."""
    return Outcome(tokens.advantages * tokens.logprobs, tokens.level.detach().exp())
