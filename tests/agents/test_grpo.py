"""The training loop: on anyone's environment, through faults that are not its own, and the same numbers each time."""

from __future__ import annotations

import logging
import math
import os
import signal
from typing import Any

import gymnasium
import pytest
import torch
from gymnasium.vector import AutoresetMode

from grpo_agents.collect import collect
from grpo_agents.config import TrainConfig
from grpo_agents.environments import EnvironmentRaisedError
from grpo_agents.grpo import GRPO, frozen_copy, set_learning_rate
from grpo_agents.logprobs import LogProbs
from grpo_agents.policy import Policy
from grpo_agents.run_folder import RunFolder
from grpo_gym.errors import CheckpointError, GrpoGymError, InvalidValueError
from tests.agents.foreign_envs import COUNTDOWN, WORD, Countdown, Numbers, Word, processes, vector
from tests.agents.runs import Metrics, babbler, identical, learn, log, new_run, short, weights

MODES = list(AutoresetMode)
ROWS = 12
LINEAR = "grpo/Math.Linear-v0"
GUESS = "grpo/Logic.GuessNumber-v0"


def timeless(metrics: list[Metrics]) -> list[Metrics]:
    """Metrics without the seconds, in a form that compares although NaN is no equal of itself."""
    return [{k: str(v) if v != v else v for k, v in m.items() if not k.startswith("seconds/")} for m in metrics]


class TestEnvironmentsOfOthers:
    @pytest.mark.parametrize("kind", [Word, Countdown])
    def test_every_autoreset_mode_trains_to_the_same_weights(self, kind):
        ends = []
        for mode in MODES:
            policy = babbler()
            start = weights(policy)
            metrics = learn(policy, short(), vector(kind, ROWS, mode))
            assert all(m["grad_norm"] > 0 and m["update/skipped"] == "" for m in metrics)
            assert not identical(weights(policy), start)
            ends.append(weights(policy))

        assert identical(ends[0], ends[1])
        assert identical(ends[0], ends[2])

    @pytest.mark.parametrize("mode", MODES)
    def test_worker_processes_train_too(self, mode):
        config = short(prompts=1, steps=1)
        here, there = babbler(), babbler()
        learn(here, config, vector(Countdown, 4, mode))
        env = processes(Countdown, 4, mode)
        try:
            learn(there, config, env)
        finally:
            env.close()

        assert identical(weights(here), weights(there))

    @pytest.mark.parametrize("identifier", [WORD, COUNTDOWN])
    def test_a_registered_id_trains_and_is_validated(self, identifier):
        metrics = learn(babbler(), short(env=identifier, evaluation={"every": 2}))

        assert [m["grad_norm"] > 0 for m in metrics] == [True, True]
        assert "val/pass@1" not in metrics[0]
        assert math.isfinite(metrics[1]["val/pass@1"])

    def test_a_given_environment_stays_open_and_has_no_validation(self):
        env = vector(Word, ROWS, AutoresetMode.NEXT_STEP)
        metrics = learn(babbler(), short(evaluation={"every": 1}), env)

        assert not env.closed
        assert not any(key.startswith("val/") for m in metrics for key in m)

    def test_an_environment_of_its_own_is_closed_also_after_an_error(self):
        agent = GRPO(babbler(context=8), None, short(env=WORD, steps=3))
        with pytest.raises(GrpoGymError, match="none of the prompts fits"):
            agent.learn()

        assert agent.env.closed

    def test_rows_that_do_not_match_are_told_with_the_numbers(self):
        with pytest.raises(
            GrpoGymError, match="the environment has 5 rows; prompts x group_size = 3 x 4 = 12 are needed"
        ):
            GRPO(babbler(), vector(Word, 5, AutoresetMode.NEXT_STEP), short())

    def test_numbers_instead_of_texts_are_told(self):
        with pytest.raises(InvalidValueError, match="the observations must be texts"):
            GRPO(babbler(), vector(Numbers, ROWS, AutoresetMode.NEXT_STEP), short())


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
        assert all(m["reason/scorer_error"] + m["reason/correct"] == ROWS for m in metrics)
        assert all((m["rows/abstained"], m["rows/skipped"]) == (0, 0) for m in metrics)
        assert all(m["reward"] == m["reason/correct"] / ROWS for m in metrics)

    def test_one_that_raises_on_every_answer_abstains_and_nothing_moves(self):
        def broken(response: str, problem: Any) -> float:
            raise RuntimeError("always")

        metrics, same = self.run(broken)

        assert same
        assert [m["rows/abstained"] for m in metrics] == [ROWS, ROWS]
        assert [m["update/skipped"] for m in metrics] == ["no group had a spread of rewards"] * 2
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
        assert metrics[1]["update/skipped"] == "the environment raised OSError: the disk of the environment"
        assert (metrics[1]["rows"], metrics[1]["reward"], metrics[1]["grad_norm"]) == (0, None, 0.0)
        assert metrics[1].keys() <= metrics[0].keys()
        assert identical(seen[0][1], seen[1][1])
        assert not identical(seen[1][1], seen[2][1])
        assert caplog.messages == ["step 2 is lost: the environment raised OSError: the disk of the environment"]
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
        original = LogProbs.__call__

        def once_nan(self: LogProbs, *args: Any, **kwargs: Any) -> Any:
            values = original(self, *args, **kwargs)
            if torch.is_grad_enabled():
                calls.append(1)
            return values * math.nan if torch.is_grad_enabled() and len(calls) == 1 else values

        monkeypatch.setattr(LogProbs, "__call__", once_nan)
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


class TestDialogues:
    def test_our_interactive_task_trains(self):
        config = short(env=GUESS, prompts=2, sampling={"max_tokens": 3}, objective={"kl_coef": 0.1})
        policy, start = babbler(context=512), babbler(context=512)
        with torch.no_grad():
            policy.model.get_output_embeddings().weight.mul_(1.1)  # so that the KL term teaches; no babble is right
        metrics = learn(policy, config, reference=start)

        assert [m["step"] for m in metrics] == [1, 2]
        assert all(m["length"] > 3 for m in metrics)  # more than one turn
        assert all(m["grad_norm"] > 0 and m["update/skipped"] == "" for m in metrics)
        assert all(m["tokens/trained"] == m["tokens/sampled"] for m in metrics)

    def test_a_dialogue_raises_the_reward_it_is_trained_on(self):
        metrics = learn(
            babbler(),
            short(steps=20, prompts=2, group_size=8, optimisation={"learning_rate": 1e-2}, sampling={"max_tokens": 4}),
            vector(Countdown, 16, AutoresetMode.SAME_STEP, enough=2.0),
        )
        rewards = [m["reward"] for m in metrics]

        assert sum(rewards[-5:]) / 5 > sum(rewards[:5]) / 5 + 0.2


def distance(policy: Policy, start: Policy) -> float:
    """Return KL(policy || start) behind some answers to the word environment, nats per token, exactly."""
    prompts = [[*policy.render([{"role": "user", "content": f"word {n}"}]), 9, 50, 77, 20] for n in range(1000, 1016)]
    with torch.no_grad():
        now, then = (side.model(input_ids=torch.tensor(prompts)).logits.log_softmax(-1) for side in (policy, start))
    return float((now.exp() * (now - then)).sum(-1)[:, -5:].mean())


class TestKL:
    def run(self, coefficient: float, **changes: Any) -> tuple[list[Metrics], Policy, GRPO]:
        policy = babbler()
        seen: list[Metrics] = []
        objective = {"kl_coef": coefficient, **changes}
        config = short(steps=20, objective=objective)
        agent = GRPO(policy, vector(Word, ROWS, AutoresetMode.NEXT_STEP), config, on_step=seen.append)
        agent.learn()
        return seen, policy, agent

    @pytest.mark.parametrize("corrected", [True, False])
    def test_the_reference_stays_and_the_measure_is_never_negative(self, corrected):
        metrics, _, agent = self.run(0.1, kl_ratio_correction=corrected)
        assert agent.reference is not None

        assert identical(dict(agent.reference.model.state_dict()), weights(babbler()))
        assert not any(parameter.requires_grad for parameter in agent.reference.model.parameters())
        assert metrics[0]["kl"] == pytest.approx(0.0, abs=1e-6)
        assert all(m["kl"] >= 0 for m in metrics)
        assert metrics[-1]["kl"] > 1e-4

    def test_a_higher_weight_keeps_closer_to_the_start(self):
        loose, middle, tight = (distance(self.run(coefficient)[1], babbler()) for coefficient in (0.01, 0.1, 3.0))

        assert loose > 1.3 * middle > 1.6 * tight

    def test_without_a_weight_no_reference_is_kept(self):
        assert GRPO(babbler(), None, short(env=WORD)).reference is None


class TestSeeds:
    def test_the_same_seed_gives_the_same_run_and_another_another(self, tmp_path):
        ends = {}
        for name, seed in (("a", 1), ("b", 1), ("c", 2)):
            policy = babbler()
            learn(policy, short(env=COUNTDOWN, seed=seed), path=tmp_path / name)
            ends[name] = (weights(policy), log(tmp_path / name), log(tmp_path / name, "completions"))

        assert identical(ends["a"][0], ends["b"][0])
        assert ends["a"][1:] == ends["b"][1:]
        assert not identical(ends["a"][0], ends["c"][0])
        assert ends["a"][2] != ends["c"][2]

    def test_what_happened_before_in_the_process_does_not_matter(self):
        first = babbler()
        learn(first, short(env=COUNTDOWN))
        torch.rand(17)
        torch.manual_seed(99)
        second = babbler()
        learn(second, short(env=COUNTDOWN))

        assert identical(weights(first), weights(second))

    def test_steps_show_new_problems(self, tmp_path):
        learn(babbler(), short(env=LINEAR, steps=3), path=tmp_path)
        problems = {record["problem_id"] for record in log(tmp_path, "completions")}

        assert len(problems) == 9


RUNS = {
    "plain": {},
    "two updates per batch": {"optimisation": {"updates_per_batch": 2, "weight_decay": 0.1, "warmup_steps": 4}},
    "kl": {"objective": {"kl_coef": 0.1}},
}


def resumable(kind: str, **changes: Any) -> TrainConfig:
    return short(
        **{"env": COUNTDOWN, "steps": 4, "evaluation": {"every": 2, "val_problems": 4}, **RUNS[kind], **changes}
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> dict[str, Any]:
    """The uninterrupted runs: folder, weights and optimiser state at the end."""
    runs = {}
    for kind in RUNS:
        path = tmp_path_factory.mktemp("whole") / kind
        policy = babbler()
        agent = GRPO(policy, None, resumable(kind), folder=new_run(path, resumable(kind)))
        agent.learn()
        runs[kind] = (path, weights(policy), agent.optimizer.state_dict()["state"])
    return runs


class TestResume:
    @pytest.mark.parametrize("kind", RUNS)
    @pytest.mark.parametrize("step", [1, 2, 3])
    def test_from_any_step_it_is_the_uninterrupted_run_bit_for_bit(self, kind, step, whole, tmp_path):
        path, end, state = whole[kind]
        config = resumable(kind)
        folder = new_run(tmp_path / "run", config)
        assert folder is not None
        GRPO(babbler(), None, resumable(kind, steps=step + 1), folder=folder).learn()
        (folder.checkpoints / f"step-{step + 1:06d}" / "state.json").unlink()  # killed while it wrote this one

        policy = Policy.load(folder.checkpoint(), device="cpu")
        agent = GRPO(policy, None, config, folder=folder, reference=babbler())
        agent.resume()
        assert agent.step == step
        agent.learn()

        assert identical(weights(policy), end)
        after = agent.optimizer.state_dict()["state"]
        assert all(torch.equal(after[key][name], value) for key in state for name, value in state[key].items())
        drop = {"val/pass@1", "val/length"} if step % 2 else set()  # the shorter run validated its last step too
        for name in ("metrics", "completions"):
            ours, theirs = log(tmp_path / "run", name), log(path, name)
            assert [{k: v for k, v in r.items() if k not in drop or r["step"] > step} for r in ours] == [
                {k: v for k, v in r.items() if k not in drop or r["step"] > step} for r in theirs
            ]

    def test_the_best_step_is_remembered(self, whole):
        path, *_ = whole["plain"]
        scores = {m["step"]: m["val/pass@1"] for m in log(path) if "val/pass@1" in m}
        agent = GRPO(babbler(), None, resumable("plain"), folder=RunFolder(path))
        agent.resume()

        assert agent.best == (min(s for s in scores if scores[s] == max(scores.values())), max(scores.values()))

    def test_a_kl_run_wants_its_first_policy_again(self, whole):
        agent = GRPO(babbler(), None, resumable("kl"), folder=RunFolder(whole["kl"][0]))
        with pytest.raises(
            CheckpointError, match="a run with a KL term resumes only with reference=, the policy that it"
        ):
            agent.resume()

    def test_without_a_folder_there_is_nothing_to_resume(self):
        with pytest.raises(CheckpointError, match="nothing to resume: this GRPO has no run folder"):
            GRPO(babbler(), None, short(env=WORD)).resume()


def test_ctrl_c_ends_after_the_step_with_a_checkpoint(tmp_path):
    asked: list[str] = []
    config = short(env=WORD, steps=9, keeping={"checkpoint_every": 100})
    folder = new_run(tmp_path, config)

    def interrupt(metrics: Metrics) -> None:
        if metrics["step"] == 2:
            os.kill(os.getpid(), signal.SIGINT)

    agent = GRPO(
        babbler(), None, config, folder=folder, on_step=interrupt, on_stop=lambda: asked.append("after this step")
    )
    assert agent.learn() is False
    assert folder is not None

    assert folder.steps() == [2]
    assert asked == ["after this step"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_best_validated_step_is_kept_although_it_is_no_regular_one(tmp_path, monkeypatch):
    scores = iter([0.2, 0.9, 0.1, math.nan, 0.3])

    class Fixed:
        length = 1.0

        def __init__(self) -> None:
            self.pass_at_1 = next(scores)

    monkeypatch.setattr("grpo_agents.grpo.evaluate", lambda *args, **kwargs: Fixed())
    config = short(env=WORD, steps=5, evaluation={"every": 1}, keeping={"checkpoint_every": 3, "keep_last": 1})
    folder = new_run(tmp_path, config)
    agent = GRPO(babbler(), None, config, folder=folder)
    agent.learn()
    assert folder is not None

    assert agent.best == (2, 0.9)
    assert folder.steps() == [2, 5]


def test_a_first_validation_without_a_score_does_not_count_as_the_best(monkeypatch):
    scores = iter([math.nan, 0.1])

    class Fixed:
        length = 1.0

        def __init__(self) -> None:
            self.pass_at_1 = next(scores)

    monkeypatch.setattr("grpo_agents.grpo.evaluate", lambda *args, **kwargs: Fixed())
    agent = GRPO(babbler(), None, short(env=WORD, evaluation={"every": 1}))
    agent.learn()

    assert agent.best == (2, 0.1)


def test_the_rate_rises_to_its_value_and_stays():
    policy = babbler()
    config = short(optimisation={"warmup_steps": 4, "learning_rate": 0.8})
    agent = GRPO(policy, vector(Word, ROWS, AutoresetMode.NEXT_STEP), config)
    rates = []
    for step in range(1, 7):
        set_learning_rate(agent.optimizer, step, config)
        rates.append(agent.optimizer.param_groups[0]["lr"])

    assert rates == pytest.approx([0.2, 0.4, 0.6, 0.8, 0.8, 0.8])


def test_a_frozen_copy_does_not_follow_the_policy():
    policy = babbler()
    episodes = collect(
        policy,
        vector(Word, 4, AutoresetMode.NEXT_STEP),
        [1],
        4,
        short().sampling,
        torch.Generator().manual_seed(0),
    )
    copy = frozen_copy(policy)
    learn(policy, short(env=WORD))

    assert episodes
    assert identical(dict(copy.model.state_dict()), weights(babbler()))
    assert not identical(weights(policy), weights(babbler()))


@pytest.mark.slow
def test_it_learns_what_it_is_rewarded_for():
    metrics = learn(
        babbler(),
        short(
            steps=30,
            prompts=4,
            group_size=8,
            env=LINEAR,
            env_args={"reward": lambda response, problem: sum(c.isalpha() for c in response) / max(1, len(response))},
            optimisation={"learning_rate": 1e-2},
        ),
    )
    rewards = [m["reward"] for m in metrics]

    assert sum(rewards[:3]) / 3 < 0.4
    assert sum(rewards[-3:]) / 3 > 0.7
