"""From a batch to lessons: which rows teach, how much each token weighs, minibatches, corrections, entropy."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from typing import Any, get_args

import pytest
import torch

from grpo_agents.collect import Episode
from grpo_agents.config import Objective, Optimisation, Selection
from grpo_agents.config.objective import Average, Correction, LossName
from grpo_agents.lesson import Drawn
from grpo_agents.policy import Policy
from grpo_agents.prepare import Prepared, prepare
from grpo_agents.reference import FrozenCopy
from tests.agents.lessons import (
    MAX_TOKENS,
    batch,
    close,
    gradient_of,
    gradients_of,
    learner,
    other_policy,
    step,
    trajectory_of,
)
from tests.agents.runs import babbler, identical, weights

LOSSES = get_args(LossName)


@pytest.fixture(scope="module")
def policy() -> Policy:
    return babbler(double=True)


@pytest.fixture(scope="module")
def other() -> Policy:
    return other_policy()


@pytest.fixture(scope="module")
def episodes(policy) -> list[Episode]:
    """Off-policy; group 2 is flat; of each other group the second row was cut at its limit."""
    rows = batch(policy, off_policy=0.3)
    for place, episode in enumerate(rows):
        trajectory_of(episode).ended = place % 4 != 1
        if episode.group == 2:
            episode.reward = 0.5
    return rows


def prepared(policy: Policy, episodes: list[Episode], kl_coef: float = 0.0, **changes: object) -> Prepared:
    return prepare(learner(policy, **changes), episodes, kl_coef, generator=torch.Generator().manual_seed(1))


class TestWeights:
    @pytest.mark.parametrize("average", ["token", "sequence", "constant", "sequence_sum"])
    @pytest.mark.parametrize("drop", [True, False])
    def test_of_truncated_rows_the_tokens_leave_and_the_row_stays(self, average, drop, policy, episodes):
        selection = Selection(truncated="mask", zero_variance="drop" if drop else "keep")
        (lesson,) = prepared(policy, episodes, objective=Objective(average=average), selection=selection).lessons
        rows = [e for e in episodes if not drop or e.group != 2]
        counted = [e for e in rows if e.ended]
        divisors: dict[str, Callable[[int], int]] = {
            "token": lambda n: sum(e.length for e in counted),
            "sequence": lambda n: n * len(rows),
            "constant": lambda n: MAX_TOKENS * len(rows),
            "sequence_sum": lambda n: len(rows),
        }
        taught = [r for r, e in enumerate(episodes) if e.ended and e.group != 2]

        assert lesson.drawn.rows == tuple(taught)
        expected = [1 / divisors[average](episodes[r].length) for r in taught for _ in range(episodes[r].length)]
        assert lesson.tokens.weights.tolist() == pytest.approx(expected)
        plain = 1 / sum(e.length for e in counted)
        assert lesson.tokens.plain_weights.tolist() == pytest.approx([plain] * len(expected))

    def test_rows_that_abstain_are_in_no_mean(self, policy, episodes):
        rows = copy.deepcopy(episodes)
        rows[0].valid = False
        (lesson,) = prepared(policy, rows, objective=Objective(average="sequence_sum")).lessons

        assert set(lesson.tokens.weights.tolist()) == {1 / 15}

    @pytest.mark.parametrize("zero_variance", ["keep", "drop"])
    def test_what_was_left_out_is_counted(self, zero_variance, policy, episodes):
        selection = Selection(truncated="mask", zero_variance=zero_variance)
        figures = prepared(policy, episodes, selection=selection).figures

        assert figures == {"rows/masked": 4.0, "groups/dropped": float(zero_variance == "drop")}

    def test_a_batch_of_rows_that_are_all_masked_teaches_nothing(self, policy, episodes):
        rows = copy.deepcopy(episodes)
        for episode in rows:
            trajectory_of(episode).ended = False

        assert prepared(policy, rows, selection=Selection(truncated="mask")).lessons == []


class TestFlatGroups:
    def test_they_are_forwarded_only_where_something_moves_them(self, policy, episodes, other):
        def groups(**changes: object) -> set[int]:
            kl = 0.3 if "reference" in changes else 0.0
            return {
                episodes[row].group
                for lesson in prepared(policy, episodes, kl, **changes).lessons
                for row in lesson.drawn.rows
            }

        drop = Selection(zero_variance="drop")
        reference = FrozenCopy(other)
        assert groups() == {0, 1, 3}
        assert groups(objective=Objective(entropy_coef=0.1)) == {0, 1, 2, 3}
        assert groups(reference=reference) == {0, 1, 2, 3}
        assert groups(reference=reference, selection=drop) == {0, 1, 3}
        assert groups(objective=Objective(entropy_coef=0.1), selection=drop) == {0, 1, 3}
        assert groups(reference=reference, objective=Objective(kl_estimator="k1")) == {0, 1, 2, 3}
        assert groups(reference=reference, objective=Objective(kl_estimator="k1"), selection=drop) == {0, 1, 3}

    def test_a_coefficient_of_0_asks_no_reference(self, policy, episodes):
        class Never(FrozenCopy):
            def frozen(self, *args: object, **kwargs: object) -> torch.Tensor:
                raise AssertionError

        assert prepared(policy, episodes, 0.0, reference=Never(policy)).lessons

    @pytest.mark.parametrize("loss", LOSSES)
    def test_dropping_them_is_the_batch_without_them(self, loss, policy, episodes):
        lively = [e for e in episodes if e.group != 2]
        objective = Objective(loss=loss, scale="none")
        dropped, _ = gradient_of(policy, episodes, objective, selection=Selection(zero_variance="drop"))
        kept, _ = gradient_of(policy, episodes, objective)
        alone, _ = gradient_of(policy, lively, objective)

        assert close(alone, dropped)
        assert not close(kept, dropped, 0.1)

    def test_an_entropy_bonus_spreads_their_answers(self):
        """Its gradient, and no reward's, raises the entropy over the whole vocabulary."""
        policy = babbler()
        rows = batch(policy)
        for episode in rows:
            episode.reward = 0.5
        drawn = prepared(policy, rows, objective=Objective(entropy_coef=1.0)).lessons[0].drawn
        before = policy.logprobs.frozen_entropies(drawn.groups).mean()
        result = step(policy, rows, objective=Objective(entropy_coef=1.0))
        after = policy.logprobs.frozen_entropies(drawn.groups).mean()

        assert result.skipped == ""
        assert after > before + 1e-3
        assert step(policy, rows).skipped == "no group had a spread of rewards"


class TestMinibatches:
    @pytest.mark.parametrize("average", [a for a in get_args(Average) if a != "minibatch_token"])
    @pytest.mark.parametrize("count", [2, 3, 9])
    def test_their_gradients_add_up_to_that_of_the_whole(self, average, count, policy, episodes, other):
        objective = Objective(average=average, kl_coef=0.2, entropy_coef=0.1)
        changes: dict[str, Any] = {"reference": FrozenCopy(other), "selection": Selection(truncated="mask")}
        whole, terms = gradient_of(policy, episodes, objective, **changes)
        parts, of_parts, found = gradients_of(
            policy, episodes, objective, minibatches=count, generator=torch.Generator().manual_seed(4), **changes
        )
        made = min(count, 4)

        assert len(parts) == made
        assert close(whole, torch.stack(parts).sum(0) / made)
        assert sum(float(t.loss) for t in of_parts) / made == pytest.approx(float(terms.loss), rel=1e-5)
        groups = [{episodes[row].group for row in lesson.drawn.rows} for lesson in found.lessons]
        assert sorted(g for of in groups for g in of) == [0, 1, 2, 3]  # whole groups, each in one
        assert max(map(len, groups)) - min(map(len, groups)) <= 1

    def test_bnpo_takes_the_mean_over_each_minibatch_alone(self, policy, episodes):
        _, _, found = gradients_of(policy, episodes, Objective(loss="bnpo", entropy_coef=0.1), minibatches=2)

        assert [float(lesson.tokens.weights.sum()) for lesson in found.lessons] == pytest.approx([1.0, 1.0])

    def test_the_deal_follows_from_the_generator_alone(self, policy, episodes):
        def deal(seed: int) -> list[tuple[int, ...]]:
            of = learner(policy, optimisation=Optimisation(minibatches=2))
            generator = torch.Generator().manual_seed(seed)
            return [lesson.drawn.rows for lesson in prepare(of, episodes, 0.0, None, generator).lessons]

        assert deal(1) == deal(1)
        assert len({tuple(deal(seed)) for seed in range(8)}) > 1

    def test_each_is_a_step_and_the_terms_are_those_of_all(self, policy, episodes):
        own = babbler(double=True)
        before = weights(own)
        steps: list[int] = []
        optimizer = torch.optim.SGD(own.model.parameters(), lr=0.01)
        optimizer.register_step_post_hook(lambda *_: steps.append(1))
        optimisation = Optimisation(max_grad_norm=1e9, minibatches=3, updates_per_batch=2)
        result = step(
            own, episodes, optimizer=optimizer, optimisation=optimisation, generator=torch.Generator().manual_seed(0)
        )

        assert len(steps) in (4, 6)  # the flat group may be alone in its minibatch, which then has nothing to teach
        assert not identical(weights(own), before)
        assert result.terms is not None
        assert result.trained_tokens == sum(e.length for e in episodes if e.group != 2) == result.terms.policy.tokens


class TestCorrections:
    def test_without_one_the_samplers_log_probs_are_the_old_policys(self, policy, episodes):
        tokens = prepared(policy, episodes).lessons[0].tokens

        assert tokens.old is tokens.sampled or torch.equal(tokens.old, tokens.sampled)
        assert tokens.factor is None

    @pytest.mark.parametrize("mode", [mode for mode in get_args(Correction) if mode != "none"])
    def test_the_factor_is_the_ratio_of_trainer_and_sampler(self, mode, policy, episodes):
        objective = Objective(correction=mode, correction_high=1.3, correction_low=0.7)
        found = prepared(policy, episodes, objective=objective)
        tokens = found.lessons[0].tokens
        logs = (tokens.old - tokens.sampled).double()
        if mode.startswith("sequence"):
            logs = torch.stack([logs[tokens.row == row].sum() for row in tokens.row])
        ratio = logs.exp()
        inside = (ratio >= 0.7) & (ratio <= 1.3)
        expected = ratio.clamp(0.7, 1.3) if mode.endswith("truncate") else torch.where(inside, ratio, 0.0)

        assert 0 < inside.sum() < len(inside)
        assert tokens.factor is not None
        assert torch.allclose(tokens.factor, expected)
        assert torch.allclose(tokens.old, policy.logprobs.frozen(found.lessons[0].drawn.groups, 0.8), atol=1e-5)
        assert found.figures["mismatch/abs_mean"] == pytest.approx(0.24, abs=0.05)  # noise of 0.3: 0.3 sqrt(2 / pi)
        assert found.figures["mismatch/missing"] == 0

    @pytest.mark.parametrize("loss", LOSSES)
    def test_a_sampler_that_agrees_changes_nothing(self, loss, policy):
        rows = batch(policy)
        plain, _ = gradient_of(policy, rows, Objective(loss=loss))
        for mode in get_args(Correction):
            found, _ = gradient_of(policy, rows, Objective(loss=loss, correction=mode))
            assert close(plain, found, 1e-4), mode

    @pytest.mark.parametrize("loss", LOSSES)
    @pytest.mark.parametrize("mode", ["token_mask", "sequence_truncate"])
    def test_the_cut_and_the_layout_change_nothing(self, loss, mode, policy, episodes):
        objective = Objective(loss=loss, correction=mode, correction_high=1.3, correction_low=0.7)
        whole, _ = gradient_of(policy, episodes, objective, layout="plain")

        assert close(whole, gradient_of(policy, episodes, objective, 64)[0])
        assert close(whole, gradient_of(policy, episodes[::-1], objective, 1)[0])

    def test_the_factor_multiplies_the_policy_term_alone(self, policy, episodes, other):
        """With every token masked out only the KL term is left."""
        nothing = Objective(correction="token_mask", correction_low=1e6, correction_high=1e7, kl_coef=0.5)
        found, terms = gradient_of(policy, episodes, nothing, reference=FrozenCopy(other))
        rows = copy.deepcopy(episodes)
        for episode in rows:
            episode.reward = 0.0
        clean = dataclasses.replace(nothing, correction="token_truncate", correction_low=0.0)
        pull, _ = gradient_of(policy, rows, clean, reference=FrozenCopy(other))

        assert terms.policy.kept == 0
        assert terms.policy.policy == 0
        assert close(pull, found)


class TestTokensOfHighEntropy:
    def test_the_share_is_of_all_tokens_that_count_and_weights_stay(self, policy, episodes):
        """Of those that do not teach, too: a KL term, for which they would be forwarded, moves no threshold."""
        (lesson,) = prepared(policy, episodes, objective=Objective(entropy_share=0.25)).lessons
        (whole,) = prepared(policy, episodes).lessons
        keep = lesson.tokens.keep
        entropies = policy.logprobs.frozen_entropies(Drawn.of(episodes).groups, 0.8)
        threshold = torch.quantile(entropies.double(), 0.75)

        assert keep is not None
        assert len(keep) < len(entropies)
        assert torch.equal(keep, policy.logprobs.frozen_entropies(lesson.drawn.groups, 0.8).double() >= threshold)
        assert torch.equal(lesson.tokens.weights, whole.tokens.weights)

    @pytest.mark.parametrize("budget", [1, 64, 10**6])
    def test_the_threshold_does_not_know_how_the_batch_is_cut(self, budget, policy, episodes):
        objective = Objective(entropy_share=0.25)
        whole, terms = gradient_of(policy, episodes, objective, layout="plain")
        found, of_found = gradient_of(policy, episodes, objective, budget)

        assert terms.policy.kept == of_found.policy.kept < terms.policy.tokens
        assert close(whole, found)
