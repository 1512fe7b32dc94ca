"""One update: the gradient against a slow one written out by hand, what it may not depend on, and what it refuses."""

from __future__ import annotations

import copy
import dataclasses
import math
from typing import get_args

import pytest
import torch
from torch import Tensor

from grpo_agents.collect import Episode
from grpo_agents.config import Objective, Optimisation, Selection
from grpo_agents.config.objective import Average, LossName, Ratio
from grpo_agents.policy import Policy
from grpo_agents.prepare import prepare
from grpo_agents.reference import FrozenCopy
from tests.agents.lessons import (
    batch,
    close,
    exact_kl,
    gradient_of,
    learner,
    other_policy,
    step,
    strata_of,
    trajectory_of,
)
from tests.agents.runs import babbler, weights
from tests.agents.slow_update import OWN_RATIO, SlowBatch, whole_forward

BUDGETS = (1, 64, 10**6)
LOSSES = get_args(LossName)
AVERAGES = get_args(Average)


@pytest.fixture(scope="module")
def policy() -> Policy:
    return babbler(double=True)


@pytest.fixture(scope="module")
def episodes(policy) -> list[Episode]:
    """Off-policy, multi-turn, one group without a spread, one row that abstains, every third row cut."""
    rows = batch(policy, off_policy=0.3)
    for episode in rows:
        if episode.group == 2:
            episode.reward = 0.5
    for place, episode in enumerate(rows):
        trajectory_of(episode).ended = place % 3 > 0
    rows[1].valid = False
    return rows


OBJECTIVES = [
    Objective(),
    Objective(loss="grpo", scale="group", clip_high=0.2),
    Objective(loss="dr_grpo", scale="none", clip_low=0.1, clip_high=0.5),
    Objective(loss="grpo", clip_dual=1.4),
    *(Objective(loss=loss) for loss in LOSSES if loss not in ("dapo", "grpo", "dr_grpo")),
    Objective(loss="grpo", ratio="product", scale="none"),
]


def named(objective: Objective) -> str:
    return f"{objective.loss}-{objective.ratio}-{objective.scale}-{objective.clip_dual}"


@pytest.fixture(scope="module")
def other() -> Policy:
    return other_policy()


@pytest.fixture(scope="module")
def slow(policy, episodes, other) -> SlowBatch:
    return SlowBatch(policy, episodes, other)


class TestAgainstTheSlowReference:
    @pytest.mark.parametrize("objective", OBJECTIVES, ids=named)
    def test_gradient_and_loss_are_those_written_out_by_hand(self, objective, policy, episodes, slow):
        expected, loss = slow.gradient(objective)
        found, terms = gradient_of(policy, episodes, objective)

        assert close(expected, found, 1e-5)
        assert float(terms.loss) == pytest.approx(loss, rel=1e-5, abs=1e-6)
        if objective.loss in ("dapo", "grpo", "dr_grpo"):
            assert terms.policy.clipped_low > 0
            assert terms.policy.clipped_high > 0
        assert (terms.policy.clipped_dual > 0) == bool(objective.clip_dual)

    @pytest.mark.parametrize("loss", LOSSES)
    def test_every_average_and_every_ratio_of_every_loss(self, loss, policy, episodes, slow):
        seen = []
        ratios: tuple[Ratio, ...] = ("auto",) if loss in OWN_RATIO else ("token", "sequence", "product")
        for ratio in ratios:
            for average in AVERAGES:
                objective = Objective(loss=loss, average=average, ratio=ratio)
                expected, value = slow.gradient(objective)
                found, terms = gradient_of(policy, episodes, objective, 64)
                seen.append(expected)

                assert close(expected, found, 1e-5), objective
                assert float(terms.loss) == pytest.approx(value, rel=1e-5, abs=1e-6), objective
        distinct = {tuple((vector[:200] * 1e6).round().tolist()) for vector in seen}
        assert len(distinct) == 4 * (1 if loss in OWN_RATIO else 3)  # token, sequence, constant and sequence_sum

    @pytest.mark.parametrize("estimator", ["k2", "k3"])
    @pytest.mark.parametrize("corrected", [True, False])
    @pytest.mark.parametrize("loss", ["dapo", "gspo", "gmpo"])
    def test_the_kl_term_is_that_written_out_by_hand(self, loss, corrected, estimator, policy, episodes, other, slow):
        objective = Objective(loss=loss, kl_coef=0.5, kl_ratio_correction=corrected, kl_estimator=estimator)
        expected, value = slow.gradient(objective)
        found, terms = gradient_of(policy, episodes, objective, reference=FrozenCopy(other))

        assert close(expected, found, 1e-5)
        assert float(terms.loss) == pytest.approx(value, rel=1e-5)
        assert terms.policy.kl > 0

    @pytest.mark.parametrize("truncated", ["keep", "mask"])
    @pytest.mark.parametrize("zero_variance", ["keep", "drop"])
    @pytest.mark.parametrize("average", ["token", "sequence", "constant", "sequence_sum"])
    def test_masked_rows_and_dropped_groups(self, average, zero_variance, truncated, policy, episodes, other, slow):
        """Also under a KL term and an entropy bonus, which reach the rows that have no advantage."""
        selection = Selection(truncated=truncated, zero_variance=zero_variance)
        objective = Objective(average=average, kl_coef=0.3, entropy_coef=0.2)
        assert 0 < sum(e.ended for e in episodes) < len(episodes)
        expected, value = slow.gradient(objective, selection)
        found, terms = gradient_of(policy, episodes, objective, 64, selection=selection, reference=FrozenCopy(other))

        assert close(expected, found, 1e-5)
        assert float(terms.loss) == pytest.approx(value, rel=1e-5)

    @pytest.mark.parametrize("loss", ["dapo", "gspo", "gmpo", "cispo"])
    def test_weights_and_clips_of_strata(self, loss, policy, episodes, slow):
        objective = Objective(loss=loss)
        clips = {0: (0.02, 0.03), 3: (0.5, 0.6)}
        strata = strata_of(episodes, objective, weights={0: 2.0, 1: 0.5, 3: 0.0}, clips=clips)
        expected, value = slow.gradient(objective, strata=strata)
        found, terms = gradient_of(policy, episodes, objective, 64, strata=strata)

        assert close(expected, found, 1e-5)
        assert float(terms.loss) == pytest.approx(value, rel=1e-5, abs=1e-6)
        assert not close(slow.gradient(objective)[0], found, 1e-2)


class TestWhatTheGradientDoesNotDependOn:
    @pytest.mark.parametrize("objective", OBJECTIVES, ids=named)
    @pytest.mark.parametrize("layout", ["packed", "plain"])
    def test_the_cut_into_microbatches_and_the_layout(self, objective, layout, policy, episodes):
        whole, _ = gradient_of(policy, episodes, objective, layout="plain")

        for budget in BUDGETS:
            assert close(whole, gradient_of(policy, episodes, objective, budget, layout)[0])

    def test_the_order_of_groups_and_of_rows_within_them(self, policy, episodes):
        whole, _ = gradient_of(policy, episodes, Objective())
        moved = episodes[8:12] + episodes[:4] + episodes[12:] + episodes[4:8]
        turned = [row for first in range(0, 16, 4) for row in reversed(moved[first : first + 4])]

        for permuted in (moved, turned, episodes[::-1]):
            assert close(whole, gradient_of(policy, permuted, Objective(), 64)[0])

    def test_rows_of_one_group_that_do_not_stand_together(self, policy, episodes):
        whole, _ = gradient_of(policy, episodes, Objective())
        scattered = [episodes[row] for column in range(4) for row in range(column, 16, 4)]

        assert close(whole, gradient_of(policy, scattered, Objective())[0])

    @pytest.mark.parametrize("objective", OBJECTIVES, ids=named)
    def test_whether_rows_without_an_advantage_are_forwarded(self, objective, policy, episodes):
        """All are where a KL term asks for it; this one pulls to the policy itself, with no force at all."""
        some, _ = gradient_of(policy, episodes, objective)
        pulled = dataclasses.replace(objective, kl_coef=1e-300)
        every, terms = gradient_of(policy, episodes, pulled, reference=FrozenCopy(policy))

        assert terms.policy.tokens == sum(e.length for e in episodes if e.valid)
        assert close(every, some)

    def test_log_probs_noted_for_the_environments_tokens(self, policy, episodes):
        whole, _ = gradient_of(policy, episodes, Objective())
        spoiled = copy.deepcopy(episodes)
        for episode in spoiled:
            trajectory = trajectory_of(episode)
            trajectory.logprobs = [
                p if own else math.nan for p, own in zip(trajectory.logprobs, trajectory.own, strict=True)
            ]

        assert any(not all(trajectory_of(episode).own) for episode in spoiled)
        assert torch.equal(whole, gradient_of(policy, spoiled, Objective())[0])

    def test_what_an_invalid_row_holds(self, policy, episodes):
        whole, _ = gradient_of(policy, episodes, Objective())
        spoiled = copy.deepcopy(episodes)
        spoiled[1].reward = math.nan
        trajectory_of(spoiled[1]).logprobs = [math.nan] * len(trajectory_of(spoiled[1]).tail)

        assert torch.equal(whole, gradient_of(policy, spoiled, Objective())[0])

    def test_microbatches_give_the_same_weights(self):
        moved = []
        for budget in BUDGETS:
            policy = babbler(double=True)
            step(policy, batch(policy), optimisation=Optimisation(token_budget=budget, updates_per_batch=2))
            moved.append(torch.cat([value.flatten() for value in weights(policy).values()]))

        assert (moved[1] - moved[0]).abs().max() < 1e-6
        assert (moved[2] - moved[0]).abs().max() < 1e-6


def sampled_and_now(policy: Policy, episodes: list[Episode]) -> list[tuple[float, float]]:
    """Return each row's summed log-prob as it was sampled and as it is under the policy now."""
    pairs = []
    for episode in episodes:
        trajectory = trajectory_of(episode)
        own = torch.tensor(trajectory.own)
        with torch.no_grad():
            pairs.append((sum(trajectory.logprobs), float(whole_forward(policy, trajectory)[0][own].sum())))
    return pairs


class TestOneStep:
    def test_it_raises_the_better_completion_and_lowers_the_worse(self):
        policy = babbler()
        episodes = batch(policy, groups=1, size=2)
        episodes[0].reward, episodes[1].reward = 1.0, 0.0
        result = step(policy, episodes, optimisation=Optimisation(max_grad_norm=0.05))
        better, worse = sampled_and_now(policy, episodes)

        assert result.skipped == ""
        assert result.advantages[0] > 0 > result.advantages[1]
        assert better[1] > better[0] + 1e-3
        assert worse[1] < worse[0] - 1e-3

    @pytest.mark.parametrize("budget", BUDGETS)
    def test_the_ratio_is_1_at_the_first_update_although_the_temperature_is_not(self, budget):
        policy = babbler()
        episodes = batch(policy)
        result = step(policy, episodes, optimisation=Optimisation(token_budget=budget))

        assert result.terms is not None
        assert float(result.terms.policy.ratio_max) == pytest.approx(1.0, abs=1e-5)
        assert (int(result.terms.policy.clipped_low), int(result.terms.policy.clipped_high)) == (0, 0)
        assert result.trained_tokens == sum(
            e.length for e, advantage in zip(episodes, result.advantages, strict=True) if advantage != 0
        )

    def test_every_ratio_is_1_before_the_first_update(self):
        policy = babbler()
        for sampled, now in sampled_and_now(policy, batch(policy)):
            assert now == pytest.approx(sampled, abs=1e-4)

    def test_a_second_update_on_the_batch_has_other_ratios_and_may_clip(self):
        policy = babbler()
        result = step(policy, batch(policy), optimisation=Optimisation(updates_per_batch=2, max_grad_norm=1e9))

        assert result.terms is not None
        assert abs(float(result.terms.policy.ratio_max) - 1) > 1e-3
        assert int(result.terms.policy.clipped_low) + int(result.terms.policy.clipped_high) > 0

    def test_the_gradient_is_scaled_down_to_its_limit(self):
        policy = babbler()
        before = weights(policy)
        result = step(policy, batch(policy), optimisation=Optimisation(max_grad_norm=0.01))
        moved = math.sqrt(sum(float((value - before[name]).square().sum()) for name, value in tied_once(policy)))

        assert result.grad_norm > 0.01
        assert moved == pytest.approx(0.05 * 0.01, rel=1e-3)

    def test_with_a_kl_term_equal_rewards_pull_back_to_the_reference(self):
        """What a group without a spread then teaches: to be as the policy was. Measured over the whole vocabulary."""
        policy, start = babbler(), babbler()
        with torch.no_grad():
            policy.model.get_output_embeddings().weight.mul_(1.3)
        episodes = batch(policy, groups=8, size=8)
        for episode in episodes:
            episode.reward = 0.5
        before = exact_kl(policy, start, episodes)
        optimizer = torch.optim.SGD(policy.model.parameters(), lr=0.01)
        step(policy, episodes, optimizer=optimizer, objective=Objective(kl_coef=1.0), reference=FrozenCopy(start))

        assert exact_kl(policy, start, episodes) < 0.995 * before


def tied_once(policy: Policy) -> list[tuple[str, Tensor]]:
    return [(name, parameter.detach()) for name, parameter in policy.model.named_parameters()]


def test_groups_whose_rows_all_abstain_but_one_teach_nothing():
    policy = babbler()
    episodes = batch(policy)
    for episode in episodes[1:4]:
        episode.valid = False
    credit = prepare(learner(policy), episodes, 0.0).credit

    assert not credit.per_row[:4].any()
    assert credit.per_row[4:].any()
