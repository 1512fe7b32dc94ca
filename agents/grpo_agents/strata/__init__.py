"""Strata: sets of prompts, told apart by the prompt and by past results, never by the answer that was just sampled.

A group is the completions of ONE prompt and carries the baseline. A stratum is a set of PROMPTS and carries weights,
clip ranges, shares of the batch and reports. `facts` is all that a key may look at; `Stratifier` is the way in; the
other modules are the pure functions that it is made of.
"""

from grpo_agents.strata.facts import PromptFacts
from grpo_agents.strata.past import PassRates
from grpo_agents.strata.shares import choose, lacking, quotas
from grpo_agents.strata.stratifier import Stratifier

__all__ = ["PassRates", "PromptFacts", "Stratifier", "choose", "lacking", "quotas"]
