"""Which prompts a step plays, and how often it goes back for more: strata's shares, retired prompts, dynamic sampling.

    candidates    the step's seeds, in an order that only (seed, step) decides
    choose        by what the prompts are (never by what was answered): shares of strata filled, retired ones left out
    collect       a group of completions per prompt
    refill        until every group has a spread of rewards, or the cap is reached

Without shares, retirement and refill the candidates are the prompts, and nothing is looked at twice.
"""

from __future__ import annotations

import itertools
import logging
import math
import numbers
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from gymnasium.vector import VectorEnv

from grpo_agents.collect import Episode, collect
from grpo_agents.config import TrainConfig
from grpo_agents.credit import lively_groups
from grpo_agents.environments import EnvironmentRaisedError, reset_rows, seed_stream
from grpo_agents.policy import Policy
from grpo_agents.retirement import Retirement
from grpo_agents.row_guard import number
from grpo_agents.strata import PromptFacts, Stratifier, choose, lacking, quotas
from grpo_gym.infos import row_info
from grpo_gym.rng import stable_hash
from grpo_gym.verdict import SOLVED

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Rollout:
    """What a step sampled.

    Attributes:
        episodes: Everything that was sampled; rows of one group have one number.
        taught: Which of them the policy learns from: all, but for groups that a refill replaced.
        rounds: Batches that were drawn.
        retired: Retired prompts that were played all the same, for want of others.
    """

    episodes: list[Episode]
    taught: list[int]
    rounds: int = 1
    retired: int = 0

    def facts(self, policy: Policy) -> dict[int, PromptFacts]:
        """Return what was known of each group's prompt before anything was sampled."""
        firsts = [self.episodes[row] for row in first_rows(self.episodes)]
        return {first.group: prompt_facts(policy, first.prompt, first.info) for first in firsts}

    def lesson(self) -> list[Episode]:
        """Return the episodes that the policy learns from."""
        return [self.episodes[row] for row in self.taught]


class Rollouts:
    """Plays the steps of a run.

    Args:
        policy: Samples.
        env: prompts x group_size rows.
        config: Of the run.
        stratifier: Names the strata.
        retirement: Knows which prompts are solved.
    """

    def __init__(
        self,
        policy: Policy,
        env: VectorEnv[Any, Any, Any],
        config: TrainConfig,
        stratifier: Stratifier,
        retirement: Retirement,
    ) -> None:
        self.policy = policy
        self.env = env
        self.config = config
        self.stratifier = stratifier
        self.retirement = retirement

    def __call__(self, step: int) -> Rollout:
        """Play one step, counted from 1.

        Raises:
            EnvironmentRaisedError: The environment raised.
        """
        seeds = seed_stream("train", self.config.seed, step)
        episodes: list[Episode] = []
        rounds = retired = 0
        lively: list[int] = []
        for done in range(1 + self.config.selection.refill_rounds):
            try:
                chosen, forced = self._prompts(seeds, step)
                fresh = self._collect(chosen, step, done)
            except EnvironmentRaisedError as error:
                if not episodes:
                    raise
                logger.warning("step %d: no refill, what was drawn before counts: %s", step, error)
                break
            rounds, retired = done + 1, retired + forced
            for episode in fresh:
                episode.group += done * self.config.prompts
            episodes += fresh
            lively = lively_groups(
                episodes, self.config.objective, self.config.selection, self.config.sampling.max_tokens
            )
            if len(lively) >= self.config.prompts:
                break
        return Rollout(episodes, self._taught(episodes, lively), rounds, retired)

    def _taught(self, episodes: Sequence[Episode], lively: Sequence[int]) -> list[int]:
        """Return the rows of a batch's worth of groups: those with a spread first, in the order they came."""
        if not self.config.selection.refill_rounds:
            return list(range(len(episodes)))
        flat = sorted({episode.group for episode in episodes} - set(lively))
        kept = {*[*lively, *flat][: self.config.prompts]}
        return [row for row, episode in enumerate(episodes) if episode.group in kept]

    def _collect(self, seeds: Sequence[int], step: int, done: int) -> list[Episode]:
        name: list[str | int] = ["sample", self.config.seed, step, *([done] if done else [])]
        return collect(
            self.policy,
            self.env,
            seeds,
            self.config.group_size,
            self.config.sampling,
            torch.Generator().manual_seed(stable_hash(*name) % 2**63),
        )

    def _prompts(self, seeds: Iterator[int], step: int) -> tuple[list[int], int]:
        """Return the seeds of the prompts to play, and how many of these are retired."""
        prompts, selection = self.config.prompts, self.config.selection
        if not self.config.strata.shares and not selection.retire_at:
            return list(itertools.islice(seeds, prompts)), 0
        fresh: list[int] = []
        names: list[str] = []
        retired: list[int] = []
        wanted: dict[str, int] = {}
        for _ in range(selection.peek_rounds):
            looked_at = list(itertools.islice(seeds, prompts))
            facts = self._peek(looked_at)
            for seed, fact, name in zip(looked_at, facts, self.stratifier.assign(facts, step - 1), strict=True):
                if self.retirement.is_retired(fact.problem_id):
                    retired.append(seed)
                else:
                    fresh.append(seed)
                    names.append(name)
            wanted = quotas(self.config.strata.shares, names, prompts)
            if len(fresh) >= prompts and not lacking(names, wanted):
                break
        if len(fresh) >= prompts:
            return [fresh[place] for place in choose(names, wanted, prompts)], 0
        forced = prompts - len(fresh)
        logger.info("step %d: %d of %d prompts are retired ones, for want of others", step, forced, prompts)
        return fresh + retired[:forced], forced

    def _peek(self, seeds: Sequence[int]) -> list[PromptFacts]:
        """Return what is known of the prompts of some seeds, before anything is sampled."""
        size = self.config.group_size
        observations, infos = reset_rows(self.env, [seed for seed in seeds for _ in range(size)])
        return [
            prompt_facts(self.policy, str(observations[row]), row_info(infos, row))
            for row in range(0, len(observations), size)
        ]


def prompt_facts(policy: Policy, text: str, info: dict[str, Any]) -> PromptFacts:
    """Return the facts of a prompt: its text as the policy reads it, and what the environment says of it."""
    tier = info.get("tier")
    return PromptFacts(
        problem_id=name if isinstance(name := info.get("problem_id"), str) else "",
        task=str(info.get("task", "all")),
        tier=int(tier) if isinstance(tier, numbers.Integral) else None,  # an environment of others may mean anything
        tokens=len(policy.render([{"role": "user", "content": text}])),
    )


def first_rows(episodes: Sequence[Episode]) -> list[int]:
    """Return the first row of each group, in the order of the rows."""
    seen: dict[int, int] = {}
    for row, episode in enumerate(episodes):
        seen.setdefault(episode.group, row)
    return list(seen.values())


def is_solved(episode: Episode) -> bool:
    """Whether a completion is right: by the environment's word where it has one, else by a reward of at least 1."""
    rewards = episode.info.get("rewards")
    solved = rewards.get(SOLVED, episode.reward) if isinstance(rewards, dict) else episode.reward
    return number(solved) >= 1.0


def by_group(episodes: Sequence[Episode]) -> list[tuple[float, float]]:
    """Return each group's pass rate and mean reward over valid rows, in the order of `first_rows`; NaN without any."""
    found: dict[int, list[Episode]] = {}
    for episode in episodes:
        found.setdefault(episode.group, [])
        if episode.valid:
            found[episode.group].append(episode)
    return [(_mean([float(is_solved(e)) for e in of]), _mean([e.reward for e in of])) for of in found.values()]


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan
