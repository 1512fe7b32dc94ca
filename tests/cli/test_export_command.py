"""`export` writes what `chat` and `eval` read again, tells what 8 bits cost, and never writes over anything."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli import toy
from tests.cli.conftest import Cli

pytestmark = pytest.mark.long


def test_a_run_becomes_a_model_folder(cli: Cli, babbling_run: Path, tmp_path: Path) -> None:
    said = cli("export", babbling_run, "--out", tmp_path / "out", "--threads", 1)
    record = json.loads((tmp_path / "out" / "export.json").read_text())

    assert (said.code, said.err) == (0, "")
    assert "32,288 parameters, float32, 0.1 MB of weights\n" in said.out
    assert "loaded again: log-probs of sample texts differ by at most 0 nats\n" in said.out
    assert f"grpo-gym chat {tmp_path / 'out'}\n" in said.out
    assert (record["from"]["step"], record["rounding"]) == (2, None)
    first, second = (cli("chat", what, "--prompt", "a", "--seed", 1) for what in (babbling_run, tmp_path / "out"))
    assert first == second  # sampling and prompts are carried along


def test_what_eight_bits_cost_is_told_and_kept(cli: Cli, babbling_run: Path, tmp_path: Path) -> None:
    said = cli("export", babbling_run, "--out", tmp_path / "out", "--int8", "--problems", 8, "--threads", 1)
    rounding = json.loads((tmp_path / "out" / "export.json").read_text())["rounding"]

    assert (said.code, said.err) == (0, "")
    assert f"8 val problems of {toy.LETTERS}" in " ".join(said.out.split())
    assert "paired 95 % interval" in said.out
    assert (rounding["sampled"]["n"], rounding["greedy"]["n"]) == (8, 8)
    assert rounding["sampled"]["low"] <= rounding["sampled"]["change"] <= rounding["sampled"]["high"]


def test_an_8_bit_folder_can_be_scored_and_asked_and_not_trained(cli: Cli, babbling_run: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    cli("export", babbling_run, "--out", out, "--int8", "--problems", 0)

    scored = cli("eval", out, "--env", toy.LETTERS, "-n", 8, "--max-tokens", 6)
    assert (scored.code, scored.err) == (0, "")
    assert cli("chat", out, "--prompt", "a", "--max-tokens", 5).code == 0
    trained = cli("train", "--model", out, "--env", toy.LETTERS, "--out", tmp_path / "run")
    assert trained.code == 2
    assert trained.err == (
        "error: a policy of 8-bit weights cannot be trained: train the policy it was exported from, and export again\n"
    )
    assert not (tmp_path / "run").exists()


def test_a_model_without_an_environment_is_told_that_nothing_was_measured(
    cli: Cli, babbling_run: Path, tmp_path: Path
) -> None:
    said = cli(
        "export", babbling_run / "checkpoints" / "step-000001", "--out", tmp_path / "run", "--int8", "--problems", 4
    )
    assert "val problems" in said.out  # a checkpoint knows its run

    said = cli("export", tmp_path / "run", "--out", tmp_path / "again", "--int8")
    assert "the score was not measured: --env names problems to measure it on\n" in said.out


@pytest.mark.slow
def test_the_shipped_policy_loses_nothing_that_can_be_seen(cli: Cli, tmp_path: Path) -> None:
    said = cli(
        "export", "embedded", "--out", tmp_path / "out", "--int8", "--env", "grpo/Arithmetic-v0", "--problems", 128
    )
    record = json.loads((tmp_path / "out" / "export.json").read_text())

    assert said.code == 0
    assert record["rounding"]["sampled"]["before"] > 0.2
    for score in (record["rounding"]["sampled"], record["rounding"]["greedy"]):
        assert abs(score["change"]) < 0.03
        assert score["low"] <= 0 <= score["high"]
    assert record["bytes"]["weights"] < 0.34 * record["bytes"]["float32"]  # embeddings stay as they are


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("RUN", "--step", 9), "error: RUN has no checkpoint of step 9; there are [1, 2]\n"),
        (("RUN", "--problems", -1), "error: --problems is -1, must be at least 0\n"),
        (("RUN", "--int8", "--dtype", "bfloat16"), "error: --int8 and --dtype are two ways to keep the weights"),
        (("RUN", "--int8", "--env", "grpo/Mth-v0"), "error: unknown environment 'grpo/Mth-v0'; did you mean"),
        (("RUN", "--int8", "--tier", 4), "error: no task of toy/toy.letters has tier 4; the tiers here are [0, 1]\n"),
        (("/no/such/thing",), "error: no model folder at '/no/such/thing': give the folder of a model"),
    ],
)
def test_mistakes_are_one_line_and_leave_nothing(
    cli: Cli, babbling_run: Path, tmp_path: Path, words: tuple[object, ...], message: str
) -> None:
    said = cli("export", *(babbling_run if word == "RUN" else word for word in words), "--out", tmp_path / "out")

    assert said.code == 2
    assert said.err.startswith(message.replace("RUN", str(babbling_run)))
    assert said.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_over(cli: Cli, babbling_run: Path, tmp_path: Path) -> None:
    (tmp_path / "precious").touch()

    said = cli("export", babbling_run, "--out", tmp_path)
    assert said == (2, "", f"error: {tmp_path} already holds something: choose a new folder with --out\n")
    assert [path.name for path in tmp_path.iterdir()] == ["precious"]
