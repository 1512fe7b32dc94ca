"""One update: the gradient against a slow one written out by hand, what it may not depend on, and what it refuses."""

from __future__ import annotations

import copy
import dataclasses
import math
from typing import Any

import pytest
import torch
from torch import Tensor

from grpo_agents.collect import Episode
from grpo_agents.config import Objective, Optimisation
from grpo_agents.logprobs import LogProbs
from grpo_agents.losses import LossTerms
from grpo_agents.policy import Policy
from grpo_agents.rollout import Trajectory
from grpo_agents.update import accumulate, advantages_of, lesson_of
from tests.agents.lessons import MAX_TOKENS, TEMPERATURE, batch, step, trajectory_of
from tests.agents.runs import babbler, gradient, weights

BUDGETS = (1, 64, 10**6)


def gradient_of(
    policy: Policy,
    episodes: list[Episode],
    objective: Objective,
    budget: int = 10**6,
    layout: Any = "auto",
    rows: list[int] | None = None,
    reference: LogProbs | None = None,
) -> tuple[Tensor, LossTerms]:
    """Return the gradient that the product accumulates, without a step, and the loss terms."""
    advantages = advantages_of(episodes, objective)
    teaching = [r for r, e in enumerate(episodes) if e.valid and advantages[r] != 0] if rows is None else rows
    lesson = lesson_of(episodes, teaching, advantages, objective, MAX_TOKENS)
    if reference is not None:
        lesson = dataclasses.replace(lesson, reference=reference.frozen(lesson.groups, TEMPERATURE))
    policy.model.zero_grad()
    terms = accumulate(LogProbs(policy.model, policy.pad_id, layout=layout), lesson, objective, budget, TEMPERATURE)
    return gradient(policy), terms


def close(first: Tensor, second: Tensor, tolerance: float = 1e-6) -> bool:
    """Whether two gradients differ by no more than a share of their norm."""
    assert first.norm() > 1e-3
    return float((first - second).norm() / first.norm()) < tolerance


def slow_gradient(
    policy: Policy, episodes: list[Episode], objective: Objective, reference: Policy | None = None
) -> tuple[Tensor, float]:
    """Return gradient and loss by the plainest way: row by row, whole forward, no mask, no cache, sums in Python."""
    policy.model.zero_grad()
    valid = [e for e in episodes if e.valid]
    spread = torch.tensor([e.reward for e in valid], dtype=torch.float64).std().item()
    total = torch.zeros((), dtype=torch.float64)
    for episode in valid:
        group = [e.reward for e in valid if e.group == episode.group]
        unit = {"batch": spread, "group": torch.tensor(group, dtype=torch.float64).std().item(), "none": 1 - 1e-4}
        if max(group) - min(group) < 1e-12:
            advantage = 0.0
        else:
            advantage = (episode.reward - sum(group) / len(group)) / (unit[objective.scale] + 1e-4)
        divisor = {
            "dapo": sum(e.length for e in valid),
            "grpo": len(valid) * episode.length,
            "dr_grpo": len(valid) * MAX_TOKENS,
        }[objective.loss]
        trajectory = trajectory_of(episode)
        new = whole_forward(policy, trajectory)
        held = whole_forward(reference, trajectory).detach() if reference is not None else None
        for place, own in enumerate(trajectory.own):
            if not own:
                continue
            ratio = (new[place] - trajectory.logprobs[place]).exp()
            clipped = ratio.clamp(1 - objective.clip_low, 1 + objective.clip_high)
            total = total - torch.minimum(ratio * advantage, clipped * advantage) / divisor
            if held is not None:
                x = held[place] - new[place]
                k3 = x.exp() - x - 1
                weighted = ratio * k3 if objective.kl_ratio_correction else k3
                total = total + objective.kl_coef * weighted / divisor
    total.backward()
    return gradient(policy), total.item()


def whole_forward(policy: Policy, trajectory: Trajectory) -> Tensor:
    """Return the log-prob of every tail token [C], float64 and with gradient."""
    ids = torch.tensor([trajectory.context])
    logits = policy.model(input_ids=ids).logits[0].double() / TEMPERATURE
    before = logits.log_softmax(-1)[len(trajectory.prompt) - 1 : -1]
    values: Tensor = before.gather(1, torch.tensor(trajectory.tail)[:, None])[:, 0]
    return values


@pytest.fixture(scope="module")
def policy() -> Policy:
    return babbler(double=True)


@pytest.fixture(scope="module")
def episodes(policy) -> list[Episode]:
    """Off-policy, multi-turn, one group without a spread, one row that abstains."""
    rows = batch(policy, off_policy=0.3)
    for episode in rows:
        if episode.group == 2:
            episode.reward = 0.5
    rows[1].valid = False
    return rows


OBJECTIVES = [
    Objective(),
    Objective(loss="grpo", scale="group", clip_high=0.2),
    Objective(loss="dr_grpo", scale="none", clip_low=0.1, clip_high=0.5),
]


class TestAgainstTheSlowReference:
    @pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda o: o.loss)
    def test_gradient_and_loss_are_those_written_out_by_hand(self, objective, policy, episodes):
        expected, loss = slow_gradient(policy, episodes, objective)
        found, terms = gradient_of(policy, episodes, objective)

        assert close(expected, found, 1e-5)
        assert float(terms.loss) == pytest.approx(loss, rel=1e-5, abs=1e-7)
        assert terms.clipped_low > 0
        assert terms.clipped_high > 0

    @pytest.mark.parametrize("corrected", [True, False])
    def test_the_kl_term_is_that_written_out_by_hand(self, corrected, policy, episodes):
        objective = Objective(kl_coef=0.5, kl_ratio_correction=corrected)
        other = babbler(double=True)
        with torch.no_grad():
            for parameter in other.model.parameters():
                parameter.mul_(0.9)
        valid = [row for row, episode in enumerate(episodes) if episode.valid]
        expected, loss = slow_gradient(policy, episodes, objective, other)
        found, terms = gradient_of(policy, episodes, objective, rows=valid, reference=other.logprobs)

        assert close(expected, found, 1e-5)
        assert float(terms.loss) == pytest.approx(loss, rel=1e-5)
        assert terms.kl > 0


class TestWhatTheGradientDoesNotDependOn:
    @pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda o: o.loss)
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

    @pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda o: o.loss)
    def test_whether_rows_without_an_advantage_are_forwarded(self, objective, policy, episodes):
        valid = [row for row, episode in enumerate(episodes) if episode.valid]
        some, _ = gradient_of(policy, episodes, objective)
        every, terms = gradient_of(policy, episodes, objective, rows=valid)

        assert terms.tokens > sum(e.length for e in episodes if e.valid and e.group != 2)
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
            pairs.append((sum(trajectory.logprobs), float(whole_forward(policy, trajectory)[own].sum())))
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
        assert float(result.terms.ratio_max) == pytest.approx(1.0, abs=1e-5)
        assert (int(result.terms.clipped_low), int(result.terms.clipped_high)) == (0, 0)
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
        assert abs(float(result.terms.ratio_max) - 1) > 1e-3
        assert int(result.terms.clipped_low) + int(result.terms.clipped_high) > 0

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
        before = distance(policy, start, episodes)
        optimizer = torch.optim.SGD(policy.model.parameters(), lr=0.01)
        step(policy, episodes, optimizer=optimizer, objective=Objective(kl_coef=1.0), reference=start.logprobs)

        assert distance(policy, start, episodes) < 0.995 * before


def distance(policy: Policy, start: Policy, episodes: list[Episode]) -> float:
    """Return KL(policy || start), nats per own token of the episodes, exactly."""
    sums, tokens = 0.0, 0
    for episode in episodes:
        trajectory = trajectory_of(episode)
        with torch.no_grad():
            now, then = (
                side.model(input_ids=torch.tensor([trajectory.context])).logits[0].double().log_softmax(-1)
                for side in (policy, start)
            )
        gaps = (now.exp() * (now - then)).sum(-1)[len(trajectory.prompt) - 1 : -1]
        sums += float(gaps[torch.tensor(trajectory.own)].sum())
        tokens += episode.length
    return sums / tokens


def tied_once(policy: Policy) -> list[tuple[str, Tensor]]:
    return [(name, parameter.detach()) for name, parameter in policy.model.named_parameters()]


def test_groups_whose_rows_all_abstain_but_one_teach_nothing():
    policy = babbler()
    episodes = batch(policy)
    for episode in episodes[1:4]:
        episode.valid = False
    advantages = advantages_of(episodes, Objective())

    assert not advantages[:4].any()
    assert advantages[4:].any()
