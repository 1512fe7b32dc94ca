"""Credit: what rewards become before and after they are compared, and which groups are worth learning from."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest
import torch
from torch import Tensor

from grpo_agents.advantages import compute_advantages, normalise_then_sum
from grpo_agents.collect import Episode
from grpo_agents.config import Objective, Selection
from grpo_agents.credit import GroupCredit, UnusableBatchError, components, lively_groups, no_strata, shaped_rewards
from grpo_agents.lesson import Drawn
from grpo_agents.rollout import Trajectory
from tests.agents.lessons import strata_of

REWARDS = [1.0, 0.0, 0.0, 0.5, 0.25, 0.25]
PARTS = [(1.0, 10.0), (0.0, 30.0), (0.5, 0.0), (1.0, 5.0), (0.0, 5.0), (0.25, 5.0)]


def episodes() -> list[Episode]:
    """Two groups of three rows with one to six tokens, two components each."""
    return [
        Episode(
            row // 3,
            "?",
            Trajectory([1], [5] * (row + 1), [True] * (row + 1), [-1.0] * (row + 1)),
            reward=reward,
            info={"rewards": {"right": right, "short": short}},
        )
        for row, (reward, (right, short)) in enumerate(zip(REWARDS, PARTS, strict=True))
    ]


def credit(rows: list[Episode], objective: Objective, rewards: Tensor | None = None, **more: Any) -> Tensor:
    """Return the advantage of each episode."""
    shaped = shaped_rewards(rows, Selection(), 8) if rewards is None else rewards
    strata = more.pop("strata", None) or no_strata(len(rows), objective)
    drawn = Drawn.of(rows)
    found = GroupCredit(objective)(rows, drawn, shaped, more.pop("penalties", None), strata)
    assert torch.equal(found.advantages, drawn.spread(found.per_row))
    assert found.advantages.dtype == torch.float32
    assert found.values is found.targets is None
    return found.per_row


GROUPS = [0, 0, 0, 1, 1, 1]


class TestShaping:
    def test_the_penalty_is_of_the_longest_turn_and_no_other_reward_changes(self):
        rows = episodes()
        own = [True, True, False, True, True, True]  # two turns of 2 and 3 tokens
        rows[5].trajectory = Trajectory([1], [5] * 6, own, [-1.0] * 6)
        shaped = shaped_rewards(rows, Selection(overlong_buffer=4, overlong_penalty=2.0), 6)

        # allowed: 2 tokens; 3, 4 and 5 of 4 beyond cost a quarter, a half, three quarters of 2
        assert shaped.tolist() == pytest.approx([1.0, 0.0, -0.5, -0.5, -1.25, -0.25])
        assert shaped_rewards(rows, Selection(), 6).tolist() == REWARDS

    def test_rows_that_are_not_valid_are_0_whatever_they_hold(self):
        rows = episodes()
        rows[0].valid, rows[0].reward = False, math.nan

        assert shaped_rewards(rows, Selection(overlong_buffer=2), 6)[0] == 0.0


class TestGroupCredit:
    @pytest.mark.parametrize("baseline", ["mean", "leave_one_out", "batch", "none"])
    def test_it_is_the_advantage_of_the_shaped_rewards_times_the_stratums_weight(self, baseline):
        objective = Objective(baseline=baseline, scale="batch")
        rewards = torch.tensor([0.9, 0.1, 0.2, 0.3, 0.4, 0.5], dtype=torch.float64)
        strata = strata_of(episodes(), objective, weights={0: 2.0, 1: 0.5})
        expected = compute_advantages(rewards, GROUPS, scale="batch", baseline=baseline) * strata.weights

        assert torch.equal(credit(episodes(), objective, rewards, strata=strata), expected.float())

    @pytest.mark.parametrize("baseline", ["stratum", "shrinkage"])
    def test_other_prompts_of_the_stratum_are_compared_with(self, baseline):
        rows = [*episodes(), *episodes()]
        for place, episode in enumerate(rows):
            episode.group, episode.reward = place // 3, float(place % 5)
        names = {0: "a", 1: "b", 2: "a", 3: "b"}
        objective = Objective(baseline=baseline, scale="none")
        strata = strata_of(rows, objective, names=names)
        rewards = [e.reward for e in rows]
        ids = [e.group for e in rows]
        expected = compute_advantages(
            torch.tensor(rewards, dtype=torch.float64), ids, scale="none", baseline=baseline, strata=strata.names
        )

        assert torch.equal(credit(rows, objective, strata=strata), expected.float())

    def test_k1_is_summed_over_a_completion_and_taken_off_its_reward(self):
        """Per token costs of 0.1: a row of n tokens pays n tenths, before anything is compared."""
        penalties = torch.full((21,), 0.1)
        shaped = [reward - 0.1 * (row + 1) for row, reward in enumerate(REWARDS)]
        expected = compute_advantages(torch.tensor(shaped, dtype=torch.float64), GROUPS, scale="none")

        found = credit(episodes(), Objective(scale="none"), penalties=penalties)
        assert torch.allclose(found, expected.float(), atol=1e-6)

    def test_a_batch_without_a_valid_row_has_no_credit(self):
        rows = episodes()
        for episode in rows:
            episode.valid = False
        for rewards in ("sum_then_normalise", "normalise_then_sum"):
            objective = Objective(rewards=rewards)
            assert not credit(rows, objective, penalties=torch.zeros(0)).any()


class TestSeveralRewards:
    def objective(self, **weights: float) -> Objective:
        return Objective(rewards="normalise_then_sum", reward_weights=weights)

    def test_each_component_is_normalised_in_its_group_and_weighs_what_it_is_told(self):
        values = torch.tensor(PARTS, dtype=torch.float64)

        assert torch.equal(credit(episodes(), self.objective()), normalise_then_sum(values, GROUPS, [1, 1]).float())
        expected = normalise_then_sum(values, GROUPS, [3, -1]).float()
        assert torch.equal(credit(episodes(), self.objective(right=3, short=-1)), expected)
        assert torch.equal(credit(episodes(), self.objective(short=-1, right=3)), expected)

    def test_what_was_taken_off_the_sum_is_one_more(self):
        rewards = torch.tensor(REWARDS, dtype=torch.float64)
        rewards[2] -= 0.75
        off = torch.tensor([0, 0, -0.75, 0, 0, 0], dtype=torch.float64)
        values = torch.cat([torch.tensor(PARTS, dtype=torch.float64), off[:, None]], 1)

        found = credit(episodes(), self.objective(), rewards)
        assert torch.allclose(found, normalise_then_sum(values, GROUPS, [1, 1, 1]).float(), atol=1e-6)

    @pytest.mark.parametrize("odd", [None, math.nan, math.inf, "text", "gone"])
    def test_one_without_a_number_has_abstained_in_that_row_alone(self, odd):
        rows = episodes()
        rows[1].info["rewards"]["short"] = odd
        if odd == "gone":
            del rows[1].info["rewards"]["short"]
        known = torch.ones(6, 2, dtype=torch.bool)
        known[1, 1] = False
        expected = normalise_then_sum(torch.tensor(PARTS, dtype=torch.float64), GROUPS, [1, 1], valid=known)

        assert torch.equal(credit(rows, self.objective()), expected.float())
        assert components(rows[1]) == {"right": 0.0}

    def test_a_component_that_no_episode_has_is_told(self):
        with pytest.raises(UnusableBatchError, match=r"reward_weights names lenght, .* has right, short"):
            credit(episodes(), self.objective(lenght=1))

    def test_one_of_several_that_a_batch_lacks_is_said_and_counts_nowhere(self, caplog):
        """Other tasks of a mixture may have it."""
        alone = credit(episodes(), self.objective(right=1))
        both = credit(episodes(), self.objective(right=1, wide=2))

        assert torch.equal(alone, both)
        assert "'wide'" in caplog.text

    @pytest.mark.parametrize("rewards", [{}, None, [1.0]])
    def test_an_environment_without_components_is_told(self, rewards):
        rows = episodes()
        for episode in rows:
            episode.info["rewards"] = rewards
        with pytest.raises(UnusableBatchError, match="no episode has any: take sum_then_normalise"):
            credit(rows, self.objective())


class TestLivelyGroups:
    def found(self, rows: list[Episode], rewards: Any = "sum_then_normalise", **selection: Any) -> list[int]:
        return lively_groups(rows, Objective(rewards=rewards), Selection(**selection), 6)

    def test_those_with_two_different_rewards_among_their_valid_rows(self):
        rows = episodes()
        assert self.found(rows) == [0, 1]
        rows[3].valid = False
        assert self.found(rows) == [0]
        rows[0].reward = 1e-12
        assert self.found(rows) == [0]  # there is no rounding beside 0
        rows[0].reward = rows[1].reward = 0.1
        rows[2].reward = 0.1 + 1e-17
        assert self.found(rows) == []

    def test_a_penalty_for_length_is_a_spread(self):
        rows = episodes()
        for episode in rows:
            episode.reward = 1.0
        assert self.found(rows) == []
        assert self.found(rows, overlong_buffer=2) == [1]

    def test_a_component_is_a_spread_only_where_it_is_compared_by_itself(self):
        rows = episodes()
        for episode in rows:
            episode.reward = 1.0
            episode.info["rewards"]["right"] = 0.0
        assert self.found(rows) == []
        assert self.found(rows, "normalise_then_sum") == [0]

    def test_rows_of_other_components_are_not_mixed_up(self):
        rows = copy.deepcopy(episodes())
        for episode in rows:
            episode.reward, episode.info["rewards"] = 1.0, {"b": 2.0}
        rows[0].info["rewards"] = {"a": 1.0, "b": 2.0}
        rows[1].info["rewards"] = {"a": None}
        assert self.found(rows, "normalise_then_sum") == []
