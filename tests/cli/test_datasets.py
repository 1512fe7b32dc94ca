"""Data sets on the command line: `--env-args dataset=...` of sample, play and eval, as of train."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from grpo_gym.cli import eval as eval_command
from grpo_gym.cli.options import parse
from tests.cli.conftest import Cli
from tests.gym.data_rows import jsonl, rows

MATH = "grpo/Math-v0"


@pytest.fixture
def args(tmp_path: Path) -> list[str]:
    path = jsonl(tmp_path / "mine.jsonl", rows(7))
    return ["--env-args", f"dataset={{test: {path}}}", "columns={prompt: question, reference: answer}"]


def test_sample_prints_every_row_once_and_stops(cli: Cli, args: list[str]) -> None:
    said = cli("sample", MATH, "-n", 50, "--split", "test", "--jsonl", "--answers", *args)
    shown = [json.loads(line) for line in said.out.splitlines()]
    assert said.code == 0
    assert len({row["prompt"] for row in shown}) == len(shown) == 7
    assert {row["task"] for row in shown} == {"math.dataset"}


def test_play_asks_rows_of_a_data_set(cli: Cli, args: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("\\boxed{1}\n"))
    said = cli("play", MATH, "-n", 1, "--split", "test", *args)
    assert said.code == 0
    assert "What is" in said.out
    assert "0 of 1 right" in said.out


def test_a_wrong_data_set_is_one_line(cli: Cli) -> None:
    said = cli("sample", MATH, "--env-args", "dataset=gms8k")
    assert said.code == 2
    assert "unknown data set 'gms8k'; did you mean 'gsm8k'?" in said.out + said.err
    assert "Traceback" not in said.out + said.err


def test_eval_adds_its_arguments_to_those_of_the_run() -> None:
    words = ["embedded", "--env-args", "dataset=gsm8k", "instructions=false"]
    options = parse(eval_command.Options, "eval", words)
    assert eval_command._config(options, None).env_args == {"dataset": "gsm8k", "instructions": False}
