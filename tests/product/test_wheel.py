"""The wheel is what users get: it must hold all four packages with their types, and the shipped policy."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("grpo_gym", "grpo_rewards", "grpo_envs", "grpo_agents")
POLICY = "grpo_agents/embedded/policy/"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(ROOT)]
    built = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert built.returncode == 0, built.stderr[-2000:]
    return next(out.glob("*.whl"))


def test_the_wheel_holds_every_module_of_the_four_packages(wheel: Path) -> None:
    inside = set(zipfile.ZipFile(wheel).namelist())
    for folder in ("grpo_gym", "rewards/grpo_rewards", "envs/grpo_envs", "agents/grpo_agents"):
        base = (ROOT / folder).parent
        for module in (ROOT / folder).rglob("*.py"):
            assert module.relative_to(base).as_posix() in inside


def test_the_wheel_marks_all_four_packages_as_typed(wheel: Path) -> None:
    inside = zipfile.ZipFile(wheel).namelist()
    assert [f"{package}/py.typed" in inside for package in PACKAGES] == [True] * 4


def test_the_wheel_holds_the_shipped_policy_in_three_megabytes(wheel: Path) -> None:
    sizes = {entry.filename: entry.compress_size for entry in zipfile.ZipFile(wheel).infolist()}
    for name in ("model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json"):
        assert POLICY + name in sizes
    assert "grpo_agents/embedded/MODEL_CARD.md" in sizes
    assert sum(size for name, size in sizes.items() if name.startswith("grpo_agents/embedded/")) <= 3_000_000


def test_the_wheel_holds_the_templates_of_new(wheel: Path) -> None:
    inside = set(zipfile.ZipFile(wheel).namelist())
    templates = [path.name for path in (ROOT / "grpo_gym" / "cli" / "scaffold").glob("*.txt")]
    assert len(templates) >= 6
    assert {f"grpo_gym/cli/scaffold/{name}" for name in templates} <= inside


def test_the_wheel_holds_the_stored_puzzles(wheel: Path) -> None:
    inside = set(zipfile.ZipFile(wheel).namelist())
    assert {f"grpo_envs/logic/solvers/{name}" for name in ("sudoku.txt", "game24.txt")} <= inside


def test_the_wheel_names_its_plugins_for_pytest_and_for_itself(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/entry_points.txt")]
    told = archive.read(name).decode().splitlines()
    assert {"[pytest11]", "grpo_gym = grpo_rewards.pytest_plugin", "grpo_envs = grpo_envs.index:register"} <= set(told)


def test_the_wheel_holds_nothing_else(wheel: Path) -> None:
    tops = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == set(PACKAGES)


def test_the_installed_wheel_registers_its_environments_and_has_a_command(wheel: Path, tmp_path: Path) -> None:
    target = tmp_path / "site"
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--target",
        str(target),
        str(wheel),
    ]
    subprocess.run(pip, check=True, timeout=120, capture_output=True)
    code = (
        "import gymnasium, grpo_gym; print(grpo_gym.__file__); print(gymnasium.make('grpo/Math-v0').reset(seed=0)[0])"
    )
    child = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={"PYTHONPATH": str(target)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert child.stdout.startswith(str(target))
    assert "boxed" in child.stdout
