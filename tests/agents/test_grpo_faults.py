"""Faults that are not the loop's own: rewards and environments that fail, updates refused, prompts that do not fit."""

from __future__ import annotations

import logging
import math
from dataclasses import replace
from typing import Any

import gymnasium
import pytest
import torch
from gymnasium.vector import AutoresetMode

from grpo_agents.environments import EnvironmentRaisedError
from grpo_agents.grpo import GRPO
from grpo_agents.logprobs import LogProbs
from grpo_agents.policy import Policy
from grpo_agents.train import train
from grpo_gym.errors import GrpoGymError
from tests.agents.foreign_envs import WORD, Countdown, Word, processes, vector
from tests.agents.runs import Metrics, babbler, identical, learn, log, new_run, short, weights

ROWS = 12
LINEAR = "grpo/Math.Linear-v0"


class TestRewardsThatFail:
    """A user's function on our environments: what the answer causes scores 0, what it does not abstains."""

    def run(self, reward: Any, **changes: Any) -> tuple[list[Metrics], bool]:
        policy = babbler()
        start = weights(policy)
        metrics = learn(policy, short(env=LINEAR, env_args={"reward": reward}, **changes))
        return metrics, identical(weights(policy), start)

    def test_one_that_raises_on_some_answers_scores_them_0_and_trains_on(self):
        def fragile(response: str, problem: Any) -> float:
            """Fine on right answers, so a fault is the answer's: bytes that are no text."""
            if not response[:3].isascii():
                raise RuntimeError("no text")
            return 1.0

        metrics, same = self.run(fragile)

        assert not same
        assert all(m["reason/scorer_error"] > 0 for m in metrics)
        assert all(m["reason/scorer_error"] + m.get("reason/correct", 0) == ROWS for m in metrics)
        assert all((m["rows/abstained"], m["rows/skipped"]) == (0, 0) for m in metrics)
        assert all(m["reward"] == m.get("reason/correct", 0) / ROWS for m in metrics)

    def test_one_that_raises_on_every_answer_abstains_and_nothing_moves(self):
        def broken(response: str, problem: Any) -> float:
            raise RuntimeError("always")

        metrics, same = self.run(broken)

        assert same
        assert [m["rows/abstained"] for m in metrics] == [ROWS, ROWS]
        why = f"none of the {ROWS} completions could be judged; the first: RuntimeError: always"
        assert [m["update/skipped"] for m in metrics] == [why] * 2
        assert all(math.isnan(m["reward"]) for m in metrics)

    @pytest.mark.parametrize("value", [math.nan, math.inf, "text"])
    def test_one_that_returns_no_finite_number_is_treated_as_one_that_raises(self, value):
        metrics, same = self.run(lambda response, problem: value)

        assert same
        assert [m["rows/abstained"] for m in metrics] == [ROWS, ROWS]

    def test_none_abstains_for_its_row_alone(self):
        metrics, same = self.run(lambda response, problem: None if len(response) % 2 else float(len(response)))

        assert not same
        assert all(0 < m["rows/abstained"] < ROWS and m["rows/skipped"] == 0 for m in metrics)

    def test_equal_rewards_leave_the_weights_untouched_also_with_decay(self):
        metrics, same = self.run(lambda response, problem: 0.5, optimisation={"weight_decay": 0.5})

        assert same
        assert [(m["groups/all_wrong"], m["groups/signal"], m["grad_norm"]) for m in metrics] == [(3, 0.0, 0.0)] * 2

    def test_rewards_of_others_that_are_not_finite_are_skipped_and_counted(self):
        metrics = learn(babbler(), short(), vector(Word, ROWS, AutoresetMode.NEXT_STEP, odd_reward=math.nan))

        for m in metrics:
            assert 0 < m["rows/skipped"] == m["skipped/the reward is not finite"] < ROWS
            assert m["rows/abstained"] == 0
            assert m["grad_norm"] > 0
            assert math.isfinite(m["reward"])


class TestStepsThatAreLost:
    def test_an_environment_that_raises_costs_its_step_only(self, tmp_path, caplog):
        """At step 2 the environment raises; the run goes on, and the weights stay bit for bit at that step."""

        class Once(gymnasium.vector.VectorWrapper[Any, Any, Any, Any, Any]):
            calls = 0

            def step(self, actions: Any) -> Any:
                self.calls += 1
                if self.calls == 2:
                    raise OSError("the disk of the environment")
                return super().step(actions)

        policy = babbler()
        seen: list[Any] = []
        config = short(steps=3)
        folder = new_run(tmp_path, config)
        env = Once(vector(Word, ROWS, AutoresetMode.NEXT_STEP))
        with caplog.at_level(logging.WARNING):
            GRPO(policy, env, config, folder=folder, on_step=lambda m: seen.append((m, weights(policy)))).learn()
        metrics = log(tmp_path)

        assert [m["step"] for m in metrics] == [1, 2, 3]
        why = metrics[1]["update/skipped"]
        assert why.startswith("the environment raised OSError: the disk of the environment [Word, 12 rows, seeds ")
        assert (metrics[1]["rows"], metrics[1]["reward"], metrics[1]["grad_norm"]) == (0, None, 0.0)
        assert (metrics[0]["groups/signal"], metrics[1]["groups/signal"]) == (1.0, 0.0)
        assert metrics[1].keys() <= metrics[0].keys()
        assert identical(seen[0][1], seen[1][1])
        assert not identical(seen[1][1], seen[2][1])
        assert caplog.messages == [f"step 2 is lost: {why}"]
        assert [r["step"] for r in log(tmp_path, "completions")] == [1] * ROWS + [3] * ROWS

    def test_three_in_a_row_stop_with_the_cause_and_the_weights_are_the_first(self):
        policy = babbler()
        start = weights(policy)
        seen: list[Metrics] = []
        env = vector(Word, ROWS, AutoresetMode.NEXT_STEP, faults="all")
        agent = GRPO(policy, env, short(steps=9), on_step=seen.append)
        with pytest.raises(
            GrpoGymError, match=r"3 steps in a row failed, the last at step 3: the environment raised Val"
        ):
            agent.learn()

        assert len(seen) == 3
        assert identical(weights(policy), start)
        assert not agent.optimizer.state

    @pytest.mark.filterwarnings("ignore::UserWarning")  # Gymnasium prints the worker's traceback as warnings
    def test_a_dead_worker_process_is_told_with_the_first_cause(self):
        env = processes(Word, 4, AutoresetMode.NEXT_STEP, faults="all")
        agent = GRPO(babbler(), env, short(prompts=1, steps=9))
        try:
            with pytest.raises(GrpoGymError, match=r"3 steps in a row failed.*; the first: .* ValueError: no good"):
                agent.learn()
        finally:
            env.close(terminate=True)

    def test_failures_that_are_not_in_a_row_do_not_stop_the_run(self):
        class EveryOther(gymnasium.vector.VectorWrapper[Any, Any, Any, Any, Any]):
            calls = 0

            def step(self, actions: Any) -> Any:
                self.calls += 1
                if self.calls % 2:
                    raise OSError("again")
                return super().step(actions)

        metrics = learn(babbler(), short(steps=8), EveryOther(vector(Word, ROWS, AutoresetMode.NEXT_STEP)))

        assert [bool(m["update/skipped"]) for m in metrics] == [True, False] * 4

    def test_a_mistake_of_our_own_is_not_taken_for_the_environments(self, monkeypatch):
        monkeypatch.setattr(Policy, "sample", lambda *args, **kwargs: 1 / 0)

        with pytest.raises(ZeroDivisionError):
            learn(babbler(), short(env=WORD))

    def test_a_validation_that_raises_is_left_out(self, monkeypatch, caplog):
        def raising(*args: Any, **kwargs: Any) -> None:
            raise EnvironmentRaisedError("the environment raised OSError: full")

        monkeypatch.setattr("grpo_agents.grpo.evaluate", raising)
        metrics = learn(babbler(), short(env=WORD, evaluation={"every": 1}))

        assert [bool(m["grad_norm"]) for m in metrics] == [True, True]
        assert "val/pass@1" not in metrics[0]
        assert "no validation score at step 1: the environment raised OSError: full" in caplog.messages

    def test_three_updates_that_are_refused_stop_the_run_untouched(self):
        policy = babbler()
        with torch.no_grad():
            policy.model.get_output_embeddings().weight[7, 3] = math.nan
        start = weights(policy)
        env = vector(Word, ROWS, AutoresetMode.NEXT_STEP, odd_reward=0.3)
        agent = GRPO(policy, env, short(steps=9))
        with pytest.raises(
            GrpoGymError, match=r"3 steps in a row failed.* the sampled log-probs of completions 0, 1, .*not fin"
        ):
            agent.learn()

        assert all(torch.equal(value.nan_to_num(5.0), start[n].nan_to_num(5.0)) for n, value in weights(policy).items())
        assert not agent.optimizer.state

    def test_one_update_that_is_refused_is_counted_and_the_run_goes_on(self, monkeypatch):
        calls = []
        original = LogProbs.read

        def once_nan(self: LogProbs, *args: Any, **kwargs: Any) -> Any:
            reading = original(self, *args, **kwargs)
            if not torch.is_grad_enabled():
                return reading
            calls.append(1)
            return replace(reading, logprobs=reading.logprobs * math.nan) if len(calls) == 1 else reading

        monkeypatch.setattr(LogProbs, "read", once_nan)
        policy = babbler()
        metrics = learn(policy, short(), vector(Word, ROWS, AutoresetMode.NEXT_STEP))

        assert "is not finite" in metrics[0]["update/skipped"]
        assert metrics[0]["tokens/trained"] == 0
        assert metrics[1]["update/skipped"] == ""
        assert metrics[1]["tokens/trained"] > 0


class TestPromptsThatDoNotFit:
    def test_a_group_that_is_too_long_is_skipped_and_counted_while_others_train(self):
        policy = babbler(context=40)
        metrics = learn(policy, short(steps=3), vector(Word, ROWS, AutoresetMode.DISABLED, padding=40))
        skipped = [m.get("skipped/prompt longer than the context", 0) for m in metrics]

        assert sum(skipped) > 0
        assert all(count % 4 == 0 and count == m["rows/skipped"] for count, m in zip(skipped, metrics, strict=True))
        assert 0 < sum(m["grad_norm"] > 0 for m in metrics) == sum(m["rows/skipped"] < ROWS for m in metrics)

    def test_none_that_fits_is_an_error_not_a_silent_run(self):
        with pytest.raises(GrpoGymError, match=r"3 steps in a row failed.*: none of the prompts fits .* of 8 tokens"):
            learn(babbler(context=8), short(steps=9), vector(Word, ROWS, AutoresetMode.DISABLED))

    @pytest.mark.parametrize("architecture", ["llama", "gpt2"])
    def test_dialogues_that_fill_the_context_train(self, architecture):
        policy = babbler(context=40, architecture=architecture)
        metrics = learn(policy, short(), vector(Countdown, ROWS, AutoresetMode.DISABLED, enough=2.0))

        assert all(m["grad_norm"] > 0 for m in metrics)


def test_a_run_whose_every_step_was_refused_does_not_end_as_a_success(tmp_path, monkeypatch):
    saved = tmp_path / "model"
    babbler().save(saved)
    original = LogProbs.read

    def nan(self: LogProbs, *args: Any, **kwargs: Any) -> Any:
        reading = original(self, *args, **kwargs)
        return replace(reading, logprobs=reading.logprobs * math.nan)

    monkeypatch.setattr(LogProbs, "read", nan)
    with pytest.raises(GrpoGymError, match=r"none of the 2 steps taught anything, the last: .*not finite"):
        train(short(env=WORD, model=str(saved), out=str(tmp_path / "run")))

    assert not (tmp_path / "run" / "summary.json").exists()
