"""The benchmark of episodes of several turns: its broken functions, its runs, and its page."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from benchmarks import one_run, small_repairs, turns
from benchmarks.arms import config_of
from benchmarks.false_rewards import RandomRewards
from benchmarks.one_run import do_run
from benchmarks.publish import text_of
from grpo_envs.datasets import code as datasets
from grpo_gym.problem import Problem
from grpo_rewards.code.reward import CodeReward

pytestmark = pytest.mark.long

FEW = range(24)


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    return [small_repairs.row(number) for number in range(1200)]


def test_a_row_is_a_function_of_its_number_and_seldom_comes_twice(rows):
    assert rows[:50] == [small_repairs.row(number) for number in range(50)]
    assert len({row["prompt"] for row in rows}) > 1100


@pytest.mark.slow
def test_the_shown_program_is_wrong_and_the_solution_right(rows):
    """By the real judge: the complaint is what the broken program does, and both sets of tests tell it apart."""
    reward = CodeReward(explain=True)
    for number in FEW:
        row = rows[number]
        broken = row["prompt"][row["prompt"].index("```") : row["prompt"].rindex("```") + 3]
        shown = Problem("", {"style": "function", "tests": row["public"]})
        hidden = Problem("", {"style": "function", "tests": row["tests"]})
        said = reward.score(broken, shown).feedback

        assert reward.score(row["solution"], shown)
        assert reward.score(row["solution"], hidden)
        assert not reward.score(broken, hidden)
        argument, got, expected = (
            row["prompt"].rsplit("f(", 1)[1].replace(")", "").rstrip(".").split()[i] for i in (0, 2, 5)
        )
        assert f"f({argument}): got {got}, expected {expected}" in said


def test_no_hidden_test_is_the_shown_one(rows):
    for row in rows:
        assert row["public"]["inputs"][0] not in row["tests"]["inputs"]
        assert len(row["tests"]["inputs"]) >= 10


def test_the_rows_are_problems_of_all_splits_and_written_once(tmp_path):
    path = small_repairs.write(tmp_path / "rows.jsonl", rows=200)
    before = path.read_text()
    assert small_repairs.write(path, rows=3).read_text() == before

    (task,) = datasets.tasks(str(path))
    source: Any = task.source
    sizes = {split: source.size(split) for split in ("train", "val", "test")}
    assert sum(sizes.values()) > 190
    assert min(sizes.values()) > 5


def test_runs_of_a_game_differ_by_arm_and_seed_alone(monkeypatch, tmp_path):
    monkeypatch.setattr(turns, "warm_start_from", lambda *_, **__: (Path("start"), {}))
    monkeypatch.setattr(small_repairs, "write", lambda: None)
    runs = turns.runs(False)

    for game in turns.GAMES:
        own = [run for run in runs if run.env == game.env]
        assert len(own) == len(game.arms) * turns.SEEDS
        assert len({(run.steps, run.problems, run.tier, run.model) for run in own}) == 1
        for run in own:
            config = config_of(run)
            assert (config.env, config.env_args) == (game.env, dict(game.env_args))
            assert {other.seed for other in own if other.arm == run.arm} == set(range(turns.SEEDS))


def test_a_run_tells_the_turns_that_it_took():
    (job, *_) = turns.runs(True)
    found = do_run(dataclasses.replace(job, steps=1, problems=16, tier=(0,)))

    assert 1 <= found["before"]["turns"] <= 10
    assert 1 <= found["after"]["turns"] <= 10
    assert found["completions"] == 64


def test_imitation_is_told_of_the_environment_what_training_is_told(monkeypatch):
    seen: list[Any] = []
    monkeypatch.setattr("grpo_agents.sft.sft", lambda policy, settings: seen.append(settings))
    run = dataclasses.replace(turns.run_of(turns.REPAIR, turns.GRPO, 0, "start", 3, 8), arm="sft mixture")
    one_run._imitate(run, config_of(run), None)

    assert [(s.env, s.env_args, s.tier) for s in seen] == [(run.env, dict(turns.REPAIR.env_args), (0,))]


def test_a_coin_is_tossed_once_an_episode_at_its_end():
    env = RandomRewards(gymnasium.make_vec(turns.GUESSING.env, num_envs=64, tier=5), seed=1)
    env.reset(seed=0)
    paid = np.zeros(64)
    for _ in range(10):
        assert not paid.any()
        paid += env.step(["?"] * 64)[1]

    assert set(paid) == {0.0, 1.0}


def result(run: Any, before: float, after: float) -> dict[str, Any]:
    """What a run might have given."""
    figures = {"seconds": 60.0, "completions": 8, "steps_done": 2, "failed": 0, "idle": 0, "collapsed": False}
    costs = {"drawdown": 0.0, "entropy": 1.0, "step_s": 1.5, "peak_mb": 100.0, "parameters": 7}
    scores = {
        when: {"pass@1": share, "turns": 9.0 - 4 * share} for when, share in (("before", before), ("after", after))
    }
    return {**json.loads(json.dumps(dataclasses.asdict(run))), **figures, **costs, **scores}


def test_the_page_tells_each_game_apart(monkeypatch):
    monkeypatch.setattr(turns, "warm_start_from", lambda *_, **__: (Path("start"), {}))
    monkeypatch.setattr(small_repairs, "write", lambda: None)
    results = [
        result(run, 0.3 + 0.01 * run.seed, (0.8 if run.arm == turns.GRPO else 0.31) + 0.02 * run.seed)
        for run in turns.runs(False)
    ]
    text = text_of("turns", turns.page(results, False))

    for game in turns.GAMES:
        assert f"**grpo after higher** in pass@1 on {game.name}: grpo after minus grpo before +0.510" in text
        assert f"**grpo before higher** in mean turns on {game.name}" in text
        assert f"### Solved: {game.name}" in text
        assert "| grpo | 0.310 | 0.820 (0.770 to 0.870) | 0.800 0.820 0.840 |" in text
    assert len(turns.page(results, False).panels) == 2 * len(turns.GAMES)


def test_the_quick_page_has_the_one_game_that_was_played():
    runs = turns.runs(True)
    page = turns.page([result(run, 0.2, 0.4 + 0.1 * run.seed) for run in runs], True)

    assert {(run.env, run.arm) for run in runs} == {(turns.GUESSING.env, arm) for arm in turns.GUESSING.arms}
    assert {finding.subject for finding in page.findings} == {turns.GUESSING.name}


def test_the_games_are_registered():
    for game in turns.GAMES:
        assert game.env in gymnasium.registry
