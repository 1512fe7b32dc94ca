"""Pictures of results: one of all benchmarks, and one of points for each benchmark that has a page.

A page's picture is an SVG without date or random ids, so that the same runs give the same file.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.rows import Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Panel:
    """One part of a picture: arms side by side, a point per run and a bar at their mean.

    Attributes:
        title: What is shown.
        ends: Values of each arm, in order.
        starts: What they began at, as open points; empty for none.
        share: Whether values are shares, drawn from 0 to 1.
    """

    title: str
    ends: Mapping[str, Sequence[float]]
    starts: Mapping[str, Sequence[float]] = field(default_factory=dict)
    share: bool = True


def draw_points(panels: Sequence[Panel], path: Path) -> None:
    """Write an SVG with the panels side by side."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    with matplotlib.rc_context({"svg.hashsalt": "grpo-gym", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(4.2 * len(panels), 3.6), layout="constrained")
        for panel, axis in zip(panels, figure.subplots(1, len(panels), squeeze=False)[0], strict=True):
            _points(panel, axis)
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})


def _points(panel: Panel, axis: Axes) -> None:
    for place, (arm, values) in enumerate(panel.ends.items()):
        if started := panel.starts.get(arm):
            axis.plot([place - 0.15] * len(started), started, "o", mfc="none", color="0.6", ms=4)
        axis.plot([place + 0.15] * len(values), values, "o", color="C0", ms=4, alpha=0.7)
        axis.plot([place, place + 0.3], [statistics.fmean(values)] * 2, color="C3")
    axis.set_title(panel.title, fontsize=9)
    axis.set_xticks(range(len(panel.ends)), list(panel.ends), rotation=20, ha="right")
    axis.set_xlim(-0.5, len(panel.ends) - 0.5)
    if panel.share:
        axis.set_ylim(0, 1)
    else:
        axis.set_ylim(bottom=0)


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
