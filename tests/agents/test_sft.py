"""The supervised warm start: it learns, from what was asked for, the same way each time."""

from __future__ import annotations

import logging
import re
from dataclasses import replace
from typing import Any

import pytest
import torch

from grpo_agents.config import SFTConfig
from grpo_agents.demonstrations import NEAR_MISS, Demonstration, demonstrations, hasty_answer
from grpo_agents.environments import EnvChoice, reset_rows, seeds_for
from grpo_agents.policy import Policy
from grpo_agents.sft import sft
from grpo_gym.errors import InvalidValueError, UnknownNameError
from grpo_gym.rng import Rng
from tests.agents.foreign_envs import WORD
from tests.agents.runs import babbler, identical, weights

LINEAR = "grpo/Math.Linear-v0"


def config(**changes: Any) -> SFTConfig:
    given = {"env": LINEAR, "tier": (0,), "steps": 3, "batch": 8, "warmup_steps": 1, "learning_rate": 3e-3}
    return SFTConfig(**{**given, **changes})


def teach(policy: Policy, settings: SFTConfig) -> list[float]:
    """Teach the policy and return the loss of each step."""
    seen: list[tuple[int, float]] = []
    sft(policy, settings, lambda step, loss: seen.append((step, loss)))
    assert [step for step, _ in seen] == list(range(1, settings.steps + 1))
    return [loss for _, loss in seen]


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_the_loss_falls(optimizer):
    losses = teach(babbler(), config(steps=30, optimizer=optimizer))

    assert losses[0] > 5
    assert losses[-1] < 0.6 * losses[0]


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_the_same_seed_gives_the_same_weights_and_another_others(optimizer):
    ends = []
    for seed in (1, 1, 2):
        policy = babbler()
        teach(policy, config(optimizer=optimizer, careful=0.5, seed=seed))
        ends.append(weights(policy))

    assert identical(ends[0], ends[1])
    assert not identical(ends[0], ends[2])


def test_microbatches_do_not_change_the_loss():
    first, *_ = teach(babbler(), config(steps=1, token_budget=1))
    whole, *_ = teach(babbler(), config(steps=1, token_budget=10**6))

    assert first == pytest.approx(whole, rel=1e-5)


def test_the_loss_is_the_mean_over_the_tokens_of_the_responses():
    policy = babbler()
    batch = next(demonstrations(config(steps=1)))
    total, count = 0.0, 0
    for demonstration in batch:
        prompt = policy.render([{"role": "user", "content": demonstration.prompt}])
        (response,) = demonstration.responses
        answer = [*policy.tokenizer(response)["input_ids"], policy.tokenizer.eos_token_id]
        with torch.no_grad():
            logits = policy.model(input_ids=torch.tensor([prompt + answer])).logits[0].log_softmax(-1)
        total -= float(logits[len(prompt) - 1 : -1].gather(1, torch.tensor(answer)[:, None]).sum())
        count += len(answer)

    assert teach(policy, config(steps=1))[0] == pytest.approx(total / count, rel=1e-5)


class TestDemonstrations:
    def test_careful_ones_are_the_worked_solutions_of_the_train_split(self):
        env = EnvChoice(LINEAR, {"tier": 0, "expose_answer": True}).vector(8)
        for step, batch in enumerate(demonstrations(config(seed=4))):
            prompts, infos = reset_rows(env, seeds_for("sft", 4, step, 8))

            assert [d.prompt for d in batch] == list(prompts)
            assert [d.responses for d in batch] == [(solution,) for solution in infos["solution"]]
            assert set(infos["split"]) == {"train"}
            assert any(solution != answer for solution, answer in zip(infos["solution"], infos["answer"], strict=True))
        assert step == 2

    @pytest.mark.parametrize("careful", [0.0, 0.3, 1.0])
    def test_the_share_of_hasty_ones_is_what_was_asked_for(self, careful):
        settings = config(steps=40, batch=50, careful=careful)
        solutions = [d for batch in demonstrations(config(steps=40, batch=50)) for d in batch]
        shown = [d for batch in demonstrations(settings) for d in batch]
        whole = [a == b for a, b in zip(shown, solutions, strict=True)]

        assert [d.prompt for d in shown] == [d.prompt for d in solutions]
        assert sum(whole) / 2000 == pytest.approx(careful, abs=0.035)

    def test_a_hasty_one_is_a_near_miss_and_seldom_right(self):
        rng = Rng("test", 0)
        gaps = [int(hasty_answer("\\boxed{412}", rng)[7:-1]) - 412 for _ in range(2600)]

        assert set(gaps) == set(range(-NEAR_MISS, NEAR_MISS + 1))
        assert gaps.count(0) / len(gaps) == pytest.approx(1 / 13, abs=0.02)

    @pytest.mark.parametrize("answer", ["\\boxed{7/12}", "x = -3", "no number", "3 + 4"])
    def test_only_the_last_number_changes(self, answer):
        hasty = hasty_answer(answer, Rng("test", 1))

        assert re.split(r"\d+", hasty) == re.split(r"\d+", answer)
        assert re.findall(r"\d+", hasty)[:-1] == re.findall(r"\d+", answer)[:-1]


class TestWhatCannotTeach:
    def test_an_environment_without_solutions_is_told(self):
        with pytest.raises(InvalidValueError, match=r"foreign/Word-v0 shows no solutions \(no `solution` in info"):
            sft(babbler(), config(env=WORD, tier=()))

    def test_one_without_short_answers_is_told_when_hasty_ones_are_asked_for(self):
        settings = config(env=WORD, tier=(), env_args={"solution": "because"})
        assert next(demonstrations(settings))[0].responses == ("because",)

        with pytest.raises(
            InvalidValueError, match=r"foreign/Word-v0 shows no short answers \(`answer` in info\): hasty"
        ):
            list(demonstrations(replace(settings, careful=0.0)))

    def test_an_unknown_environment_names_the_nearest(self):
        with pytest.raises(UnknownNameError, match=r"did you mean 'grpo/Math\.Linear-v0'"):
            sft(babbler(), config(env="grpo/Math.Liner-v0"))

    def test_demonstrations_longer_than_the_context_are_left_out_and_counted(self, caplog):
        lengths = sorted(_length(babbler(), d) for d in next(demonstrations(config(steps=1))))
        policy = babbler(context=lengths[4])
        with caplog.at_level(logging.WARNING):
            teach(policy, config(steps=1))
        outside = sum(length > lengths[4] for length in lengths)

        assert caplog.messages == [f"{outside} demonstrations are longer than the context and were left out"]

    def test_none_that_fits_is_told(self):
        with pytest.raises(
            InvalidValueError, match=r"no demonstration of the batch fits the context of 16 tokens; the sh"
        ):
            sft(babbler(context=16), config())

    def test_a_loss_that_is_not_finite_stops_and_leaves_the_weights(self):
        policy = babbler()
        with torch.no_grad():
            policy.model.get_output_embeddings().weight[3, 3] = torch.nan
        before = weights(policy)
        with pytest.raises(
            InvalidValueError, match="the loss is nan and the gradient norm nan: lower the learning rate"
        ):
            sft(policy, config())

        assert all(torch.equal(v.nan_to_num(7.0), before[n].nan_to_num(7.0)) for n, v in weights(policy).items())


def _length(policy: Policy, demonstration: Demonstration) -> int:
    prompt = policy.render([{"role": "user", "content": demonstration.prompt}])
    return len(prompt) + len(policy.tokenizer(demonstration.responses[0])["input_ids"]) + 1
