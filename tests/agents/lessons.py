"""Batches of real episodes and single updates on them, for the tests of `update`."""

from __future__ import annotations

from typing import Any

import torch
from gymnasium.vector import AutoresetMode

from grpo_agents.collect import Episode, collect
from grpo_agents.config import Objective, Optimisation, Sampling
from grpo_agents.policy import Policy
from grpo_agents.rollout import Trajectory
from grpo_agents.update import Update, update
from tests.agents.foreign_envs import Countdown, vector

MAX_TOKENS = 6
TEMPERATURE = 0.8


def batch(policy: Policy, groups: int = 4, size: int = 4, off_policy: float = 0.0) -> list[Episode]:
    """Return a multi-turn batch; with `off_policy`, the sampled log-probs are moved by that much noise."""
    generator = torch.Generator().manual_seed(3)
    env = vector(Countdown, groups * size, AutoresetMode.SAME_STEP)
    sampling = Sampling(max_tokens=MAX_TOKENS, temperature=TEMPERATURE)
    episodes = collect(policy, env, range(groups), size, sampling, generator)
    for episode in episodes:
        noise = (off_policy * torch.randn(500, generator=generator)).tolist()
        trajectory = trajectory_of(episode)
        trajectory.logprobs = [
            p + e if own else p for p, e, own in zip(trajectory.logprobs, noise, trajectory.own, strict=False)
        ]
    return episodes


def trajectory_of(episode: Episode) -> Trajectory:
    assert episode.trajectory is not None
    return episode.trajectory


def step(policy: Policy, episodes: list[Episode], **changes: Any) -> Update:
    """Take one update with a fresh SGD, whose step is the gradient itself; another optimiser may be given."""
    optimizer = changes.pop("optimizer", None) or torch.optim.SGD(policy.model.parameters(), lr=0.05)
    given = {"objective": Objective(), "optimisation": Optimisation(max_grad_norm=1e9), **changes}
    logprobs = changes.pop("logprobs", policy.logprobs)
    given.pop("logprobs", None)
    return update(logprobs, optimizer, episodes, max_tokens=MAX_TOKENS, temperature=TEMPERATURE, **given)
