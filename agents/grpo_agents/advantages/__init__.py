"""Advantages: how much better a completion did than what was to be expected.

A group is all completions of one prompt. It stands in for the critic of PPO: the baseline is what the policy itself
scores on the same prompt. A stratum is a set of prompts that are alike; it can lend its mean to small groups.

    compute    one reward per completion: a baseline (`baselines`) and a unit (`scales`), chosen apart
    several    several rewards per completion, each normalised by itself first
    statistics what a batch says about its groups, for logs

Rewards in, advantages out; no model, no environment, no order: a row belongs to a group by its id, not by its position.
All sums run in float64 on the CPU and round once (`measuring`): equal rewards give equal bits on any device.
"""

from __future__ import annotations

from grpo_agents.advantages.baselines import BASELINES, shrunk_baseline
from grpo_agents.advantages.compute import compute_advantages
from grpo_agents.advantages.measuring import ROUNDING_STEPS, Groups
from grpo_agents.advantages.scales import SCALES, STD_EPSILON, whitened
from grpo_agents.advantages.several import normalise_then_sum
from grpo_agents.advantages.statistics import RIGHT, GroupStatistics, flat_expected, group_statistics
from grpo_agents.config.objective import OF_STRATA, SPREADLESS, Baseline, Scale

__all__ = [
    "BASELINES",
    "OF_STRATA",
    "RIGHT",
    "ROUNDING_STEPS",
    "SCALES",
    "SPREADLESS",
    "STD_EPSILON",
    "Baseline",
    "GroupStatistics",
    "Groups",
    "Scale",
    "compute_advantages",
    "flat_expected",
    "group_statistics",
    "normalise_then_sum",
    "shrunk_baseline",
    "whitened",
]
