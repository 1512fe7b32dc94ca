"""Which baselines leave the policy gradient unbiased, and how noisy each leaves it: by adding up every outcome.

A policy with one parameter per prompt draws action 1 with probability p, else action 0; the reward depends on the
prompt and the action. All 2^(prompts x completions) outcomes are weighed by their probability: nothing here is random.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import pytest
import torch

from grpo_agents.advantages import compute_advantages


class Toy(NamedTuple):
    """Chance of action 1 and the rewards of both actions, per prompt."""

    chances: tuple[float, ...]
    rewards: tuple[tuple[float, float], ...]


class Gradient(NamedTuple):
    """Expected gradient per prompt, and the variance of the estimate summed over prompts."""

    mean: list[float]
    variance: float


UNLIKE = Toy((0.2, 0.5, 0.7), ((0.0, 1.0), (0.5, -1.0), (2.0, 2.25)))
ALIKE = Toy((0.3,) * 4, ((0.0, 1.0),) * 4)
HARD_AND_EASY = Toy((0.02, 0.04, 0.96, 0.98), ((0.0, 1.0),) * 4)
TWO_KINDS = Toy((0.5,) * 4, ((0.0, 1.0), (0.0, 1.0), (5.0, 6.0), (5.0, 6.0)))


def true_gradient(toy: Toy) -> list[float]:
    """Derivative of the mean expected reward by each prompt's logit."""
    pairs = zip(toy.chances, toy.rewards, strict=True)
    return [p * (1 - p) * (second - first) / len(toy.chances) for p, (first, second) in pairs]


@cache
def estimated_gradient(toy: Toy, size: int, baseline: Any, by_completion: bool = False) -> Gradient:
    """Gradient of a group-relative policy gradient step with `size` completions per prompt, over all outcomes."""
    prompts = [prompt for prompt in range(len(toy.chances)) for _ in range(size)]
    means, squares = [0.0] * len(toy.chances), 0.0
    for actions in itertools.product([0, 1], repeat=len(prompts)):
        rows = list(zip(prompts, actions, strict=True))
        chance = math.prod(toy.chances[p] if a else 1 - toy.chances[p] for p, a in rows)
        rewards = torch.tensor([toy.rewards[p][a] for p, a in rows], dtype=torch.float64)
        # A row that calls itself its own prompt is how a stratum by completion gets past the refusal.
        groups: Sequence[int] = range(len(rows)) if by_completion else prompts
        strata: Sequence[int] = actions if by_completion else [0] * len(rows)
        advantages = compute_advantages(rewards, groups, scale="none", baseline=baseline, strata=strata).tolist()
        gradient = [0.0] * len(toy.chances)
        for (prompt, action), advantage in zip(rows, advantages, strict=True):
            gradient[prompt] += advantage * (action - toy.chances[prompt]) / len(rows)
        means = [mean + chance * g for mean, g in zip(means, gradient, strict=True)]
        squares += chance * sum(g * g for g in gradient)
    return Gradient(means, squares - sum(mean * mean for mean in means))


@pytest.mark.parametrize("baseline", ["leave_one_out", "stratum", "shrinkage", "none"])
@pytest.mark.parametrize("size", [2, 3])
def test_baselines_without_the_rows_own_reward_leave_the_gradient_unbiased(baseline, size):
    assert estimated_gradient(UNLIKE, size, baseline).mean == pytest.approx(true_gradient(UNLIKE), abs=1e-12)


def test_shrinkage_is_unbiased_where_its_weights_vary_too():
    assert estimated_gradient(HARD_AND_EASY, 2, "shrinkage").mean == pytest.approx(
        true_gradient(HARD_AND_EASY), abs=1e-12
    )


@pytest.mark.parametrize("size", [2, 3])
def test_the_groups_own_mean_shortens_the_gradient_by_its_share(size):
    want = [g * (size - 1) / size for g in true_gradient(UNLIKE)]

    assert estimated_gradient(UNLIKE, size, "mean").mean == pytest.approx(want, abs=1e-12)


def test_the_batch_mean_includes_each_row_and_is_biased():
    got = estimated_gradient(UNLIKE, 2, "batch").mean

    assert got == pytest.approx([g * 5 / 6 for g in true_gradient(UNLIKE)], abs=1e-12)  # 6 rows in the batch


def test_a_baseline_bucketed_by_the_completion_learns_nothing_of_what_separates_the_buckets():
    got = estimated_gradient(ALIKE, 2, "stratum", by_completion=True).mean

    assert min(true_gradient(ALIKE)) > 0.05
    assert got == [0.0] * 4


def noise_of(toy: Toy) -> tuple[float, float, float]:
    left_out, stratum, shrinkage = (
        estimated_gradient(toy, 2, name).variance for name in ("leave_one_out", "stratum", "shrinkage")
    )
    return left_out, stratum, shrinkage


def test_among_prompts_that_are_alike_the_stratum_has_the_least_noise():
    left_out, stratum, shrinkage = noise_of(ALIKE)

    assert stratum < 0.4 * left_out  # 0.0051 against 0.0152
    assert stratum < shrinkage < 0.5 * left_out  # 0.0068


def test_among_prompts_that_are_not_alike_shrinkage_stays_with_the_group():
    left_out, stratum, shrinkage = noise_of(TWO_KINDS)

    assert stratum > 5 * left_out
    assert shrinkage < 1.1 * left_out
