"""What breaks text environments in Gymnasium 1.4 (measured, one test per trap), over every registered environment."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env

import grpo_gym
from grpo_gym import Problem, TextEnv, task
from grpo_gym.errors import InvalidValueError, UnknownNameError
from grpo_gym.registration import tasks_of
from tests.shared import product_ids

IDS = product_ids()
STRAY = "The answer is é, \\frac{1}{2}, 答案 or nothing.\n"


def tiers_of(identifier: str) -> list[int]:
    return sorted({tier for t in tasks_of(identifier) for tier in t.tiers})


def single_turn(identifier: str) -> bool:
    return all(t.dialogue is None for t in tasks_of(identifier))


@pytest.fixture(params=IDS)
def identifier(request: pytest.FixtureRequest) -> str:
    return str(request.param)


# --- one environment


def test_the_checker_of_gymnasium_has_nothing_to_say(identifier):
    """Neither an error nor a warning (warnings are errors here), for the defaults and for the hardest tier."""
    tiers = tiers_of(identifier)
    for options in ({}, {"tier": tiers[-1]}, {"tier": [tiers[0], tiers[-1]], "split": "test", "expose_answer": True}):
        check_env(gymnasium.make(identifier, **options).unwrapped)
    check_env(gymnasium.make(identifier, render_mode="ansi").unwrapped, skip_render_check=True)


def test_the_passive_checker_has_nothing_to_say(identifier):
    env = gymnasium.make(identifier)
    assert "PassiveEnvChecker" in str(env)
    for seed in (None, 7):
        observation, info = env.reset(seed=seed)
        assert isinstance(observation, str)
        for _ in range(20):
            observation, reward, terminated, truncated, info = env.step(STRAY)
            assert isinstance(observation, str)
            assert isinstance(reward, float)
            assert isinstance(info, dict)
            if terminated or truncated:
                break
        assert terminated or truncated


def test_one_answer_ends_a_single_turn_episode_and_no_time_limit_truncates_it(identifier):
    env = gymnasium.make(identifier)
    assert env.spec is not None
    assert env.spec.max_episode_steps is None
    assert "TimeLimit" not in str(env)
    env.reset(seed=1)
    _, _, terminated, truncated, _ = env.step(STRAY)
    if single_turn(identifier):
        assert (terminated, truncated) == (True, False)
    while not (terminated or truncated):
        _, _, terminated, truncated, _ = env.step(STRAY)
    with pytest.raises(gymnasium.error.ResetNeeded, match=r"the episode is over"):
        env.step(STRAY)


def test_a_step_before_the_first_reset_is_refused(identifier):
    with pytest.raises(gymnasium.error.ResetNeeded, match=r"call reset\(\) first"):
        gymnasium.make(identifier).unwrapped.step("4")
    with pytest.raises(gymnasium.error.ResetNeeded, match="no problem yet"):
        _ = gymnasium.make(identifier).unwrapped.problem  # type: ignore[attr-defined]


def test_an_action_that_is_no_text_is_the_callers_mistake():
    env = gymnasium.make(IDS[0]).unwrapped
    env.reset(seed=1)
    with pytest.raises(InvalidValueError, match=r"an action is a text \(str\), got int"):
        env.step(4)


def test_infos_hold_labels_and_floats_and_never_times(identifier):
    env = gymnasium.make(identifier)
    _, info = env.reset(seed=3)
    assert set(info) == {"task", "tier", "split", "problem_id"}
    _, _, _, _, after = env.step(STRAY)
    assert set(after) == {"task", "problem_id", "reason", "feedback", "rewards", "abstain"}
    assert type(after["abstain"]) is float
    assert after["rewards"]
    for value in after["rewards"].values():
        assert type(value) is float
    assert not any("time" in key for key in (*info, *after))
    json.dumps([info, after], allow_nan=False)


def test_infos_of_different_steps_share_no_object(identifier):
    env = gymnasium.make(identifier)
    infos = []
    for seed in (1, 1):
        infos.append(env.reset(seed=seed)[1])
        infos.append(env.step("4")[4])
    assert infos[0] == infos[2]
    assert infos[1] == infos[3]
    mutable = [id(value) for info in infos for value in (info, *info.values()) if isinstance(value, (dict, list))]
    assert len(set(mutable)) == len(mutable)
    infos[1]["rewards"]["score"] = 99.0
    env.reset(seed=1)
    assert env.step("4")[4] == infos[3]


def test_the_answer_is_shown_only_when_asked_for(identifier):
    _, info = gymnasium.make(identifier).reset(seed=1)
    assert not {"answer", "solution"} & set(info)
    env = gymnasium.make(identifier, expose_answer=True)
    _, info = env.reset(seed=1)
    for key in ("answer", "solution"):
        assert isinstance(info[key], str)
    if single_turn(identifier):
        for key in ("answer", "solution"):
            env.reset(seed=1)
            assert env.step(info[key])[1] == 1.0


def test_the_prompt_carries_the_answer_format_unless_switched_off(identifier):
    shown, _ = gymnasium.make(identifier).reset(seed=2)
    bare, _ = gymnasium.make(identifier, instructions=False).reset(seed=2)
    formats = {t.answer_format for t in tasks_of(identifier)}
    assert shown.removeprefix(bare + "\n") in formats
    assert bare == gymnasium.make(identifier).unwrapped.stream.at(2, 0).problem.prompt  # type: ignore[attr-defined]


def test_a_clone_stays_in_step_with_the_original(identifier):
    env = gymnasium.make(identifier)
    env.reset(seed=5)
    clones = [copy.deepcopy(env), copy.deepcopy(env.unwrapped)]
    next_one = env.reset()
    for clone in clones:
        assert clone.reset() == next_one
        assert clone.step("4") == copy.deepcopy(env).step("4")


def test_an_environment_survives_pickling(identifier):
    env = gymnasium.make(identifier).unwrapped
    env.reset(seed=5)
    clone = pickle.loads(pickle.dumps(env))
    assert clone.reset() == env.reset()


def test_tasks_survive_pickling_changed_or_not(identifier):
    for original in tasks_of(identifier):
        for again in (original, dataclasses.replace(original, max_turns=3)):
            clone = pickle.loads(pickle.dumps(again))
            assert clone.max_turns == again.max_turns
            tier = original.tiers[0]
            assert clone.problem(tier, "train", 1, 2) == original.problem(tier, "train", 1, 2)


def test_a_spec_survives_json(identifier):
    env = gymnasium.make(identifier, tier=(tiers_of(identifier)[0], tiers_of(identifier)[-1]), split="val")
    assert env.spec is not None
    again = gymnasium.make(EnvSpec.from_json(env.spec.to_json()))
    assert again.reset(seed=9) == env.reset(seed=9)


def test_an_option_that_does_not_exist_is_named_with_its_nearest_neighbour(identifier):
    for make in (gymnasium.make, gymnasium.make_vec):
        with pytest.raises(UnknownNameError, match=r"unknown environment option 'teir'; did you mean 'tier'\?"):
            make(identifier, teir=1)
    env = gymnasium.make(identifier)
    with pytest.raises(UnknownNameError, match=r"unknown reset option 'spilt'; did you mean 'split'\?"):
        env.reset(options={"spilt": "val"})
    with pytest.raises(UnknownNameError, match=r"unknown split 'tset'; did you mean 'test'\?"):
        env.reset(options={"split": "tset"})
    for index in (-1, 1.5, "2", True):
        with pytest.raises(InvalidValueError, match=r"index is .*: give a whole number, 0 or more"):
            env.reset(options={"index": index})
    with pytest.raises(InvalidValueError, match=r"tier is 9: give one of \[0, 1, 2, 3, 4, 5\], or a range"):
        env.reset(options={"tier": 9})


def test_a_name_nearly_right_is_met_with_the_right_one():
    with pytest.raises(
        gymnasium.error.NameNotFound, match=r"`Maht` doesn't exist in namespace grpo. Did you mean: `Math`"
    ):
        gymnasium.make("grpo/Maht-v0")
    with pytest.raises(
        UnknownNameError, match=r"unknown environment 'grpo/Math.Chian-v0'; did you mean 'grpo/Math.Chain-v0'"
    ):
        tasks_of("grpo/Math.Chian-v0")
    assert gymnasium.make("grpo_gym:grpo/Math-v0").reset(seed=1)[0]


def test_reset_options_choose_the_problem(identifier):
    env = gymnasium.make(identifier)
    for index in (0, 1, 5):
        observation, info = env.reset(seed=8, options={"index": index})
    walked = gymnasium.make(identifier)
    walked.reset(seed=8)
    for _ in range(5):
        last = walked.reset()
    assert last == (observation, info)
    tier = tiers_of(identifier)[-1]
    name = tasks_of(identifier)[-1].name
    _, info = env.reset(seed=1, options={"tier": tier, "split": "val", "task": name})
    assert (info["tier"], info["split"], info["task"]) == (tier, "val", name)
    given = env.unwrapped.problem  # type: ignore[attr-defined]
    for problem in (given, given.to_json()):
        env.reset(seed=99, options={"problem": problem})
        assert env.unwrapped.problem == given  # type: ignore[attr-defined]
    with pytest.raises(UnknownNameError, match=r"unknown problem field 'promt'; did you mean 'prompt'\?"):
        env.reset(options={"problem": {"promt": "?", "reference": "1"}})


def test_our_environments_do_not_touch_global_random_state():
    import random

    random.seed(1)
    np.random.seed(1)  # noqa: NPY002  # the global state is what must stay
    before = random.getstate(), np.random.get_state()[1].tolist()  # type: ignore[index]  # noqa: NPY002
    env = gymnasium.make(IDS[0])
    env.reset(seed=5)
    env.step("4")
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before  # type: ignore[index]  # noqa: NPY002


def test_the_public_names_are_the_listed_ones():
    assert grpo_gym.__all__ == sorted(grpo_gym.__all__)
    for name in grpo_gym.__all__:
        assert getattr(grpo_gym, name)


def test_np_random_is_seeded_as_gymnasium_expects():
    env = gymnasium.make(IDS[0]).unwrapped
    env.reset(seed=77)
    assert env.np_random_seed == 77
    assert env.np_random.integers(1000) == np.random.default_rng(77).integers(1000)


def test_unseeded_environments_differ_and_one_moves_on_with_every_reset():
    @task("test.counting", reward=lambda response, problem: 1.0, tiers=(0,))
    def counting(rng: Any, tier: int) -> Problem:
        return Problem(f"{rng.integer(0, 10**12)}", "0")

    assert TextEnv(counting).reset()[0] != TextEnv(counting).reset()[0]
    env = TextEnv(counting)
    assert len({env.reset()[0] for _ in range(20)}) == 20
