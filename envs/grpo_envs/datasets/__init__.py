"""Maths problems from data sets: `gym.make("grpo/Math-v0", dataset="openai/gsm8k", split="test")`.

    gym.make("grpo/Math-v0", dataset="math-500", split="test")
    gym.make("grpo/Math-v0", dataset={"train": "a.jsonl", "test": "b.jsonl"}, preset="gsm8k")
    gym.make("grpo/Math-v0", dataset="mine.jsonl", columns={"prompt": "question", "reference": "answer"})

All of it is JSON, so that an environment's spec and a run's config can hold it. Well-known data sets are in a table
(`presets.py`), others name their columns. Files are looked for at once; they are read, and the hub is asked, when the
first problem is drawn. One process reads a data set once, whatever the number of its environments.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from grpo_envs.boxed import boxed
from grpo_envs.datasets.options import Stamps, as_json, check_subset, located, stamps
from grpo_envs.datasets.presets import Preset, find, known_names, named
from grpo_envs.datasets.rows import REWARD, Rows, unusable
from grpo_envs.math.style import ANSWER_FORMAT
from grpo_gym.data import Dataset, check_columns
from grpo_gym.data.tables import is_hub_id
from grpo_gym.errors import InvalidValueError, UnknownNameError
from grpo_gym.task import Task

__all__ = ["tasks"]

KEPT = 8
"""Data sets that stay in memory."""


def tasks(dataset: Any, columns: Any = None, preset: Any = None, subset: Any = None) -> list[Task]:
    """Return the task that a data set makes, as a list of one.

    Args:
        dataset: A short name ("gsm8k"), a hub id, the path of a JSON, JSONL or parquet file, a list of rows, or a
            mapping from splits to paths or rows.
        columns: Problem field -> column, for a data set that is none of the presets or whose columns are called
            otherwise; `meta` may name several.
        preset: The short name or hub id of the preset that reads a file.
        subset: The configuration of a hub data set, or several.

    Raises:
        DataError: A file that is not there.
        UnknownNameError: A preset, short name or problem field that does not exist; names the nearest.
        InvalidValueError: A value of another type, a subset of something that is no hub data set.
    """
    return [_made(as_json(dataset, columns, preset, subset), stamps(dataset, find))]


@lru_cache(maxsize=KEPT)
def _made(text: str, stamps: Stamps) -> Task:
    """Make the task of options as JSON; the stamps are those of its files, so that a changed file is read again."""
    options = json.loads(text)
    dataset, subset = options["dataset"], options["subset"]
    known = find(dataset) if isinstance(dataset, str) else None
    preset = known if options["preset"] is None else named(options["preset"])
    if known is not None:
        dataset, own = _on_hub(dataset, known)
        subset = own if subset is None else subset
    elif isinstance(dataset, str) and is_hub_id(dataset) and "/" not in dataset:
        raise UnknownNameError("data set", dataset, known_names())
    check_subset(subset, dataset)
    dataset = located(dataset)
    preset = _with_columns(preset, options["columns"])
    rows = Rows(preset)
    source = Dataset(dataset, rows.columns, transform=rows, subset=subset, check=unusable, only=preset.only)
    return Task(
        name=f"math.{preset.task}",
        source=source,
        reward=REWARD,
        answer_format=ANSWER_FORMAT,
        tiers=preset.tiers,
        answer=boxed,
    )


def _on_hub(name: str, preset: Preset) -> tuple[str, list[str] | None]:
    """Return the hub id that a short name or id of a preset stands for, and the subsets to be read."""
    identifier = next((hub for hub in preset.hubs if hub.lower() == name.lower()), next(iter(preset.hubs)))
    return identifier, list(preset.hubs[identifier]) or None


def _with_columns(preset: Preset | None, columns: Any) -> Preset:
    """Return the preset with a map's columns in place of its own; without one, the map is all there is."""
    if columns is None:
        return preset or Preset("dataset", prompt=("prompt",), reference=(("reference", "text"),))
    if not isinstance(columns, Mapping):
        raise InvalidValueError(f"columns is {columns!r:.60}: map problem fields to columns, e.g. prompt to question")
    check_columns(columns, () if preset else ("prompt", "reference"))
    changed: dict[str, Any] = {f: (columns[f],) for f in ("prompt", "solution", "tier") if f in columns}
    if preset is None:
        preset = Preset("dataset", tiers=tuple(range(6)) if "tier" in columns else (0,))
    if "reference" in columns:
        changed["reference"] = ((columns["reference"], preset.reference[0][1]),)
    if "meta" in columns:
        names = [columns["meta"]] if isinstance(columns["meta"], str) else columns["meta"]
        changed["meta"] = {**preset.meta, **{name: (name,) for name in names}}
    return replace(preset, **changed)
