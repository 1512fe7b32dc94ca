"""The whole reward is swapped from outside between steps; nothing else of the environment changes."""

from __future__ import annotations

import gc
from typing import Any

import gymnasium
import pytest

import grpo_gym  # noqa: F401  # registers the environments
from grpo_gym import (
    FunctionReward,
    GroupVectorEnv,
    Problem,
    Procedural,
    Reason,
    Reward,
    Rng,
    Task,
    TextEnv,
    Turn,
    Verdict,
)
from grpo_gym.errors import InvalidValueError
from grpo_gym.pool import processes
from tests.gym.slow_rewards import Obedient


def problems(rng: Rng, tier: int) -> Problem:
    return Problem(f"say {rng.integer(0, 10**9)}", "right")


class Talking:
    """A dialogue of one turn that pays 0.25."""

    def __init__(self, problem: Problem) -> None:
        pass

    def reply(self, action: str) -> Turn:
        return Turn("bye", Verdict(0.25, Reason.WRONG))

    def give_up(self) -> Verdict:
        return Verdict(0.0, Reason.WRONG)


class Counting(Reward):
    """A fixed value; counts how often it is closed."""

    def __init__(self, value: float) -> None:
        self.value = value
        self.closed = 0

    def score(self, response: str, problem: Problem) -> Verdict:
        return Verdict(self.value, Reason.WRONG)

    def close(self) -> None:
        self.closed += 1


def single(value: float = 0.5) -> Task:
    return Task("test.single", Procedural(problems), Counting(value))


def talking() -> Task:
    return Task("test.talking", Procedural(problems), Counting(0.0), dialogue=Talking)


def stepped(env: Any, **options: Any) -> float:
    env.reset(options=options or None)
    return float(env.step("any")[1])


# --- one environment


def test_a_reward_is_swapped_between_steps_and_none_gives_the_tasks_back_their_own():
    env = TextEnv(single())
    env.reset(seed=1)
    assert stepped(env) == 0.5
    env.set_reward(Counting(0.75))
    assert stepped(env) == 0.75
    env.set_reward(lambda response, problem: 0.125)
    assert isinstance(env.reward, FunctionReward)
    assert stepped(env) == 0.125
    env.set_reward(None)
    assert stepped(env) == 0.5


def test_a_reward_counts_from_the_next_step_on_and_problems_stay_the_same():
    env, other = TextEnv(single()), TextEnv(single())
    assert env.reset(seed=1) == other.reset(seed=1)
    env.set_reward(Counting(0.75))
    assert env.step("any")[1] == 0.75
    assert env.reset() == other.reset()


def test_what_is_no_reward_is_refused_and_the_old_one_stays():
    env = TextEnv(single())
    env.set_reward(Counting(0.75))
    with pytest.raises(InvalidValueError, match="a reward is a Reward or a function"):
        env.set_reward("exact")  # type: ignore[arg-type]
    env.reset(seed=1)
    assert stepped(env) == 0.75


def test_it_works_through_the_wrappers_of_gymnasium():
    env = gymnasium.make("grpo/Math-v0", tier=0)
    env.reset(seed=1)
    for swap in (env.unwrapped.set_reward, env.get_wrapper_attr("set_reward")):  # type: ignore[attr-defined]
        swap(Counting(0.75))
        assert stepped(env) == 0.75
        swap(None)
        assert stepped(env) == 0.0
    envs = gymnasium.vector.SyncVectorEnv([lambda: gymnasium.make("grpo/Math-v0", tier=0)] * 2)
    envs.reset(seed=1)
    envs.call("set_reward", Counting(0.75))
    assert envs.step(["any"] * 2)[1].tolist() == [0.75, 0.75]


def test_the_reward_before_is_not_closed_and_goes_on_working_for_others():
    shared = Counting(0.75)
    env, other = TextEnv(single(), reward=shared), TextEnv(single(), reward=shared)
    env.reset(seed=1)
    other.reset(seed=1)
    env.set_reward(None)
    assert shared.closed == 0
    assert (stepped(env), stepped(other)) == (0.5, 0.75)
    env.close()
    assert shared.closed == 0
    other.close()
    assert shared.closed == 1


# --- many at once


def test_a_vector_environment_swaps_for_every_row():
    envs = gymnasium.make_vec("grpo/Math-v0", num_envs=4, group_size=2, tier=0)
    assert isinstance(envs.unwrapped, GroupVectorEnv)
    envs.reset(seed=1)
    envs.unwrapped.set_reward(lambda response, problem: float(response))
    assert envs.step(["0.5", "0.25", "1", "0"])[1].tolist() == [0.5, 0.25, 1.0, 0.0]
    envs.unwrapped.set_reward(None)
    envs.reset()
    assert envs.step(["0.5"] * 4)[1].tolist() == [0.0] * 4
    with pytest.raises(InvalidValueError, match="a reward is a Reward or a function"):
        envs.unwrapped.set_reward(0.5)  # type: ignore[arg-type]


@pytest.mark.parametrize("vector", [False, True])
def test_the_workers_held_for_a_slow_reward_are_let_go(monkeypatch, vector):
    monkeypatch.setenv("GRPO_GYM_WORKERS", "1")
    env: Any = GroupVectorEnv(single()) if vector else TextEnv(single())
    action = ["right"] if vector else "right"
    env.reset(seed=1)
    env.set_reward(Obedient())
    assert env.step(action)[1] == 1.0
    assert processes()
    env.set_reward(None)
    gc.collect()
    assert processes() == []
    env.reset()
    assert env.step(action)[1] == 0.5
    env.close()


# --- interactive tasks judge themselves


def test_where_every_task_is_interactive_another_reward_is_refused_when_made_and_when_swapped():
    for made in (lambda **o: TextEnv(talking(), **o), lambda **o: GroupVectorEnv([talking()], **o)):
        with pytest.raises(InvalidValueError, match=r"test.talking: an interactive task judges itself"):
            made(reward=Counting(0.75))
        env = made()
        with pytest.raises(InvalidValueError, match="an interactive task judges itself"):
            env.set_reward(Counting(0.75))
        env.set_reward(None)


def test_in_a_mixture_the_single_turn_tasks_are_judged_anew_and_dialogues_go_on_judging_themselves():
    for env in (TextEnv([single(), talking()], reward=Counting(0.75)), TextEnv([single(), talking()])):
        env.reset(seed=1)
        env.set_reward(Counting(0.75))
        assert stepped(env, task="test.single") == 0.75
        assert stepped(env, task="test.talking") == 0.25
