"""Mixtures: shares sampled and exact, options per environment, and that a mixture is an environment like any other."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from fractions import Fraction
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from hypothesis import given, settings
from hypothesis import strategies as st

from grpo_agents.environments import EnvChoice, distinct_seeds, reset_rows
from grpo_envs.index import FAMILIES, MIX
from grpo_gym import (
    GroupVectorEnv,
    Mixture,
    Part,
    Problem,
    Rng,
    Task,
    TextEnv,
    register_mixture,
    register_task,
    task,
)
from grpo_gym.checks import SubjectError, check_reward
from grpo_gym.checks.target import TaskTarget
from grpo_gym.cli.options import key_values
from grpo_gym.errors import InvalidValueError, UnknownNameError
from grpo_gym.mixture import exact_turn
from grpo_gym.problem import SPLITS
from grpo_gym.registration import mixed_by, tasks_of
from grpo_gym.stream import ProblemStream
from tests.gym.data_rows import COLUMNS, jsonl, rows

MIXED = "grpo/Mix-v0"
THREE = {"grpo/Math.Chain-v0": 4, "grpo/Math.Linear-v0": 2, "grpo/Logic.GuessNumber-v0": 1}
NAMES = ("math.chain", "math.linear", "logic.guess_number")


def named(name: str, **fields: Any) -> Task:
    @task(name, reward=lambda response, problem: response == problem.reference, **fields)
    def made(rng: Rng, tier: int) -> Problem:
        n = rng.integer(0, 10**9)
        return Problem(f"{name}: say {n}", str(n))

    return made


def parts(*weights: float, size: int = 1) -> tuple[Part, ...]:
    """Parts of so many tasks each: part k holds the tasks m<k>.t0, m<k>.t1 ..."""
    letters = "abcdefgh"
    return tuple(
        Part(tuple(named(f"m{letters[k]}.t{n}", tiers=(0, 1)) for n in range(size)), weight, name=f"part {k}")
        for k, weight in enumerate(weights)
    )


def make(**options: Any) -> Any:
    return gymnasium.make(MIXED, **options)


def make_vec(**options: Any) -> Any:
    return gymnasium.make_vec(MIXED, **options)


# --- shares


def test_sampled_shares_follow_the_weights_and_tasks_share_their_part():
    stream = ProblemStream("mix", Mixture(parts(3, 1, size=2)))
    names = Counter(stream.at(seed, 0).task.name for seed in range(4000))
    eighths = {"ma.t0": 3, "ma.t1": 3, "mb.t0": 1, "mb.t1": 1}
    for name, eighth in eighths.items():
        share = eighth / 8
        assert abs(names[name] / 4000 - share) < 4 * (share * (1 - share) / 4000) ** 0.5
    assert stream.shares() == {(name, tier): Fraction(n, 16) for name, n in eighths.items() for tier in (0, 1)}


def test_weights_may_be_fractions_and_count_by_their_proportion():
    assert Mixture(parts(0.1, 0.3)).weights == (1, 3)
    assert Mixture(parts(20, 10, 2.5)).weights == (8, 4, 1)
    assert Mixture(parts(5)).weights == (1,)


def test_a_mixture_of_one_part_is_the_plain_stream():
    """So the problems of families stay what they are."""
    tasks = tasks_of("grpo/Arithmetic-v0")
    plain, mixed = (ProblemStream("x", of, (0, 3)) for of in (tasks, Mixture((Part(tuple(tasks), 7),))))
    assert [plain.at(s, 0) for s in range(50)] == [mixed.at(s, 0) for s in range(50)]


@settings(max_examples=60)
@given(
    weights=st.lists(st.integers(1, 9), min_size=2, max_size=4),
    groups=st.integers(1, 24),
    group_size=st.integers(1, 3),
    seed=st.integers(0, 2**31 - 1),
)
def test_exact_shares_hold_in_every_batch_up_to_whole_groups(weights, groups, group_size, seed):
    envs = GroupVectorEnv(
        Mixture(parts(*weights), "exact"), name="mix", num_envs=groups * group_size, group_size=group_size
    )
    for options in ({"seed": seed}, {"seed": None}):
        infos = envs.reset(**options)[1]
        of_groups = infos["task"].reshape(groups, group_size)
        assert (of_groups == of_groups[:, :1]).all()
        assert len(set(infos["problem_id"])) == groups
        for name, weight in zip(("ma.t0", "mb.t0", "mc.t0", "md.t0"), weights, strict=False):
            exact = groups * weight / sum(weights)
            assert abs(int((of_groups[:, 0] == name).sum()) - exact) < 1


@settings(max_examples=40)
@given(
    weights=st.lists(st.integers(1, 9), min_size=2, max_size=4), groups=st.integers(1, 7), seed=st.integers(0, 10**9)
)
def test_what_rounding_takes_from_one_batch_the_next_ones_give_back(weights, groups, seed):
    """Without new seeds: as many resets as the weights sum up to have exact shares, and a single one every window."""
    total = sum(weights)
    turns = []
    for index in range(2 * total):
        starts = {(seed + group, index): group for group in range(groups)}
        turns.append([exact_turn(weights, "mix", start, starts) for start in starts])
    for first in range(total + 1):
        counts = Counter(turn for batch in turns[first : first + total] for turn in batch)
        assert [counts[k] for k in range(len(weights))] == [weight * groups for weight in weights]


def test_a_single_environment_keeps_exact_shares_in_every_window():
    env = make(envs=THREE, schedule="exact", tier=0)
    names = [env.reset(seed=5 if k == 0 else None)[1]["task"] for k in range(40)]
    for first in range(33):
        assert Counter(names[first : first + 7]) == dict(zip(NAMES, (4, 2, 1), strict=True))
    others = {make(envs=THREE, schedule="exact", tier=0).reset(seed=seed)[1]["task"] for seed in range(30)}
    assert others == set(NAMES), "the seed decides where the walk begins"


def test_with_exact_shares_the_place_decides_the_source_and_the_seed_the_problem():
    envs = make_vec(envs=THREE, schedule="exact", num_envs=14, tier=2)
    infos = envs.reset(seed=list(range(100, 114)))[1]
    assert Counter(infos["task"]) == dict(zip(NAMES, (8, 4, 2), strict=True))
    for row in range(14):
        alone = make(envs=THREE, tier=2).reset(seed=100 + row, options={"task": infos["task"][row]})[1]
        assert alone["problem_id"] == infos["problem_id"][row]


def test_equal_seeds_are_one_group_also_where_the_environment_knows_of_none():
    """An agent that forms its groups by equal seeds and never says group_size."""
    envs = make_vec(envs=THREE, schedule="exact", num_envs=28)
    seeds = [seed for seed in range(7) for _ in range(4)]
    observations, infos = envs.reset(seed=seeds)
    assert [observations[4 * k : 4 * k + 4] for k in range(7)] == [(observations[4 * k],) * 4 for k in range(7)]
    assert Counter(infos["task"]) == {name: 4 * n for name, n in zip(NAMES, (4, 2, 1), strict=True)}


def test_groups_that_begin_together_share_the_batch_whatever_the_others_do():
    two = {"grpo/Math.Chain-v0": 1, "grpo/Math.Linear-v0": 1}
    envs = make_vec(envs=two, schedule="exact", num_envs=16, group_size=2)
    before = envs.reset(seed=3)[1]["task"]
    mask = np.repeat([True, False, True, True, False, False, False, True], 2)
    after = envs.reset(options={"reset_mask": mask})[1]["task"]
    assert Counter(before) == {"math.chain": 8, "math.linear": 8}
    assert Counter(after[mask]) == {"math.chain": 4, "math.linear": 4}


def test_held_out_problems_are_a_function_of_the_seed_alone():
    """Or a set of distinct test problems would be another one in the next batch."""
    options: dict[str, Any] = {"envs": THREE, "schedule": "exact", "split": "val"}
    infos = make_vec(num_envs=24, **options).reset(seed=9)[1]
    alone = [make(**options).reset(seed=9 + row)[1]["problem_id"] for row in range(24)]
    assert list(infos["problem_id"]) == alone
    choice = EnvChoice(MIXED, {"envs": THREE, "schedule": "exact"})
    seeds = distinct_seeds(choice, "test", seed=0, count=40, rows=16)
    again = reset_rows(choice.vector(40, split="test"), seeds)[1]
    assert len(set(again["problem_id"])) == 40


# --- options


def test_each_environment_may_have_its_own_tiers():
    envs = {"grpo/Math.Chain-v0": {"tier": [2, 3]}, "grpo/Math.Linear-v0": 1}
    infos = make_vec(envs=envs, tier=5, num_envs=200).reset(seed=1)[1]
    seen = set(zip(infos["task"], infos["tier"].tolist(), strict=True))
    assert seen == {("math.chain", 2), ("math.chain", 3), ("math.linear", 5)}
    assert {make(envs=envs).reset(seed=s, options={"tier": 0})[1]["tier"] for s in range(9)} == {0}
    only = [make(envs=envs).reset(seed=s, options={"task": "math.chain"})[1] for s in range(9)]
    assert {(info["task"], info["tier"]) for info in only} <= {("math.chain", 2), ("math.chain", 3)}


def test_a_part_without_the_tier_asked_for_sits_out_and_the_others_keep_their_shares():
    few, one, two = named("m.few", tiers=(0,)), named("m.one", tiers=(0, 4)), named("m.two", tiers=(0, 4))
    stream = ProblemStream("mix", Mixture((Part((few,), 5), Part((one, few), 1), Part((two,), 1))), 4)
    assert stream.shares() == {("m.one", 4): Fraction(1, 2), ("m.two", 4): Fraction(1, 2)}


def test_one_id_can_be_there_twice_and_bring_a_data_set(tmp_path):
    file = jsonl(tmp_path / "sums.jsonl", rows(40))
    envs = {
        "grpo/Math.Chain-v0": 1,
        "sums": {"id": "grpo/Math-v0", "weight": 2, "dataset": str(file), "columns": COLUMNS},
        "grpo/Math.Linear-v0": 1,
    }
    infos = make_vec(envs=envs, num_envs=200, expose_answer=True).reset(seed=1)[1]
    counts = Counter(infos["task"])
    assert len(counts) == 3
    (sums,) = set(counts) - set(NAMES)
    assert 70 < counts[sums] < 130
    sizes = [make(envs={"sums": envs["sums"]}, split=split).unwrapped.stream.size() for split in SPLITS]
    assert sum(sizes) == 40
    assert make(envs=envs).unwrapped.stream.size() is None


def test_an_interactive_task_is_played_inside_a_mixture():
    env = make(envs=THREE, expose_answer=True)
    seen = Counter[str]()
    for seed in range(20):
        _, info = env.reset(seed=seed)
        of = {t.name: t for t in env.unwrapped.stream.tasks.values()}[info["task"]]
        total, over, turns = 0.0, False, 0
        while not over:
            action = of.right_answer(env.unwrapped.problem, env.unwrapped._episode.transcript)
            _, reward, terminated, truncated, _ = env.step(action)
            total, over, turns = total + reward, terminated or truncated, turns + 1
        assert total == 1.0
        seen[info["task"]] += turns
    assert seen["logic.guess_number"] > 3
    assert set(seen) == set(NAMES)


def test_each_environment_may_have_its_own_reward_in_code():
    envs = {"grpo/Math.Chain-v0": {"reward": lambda response, problem: 0.25}, "grpo/Math.Linear-v0": 1}
    made = make_vec(envs=envs, num_envs=40, tier=0)
    infos = made.reset(seed=2)[1]
    rewards = made.step([""] * 40)[1]
    assert set(zip(infos["task"], rewards.tolist(), strict=True)) == {("math.chain", 0.25), ("math.linear", 0.0)}
    everywhere = make(envs=THREE, reward=lambda response, problem: 0.5)
    everywhere.reset(seed=0, options={"task": "math.chain"})
    assert everywhere.step("")[1] == 0.5


def test_mixtures_are_objects_for_callers_in_code():
    mixture = Mixture(parts(1, 1), "exact")
    assert Counter(GroupVectorEnv(mixture, num_envs=8).reset(seed=1)[1]["task"]) == {"ma.t0": 4, "mb.t0": 4}
    assert TextEnv(mixture).reset(seed=1)[1]["task"] in mixture.tasks
    assert Mixture.of({"grpo/Arithmetic-v0": 1}).parts[0].name == "grpo/Arithmetic-v0"


@pytest.mark.usefixtures("own_names")
def test_environments_and_mixtures_of_third_parties_are_mixed_alike():
    register_task("demo.say", named("demo.say", namespace="zoo"), namespace="zoo")
    identifier = register_mixture("mix", {"zoo/Demo.Say-v0": 1, "grpo/Math.Chain-v0": 3}, namespace="zoo")
    assert identifier == register_mixture("mix", mixed_by(identifier), namespace="zoo") == "zoo/Mix-v0"
    for env in (gymnasium.make(identifier), make(envs=mixed_by(identifier))):
        names = Counter(env.reset(seed=seed)[1]["task"] for seed in range(200))
        assert 25 < names["demo.say"] < 80
        assert set(names) == {"demo.say", "math.chain"}


WRONG = [
    (
        {"envs": {}},
        InvalidValueError,
        r"envs is {}: name environments with their weights, e.g. envs={\"grpo/Math-v0\": 2",
    ),
    ({"envs": ["grpo/Math-v0"]}, InvalidValueError, r"envs is \['grpo/Math-v0'\]: name environments"),
    ({"envs": {"grpo/Mth-v0": 1}}, UnknownNameError, "unknown environment 'grpo/Mth-v0'; did you mean 'grpo/Math-v0'"),
    ({"envs": {"grpo/Math-v0:1": None}}, InvalidValueError, "YAML wants a blank behind the colon, grpo/Math-v0: 1"),
    (
        {"envs": {"CartPole-v1": 1}},
        InvalidValueError,
        "CartPole-v1 is registered with Gymnasium, but not with",
    ),
    ({"envs": {"grpo/Math-v0": 0}}, InvalidValueError, "the weight of grpo/Math-v0 is 0: give a number above 0"),
    ({"envs": {"grpo/Math-v0": float("inf")}}, InvalidValueError, "weight of grpo/Math-v0 is inf"),
    ({"envs": {"grpo/Math-v0": "2"}}, InvalidValueError, "weight of grpo/Math-v0 is '2'"),
    ({"envs": {"grpo/Math-v0": True}}, InvalidValueError, "weight of grpo/Math-v0 is True"),
    ({"envs": {"grpo/Math-v0": {"wieght": 1}}}, UnknownNameError, "'wieght'; did you mean 'weight'"),
    ({"envs": {"grpo/Math-v0": {"split": "val"}}}, InvalidValueError, "split holds for the whole mixture"),
    ({"envs": {"grpo/Math-v0": {"tier": 9}}}, InvalidValueError, r"tier is 9: give one of"),
    ({"envs": {"grpo/Physics-v0": {"dataset": "x"}}}, InvalidValueError, "grpo/physics takes no dataset"),
    ({"envs": {MIXED: 1}}, InvalidValueError, "grpo/Mix-v0 is a mixture itself: name the environments"),
    ({"schedule": "exakt"}, UnknownNameError, "unknown schedule 'exakt'; did you mean 'exact'"),
    (
        {"envs": {"a": {"id": "grpo/Math.Chain-v0", "reward": len}, "grpo/Math-v0": 1}},
        InvalidValueError,
        "two different tasks of the mixture are called math.chain, the second one in grpo/Math-v0",
    ),
    (
        {"envs": {"grpo/Logic.GuessNumber-v0": {"reward": len}}},
        InvalidValueError,
        "an interactive task judges itself",
    ),
]


@pytest.mark.parametrize(("options", "error", "message"), WRONG)
def test_what_is_wrong_with_a_mixture_is_said(options, error, message):
    for made in (make, make_vec):
        with pytest.raises(error, match=message):
            made(**options)


def test_a_part_must_have_the_tier_that_is_asked_of_it():
    with pytest.raises(InvalidValueError, match=r"no task of part x has tier 3; the tiers here are \[0, 1\]"):
        ProblemStream("mix", Mixture((Part((named("m.x", tiers=(0, 1)),), tier=3, name="part x"), *parts(1))))
    with pytest.raises(InvalidValueError, match="at least one task"):
        Part(())


def test_envs_and_schedule_are_options_of_mixtures_alone():
    with pytest.raises(UnknownNameError, match="unknown environment option 'envs'"):
        gymnasium.make("grpo/Math-v0", envs={"grpo/Math-v0": 1})


# --- an environment like any other


def test_nothing_named_is_a_mixture_of_families_with_equal_weights():
    infos = make_vec(num_envs=400).reset(seed=1)[1]
    families = Counter(name.split(".")[0] for name in infos["task"])
    assert len(families) == len(MIX)
    assert min(families.values()) > 400 / len(MIX) / 1.5
    assert {t.name for t in tasks_of(MIXED)} >= set(FAMILIES["arithmetic"])


def test_a_spec_with_everything_in_it_survives_json():
    envs = {"grpo/Math-v0": {"weight": 0.5, "tier": [1, 3]}, "grpo/Logic.GuessNumber-v0": 2}
    env = make(envs=envs, schedule="exact", tier=0)
    again: Any = gymnasium.make(EnvSpec.from_json(env.spec.to_json()))
    assert [env.reset(seed=s)[1] for s in range(20)] == [again.reset(seed=s)[1] for s in range(20)]
    json.loads(make_vec(envs=envs, num_envs=4).spec.to_json())


def test_the_command_line_reads_a_mixture_as_json_or_yaml():
    wanted = {"grpo/Math-v0": 2, "grpo/Physics-v0": {"weight": 1, "tier": [1, 3]}}
    flow = "envs={grpo/Math-v0: 2, grpo/Physics-v0: {weight: 1, tier: [1, 3]}}"
    for words in (f"envs={json.dumps(wanted)}", flow):
        assert key_values((words,), "--env-args") == {"envs": wanted}


def test_splits_stay_apart_inside_a_mixture():
    stream = ProblemStream("grpo/mix", Mixture.of(THREE), (0, 1))
    seen = {
        split: {stream.at(seed, 0, {"split": split}).problem.content for seed in range(150)}
        for split in ("train", "val", "test")
    }
    assert not seen["train"] & (seen["val"] | seen["test"])
    assert not seen["val"] & seen["test"]


@pytest.mark.long
def test_a_mixture_of_single_answers_and_dialogues_passes_the_checks():
    report = check_reward(MIXED, 8, args={"envs": {"grpo/Math.Chain-v0": 1, "grpo/Logic.GuessNumber-v0": 1}})
    assert report.ok, str(report)
    found = {line.key: line.found for line in report.lines}
    assert "every action" in found["spellings"], "the mixture holds an interactive task"


def test_the_checks_see_the_environments_that_are_named():
    tasks = tasks_of(MIXED, {"envs": THREE, "schedule": "exact"})
    assert [t.name for t in tasks] == list(NAMES)
    target = TaskTarget(MIXED, tasks)
    for seed in range(12):
        problem = target.problem(1, "train", seed, 0)
        assert target.play_right(problem, lambda text: text + "\n").value == 1.0
    with pytest.raises(SubjectError, match="unknown environment 'grpo/Mth-v0'; did you mean 'grpo/Math-v0'"):
        check_reward(MIXED, args={"envs": {"grpo/Mth-v0": 1}})
    with pytest.raises(InvalidValueError, match=r"options of gym.make are for registered ids"):
        check_reward("tests.nowhere:reward", args={"envs": {}})
    with pytest.raises(InvalidValueError, match=r"tier does not change what tasks grpo/Mix-v0 has: leave it out"):
        tasks_of(MIXED, {"tier": 1})


def test_changing_a_task_leaves_the_registered_one_alone():
    env = make(envs={"grpo/Math.Chain-v0": {"reward": lambda response, problem: 0.25}})
    (changed,) = env.unwrapped.stream.tasks.values()
    (original,) = tasks_of("grpo/Math.Chain-v0")
    assert changed != original
    assert dataclasses.replace(changed, reward=original.reward) == original
