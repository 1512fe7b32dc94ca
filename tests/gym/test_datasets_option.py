"""`gym.make(id, dataset=...)`: presets, columns and files, all of it JSON; every row once, none lost without a word."""

from __future__ import annotations

import json
import logging
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import gymnasium
import pytest

import grpo_gym
from grpo_agents.environments import EnvChoice, distinct_seeds, reset_rows
from grpo_envs.datasets import tasks
from grpo_envs.datasets.presets import LEVELS, PRESETS, SUBJECTS, find, known_names
from grpo_envs.datasets.rows import unusable
from grpo_gym import Dataset, Problem, TextEnv
from grpo_gym.data.reading import RowError
from grpo_gym.errors import DataError, InvalidValueError, UnknownNameError
from grpo_gym.problem import SPLITS
from grpo_gym.stream import ProblemStream
from grpo_rewards.math import verify
from tests.gym.data_rows import COLUMNS, jsonl, key, rows
from tests.gym.test_data_reading import Hub
from tests.shared import shared_file

MATH = "grpo/Math-v0"


def make(dataset: Any, **options: Any) -> Any:
    return gymnasium.make(MATH, dataset=dataset, expose_answer=True, **options).unwrapped


def source(env: Any) -> Dataset:
    (task,) = env.stream.tasks.values()
    assert isinstance(task.source, Dataset)
    return task.source


def stories(n: int, start: int = 0) -> list[dict[str, str]]:
    """Rows as in GSM8K."""
    return [
        {
            "question": f"Ann has {i} apples and gets a thousand.",
            "answer": f"{i} + 1000 = <<{i}+1000={i + 1000}>>{i + 1000}\n#### {i + 1000:,}",
        }
        for i in range(start, start + n)
    ]


def contest(n: int, start: int = 0) -> list[dict[str, Any]]:
    """Rows as in MATH."""
    return [
        {
            "problem": f"What is half of ${i}$?",
            "level": f"Level {i % 5 + 1}",
            "type": "Algebra",
            "solution": f"We halve it: $\\frac{{{i}}}{{2}}$. So it is $\\boxed{{\\frac{{{i}}}{{2}}}}$.",
        }
        for i in range(start, start + n)
    ]


# --- files


def test_a_file_with_a_map_of_columns_makes_an_environment(tmp_path):
    path = str(jsonl(tmp_path / "mine.jsonl", rows(60)))
    env = make(path, columns=COLUMNS)
    _, info = env.reset(seed=1)
    assert info["task"] == "math.dataset"
    assert env.step(info["answer"])[1] == 1.0
    assert sum(source(env).size(split) for split in SPLITS) == 60
    envs: Any = gymnasium.make_vec(MATH, num_envs=4, group_size=2, dataset=path, columns=COLUMNS)
    _, infos = envs.reset(seed=1)
    assert infos["problem_id"][0] == infos["problem_id"][1]


def test_the_preset_of_gsm8k_takes_the_answer_from_behind_the_hashes(tmp_path):
    env = make({"test": str(jsonl(tmp_path / "some.jsonl", stories(30)))}, preset="gsm8k", split="test")
    for n in range(30):
        _, info = env.reset(seed=3 if n == 0 else None)
        assert info["task"] == "math.gsm8k"
        assert "," not in env.problem.reference
        assert "<<" not in info["solution"]
        assert info["solution"].endswith(info["answer"])
        assert env.step(info["solution"])[1] == 1.0


def test_the_preset_of_math_reads_boxes_levels_and_subjects(tmp_path):
    env = make({"test": str(jsonl(tmp_path / "some.jsonl", contest(50)))}, preset="math", split="test", tier=(2, 4))
    seen: Counter[str] = Counter()
    for n in range(30):
        _, info = env.reset(seed=3 if n == 0 else None)
        problem = env.problem
        seen[info["problem_id"]] += 1
        number = int(problem.prompt.split("$")[1])
        assert problem.reference == f"\\frac{{{number}}}{{2}}"
        assert info["tier"] == problem.tier == number % 5 + 1
        assert problem.meta == {"subject": "Algebra"}
        assert env.step(info["solution"])[1] == 1.0
    assert set(seen.values()) == {1}
    assert len(seen) == env.stream.size() == 30


def test_columns_take_the_place_of_a_presets_own(tmp_path):
    table = [{"q": row["question"], "a": row["answer"]} for row in stories(10)]
    env = make(
        {"train": str(jsonl(tmp_path / "a.jsonl", table))}, preset="gsm8k", columns={"prompt": "q", "reference": "a"}
    )
    assert sum(source(env).size(split) for split in SPLITS) == 10
    assert env.reset(seed=1)[1]["answer"].startswith(r"\boxed{1")


def test_rows_may_be_given_themselves_and_everything_is_json():
    env = make({"train": rows(20), "test": rows(5, 100)}, columns=COLUMNS)
    again = gymnasium.make(gymnasium.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    assert again.reset(seed=4) == env.reset(seed=4)
    assert make(rows(20), columns={**COLUMNS, "meta": ["answer"]}).reset(seed=1)[0]


def test_one_process_reads_a_file_once_and_a_changed_one_again(tmp_path):
    path = jsonl(tmp_path / "mine.jsonl", rows(20))
    first, second = (source(make(str(path), columns=COLUMNS)) for _ in range(2))
    assert first is second
    jsonl(path, rows(30))
    third = source(make(str(path), columns=COLUMNS))
    assert sum(third.size(split) for split in SPLITS) == 30


def test_a_path_is_read_from_where_it_was_named(tmp_path, monkeypatch):
    jsonl(tmp_path / "mine.jsonl", rows(20))
    monkeypatch.chdir(tmp_path)
    env = make("mine.jsonl", columns=COLUMNS)
    monkeypatch.chdir("/")
    assert env.reset(seed=1)[0].startswith("What is")


# --- presets


def test_every_preset_is_met_by_its_names_and_hub_ids():
    for preset in PRESETS:
        for name in (*preset.names, *preset.hubs):
            assert find(name) is find(name.upper().replace("-", "_")) is preset
        assert set(preset.tiers) <= set(LEVELS) or preset.tiers == (0,)
    names = [name for preset in PRESETS for name in (*preset.names, *preset.hubs)]
    assert len(names) == len({name.lower().replace("-", "").replace("_", "") for name in names})
    assert find("tim/unknown") is None


ROWS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "gsm8k": (stories(1)[0], {"reference": "1000"}),
    "math": (contest(1, 3)[0], {"reference": r"\frac{3}{2}", "tier": 4, "subject": "Algebra"}),
    "math-500": (
        {"problem": "?", "solution": "so 4", "answer": "4", "subject": "Geometry", "level": 3, "unique_id": "test/1"},
        {"reference": "4", "tier": 3, "subject": "Geometry", "id": "test/1", "solution": "so 4\n\\boxed{4}"},
    ),
    "aime-2024": ({"id": 1, "problem": "?", "solution": r"\boxed{204}", "url": "u"}, {"reference": "204", "id": 1}),
    "aime24": ({"ID": "2024-I-1", "Problem": "?", "Solution": "So 204.", "Answer": 204}, {"reference": 204}),
    "aime-2025": ({"problem": "?", "answer": "70", "id": "0"}, {"reference": "70", "solution": None}),
    "aime25": ({"question": "?", "answer": "70"}, {"reference": "70"}),
    "amc23": ({"id": 0, "question": "?", "answer": 27.0, "url": "u"}, {"reference": 27.0}),
    "minerva": ({"question": "?", "answer": "0.5"}, {"reference": "0.5"}),
    "olympiadbench": (
        {"question": "?", "final_answer": ["2", "3"], "subfield": "Algebra", "unit": None, "id": 7},
        {"reference": "2, 3", "subject": "Algebra", "unit": None, "id": 7},
    ),
}
"""Short name -> a row as that data set has it, and what is read from it."""


@pytest.mark.parametrize("name", ROWS)
def test_a_row_is_read_as_its_data_set_writes_it(name):
    from grpo_envs.datasets.rows import Rows

    preset = find(name)
    assert preset is not None
    row, read = ROWS[name]
    made = Rows(preset)(dict(row))
    assert {field: made[field] for field in read} == read
    assert set(Rows(preset).columns) >= {"prompt", "reference", "solution", "meta"}


@pytest.mark.parametrize(
    ("name", "row", "why"),
    [
        ("gsm8k", {"question": "?", "answer": "about 5"}, "column 'answer' has no answer behind ####: 'about 5'"),
        ("gsm8k", {"question": "?", "anwser": "#### 5"}, "no column 'answer'; did you mean 'anwser'?"),
        ("gsm8k", {"question": " ", "answer": "#### 5"}, "column 'question' is ' ', not a question"),
        ("gsm8k", {"question": "?", "answer": None}, "column 'answer' is empty"),
        ("math", {"problem": "?", "level": "Level 1", "solution": "5"}, r"column 'solution' has no \boxed{}: '5'"),
        ("math", {"problem": "?", "level": "Level ?", "answer": "5"}, "column 'level' is 'Level ?', not a level from"),
        ("math", {"problem": "?", "answer": "5"}, "no column 'level'; the columns are problem, answer"),
        ("olympiadbench", {"question": "?", "final_answer": []}, "column 'final_answer' is an empty list"),
    ],
)
def test_a_row_that_cannot_be_read_says_why(name, row, why):
    from grpo_envs.datasets.rows import Rows

    preset = find(name)
    assert preset is not None
    with pytest.raises(RowError) as caught:
        Rows(preset)(row)
    assert str(caught.value).startswith(why)


def test_a_short_name_loads_its_first_hub_id_with_all_subsets(monkeypatch):
    hub = Hub({"train": contest(40), "test": contest(10, 100)})
    monkeypatch.setitem(sys.modules, "datasets", hub)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    env = make("math", split="test")
    assert hub.asked == []
    env.reset(seed=1)
    assert hub.asked == [("EleutherAI/hendrycks_math", subject) for subject in SUBJECTS]
    assert source(env).size("test") == 10
    assert source(make("EleutherAI/hendrycks_math", subset="algebra")).subset == "algebra"


def test_a_set_to_measure_with_is_all_test_whatever_the_hub_calls_it(monkeypatch):
    table = [{"problem": f"{i}?", "answer": str(i), "id": i} for i in range(30)]
    monkeypatch.setitem(sys.modules, "datasets", Hub({"train": table}))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    data = source(make("aime-2024", split="test"))
    assert [data.size(split) for split in SPLITS] == [0, 0, 30]
    with pytest.raises(DataError, match=r"it has: train 0, val 0, test 30; ask for split='test'"):
        make("HuggingFaceH4/aime_2024").reset(seed=1)


def test_a_data_set_without_validation_rows_takes_them_from_train(tmp_path):
    parts = {"train": stories(1_000), "test": stories(20, 5_000)}
    paths = {split: str(jsonl(tmp_path / f"{split}.jsonl", part)) for split, part in parts.items()}
    sizes = [source(make(paths, preset="gsm8k")).size(split) for split in SPLITS]
    assert sizes[2] == 20
    assert 60 < sizes[1] < 140
    assert sum(sizes) == 1_020


# --- what is wrong, in one sentence


def test_names_that_do_not_exist_are_met_with_the_nearest(tmp_path):
    jsonl(tmp_path / "gsm8k_test.jsonl", stories(3))
    wrong: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"dataset": "gms8k"}, UnknownNameError, "unknown data set 'gms8k'; did you mean 'gsm8k'?"),
        ({"dataset": rows(1), "preset": "gsm9k"}, UnknownNameError, "unknown preset 'gsm9k'; did you mean 'gsm8k'?"),
        ({"datset": "gsm8k"}, UnknownNameError, "unknown environment option 'datset'; did you mean 'dataset'?"),
        (
            {"dataset": rows(1), "columns": {"promt": "question"}},
            UnknownNameError,
            "unknown problem field 'promt'; did you mean 'prompt'?",
        ),
        (
            {"dataset": str(tmp_path / "gsm8k_tset.jsonl")},
            DataError,
            f"did you mean '{tmp_path / 'gsm8k_test.jsonl'}'?",
        ),
        ({"dataset": str(tmp_path)}, DataError, "is no .json, .jsonl, .parquet file (seen from"),
        ({"dataset": {"test": "nowhere.csv"}}, DataError, "'nowhere.csv' is no .json, .jsonl, .parquet file"),
        ({"preset": "gsm8k"}, InvalidValueError, "preset says how the rows of a data set are read: give dataset="),
        ({"dataset": 5}, InvalidValueError, "dataset is 5: give a name, a path, rows, or these by split"),
        ({"dataset": Path("a.jsonl")}, InvalidValueError, "are JSON values, for a spec holds them"),
        ({"dataset": rows(1), "columns": "question"}, InvalidValueError, "columns is 'question': map problem fields"),
        (
            {"dataset": rows(1), "columns": {"prompt": "question"}},
            InvalidValueError,
            "which column holds the 'reference'",
        ),
        ({"dataset": rows(1), "subset": "main"}, InvalidValueError, "subset is 'main': only data sets of the hub"),
    ]
    for options, error, message in wrong:
        with pytest.raises(error) as caught:
            gymnasium.make(MATH, **options)
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_missing_column_is_named_with_the_way_out():
    with pytest.raises(DataError, match=r"no column 'anwser'; did you mean 'answer'\?; say which with columns="):
        make(rows(5), columns={"prompt": "question", "reference": "anwser"}).reset(seed=1)
    with pytest.raises(DataError, match=r"no column 'reference'; the columns are question, answer; say which"):
        make(rows(5)).reset(seed=1)
    with pytest.raises(DataError, match=r"the reference is a whole solution .*: name the preset that reads it"):
        make(stories(5), columns=COLUMNS).reset(seed=1)


def test_an_environment_without_data_sets_says_who_has_them():
    with pytest.raises(InvalidValueError, match=r"math.chain takes no dataset: data sets are read by grpo/Math-v0, "):
        gymnasium.make("grpo/Math.Chain-v0", dataset="gsm8k")
    with pytest.raises(InvalidValueError, match="takes no columns"):
        gymnasium.make_vec("grpo/Logic.GuessNumber-v0", num_envs=2, columns={})


def test_references_that_the_verifier_cannot_read_are_counted_and_named(caplog):
    table = [*rows(40), {"question": "Which?", "answer": "}{ \\frac"}, {"question": "What?", "answer": "\\"}]
    with caplog.at_level(logging.WARNING):
        data = source(make({"test": table}, columns=COLUMNS, split="test"))
        assert data.size("test") == 40
    assert [row.split(": ", 1)[0] for row in data.left_out] == ["rows of test, row 41", "rows of test, row 42"]
    assert all("the verifier" in row for row in data.left_out)
    assert "of 42 rows left out: 2 bad; the first bad one: rows of test, row 41: the verifier" in caplog.text
    assert "; rows of test, row 42" in caplog.text
    assert unusable(Problem("?", "3/4")) == ""


# --- every row once


@pytest.mark.parametrize("options", [{}, {"tier": 2}, {"tier": (1, 3)}])
def test_held_out_seeds_of_a_small_data_set_are_every_row_once(tmp_path, options):
    path = str(jsonl(tmp_path / "some.jsonl", contest(30)))
    choice = EnvChoice(MATH, {"dataset": {"test": path}, "preset": "math", **options})
    seeds = distinct_seeds(choice, "test", 0, 2_048)
    wanted = sum(problem["level"] for problem in ({"level": i % 5 + 1 in range(*span(options))} for i in range(30)))
    env = choice.vector(len(seeds), split="test")
    assert len(set(reset_rows(env, seeds)[1]["problem_id"])) == len(seeds) == wanted
    assert len(distinct_seeds(choice, "test", 0, 5)) == 5


def span(options: dict[str, Any]) -> tuple[int, int]:
    tier = options.get("tier", (1, 5))
    low, high = tier if isinstance(tier, tuple) else (tier, tier)
    return low, high + 1


def test_uneven_levels_leave_no_row_out():
    table = [{"q": f"{i}?", "a": str(i), "t": 5 if i < 2 else 1} for i in range(200)]
    columns = {"prompt": "q", "reference": "a", "tier": "t"}
    choice = EnvChoice(MATH, {"dataset": {"test": table}, "columns": columns})
    assert len(distinct_seeds(choice, "test", 1, 500)) == 200


def test_a_walk_through_several_tiers_meets_every_row_once():
    data = Dataset({"test": [{**row, "t": i % 3} for i, row in enumerate(rows(30))]}, {**COLUMNS, "tier": "t"})
    walk = [data.problem_among((0, 1, 2), key(k, "test")) for k in range(60)]
    assert len({problem.prompt for problem in walk[:30]}) == len({problem.prompt for problem in walk[30:]}) == 30
    assert all(problem.tier == int(problem.reference) // 2 % 3 for problem in walk)
    assert [problem.prompt for problem in walk[:30]] != [problem.prompt for problem in walk[30:]]
    assert (data.size("test", (0, 2)), data.size("test")) == (20, 30)
    with pytest.raises(DataError, match="has no train problem"):
        data.problem_among((0, 1), key(0, "train"))


def test_a_stream_knows_how_many_problems_there_are():
    (task,) = tasks(rows(40), columns=COLUMNS)
    assert sum(ProblemStream("x", [task], split=split).size() or 0 for split in SPLITS) == 40
    assert TextEnv(grpo_gym.registration.load_tasks("grpo/math")).stream.size() is None


# --- the real thing


def test_every_gold_solution_of_gsm8k_is_accepted_and_the_neighbours_refused():
    path = shared_file("data", "gsm8k_test.jsonl")
    env = make({"test": str(path)}, preset="openai/gsm8k", split="test")
    data = source(env)
    assert (data.size("test"), data.left_out) == (1_319, ())
    problems = [data.problem(key(k, "test")) for k in range(1_319)]
    assert len({problem.prompt for problem in problems}) == 1_319
    gold = {row["question"]: row["answer"] for row in map(json.loads, path.read_text(encoding="utf-8").splitlines())}
    assert sum(bool(verify(gold[problem.prompt], problem.reference)) for problem in problems) == 1_319
    assert sum(bool(verify(str(problem.solution), problem.reference)) for problem in problems) == 1_319
    for problem, other in pairwise(problems):
        equal = float(str(other.reference)) == float(str(problem.reference))
        assert bool(verify(gold[other.prompt], problem.reference)) == equal


def test_the_rows_of_math_500_are_problems_or_named():
    path = shared_file("data", "math500.json")
    data = source(make(str(path), preset="math-500", split="test"))
    size = data.size("test")
    assert size + len(data.left_out) == 500
    assert size >= 495
    assert sum(data.size("test", (level,)) for level in LEVELS) == size


def test_known_names_begin_with_those_that_are_shown():
    assert known_names()[: len(PRESETS)] == [preset.names[0] for preset in PRESETS]
