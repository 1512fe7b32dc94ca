"""What is maximised: how rewards become advantages, how advantages become a loss, and what holds the policy back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

PresetName: TypeAlias = Literal[
    "", "deepseekmath", "dapo", "dr_grpo", "gspo", "cispo", "lite_ppo", "rloo", "reinforce", "orz", "vapo"
]
LossName: TypeAlias = Literal[
    "dapo", "grpo", "bnpo", "dr_grpo", "cispo", "sapo", "gspo", "gmpo", "luspo", "vespo", "reinforce"
]
Average: TypeAlias = Literal["auto", "token", "minibatch_token", "sequence", "constant", "sequence_sum"]
Ratio: TypeAlias = Literal["auto", "token", "sequence", "product"]
Scale: TypeAlias = Literal["group", "batch", "none", "whiten"]
Baseline: TypeAlias = Literal["mean", "leave_one_out", "stratum", "shrinkage", "batch", "none"]
OF_STRATA: Final[tuple[Baseline, ...]] = ("stratum", "shrinkage")
"""Baselines that look at other prompts of the stratum, and so need strata."""

SPREADLESS: Final[tuple[Baseline, ...]] = (*OF_STRATA, "batch", "none")
"""Baselines under which a group of equal rewards still has an advantage: its own std is no unit for it."""

Correction: TypeAlias = Literal["none", "token_truncate", "token_mask", "sequence_truncate", "sequence_mask"]


@dataclass(frozen=True)
class Objective:
    """What is maximised."""

    loss: LossName = "dapo"
    """The surrogate and how tokens are averaged; dapo weighs every token of the batch alike (arXiv 2503.14476)."""
    average: Average = "auto"
    """Another mean than the loss's own: over tokens, over the tokens of a minibatch, over completions, over a
    constant, or the sum within a completion."""
    ratio: Ratio = "auto"
    """Another importance ratio than the loss's own: per token, the completion's geometric mean, or its product."""
    scale: Scale = "batch"
    """What centred rewards are divided by; batch is the most robust in the comparison of arXiv 2508.08221."""
    baseline: Baseline = "mean"
    """What is subtracted: the group's mean, the mean of its other completions (RLOO, arXiv 2402.14740), that of the
    stratum's other prompts, both weighed by how sure they are, the batch's mean, or nothing."""
    rewards: Literal["sum_then_normalise", "normalise_then_sum"] = "sum_then_normalise"
    """Whether several rewards are summed first, or each is normalised in its group first (GDPO, arXiv 2601.05242)."""
    credit: Literal["episode", "turn"] = "episode"
    """Of episodes of several turns: whether each token is credited with the whole episode's return, or with what was
    paid from its own turn on, compared with the same turn of the group's other rows."""
    turn_discount: float = 1.0
    """Factor on a reward for each turn that it comes later; below 1 a sooner success is worth more."""
    reward_weights: dict[str, float] = field(default_factory=dict)
    """Weight of each component of info["rewards"], for normalise_then_sum; empty weighs all alike."""
    clip_low: float = 0.2
    """The ratio is clipped below 1 - clip_low (PPO's value); gmpo bounds the log ratio, and losses without clip read it
    not."""
    clip_high: float = 0.28
    """The ratio is clipped above 1 + clip_high; wider than below, so that rare tokens can grow (arXiv 2503.14476).
    cispo takes 1 + clip_high as the most that a token's weight may be."""
    clip_dual: float = 0.0
    """The most a ratio may count where the advantage is negative (arXiv 1912.09729), above 1 + clip_high; 0 for off."""
    sapo_temperature_positive: float = 1.0
    """Steepness of sapo's soft gate where the advantage is positive (arXiv 2511.20347)."""
    sapo_temperature_negative: float = 1.05
    """The same where it is not; steeper, so that off-policy mistakes push less."""
    vespo_shape: tuple[float, float] = (2.0, 3.0)
    """Power k of vespo's weight w^k exp(lambda (1 - w)), where the advantage is at least 0, and below."""
    vespo_decay: tuple[float, float] = (3.0, 2.0)
    """Its decay lambda, likewise."""
    kl_coef: float = 0.0
    """Weight of the KL term to the reference policy; 0 loads no reference (DAPO, Dr. GRPO).

    Above 0, weights move also at steps whose rewards say nothing."""
    kl_estimator: Literal["k1", "k2", "k3"] = "k3"
    """k1 is taken off the reward, k2 and k3 are added to the loss; which gradient each has: docs/objectives.md."""
    kl_ratio_correction: bool = True
    """Whether the importance ratio weighs it in the loss: k3 with the ratio's gradient, k2 without. Both then have the
    gradient of KL(policy || reference), off-policy too."""
    kl_target: float = 0.0
    """Mean KL per token, in nats, that an adaptive kl_coef is steered to (arXiv 1909.08593); 0 keeps it as it is."""
    kl_horizon: int = 10
    """A step changes kl_coef by at most 0.2 / kl_horizon of itself; 10 is the gain of 0.1 of arXiv 1909.08593 and takes
    at least 36 steps to double it."""
    entropy_coef: float = 0.0
    """Weight of the mean entropy over tokens, added to what is maximised; costs a pass over the vocabulary."""
    entropy_share: float = 1.0
    """Share of tokens, those of highest entropy, that the policy term counts (arXiv 2506.01939); 1 counts all."""
    correction: Correction = "none"
    """How the gap between sampler and trainer is corrected; none takes the sampler's log-probs as the old policy's,
    which is exact where both compute the same."""
    correction_high: float = 2.0
    """The most that a correcting ratio may be: cut there, or masked beyond it."""
    correction_low: float = 0.0
    """The least, for the masks; truncation cuts to it."""
    off_policy_threshold: float = 0.0
    """Completions with a negative advantage whose mean log-prob fell by more than so many nats since they were drawn
    leave the policy term (DeepSeek-V3.2, arXiv 2512.02556); 0 keeps all."""
