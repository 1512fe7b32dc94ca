"""Programming problems from data sets: rows as HumanEval and MBPP write them, files of one's own, and what is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gymnasium
import pytest

import grpo_gym  # noqa: F401  # registers the environments
from grpo_envs.datasets.code import tasks
from grpo_envs.datasets.code_presets import PRESETS, CodePreset, find, known_names
from grpo_envs.datasets.code_rows import CodeRows, unusable
from grpo_gym import Problem, Task
from grpo_gym.data.reading import RowError
from grpo_gym.errors import DataError, InvalidValueError, UnknownNameError
from grpo_gym.problem import SPLITS
from tests.shared import shared_file

HUMANEVAL = {
    "task_id": "HumanEval/x",
    "prompt": "import math\n\n\ndef half(n):\n    return n / 2\n\n\ndef area(r: float) -> float:\n"
    '    """ Area of half a disc. """\n',
    "entry_point": "area",
    "canonical_solution": "    return half(math.pi * r * r)\n",
    "test": "def check(candidate):\n    assert abs(candidate(2) - 6.2831) < 1e-3\n    assert candidate(0) == 0\n",
}
TESTS = ["assert sum(1, 2) == 3", "assert sum(2, 2) == 4", "assert math.isclose(sum(0.5, 1), 1.5)"]
MBPP = {
    "task_id": 7,
    "prompt": "Write a function to add two numbers.",
    "code": "def twice(x):\r\n  return 2 * x\r\ndef sum(a, b):\r\n  return a + b",
    "test_imports": ["import math"],
    "test_list": TESTS,
}


def read(preset: str, row: dict[str, Any]) -> dict[str, Any]:
    found = find(preset)
    assert found is not None
    return CodeRows(found)(dict(row))


def judged(task: Task, problem: Problem, answer: str | None = None) -> float | None:
    return task.reward.score(task.right_answer(problem) if answer is None else answer, problem).value


def everything(task: Task) -> list[Problem]:
    source: Any = task.source
    return [task.problem(0, split, 0, k) for split in SPLITS for k in range(source.size(split))]


def test_a_row_of_humaneval_becomes_a_head_to_be_completed():
    made = read("humaneval", HUMANEVAL)
    assert made["reference"]["tests"].endswith("assert candidate(0) == 0\n\ncheck(area)")
    assert made["reference"]["given"] == "import math\n\ndef half(n):\n    return n / 2"
    assert made["reference"]["entry_point"] == "area"
    assert "def area" in made["prompt"]
    assert "pi" not in made["prompt"].replace("import", "")
    [task] = tasks([HUMANEVAL], preset="humaneval")
    problem = task.problem(0, "test", 0, 0)
    assert judged(task, problem) == 1.0
    assert judged(task, problem, "```python\ndef area(r):\n    return half(math.pi * r * r)\n```") == 1.0
    assert judged(task, problem, "```python\ndef area(r):\n    return 0\n```") == 0.0


def test_a_row_of_mbpp_shows_its_first_test_and_hides_the_others():
    made = read("mbpp", MBPP)
    assert "assert sum(1, 2) == 3" in made["prompt"]
    assert "sum(2, 2)" not in made["prompt"]
    assert made["reference"]["tests"].splitlines() == ["import math", *TESTS]
    assert made["reference"]["public"] == "import math\nassert sum(1, 2) == 3"
    assert made["reference"]["entry_point"] == "sum", "a function that is called like a builtin one"
    [task] = tasks({"test": [MBPP]}, preset="mbpp")
    problem = task.problem(0, "test", 0, 0)
    assert judged(task, problem) == 1.0
    assert judged(task, problem, "```python\ndef sum(a, b):\n    return 3\n```") == 0.0


def test_the_whole_mbpp_and_the_one_of_evalplus_are_read_as_well():
    whole = {k: v for k, v in MBPP.items() if k not in ("prompt", "test_imports")}
    made = read("mbpp", {**whole, "text": "Add.", "test_setup_code": "", "challenge_test_list": []})
    assert made["prompt"].startswith("Add.\n")
    plus = read("mbpp+", {**MBPP, "test": "for n in range(3):\n    assert sum(n, n) == 2 * n"})
    assert plus["reference"]["tests"].endswith("assert sum(n, n) == 2 * n")


def test_presets_are_met_by_their_names():
    for preset in PRESETS:
        for name in preset.names:
            assert find(name) is find(name.upper().replace("-", "_")) is preset
    assert find("google-research-datasets/mbpp") is find("mbpp")
    assert find("openai/openai_humaneval") is find("humaneval")
    assert {preset.task for preset in PRESETS if preset.only == "test"} == {"humaneval", "humaneval_plus", "mbpp_plus"}
    assert known_names()[0] == "humaneval"


OWN: list[dict[str, Any]] = [
    {"prompt": "Double.", "tests": ["assert f(2) == 4", "assert f(3) == 6"], "solution": "def f(x): return 2 * x"},
    {
        "prompt": "Double, by calls.",
        "tests": {"fn_name": "f", "inputs": [[2], [3]], "outputs": [4, 6]},
        "solution": "```python\ndef f(x): return 2 * x\n```",
    },
    {
        "prompt": "Double, from input.",
        "tests": json.dumps({"inputs": ["2\n", "3\n"], "outputs": ["4\n", "6\n"]}),
        "solution": "print(2 * int(input()))",
        "time_s": 1,
    },
    {"prompt": "Double with help.", "tests": "assert f(2) == 4", "given": "def g(x): return 2 * x",
     "solution": "def f(x): return g(x)"},
]  # fmt: skip


def test_a_file_of_ones_own_may_hold_tests_of_every_style(tmp_path):
    path = tmp_path / "mine.jsonl"
    path.write_text("\n".join(map(json.dumps, OWN)), encoding="utf-8")
    env: Any = gymnasium.make("grpo/Code-v0", dataset={"test": str(path)}, split="test").unwrapped
    seen = set()
    for seed in range(4):
        env.reset(seed=9, options={"index": seed})
        seen.add(env.problem.reference["style"])
        assert env.step(env.problem.solution)[1] == 1.0
    assert seen == {"asserts", "function", "stdio"}
    again: Any = gymnasium.make(gymnasium.envs.registration.EnvSpec.from_json(
        gymnasium.make("grpo/Code-v0", dataset={"test": str(path)}, split="test").spec.to_json()  # type: ignore[union-attr]
    ))  # fmt: skip
    assert again.reset(seed=9)[0]


def test_columns_may_be_called_otherwise(tmp_path):
    table = [{"question": f"Add {n}.", "checks": f"assert f(1) == {n + 1}", "level": n % 3} for n in range(30)]
    [task] = tasks(table, columns={"prompt": "question", "reference": "checks", "tier": "level"})
    problem = task.problem(2, "train", 0, 0)
    assert problem.prompt.startswith("Add ")
    assert problem.tier == 2
    n = int(problem.prompt[4:-1])
    assert judged(task, problem, f"```python\ndef f(x): return x + {n}\n```") == 1.0


def test_the_same_data_sets_are_there_in_several_turns():
    rows = {"test": [MBPP]}
    env: Any = gymnasium.make("grpo/CodeRepair-v0", dataset=rows, preset="mbpp", split="test").unwrapped
    env.reset(seed=1)
    message, reward, terminated, _, _ = env.step("```python\ndef sum(a, b):\n    return 4\n```")
    assert (reward, terminated) == (0.0, False)
    assert "expected 3" in message
    assert env.step(env.problem.solution)[1] == 1.0


@pytest.mark.parametrize(
    ("preset", "row", "why"),
    [
        ("humaneval", {**HUMANEVAL, "prompt": "def f(:"}, "column 'prompt' is no head of a function"),
        ("humaneval", {**HUMANEVAL, "test": ""}, "column 'test' is '', not a text"),
        ("mbpp", {**MBPP, "test_list": []}, "column 'test_list' is [], not a list of asserts"),
        ("mbpp", {k: v for k, v in MBPP.items() if k != "code"}, "no column 'code'"),
        ("mbpp", {**MBPP, "code": "def f(:"}, "the program or its first test is no Python"),
    ],
)
def test_a_row_that_cannot_be_read_says_why(preset, row, why):
    with pytest.raises(RowError) as caught:
        read(preset, row)
    assert str(caught.value).startswith(why)


@pytest.mark.parametrize(("row", "preset"), [(HUMANEVAL, "humaneval"), (MBPP, "mbpp")])
def test_rows_of_a_known_set_without_its_preset_name_it(row, preset):
    with pytest.raises(RowError, match=f"no column 'tests'.*preset='{preset}'"):
        CodeRows(CodePreset("dataset"))(dict(row))


def test_tests_that_the_judge_cannot_read_are_told_when_the_file_is_read():
    assert "inputs" in unusable(Problem("", {"style": "stdio", "tests": {"inputs": ["1"], "outputs": []}}))
    assert unusable(Problem("", {"style": "asserts", "tests": "assert f(1) == 1"})) == ""
    [task] = tasks([{"prompt": "?", "tests": "assert f( == 1"}])
    with pytest.raises(DataError, match="1 of 1 rows cannot be read"):
        task.problem(0, "train", 0, 0)


def test_names_that_do_not_exist_are_met_with_the_nearest(tmp_path):
    with pytest.raises(UnknownNameError, match="did you mean 'humaneval'"):
        tasks("humanevl")
    with pytest.raises(UnknownNameError, match="did you mean 'mbpp'"):
        tasks([MBPP], preset="mbp")
    with pytest.raises(InvalidValueError, match="the preset 'mbpp' knows its columns"):
        tasks([MBPP], preset="mbpp", columns={"prompt": "a", "reference": "b"})
    with pytest.raises(InvalidValueError, match="only data sets of the hub have subsets"):
        tasks([MBPP], subset="full")
    with pytest.raises(DataError, match="no data file"):
        tasks(str(Path(tmp_path) / "none.jsonl"))


def test_humaneval_is_all_test_and_a_sample_of_its_solutions_is_right():
    [task] = tasks(str(shared_file("data", "humaneval.jsonl")), preset="humaneval")
    problems = everything(task)
    assert len(problems) == 164
    assert {problem.split for problem in problems} == {"test"}
    few = problems[::11]
    assert all(task.reward.score_batch([(task.right_answer(problem), problem) for problem in few]))
    assert not any(task.reward.score_batch([(problem.prompt, problem) for problem in few]))


def test_a_sample_of_the_solutions_of_mbpp_is_right_and_knowing_the_shown_test_is_not():
    [task] = tasks(str(shared_file("data", "mbpp_sanitized.json")), preset="mbpp")
    problems = everything(task)
    assert len(problems) == 427
    few = problems[::28]
    assert all(task.reward.score_batch([(task.right_answer(problem), problem) for problem in few]))
