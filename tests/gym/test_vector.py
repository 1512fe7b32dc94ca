"""Groups: rows that share a problem, whole-group resets, finished rows, and scoring that judges equal answers once."""

from __future__ import annotations

from collections import Counter
from typing import Any

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grpo_gym import GroupVectorEnv, Problem, Reason, Reward, Rng, Task, TextEnv, Verdict, task
from grpo_gym.errors import InvalidValueError, UnknownNameError
from grpo_gym.infos import row_info
from grpo_gym.registration import tasks_of

LABELS = ("task", "tier", "split", "problem_id")


class Counting(Reward):
    """1 for the reference; raises for "raise", abstains for "abstain"; counts what it is asked."""

    def __init__(self) -> None:
        self.calls: Counter[tuple[str, str]] = Counter()
        self.batches = 0

    def score(self, response: str, problem: Problem) -> Verdict:
        self.calls[problem.prompt, response] += 1
        if response == "raise":
            raise ValueError("no such answer")
        if response == "abstain":
            return Verdict.abstain("judge is out")
        right = response == problem.reference
        return Verdict(float(right), Reason.CORRECT if right else Reason.WRONG, {"exact": float(right)})

    def score_batch(self, rows: Any) -> list[Verdict]:
        self.batches += 1
        return super().score_batch(rows)


def counting(reward: Reward | None = None) -> Task:
    def numbers(rng: Rng, tier: int) -> Problem:
        n = rng.integer(0, 10**9)
        return Problem(f"say {n}", str(n))

    return task("test.counting", reward=reward or Counting(), tiers=(0, 1, 2))(numbers)


def envs_of(num_envs: int, group_size: int, **options: Any) -> GroupVectorEnv:
    return GroupVectorEnv(counting(), num_envs=num_envs, group_size=group_size, expose_answer=True, **options)


# --- who gets which problem


@settings(max_examples=25)
@given(seed=st.integers(0, 2**31), groups=st.integers(1, 5), group_size=st.integers(1, 4))
def test_a_group_is_the_single_environment_with_that_seed(seed, groups, group_size):
    envs = envs_of(groups * group_size, group_size)
    alone = [TextEnv(counting(), expose_answer=True) for _ in range(groups)]
    first = True
    for _ in range(3):
        observations, infos = envs.reset(seed=seed if first else None)
        for group, env in enumerate(alone):
            expected = env.reset(seed=seed + group if first else None)
            for row in envs.rows_of(group):
                assert (observations[row], row_info(infos, row)) == expected
        first = False


@pytest.mark.parametrize("identifier", ["grpo/Math-v0", "grpo/Logic.GuessNumber-v0"])
def test_mixtures_and_ranges_of_tiers_choose_once_per_group(identifier):
    envs: Any = gymnasium.make_vec(identifier, num_envs=40, group_size=4, tier=(0, 2))
    env = gymnasium.make(identifier, tier=(0, 2))
    _, infos = envs.reset(seed=10)
    for group in range(10):
        rows = [row_info(infos, row) for row in envs.rows_of(group)]
        assert rows == [env.reset(seed=10 + group)[1]] * 4
    assert len(set(infos["tier"].tolist())) == 3


def test_a_list_of_seeds_gives_each_group_its_own():
    envs = envs_of(6, 2)
    _, infos = envs.reset(seed=[9, 9, 4, 4, 9, 9])
    assert infos["problem_id"][0] == infos["problem_id"][4] != infos["problem_id"][2]
    again = envs.reset(seed=[None, None, 4, 4, None, None])[1]
    assert again["problem_id"][2] == infos["problem_id"][2]
    assert again["problem_id"][0] == again["problem_id"][4] != infos["problem_id"][0]


@pytest.mark.parametrize(
    ("seeds", "message"),
    [
        ([1, 2, 3, 3], r"rows range\(0, 2\) are one group and need equal seeds, got \[1, 2\]"),
        ([1, None, 3, 3], r"need equal seeds, got \[1, None\]"),
        ([1, 1], "2 seeds for 4 rows: give one per row, or one int"),
    ],
)
def test_seeds_that_split_a_group_are_refused(seeds, message):
    with pytest.raises(InvalidValueError, match=message):
        envs_of(4, 2).reset(seed=seeds)


@pytest.mark.parametrize(("num_envs", "group_size"), [(0, 1), (6, 4), (4, 0), (-4, 2), (2, 4)])
def test_rows_that_make_no_whole_groups_are_refused(num_envs, group_size):
    message = f"num_envs={num_envs} counts rows and must be a positive multiple of group_size={group_size}"
    with pytest.raises(InvalidValueError, match=message):
        envs_of(num_envs, group_size)
    with pytest.raises(InvalidValueError, match=message):
        gymnasium.make_vec("grpo/Math-v0", num_envs=num_envs, group_size=group_size)


def test_unseeded_environments_differ_and_np_random_follows_the_seed():
    assert envs_of(2, 2).reset()[0] != envs_of(2, 2).reset()[0]
    envs = envs_of(2, 2)
    envs.reset(seed=5)
    assert envs.np_random.integers(1000) == np.random.default_rng(5).integers(1000)


def test_reset_options_hold_for_all_groups():
    envs = envs_of(4, 2)
    _, infos = envs.reset(seed=3, options={"tier": 2, "split": "test", "index": 7})
    assert set(infos["tier"].tolist()) == {2}
    assert set(infos["split"]) == {"test"}
    env = TextEnv(counting())
    assert (
        env.reset(seed=4, options={"tier": 2, "split": "test", "index": 7})[1]["problem_id"] == infos["problem_id"][2]
    )
    given = Problem("given", "yes")
    observations, _ = envs.reset(options={"problem": given})
    assert observations == ("given",) * 4
    assert list(envs.step(["yes", "no", "yes", "no"])[1]) == [1.0, 0.0, 1.0, 0.0]
    with pytest.raises(UnknownNameError, match="unknown reset option 'teir'; did you mean 'tier'"):
        envs.reset(options={"teir": 1})


def test_a_reset_mask_takes_whole_groups_and_leaves_the_others_in_the_middle_of_things():
    envs = envs_of(6, 2)
    _, first = envs.reset(seed=1)
    envs.step(list(first["answer"]))
    mask = np.array([False, False, True, True, False, False])
    observations, infos = envs.reset(options={"reset_mask": mask})
    assert [bool(text) for text in observations] == mask.tolist()
    assert infos["_problem_id"].tolist() == mask.tolist()
    one = TextEnv(counting())
    one.reset(seed=2)
    assert observations[2] == one.reset()[0]
    _, rewards, terminations, _, step_infos = envs.step(["no"] * 6)
    assert rewards.tolist() == [0.0] * 6
    assert terminations.tolist() == [True] * 6
    assert step_infos["_reason"].tolist() == mask.tolist()
    for wrong, message in (
        ([True] + [False] * 5, "selects part of a group"),
        ([True] * 4, r"reset_mask has shape \(4,\), must be \(6,\)"),
    ):
        with pytest.raises(InvalidValueError, match=message):
            envs.reset(options={"reset_mask": np.array(wrong)})


# --- steps


def test_rewards_infos_and_flags_are_arrays_of_fixed_types():
    envs = envs_of(4, 2)
    observations, infos = envs.reset(seed=1)
    assert infos["tier"].dtype == np.int64
    answers = [infos["answer"][0], "no", infos["answer"][2], "abstain"]
    observations, rewards, terminations, truncations, after = envs.step(answers)
    assert observations == ("",) * 4
    assert [array.dtype for array in (rewards, terminations, truncations)] == [np.float64, np.bool_, np.bool_]
    assert rewards.tolist() == [1.0, 0.0, 1.0, 0.0]
    assert terminations.tolist() == [True] * 4
    assert truncations.tolist() == [False] * 4
    assert after["abstain"].tolist() == [0.0, 0.0, 0.0, 1.0]
    assert after["rewards"]["exact"].dtype == np.float64
    assert after["reason"].tolist() == ["correct", "wrong", "correct", "abstain"]
    assert np.isfinite(after["rewards"]["exact"]).all()
    assert "exact" not in row_info(after, 3)["rewards"]  # an abstaining component's key is absent


def test_finished_rows_ignore_what_they_are_told():
    reward = Counting()
    envs = GroupVectorEnv(counting(reward), num_envs=2, group_size=2)
    envs.reset(seed=1)
    envs.step(["a", "b"])
    before = sum(reward.calls.values())
    observations, rewards, terminations, truncations, infos = envs.step(["raise", "b"])
    assert (observations, rewards.tolist()) == (("", ""), [0.0, 0.0])
    assert (terminations.tolist(), truncations.tolist()) == ([True, True], [False, False])
    assert infos == {}
    assert sum(reward.calls.values()) == before


def test_equal_answers_to_a_problem_are_judged_once_and_in_one_batch():
    reward = Counting()
    envs = GroupVectorEnv(counting(reward), num_envs=8, group_size=4, expose_answer=True)
    _, infos = envs.reset(seed=1)
    right = infos["answer"]
    rewards = envs.step([right[0], "no", right[0], "no", right[4], right[0], "no", "no"])[1]
    assert rewards.tolist() == [1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    assert set(reward.calls.values()) == {1}
    assert sum(reward.calls.values()) == 5
    assert reward.batches == 1


def test_a_reward_that_raises_on_one_row_costs_that_row_only():
    envs = envs_of(4, 2)
    _, infos = envs.reset(seed=1)
    _, rewards, _, _, after = envs.step([infos["answer"][0], "raise", infos["answer"][2], "no"])
    assert rewards.tolist() == [1.0, 0.0, 1.0, 0.0]
    assert after["reason"].tolist() == ["correct", "scorer_error", "correct", "wrong"]
    assert after["abstain"].tolist() == [0.0] * 4
    assert after["feedback"][1] == "ValueError: no such answer"


def test_a_reward_given_at_construction_replaces_the_tasks_own():
    envs: Any = gymnasium.make_vec("grpo/Math-v0", num_envs=2, reward=lambda response, problem: len(response) / 10)
    envs.reset(seed=1)
    assert envs.step(["ab", "abcd"])[1].tolist() == [0.2, 0.4]
    assert TextEnv(counting(), reward=lambda response, problem: None).reset(seed=1)
    with pytest.raises(InvalidValueError, match=r"a reward is a Reward or a function"):
        envs_of(2, 2, reward="exact")
    with pytest.raises(InvalidValueError, match=r"render_mode is 'human'"):
        envs_of(2, 2, render_mode="human")


@pytest.mark.parametrize("actions", [["a"], ["a", "b", "c"], ["a", 4], ["a", None]])
def test_a_step_takes_one_text_per_row(actions):
    envs = envs_of(2, 2)
    envs.reset(seed=1)
    with pytest.raises(InvalidValueError, match="step takes 2 texts, one per row"):
        envs.step(actions)


def test_a_step_before_the_first_reset_is_refused():
    with pytest.raises(gymnasium.error.ResetNeeded, match=r"call reset\(\) before step\(\)"):
        envs_of(2, 2).step(["a", "b"])


def test_the_first_reset_may_not_leave_a_group_out():
    envs = envs_of(4, 2)
    envs.reset(seed=1, options={"reset_mask": np.array([True, True, False, False])})
    with pytest.raises(gymnasium.error.ResetNeeded):
        envs.step(["a"] * 4)


# --- several turns


def test_rows_of_a_dialogue_finish_at_different_turns():
    envs: Any = gymnasium.make_vec("grpo/Logic.GuessNumber-v0", num_envs=4, group_size=4, tier=0)
    _, infos = envs.reset(seed=3)
    assert len(set(infos["problem_id"])) == 1
    secret = int(envs._drawn[0].problem.reference)
    guesses = [secret, secret + 1, secret - 1, "what?"]
    observations, rewards, terminations, truncations, infos = envs.step([str(guess) for guess in guesses])
    assert observations == ("Right.", "Lower.", "Higher.", "Say one whole number.")
    assert rewards.tolist() == [1.0, 0.0, 0.0, 0.0]
    assert terminations.tolist() == [True, False, False, False]
    observations, rewards, terminations, truncations, infos = envs.step(["ignored", str(secret), "1 or 2", "no"])
    assert observations == ("", "Right.", "Say one whole number.", "Say one whole number.")
    assert rewards.tolist() == [0.0, 1.0, 0.0, 0.0]
    assert terminations.tolist() == [True, True, False, False]
    assert infos["_reason"].tolist() == [False, True, True, True]
    for _ in range(8):
        assert not truncations.any()
        _, rewards, terminations, truncations, infos = envs.step(["0"] * 4)
    assert truncations.tolist() == [False, False, True, True]
    assert terminations.tolist() == [True, True, False, False]
    assert rewards.tolist() == [0.0] * 4
    assert row_info(infos, 3)["feedback"] == f"the number was {secret}"
    assert tasks_of("grpo/Logic.GuessNumber-v0")[0].max_turns == 10
