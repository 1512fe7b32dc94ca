"""Demonstrations of several turns: the tokens of a policy that plays so, loss on its own words, and right play."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode

from grpo_agents import demonstrations as module
from grpo_agents.collect import collect
from grpo_agents.config import Sampling, SFTConfig
from grpo_agents.demonstrations import MOST_TURNS, Demonstration, demonstrations, trajectory
from grpo_agents.environments import EnvChoice, seeds_for
from grpo_agents.policy import Policy
from grpo_agents.rollout import Completion
from grpo_agents.sft import sft
from grpo_gym import GroupVectorEnv, Problem, Procedural, Reason, Task, Turn, Verdict
from grpo_gym.errors import InvalidValueError
from grpo_gym.reward import as_reward
from grpo_gym.rng import Rng
from tests.agents.foreign_envs import WORD, TellTale, vector
from tests.agents.runs import babbler
from tests.agents.tiny_models import BYTE_VOCAB, CHATML, byte_tokenizer, fresh_model

GUESS = "grpo/Logic.GuessNumber-v0"
MASTERMIND = "grpo/Logic.Mastermind-v0"
TELL_TALE = "tests.agents.foreign_envs:foreign/TellTale-v0"
INTERACTIVE = (GUESS, MASTERMIND, "grpo/Logic.TwentyQuestions-v0", "grpo/MathTool-v0", "grpo/CodeRepair.Functions-v0")


def config(env: str = GUESS, **changes: Any) -> SFTConfig:
    return SFTConfig(**{"env": env, "steps": 1, "batch": 6, "warmup_steps": 1, **changes})


def batch(env: str = GUESS, **changes: Any) -> list[Demonstration]:
    """Return the first batch of demonstrations."""
    return next(demonstrations(config(env, **changes)))


class Speaker(Policy):
    """Says, behind a context, what it was told to say behind exactly these tokens."""

    said: dict[tuple[int, ...], list[int]]

    def sample(self, prompts: Sequence[Sequence[int]], group_size: int = 1, **options: Any) -> list[Completion]:
        turns = [self.said[tuple(prompt)] for prompt in prompts for _ in range(group_size)]
        return [Completion(ids, [-1.0] * len(ids), True) for ids in turns]


def speaker(template: str | None) -> Speaker:
    model = fresh_model("llama", BYTE_VOCAB, max_position_embeddings=4096)
    return Speaker(model, byte_tokenizer(template))


@pytest.mark.parametrize("template", [None, CHATML])
@pytest.mark.parametrize(("env", "careful"), [(GUESS, 1.0), (GUESS, 0.0), (MASTERMIND, 1.0), (TELL_TALE, 1.0)])
def test_the_tokens_are_what_collect_records_of_a_policy_that_says_this(env, careful, template):
    policy = speaker(template)
    shown = [(trajectory(policy, d), d) for d in batch(env, careful=careful)]
    policy.said = {}
    for played, demonstration in shown:
        starts = [place for place, own in enumerate(played.own) if own and not (place and played.own[place - 1])]
        for start, response in zip(starts, demonstration.responses, strict=True):
            ids = policy.tokenizer(response, add_special_tokens=False)["input_ids"]
            policy.said[tuple(played.context[: len(played.prompt) + start])] = [*ids, policy.tokenizer.eos_token_id]
    rows = EnvChoice.of(config(env)).vector(6)
    episodes = collect(policy, rows, seeds_for("sft", 0, 0, 6), 1, Sampling(max_tokens=400), torch.Generator())
    rows.close()

    assert len(shown) == 6
    assert max(len(demonstration.responses) for _, demonstration in shown) > 1
    for (played, demonstration), episode in zip(shown, episodes, strict=True):
        assert episode.trajectory is not None
        assert (played.prompt, played.tail, played.own) == (
            episode.trajectory.prompt,
            episode.trajectory.tail,
            episode.trajectory.own,
        )
        assert list(demonstration.responses) == episode.texts


def test_only_the_policys_own_words_carry_loss():
    """The first loss is the mean over them by a plain forward pass of each whole episode."""
    policy = babbler(context=1024)
    total, count = 0.0, 0
    for demonstration in batch(tier=(2,)):
        played = trajectory(policy, demonstration)
        words = sum(len(policy.tokenizer(text)["input_ids"]) + 1 for text in demonstration.responses)
        with torch.no_grad():
            logits = policy.model(input_ids=torch.tensor([played.context])).logits[0].log_softmax(-1)
        for place in np.flatnonzero(played.own) + len(played.prompt):
            total -= float(logits[place - 1, played.context[place]])
        assert sum(played.own) == words < len(played.tail)
        count += words
    losses: list[float] = []
    sft(policy, config(tier=(2,)), lambda step, loss: losses.append(loss))

    assert losses[0] == pytest.approx(total / count, rel=1e-5)


@pytest.mark.parametrize("env", INTERACTIVE)
def test_careful_episodes_end_with_the_whole_reward(env):
    """Played again, action by action, on a single environment."""
    rows = 3 if "Code" in env else 12
    played = [
        replayed(env, seed, demonstration)
        for seed, demonstration in zip(seeds_for("sft", 0, 0, rows), batch(env, batch=rows), strict=True)
    ]

    assert played == [1.0] * rows


def replayed(env: str, seed: int, demonstration: Demonstration) -> float:
    """Return what an episode earns in all; its messages must be those of the demonstration, and its end the last."""
    single: Any = gymnasium.make(env)
    prompt, _ = single.reset(seed=seed)
    total, over, said = 0.0, False, []
    for response in demonstration.responses:
        assert not over
        message, reward, terminated, truncated, _ = single.step(response)
        total, over = total + float(reward), terminated or truncated
        said.append(message)
    single.close()
    assert over
    assert (prompt, tuple(said[:-1])) == (demonstration.prompt, demonstration.replies)
    return total


def test_a_hasty_episode_is_hasty_in_every_turn_and_each_time_anew():
    careful, hasty = batch(tier=(5,), batch=40), batch(tier=(5,), batch=40, careful=0.0)
    mixed = batch(tier=(5,), batch=40, careful=0.5)
    ways = [d in careful for d in mixed]

    assert [d.prompt for d in hasty] == [d.prompt for d in careful]
    assert all(len(set(d.responses)) > 1 for d in hasty)
    assert all(d in careful or d in hasty for d in mixed)
    assert 8 < sum(ways) < 32


def test_all_that_is_said_is_one_text_in_order():
    assert Demonstration("a", ("b",)).text == "a\nb"
    assert Demonstration("a", ("b", "d", "f"), ("c", "e")).text == "a\nb\nc\nd\ne\nf"


class TestEnvironmentsOfOthers:
    @pytest.mark.parametrize("mode", list(AutoresetMode))
    def test_are_played_to_their_ends_in_every_autoreset_mode(self, mode, monkeypatch):
        monkeypatch.setattr(EnvChoice, "vector", lambda self, rows: vector(TellTale, rows, mode))
        shown = batch(TELL_TALE)

        assert {len(d.responses) for d in shown} == {1, 2, 3}
        for seed, demonstration in zip(seeds_for("sft", 0, 0, 6), shown, strict=True):
            assert replayed(TELL_TALE, seed, demonstration) == 1.0

    def test_hasty_episodes_take_the_answer_of_the_reset_in_every_turn(self):
        shown = batch(TELL_TALE, careful=0.0)

        assert max(len(d.responses) for d in shown) == 3
        assert all(text.startswith("nearly ") for d in shown for text in d.responses)
        assert any(len(set(d.responses)) > 1 for d in shown)

    def test_one_that_shows_the_way_only_at_first_is_told(self):
        told = r"none of 6 episodes of .*TellTale-v0 could be played to its end: the info of a step in which an episode"
        with pytest.raises(InvalidValueError, match=told):
            batch(TELL_TALE, env_args={"shown": 1, "least": 2})

    def test_episodes_that_lose_their_way_are_left_out_and_counted(self, caplog):
        with caplog.at_level(logging.WARNING):
            sft(babbler(), config(TELL_TALE, env_args={"shown": 1}))
        whole = batch(TELL_TALE)
        left = batch(TELL_TALE, env_args={"shown": 1})

        assert left == [d for d in whole if len(d.responses) == 1]
        assert caplog.messages == [
            f"{6 - len(left)} episodes were left out: the environment did not show the way to their end"
        ]

    def test_an_episode_without_end_is_left_out(self):
        with pytest.raises(InvalidValueError, match=f"and an episode at most {MOST_TURNS} turns"):
            batch(TELL_TALE, env_args={"least": MOST_TURNS + 1})

    def test_one_turn_is_as_before(self):
        assert batch(WORD, env_args={"solution": "because"})[0].responses == ("because",)


class TestOneTurn:
    def test_is_not_judged(self, monkeypatch):
        def judged(*arguments: Any) -> Any:
            raise AssertionError("a demonstration of one turn needs no step")

        monkeypatch.setattr(GroupVectorEnv, "step", judged)

        assert len(batch("grpo/Math.Linear-v0")) == 6

    def test_beside_several_is_not_judged_either(self):
        seen: list[str] = []

        def reward(response: str, problem: Problem) -> float:
            seen.append(response)
            return 1.0

        env = GroupVectorEnv([single(reward), counting()], num_envs=8, expose_answer=True)
        rng = Rng("test")
        shown = module._played(env, list(range(8)), config(batch=8), rng)

        assert {len(d.responses) for d in shown} == {1, 3}
        assert set(seen) == {""}


def single(reward: Any) -> Task:
    return Task("test.single", Procedural(lambda rng, tier: Problem(f"one {rng.integer(0, 10**9)}", "1")), reward)


def counting(oracle: Any = lambda problem, transcript: str((len(transcript) + 1) // 2), turns: int = 3) -> Task:
    """A task whose player counts the turns aloud."""

    class Counting:
        def __init__(self, problem: Problem) -> None:
            self.turn = 0

        def reply(self, action: str) -> Turn:
            self.turn += 1
            right = action == str(self.turn)
            if self.turn == turns or not right:
                return Turn("", Verdict(float(right), Reason.CORRECT if right else Reason.WRONG))
            return Turn(f"{self.turn} it is")

        def give_up(self) -> Verdict:
            return Verdict(0.0, Reason.WRONG)

    return Task(
        "test.counting",
        Procedural(lambda rng, tier: Problem(f"count {rng.integer(0, 10**9)}", "3")),
        as_reward(lambda response, problem: 0.0),
        oracle=oracle,
        dialogue=Counting,
        max_turns=9,
    )


def test_an_oracle_that_raises_costs_its_episode_alone():
    def oracle(problem: Problem, transcript: Any) -> str:
        if len(transcript) == 5 and problem.prompt[-1] in "02468":
            raise RuntimeError("lost")
        return str((len(transcript) + 1) // 2)

    env = GroupVectorEnv(counting(oracle), num_envs=16, expose_answer=True)
    shown = module._played(env, list(range(16)), replace(config(), batch=16), Rng("test"))
    prompts, _ = env.reset(seed=list(range(16)))

    assert [d.prompt for d in shown] == [prompt for prompt in prompts if prompt[-1] not in "02468"]
    assert 0 < len(shown) < 16
    assert {d.responses for d in shown} == {("1", "2", "3")}
