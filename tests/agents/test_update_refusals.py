"""What an update refuses: where nothing teaches or a number is not finite, the weights stay bit for bit."""

from __future__ import annotations

import copy
import dataclasses
import math
from typing import Any

import pytest
import torch

from grpo_agents.collect import Episode
from grpo_agents.config import Optimisation
from grpo_agents.logprobs import LogProbs, Reading
from grpo_agents.policy import Policy
from grpo_agents.prepare import prepare
from grpo_agents.update import Update
from tests.agents.lessons import batch, learner, step, trajectory_of
from tests.agents.runs import babbler, identical, weights


class TestWhatLeavesTheWeightsUntouched:
    """Bit for bit, and the optimiser's state too."""

    @pytest.fixture
    def adam(self) -> tuple[Policy, torch.optim.AdamW]:
        """A policy and an optimiser that has taken a step, so that it holds a state, with decay."""
        policy = babbler()
        optimizer = torch.optim.AdamW(policy.model.parameters(), lr=1e-3, weight_decay=0.1)
        assert step(policy, batch(policy), optimizer=optimizer).skipped == ""
        return policy, optimizer

    def refused(self, adam: tuple[Policy, torch.optim.AdamW], episodes: list[Episode], **changes: Any) -> Update:
        policy, optimizer = adam
        before, state = weights(policy), copy.deepcopy(optimizer.state_dict()["state"])
        result = step(policy, episodes, optimizer=optimizer, **changes)
        after = optimizer.state_dict()["state"]

        assert identical(weights(policy), before)
        assert all(torch.equal(after[key][name], value) for key in state for name, value in state[key].items())
        return result

    def test_equal_rewards_even_with_weight_decay(self, adam):
        episodes = batch(adam[0])
        for episode in episodes:
            episode.reward = 0.7
        result = self.refused(adam, episodes)

        assert result.skipped == "no group had a spread of rewards"
        assert (result.refused, result.terms, result.grad_norm, result.trained_tokens) == (False, None, 0.0, 0)
        assert not result.advantages.any()

    def test_equal_rewards_within_each_group(self, adam):
        episodes = batch(adam[0])
        for episode in episodes:
            episode.reward = 0.1 * episode.group

        assert not self.refused(adam, episodes).refused

    def test_a_batch_in_which_no_row_is_valid(self, adam):
        episodes = batch(adam[0])
        for episode in episodes:
            episode.valid, episode.reward = False, math.nan

        assert self.refused(adam, episodes).skipped == "no group had a spread of rewards"

    @pytest.mark.parametrize("value", [math.nan, -math.inf])
    def test_a_sampled_log_prob_that_is_not_finite_and_the_completion_is_named(self, adam, value):
        episodes = batch(adam[0])
        rows = [row for row, a in enumerate(prepare(learner(adam[0]), episodes, 0.0).credit.per_row) if a < 0]
        trajectory_of(episodes[rows[1]]).logprobs[0] = value
        result = self.refused(adam, episodes)

        assert result.refused
        assert result.skipped == f"the sampled log-probs of completions {rows[1]} are not finite"

    def test_a_loss_that_is_finite_with_a_gradient_that_is_not(self, adam):
        class Steep(LogProbs):
            def read(self, *args: Any, **kwargs: Any) -> Reading:
                reading = super().read(*args, **kwargs)
                if reading.logprobs.requires_grad:
                    reading.logprobs.register_hook(lambda grad: grad * math.inf)
                return reading

        policy = adam[0]
        result = self.refused(adam, batch(policy), logprobs=Steep(policy.model, policy.pad_id))

        assert result.refused
        assert result.skipped.startswith("loss ")
        assert "gradient norm nan is not finite" in result.skipped

    def test_weights_that_are_not_finite_already(self, adam):
        policy = adam[0]
        episodes = batch(policy)
        with torch.no_grad():
            next(policy.model.parameters())[3, 3] = math.nan
        optimizer = adam[1]
        state = copy.deepcopy(optimizer.state_dict()["state"])
        result = step(policy, episodes, optimizer=optimizer)
        after = optimizer.state_dict()["state"]

        assert result.refused
        assert "is not finite; log-probs of completions 0, " in result.skipped
        assert all(torch.equal(after[key][name], value) for key in state for name, value in state[key].items())
        assert sum(int(p.isnan().sum()) for p in policy.model.parameters()) == 1


def test_a_second_pass_that_is_refused_keeps_the_first():
    policy = babbler()
    once = babbler()
    optimisation = Optimisation(max_grad_norm=1e9, token_budget=10**6)
    step(once, batch(once), optimisation=optimisation)
    calls = []

    class Failing(LogProbs):
        def read(self, *args: Any, **kwargs: Any) -> Reading:
            calls.append(1)
            reading = super().read(*args, **kwargs)
            return dataclasses.replace(reading, logprobs=reading.logprobs * (math.nan if len(calls) == 2 else 1.0))

    logprobs = Failing(policy.model, policy.pad_id)
    thrice = dataclasses.replace(optimisation, updates_per_batch=3)
    result = step(policy, batch(policy), logprobs=logprobs, optimisation=thrice)

    assert result.refused
    assert result.trained_tokens > 0
    assert identical(weights(policy), weights(once))
