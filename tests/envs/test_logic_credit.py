"""One reward with the options of every logic task: the rules stay, and nothing but work earns partial credit."""

from __future__ import annotations

import math
import pickle
import re
import statistics
from collections.abc import Mapping
from typing import Any

import gymnasium
import pytest

from grpo_envs.index import TASKS
from grpo_envs.logic.credit import LogicReward
from grpo_gym import Problem, Task
from grpo_gym.checks import check_reward
from grpo_gym.errors import InvalidValueError, UnknownNameError
from grpo_gym.registration import load_tasks
from grpo_rewards.logic import PuzzleReward

PARTIAL = 0.5
LIMIT = 0.05
"""The most partial credit that an answer which does not look at the problem may earn on average: a tenth of all."""

LINES = ("echo", "constant answer", "copied part", "filled blanks", "junk pays", "own probes", "near miss", "hedge")


def of(name: str) -> Task:
    return load_tasks(f"grpo/{name}")[0]


PUZZLES = [name for name in TASKS if name.startswith("logic.") and of(name).dialogue is None]
SOUND = [name for name in PUZZLES if getattr(of(name).reward, "soundness", None) is not None]
SOUNDLESS = [name for name in PUZZLES if name not in SOUND]


def sample(name: str, tier: int, many: int) -> list[Problem]:
    return [of(name).problem(tier, "train", 40, k) for k in range(many)]


# --- it judges as the tasks do


@pytest.mark.parametrize("name", PUZZLES)
def test_right_and_wrong_are_what_the_task_says(name):
    task, credited = of(name), LogicReward(partial=PARTIAL)
    assert isinstance(task.reward, PuzzleReward)
    for tier in task.default_tiers:
        one, two = sample(name, tier, 2)
        for text in (str(one.solution), task.answer(one), task.answer(two), "", "nonsense"):
            own, verdict = task.reward.score(text, one), credited.score(text, one)
            assert (bool(own), own.reason, own.feedback) == (bool(verdict), verdict.reason, verdict.feedback)
            assert verdict == task.reward.crediting(partial=PARTIAL).score(text, one)
            assert own or float(verdict) <= PARTIAL


@pytest.mark.parametrize("name", SOUND)
def test_deductions_count_where_the_puzzle_has_a_language_for_them(name):
    credited = LogicReward(steps=0.3)
    problem = sample(name, of(name).default_tiers[0], 1)[0]
    verdict = credited.score(str(problem.solution), problem)
    assert (verdict.value, verdict.components["steps"]) == (1.0, 1.0)


def test_deductions_are_ignored_where_there_is_no_language_for_them():
    assert SOUNDLESS
    for name in SOUNDLESS:
        problem = sample(name, of(name).default_tiers[0], 1)[0]
        verdict = LogicReward(steps=0.3).score(str(problem.solution), problem)
        assert (verdict.value, dict(verdict.components)) == (1.0, {})


def test_it_works_in_an_environment_and_survives_a_pickle():
    reward = pickle.loads(pickle.dumps(LogicReward(partial=PARTIAL)))
    env = gymnasium.make("grpo/Logic.Sequence-v0", reward=reward, expose_answer=True)
    _, info = env.reset(seed=3)
    first, second = re.findall(r"-?\d+", info["answer"])
    assert env.step(f"\\boxed{{{first}, {int(second) + 1}}}")[1] == PARTIAL / 2
    pickle.dumps(reward)


# --- what is no puzzle is judged by its own reward


ROWS = [{"prompt": f"What is {n} + 1?", "reference": str(n + 1)} for n in range(40)]


@pytest.mark.parametrize("name", ["math.chain", "math.proof", "scheduling.flow_shop", "diagnosis.noisy_or"])
def test_one_reward_serves_a_whole_mixture(name):
    own, reward = of(name).reward, LogicReward(partial=PARTIAL, steps=0.2)
    assert reward.in_place_of(own) is own
    problem = sample(name, of(name).default_tiers[0], 1)[0]
    for text in (of(name).answer(problem), "nonsense"):
        assert reward.score(text, problem) == own.score(text, problem)


def answered(**options: Any) -> Mapping[str, Any]:
    """Give the right answers in a mixture; returns rewards and infos."""
    envs: Any = gymnasium.make_vec("grpo/Mix-v0", num_envs=32, schedule="exact", expose_answer=True, **options)
    _, infos = envs.reset(seed=1)
    _, rewards, _, _, stepped = envs.step(list(infos["answer"]))
    envs.close()
    return {"task": set(infos["task"]), "rewards": rewards.tolist(), "abstain": stepped["abstain"].any()}


def test_a_mixture_with_puzzles_in_it_leaves_nothing_unjudged():
    rows = {"id": "grpo/Math-v0", "dataset": ROWS}
    whole = answered(
        envs={"grpo/Logic.Sequence-v0": 1, "grpo/Scheduling-v0": 1, "rows": rows}, reward=LogicReward(partial=PARTIAL)
    )
    part = answered(envs={"grpo/Logic.Sequence-v0": 1, "rows": {**rows, "reward": LogicReward()}})
    for found in (whole, part):
        assert "logic.sequence" in found["task"]
        assert found["rewards"] == [1.0] * 32
        assert not found["abstain"]
    assert "scheduling.flow_shop" in whole["task"]


# --- what it refuses


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("logic.zebar", UnknownNameError, "zebar"),
        ("", UnknownNameError, "grpo/"),
    ],
)
def test_a_problem_of_no_task_is_an_error_that_names_it(name, error, message):
    with pytest.raises(error, match=message):
        LogicReward().score("1", Problem("?", "1", task=name))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"partial": 1}, "partial is 1"),
        ({"steps": -0.1}, "steps is -0.1"),
        ({"partial": "a"}, "partial is 'a', must be a number"),
        ({"steps": True}, "steps is True, must be a number"),
        ({"partial": math.nan}, "partial is nan"),
    ],
)
def test_a_share_outside_its_range_is_refused(options, message):
    with pytest.raises(InvalidValueError, match=message):
        LogicReward(**options)


# --- partial credit is above luck only


@pytest.mark.parametrize("name", PUZZLES)
def test_answers_to_other_problems_and_the_question_itself_earn_next_to_nothing(name):
    task, reward = of(name), LogicReward(partial=PARTIAL)
    for tier in task.default_tiers:
        problems = sample(name, tier, 40)
        for constant in [task.answer(problem) for problem in problems[:6]]:
            verdicts = [reward.score(constant, problem) for problem in problems[6:]]
            credit = statistics.fmean(0.0 if verdict else float(verdict) for verdict in verdicts)
            assert credit <= LIMIT, (tier, constant)
        echoes = [(text, p) for p in problems[:8] for text in (p.prompt, f"\\boxed{{{p.prompt}}}", f"{p.prompt}\n" * 2)]
        assert not any(float(reward.score(text, problem)) for text, problem in echoes)


@pytest.mark.long
@pytest.mark.parametrize("name", PUZZLES)
def test_no_strategy_of_the_checks_earns_partial_credit(name):
    report = check_reward(f"tests.envs.credited:{name.partition('.')[2]}", 16)
    assert not [line for line in report.failed if line.key in LINES], str(report)
