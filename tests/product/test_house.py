"""The house rules that can be counted: short files and functions, documented modules, tested public faces."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import grpo_gym
import grpo_rewards.compose
import grpo_rewards.math

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted(
    path for folder in ("grpo_gym", "rewards", "envs", "agents", "benchmarks") for path in (ROOT / folder).rglob("*.py")
)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_module_says_what_it_is_and_stays_small(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)

    assert ast.get_docstring(tree)
    assert text.count("\n") <= 400
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            assert (node.end_lineno or 0) - node.lineno < 60, f"{node.name} is longer than a screen"


@pytest.mark.parametrize(
    "module", [grpo_gym, grpo_rewards.compose, grpo_rewards.math], ids=lambda module: module.__name__
)
def test_a_public_face_is_a_sorted_list_of_what_exists(module: object) -> None:
    names = getattr(module, "__all__", [])

    assert names == sorted(names, key=lambda name: (not name.isupper(), name[0].islower(), name))
    assert all(hasattr(module, name) for name in names)
