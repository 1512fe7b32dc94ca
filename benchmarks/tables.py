"""Tables of runs as text: who came where, what it cost, and after how many completions a score was reached.

A table has one line per arm. Figures are means over seeds with 95 % t intervals where an interval stands behind them.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.intervals import mean_interval
from benchmarks.paired import Comparison, completions_to, difference, ratio

Result = Mapping[str, Any]
Arms = Mapping[str, Sequence[Result]]
"""Results by arm, in the order of the page."""


@dataclass(frozen=True)
class Table:
    """A table of a page.

    Attributes:
        caption: Its heading.
        header: Names of the columns.
        rows: Texts, as many as columns in each.
        note: A paragraph below it, "" for none.
    """

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""

    def markdown(self) -> str:
        """Return it as Markdown, its heading included."""
        lines = [f"### {self.caption}", "", _line(self.header), _line("---" for _ in self.header)]
        lines += [_line(row) for row in self.rows]
        return "\n".join([*lines, "", *([self.note, ""] if self.note else [])])


@dataclass(frozen=True)
class Finding:
    """One comparison, and what of.

    Attributes:
        subject: Where it was measured, e.g. an environment; "" where there is one.
        figure: What is compared.
        comparison: The comparison; None where too few seeds could be compared.
        arms: Names of the two arms.
    """

    subject: str
    figure: str
    comparison: Comparison | None
    arms: tuple[str, str]

    def sentence(self) -> str:
        """Return it in words: the verdict first, then the figure with its interval and its seeds."""
        where = f" on {self.subject}" if self.subject else ""
        first, second = self.arms
        found = self.comparison
        if found is None:
            return f"**not compared**: {first} and {second} in {self.figure}{where}; fewer than two seeds have both"
        sign = "" if found.neutral else "+"
        kind = f"{first} over {second}" if found.neutral else f"{first} minus {second}"
        spread = f"{found.value:{sign}.3f} ({found.low:{sign}.3f} to {found.high:{sign}.3f})"
        left = f", {found.left_out} left out" if found.left_out else ""
        return f"**{found.verdict}** in {self.figure}{where}: {kind} {spread}, {found.seeds} seeds{left}"


def by_arm(results: Iterable[Result], arms: Iterable[str], **where: Any) -> dict[str, list[Result]]:
    """Return results by arm and in the order of their seeds, of those alone whose fields are as named."""
    chosen = [r for r in results if all(r[name] == value for name, value in where.items())]
    return {arm: sorted((r for r in chosen if r["arm"] == arm), key=lambda r: int(r["seed"])) for arm in arms}


def final(result: Result) -> float:
    """Return a run's last pass@1."""
    return float(result["after"]["pass@1"])


def per_seed(results: Sequence[Result], figure: Callable[[Result], Any] = final) -> dict[int, Any]:
    """Return a figure of each run by its seed."""
    return {int(result["seed"]): figure(result) for result in results}


def reached(result: Result, gain: float) -> float | None:
    """Return after how many completions a run first scored `gain` above its start; None if it never did."""
    start = float(result["before"]["pass@1"])
    curve = [(int(point["completions"]), float(point["pass@1"])) for point in result["curve"]]
    return completions_to(curve, start, start + gain)


def compared(
    arms: Arms, pairs: Iterable[tuple[str, str]], figure: str, of: Callable[[Result], float] = final, subject: str = ""
) -> list[Finding]:
    """Compare pairs of arms by the mean difference of a figure over seeds."""
    return [
        Finding(subject, figure, difference(a, b, per_seed(arms[a], of), per_seed(arms[b], of)), (a, b))
        for a, b in pairs
    ]


def compared_speed(arms: Arms, pairs: Iterable[tuple[str, str]], gain: float, subject: str = "") -> list[Finding]:
    """Compare pairs of arms by the ratio of completions that they needed for a gain; fewer are better."""
    times = {arm: per_seed(results, lambda result: reached(result, gain)) for arm, results in arms.items()}
    figure = f"completions until +{gain:g}"
    return [Finding(subject, figure, ratio(a, b, times[a], times[b]), (a, b)) for a, b in pairs]


def score_table(caption: str, arms: Arms, of: Callable[[Result], float] = final, figure: str = "last pass@1") -> Table:
    """Return start and end of every arm, the end of every seed by itself."""
    rows = []
    for arm, results in arms.items():
        start = statistics.fmean(float(result["before"]["pass@1"]) for result in results)
        values = list(per_seed(results, of).values())
        rows.append((arm, f"{start:.3f}", interval(values), " ".join(f"{value:.3f}" for value in values)))
    return Table(caption, ("arm", "first pass@1", figure, "every seed"), tuple(rows))


def cost_table(caption: str, arms: Arms) -> Table:
    """Return what the arms cost, and what went wrong in them."""
    header = "arm", "failed steps", "steps that moved nothing", "collapsed", "largest fall", "entropy at the end"
    costs = "s per step", "peak memory, MiB", "trained parameters"
    rows = []
    for arm, results in arms.items():
        steps = sum(int(result["steps_done"]) for result in results)
        middle = {name: statistics.median(float(r[name]) for r in results) for name in ("step_s", "peak_mb")}
        entropies = [float(result["entropy"]) for result in results if result["entropy"] is not None]
        rows.append(
            (
                arm,
                f"{sum(int(result['failed']) for result in results)} of {steps}",
                f"{sum(int(result['idle']) for result in results)} of {steps}",
                f"{sum(bool(result['collapsed']) for result in results)} of {len(results)}",
                f"{statistics.fmean(float(result['drawdown']) for result in results):.3f}",
                f"{statistics.fmean(entropies):.3f}" if entropies else "",
                f"{middle['step_s']:.2f}",
                f"{middle['peak_mb']:.0f}",
                " ".join(sorted({f"{int(result['parameters']):,}" for result in results})),
            )
        )
    return Table(caption, (*header, *costs), tuple(rows))


def speed_table(caption: str, arms: Arms, gain: float) -> Table:
    """Return after how many completions every seed first scored `gain` above its start."""
    rows = []
    for arm, results in arms.items():
        times = [reached(result, gain) for result in results]
        there = [time for time in times if time is not None]
        mean = f"{statistics.geometric_mean(there):,.0f}" if there else ""
        shown = " ".join("never" if time is None else f"{time:.0f}" for time in times)
        rows.append((arm, f"{len(there)} of {len(times)}", mean, shown))
    header = ("arm", f"seeds that reached +{gain:g}", "completions, geometric mean of those", "every seed")
    return Table(caption, header, tuple(rows))


def interval(values: Sequence[float]) -> str:
    """Return mean and 95 % t interval as text; the value alone where there is one."""
    if len(values) < 2:
        return f"{values[0]:.3f}"
    mean, low, high = mean_interval(values)
    return f"{mean:.3f} ({low:.3f} to {high:.3f})"


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"
