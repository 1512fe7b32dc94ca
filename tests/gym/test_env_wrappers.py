"""Our environments inside Gymnasium's wrappers, and how they are rendered."""

from __future__ import annotations

from typing import Any

import gymnasium
import pytest
from gymnasium.wrappers.common import RecordEpisodeStatistics
from gymnasium.wrappers.transform_observation import FlattenObservation, TransformObservation
from gymnasium.wrappers.transform_reward import TransformReward

from grpo_gym import TextEnv, TextSpace
from grpo_gym.errors import InvalidValueError
from grpo_gym.registration import tasks_of
from tests.shared import product_ids

STRAY = "no number here"


@pytest.fixture(params=product_ids())
def identifier(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_render_shows_hostile_text_and_obeys_none_of_it(identifier):
    env = gymnasium.make(identifier, render_mode="ansi")
    assert env.unwrapped.render() is None
    prompt, _ = env.reset(seed=1)
    env.step("\x1b[2J\x07 \u202e [/bold] \x00 \ud800")
    shown: Any = env.render()
    assert prompt.splitlines()[0] in shown
    assert "[policy] \\x1b[2J\\x07 \\u202e [/bold] \\x00 \\ud800" in shown
    assert shown.encode()
    with pytest.raises(InvalidValueError, match=r"render_mode is 'human'"):
        TextEnv(tasks_of(identifier), render_mode="human")
    assert gymnasium.make(identifier).unwrapped.render() is None


def test_common_wrappers_work(identifier):
    env: Any = gymnasium.make(identifier, expose_answer=True)
    env = RecordEpisodeStatistics(TransformReward(env, lambda reward: float(reward) + 1))
    _, info = env.reset(seed=1)
    done, total = False, 0.0
    while not done:
        _, reward, terminated, truncated, after = env.step(info["answer"])
        done, total = terminated or truncated, total + reward
    assert after["episode"]["r"] == total >= 1.0
    assert after["episode"]["l"] >= 1


def test_wrappers_that_need_arrays_are_refused_with_a_reason(identifier):
    with pytest.raises(InvalidValueError, match="a text cannot be flattened into numbers"):
        FlattenObservation(gymnasium.make(identifier))
    env: Any = TransformObservation(gymnasium.make(identifier), str.upper, TextSpace())
    assert env.reset(seed=1)[0] == gymnasium.make(identifier).reset(seed=1)[0].upper()


def test_render_modes_of_gymnasium_that_collect_work(identifier):
    env: Any = gymnasium.make(identifier, render_mode="ansi_list")
    env.reset(seed=1)
    env.step(STRAY)
    frames = env.render()
    assert len(frames) == 2
    assert "[policy]" in frames[1]
    assert env.metadata["render_fps"]
