"""Reward functions of others under check: called as they want to be called, and found out like our own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from grpo_gym.checks import check_reward
from grpo_gym.checks.foreign.functions import target_of_function, task_of_function
from grpo_gym.checks.target import TaskTarget
from grpo_gym.errors import DataError, InvalidValueError, UnknownNameError
from grpo_gym.problem import Problem

HERE = "tests.gym.foreign_rewards"
ROOT = Path(__file__).resolve().parents[2]


def opened(name: str, style: str = "auto", cases: Path | None = None) -> tuple[TaskTarget, Problem]:
    target = target_of_function(f"{HERE}:{name}", style, cases)
    return target, target.problem(None, "train", 1, 1)


def written(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


# --- how functions are called

BOX, TAG, HASH, BARE = r"\boxed{@}", "<answer>@</answer>", "#### @", "@"

READ = [
    ("plain_boxed", "plain", BOX, (0, 1)),
    ("plain_exact", "plain", BARE, (0, 1)),
    ("plain_swapped", "plain", BOX, (0, 1)),
    ("plain_of_problem", "plain", BOX, (0, 1)),
    ("plain_with_options", "plain", BOX, (0, 1)),
    ("positional_only", "plain", BOX, (0, 1)),
    ("partial_exact", "plain", BOX, (0, 1)),
    ("trl_texts", "trl", BOX, (0, 1)),
    ("trl_messages", "trl with messages", TAG, (0, 2)),
    ("trl_typed", "trl with messages", BOX, (0, 1)),
    ("trl_own_column", "trl", BOX, (0, 1)),
    ("trl_async", "trl", BOX, (0, 1)),
    ("Callable_", "trl", BOX, (0, 1)),
    ("verl_score", "verl", HASH, (0, 1)),
    ("verl_short", "verl", TAG, (0, 1)),
    ("verl_dict", "verl", BOX, (-1, 1)),
    ("verl_batch", "verl", BOX, (0, 1)),
]


@pytest.mark.parametrize(("name", "style", "form", "limits"), READ)
def test_a_function_is_read_from_its_signature_and_by_trial(name, style, form, limits):
    target, problem = opened(name)
    right = target.right_answer(problem)
    assert f"style {style}, by its signature" in target.facts.note
    assert right == form.replace("@", problem.reference)
    assert target.facts.range == limits
    assert target.facts.foreign
    assert target.score(form.replace("@", problem.reference), problem).value == limits[1]
    assert target.final_answer(problem, "5") == form.replace("@", "5")
    assert target.score(form.replace("@", "5"), problem).value != limits[1]


@pytest.mark.parametrize("name", ["OurReward", "our_reward"])
def test_a_reward_of_ours_without_a_task_keeps_its_declarations(name):
    target, problem = opened(name)
    assert target.facts.range == (-2, 1)
    assert target.right_answer(problem) == f"\\boxed{{{problem.reference}}}"
    assert [probe.name for probe, _ in target.probes(problem)] == ["a bribe"]


@pytest.mark.parametrize("name", ["plain_any", "verl_by_position", "one_argument", "three_arguments", "everything"])
def test_a_signature_that_tells_nothing_is_asked_about(name):
    with pytest.raises(InvalidValueError, match=r"cannot tell how .* is called: say --style plain .* trl .* verl"):
        task_of_function(f"{HERE}:{name}")


@pytest.mark.parametrize(("name", "style"), [("plain_any", "plain"), ("verl_by_position", "verl")])
def test_a_style_that_is_told_needs_no_names(name, style):
    target, problem = opened(name, style)
    right = target.right_answer(problem)
    assert right is not None
    assert target.score(right, problem).value == 1
    assert f"style {style}, as asked" in target.facts.note


@pytest.mark.parametrize(
    ("name", "style", "message"),
    [
        ("number", "auto", "is 3: neither a function nor a class"),
        ("NeedsArguments", "auto", "needs arguments"),
        ("one_argument", "plain", "takes 1 argument"),
        ("three_arguments", "plain", r"it also needs \['labels'\]"),
        ("trl_two_columns", "auto", r"needs the columns \['numbers', 'aim'\]: give --cases FILE"),
        ("plain_exact", "verl", "it also needs"),
    ],
)
def test_what_cannot_be_called_says_why(name, style, message):
    with pytest.raises(InvalidValueError, match=message):
        task_of_function(f"{HERE}:{name}", style)


def test_a_mistyped_name_is_told_the_nearest():
    with pytest.raises(UnknownNameError, match="did you mean 'plain_boxed'"):
        task_of_function(f"{HERE}:plain_boxd")
    with pytest.raises(UnknownNameError, match="did you mean 'verl'"):
        task_of_function(f"{HERE}:plain_boxed", "verls")
    with pytest.raises(InvalidValueError, match="cannot import the module of 'no_such:thing'"):
        task_of_function("no_such:thing")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("two_rewards", "2 rewards for one completion"),
        ("no_list", "returns a list, got 1.0"),
        ("no_score", "a dictionary without 'score'"),
        ("a_text", "the text '1.0', not a number"),
    ],
)
def test_a_result_that_is_no_reward_is_an_error_and_not_a_zero(name, message):
    target, problem = opened(name)
    with pytest.raises(InvalidValueError, match=message):
        target.score("12", problem)
    assert message.split(",")[0].split(" got")[0][:12] in target.facts.note


def test_parts_and_abstentions_are_kept():
    target, problem = opened("verl_dict")
    assert target.score("no", problem).components == {"acc": 0.0}
    target, problem = opened("abstains")
    assert target.score("12", problem).abstains


@pytest.mark.parametrize(("name", "because"), [("pays_never", ""), ("never_ready", " (ConnectionError: no judge")])
def test_where_no_right_answer_is_paid_the_note_says_so(name, because):
    target, _ = opened(name)
    assert "none of 15 usual ways to write a right answer earns more than 0" + because in target.facts.note
    assert target.facts.range == (0, 1)


def test_a_declared_range_counts_more_than_what_was_seen():
    assert task_of_function(f"{HERE}:plain_boxed", range=(-1.0, 2.0)).reward.range == (-1.0, 2.0)


# --- cases


def test_columns_of_a_file_reach_the_function(tmp_path):
    rows = [{"prompt": f"make {n}", "reference": str(n), "numbers": [n], "aim": n} for n in range(10)]
    target, problem = opened("trl_two_columns", cases=written(tmp_path / "c.jsonl", *rows))
    assert problem.prompt == "make 1"
    assert target.right_answer(problem) == "1"
    assert target.score("1", problem).value == 1
    assert target.facts.not_applicable["duplicates"] == "the problems come from c.jsonl"


def test_a_file_that_lacks_a_needed_column_is_refused(tmp_path):
    path = written(tmp_path / "c.jsonl", {"prompt": "p", "reference": "1", "numbers": [1]})
    with pytest.raises(InvalidValueError, match=r"needs the columns \['aim'\]"):
        opened("trl_two_columns", cases=path)


def test_right_answers_of_a_file_are_used_as_they_stand(tmp_path):
    rows = [{"question": f"q{n}", "target": {"of": n}, "answer": f"\\boxed{{{n}}}"} for n in range(8)]
    path = written(tmp_path / "c.jsonl", *rows)
    target, problem = opened("by_target", cases=path)
    assert target.right_answer(problem) == "\\boxed{1}"
    assert target.score("\\boxed{1}", problem).value == 3
    assert target.facts.range == (0, 3)
    assert target.final_answer(problem, {"of": 2}) is None  # nobody knows how such a reference is written


@pytest.mark.parametrize(
    ("row", "reference", "solution"),
    [
        ({"reference": "1", "answer": "It is 1."}, "1", "It is 1."),
        ({"answer": "1", "solution": "It is 1."}, "1", "It is 1."),
        ({"answer": "1"}, "1", None),
        ({"solution": "1"}, "1", None),
        ({"answer": {"is": 1}, "target": "1"}, "1", None),
    ],
)
def test_which_column_decides_and_which_is_an_answer_in_words(tmp_path, row, reference, solution):
    _, problem = opened("plain_exact", cases=written(tmp_path / "c.jsonl", {"prompt": "p", **row}))
    assert (problem.reference, problem.solution) == (reference, solution)


def test_rows_as_verl_keeps_them(tmp_path):
    rows = [
        {
            "data_source": "openai/gsm8k",
            "prompt": [{"role": "user", "content": f"What is {n}?"}],
            "reward_model": {"style": "rule", "ground_truth": str(n)},
            "extra_info": {"index": n},
        }
        for n in range(8)
    ]
    target, problem = opened("verl_score", cases=written(tmp_path / "c.jsonl", *rows))
    assert (problem.prompt, problem.reference) == ("What is 1?", "1")
    assert target.score("#### 1", problem).value == 1


def test_the_data_source_of_a_row_is_handed_on(tmp_path):
    path = written(tmp_path / "c.jsonl", {"prompt": "p", "reference": "1", "data_source": "elsewhere"})
    target, problem = opened("verl_score", cases=path)
    with pytest.raises(NotImplementedError, match="elsewhere"):
        target.score("#### 1", problem)


@pytest.mark.parametrize(
    ("row", "message"),
    [({"prompt": "p"}, "line 1 of c.jsonl has the columns"), ({"reference": "r"}, "it needs a 'prompt'")],
)
def test_a_row_without_question_or_reference_is_named(tmp_path, row, message):
    with pytest.raises(DataError, match=message):
        opened("plain_boxed", cases=written(tmp_path / "c.jsonl", row))


def test_an_empty_or_broken_file_is_refused(tmp_path):
    with pytest.raises(DataError, match="has no rows"):
        opened("plain_boxed", cases=written(tmp_path / "c.jsonl"))
    (tmp_path / "d.jsonl").write_text("{")
    with pytest.raises(DataError, match=r"line 1 of d.jsonl: not JSON"):
        opened("plain_boxed", cases=tmp_path / "d.jsonl")


# --- found out


@pytest.mark.slow
def test_a_leaky_function_is_found_out():
    report = check_reward(f"{HERE}:leaky", n=8)
    found = {line.key for line in report.failed}
    assert {"junk raises", "junk pays", "near miss", "finite numbers"} <= found
    assert report.line("oracle").status == "pass"


@pytest.mark.slow
def test_a_function_that_runs_answers_is_found_out():
    report = check_reward(f"{HERE}:runs_answers", n=8)
    assert "executes answers" in {line.key for line in report.failed}


@pytest.mark.slow
def test_a_harmful_function_costs_lines_and_nothing_else(tmp_path, monkeypatch):
    """It hangs, dies and writes to the home folder: it is confined before it reads anything hostile."""
    monkeypatch.setenv("HOME", str(tmp_path))
    report = check_reward(f"{HERE}:harmful", n=8)
    assert {"junk kills", "junk in time"} <= {line.key for line in report.failed}
    assert list(tmp_path.iterdir()) == []


def test_nothing_of_others_is_imported_before_it_is_asked_for():
    code = (
        "import sys, grpo_gym.checks, grpo_gym.checks.foreign.functions, grpo_gym.checks.foreign.environments, "
        "grpo_gym.checks.foreign.reasoning_gym; "
        "print([m for m in ('reasoning_gym', 'trl', 'verl', 'torch', 'transformers') if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ})
    assert ran.stdout == "[]\n"
