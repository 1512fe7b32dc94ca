"""What is a tier? Effort, a weak solver's success, cost and variety of every task in every tier, as a page.

    python -m benchmarks.tiers                  # writes docs/tiers.md, within five minutes
    python -m benchmarks.tiers logic math.gcd   # prints families or tasks

Problems are drawn as a generator makes them, whatever their split, and each is timed by itself (CPU time).
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.weak_solver import WeakSolver, efforts
from grpo_gym import Problem, Procedural, Rng, Task, registered_ids
from grpo_gym.registration import tasks_of
from grpo_gym.sources import Key, labelled

PAGE = Path(__file__).resolve().parents[1] / "docs" / "tiers.md"

DRAWS, FEW_DRAWS = 400, 25
"""Problems of a tier; programs come with tests, which take longer to make."""
JUDGED = 150
"""Problems of a tier that the weak solver is tried on."""
ENOUGH_S = 6.0
"""CPU seconds after which a tier has been drawn often enough, if FEW_DRAWS are done."""

HEAD = """# Tiers

*Made by `python -m benchmarks.tiers`; the figures are those of one run, milliseconds are CPU time.*

Every task has the same scale, 0 to 5. A tier says how much work a problem is, and means the same in every family as far
as that is possible:

| tier | what it asks of somebody who can read and calculate |
|---|---|
| 0 | one idea, two or three steps, small numbers: a small model learns it within minutes |
| 1 | the same idea with more steps or larger numbers; most tasks' default, together with 0 |
| 2 | a second idea, or a case that the short way does not cover |
| 3 | ideas are combined: the order of the steps must be found |
| 4 | as much as the last problems of a textbook's chapter; intermediate results must be kept |
| 5 | long, with dead ends or exact intermediate results: hard for a model of some billion parameters |

`gym.make(id, tier=3)` asks for a tier, `tier=(0, 2)` for several; without it, an environment uses its default tiers,
**bold** in the tables. Programming tasks have the tiers that their rules fill. Tiers rise by two measures, and tests
hold every task to both:

* **effort**: the median of the task's own measure of work (search nodes, propagation steps, digit operations, symbols
  of the working, rules of a program). The unit is the task's: compare tiers of one task, not tasks.
* **weak**: how often a weak solver is right. Tasks marked † have one of their own: the first propagation only, a greedy
  choice, the first bound. For the others it is somebody who knows how and makes slips: each unit of effort goes right
  with the same chance, such that a typical problem of the lowest tier goes right every second time.

**ms** is the CPU time of making one problem (median, and the 95th percentile), **distinct** how many of the problems
drawn for this page differ. Problems of programming tasks come with tests, so that fewer are drawn.
"""


@dataclass(frozen=True)
class Figures:
    """What was found about one tier of a task.

    Attributes:
        tier: The tier.
        effort: Median effort.
        weak: Success of the weak solver, 0 to 1.
        median_ms: CPU milliseconds of making a problem.
        p95_ms: Their 95th percentile.
        distinct: Different problems.
        drawn: Among so many.
    """

    tier: int
    effort: float
    weak: float
    median_ms: float
    p95_ms: float
    distinct: int
    drawn: int


def drawn(task: Task, tier: int, draws: int) -> tuple[list[Problem], list[float]]:
    """Draw problems of a tier, and return them with the CPU seconds that each took."""
    source = task.source
    assert isinstance(source, Procedural), f"{task.name} has no generator"
    rng = Rng("tiers", task.name, tier)
    source.generate(rng, tier)  # whatever is loaded at first use is no problem's cost
    problems, seconds = list[Problem](), list[float]()
    while len(problems) < draws and (len(problems) < FEW_DRAWS or sum(seconds) < ENOUGH_S):
        began = time.process_time()
        problem = source.generate(rng, tier)
        seconds.append(time.process_time() - began)
        key = Key(task.full_name, task.version, tier, "train", 0, len(problems))
        problems.append(labelled(problem, key))
    return problems, seconds


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which a share of the values lies."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def measured(task: Task) -> list[Figures]:
    """Return the figures of a task, tier by tier."""
    solver: WeakSolver | None = None
    found = []
    for tier in task.tiers:
        problems, seconds = drawn(task, tier, FEW_DRAWS if task.name.startswith("code") else DRAWS)
        solver = solver or WeakSolver.of(task, problems)
        found.append(
            Figures(
                tier,
                statistics.median(efforts(task, problems)),
                solver.success(problems[:JUDGED]),
                1000 * statistics.median(seconds),
                1000 * percentile(seconds, 0.95),
                len({problem.content for problem in problems}),
                len(problems),
            )
        )
    return found


def meaning(task: Task) -> str:
    """Return the first line of a task's docstring: what it asks, and how tiers differ."""
    source: Any = task.source
    lines = (getattr(source.generate, "__doc__", None) or "").strip().splitlines()
    said = lines[0] if lines else "Not described."
    return f"{said} With a calculator." if task.name.startswith("math_tool.") else said


def row(task: Task, figures: Figures, first: bool) -> str:
    """Return a line of a family's table."""
    tier = f"**{figures.tier}**" if figures.tier in task.default_tiers else str(figures.tier)
    name = f"{task.name.partition('.')[2]}{'' if task.guess is None else ' †'}" if first else ""
    cells = (
        name,
        tier,
        f"{figures.effort:.4g}",
        f"{100 * figures.weak:.0f} %",
        f"{figures.median_ms:.2g}",
        f"{figures.p95_ms:.2g}",
        f"{figures.distinct} of {figures.drawn}",
    )
    return f"| {' | '.join(cells)} |"


def section(family: str, tasks: Iterable[Task]) -> str:
    """Return a family's part of the page: what the tasks ask, then the table of figures."""
    said, rows = [], []
    for task in tasks:
        print(task.name, file=sys.stderr, flush=True)
        said.append(f"* `{task.name}`: {meaning(task)}")
        rows += [row(task, figures, first=k == 0) for k, figures in enumerate(measured(task))]
    head = ["| task | tier | effort | weak | ms | p95 ms | distinct |", "|---|---|---:|---:|---:|---:|---:|"]
    return "\n".join([f"## {family}", *said, "", *head, *rows, ""])


def families(names: Sequence[str] = ()) -> dict[str, list[Task]]:
    """Return every task by family, each once; of the named families or tasks only, where there are names."""
    found: dict[str, dict[str, Task]] = {}
    for identifier in registered_ids():
        for task in tasks_of(identifier):
            family = task.name.partition(".")[0]
            if task.namespace == "grpo" and (not names or family in names or task.name in names):
                found.setdefault(family, {})[task.name] = task
    return {family: list(tasks.values()) for family, tasks in found.items()}


def main() -> None:
    """Write the page, or print the sections that the command line names."""
    names = sys.argv[1:]
    text = "\n".join([*([] if names else [HEAD]), *(section(*part) for part in families(names).items())])
    if names:
        print(text)
    else:
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
