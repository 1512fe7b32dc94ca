"""What a run's options may be, one by one and together: contradictions are told before anything is sampled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grpo_agents.config import bounds
from grpo_agents.config.objective import OF_STRATA, SPREADLESS
from grpo_gym.errors import InvalidValueError, UnknownNameError
from grpo_gym.reward import LONGEST_LIMIT

if TYPE_CHECKING:
    from grpo_agents.config.objective import Objective
    from grpo_agents.config.records import Strata, TrainConfig

CATEGORIES = ("task", "tier")
NUMBERS = ("prompt_tokens", "pass_rate")
KEYS = (*CATEGORIES, *NUMBERS)
"""What strata may be told apart by."""

OF_THE_ANSWER = ("completion", "length", "reward", "response", "answer", "token", "output", "generat", "correct")
"""Words of keys that would look at what was just sampled."""

WHY_NOT_THE_ANSWER = (
    "a stratum may depend on the prompt and on past statistics only: telling completions apart by what was just "
    "sampled makes the baseline depend on the action, and what separates the strata is then never learned"
)


def check(config: TrainConfig) -> None:
    """Raise InvalidValueError for the first value out of bounds, or the first contradiction."""
    _check_numbers(config)
    _check_loss(config.objective)
    _check_rewards(config.objective)
    _check_keys(config.strata)
    _check_strata(config.strata)
    _check_together(config)


def _check_numbers(config: TrainConfig) -> None:
    bounds.at_least(config, 0, "steps", "threads", "sampling.temperature", "evaluation.every")
    bounds.at_least(config, 0, "objective.clip_low", "objective.clip_high", "objective.clip_dual", "objective.kl_coef")
    bounds.at_least(config, 0, "objective.kl_target", "objective.entropy_coef", "objective.off_policy_threshold")
    bounds.at_least(config, 0, "objective.correction_high", "objective.correction_low")
    bounds.at_least(config, 1, "objective.kl_horizon")
    bounds.at_least(config, 0, "sampling.max_turns", "sampling.max_seconds", "lora.rank", "lora.alpha")
    bounds.at_least(config, 0, "selection.refill_rounds", "selection.overlong_buffer", "selection.overlong_penalty")
    bounds.at_least(config, 1, "selection.retire_after", "selection.peek_rounds")
    bounds.at_least(config, 0, "strata.grow_every", "strata.hysteresis", "strata.balance_coef", "strata.worst_coef")
    bounds.at_least(config, 1, "strata.count", "strata.refit_every", "strata.min_count")
    bounds.at_least(config, 0, "reference.sync_every", "critic.value_coef", "critic.value_clip", "critic.warmup_steps")
    bounds.at_least(config, 0, "critic.learning_rate", "critic.length_adaptive")
    bounds.at_least(config, 0, "optimisation.learning_rate", "optimisation.warmup_steps", "optimisation.weight_decay")
    bounds.at_least(config, 0, "optimisation.beta1", "optimisation.beta2")
    bounds.at_least(config, 1, "prompts", "sampling.max_tokens", "sampling.batch_rows")
    bounds.at_least(config, 1, "optimisation.updates_per_batch", "optimisation.minibatches")
    bounds.at_least(config, 1, "optimisation.token_budget", "evaluation.test_problems", "evaluation.val_problems")
    bounds.at_least(config, 1, "keeping.checkpoint_every", "keeping.keep_last")
    bounds.at_least(config, 2 if config.algo == "grpo" else 1, "group_size")
    bounds.above_0(config, "sampling.temperature", "optimisation.max_grad_norm", "env_seconds")
    bounds.at_most(config, LONGEST_LIMIT, "env_seconds")
    bounds.above_0(config, "objective.sapo_temperature_positive", "objective.sapo_temperature_negative")
    bounds.at_least(config, 0, "objective.sapo_temperature_positive", "objective.sapo_temperature_negative")
    bounds.below_1(config, "optimisation.beta1", "optimisation.beta2")
    bounds.share(config, "objective.entropy_share", "reference.sync_mix", "selection.retire_at")
    bounds.share(config, "objective.turn_discount")
    bounds.share(config, "critic.discount", "critic.gae_lambda", "critic.critic_lambda")
    bounds.tier(config.tier)


def _check_loss(objective: Objective) -> None:
    if objective.clip_dual and objective.clip_dual <= 1 + objective.clip_high:
        raise InvalidValueError(
            f"objective.clip_dual is {objective.clip_dual}, must be above 1 + objective.clip_high "
            f"({1 + objective.clip_high:g}), or 0 for none"
        )
    if objective.ratio != "auto" and objective.loss in ("gmpo", "vespo", "reinforce"):
        raise InvalidValueError(
            f"objective.loss {objective.loss} has its own ratio or none: leave objective.ratio at auto"
        )
    if objective.clip_dual and objective.loss in ("cispo", "sapo", "gmpo", "vespo", "reinforce"):
        raise InvalidValueError(f"objective.loss {objective.loss} clips in its own way or not: leave clip_dual at 0")
    if objective.correction != "none" and objective.correction_high < 1:
        raise InvalidValueError(
            f"objective.correction_high is {objective.correction_high}, must be at least 1: where sampler and trainer "
            "agree the ratio is 1"
        )
    if objective.correction != "none" and objective.correction_high <= objective.correction_low:
        raise InvalidValueError("objective.correction_high must be above objective.correction_low")
    if objective.entropy_share == 0:
        raise InvalidValueError("objective.entropy_share is 0, which leaves no token to learn from; 1 counts all")
    bounds.each_at_least("objective.vespo_shape", 0, objective.vespo_shape)
    bounds.each_at_least("objective.vespo_decay", 0, objective.vespo_decay)


def _check_rewards(objective: Objective) -> None:
    if objective.baseline in SPREADLESS and objective.scale == "group":
        raise InvalidValueError(
            f"objective.baseline {objective.baseline} does not go with scale group: a group of equal rewards has a "
            "difference to that baseline but a std of 0, which would make it enormous; take batch, whiten or none"
        )
    if objective.baseline == "none" and objective.scale == "batch":
        raise InvalidValueError(
            "objective.baseline none does not go with scale batch: rewards that are nearly equal would be divided by "
            "next to nothing; take whiten, which subtracts their mean too, or none"
        )
    for name, weight in objective.reward_weights.items():
        bounds.each_at_least(f"objective.reward_weights.{name}", -1e9, [weight])
    if objective.rewards == "normalise_then_sum" and objective.baseline in OF_STRATA:
        raise InvalidValueError(
            f"objective.baseline {objective.baseline} is of one reward: normalise_then_sum compares each in its group"
        )
    if objective.reward_weights and objective.rewards != "normalise_then_sum":
        raise InvalidValueError(
            "objective.reward_weights need objective.rewards normalise_then_sum: else the environment's own sum counts"
        )


def _check_keys(strata: Strata) -> None:
    for key in strata.by:
        if key not in KEYS and any(word in key for word in OF_THE_ANSWER) and "prompt" not in key:
            raise InvalidValueError(f"strata.by cannot be {key!r}: {WHY_NOT_THE_ANSWER}. There are {', '.join(KEYS)}")
        if key not in KEYS:
            raise UnknownNameError("value of strata.by", key, KEYS)
    if sum(key in NUMBERS for key in strata.by) > 1 or len(set(strata.by)) < len(strata.by):
        raise InvalidValueError(
            f"strata.by {', '.join(strata.by)}: each key once, and at most one of {', '.join(NUMBERS)}"
        )


def _check_strata(strata: Strata) -> None:
    if strata.boundaries == "fixed" and not any(key in NUMBERS for key in strata.by):
        raise InvalidValueError(f"strata.boundaries fixed cuts a number: it needs strata.by {' or '.join(NUMBERS)}")
    if strata.boundaries == "length_128_256" and "prompt_tokens" not in strata.by:
        raise InvalidValueError("strata.boundaries length_128_256 cuts by tokens: it needs strata.by prompt_tokens")
    bounds.rising("strata.edges", strata.edges)
    if bool(strata.edges) != (strata.boundaries == "fixed"):
        raise InvalidValueError("strata.edges and strata.boundaries fixed go together: one needs the other")
    bounds.each_at_least("strata.weights", 0, list(strata.weights.values()))
    bounds.each_at_least("strata.shares", 0, list(strata.shares.values()))
    if sum(strata.shares.values()) > 1 + 1e-9:
        raise InvalidValueError(f"strata.shares sum to {sum(strata.shares.values()):g}, must be at most 1")
    for name, clip in strata.clips.items():
        bounds.each_at_least(f"strata.clips.{name}", 0, clip)
    named = [name for name in ("weights", "clips", "shares", "balance_coef", "worst_coef") if getattr(strata, name)]
    if named and not strata.by:
        raise InvalidValueError(f"strata.{named[0]} needs strata.by: without it there is one stratum")


def _check_together(config: TrainConfig) -> None:
    objective, selection = config.objective, config.selection
    if objective.baseline in OF_STRATA and not config.strata.by:
        raise InvalidValueError(f"objective.baseline {objective.baseline} needs strata.by, e.g. task")
    if objective.baseline in SPREADLESS and (selection.zero_variance == "drop" or selection.refill_rounds):
        raise InvalidValueError(
            f"groups of equal rewards teach under objective.baseline {objective.baseline}: leaving them out would bias "
            "it. Take selection.zero_variance keep and refill_rounds 0"
        )
    if objective.kl_coef and objective.kl_estimator == "k1" and objective.scale == "group" and config.algo == "grpo":
        raise InvalidValueError(
            "objective.kl_estimator k1 does not go with scale group: in a group of equal rewards the KL alone would be "
            "divided by its own spread, and made as large as a right answer; take scale batch, whiten or none"
        )
    if objective.kl_target and not objective.kl_coef:
        raise InvalidValueError("objective.kl_target steers objective.kl_coef, which must begin above 0")
    if config.reference.sync_every and not objective.kl_coef:
        raise InvalidValueError("reference.sync_every needs a KL term: set objective.kl_coef above 0")
    if config.reference.sync_every and config.reference.kind == "adapter":
        raise InvalidValueError("a reference that is the policy without its adapter cannot be moved: take kind copy")
    if selection.overlong_buffer > config.sampling.max_tokens:
        raise InvalidValueError(
            f"selection.overlong_buffer is {selection.overlong_buffer}, must be at most sampling.max_tokens"
        )
    _check_lora(config)
    _check_turns(objective)
    if config.algo == "ppo":
        _check_ppo(config)


def _check_lora(config: TrainConfig) -> None:
    if (config.lora.alpha or config.lora.targets) and not config.lora.rank:
        raise InvalidValueError("lora.alpha and lora.targets need lora.rank above 0")


def _check_turns(objective: Objective) -> None:
    if objective.credit == "turn" and objective.rewards != "sum_then_normalise":
        raise InvalidValueError(
            "objective.credit turn compares what each turn was paid, and the components of a reward come with the last "
            "turn: take objective.rewards sum_then_normalise"
        )


def _check_ppo(config: TrainConfig) -> None:
    if 0 < config.steps <= config.critic.warmup_steps:
        raise InvalidValueError(
            f"critic.warmup_steps is {config.critic.warmup_steps} and the run has {config.steps} steps, so the policy "
            "would never learn: raise steps, or lower critic.warmup_steps"
        )
    if config.selection.zero_variance == "drop" or config.selection.refill_rounds:
        raise InvalidValueError("algo ppo compares with a value function, not in groups: it drops and refills none")
    if config.objective.rewards != "sum_then_normalise":
        raise InvalidValueError("algo ppo takes the sum of rewards: normalise_then_sum is of groups")
    if config.objective.baseline in OF_STRATA:
        raise InvalidValueError(f"algo ppo has its critic for a baseline: {config.objective.baseline} is of groups")
    if config.objective.credit != "episode" or config.objective.turn_discount != 1:
        raise InvalidValueError(
            "algo ppo credits every token by its critic: leave objective.credit and turn_discount, set critic.discount"
        )
