"""Rows for the tests of data sets."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from grpo_gym import Dataset
from grpo_gym.problem import SPLITS, Split
from grpo_gym.sources import Key

COLUMNS = {"prompt": "question", "reference": "answer"}


def rows(n: int, start: int = 0) -> list[dict[str, Any]]:
    return [{"question": f"What is {i} plus {i}?", "answer": str(2 * i)} for i in range(start, start + n)]


def key(index: int = 0, split: Split = "train", seed: int = 0, tier: int = 0) -> Key:
    return Key("grpo/data.test", 0, tier, split, seed, index)


def contents(data: Dataset, split: Split, n: int | None = None, seed: int = 0, tier: int = 0) -> list[str]:
    """The prompts of a walk through a split; once around by default."""
    return [data.problem(key(k, split, seed, tier)).prompt for k in range(data.size(split) if n is None else n)]


def sizes(data: Dataset) -> list[int]:
    return [data.size(split) for split in SPLITS]


def jsonl(path: Path, lines: Iterable[Any]) -> Path:
    path.write_text("\n".join(json.dumps(line) if not isinstance(line, str) else line for line in lines))
    return path
