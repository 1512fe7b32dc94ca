"""Every benchmark: `python benchmarks/run_all.py`, or `--quick` for the form that takes a few minutes on 2 cores.

Prints one table, writes one JSON and one picture. Peers stand beside us in the same rows where a benchmark runs them.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import (
    controls,
    diagnosis,
    env_speed,
    judge,
    learning,
    logic_learning,
    logic_peers,
    multitask,
    picture,
    ppo_vs_grpo,
    scheduling,
    step,
    strata,
    turns,
    verifier,
)
from benchmarks.publish import machine
from benchmarks.rows import Report, Row

RESULTS = Path(__file__).resolve().parent / "results"

Benchmark = Callable[[bool], Report]

BENCHMARKS: dict[str, Benchmark] = {
    "env_speed": env_speed.run,
    "verifier": verifier.run,
    "judge": judge.run,
    "logic": logic_peers.run,
    "scheduling": scheduling.run,
    "diagnosis": diagnosis.run,
    "step": step.run,
    "learning": lambda quick: learning.run(quick, None if quick else RESULTS / "learning_runs.jsonl"),
    "logic_learning": lambda quick: logic_learning.run(quick, None if quick else RESULTS / "learning_runs.jsonl"),
    "strata": strata.run,
    "ppo_vs_grpo": ppo_vs_grpo.run,
    "multitask": multitask.run,
    "controls": controls.run,
    "turns": turns.run,
}
LONG = ("logic_learning", "strata", "ppo_vs_grpo", "multitask", "controls", "turns")
"""Not in the quick form unless they are named: together they would take more than its few minutes."""


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, seeds, problems: a few minutes")
    parser.add_argument("--only", action="append", choices=[*BENCHMARKS], help="may be given again")
    parser.add_argument("--json", type=Path, default=None, help="where the JSON goes (default: benchmarks/results/)")
    options = parser.parse_args()
    name = "quick" if options.quick else "full"
    target = options.json or RESULTS / f"{name}.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    usual = [question for question in BENCHMARKS if not (options.quick and question in LONG)]
    reports: dict[str, Report] = {}
    for question in options.only or usual:
        began = time.perf_counter()
        print(f"{question} ...", flush=True)
        reports[question] = BENCHMARKS[question](options.quick)
        print(f"{question}: {time.perf_counter() - began:.0f} s", flush=True)
    show([row for report in reports.values() for row in report.rows])
    record = {"machine": machine(), "quick": options.quick, **{q: r.to_json() for q, r in reports.items()}}
    target.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    drawn = picture.draw(reports, target.with_suffix(".png"))
    print(f"JSON: {target}" + (f"   picture: {drawn}" if drawn else ""))


def show(rows: list[Row]) -> None:
    """Print the table."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title="grpo-gym benchmarks")
    for column in ("question", "who", "subject", "figure", "value", "range or 95 % interval", "note"):
        table.add_column(column, justify="right" if column == "value" else "left", overflow="fold")
    for row in rows:
        spread = "" if row.low is None or row.high is None else f"{_number(row.low)} to {_number(row.high)}"
        value = f"{_number(row.value)} {row.unit}"
        table.add_row(row.question, row.who, row.subject, row.figure, value, spread, row.note)
    Console(width=None if sys.stdout.isatty() else 180).print(table)


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


if __name__ == "__main__":
    main()
