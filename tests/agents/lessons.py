"""Batches of real episodes, their gradients and single updates on them, for the tests of `prepare` and `update`."""

from __future__ import annotations

from typing import Any

import torch
from gymnasium.vector import AutoresetMode
from torch import Tensor

from grpo_agents.collect import Episode, collect
from grpo_agents.config import Objective, Optimisation, Sampling
from grpo_agents.credit import Strata
from grpo_agents.logprobs import LogProbs
from grpo_agents.policy import Policy
from grpo_agents.prepare import Learner, Prepared, prepare
from grpo_agents.rollout import Trajectory
from grpo_agents.update import Terms, Update, update
from grpo_agents.update import gradient as accumulate
from tests.agents.foreign_envs import Countdown, vector
from tests.agents.runs import babbler, gradient

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


def other_policy() -> Policy:
    """Return the double babbler with other weights: a reference."""
    reference = babbler(double=True)
    with torch.no_grad():
        for parameter in reference.model.parameters():
            parameter.mul_(0.9)
    return reference


def trajectory_of(episode: Episode) -> Trajectory:
    assert episode.trajectory is not None
    return episode.trajectory


def learner(policy: Policy, **changes: Any) -> Learner:
    """Return all that an update needs, with a fresh SGD, whose step is the gradient itself; any part may be given."""
    given = {
        "logprobs": policy.logprobs,
        "optimizer": torch.optim.SGD(policy.model.parameters(), lr=0.05),
        "objective": Objective(),
        "optimisation": Optimisation(max_grad_norm=1e9),
        "max_tokens": MAX_TOKENS,
        "temperature": TEMPERATURE,
        **changes,
    }
    return Learner(**given)


def step(policy: Policy, episodes: list[Episode], **changes: Any) -> Update:
    """Take one update; `kl_coef`, `strata` and `generator` go to it, the rest to its learner."""
    given = {name: changes.pop(name) for name in ("kl_coef", "strata", "generator") if name in changes}
    return update(learner(policy, **changes), episodes, **given)


def gradients_of(
    policy: Policy,
    episodes: list[Episode],
    objective: Objective,
    budget: int = 10**6,
    layout: Any = "auto",
    *,
    minibatches: int = 1,
    strata: Strata | None = None,
    generator: torch.Generator | None = None,
    **changes: Any,
) -> tuple[list[Tensor], list[Terms], Prepared]:
    """Return the gradient and the terms that the product accumulates for each minibatch, without a step."""
    optimisation = Optimisation(max_grad_norm=1e9, token_budget=budget, minibatches=minibatches)
    logprobs = LogProbs(policy.model, policy.pad_id, layout=layout)
    of = learner(policy, objective=objective, optimisation=optimisation, logprobs=logprobs, **changes)
    prepared = prepare(of, episodes, objective.kl_coef, strata, generator)
    vectors, terms = [], []
    for lesson in prepared.lessons:
        terms.append(accumulate(of, lesson, objective.kl_coef))
        vectors.append(gradient(policy))
    return vectors, terms, prepared


def gradient_of(
    policy: Policy, episodes: list[Episode], objective: Objective, *args: Any, **changes: Any
) -> tuple[Tensor, Terms]:
    """Return the one gradient of a batch that is no more than one minibatch, and its loss terms."""
    (vector,), (terms,), _ = gradients_of(policy, episodes, objective, *args, **changes)
    return vector, terms


def close(first: Tensor, second: Tensor, tolerance: float = 1e-6, least: float = 1e-3) -> bool:
    """Whether two gradients differ by no more than a share of their norm, which must be worth a comparison."""
    assert first.norm() > least
    return float((first - second).norm() / first.norm()) < tolerance


def strata_of(episodes: list[Episode], objective: Objective, **of: Any) -> Strata:
    """Return strata by group: `names`, `weights`, `clips`, one for each group, the objective's own clips by default."""
    own = (objective.clip_low, objective.clip_high)
    groups = [episode.group for episode in episodes]
    names, values, clips = of.get("names", {}), of.get("weights", {}), of.get("clips", {})
    pairs = torch.tensor([clips.get(group, own) for group in groups], dtype=torch.float64).reshape(-1, 2)
    weights = torch.tensor([values.get(group, 1.0) for group in groups], dtype=torch.float64)
    return Strata([names.get(group, "all") for group in groups], weights, pairs[:, 0], pairs[:, 1])


def exact_kl(policy: Policy, start: Policy, rows: list[Episode]) -> float:
    """Return KL(policy || start) over the whole vocabulary, nats per own token."""
    total, tokens = 0.0, 0
    for episode in rows:
        trajectory = trajectory_of(episode)
        with torch.no_grad():
            now, then = (
                side.model(input_ids=torch.tensor([trajectory.context])).logits[0].double() / TEMPERATURE
                for side in (policy, start)
            )
        gaps = (now.softmax(-1) * (now.log_softmax(-1) - then.log_softmax(-1))).sum(-1)[len(trajectory.prompt) - 1 : -1]
        total += float(gaps[torch.tensor(trajectory.own)].sum())
        tokens += episode.length
    return total / tokens
