"""Held-out scores: pass@1 over distinct problems of a split, sampled or greedy, with a 95 % interval."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from grpo_agents.collect import (
    NO_LOGPROBS,
    NOT_FINITE,
    OUT_OF_TIME,
    TOO_LONG,
    Episode,
    collect,
    none_finite,
    none_fits,
    none_judged,
)
from grpo_agents.config import Sampling
from grpo_agents.environments import EnvironmentRaisedError, EnvSource
from grpo_agents.policy import Policy
from grpo_gym.errors import InvalidValueError, ModelError
from grpo_gym.problem import Split
from grpo_gym.rng import stable_hash

LEFT_OUT = {
    "too_long": "too long for the model's context",
    "abstained": "not judged by the scorer",
    "not_finite": "with a reward that is not finite",
    "out_of_time": "not over in sampling.max_seconds",
}
"""Why an episode is not counted in a score: the key of `Score.to_json`, and words for it."""
Z95 = 1.959963984540054
ROWS = 512


@dataclass(frozen=True)
class Score:
    """What an evaluation found.

    Attributes:
        episodes: One per problem, in the order of the seeds.
        greedy: Whether the most likely token was taken.
    """

    episodes: list[Episode]
    greedy: bool

    @property
    def judged(self) -> list[Episode]:
        """The episodes that could be scored: the prompt fitted, and the scorer did not abstain."""
        return [episode for episode in self.episodes if episode.valid]

    @property
    def n(self) -> int:
        """Problems judged."""
        return len(self.judged)

    @property
    def pass_at_1(self) -> float:
        """Share of problems answered fully right."""
        return sum(e.reward >= 1.0 for e in self.judged) / self.n if self.n else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """95 % Wilson interval of pass@1 over problems."""
        return wilson(self.pass_at_1, self.n)

    @property
    def length(self) -> float:
        """Mean number of tokens the policy drew."""
        return sum(e.length for e in self.judged) / self.n if self.n else math.nan

    @property
    def reward(self) -> float:
        """Mean reward."""
        return sum(e.reward for e in self.judged) / self.n if self.n else math.nan

    def by_task(self) -> dict[str, tuple[float, int]]:
        """Return pass@1 and count per "task, tier", sorted by name."""
        sums: dict[str, list[bool]] = {}
        for episode in self.judged:
            label = f"{episode.info.get('task', 'all')} tier {episode.info.get('tier', '-')}"
            sums.setdefault(label, []).append(episode.reward >= 1.0)
        return {label: (sum(right) / len(right), len(right)) for label, right in sorted(sums.items())}

    def to_json(self) -> dict[str, Any]:
        """Return the figures as JSON."""
        low, high = self.interval
        return {
            "n": self.n,
            "pass@1": self.pass_at_1,
            "low": low,
            "high": high,
            "length": self.length,
            "reward": self.reward,
            "greedy": self.greedy,
            "abstained": sum(not e.valid and not e.skipped for e in self.episodes),
            "not_finite": sum(e.skipped == NOT_FINITE for e in self.episodes),
            "out_of_time": sum(e.skipped == OUT_OF_TIME for e in self.episodes),
            "too_long": sum(e.skipped == TOO_LONG for e in self.episodes),
            "by_task": {label: {"pass@1": share, "n": n} for label, (share, n) in self.by_task().items()},
        }


def evaluate(
    policy: Policy,
    choice: EnvSource,
    split: Split,
    seeds: Sequence[int],
    sampling: Sampling,
    *,
    greedy: bool = False,
    seed: int = 0,
    rows: int = ROWS,
) -> Score:
    """Answer one problem per seed, once each.

    Args:
        policy: Answers.
        choice: The environment.
        split: "val" or "test".
        seeds: Episode seeds, one per problem (see `environments.distinct_seeds`).
        sampling: Limits and temperature.
        greedy: Take the most likely token instead of sampling.
        seed: Seed of the sampler.
        rows: Problems answered at once.

    Raises:
        EnvironmentRaisedError: The environment raised, or not one answer could be judged.
        InvalidValueError: No prompt fits the context.
        ModelError: The model gives no finite log-probs.
    """
    episodes: list[Episode] = []
    for start in range(0, len(seeds), rows):
        part = list(seeds[start : start + rows])
        env = choice.vector(len(part), split=split)
        generator = torch.Generator().manual_seed(stable_hash("evaluate", split, seed, start) % 2**63)
        try:
            episodes += collect(policy, env, part, 1, sampling, generator, greedy)
        finally:
            env.close()
    if why := none_fits(policy, episodes):
        raise InvalidValueError(why)
    if why := none_finite(episodes):
        raise ModelError(why)
    if why := none_judged(episodes):
        raise EnvironmentRaisedError(why)
    return Score(episodes, greedy)


def check_finite(policy: Policy) -> None:
    """Raise ModelError when the model gives no finite log-prob behind a question, as one with damaged weights does."""
    (drawn,) = policy.sample([policy.render([{"role": "user", "content": "?"}])], max_tokens=1, greedy=True)
    if not any(map(math.isfinite, drawn.logprobs)):
        raise ModelError(NO_LOGPROBS)


def left_out(figures: Mapping[str, Any]) -> str:
    """Return how many problems a score leaves out and why, from `Score.to_json`; "" when none."""
    counts = [(figures.get(key) or 0, words) for key, words in LEFT_OUT.items()]
    total = sum(count for count, _ in counts)
    reasons = ", ".join(f"{count:,} {words}" for count, words in counts if count)
    return f"{total:,} left out ({reasons})" if total else ""


def wilson(share: float, n: int) -> tuple[float, float]:
    """Return the 95 % Wilson score interval of a share of n independent trials (Wilson 1927)."""
    if n == 0:
        return math.nan, math.nan
    centre = (share + Z95**2 / (2 * n)) / (1 + Z95**2 / n)
    half = Z95 / (1 + Z95**2 / n) * math.sqrt(share * (1 - share) / n + Z95**2 / (4 * n * n))
    low, high = max(0.0, centre - half), min(1.0, centre + half)
    return min(low, share), max(high, share)  # at shares of 0 and 1 rounding would leave the share outside


def paired_change(before: Score, after: Score) -> dict[str, float]:
    """Return by how much pass@1 changed between two scores of the same problems, with its 95 % interval.

    The interval is Wald's for matched pairs, with half a pair added to each of the four outcomes (Agresti and Min 2005,
    "Simple improved confidence intervals for comparing matched proportions"): it has a width where no pair differs.

    Returns:
        n problems judged both times, their pass@1 `before` and `after`, `change`, and its bounds `low` and `high`.
    """
    pairs = [
        (first.reward >= 1.0, second.reward >= 1.0)
        for first, second in zip(before.episodes, after.episodes, strict=True)
        if first.valid and second.valid
    ]
    n = len(pairs)
    if n == 0:
        return {"n": 0, **dict.fromkeys(("before", "after", "change", "low", "high"), math.nan)}
    won, lost = sum(b and not a for a, b in pairs), sum(a and not b for a, b in pairs)
    middle = (won - lost) / (n + 2)
    half = Z95 * math.sqrt((won + lost + 1) / (n + 2) - middle**2) / math.sqrt(n + 2)
    change = (won - lost) / n
    return {
        "n": n,
        "before": sum(a for a, _ in pairs) / n,
        "after": sum(b for _, b in pairs) / n,
        "change": change,
        "low": max(-1.0, min(middle - half, change)),
        "high": min(1.0, max(middle + half, change)),
    }
