"""Programming problems from data sets: `gym.make("grpo/Code-v0", dataset="humaneval", split="test")`.

    gym.make("grpo/Code-v0", dataset="mbpp")
    gym.make("grpo/Code-v0", dataset="sanitized-mbpp.json", preset="mbpp")
    gym.make("grpo/Code-v0", dataset="mine.jsonl", columns={"prompt": "question", "reference": "tests"})

A file of one's own has a column `prompt` and a column `tests`: a text of assert statements or a list of them, or an
object of the judge's formats (`{"fn_name", "inputs", "outputs"}`, `{"inputs", "outputs"}` for programs that read
standard input), also as JSON text. It may have `solution`, and what else a reference holds: `style`, `public`,
`given`, `entry_point`, `in_place`, `time_s`, `memory_mb`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from grpo_envs.code.draft import ANSWER_FORMAT, as_answer
from grpo_envs.datasets.code_presets import CodePreset, find, known_names, named
from grpo_envs.datasets.code_rows import CodeRows, unusable
from grpo_envs.datasets.options import Stamps, as_json, check_subset, located, stamps
from grpo_gym.data import Dataset, check_columns
from grpo_gym.data.tables import is_hub_id
from grpo_gym.errors import InvalidValueError, UnknownNameError
from grpo_gym.task import Task
from grpo_rewards.code.reward import CodeReward

__all__ = ["tasks"]

KEPT = 8
"""Data sets that stay in memory."""

REWARD = CodeReward()
"""Judges answers to the rows of data sets."""


def tasks(dataset: Any, columns: Any = None, preset: Any = None, subset: Any = None) -> list[Task]:
    """Return the task that a data set makes, as a list of one.

    Args:
        dataset: A short name ("humaneval", "mbpp"), a hub id, the path of a JSON, JSONL or parquet file, a list of
            rows, or a mapping from splits to paths or rows.
        columns: Problem field -> column, for a file of one's own whose columns are called otherwise: prompt, reference
            (the tests), solution, tier, meta.
        preset: The short name or hub id of the preset that reads a file.
        subset: The configuration of a hub data set, or several.

    Raises:
        DataError: A file that is not there.
        UnknownNameError: A preset, short name or problem field that does not exist; names the nearest.
        InvalidValueError: A value of another type, columns for a preset that knows its own, a subset of something that
            is no hub data set.
    """
    return [_made(as_json(dataset, columns, preset, subset), stamps(dataset, find))]


@lru_cache(maxsize=KEPT)
def _made(text: str, stamps: Stamps) -> Task:
    """Make the task of options as JSON."""
    options = json.loads(text)
    dataset, subset = options["dataset"], options["subset"]
    known = find(dataset) if isinstance(dataset, str) else None
    preset = known if options["preset"] is None else named(options["preset"])
    if known is not None:
        dataset, subset = known.hub, known.subset if subset is None else subset
    elif isinstance(dataset, str) and is_hub_id(dataset) and "/" not in dataset:
        raise UnknownNameError("data set", dataset, known_names())
    check_subset(subset, dataset)
    preset = _with_columns(preset, options["columns"])
    rows = CodeRows(preset)
    source = Dataset(located(dataset), rows.columns, transform=rows, subset=subset, check=unusable, only=preset.only)
    return Task(
        name=f"code.{preset.task}",
        source=source,
        reward=REWARD,
        answer_format=ANSWER_FORMAT,
        tiers=tuple(range(6)) if preset.tier else (0,),
        answer=as_answer,
    )


def _with_columns(preset: CodePreset | None, columns: Any) -> CodePreset:
    """Return the preset, or one made of a map of columns."""
    own = preset or CodePreset("dataset")
    if columns is None:
        return own
    if not isinstance(columns, Mapping):
        raise InvalidValueError(f"columns is {columns!r:.60}: map problem fields to columns, e.g. prompt to question")
    if own.form != "plain":
        raise InvalidValueError(f"the preset {own.names[0]!r} knows its columns: leave out columns, or the preset")
    check_columns(columns)
    meta = columns.get("meta", ())
    return replace(
        own,
        prompt=columns["prompt"],
        tests=columns["reference"],
        solution=columns.get("solution", "solution"),
        tier=columns.get("tier", ""),
        meta=(meta,) if isinstance(meta, str) else tuple(meta),
    )
