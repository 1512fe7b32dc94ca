"""`grpo-gym train --lora.rank` from start to evaluation: an adapter on the shipped policy, stopped, resumed, scored."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from grpo_agents.run_folder import RunFolder
from tests.cli.conftest import Cli

pytestmark = pytest.mark.long

OPTIONS = (
    *("--steps", 2, "--prompts", 4, "--group-size", 8, "--threads", 1, "--device", "cpu"),
    *("--sampling.max-tokens", 32, "--evaluation.test-problems", 4, "--evaluation.every", 0),
    *("--keeping.checkpoint-every", 1, "--objective.kl-coef", 0.05),
)
ADAPTER = "adapter_model.safetensors"


@pytest.fixture
def run(cli: Cli, tmp_path: Path) -> Path:
    """A finished run of an adapter of rank 4."""
    said = cli("train", *OPTIONS, "--lora.rank", 4, "--out", tmp_path / "run")

    assert (said.code, said.err) == (0, "")
    assert "embedded, 30,720 of 736,128 parameters in an adapter of rank 4, float32" in said.out
    return tmp_path / "run"


def test_the_shipped_policy_learns_by_an_adapter_that_is_resumed_and_scored(run: Path, cli: Cli) -> None:
    last = run / "checkpoints" / "step-000002"
    whole = (last / ADAPTER).read_bytes()
    config = json.loads((last / "adapter_config.json").read_text())

    assert config["base_model_name_or_path"] == "embedded"
    assert not (last / "model.safetensors").exists()
    assert len(whole) < 200_000

    shutil.rmtree(last)
    said = cli("train", "--resume", run)
    assert (said.code, said.err) == (0, "")
    assert (last / ADAPTER).read_bytes() == whole

    said = cli("eval", run, "-n", 4)
    assert said.code == 0
    assert "in an adapter of rank 4" in said.out
    assert json.loads((run / "eval-test.json").read_text())["policy"]["adapter_rank"] == 4

    said = cli("eval", last, "-n", 4, "--max-tokens", 32)
    assert said.code == 0
    assert "in an adapter of rank 4" in said.out

    said = cli("rescore", run)
    assert said.code == 0


def test_a_layer_that_is_not_there_is_one_line(cli: Cli, tmp_path: Path) -> None:
    said = cli("train", *OPTIONS, "--lora.rank", 4, "--lora.targets", "q_prj", "--out", tmp_path / "run")

    assert said.code == 2
    assert "unknown layer in lora.targets 'q_prj'; did you mean 'q_proj'?" in said.err
    assert "Traceback" not in said.err
    assert not RunFolder(tmp_path / "run").steps()
    assert not (tmp_path / "run" / "config.yaml").exists()


def test_an_adapter_may_be_what_the_next_run_begins_with(run: Path, cli: Cli, tmp_path: Path) -> None:
    """Without --lora.rank it goes on learning; with it, it is folded in and a new one is put on."""
    adapter = run / "checkpoints" / "step-000002"
    said = cli("train", *OPTIONS, "--model", adapter, "--steps", 1, "--out", tmp_path / "on")
    assert (said.code, said.err) == (0, "")
    assert "in an adapter of rank 4" in said.out

    said = cli("train", *OPTIONS, "--model", adapter, "--lora.rank", 2, "--steps", 1, "--out", tmp_path / "anew")
    assert (said.code, said.err) == (0, "")
    assert "in an adapter of rank 2" in said.out
    said = cli("eval", tmp_path / "anew", "-n", 4)
    assert said.code == 0
