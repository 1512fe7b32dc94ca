"""Why completions are never put into strata by what was sampled: a bandit that then learns nothing.

A policy with one logit answers at length or briefly; long answers are right in 70 of 100 cases, short ones in 20. With
a baseline per prompt it learns to answer at length. With a baseline per stratum of the ANSWER's length both kinds are
only compared with their like: what separates them cancels, exactly, at every step (science.md 0.2).
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from grpo_agents.config import Strata
from grpo_agents.strata import PromptFacts, Stratifier

STEPS, PROMPTS, GROUP, RATE = 300, 16, 8, 0.5
Floats = NDArray[np.float64]


def minus_mean_by(reward: Floats, ids: NDArray[np.int64]) -> Floats:
    """Reward minus the mean of all rows with the same id."""
    return reward - (np.bincount(ids, reward) / np.maximum(np.bincount(ids), 1))[ids]


def train(by: str, seed: int) -> float:
    """Return P(long) after training with baselines by prompt, by stratum of prompts, or by the answer's length."""
    random = np.random.default_rng(seed)
    strata = Stratifier(Strata(by=("prompt_tokens",), boundaries="length_128_256"))
    prompt = np.repeat(np.arange(PROMPTS), GROUP)
    logit = 0.0
    for step in range(STEPS):
        chance = 1 / (1 + np.exp(-logit))
        long = random.random(prompt.size) < chance
        reward = (random.random(prompt.size) < np.where(long, 0.7, 0.2)).astype(float)
        facts = [PromptFacts("", "toy", None, int(tokens)) for tokens in random.integers(1, 400, PROMPTS)]
        names = np.unique(strata.assign(facts, step), return_inverse=True)[1].astype(np.int64)
        ids = {"prompt": prompt, "prompts of a stratum": names[prompt], "answer": long.astype(np.int64)}[by]
        score = long - chance  # derivative of the log-probability of what was drawn
        logit += RATE * float((minus_mean_by(reward, ids) * score).mean())
    return float(1 / (1 + np.exp(-logit)))


@pytest.mark.parametrize("seed", range(3))
def test_a_baseline_by_the_answers_length_learns_nothing(seed):
    assert train("answer", seed) == pytest.approx(0.5, abs=1e-9)


@pytest.mark.parametrize("by", ["prompt", "prompts of a stratum"])
@pytest.mark.parametrize("seed", range(3))
def test_baselines_by_the_prompt_learn(by, seed):
    assert train(by, seed) > 0.95
