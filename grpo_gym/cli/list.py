"""`grpo-gym list [FILTER]`: the environments that are installed, with what they ask for."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from typing import Annotated, Any

import tyro

from grpo_gym.cli.options import parse
from grpo_gym.cli.terminal import grid, plain, terminal
from grpo_gym.errors import UnknownNameError
from grpo_gym.registration import mixed_by, registered_ids, tasks_of
from grpo_gym.task import Task


@dataclass(frozen=True)
class Options:
    """Show the environments: tiers (default ones in brackets), most turns, and what they ask."""

    filter: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="FILTER")] = ""
    """Only ids that contain this, in upper or lower case."""
    json: bool = False
    """As JSON."""


def run(arguments: list[str]) -> int:
    """Print the table."""
    options = parse(Options, "list", arguments)
    ids = registered_ids()
    chosen = [identifier for identifier in ids if options.filter.lower() in identifier.lower()]
    if not chosen:
        parts = {part for identifier in ids for part in re.split(r"[/.]|-v\d+", identifier) if part}
        raise UnknownNameError("filter", options.filter, parts)
    rows = [describe(identifier) for identifier in chosen]
    if options.json:
        sys.stdout.write(json.dumps(rows, indent=2) + "\n")
        return 0
    table = grid(("id", "tiers", "turns", "what it asks"), numbers=(2,))
    for row in rows:
        cells = (row["id"], _tiers(row["tiers"], row["default_tiers"]), row["turns"], row["description"])
        table.add_row(*map(plain, cells))
    terminal().print(table, soft_wrap=False)
    return 0


def describe(identifier: str) -> dict[str, Any]:
    """Return what the table says of one id; a family is described by its tasks."""
    tasks = tasks_of(identifier)
    alone = len(tasks) == 1
    mixed = mixed_by(identifier) or [_short(task) for task in tasks]
    return {
        "id": identifier,
        "tiers": sorted({tier for task in tasks for tier in task.tiers}),
        "default_tiers": sorted({tier for task in tasks for tier in task.default_tiers}),
        "turns": max(task.max_turns if task.dialogue is not None else 1 for task in tasks),
        "tasks": [task.name for task in tasks],
        "description": _first_line(tasks[0]) if alone else "mixture: " + ", ".join(mixed),
        "answer_format": tasks[0].answer_format if alone else "",
    }


def _first_line(task: Task) -> str:
    """Return the first line of the generator's docstring, else the answer format."""
    generate = getattr(task.source, "generate", None)
    lines = (generate.__doc__ or "").strip().splitlines() if generate is not None else []
    return lines[0] if lines else task.answer_format


def _short(task: Task) -> str:
    return task.name.rpartition(".")[2]


def _tiers(tiers: list[int], default: list[int]) -> str:
    """Return "0-5 (0-1)": all tiers, and the default ones when they are fewer."""
    return _span(tiers) if tiers == default else f"{_span(tiers)} ({_span(default)})"


def _span(tiers: list[int]) -> str:
    whole = tiers == list(range(tiers[0], tiers[-1] + 1))
    return str(tiers[0]) if len(tiers) == 1 else f"{tiers[0]}-{tiers[-1]}" if whole else ",".join(map(str, tiers))
