"""Episodes from a text VectorEnv: sample, step, and keep what both sides said as tokens.

Works on any Gymnasium VectorEnv of texts, in all three autoreset modes:
    DISABLED   ours ignores actions for finished rows; others have every row that is done reset before the next step
    NEXT_STEP  a finished row resets itself at the next step and ignores that action
    SAME_STEP  a finished row resets itself at once; its last info is in `final_info`
In each of them a row counts from `reset` to its first end. What it does afterwards is not looked at; it is handed its
last text again, which the environment has taken before.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from gymnasium.vector import AutoresetMode, VectorEnv

from grpo_agents.advantages.measuring import LARGEST
from grpo_agents.config import Sampling
from grpo_agents.environments import ask, check_group, check_text, reset_rows
from grpo_agents.policy import Policy
from grpo_agents.rollout import Completion, Trajectory
from grpo_agents.row_guard import number
from grpo_gym.infos import row_info

TOO_LONG = "prompt longer than the context"
NOT_FINITE = "the reward is not finite"
OUT_OF_TIME = "the episode was not over in sampling.max_seconds"
MOST_TURNS = 1000
"""Turns of an episode where nobody sets a limit: an environment need not ever end one."""
NO_LOGPROBS = "the model gives no finite log-probs: are its weights damaged (NaN or infinite)?"


@dataclass
class Episode:
    """One finished row.

    Attributes:
        group: Number of its group; rows with one number saw one problem.
        prompt: The first observation.
        trajectory: Tokens and log-probs; None when the prompt did not fit the context.
        texts: What the policy said, one per turn.
        reward: Sum over the turns.
        paid: The reward of each turn, in their order.
        valid: False when the row must not teach: the scorer abstained, or it was skipped.
        skipped: Why nothing can be made of the row: TOO_LONG, NOT_FINITE or OUT_OF_TIME; "" for the others.
        info: The last step's info (reason, feedback, rewards), with the reset's labels (task, tier, problem_id).
        seed: What the environment was reset with.
    """

    group: int
    prompt: str
    trajectory: Trajectory | None
    texts: list[str] = field(default_factory=list)
    reward: float = 0.0
    valid: bool = True
    skipped: str = ""
    info: dict[str, Any] = field(default_factory=dict)
    seed: int | None = None
    paid: list[float] = field(default_factory=list)

    @property
    def length(self) -> int:
        """Tokens the policy drew."""
        return 0 if self.trajectory is None else self.trajectory.own_length

    @property
    def longest_turn(self) -> int:
        """Tokens of the longest turn."""
        return 0 if self.trajectory is None else self.trajectory.longest_turn

    @property
    def turn_lengths(self) -> list[int]:
        """Tokens of each turn in which the policy said anything."""
        return [] if self.trajectory is None else self.trajectory.turn_lengths

    @property
    def ended(self) -> bool:
        """Whether the last turn ended by itself, not at a limit."""
        return self.trajectory is not None and self.trajectory.ended

    def skip(self, why: str) -> None:
        """Take the row out of the lesson."""
        self.valid, self.skipped = False, why


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
        P * G episodes, row by row. Those whose prompt leaves no room in the context are not played.

    Raises:
        GrpoGymError: Equal seeds gave different prompts, or observations are not texts.
        EnvironmentRaisedError: The environment raised.
    """
    observations, infos = reset_rows(env, [seed for seed in seeds for _ in range(group_size)])
    check_group(observations, group_size)
    episodes = [
        Episode(row // group_size, str(text), None, info=row_info(infos, row), seed=seeds[row // group_size])
        for row, text in enumerate(observations)
    ]
    began = time.monotonic()
    _first_turn(policy, episodes, group_size, sampling, generator, greedy)
    live = np.array([not episode.skipped for episode in episodes])
    while live.any():
        done = _step(env, episodes, live, policy, sampling)
        live &= ~done & ~_at_a_limit(episodes, live & ~done, sampling, time.monotonic() - began)
        if live.any():
            if _wants_resets(env) and done.any():
                ask(env.reset, options={"reset_mask": done})
            _next_turn(policy, [episodes[row] for row in np.flatnonzero(live)], sampling, generator, greedy)
    for episode in episodes:
        if episode.trajectory is not None:
            episode.trajectory.drop_unanswered()
    return episodes


def _at_a_limit(episodes: Sequence[Episode], live: np.ndarray, sampling: Sampling, seconds: float) -> np.ndarray:
    """Return which live rows stop here, [rows] bool: out of turns and paid so far, or out of time and skipped."""
    if sampling.max_seconds and seconds > sampling.max_seconds:
        for row in np.flatnonzero(live):
            episodes[int(row)].skip(OUT_OF_TIME)
        return live
    out_of_turns = [len(episode.texts) >= (sampling.max_turns or MOST_TURNS) for episode in episodes]
    stopped: np.ndarray = live & np.array(out_of_turns, dtype=np.bool_)
    return stopped


def none_fits(policy: Policy, episodes: list[Episode]) -> str:
    """Return a sentence when no prompt at all fits the context, so that nothing was tried; else ""."""
    if not episodes or any(episode.skipped != TOO_LONG for episode in episodes):
        return ""
    shortest = min(len(policy.render([{"role": "user", "content": episode.prompt}])) for episode in episodes)
    return (
        f"none of the prompts fits the model's context of {policy.context} tokens with room for an answer; the "
        f"shortest has {shortest}: shorten the prompts or take a model with a longer context"
    )


def none_judged(episodes: list[Episode]) -> str:
    """Return a sentence when completions were drawn and not one could be judged; else ""."""
    tried = [episode for episode in episodes if episode.skipped != TOO_LONG]
    if not tried or any(episode.valid for episode in tried):
        return ""
    if all(episode.skipped == NOT_FINITE for episode in tried):
        return f"all {len(tried)} rewards are not finite (NaN, infinite or no number at all): nothing can be compared"
    why = tried[0].skipped or str(tried[0].info.get("feedback", "")) or "the scorer abstained"
    return f"none of the {len(tried)} completions could be judged; the first: {why}"


def none_finite(episodes: list[Episode]) -> str:
    """Return a sentence when the model gave no finite log-prob in any row that it answered; else ""."""
    answered = [episode.trajectory for episode in episodes if episode.trajectory is not None and episode.length]
    own = [[p for p, mine in zip(t.logprobs, t.own, strict=True) if mine] for t in answered]
    if not own or any(math.isfinite(p) for row in own for p in row):
        return ""
    return NO_LOGPROBS


def _first_turn(
    policy: Policy,
    episodes: list[Episode],
    group_size: int,
    sampling: Sampling,
    generator: torch.Generator,
    greedy: bool,
) -> None:
    """Sample every group's first turn; the prompt is read once per group. Groups too long for the context sit out."""
    fitting: list[int] = []
    prompts: list[list[int]] = []
    for first in range(0, len(episodes), group_size):
        prompt = policy.render([{"role": "user", "content": episodes[first].prompt}])
        if policy.room(len(prompt)) >= 1:
            fitting += range(first, first + group_size)
            prompts.append(prompt)
    completions = _draw(policy, prompts, group_size, sampling, generator, greedy)
    for place, (row, completion) in enumerate(zip(fitting, completions, strict=True)):
        trajectory = Trajectory(prompts[place // group_size])
        trajectory.add_turn(completion)
        episodes[row].trajectory = trajectory
        episodes[row].texts.append(policy.decode(completion.ids, special_tokens=sampling.special_tokens))
    for row in set(range(len(episodes))) - set(fitting):
        episodes[row].skip(TOO_LONG)


def _next_turn(
    policy: Policy, episodes: list[Episode], sampling: Sampling, generator: torch.Generator, greedy: bool
) -> None:
    """Sample a later turn of each row; a row whose context is full says nothing more and plays out empty turns."""
    speaking = [e for e in episodes if e.trajectory is not None and policy.room(len(e.trajectory.context)) >= 1]
    contexts = [e.trajectory.context for e in speaking if e.trajectory is not None]
    completions = _draw(policy, contexts, 1, sampling, generator, greedy)
    for episode, completion in zip(speaking, completions, strict=True):
        assert episode.trajectory is not None
        episode.trajectory.add_turn(completion)
        episode.texts.append(policy.decode(completion.ids, special_tokens=sampling.special_tokens))
    silent = {id(e) for e in episodes} - {id(e) for e in speaking}
    for episode in episodes:
        if id(episode) in silent:
            episode.texts.append("")


def _draw(
    policy: Policy,
    contexts: Sequence[Sequence[int]],
    group_size: int,
    sampling: Sampling,
    generator: torch.Generator,
    greedy: bool,
) -> list[Completion]:
    return policy.sample(
        contexts,
        group_size,
        max_tokens=sampling.max_tokens,
        temperature=sampling.temperature,
        greedy=greedy,
        generator=generator,
        rows_per_batch=sampling.batch_rows,
    )


def _step(
    env: VectorEnv[Any, Any, Any], episodes: list[Episode], live: np.ndarray, policy: Policy, sampling: Sampling
) -> np.ndarray:
    """Hand the last texts in and book what comes back for live rows. Returns the rows that are done, [rows] bool."""
    actions = tuple(episode.texts[-1] if episode.texts else "" for episode in episodes)
    observations, rewards, terminated, truncated, infos = ask(env.step, actions)
    done: np.ndarray = np.asarray(terminated, dtype=np.bool_) | np.asarray(truncated, dtype=np.bool_)
    final = infos.get("final_info") if _mode(env) is AutoresetMode.SAME_STEP else None
    for row in np.flatnonzero(live):
        episode = episodes[row]
        reward = number(rewards[row])
        episode.reward += reward
        episode.paid.append(reward)
        info = row_info(final if final is not None and done[row] else infos, int(row))
        episode.info.update(info)
        if not abs(episode.reward) <= LARGEST:  # NaN, infinite, or too large to be squared
            episode.skip(NOT_FINITE)
        if info.get("abstain"):
            episode.valid = False
        if not done[row] and episode.trajectory is not None and len(episode.texts) != sampling.max_turns:
            reply = policy.render_reply(check_text(observations[row]), ended=episode.trajectory.ended)
            episode.trajectory.add_message(reply)
    return done


def _mode(env: VectorEnv[Any, Any, Any]) -> AutoresetMode:
    """Return the autoreset mode; an environment that names none is taken to do as Gymnasium does by default."""
    return AutoresetMode(env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP))


def _wants_resets(env: VectorEnv[Any, Any, Any]) -> bool:
    return _mode(env) is AutoresetMode.DISABLED and env.metadata.get("finished_rows") != "ignored"
