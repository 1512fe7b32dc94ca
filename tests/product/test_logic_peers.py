"""The benchmark beside a peer plays what it says: registered puzzles, right and wrong answers in turn."""

from __future__ import annotations

from itertools import count

import gymnasium
import pytest

import grpo_gym
from benchmarks.logic_peers import PAIRS, Pair, alone, beside_peer, costs_of_wrong, cpu_per_episode, ours
from benchmarks.rows import OURS
from grpo_gym.registration import tasks_of

MINI = Pair("grpo/Logic.MiniSudoku-v0", "mini_sudoku", 0.1)


def test_every_pair_is_an_environment_with_that_tier() -> None:
    registered = grpo_gym.registered_ids()

    for pair in PAIRS:
        assert pair.identifier in registered
        assert pair.tier is None or pair.tier in tasks_of(pair.identifier)[0].tiers


def test_five_houses_with_five_attributes_are_the_tier_that_is_measured() -> None:
    (pair,) = [pair for pair in PAIRS if pair.tier is not None]
    task = tasks_of(pair.identifier)[0]

    problem = task.problem(pair.tier or 0, "train", 0, 0)

    assert problem.prompt.startswith("5 houses")
    assert len(problem.meta["attributes"]) == 5


def test_episodes_are_played_in_pairs_until_the_time_is_up() -> None:
    played: list[int] = []

    cost = cpu_per_episode(played.append, count(6), seconds=0.0)

    assert played == [6, 7]
    assert cost >= 0


def test_even_seeds_are_answered_right_and_odd_ones_wrong(monkeypatch) -> None:
    """An episode checks its reward: were the wrong answer right after all, the benchmark would end."""
    play = ours(MINI)
    _, info = gymnasium.make(MINI.identifier, expose_answer=True).reset(seed=1)
    play(1)
    monkeypatch.setattr("benchmarks.logic_peers.WRONG", info["answer"])

    with pytest.raises(AssertionError, match="MiniSudoku"):
        play(1)


def test_without_the_peer_our_own_figure_says_so(monkeypatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    (row,) = beside_peer(MINI, rounds=2, seconds=0.0)

    assert row.who == OURS
    assert row.note == "at most 0.1 ms; no peer here"


def test_a_task_alone_gets_its_three_figures() -> None:
    details: dict[str, object] = {}

    rows = alone(tasks_of(MINI.identifier)[0], 6, details)

    assert [row.figure for row in rows] == ["making a problem", "p95 / median, making one", "wrong answer / right one"]
    assert list(details) == ["logic.mini_sudoku"]


def test_the_cost_of_wrong_answers_is_told_for_every_kind_that_the_task_has() -> None:
    task = tasks_of("grpo/Math.Chain-v0")[0]

    found = costs_of_wrong(task, [task.problem(0, "train", 0, 0)])

    assert set(found) == {"a number", "a near miss", "the question"}  # the task has no weak solver of its own
