"""`sft` writes a policy that `train` and `eval` take; `eval` reads runs the way they were trained."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from grpo_agents.config import Sampling, TrainConfig
from grpo_gym.cli import sft
from tests.cli import toy
from tests.cli.conftest import Cli

SMALL = ("--steps", 4, "--batch", 8, "--val-problems", 12, "--max-tokens", 6, "--threads", 1)
RUN = (
    *("--prompts", 2, "--group-size", 2, "--threads", 1, "--sampling.max-tokens", 6, "--steps", 2, "--tier", 0, 1),
    *("--evaluation.test-problems", 12, "--evaluation.every", 0, "--keeping.checkpoint-every", 1),
)


@pytest.fixture(scope="module")
def taught(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A policy folder from `sft`."""
    from grpo_gym.cli.main import main

    out = tmp_path_factory.mktemp("sft") / "taught"
    words = ("sft", "--model", tiny, "--env", toy.LETTERS, "--out", out, *SMALL, "--learning-rate", 1e-2)
    assert main([str(word) for word in words]) == 0
    return out


@pytest.fixture(scope="module")
def trained(taught: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder from `train` on what `sft` wrote."""
    from grpo_gym.cli.main import main

    out = tmp_path_factory.mktemp("runs") / "run"
    assert main([str(w) for w in ("train", "--model", taught, "--env", toy.LETTERS, "--out", out, *RUN)]) == 0
    return out


def test_sft_writes_scores_and_config(taught: Path) -> None:
    record = json.loads((taught / "sft.json").read_text())

    assert record["config"]["env"] == toy.LETTERS
    assert (record["config"]["steps"], record["config"]["learning_rate"]) == (4, 1e-2)
    assert record["val"]["sampled"]["n"] == record["val"]["greedy"]["n"] == 12
    assert record["policy"]["prompt_style"] == "raw"


def test_sft_from_nothing_says_how_it_goes_and_what_came_of_it(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sft, "TOKENIZER_BATCHES", 4)
    out = tmp_path / "new"
    said = cli("sft", "--model", "new", "--env", "grpo/Math.Gcd-v0", "--out", out, *SMALL, "--optimizer", "muon")

    assert (said.code, said.err) == (0, "")
    steps = [line for line in said.out.splitlines() if line.startswith("step ")]
    assert [line.split()[1] for line in steps] == ["1/4", "2/4", "3/4", "4/4"]
    assert all("loss" in line for line in steps)
    assert "12 val problems of grpo/Math.Gcd-v0" in said.out
    assert f"grpo-gym train --model {out} --env grpo/Math.Gcd-v0" in said.out
    assert {"model.safetensors", "tokenizer.json", "config.json", "sft.json"} <= {p.name for p in out.iterdir()}


def test_a_new_policy_is_as_large_as_asked_for(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sft, "TOKENIZER_BATCHES", 4)
    words = ("sft", "--model", "new", "--env", "grpo/Logic.GuessNumber-v0", *SMALL)
    said = cli(*words, "--out", tmp_path / "new", "--context", 700, "--vocabulary", 300)
    assert (said.code, said.err) == (0, "")
    config = json.loads((tmp_path / "new" / "config.json").read_text())
    assert (config["max_position_embeddings"], config["vocab_size"]) == (700, 300)
    said = cli(*words, "--out", tmp_path / "other", "--vocabulary", 258)
    assert (said.code, said.err) == (2, "error: --vocabulary is 258, must be at least 259\n")


def test_sft_refuses_a_folder_that_holds_something(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "precious").touch()
    said = cli("sft", "--out", tmp_path)

    assert said == (2, "", f"error: {tmp_path} already holds something: choose a new folder with --out\n")
    assert (tmp_path / "precious").exists()


def test_sft_needs_solutions(cli: Cli, tiny: Path, tmp_path: Path) -> None:
    said = cli("sft", "--model", tiny, "--env", toy.PARROT, "--out", tmp_path / "out", *SMALL)

    assert said.code == 2
    assert said.err.startswith(f"error: {toy.PARROT} shows no solutions")
    assert said.err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_eval_of_a_run_reads_its_config_and_writes_into_it(cli: Cli, trained: Path) -> None:
    said = cli("eval", trained, "-n", 12)
    record = json.loads((trained / "eval-test.json").read_text())
    summary = json.loads((trained / "summary.json").read_text())

    assert (said.code, said.err) == (0, "")
    assert f"12 test problems of {toy.LETTERS}" in said.out
    assert "toy.letters tier 0" in said.out
    assert "toy.letters tier 1" in said.out
    assert f"written to: {trained / 'eval-test.json'}" in said.out
    assert record["sampled"]["pass@1"] == summary["held_out"]["after"]["pass@1"]
    assert record["greedy"]["pass@1"] == summary["held_out"]["after"]["greedy"]
    assert (record["n"], record["max_tokens"], record["tier"]) == (12, 6, [0, 1])
    assert record["policy"]["prompt_style"] == "raw"
    assert Path(record["checkpoint"]).name == "step-000002"


def test_eval_takes_another_step_split_environment_and_tier(cli: Cli, trained: Path) -> None:
    words = ("--step", 1, "--split", "val", "--env", "grpo/Math.Gcd-v0", "--tier", 2, "-n", 6, "--max-tokens", 3)
    said = cli("eval", trained, *words)
    record = json.loads((trained / "eval-val.json").read_text())

    assert said.code == 0
    assert Path(record["checkpoint"]).name == "step-000001"
    assert list(record["sampled"]["by_task"]) == ["math.gcd tier 2"]


def test_eval_puts_another_system_prompt_before_the_question(cli: Cli, trained: Path) -> None:
    said = cli("eval", trained, "-n", 4, "--split", "val", "--system-prompt", "Think.\nThen answer.")
    record = json.loads((trained / "eval-val.json").read_text())

    assert said.code == 0
    assert record["policy"]["system_prompt"] == "Think.\nThen answer."


def test_eval_of_a_policy_folder_writes_nothing(cli: Cli, taught: Path) -> None:
    before = sorted(path.name for path in taught.iterdir())
    said = cli("eval", taught, "--env", toy.PARROT, "-n", 6, "--max-tokens", 3, "--threads", 1)

    assert said.code == 0
    assert "held-out seeds, content not checked" in said.out
    assert sorted(path.name for path in taught.iterdir()) == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("/no/such/thing",), "error: no model folder at '/no/such/thing': give the folder of a model"),
        (("RUN", "--step", 9), "error: RUN has no checkpoint of step 9; there are [1, 2]\n"),
        (("POLICY", "--step", 1), "error: --step names a checkpoint of a run, and POLICY is not a run folder\n"),
        (("RUN", "--env", "grpo/Mth-v0"), "error: unknown environment 'grpo/Mth-v0'; did you mean 'grpo/Math-v0'?\n"),
        (("RUN", "--tier", 4), "error: no task of toy/toy.letters has tier 4; the tiers here are [0, 1]\n"),
        (("RUN", "-n", 0), "error: -n is 0, must be at least 1\n"),
    ],
)
def test_mistakes_are_one_line(cli: Cli, taught: Path, trained: Path, words: tuple[object, ...], message: str) -> None:
    names = {"RUN": str(trained), "POLICY": str(taught)}
    said = cli("eval", *(names.get(str(word), word) for word in words))

    assert said.code == 2
    for name, path in names.items():
        message = message.replace(name, path)
    assert said.err.startswith(message)
    assert said.err.count("\n") == 1


def test_sft_tells_a_folder_that_cannot_be_made_before_it_teaches(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    out = tmp_path / "file" / "out"

    assert cli("sft", "--out", out) == (2, "", f"error: cannot write {out}: Not a directory; choose another folder\n")


def test_sft_and_eval_score_with_the_tokens_that_train_allows() -> None:
    options = {field.name: field.default for field in dataclasses.fields(sft.Options)}

    assert options["max_tokens"] == Sampling().max_tokens == TrainConfig().sampling.max_tokens
