"""`grpo-gym check ID`: can this reward be fooled? One line per question, exit code 1 when one fails."""

from __future__ import annotations

import json
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from grpo_gym.checks import Report, Status, check_reward
from grpo_gym.cli.options import Count, EnvArgs, key_values, parse
from grpo_gym.cli.terminal import grid, plain, terminal
from grpo_gym.errors import InvalidValueError
from grpo_gym.registration import registered_ids

STYLES = {Status.PASS: "green", Status.FAIL: "bold red", Status.SKIP: "dim"}


@dataclass(frozen=True)
class Options:
    """See whether a reward can be fooled, crashed or made to run code, and whether its problems are sound."""

    what: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="WHAT")]
    """Environment ids, ours or anyone's ("package:ns/Env-v0"); "module:function" for a reward of others (TRL, verl, or
    (response, reference) -> number); "module:attribute" for a Task; "reasoning_gym:NAME"; "all" for every id."""
    n: Count = 64
    """How many problems."""
    style: Literal["auto", "plain", "trl", "verl"] = "auto"
    """How a function of others is called; auto reads its signature."""
    cases: Path | None = None
    """Problems for such a function: JSON lines with prompt and reference; none: sums made here."""
    env_args: EnvArgs = ()
    """Keyword arguments of `gym.make` that decide about the tasks of an id: a mixture's envs."""
    failures: bool = False
    """Only the lines that failed."""
    json: bool = False
    """As JSON."""


def run(arguments: list[str]) -> int:
    """Check, print, and return 1 when a line failed."""
    options = parse(Options, "check", arguments)
    if not options.what:
        raise InvalidValueError("name what to check: an id of `grpo-gym list`, module:function, or all")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # leaves no process and no folder behind
    subjects = registered_ids() if options.what == ("all",) else list(options.what)
    args = key_values(options.env_args, "--env-args")
    reports = []
    for subject in subjects:
        report = check_reward(subject, options.n, style=options.style, cases=options.cases, args=args)
        reports.append(report)
        if not options.json:
            show(report, options.failures)
    if options.json:
        sys.stdout.write(json.dumps([report.to_json() for report in reports], indent=2) + "\n")
    return 0 if all(report.ok for report in reports) else 1


def show(report: Report, failures: bool = False) -> None:
    """Print a report as a table, with the advice under the lines that failed."""
    screen = terminal()
    screen.print(plain(f"{report.subject}: ", "bold").append_text(plain(report.summary, "" if report.ok else "red")))
    if report.note:
        screen.print(plain(report.note))
    table = grid(("", "line", "found"))
    for line in report.failed if failures else report.lines:
        style = STYLES[line.status]
        table.add_row(plain(line.status, style), plain(line.key, style), plain(line.found))
        if line.advice:
            table.add_row("", "", plain(f"-> {line.advice}", "yellow"))
    if table.row_count:
        screen.print(table, soft_wrap=False)
