"""One picture of the results: episodes per second, where a step goes, and what every learning run came to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.rows import Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw(reports: dict[str, Report], path: Path) -> Path | None:
    """Write a PNG with one panel per benchmark that ran; returns its path."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    panels = {"env_speed": _speed, "step": _step, "learning": _learning}
    chosen = [question for question in panels if question in reports]
    if not chosen:
        return None
    figure = Figure(figsize=(6 * len(chosen), 5), layout="constrained")
    axes = figure.subplots(1, len(chosen), squeeze=False)[0]
    for question, axis in zip(chosen, axes, strict=True):
        panels[question](reports[question], axis)
    figure.savefig(path, dpi=110, format="png")
    return path


def _speed(report: Report, axis: Axes) -> None:
    rows = [row for row in report.rows if row.figure == "episodes/s, wrong answers"]
    axis.barh([row.subject for row in rows], [row.value for row in rows], color="C0")
    axis.set(title="episodes per CPU second, wrong answers", xscale="log")


def _step(report: Report, axis: Axes) -> None:
    rows = [row for row in report.rows if row.unit == "CPU s"]
    axis.bar([row.figure for row in rows], [row.value for row in rows], color="C1")
    axis.set(title="one training step, CPU seconds")


def _learning(report: Report, axis: Axes) -> None:
    arms = list(dict.fromkeys(run["arm"] for run in report.details["runs"]))
    for place, arm in enumerate(arms):
        finals = [run["after"]["pass@1"] for run in report.details["runs"] if run["arm"] == arm]
        starts = [run["before"]["pass@1"] for run in report.details["runs"] if run["arm"] == arm]
        axis.plot([place] * len(starts), starts, "o", mfc="none", color="0.5")
        axis.plot([place] * len(finals), finals, "o", color="C0")
    axis.set(title="test pass@1 of every run: start (open), end (full)", ylim=(0, 1))
    axis.set_xticks(range(len(arms)), arms)
