"""The ways of CONTRIBUTING to a task, command by command: in a copy of this repository, and in a fresh environment."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT

DEADLINE_S = 180
SMALL = (
    *("--steps", "2", "--prompts", "4", "--sampling.max-tokens", "16"),
    *("--evaluation.test-problems", "16", "--evaluation.val-problems", "8"),
)
"""Appended to `train`: what takes a minute in a document takes seconds here."""
SOURCES = ("grpo_gym", "rewards", "envs", "agents", "tests", "conftest.py", "pyproject.toml", "README.md", "LICENSE")

BLOCKS = re.findall(r"^```shell\n(.*?)^```", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE | re.DOTALL)
NEW, LOOK, PACKAGE = [[shlex.split(line, comments=True) for line in block.splitlines()] for block in BLOCKS]
SNIPPET = re.search(r"^```python\n(.*?)^```", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE | re.DOTALL)


def executed(python: Path, words: list[str], folder: Path, **variables: str) -> str:
    """Run a command of a document with an interpreter of our choice; return what it said."""
    programs = {"grpo-gym": ["-m", "grpo_gym"], "pytest": ["-m", "pytest", "-q", "-p", "no:cacheprovider"]}
    programs |= {"pip": ["-m", "pip"], "python": []}
    command = [str(python), *programs[words[0]], *words[1:]]
    if words[:2] == ["grpo-gym", "train"]:
        command += SMALL
    if words[0] == "pip":  # what is there is used, and nothing is downloaded
        command = [*command[:-2], "--quiet", "--no-deps", "--no-build-isolation", "--no-index", "."]
    done = subprocess.run(
        command,
        cwd=folder,
        input="",
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", **variables},
    )
    assert done.returncode == 0, f"{shlex.join(words)}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment that is new, and sees what is installed in this one."""
    folder = tmp_path_factory.mktemp("fresh") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=DEADLINE_S)
    (site,) = folder.glob("lib/python*/site-packages")
    here = sysconfig.get_paths()["purelib"]
    (site / "this.pth").write_text(f"import site; site.addsitedir({here!r})\n")
    return folder / "bin" / "python"


@pytest.mark.long
def test_the_walk_through_of_a_package_is_true(fresh: Path, tmp_path: Path) -> None:
    folder, said = tmp_path, {}
    for words in PACKAGE:
        if words[0] == "cd":
            folder = folder / words[1]
            continue
        said[" ".join(words[:2])] = executed(fresh, words, folder)
    executed(fresh, ["pip", "install", "-e", "."], folder)
    listed = executed(fresh, ["grpo-gym", "list", "zoo_tasks/"], folder)

    assert {"grpo-gym new", "pip install", "grpo-gym check", "pytest", "grpo-gym train"} <= set(said)
    assert "1 passed" in said["pytest"]
    assert " 0 failed" in said["grpo-gym check"]
    assert said["grpo-gym sample"].count("A hall has") == 3
    assert "2 steps, 64 completions" in said["grpo-gym train"]
    assert "zoo_tasks/Animals.Legs-v0" in listed
    assert "zoo_tasks/Animals.Names-v0" in listed
    assert "2 passed" in executed(fresh, ["pytest"], folder)


@pytest.mark.long
def test_the_commands_of_a_generated_readme_are_true(fresh: Path, tmp_path: Path) -> None:
    executed(fresh, ["grpo-gym", "new", "plants.leaves", "--kind", "word"], tmp_path)
    folder = tmp_path / "plants-tasks"
    block = re.search(r"^```sh\n(.*?)^```", (folder / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    assert block is not None
    commands = [shlex.split(line) for line in block[1].splitlines()]
    assert [words[1] for words in commands if words[0] == "grpo-gym"] == ["list", "sample", "play", "check", "train"]
    for words in commands[:-1]:  # the walk through a package trains
        executed(fresh, words, folder)


@pytest.mark.long
def test_the_walk_through_in_this_repository_is_true(tmp_path: Path) -> None:
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, tmp_path / name)
    path = os.pathsep.join(str(tmp_path / part) for part in (".", "rewards", "envs", "agents"))
    python = Path(sys.executable)
    for words in NEW:
        executed(python, words, tmp_path, PYTHONPATH=path)
    file = tmp_path / "envs" / "grpo_envs" / "math" / "doubling.py"
    written = file.read_text()
    (check,) = [words for words in LOOK if words[1] == "check"]
    assert "0 failed" in executed(python, check, tmp_path, PYTHONPATH=path)
    assert SNIPPET is not None
    file.write_text(SNIPPET[1])
    for words in LOOK:
        if words[0] != "make":
            executed(python, words, tmp_path, PYTHONPATH=path)
    tests = ["pytest", "tests/gym/test_problems.py", "-k", "doubling or golden"]
    assert " passed" in executed(python, tests, tmp_path, PYTHONPATH=path)
    file.write_text(written)
    for job in ("check", "format --check"):
        ruff = [sys.executable, "-m", "ruff", *job.split(), "--no-cache", str(file)]
        subprocess.run(ruff, check=True, cwd=tmp_path, timeout=60)
