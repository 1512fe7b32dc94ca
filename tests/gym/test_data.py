"""Data sets as a source: splits that cannot leak, an order that leaves no row out, environments made of them."""

from __future__ import annotations

import copy
import logging
import pickle
import threading
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grpo_gym import Dataset, GroupVectorEnv, Problem, Task, TextEnv
from grpo_gym.errors import DataError, UnknownNameError
from grpo_gym.problem import SPLITS, split_of
from grpo_gym.sources import Key
from grpo_rewards.math import MathReward
from tests.gym.data_rows import COLUMNS, contents, jsonl, key, rows, sizes
from tests.shared import shared_file

# --- splits


def test_data_without_splits_are_split_by_content():
    data = Dataset(rows(2_000), COLUMNS)
    assert sum(sizes(data)) == 2_000
    assert [abs(size - share) < 80 for size, share in zip(sizes(data), (1_600, 200, 200), strict=True)] == [True] * 3
    for split in SPLITS:
        assert {split_of(prompt) for prompt in contents(data, split, 50)} == {split}
    assert sizes(Dataset({"train": rows(2_000)}, COLUMNS)) == sizes(data)


def test_data_keep_their_own_splits_and_val_is_a_tenth_of_train_where_there_is_none():
    own = Dataset({"train": rows(80), "validation": rows(10, 100), "test": rows(20, 200)}, COLUMNS)
    assert sizes(own) == [80, 10, 20]
    for name in ("val", "valid", "dev"):
        assert sizes(Dataset({"train": rows(80), name: rows(10, 100), "test": rows(20, 200)}, COLUMNS)) == [80, 10, 20]
    hashed = Dataset({"train": rows(2_000), "test": rows(20, 5_000)}, COLUMNS)
    train, val, test = sizes(hashed)
    assert (train + val, test) == (2_000, 20)
    assert 140 < val < 260
    assert not set(contents(hashed, "train")) & set(contents(hashed, "val"))


def test_rows_of_test_are_kept_out_of_train(caplog):
    with caplog.at_level(logging.INFO):
        leaky = Dataset({"train": rows(50), "validation": rows(20, 40), "test": rows(20, 30)}, COLUMNS)
        assert sizes(leaky) == [30, 10, 20]
        assert sizes(Dataset({"test": rows(5) + rows(5)}, COLUMNS)) == [0, 0, 5]
    assert "of 90 rows left out: 30 repeated" in caplog.text
    everywhere = [set(contents(leaky, split)) for split in SPLITS]
    assert not everywhere[0] & everywhere[1]
    assert not (everywhere[0] | everywhere[1]) & everywhere[2]


def test_a_split_that_is_not_there_is_named():
    data = Dataset({"test": rows(5)}, COLUMNS)
    with pytest.raises(DataError, match=r"grpo/data.test has no train problem; it has: train 0, val 0, test 5"):
        data.problem(key())
    with pytest.raises(UnknownNameError, match=r"unknown split of a data set 'tset'; did you mean 'test'"):
        Dataset({"train": rows(5), "tset": rows(5)}, COLUMNS).size("train")
    with pytest.raises(DataError, match="'validation' names the split 'val' a second time"):
        Dataset({"val": rows(5), "validation": rows(5)}, COLUMNS).size("val")
    with pytest.raises(DataError, match="a data set without any split"):
        Dataset({}, COLUMNS).size("val")


# --- order


@settings(max_examples=30)
@given(n=st.integers(1, 40), seed=st.integers(0, 2**31), epochs=st.integers(1, 3))
def test_a_walk_meets_every_row_once_before_any_row_twice(n, seed, epochs):
    data = Dataset({"test": rows(n)}, COLUMNS)
    walk = contents(data, "test", n * epochs, seed)
    for epoch in range(epochs):
        assert len(set(walk[epoch * n : (epoch + 1) * n])) == n


def test_walks_of_other_seeds_epochs_and_splits_are_other_walks():
    data = Dataset({"train": rows(200), "val": rows(200, 300), "test": rows(200, 600)}, COLUMNS)
    one = contents(data, "test", 400, seed=1)
    assert one[:200] != one[200:]
    assert one[:200] != contents(data, "test", 200, seed=2)
    assert one == contents(Dataset({"train": [], "test": rows(200, 600)}, COLUMNS), "test", 400, seed=1)
    numbers = [[int(prompt.split()[2]) % 100 for prompt in contents(data, split, 200, seed=1)] for split in SPLITS]
    assert numbers[0] != numbers[1] != numbers[2]


# --- in an environment


def gsm8k(data: Any) -> Task:
    source = Dataset(
        data,
        {"prompt": "question", "reference": "number", "solution": "answer"},
        transform=lambda row: {**row, "number": row["answer"].rsplit("####", 1)[1].strip()},
    )
    return Task("data.gsm8k", source, MathReward(), answer=lambda problem: f"\\boxed{{{problem.reference}}}")


def test_a_file_like_gsm8k_makes_an_environment(tmp_path):
    story = [
        {
            "question": f"Ann has {i} apples and buys {j}.",
            "answer": f"{i} + {j} = <<{i}+{j}={i + j}>>{i + j}\n#### {i + j}",
        }
        for i in range(10, 30)
        for j in range(10, 30)
    ]
    task = gsm8k(jsonl(tmp_path / "gsm.jsonl", story))
    assert (task.tiers, task.default_tiers) == ((0,), (0,))
    env = TextEnv(task, expose_answer=True)
    prompts = []
    for n in range(50):
        prompt, info = env.reset(seed=1 if n == 0 else None)
        prompts.append(prompt)
        assert env.step(info["answer"] if n % 2 else info["solution"])[1] == 1.0
    assert len(set(prompts)) == 50
    envs = GroupVectorEnv(task, num_envs=8, group_size=4, split="test", expose_answer=True)
    _, infos = envs.reset(seed=1)
    assert set(infos["split"]) == {"test"}
    assert envs.step(list(infos["answer"]))[1].tolist() == [1.0] * 8
    assert copy.deepcopy(env).reset() == env.reset()


def test_every_reference_and_solution_of_gsm8k_scores_one():
    task = gsm8k({"test": shared_file("data", "gsm8k_test.jsonl")})
    assert isinstance(task.source, Dataset)
    assert task.source.size("test") > 1_300
    env = TextEnv(task, split="test", expose_answer=True)
    for n in range(200):
        _, info = env.reset(seed=7 if n == 0 else None)
        assert env.step(info["answer"])[1] == 1.0
        env.reset(options={"index": n})
        assert env.step(info["solution"])[1] == 1.0


def test_a_data_set_survives_pickling_and_is_shared_by_copies(tmp_path):
    path = jsonl(tmp_path / "rows.jsonl", rows(30))
    for data in (Dataset(path, COLUMNS), Dataset(rows(30), COLUMNS)):
        walk = contents(data, "train")
        assert contents(pickle.loads(pickle.dumps(data)), "train") == walk
        assert copy.deepcopy(data) is data
    assert len(pickle.dumps(Dataset(path, COLUMNS))) < 1_000


def test_threads_read_the_data_once():
    reads = []

    class Rows(list[Any]):
        def __iter__(self) -> Any:
            reads.append(threading.get_ident())
            return super().__iter__()

    data = Dataset(Rows(rows(500)), COLUMNS)
    walks: list[list[str]] = []
    threads = [threading.Thread(target=lambda: walks.append(contents(data, "train", 50))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(reads) == 1
    assert walks == [walks[0]] * 6


def test_a_problem_is_labelled_by_its_key():
    problem = Dataset(rows(20), COLUMNS).problem(Key("me/data.own", 3, 4, "train", 1, 2))
    assert isinstance(problem, Problem)
    assert (problem.task, problem.tier, problem.split) == ("data.own", 4, "train")
