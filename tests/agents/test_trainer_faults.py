"""What users of other trainers suffered from, once more against this one: advantages, groups, masks, accumulation.

Numbers are the rows of the list in the design notes; every test has the number of its row and runs through `prepare`
or a whole update.
"""

from __future__ import annotations

import copy
import logging
import math
from typing import Any, get_args

import pytest
import torch
from gymnasium.vector import AutoresetMode

from grpo_agents.collect import Episode
from grpo_agents.config import Objective, Optimisation, Selection
from grpo_agents.config.objective import LossName
from grpo_agents.credit import no_strata
from grpo_agents.metrics import step_metrics
from grpo_agents.policy import Policy
from grpo_agents.prepare import Prepared, prepare
from grpo_agents.reference import FrozenCopy
from grpo_agents.rollout import Trajectory
from grpo_agents.rollouts import Rollout
from tests.agents.foreign_envs import Word, vector
from tests.agents.lessons import batch, close, gradient_of, learner, step, trajectory_of
from tests.agents.runs import babbler, learn, short

LOSSES = get_args(LossName)
LINEAR = "grpo/Math.Linear-v0"


@pytest.fixture(scope="module")
def policy() -> Policy:
    return babbler(double=True)


@pytest.fixture(scope="module")
def episodes(policy) -> list[Episode]:
    return batch(policy, off_policy=0.3)


def graded(policy: Policy, rewards: list[float], size: int) -> list[Episode]:
    """Return real completions with rewards of our own."""
    rows = batch(policy, groups=len(rewards) // size, size=size)
    for episode, reward in zip(rows, rewards, strict=True):
        episode.reward = reward
    return rows


def prepared(policy: Policy, rows: list[Episode], **changes: Any) -> Prepared:
    return prepare(learner(policy, **changes), rows, 0.0)


def test_row_03_groups_without_a_spread_are_counted_in_both_senses():
    """A spread over the batch, none within the groups: nothing trains, and only the groups say why."""
    policy = babbler()
    rows = graded(policy, [1.0] * 4 + [0.0] * 8, 4)
    result = step(policy, rows)
    found = step_metrics(1, Rollout(rows, [*range(12)]), no_strata(12, Objective()), result, 0.1)

    assert result.skipped == "no group had a spread of rewards"
    assert not result.refused
    assert (found["groups/all_right"], found["groups/all_wrong"], found["groups/signal"]) == (1, 2, 0.0)
    assert found["reward/std"] > 0.4
    assert found["reward/within_group_std"] == 0.0


@pytest.mark.parametrize("loss", LOSSES)
def test_row_08_the_gradient_does_not_know_how_the_batch_was_accumulated(loss, policy, episodes):
    """One, several and uneven microbatches: elsewhere the loss, its scale or its denominator changed with them."""
    rows = copy.deepcopy(episodes)
    for place, episode in enumerate(rows):
        trajectory_of(episode).ended = place % 3 > 0
    selection = Selection(truncated="mask")
    whole, terms = gradient_of(policy, rows, Objective(loss=loss), layout="plain", selection=selection)
    for budget in (1, 40, 90, 300):
        found, of_found = gradient_of(policy, rows, Objective(loss=loss), budget, selection=selection)
        assert close(whole, found)
        assert float(of_found.loss) == pytest.approx(float(terms.loss), rel=1e-6, abs=1e-9)
        assert of_found.policy.tokens == terms.policy.tokens


def test_row_08_masked_tokens_are_in_no_denominator(policy, episodes):
    rows = copy.deepcopy(episodes)
    for episode in rows[8:]:
        trajectory_of(episode).ended = False
    for episode in rows[:8]:
        trajectory_of(episode).ended = True
    (lesson,) = prepared(policy, rows, selection=Selection(truncated="mask")).lessons

    counted = sum(e.length for e in rows[:8])
    assert lesson.tokens.weights.tolist() == pytest.approx([1 / counted] * counted)


def test_row_09_several_groups_of_unlike_length_give_finite_gradients(policy):
    """Padding of the longest group was NaN in the gradient of the others."""
    rows = batch(policy, groups=3)
    for episode in rows[:4]:
        whole = trajectory_of(episode)
        episode.trajectory = Trajectory(whole.prompt, whole.tail[:1], whole.own[:1], whole.logprobs[:1])
    for loss in LOSSES:
        found, terms = gradient_of(policy, rows, Objective(loss=loss), 64)
        assert found.isfinite().all()
        assert math.isfinite(float(terms.loss))


@pytest.mark.parametrize("average", ["token", "sequence", "constant", "sequence_sum"])
def test_row_14_one_truncated_completion_leaves_all_masks_in_agreement(average, policy, episodes):
    """Its tokens leave numerator and denominator, its row stays in the count, its reward in the group's mean."""
    rows = copy.deepcopy(episodes)
    for place, episode in enumerate(rows):
        trajectory_of(episode).ended = place != 5
    objective = Objective(average=average)
    masked = prepared(policy, rows, objective=objective, selection=Selection(truncated="mask"))
    kept = prepared(policy, rows, objective=objective)
    (lesson,), (whole,) = masked.lessons, kept.lessons

    assert 5 not in lesson.drawn.rows
    assert torch.equal(masked.credit.per_row, kept.credit.per_row)
    counted = sum(e.length for place, e in enumerate(rows) if place != 5)
    ratio = {"token": sum(e.length for e in rows) / counted}.get(average, 1.0)
    stays = whole.tokens.row != whole.drawn.rows.index(5)
    assert torch.allclose(lesson.tokens.weights, whole.tokens.weights[stays] * ratio)
    assert masked.figures["rows/masked"] == 1.0


def test_row_19_rewards_that_are_almost_equal_have_no_enormous_advantage():
    """Seven of 0.95 and one of 0, in float32: a variance by E[x^2] - mean^2 made -2075 of it."""
    policy = babbler()
    numbers = [0.0, *[float(torch.tensor(0.95))] * 7]
    for baseline in ("mean", "leave_one_out"):
        rows = graded(policy, numbers, 8)
        objective = Objective(scale="group", baseline=baseline)
        found = prepared(policy, rows, objective=objective).credit.per_row
        assert found[0] == pytest.approx((-7 / 8 if baseline == "mean" else -1.0) * 0.95 / (0.95 / 8**0.5 + 1e-4))
        assert float(found.sum()) == pytest.approx(0.0, abs=1e-5)


@pytest.mark.parametrize("odd", [None, math.nan, math.inf, -math.inf])
def test_row_20_a_reward_function_that_abstains_once_spoils_no_other_row(odd):
    """With several rewards per completion one None made all advantages NaN, and nothing trained, silently."""
    policy = babbler()
    rows = batch(policy)
    for place, episode in enumerate(rows):
        episode.info["rewards"] = {"a": float(place % 3), "b": float(place % 2)}
    rows[5].info["rewards"]["b"] = odd
    result = step(policy, rows, objective=Objective(rewards="normalise_then_sum"))

    assert result.skipped == ""
    assert result.advantages.isfinite().all()
    assert (result.advantages != 0).sum() > 12
    assert result.trained_tokens > 0


@pytest.mark.parametrize("odd", [None, math.nan, math.inf])
def test_row_20_the_same_for_one_reward_in_a_run(odd):
    metrics = learn(babbler(), short(), vector(Word, 12, AutoresetMode.NEXT_STEP, odd_reward=odd))

    assert all(m["rows/skipped"] > 0 and m["grad_norm"] > 0 and math.isfinite(m["reward"]) for m in metrics)


def test_row_21_an_advantage_follows_its_groups_id_through_any_shuffle(policy, episodes):
    """Groups taken by position still "kind of" learned where prompts were interleaved."""
    objective = Objective(scale="group")
    whole = prepared(policy, episodes, objective=objective).credit.per_row
    gradient, _ = gradient_of(policy, episodes, objective)
    for seed in range(3):
        order = torch.randperm(16, generator=torch.Generator().manual_seed(seed)).tolist()
        shuffled = [episodes[row] for row in order]

        assert torch.equal(prepared(policy, shuffled, objective=objective).credit.per_row, whole[order])
        assert close(gradient, gradient_of(policy, shuffled, objective, 64)[0])
    renamed = copy.deepcopy(episodes)
    for episode in renamed:
        episode.group = 100 - 7 * episode.group
    assert torch.equal(prepared(policy, renamed, objective=objective).credit.per_row, whole)


def test_row_22_advantages_are_normalised_once_end_to_end():
    """By hand: rewards (1, 0, 0, 1) and (2, 0, 0, 0), over the whole batch's std, on every token, and never again."""
    policy = babbler()
    rows = graded(policy, [1.0, 0.0, 0.0, 1.0, 2.0, 0.0, 0.0, 0.0], 4)
    (lesson,) = prepared(policy, rows).lessons
    std = math.sqrt((6 - 8 * 0.5**2) / 7)
    by_hand = [value / (std + 1e-4) for value in (0.5, -0.5, -0.5, 0.5, 1.5, -0.5, -0.5, -0.5)]

    expected = [a for e, a in zip(rows, by_hand, strict=True) for _ in range(e.length)]
    assert lesson.tokens.advantages.tolist() == pytest.approx(expected, rel=1e-6)
    for count in (1, 2):  # a minibatch is no new batch to normalise over
        lessons = prepared(policy, rows, optimisation=Optimisation(minibatches=count)).lessons
        found = sorted(a for part in lessons for a in part.tokens.advantages.tolist())
        assert found == pytest.approx(sorted(expected), rel=1e-6)


def test_row_23_every_turn_of_an_episode_has_its_advantage():
    """Two turns of unequal lengths: elsewhere the first got 0, the last one the advantage of another place."""
    policy = babbler()
    tails = [([7, 8, 9, 30, 31, 10, 11], [1, 1, 1, 0, 0, 1, 1]), ([12, 32, 33, 13, 14, 15], [1, 0, 0, 1, 1, 1])]
    rows = [
        Episode(0, "?", Trajectory([1, 2], ids, [bool(x) for x in own], [-1.0 * x for x in own]), reward=reward)
        for (ids, own), reward in zip(tails, (1.0, 0.0), strict=True)
    ]
    (lesson,) = prepared(policy, rows, objective=Objective(scale="none")).lessons

    assert lesson.tokens.advantages.tolist() == pytest.approx([0.5] * 5 + [-0.5] * 4)
    assert lesson.tokens.row.tolist() == [0] * 5 + [1] * 4
    with torch.no_grad():
        policy.model.requires_grad_(True)
    step(policy, rows, objective=Objective(loss="reinforce"), optimisation=Optimisation(max_grad_norm=0.05))
    now = policy.logprobs.frozen(lesson.drawn.groups, 0.8)
    before = babbler().logprobs.frozen(lesson.drawn.groups, 0.8)
    moved = (now - before).tolist()
    turns = {"first": (moved[:3], moved[5:6]), "second": (moved[3:5], moved[6:])}
    for good, bad in turns.values():
        assert sum(good) > 0 > sum(bad)


@pytest.mark.parametrize("loss", ["dapo", "grpo", "dr_grpo", "bnpo"])
def test_row_24_groups_without_a_spread_are_kept_or_dropped_as_documented(loss, policy, episodes):
    """Kept they count in the mean and cost no pass; dropped they do not; under a KL term kept ones are pulled."""
    rows = copy.deepcopy(episodes)
    for episode in rows[4:12]:
        episode.reward = 0.25
    objective = Objective(loss=loss, scale="none")
    kept, _ = gradient_of(policy, rows, objective)
    dropped, _ = gradient_of(policy, rows, objective, selection=Selection(zero_variance="drop"))
    lively = [*rows[:4], *rows[12:]]
    share = sum(e.length for e in lively) / sum(e.length for e in rows) if loss in ("dapo", "bnpo") else 0.5

    assert close(kept, dropped * share)
    assert prepared(policy, rows, objective=objective).lessons[0].drawn.rows == (0, 1, 2, 3, 12, 13, 14, 15)
    pulled = Objective(loss=loss, kl_coef=0.1)
    reference = FrozenCopy(babbler())
    for zero_variance, tokens in (("keep", sum(e.length for e in rows)), ("drop", sum(e.length for e in lively))):
        selection = Selection(zero_variance=zero_variance)  # type: ignore[arg-type]
        _, terms = gradient_of(policy, rows, pulled, reference=reference, selection=selection)
        assert terms.policy.tokens == tokens


def test_row_29_a_completion_is_left_out_by_scoring_it_none():
    reward = [0.0]

    def some(response: str, problem: Any) -> float | None:
        reward[0] += 1
        return None if reward[0] % 4 == 1 else float(len(response) % 3)

    metrics = learn(babbler(), short(env=LINEAR, env_args={"reward": some}))

    assert all(0 < m["rows/abstained"] < 12 and m["grad_norm"] > 0 for m in metrics)


def test_row_29_the_batch_is_what_it_would_be_without_the_row(policy, episodes):
    rows = copy.deepcopy(episodes)
    rows[6].valid, rows[6].reward = False, math.nan
    for loss in LOSSES:
        found, _ = gradient_of(policy, rows, Objective(loss=loss))
        alone, _ = gradient_of(policy, rows[:6] + rows[7:], Objective(loss=loss))
        assert close(alone, found)


def test_row_41_a_small_group_size_on_a_hard_task_is_said_with_the_numbers(caplog):
    """Two rows per prompt and few right: most groups carry no signal, and the flat curve was taken for a verdict."""

    class Hard(Word):
        def step(self, action: str) -> Any:
            observation, reward, *rest = super().step(action)
            return observation, float(reward > 0.7), *rest

    config = short(steps=3, prompts=8, group_size=2)
    with caplog.at_level(logging.WARNING):
        metrics = learn(babbler(), config, vector(Hard, 16, AutoresetMode.NEXT_STEP))
    said = [message for message in caplog.messages if "p^G + (1 - p)^G" in message]

    assert min(m["groups/signal"] for m in metrics) < 0.3
    assert len(said) == 1
    assert "with G = 2" in said[0]
