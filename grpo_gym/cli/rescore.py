"""`grpo-gym rescore RUN`: a run's completions under another reward, or under its own after a change, without a model.

Reward code of one's own is named "module:attribute". What comes out is a table, and one line per completion in
RUN/rescored-NAME.jsonl; NAME is the reward's, "own" for the environment's.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.table import Table

from grpo_gym.cli.environments import find
from grpo_gym.cli.objects import load_reward
from grpo_gym.cli.options import parse
from grpo_gym.cli.terminal import grid, plain, terminal, warnings_on_stderr
from grpo_gym.errors import CheckpointError, InvalidValueError

OWN = "own"
SHOWN = 120
"""Characters of a text of the policy or the reward that are shown."""


@dataclass(frozen=True)
class Options:
    """Score the completions of a run again: by another reward, or by the environment's own as it is now."""

    run: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """A run folder."""
    reward: str = ""
    """module:attribute of a Reward, of what makes one, or of a function (response, problem) -> number."""
    step: tuple[int, ...] = ()
    """One step, or the first and the last; empty for all."""
    json: bool = False
    """The figures as JSON."""


def run(arguments: list[str]) -> int:
    """Score again, write every judgement into the run's folder, and show what changed."""
    options = parse(Options, "rescore", arguments)
    steps = _steps(options.step)
    from grpo_agents.comparison import compare
    from grpo_agents.files import plain as as_json
    from grpo_agents.files import write_text
    from grpo_agents.rescore import rescore
    from grpo_agents.run_log import RunLog

    log = RunLog(options.run)
    find(log.train_config().env)
    reward = load_reward(options.reward) if options.reward else None
    with warnings_on_stderr():
        rescoring = rescore(log, reward, steps)
    if reward is not None:
        reward.close()
    summary = {"run": options.run, "reward": options.reward or OWN, **compare(rescoring)}
    if not rescoring.rows:
        causes = "; ".join(f"{count:,} left out: {cause}" for cause, count in rescoring.left_out.items())
        none = "there are no completions" + (" of these steps" if steps else "")
        raise CheckpointError(f"nothing could be scored again in {options.run}: {causes or none}")
    path = Path(options.run) / f"rescored-{_file_name(options.reward)}.jsonl"
    lines = (json.dumps(as_json(row.to_json()), allow_nan=False) + "\n" for row in rescoring.rows)
    write_text(path, "".join(lines))
    if options.json:
        sys.stdout.write(json.dumps(as_json(summary), indent=2, allow_nan=False) + "\n")
    else:
        show(summary)
        terminal().print(plain("written to: ", "bold").append_text(plain(path)))
    return 0


def show(summary: Mapping[str, Any]) -> None:
    """Print the figures, what was left out, and the largest changes."""
    screen = terminal()
    screen.print(_means(summary), soft_wrap=False)
    if len(summary["parts"]) > 1 or any(part.get("weight") is not None for part in summary["parts"].values()):
        screen.print(_parts(summary["parts"]), soft_wrap=False)
    for cause, count in summary["left_out"].items():
        screen.print(plain(f"{count:,} left out: {cause}", "yellow"))
    for cause, count in summary["faults"].items():
        screen.print(plain(f"{count:,} times the scorer failed: {cause}", "yellow", limit=SHOWN))
    if summary["changes"]:
        screen.print(plain("largest changes", "bold"))
    for change in summary["changes"]:
        told = f"{change['completion_id']}  {change['old']:g} -> {change['new']:g}  {change['reason']}"
        screen.print(plain(f"{told}  {change['feedback']}".rstrip(), limit=SHOWN))
        screen.print(plain(f"    ...{' '.join(change['end'].split())}", "dim"))


def _means(summary: Mapping[str, Any]) -> Table:
    """Return the table of means: in all, by steps, by task."""
    title = f"{summary['completions']:,} completions scored again by {_reward_name(summary['reward'])}"
    columns = ("", "n", "old mean", "new mean", "up", "down", "not judged", "errors")
    table = grid(columns, numbers=range(1, len(columns)), title=plain(title).plain)
    labelled = {"all": summary["all"]}
    if len(summary["by_steps"]) > 1:
        labelled |= {f"steps {span}": figures for span, figures in summary["by_steps"].items()}
    if len(summary["by_task"]) > 1:
        labelled |= summary["by_task"]
    for label, figures in labelled.items():
        cells = (
            label,
            f"{figures['n']:,}",
            _number(figures["old"]),
            _number(figures["new"]),
            _moved(figures["up"], figures["up_by"]),
            _moved(figures["down"], figures["down_by"]),
            figures["abstained"],
            figures["errors"],
        )
        table.add_row(*map(plain, cells))
    return table


def _parts(parts: Mapping[str, Mapping[str, Any]]) -> Table:
    table = grid(("part", "old mean", "new mean", "weight", "seconds", "errors"), numbers=range(1, 6))
    for name, part in parts.items():
        seconds = part.get("seconds")
        cells = (
            name,
            _number(part["old"]),
            _number(part["new"]),
            "-" if part.get("weight") is None else f"{part['weight']:g}",
            "-" if seconds is None else f"{seconds:.2f}",
            part.get("errors", "-"),
        )
        table.add_row(*map(plain, cells))
    return table


def _number(mean: float | None) -> str:
    return "-" if mean is None else f"{mean:.3f}"


def _moved(count: int, by: float | None) -> str:
    """Return "12 (+0.50)": how many, and by how much on average."""
    return str(count) if by is None else f"{count:,} ({by:+.2f})"


def _reward_name(reward: str) -> str:
    return "the environment's own reward" if reward == OWN else reward


def _file_name(reward: str) -> str:
    return re.sub(r"[^\w.-]", "-", reward.replace(":", ".")) or OWN


def _steps(bounds: tuple[int, ...]) -> range | None:
    """Return the steps meant. Raises InvalidValueError."""
    if not bounds:
        return None
    if len(bounds) > 2 or bounds[0] > bounds[-1]:
        raise InvalidValueError(f"--step is {' '.join(map(str, bounds))}: give one step, or the first and the last")
    return range(bounds[0], bounds[-1] + 1)
