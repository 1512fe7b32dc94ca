"""A command line to call, and a policy small enough to train in a test."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from grpo_gym.cli.main import main

ROOT = Path(__file__).resolve().parents[2]


class Said(NamedTuple):
    code: int
    out: str
    err: str


Cli = Callable[..., Said]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Run the command line in this process."""
    monkeypatch.delenv("GRPO_GYM_DEBUG", raising=False)
    monkeypatch.setenv("COLUMNS", "150")

    def call(*words: object) -> Said:
        capsys.readouterr()
        code = main([str(word) for word in words])
        captured = capsys.readouterr()
        return Said(code, captured.out, captured.err)

    return call


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved policy of 30,000 random weights."""
    from grpo_agents.config import SFTConfig
    from grpo_agents.embedded.recipe import Recipe, untrained

    folder = tmp_path_factory.mktemp("policy") / "tiny"
    texts = SFTConfig(env="grpo/Arithmetic-v0", tier=(0, 5), steps=4)
    untrained(Recipe(hidden=32, layers=1, heads=2), texts).save(folder)
    return folder


def spawn(*words: object, code: str = "", **variables: str) -> subprocess.Popen[str]:
    """Start the command line (or `python -c code`) as a process of its own, in the repository's root."""
    start = [sys.executable, "-u", *(["-c", code] if code else ["-m", "grpo_gym"])]
    return subprocess.Popen(
        [*start, *map(str, words)],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1", **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> Said:
    """Wait for a process and return what it said."""
    with process:
        out, err = process.communicate(timeout=60)
    return Said(process.returncode, out, err)


@pytest.fixture(scope="session")
def babbling_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two steps of a policy that draws random bytes, control characters and halves of letters among them."""
    from grpo_agents.policy import Policy
    from tests.agents.tiny_models import BYTE_VOCAB, byte_tokenizer, fresh_model
    from tests.cli import toy

    folder = tmp_path_factory.mktemp("babble")
    model = fresh_model("llama", BYTE_VOCAB, max_position_embeddings=256)
    Policy(model, byte_tokenizer()).save(folder / "model")
    small = ("--steps", 2, "--prompts", 2, "--group-size", 2, "--evaluation.test-problems", 8, "--evaluation.every", 0)
    sizes = ("--threads", 1, "--sampling.max-tokens", 40, "--keeping.checkpoint-every", 1)
    words = ("train", "--model", folder / "model", "--env", toy.LETTERS, "--out", folder / "run", *small, *sizes)
    assert main([str(word) for word in words]) == 0
    return folder / "run"
