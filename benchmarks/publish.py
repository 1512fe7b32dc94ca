"""A benchmark as a page: does the runs that are missing, writes docs/benchmarks/<name>.md and its picture.

    python -m benchmarks.strata            # and .ppo_vs_grpo, .multitask, .controls, .turns
    python -m benchmarks.strata --quick    # two seeds of a few steps, printed, nothing written

Finished runs stand in docs/benchmarks/<name>.jsonl, one a line, and are not repeated: killed at any time, the same
command goes on. From the same runs come the same page and picture, byte for byte.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.arms import Run, do_runs
from benchmarks.picture import Panel, draw_points
from benchmarks.rows import Report, Row
from benchmarks.tables import Finding, Result, Table

PAGES = Path(__file__).resolve().parents[1] / "docs" / "benchmarks"
SEEDS, QUICK_SEEDS = 8, 2
QUICK_STEPS, QUICK_PROBLEMS = 4, 64

HOW = (
    "All arms of a seed start from the same weights, see the same training problems and are scored on the same test "
    "problems with the same random numbers; so they are compared seed by seed. Scores are pass@1, sampled at "
    "temperature 1.",
    "Intervals hold 95 % by Student's t over seeds. A comparison whose interval holds zero (for a ratio: one) is "
    "called no difference. Each interval stands by itself: of twenty true zeros, one is expected to look like more.",
    "Completions until a score lie on a straight line between two scores. Their ratio is taken on the log scale, over "
    "the seeds at which both arms got there; how many did not stands in the table.",
    "A failed step is one whose optimiser step was due and not taken. A run has collapsed when its last score is below "
    "half of its first. The largest fall is that of its scores on the test problems. Memory is the highest resident "
    "size of the process above its size with everything imported. Entropy is that of a sampled token in nats, "
    "over the last three steps.",
)
"""How every one of these benchmarks measures."""


@dataclass(frozen=True)
class Page:
    """What a benchmark has to say.

    Attributes:
        title: Heading.
        asked: The question, a paragraph.
        did: What was done, paragraphs of its own beside `HOW`.
        findings: Its comparisons, in the order of the page.
        tables: Its tables.
        panels: What its picture shows.
        rows: Figures for the table of `run_all.py`, beside the findings.
    """

    title: str
    asked: str
    did: tuple[str, ...]
    findings: tuple[Finding, ...]
    tables: tuple[Table, ...]
    panels: tuple[Panel, ...]
    rows: tuple[Row, ...] = ()


@dataclass(frozen=True)
class Study:
    """A benchmark that is published.

    Attributes:
        name: Of its module and its files.
        runs: Returns what is to be run; told whether in the quick form. May take its time to make a warm start.
        page: Makes the page of the results, in the order of the runs; told the same.
        details: What else goes into the JSON of `run_all.py`.
    """

    name: str
    runs: Callable[[bool], Sequence[Run]]
    page: Callable[[Sequence[Result], bool], Page]
    details: Mapping[str, Any] = field(default_factory=dict)


def publish(study: Study, quick: bool = False, folder: Path = PAGES) -> Report:
    """Do the runs of a study that are missing; write its page and picture unless in the quick form.

    Args:
        study: What is asked.
        quick: Two seeds of a few steps; nothing is kept and nothing written.
        folder: Where page, picture and runs are.
    """
    keep = None if quick else folder / f"{study.name}.jsonl"
    results = do_runs(study.runs(quick), keep, say=not quick)
    page = study.page(results, quick)
    if not quick:
        folder.mkdir(parents=True, exist_ok=True)
        draw_points(page.panels, folder / f"{study.name}.svg")
        (folder / f"{study.name}.md").write_text(text_of(study.name, page), encoding="utf-8")
    return Report([*rows_of(study.name, page.findings), *page.rows], {**study.details, "runs": list(results)})


def text_of(name: str, page: Page) -> str:
    """Return a page as Markdown."""
    lines = [f"# {page.title}", "", page.asked, "", "## What was found", ""]
    lines += [f"* {finding.sentence()}." for finding in page.findings]
    lines += ["", f"![{page.title}]({name}.svg)", "", "*Every seed: where it began (open) and where it ended (full).*"]
    lines += ["", "## How it was measured", "", f"One command: `python -m benchmarks.{name}`. It goes on from the runs"]
    lines += [f"in [{name}.jsonl]({name}.jsonl) and writes this page. Made on {machine_line()}.", ""]
    for paragraph in (*page.did, *HOW):
        lines += [paragraph, ""]
    lines += ["## Figures", ""]
    return "\n".join([*lines, *(table.markdown() for table in page.tables)]).rstrip() + "\n"


def rows_of(question: str, findings: Sequence[Finding]) -> list[Row]:
    """Return comparisons as rows of the one table; those that could not be made are left out."""
    rows = []
    for finding in findings:
        found = finding.comparison
        if found is None:
            continue
        first, second = finding.arms
        word, unit = (" / ", "ratio") if found.neutral else (" - ", "share")
        subject = f"{finding.subject} {first}{word}{second}".strip()
        note = f"{found.verdict}; {found.seeds} seeds, paired"
        rows.append(Row(question, subject, finding.figure, found.value, unit, found.low, found.high, note=note))
    return rows


def machine() -> dict[str, object]:
    """Return what figures are measured on; nothing that names the machine itself."""
    return {
        "cores": os.cpu_count(),
        "architecture": platform.machine(),
        "python": platform.python_version(),
        "torch": version("torch"),
        "numpy": version("numpy"),
        "date": time.strftime("%Y-%m-%d"),
    }


def machine_line() -> str:
    """Return the machine in a few words, without a date: the same runs give the same page."""
    found = machine()
    return (
        f"{found['cores']} cores ({found['architecture']}), one per run, Python {found['python']}, "
        f"torch {found['torch']}, numpy {found['numpy']}"
    )


def main(study: Study) -> None:
    """Run a study from the command line."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{study.name}")
    parser.add_argument("--quick", action="store_true", help="two seeds of a few steps; prints, writes nothing")
    options = parser.parse_args()
    began = time.perf_counter()
    report = publish(study, options.quick)
    for row in report.rows:
        spread = "" if row.low is None or row.high is None else f" ({row.low:.3f} to {row.high:.3f})"
        print(f"{row.subject}: {row.figure} {row.value:.3f}{spread} {row.note}")
    print(f"{time.perf_counter() - began:.0f} s" + ("" if options.quick else f"; docs/benchmarks/{study.name}.md"))


def counted(results: Sequence[Result]) -> str:
    """Return how many runs there were and what they took, as a sentence."""
    seconds = sum(float(result["seconds"]) for result in results)
    completions = sorted({int(result["completions"]) for result in results})
    each = f"{completions[0]:,}" if len(completions) == 1 else f"{completions[0]:,} to {completions[-1]:,}"
    return f"{len(results)} runs of {each} completions, {seconds / 60:.0f} minutes of training in all."
