"""Episodes from a text VectorEnv: sample, step, and keep what both sides said as tokens.

Works on any Gymnasium VectorEnv of texts, in all three autoreset modes:
    DISABLED   ours ignores actions for finished rows; others must have them reset before they may be stepped again
    NEXT_STEP  a finished row resets itself at the next step and ignores that action
    SAME_STEP  a finished row resets itself at once; its last info is in `final_info`
In each of them a row counts from `reset` to its first end, and what it does afterwards is not looked at.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from gymnasium.vector import AutoresetMode, VectorEnv

from grpo_agents.config import Sampling
from grpo_agents.environments import check_group, reset_rows
from grpo_agents.policy import Policy
from grpo_agents.rollout import Trajectory
from grpo_gym.infos import row_info


@dataclass
class Episode:
    """One finished row.

    Attributes:
        group: Number of its group; rows with one number saw one problem.
        prompt: The first observation.
        trajectory: Tokens and log-probs; None when the prompt did not fit the context.
        texts: What the policy said, one per turn.
        reward: Sum over the turns.
        valid: False when the row must not teach: the scorer abstained, the reward was not finite, or nothing was sampled.
        info: The last step's info (reason, feedback, rewards), with the reset's labels (task, tier, problem_id).
    """

    group: int
    prompt: str
    trajectory: Trajectory | None
    texts: list[str] = field(default_factory=list)
    reward: float = 0.0
    valid: bool = True
    info: dict[str, Any] = field(default_factory=dict)

    @property
    def length(self) -> int:
        """Tokens the policy drew."""
        return 0 if self.trajectory is None else self.trajectory.own_length


def collect(
    policy: Policy,
    env: VectorEnv[Any, Any, Any],
    seeds: Sequence[int],
    group_size: int,
    sampling: Sampling,
    generator: torch.Generator,
    greedy: bool = False,
) -> list[Episode]:
    """Play one episode per row.

    Args:
        policy: Samples the actions.
        env: P * G rows.
        seeds: P seeds, one per group; each is given to G rows.
        group_size: G.
        sampling: Limits and temperature.
        generator: Source of the sampler's uniform numbers.
        greedy: Take the most likely token instead of sampling.

    Returns:
        P * G episodes, row by row.

    Raises:
        GrpoGymError: Equal seeds gave different prompts, or observations are not texts.
    """
    observations, infos = reset_rows(env, [seed for seed in seeds for _ in range(group_size)])
    check_group(observations, group_size)
    episodes = [
        Episode(row // group_size, str(text), None, info=row_info(infos, row)) for row, text in enumerate(observations)
    ]
    _first_turn(policy, episodes, group_size, sampling, generator, greedy)
    live = np.ones(len(episodes), dtype=np.bool_)
    while True:
        finished = _step(env, episodes, live, policy)
        live &= ~finished
        if not live.any():
            return episodes
        if env.metadata.get("autoreset_mode") == AutoresetMode.DISABLED and not _ignores_finished(env):
            env.reset(options={"reset_mask": ~live & finished})
        _next_turn(policy, [episodes[row] for row in np.flatnonzero(live)], sampling, generator, greedy)


def _first_turn(
    policy: Policy,
    episodes: list[Episode],
    group_size: int,
    sampling: Sampling,
    generator: torch.Generator,
    greedy: bool,
) -> None:
    """Sample every group's first turn; the prompt is read once per group. Groups that do not fit the context sit out."""
    fitting: list[int] = []
    prompts: list[list[int]] = []
    for first in range(0, len(episodes), group_size):
        prompt = policy.render([{"role": "user", "content": episodes[first].prompt}])
        if policy.room(len(prompt)) >= 1:
            fitting += range(first, first + group_size)
            prompts.append(prompt)
    completions = policy.sample(
        prompts,
        group_size,
        max_tokens=sampling.max_tokens,
        temperature=sampling.temperature,
        greedy=greedy,
        generator=generator,
    )
    for place, (row, completion) in enumerate(zip(fitting, completions, strict=True)):
        trajectory = Trajectory(prompts[place // group_size])
        trajectory.add_turn(completion)
        episodes[row].trajectory = trajectory
        episodes[row].texts.append(policy.decode(completion.ids))
    for row in set(range(len(episodes))) - set(fitting):
        episodes[row].valid = False
        episodes[row].info["skipped"] = "prompt longer than the context"


def _next_turn(
    policy: Policy, episodes: list[Episode], sampling: Sampling, generator: torch.Generator, greedy: bool
) -> None:
    """Sample a later turn of each row; a row whose context is full says nothing more and plays out empty turns."""
    speaking = [e for e in episodes if e.trajectory is not None and policy.room(len(e.trajectory.context)) >= 1]
    completions = policy.sample(
        [e.trajectory.context for e in speaking if e.trajectory is not None],
        1,
        max_tokens=sampling.max_tokens,
        temperature=sampling.temperature,
        greedy=greedy,
        generator=generator,
    )
    for episode, completion in zip(speaking, completions, strict=True):
        assert episode.trajectory is not None
        episode.trajectory.add_turn(completion)
        episode.texts.append(policy.decode(completion.ids))
    silent = {id(e) for e in episodes} - {id(e) for e in speaking}
    for episode in episodes:
        if id(episode) in silent:
            episode.texts.append("")


def _step(
    env: VectorEnv[Any, Any, Any], episodes: list[Episode], live: np.ndarray, policy: Policy
) -> np.ndarray:
    """Hand the last texts in and book what comes back for live rows. Returns which live rows ended, [rows] bool."""
    actions = tuple(e.texts[-1] if alive and e.texts else "" for e, alive in zip(episodes, live, strict=True))
    observations, rewards, terminated, truncated, infos = env.step(actions)
    ended: np.ndarray = live & (np.asarray(terminated) | np.asarray(truncated))
    final = infos.get("final_info") if env.metadata.get("autoreset_mode") == AutoresetMode.SAME_STEP else None
    for row in np.flatnonzero(live):
        episode = episodes[row]
        reward = float(rewards[row])
        episode.reward += reward
        info = row_info(final if final is not None and ended[row] else infos, int(row))
        episode.info.update(info)
        if not math.isfinite(reward):
            episode.valid = False
            episode.info["skipped"] = "the reward is not finite"
        if float(info.get("abstain", 0.0)) > 0:
            episode.valid = False
        if not ended[row] and episode.trajectory is not None:
            reply = policy.render_reply(str(observations[row]), ended=episode.trajectory.ended)
            episode.trajectory.add_message(reply)
    return ended


def _ignores_finished(env: VectorEnv[Any, Any, Any]) -> bool:
    return env.metadata.get("finished_rows") == "ignored"
