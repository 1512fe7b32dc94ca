"""Runs of a benchmark: what decides one, what is kept of it, and that a kept run is not repeated."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv, VectorWrapper

from benchmarks import controls, multitask, ppo_vs_grpo, strata
from benchmarks.arms import Exam, Run, add_line, config_of, do_runs, kept, key_of, reward_of
from benchmarks.false_rewards import FormatRewards, RandomRewards, rewarded
from benchmarks.one_run import Watch, collapsed, do_run
from grpo_agents.environments import EnvChoice
from grpo_gym.errors import InvalidValueError, UnknownNameError
from tests.agents.foreign_envs import Word

TINY = Run("grpo", 0, 2, 8, options=(("prompts", 2), ("group_size", 2)), every=1)


class Silent(VectorWrapper):
    """Says no reasons."""

    def step(self, actions: Any) -> Any:
        return (*self.env.step(actions)[:4], {})


def words(count: int) -> Any:
    return SyncVectorEnv([Word for _ in range(count)])


def test_options_are_those_of_the_training_config() -> None:
    config = config_of(dataclasses.replace(TINY, options=(("group_size", 4), ("objective.baseline", "leave_one_out"))))

    assert (config.group_size, config.objective.baseline, config.seed) == (4, "leave_one_out", 0)
    with pytest.raises(UnknownNameError, match="grup_size"):
        config_of(dataclasses.replace(TINY, options=(("grup_size", 4),)))
    with pytest.raises(InvalidValueError, match=r"needs strata\.by"):
        config_of(dataclasses.replace(TINY, options=(("objective.baseline", "stratum"),)))


def test_a_run_is_named_by_everything_that_decides_its_result() -> None:
    changes: list[dict[str, Any]] = [
        {"seed": 1},
        {"reward": "random"},
        {"options": (("prompts", 4), ("group_size", 2))},
        {"exams": (Exam("maths", "grpo/Arithmetic-v0"),)},
        {"samples": 2},
    ]
    keys = {key_of(dataclasses.replace(TINY, **change)) for change in changes}

    assert len({key_of(TINY), *keys}) == len(changes) + 1
    assert key_of(TINY) == key_of(dataclasses.replace(TINY))


def test_random_rewards_are_a_fair_seeded_coin() -> None:
    def tossed(seed: int) -> Any:
        env = RandomRewards(words(400), seed)
        env.reset(seed=0)
        return env.step(["a"] * 400)[1]

    assert set(tossed(0)) == {0.0, 1.0}
    assert abs(tossed(0).mean() - 0.5) < 4 * 0.5 / 400**0.5
    assert (tossed(0) == tossed(0)).all()
    assert (tossed(0) != tossed(1)).any()


def test_format_pays_for_any_one_answer_that_can_be_read() -> None:
    env = FormatRewards(EnvChoice("grpo/Arithmetic-v0").vector(4, 4))
    env.reset(seed=3)

    answers = (r"\boxed{123456}", "no idea", "", r"\boxed{1 or 2}")
    _, rewards, _, _, infos = env.step(answers)

    assert rewards.tolist() == [1.0, 0.0, 0.0, 0.0]
    assert list(infos["reason"]) == ["wrong", "no_answer", "no_answer", "hedged"]


def test_format_needs_an_environment_that_says_why() -> None:
    env = FormatRewards(Silent(words(2)))
    env.reset(seed=0)

    with pytest.raises(ValueError, match="needs info"):
        env.step(["a", "b"])


def test_a_reward_is_known_by_its_name() -> None:
    env = words(2)

    assert rewarded(env, "true", 0) is env
    assert (reward_of("shuffled"), reward_of("grpo")) == ("shuffled", "true")
    with pytest.raises(ValueError, match="one of true, shuffled, random, format; got 'fomat'"):
        rewarded(env, "fomat", 0)


def test_a_kept_run_is_not_repeated_and_a_torn_line_is_none(tmp_path: Path) -> None:
    keep = tmp_path / "runs.jsonl"
    record = {"key": key_of(TINY), "after": {"pass@1": 0.5}}
    add_line(keep, record)
    keep.write_text(keep.read_text() + '{"key": "cut', encoding="utf-8")

    assert do_runs([TINY, TINY], keep) == [record, record]

    add_line(keep, {"key": "other"})
    assert list(kept(keep)) == [record["key"], "other"]
    assert keep.read_text().count("\n") == 3


def test_a_collapse_is_a_fall_below_half() -> None:
    assert collapsed(0.4, 0.19)
    assert not collapsed(0.4, 0.2)


class Agent:
    """What a trainer shows of its failures."""

    def __init__(self) -> None:
        self.failures: list[str] = []


def test_failed_steps_are_counted_once_each() -> None:
    """Steps 2 and 3 fail; a trainer books a failure after it has told of the step, and forgets at a success."""
    agent = Agent()
    watch = Watch(2, lambda: {"pass@1": 0.5, "n": 1}, agent)
    for step, fails in enumerate((False, True, True, False), 1):
        trained = 0 if fails else 10
        metrics = {"step": step, "rows": 4, "tokens/trained": trained, "entropy/sampled": 0.5, "seconds/update": 2.0}
        watch(metrics)
        agent.failures = [*agent.failures, "why"] if fails else []
    watch.count_failure()

    figures = watch.figures()
    assert (figures["failed"], figures["idle"], figures["completions"], figures["step_s"]) == (2, 2, 16, 2.0)
    assert figures["curve"] == [
        {"step": 2, "completions": 8, "pass@1": 0.5},
        {"step": 4, "completions": 16, "pass@1": 0.5},
    ]


def test_a_run_measures_what_it_says() -> None:
    job = dataclasses.replace(TINY, samples=2, exams=(Exam("a", "grpo/Arithmetic-v0"), Exam("b", TINY.env, (0,))))

    found = do_run(job)

    assert json.loads(json.dumps(found))["key"] == key_of(job)
    assert found["before"]["n"] == 2 * 2 * 8
    assert found["before"]["pass@1"] == pytest.approx(np.mean(list(found["before"]["exams"].values())))
    assert found["before"]["pass@2"] >= found["before"]["pass@1"]
    assert [point["completions"] for point in found["curve"]] == [4, 8]
    assert (found["steps_done"], found["failed"], found["stopped"]) == (2, 0, "")
    assert found["parameters"] > 100_000
    assert found["peak_mb"] >= 0


def test_a_run_without_an_advantage_moves_no_weight() -> None:
    """The start's answers can nearly always be read, so a format reward is the same in every group."""
    found = do_run(dataclasses.replace(TINY, reward="format"))

    assert found["idle"] == 2
    assert found["before"] == found["after"]


@pytest.mark.parametrize("study", [strata, ppo_vs_grpo, controls])
def test_arms_of_a_study_differ_only_where_they_say(study: Any) -> None:
    """Equal completions, equal seeds, one start; every config is one that training accepts."""
    runs = study.runs(True)
    configs = [config_of(run) for run in runs]

    assert len({config.prompts * config.group_size for config in configs}) == 1
    assert len({(run.steps, run.problems, run.every, run.model, run.env, run.tier) for run in runs}) == 1
    seeds = {run.arm: sorted(other.seed for other in runs if other.arm == run.arm) for run in runs}
    assert len({tuple(of) for of in seeds.values()}) == 1


def test_together_and_alone_have_equal_completions_and_exams(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = multitask.runs(True)
    sizes = {config_of(run).prompts * config_of(run).group_size for run in runs}

    assert len(sizes) == 1
    assert {run.exams for run in runs} == {multitask.EXAMS}
    assert {run.arm for run in runs} == {"together", "maths", "code", "logic"}
    mixed = config_of(runs[0]).env_args
    assert mixed["schedule"] == "exact"
    assert set(mixed["envs"]) == {exam.env for exam in multitask.EXAMS}


@pytest.mark.parametrize("name", ["strata", "ppo_vs_grpo", "multitask", "controls"])
def test_every_published_study_has_enough_seeds(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    start: Callable[..., Any] = lambda *_: (Path("start"), {})  # noqa: E731  # no warm start is made here
    study = {"strata": strata, "ppo_vs_grpo": ppo_vs_grpo, "multitask": multitask, "controls": controls}[name]
    for place in ("warm_start", "warm_start_from"):
        if hasattr(study, place):
            monkeypatch.setattr(study, place, start)

    runs = study.runs(False)

    for run in runs:
        assert len({r.seed for r in runs if (r.arm, r.env) == (run.arm, run.env)}) >= 8
