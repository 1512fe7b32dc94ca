"""Every snippet of the README runs as it stands there."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
SNIPPETS = [
    (document, kind, text)
    for document in ("README.md", "CONTRIBUTING.md")
    for kind, text in FENCE.findall((ROOT / document).read_text(encoding="utf-8"))
]
PYTHON = [text for _, kind, text in SNIPPETS if kind == "python"]
COMMANDS = [line for _, kind, text in SNIPPETS if kind == "sh" for line in text.splitlines() if line.strip()]
SHORT = ["--steps", "2", "--prompts", "4", "--evaluation.test-problems", "16", "--evaluation.val-problems", "16"]
"""Appended to `train`, so that what takes a minute in the README takes seconds here."""


def test_the_documents_hold_snippets() -> None:
    assert (len(PYTHON), len(COMMANDS) > 8) == (10, True)


@pytest.mark.parametrize("code", PYTHON, ids=lambda code: code.strip().splitlines()[-1][:40])
def test_a_python_snippet_runs(code: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_the_make_targets_exist() -> None:
    for line in COMMANDS:
        words = shlex.split(line, comments=True)
        if words[0] == "make":
            subprocess.run(["make", "--dry-run", *words[1:]], cwd=ROOT, check=True, capture_output=True, timeout=30)


@pytest.mark.long
def test_the_commands_run_one_after_the_other(tmp_path: Path) -> None:
    from grpo_agents.embedded import FOLDER

    (tmp_path / "my-model").symlink_to(FOLDER)
    commands = [shlex.split(line, comments=True) for line in COMMANDS if line.startswith("grpo-gym")]
    assert {words[1] for words in commands} == {
        "list",
        "sample",
        "play",
        "train",
        "eval",
        "sft",
        "rescore",
        "check",
        "doctor",
        "chat",
        "export",
    }
    for words in commands:
        arguments = words[1:]
        if words[1] == "train" and "--resume" not in words:
            arguments += SHORT
        if words[1] == "sft":
            arguments[arguments.index("--steps") + 1] = "3"
        if words[1] == "eval":
            arguments += ["--n", "16"]
        if "--problems" in words:
            arguments[arguments.index("--problems") + 1] = "4"
        done = subprocess.run(
            [sys.executable, "-m", "grpo_gym", *arguments],
            cwd=tmp_path,
            input="",
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        assert done.returncode == 0, f"{shlex.join(words)}\n{done.stdout[-1000:]}\n{done.stderr[-2000:]}"
