"""What a step leaves in the logs: figures of strata, advice where nothing teaches, a record per completion."""

from __future__ import annotations

import logging
import math
from typing import Any, ClassVar

import pytest
import torch
from gymnasium.vector import AutoresetMode

from grpo_agents.collect import Episode
from grpo_agents.config import Objective, Optimisation, Strata
from grpo_agents.credit import no_strata
from grpo_agents.metrics import completion_records, flat_advice, step_metrics
from grpo_agents.rollout import Trajectory
from grpo_agents.rollouts import Rollout
from grpo_agents.update import Update
from tests.agents.foreign_envs import Word, vector
from tests.agents.lessons import batch, step, strata_of
from tests.agents.runs import babbler, learn, log, short

ROWS = 12


def episodes(rewards: list[float], group_size: int = 2) -> list[Episode]:
    return [
        Episode(row // group_size, f"q{row}", Trajectory([1], [5], [True], [-1.0]), ["a"], reward)
        for row, reward in enumerate(rewards)
    ]


def figures(rows: list[Episode], advantages: list[float] | None = None, **strata: Any) -> dict[str, Any]:
    result = Update(torch.tensor(advantages or [0.0] * len(rows)), None, 0.0, 0, "")
    return step_metrics(1, Rollout(rows, list(range(len(rows)))), strata_of(rows, Objective(), **strata), result, 0.1)


class TestStrata:
    NAMES: ClassVar = {0: "easy", 1: "hard", 2: "hard"}

    def test_each_has_its_share_reward_pass_rate_spread_and_weight(self):
        rows = episodes([1.0, 1.0, 1.0, 0.0, 0.25, 0.75])
        rows[5].valid = False
        found = figures(rows, [0.5, -0.5, 1.0, -3.0, 0.0, 0.0], names=self.NAMES, weights={1: 2.0, 2: 4.0})

        assert found["strata/easy/share"] == pytest.approx(1 / 3)
        assert found["strata/hard/share"] == pytest.approx(2 / 3)
        assert found["strata/hard/reward"] == pytest.approx((1.0 + 0.0 + 0.25) / 3)
        assert found["strata/hard/pass@1"] == pytest.approx(1 / 3)  # of its three judged completions
        assert found["strata/easy/adv_std"] == pytest.approx(0.5)
        assert found["strata/hard/adv_std"] == pytest.approx(math.sqrt(9 / 4))
        assert (found["strata/easy/weight"], found["strata/hard/weight"]) == (1.0, 3.0)

    def test_there_are_no_figures_of_one_stratum(self):
        assert not any(key.startswith("strata/") for key in figures(episodes([1.0, 0.0])))

    def test_a_stratum_without_a_judged_row_is_no_fault(self):
        rows = episodes([1.0, 0.0, 0.0, 0.0])
        rows[2].valid = rows[3].valid = False

        assert figures(rows, names=self.NAMES)["strata/hard/reward"] == 0.0

    def test_a_run_logs_them_and_names_the_stratum_of_every_completion(self, tmp_path):
        config = short(strata=Strata(by=("prompt_tokens",), boundaries="fixed", edges=(15.0,)), steps=3)
        metrics = learn(babbler(), config, vector(Word, ROWS, AutoresetMode.NEXT_STEP, padding=9), path=tmp_path)
        records = log(tmp_path, "completions")

        assert {r["stratum"] for r in records} == {"easy", "hard"}
        assert all((r["stratum"] == "hard") == (len(r["prompt"]) > 12) for r in records)
        assert all(r["taught"] for r in records)
        for m in metrics:
            rows = [r for r in records if r["step"] == m["step"]]
            hard = [r["reward"] for r in rows if r["stratum"] == "hard"]
            if 0 < len(hard) < ROWS:
                assert m["strata/hard/share"] == len(hard) / ROWS
                assert m["strata/hard/reward"] == pytest.approx(sum(hard) / len(hard))


class TestAdvice:
    def metrics(self, rewards: list[float]) -> dict[str, Any]:
        return figures(episodes(rewards, 2))

    def test_it_says_how_many_groups_are_wrong_how_many_to_expect_and_what_to_do(self):
        text = flat_advice(self.metrics([0.0] * 14 + [0.0, 1.0]), 2)

        assert text == (
            "7 groups are all wrong and teach nothing (at a pass rate p of 0.06, p^G + (1 - p)^G is 0.88 with G = 2): "
            "take a lower tier, a warm start (grpo-gym sft) or a larger group_size"
        )

    def test_a_solved_task_is_no_cause_for_alarm(self):
        assert flat_advice(self.metrics([1.0] * 8), 2) == ""

    def test_it_is_silent_where_groups_teach_or_nothing_was_drawn(self):
        assert flat_advice(self.metrics([1.0, 0.0, 1.0, 0.0, 0.0, 0.0]), 2) == ""
        assert flat_advice(self.metrics([]), 2) == ""
        unjudged = episodes([1.0, 1.0])
        unjudged[0].valid = False
        assert flat_advice(figures(unjudged), 2) == ""

    def test_a_run_says_it_once(self, caplog):
        with caplog.at_level(logging.WARNING):
            learn(babbler(), short(steps=3), vector(Word, ROWS, AutoresetMode.NEXT_STEP, faults="", odd_reward=None))
        assert not [m for m in caplog.messages if "all wrong" in m]

        class Flat(Word):
            def step(self, action: str) -> Any:
                observation, _, *rest = super().step(action)
                return observation, 0.0, *rest

        with caplog.at_level(logging.WARNING):
            learn(babbler(), short(steps=3), vector(Flat, ROWS, AutoresetMode.NEXT_STEP))
        assert [m.partition(":")[0] for m in caplog.messages if "all wrong" in m] == ["step 1"]


class TestCompletions:
    def test_a_row_that_a_refill_replaced_is_told_apart_and_has_no_advantage(self):
        rows = episodes([0.0, 0.0, 1.0, 0.0])
        rollout = Rollout(rows, [2, 3], rounds=2)
        result = Update(torch.tensor([0.5, -0.5]), None, 0.0, 0, "").among([2, 3], 4)
        records = completion_records(3, rollout, strata_of(rows, Objective(), names={0: "a", 1: "b"}), result)

        assert [r["taught"] for r in records] == [False, False, True, True]
        assert [r["advantage"] for r in records] == [0.0, 0.0, 0.5, -0.5]
        assert [r["stratum"] for r in records] == ["a", "a", "b", "b"]
        assert [r["completion_id"] for r in records] == ["3-0", "3-1", "3-2", "3-3"]


class TestLoss:
    def test_a_step_of_an_update_has_its_terms_and_figures(self):
        policy = babbler()
        rows = batch(policy)
        result = step(policy, rows, objective=Objective(entropy_coef=0.1, correction="token_truncate"))
        found = step_metrics(1, Rollout(rows, [*range(16)]), no_strata(16, Objective()), result, 0.1)

        assert found["gradient_l1"] > 0
        assert found["policy_loss"] != found["loss"]
        assert found["entropy"] > 0
        assert found["mismatch/abs_mean"] == pytest.approx(0.0, abs=1e-5)
        assert not any(key.startswith("value/") for key in found)
        assert all(found[key] == pytest.approx(1.0, abs=1e-4) for key in ("ratio/min", "ratio/max"))

    def test_logged_loss_does_not_grow_with_the_number_of_minibatches(self):
        losses = []
        for count in (1, 4):
            policy = babbler(double=True)
            rows = batch(policy, off_policy=0.3)
            optimizer = torch.optim.SGD(policy.model.parameters(), lr=0.0)
            result = step(policy, rows, optimizer=optimizer, optimisation=Optimisation(minibatches=count))
            losses.append(step_metrics(1, Rollout(rows, [*range(16)]), no_strata(16, Objective()), result, 0.1))

        for key in ("loss", "policy_loss", "gradient_l1"):
            assert losses[1][key] == pytest.approx(losses[0][key], rel=1e-4)
