"""The policy loss = (importance ratio) x (surrogate) x (average): eleven named losses, and the parts to mix them.

    weights = token_weights(mask, "gspo", max_length)      # once, over the whole batch of an optimiser step
    for tokens in microbatches:                            # any split into whole completions, padded or packed
        terms = policy_loss(logprobs, old, advantages, weights, objective=Objective(loss="gspo"), rows=rows)
        terms.loss.backward()

`averages` says how much a token weighs, `ratios` how far the policy has moved, `surrogates` what is made of both;
`forms` is the table of names. `correction` and `selection` give the factor and the choice of tokens that the policy
term takes beside them.
"""

from grpo_agents.losses.averages import AVERAGES, Totals, token_weights
from grpo_agents.losses.correction import mismatch, sampler_logprobs, sampler_ratio
from grpo_agents.losses.forms import FORMS, Form, form_of
from grpo_agents.losses.policy import importance_ratio, policy_loss
from grpo_agents.losses.selection import high_entropy, on_policy_enough
from grpo_agents.losses.terms import LossTerms

__all__ = [
    "AVERAGES",
    "FORMS",
    "Form",
    "LossTerms",
    "Totals",
    "form_of",
    "high_entropy",
    "importance_ratio",
    "mismatch",
    "on_policy_enough",
    "policy_loss",
    "sampler_logprobs",
    "sampler_ratio",
    "token_weights",
]
