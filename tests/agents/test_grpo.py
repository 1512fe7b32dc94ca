"""The training loop on anyone's environment: one turn or many, with and without a KL term, and that it learns."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from gymnasium.vector import AutoresetMode

from grpo_agents.collect import collect
from grpo_agents.grpo import GRPO
from grpo_agents.policy import Policy
from grpo_agents.reference import FrozenCopy
from grpo_gym.errors import GrpoGymError, InvalidValueError
from tests.agents.foreign_envs import COUNTDOWN, WORD, Countdown, Numbers, Word, processes, vector
from tests.agents.runs import Metrics, babbler, identical, learn, short, weights

MODES = list(AutoresetMode)
ROWS = 12
LINEAR = "grpo/Math.Linear-v0"
GUESS = "grpo/Logic.GuessNumber-v0"


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


def model_of(reference: Any) -> Any:
    """Return the model of a reference that is a copy."""
    assert isinstance(reference, FrozenCopy)
    return reference._logprobs.model


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
        held = model_of(agent.reference)

        assert identical(dict(held.state_dict()), weights(babbler()))
        assert not any(parameter.requires_grad for parameter in held.parameters())
        assert metrics[0]["kl"] == pytest.approx(0.0, abs=1e-6)
        assert all(m["kl"] >= 0 for m in metrics)
        assert metrics[-1]["kl"] > 1e-4

    def test_a_higher_weight_keeps_closer_to_the_start(self):
        loose, middle, tight = (distance(self.run(coefficient)[1], babbler()) for coefficient in (0.01, 0.1, 3.0))

        assert loose > 1.3 * middle > 1.6 * tight

    def test_without_a_weight_no_reference_is_kept(self):
        assert GRPO(babbler(), None, short(env=WORD)).reference is None


def test_the_rate_rises_to_its_value_and_stays():
    config = short(steps=6, optimisation={"warmup_steps": 4, "learning_rate": 0.008})
    metrics = learn(babbler(), config, vector(Word, ROWS, AutoresetMode.NEXT_STEP))

    assert [m["learning_rate"] for m in metrics] == pytest.approx([0.002, 0.004, 0.006, 0.008, 0.008, 0.008])


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
    copy = FrozenCopy(policy)
    learn(policy, short(env=WORD))

    assert episodes
    assert identical(dict(model_of(copy).state_dict()), weights(babbler()))
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
