"""Curricula in environments: one choice and one report per group, fed by steps alone, never by held-out problems."""

from __future__ import annotations

import copy
import functools
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from grpo_gym import GroupVectorEnv, Problem, Reason, Rng, Task, TextEnv, Turn, Verdict, task
from grpo_gym.curriculum import Arm, CurriculumWrapper, Fixed, Threshold, arms_of
from grpo_gym.errors import InvalidValueError
from grpo_gym.reward import FunctionReward

LINEAR = "grpo/Math.Linear-v0"


def judge(response: str, problem: Problem) -> float | None:
    """Pays what the response says; abstains when it says so."""
    return None if response == "abstain" else float(response or 0)


def named(name: str, **fields: Any) -> Task:
    @task(name, reward=judge, **fields)
    def made(rng: Rng, tier: int) -> Problem:
        n = rng.integer(0, 10**9)
        return Problem(f"{name} {tier}: say {n}", str(n))

    return made


class Patient:
    """An interactive episode: every turn pays a tenth, "stop" ends it with 1."""

    def reply(self, action: str) -> Turn:
        return Turn(verdict=Verdict(1.0, Reason.CORRECT)) if action == "stop" else Turn("go on", reward=0.1)

    def give_up(self) -> Verdict:
        return Verdict(0.0, Reason.WRONG)


class Diary(Fixed):
    """Draws evenly, and remembers what it is told."""

    def __init__(self, arms: Any) -> None:
        super().__init__(arms)
        self.told: list[tuple[Arm, list[float]]] = []

    def update(self, arm: Arm, rewards: Sequence[float]) -> None:
        super().update(arm, rewards)
        self.told.append((arm, list(rewards)))


TWO = (named("m.one"), named("m.two"))
ARMS = [(name, tier) for name in ("m.one", "m.two") for tier in range(6)]


def vector(rows: int, group_size: int, of: Sequence[Task] = TWO, **options: Any) -> tuple[GroupVectorEnv, Diary]:
    plain = GroupVectorEnv(of, name="mix", tier=(0, 5))
    diary = Diary(arms_of(plain))
    envs = GroupVectorEnv(
        of, name="mix", tier=(0, 5), num_envs=rows, group_size=group_size, curriculum=diary, **options
    )
    return envs, diary


def chosen(infos: Mapping[str, Any], group_size: int = 1) -> list[Arm]:
    pairs = zip(infos["task"], infos["tier"].tolist(), strict=True)
    return [Arm(*pair) for pair in list(pairs)[::group_size]]


# --- one choice and one report per group


def test_a_group_gets_one_arm_and_is_reported_once_with_all_its_rewards():
    envs, diary = vector(8, 4)
    infos = envs.reset(seed=1)[1]
    assert len(set(infos["problem_id"])) == 2
    arms = chosen(infos, 4)
    assert chosen(infos) == [arms[0]] * 4 + [arms[1]] * 4
    envs.step(["1", "0", "0.5", "1", "0", "0", "0", "0"])
    assert diary.told == [(arms[0], [1.0, 0.0, 0.5, 1.0]), (arms[1], [0.0] * 4)]
    envs.step(["1"] * 8)  # all rows are done: nothing more to say
    assert len(diary.told) == 2
    assert envs.curriculum is diary
    assert diary.statistics()[str(arms[0])]["mean"] == 0.625


def test_all_arms_of_the_tiers_that_were_asked_for_are_drawn_and_no_others():
    envs, diary = vector(300, 1)
    arms = chosen(envs.reset(seed=1)[1])
    assert set(arms) == set(diary.arms) == set(ARMS)
    few = GroupVectorEnv(TWO, tier=(1, 2), num_envs=4, curriculum="fixed")
    assert set(arms_of(few)) == {(name, tier) for name in ("m.one", "m.two") for tier in (1, 2)}
    default = GroupVectorEnv(named("m.three", default_tiers=(0, 3)), curriculum="fixed")
    assert set(arms_of(default)) == {("m.three", 0), ("m.three", 3)}


def test_abstaining_rows_do_not_count_and_rewards_are_clipped():
    envs, diary = vector(8, 4)
    arms = chosen(envs.reset(seed=1)[1], 4)
    envs.step(["abstain", "3", "-2", "0.25", *["abstain"] * 4])
    assert diary.told == [(arms[0], [1.0, 0.0, 0.25])], "a group without judged rows is not reported"


def test_a_group_is_reported_when_its_last_row_has_ended():
    talk = task("m.talk", reward=judge, dialogue=lambda problem: Patient(), max_turns=4)(
        lambda rng, tier: Problem(f"{tier}: {rng.integer(0, 10**9)}", "")
    )
    envs, diary = vector(4, 2, (talk,))
    arms = chosen(envs.reset(seed=3)[1], 2)
    envs.step(["stop", "wait", "wait", "wait"])
    assert diary.told == []
    envs.step(["", "stop", "wait", "wait"])
    assert [arm for arm, _ in diary.told] == [arms[0]]
    assert diary.told[0][1] == pytest.approx([1.0, 1.0]), "0.1 and 1 are clipped together"
    envs.step(["", "", "wait", "wait"])
    envs.step(["", "", "wait", "wait"])
    assert diary.told[1][0] == arms[1]
    assert diary.told[1][1] == pytest.approx([0.4, 0.4]), "out of turns"


def test_a_group_that_is_reset_before_its_end_is_forgotten():
    talk = task("m.talk", reward=judge, dialogue=lambda problem: Patient(), max_turns=3)(
        lambda rng, tier: Problem(f"{tier}: {rng.integer(0, 10**9)}", "")
    )
    envs, diary = vector(4, 2, (talk,))
    envs.reset(seed=3)
    envs.step(["stop", "wait", "wait", "stop"])
    again = chosen(envs.reset(seed=9, options={"reset_mask": [True, True, False, False]})[1])
    envs.step(["stop", "stop", "stop", ""])
    assert sorted(len(rewards) for _, rewards in diary.told) == [2, 2]
    assert diary.told[0] == (again[0], [1.0, 1.0])


def test_what_the_caller_puts_in_a_groups_place_is_not_taken_for_it():
    envs, diary = vector(4, 2)
    envs.reset(seed=3)
    envs.reset(options={"tier": 1, "reset_mask": [True, True, False, False]})
    envs.step(["1"] * 4)
    assert len(diary.told) == 1


# --- rewards that are paid without skill


def test_what_the_verdict_calls_solved_counts_instead_of_the_reward():
    def generous(response: str, problem: Problem) -> Verdict:
        return Verdict(0.9, Reason.WRONG, {"score": 0.9, "solved": float(response)})

    plain = [replace(of, reward=FunctionReward(generous)) for of in TWO]
    envs, diary = vector(4, 2, plain)
    envs.reset(seed=1)
    rewards = envs.step(["1", "0", "0.5", "7"])[1]
    assert rewards.tolist() == [0.9] * 4, "the policy is paid as before"
    assert [told for _, told in diary.told] == [[1.0, 0.0], [0.5, 1.0]]
    alone = Diary(ARMS)
    env = CurriculumWrapper(TextEnv(plain, name="mix", tier=(0, 5)), alone)
    env.reset(seed=1)
    assert env.step("0.25")[1] == 0.9
    assert alone.told[0][1] == [0.25]


def test_a_schedule_in_the_order_of_the_prompt_climbs_no_staircase():
    """It earns 0.89 of the reward in tier 0, more than the threshold asks for, and most of it in every tier."""
    envs: Any = gymnasium.make_vec(
        "grpo/Scheduling.FlowShop-v0", num_envs=32, group_size=4, tier=[0, 5], curriculum="threshold"
    )
    earned = []
    for step in range(6):
        prompts = envs.reset(seed=100 * step)[0]
        jobs = [re.findall(r"^([A-Z]): ", prompt, re.MULTILINE) for prompt in prompts]
        earned += envs.step([f"\\boxed{{{', '.join(listed)}}}" for listed in jobs])[1].tolist()
    assert np.mean(earned) > 0.8
    assert envs.curriculum.now == {"scheduling.flow_shop": 0}


# --- the agent need not know


def test_equal_seeds_are_one_problem_also_without_group_size():
    envs, diary = vector(12, 1)
    observations, infos = envs.reset(seed=[seed for seed in (4, 9, 7) for _ in range(4)])
    assert [len(set(observations[4 * k : 4 * k + 4])) for k in range(3)] == [1, 1, 1]
    envs.step(["1"] * 12)
    assert len(diary.told) == 12, "every row is a group to an environment that was told of none"
    assert Counter(arm for arm, _ in diary.told) == Counter(chosen(infos))


def test_the_same_seeds_and_rewards_give_the_same_run():
    runs = []
    for _ in range(2):
        envs: Any = gymnasium.make_vec(
            "grpo/Arithmetic-v0", num_envs=12, group_size=3, tier=[0, 5], curriculum={"kind": "threshold", "window": 2}
        )
        run = []
        for step in range(12):
            infos = envs.reset(seed=[1000 * step + row // 3 for row in range(12)], options=None)[1]
            right = [f"\\boxed{{{row}}}" for row in range(12)]
            envs.step(right)
            run.append((list(infos["problem_id"]), json.dumps(envs.state_dict())))
        runs.append(run)
    assert runs[0] == runs[1]


def test_a_learner_in_an_environment_climbs_the_tiers():
    envs: Any = gymnasium.make_vec(
        LINEAR,
        num_envs=16,
        group_size=4,
        tier=[0, 5],
        expose_answer=True,
        curriculum={"kind": "threshold", "window": 4},
    )
    highest = []
    for step in range(12):
        infos = envs.reset(seed=100 * step)[1]
        tiers = infos["tier"].tolist()
        highest.append(max(tiers))
        skill = 3  # right up to tier 2, half right in tier 3, then wrong
        envs.step(
            [
                answer if tier < skill or (tier == skill and row % 2) else "none"
                for row, (answer, tier) in enumerate(zip(infos["answer"], tiers, strict=True))
            ]
        )
    assert highest == [0, 1, 2, *[3] * 9]


def test_the_state_goes_on_in_another_environment_and_fits_only_its_own():
    def make(**options: Any) -> Any:
        return gymnasium.make_vec(LINEAR, num_envs=4, group_size=2, tier=[0, 3], **options)

    envs = make(curriculum={"kind": "threshold", "window": 1})
    envs.reset(seed=1)
    envs.step(["\\boxed{1}"] * 4)
    envs.curriculum.update(Arm("math.linear", 0), [1.0])
    state = json.loads(json.dumps(envs.state_dict()))
    other = make(curriculum={"kind": "threshold", "window": 1})
    other.load_state_dict(state)
    assert list(other.reset(seed=5)[1]["problem_id"]) == list(envs.reset(seed=5)[1]["problem_id"])
    assert other.reset(seed=5)[1]["tier"].tolist() == [1] * 4
    assert make().state_dict() == {}
    make().load_state_dict({})
    with pytest.raises(InvalidValueError, match="state of an environment with a curriculum: make it as it was made"):
        make().load_state_dict(state)
    with pytest.raises(InvalidValueError, match="state of an environment without a curriculum"):
        envs.load_state_dict({})
    with pytest.raises(InvalidValueError, match=r"state of another curriculum \(Threshold, 4 arms\)"):
        make(curriculum="linear").load_state_dict(state)


# --- what it keeps out of


@pytest.mark.parametrize("options", [{"tier": 4}, {"task": "m.two"}, {"split": "val"}, {"split": "test"}])
def test_what_the_caller_asks_for_is_neither_chosen_nor_learned_from(options):
    envs, diary = vector(200, 1)
    infos = envs.reset(seed=1, options=options)[1]
    plain = GroupVectorEnv(TWO, name="mix", tier=(0, 5), num_envs=200)
    assert list(infos["problem_id"]) == list(plain.reset(seed=1, options=options)[1]["problem_id"])
    envs.step(["1"] * 200)
    assert diary.told == []


def test_a_given_problem_is_none_of_the_curriculums():
    envs, diary = vector(2, 2)
    envs.reset(options={"problem": Problem("hello", "1", task="m.one")})
    envs.step(["1", "0"])
    assert diary.told == []


def test_held_out_environments_show_the_tiers_that_were_asked_for_and_feed_nothing():
    """So that scores of different steps are scores on the same problems."""
    options: dict[str, Any] = {"tier": [0, 5], "split": "val", "num_envs": 60}
    held_out: Any = gymnasium.make_vec(LINEAR, curriculum="threshold", **options)
    plain: Any = gymnasium.make_vec(LINEAR, **options)
    infos = held_out.reset(seed=3)[1]
    assert list(infos["problem_id"]) == list(plain.reset(seed=3)[1]["problem_id"])
    assert set(infos["tier"].tolist()) == set(range(6))
    held_out.step(["1"] * 60)
    assert held_out.curriculum.statistics() == {}


def test_exact_shares_and_a_curriculum_contradict_each_other():
    with pytest.raises(InvalidValueError, match="their shares cannot be exact: leave schedule out"):
        gymnasium.make_vec("grpo/Mix-v0", schedule="exact", curriculum="fixed")


def test_infos_say_nothing_new():
    envs, _ = vector(2, 2)
    plain = GroupVectorEnv(TWO, num_envs=2, group_size=2)
    for mine, theirs in ((envs.reset(seed=1)[1], plain.reset(seed=1)[1]), (envs.step("11")[4], plain.step("11")[4])):
        assert set(mine) == set(theirs)


# --- around a single environment


def wrapped(curriculum: Any, of: Any = None) -> CurriculumWrapper:
    return CurriculumWrapper(of or gymnasium.make(LINEAR, tier=[0, 5]), curriculum)


def test_the_wrapper_chooses_at_reset_and_learns_at_the_end():
    diary = Diary(ARMS)
    env = CurriculumWrapper(TextEnv(TWO, name="mix", tier=(0, 5)), diary)
    arms = []
    for episode in range(60):
        _, info = env.reset(seed=7 if episode == 0 else None)
        arms.append(Arm(info["task"], info["tier"]))
        env.step("0.5")
    assert [arm for arm, _ in diary.told] == arms
    assert len(set(arms)) == len(ARMS)
    env.reset()
    env.step("abstain")
    env.reset(options={"tier": 3})
    env.step("1")
    assert len(diary.told) == 60


def test_the_wrapper_is_the_group_of_one():
    envs, _ = vector(5, 1)
    env = CurriculumWrapper(TextEnv(TWO, name="mix", tier=(0, 5)), "fixed")
    alone = [env.reset(seed=50 + k)[1]["problem_id"] for k in range(5)]
    assert list(envs.reset(seed=50)[1]["problem_id"]) == alone


def test_the_wrapper_survives_its_spec_copies_and_a_restart():
    env = wrapped({"kind": "threshold", "window": 1})
    assert env.spec is not None
    again = gymnasium.make(EnvSpec.from_json(env.spec.to_json()))
    assert again.reset(seed=4) == env.reset(seed=4)
    clone = copy.deepcopy(env)
    assert clone.reset() == env.reset()
    clone.load_state_dict(json.loads(json.dumps(env.state_dict())))
    assert wrapped("fixed").reset()[0] != wrapped("fixed").reset()[0]


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_gymnasiums_vector_environments_take_the_wrapper_with_one_curriculum_for_all(mode):
    shared = Threshold([("math.linear", tier) for tier in range(6)], window=4)
    one = functools.partial(gymnasium.make, LINEAR, tier=[0, 5], expose_answer=True)
    envs = SyncVectorEnv([lambda: CurriculumWrapper(one(), shared)] * 4, autoreset_mode=mode)
    observations, infos = envs.reset(seed=[3, 3, 8, 8])
    assert observations[0] == observations[1] != observations[2] == observations[3]
    tiers = []
    for _ in range(24):
        tiers.append(int(infos["tier"].max()))
        _, _, terminated, _, stepped = envs.step(tuple(infos["answer"]))
        if mode is AutoresetMode.DISABLED:
            infos = envs.reset(options={"reset_mask": np.asarray(terminated)})[1]
        else:
            infos = stepped if mode is AutoresetMode.SAME_STEP else envs.step(("",) * 4)[4]
    assert tiers == sorted(tiers)
    assert set(tiers) == set(range(6))


def test_an_environment_without_tasks_has_nothing_to_choose():
    with pytest.raises(InvalidValueError, match="CartPoleEnv has no tasks and tiers to choose from"):
        CurriculumWrapper(gymnasium.make("CartPole-v1"), "fixed")
    with pytest.raises(InvalidValueError, match=r"a single environment has no groups to learn from: wrap it"):
        gymnasium.make(LINEAR, curriculum="fixed")
