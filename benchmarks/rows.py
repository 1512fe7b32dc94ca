"""What a benchmark gives back: rows of one table, ours and peers' alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

OURS = "grpo-gym"


@dataclass(frozen=True)
class Row:
    """One figure.

    Attributes:
        question: Which benchmark asked, e.g. "env_speed".
        subject: What was measured, e.g. an environment id.
        figure: Name of the figure, e.g. "episodes per second".
        value: The number.
        unit: Its unit.
        low: Lower end of the spread or interval, None when there is none.
        high: Upper end.
        who: "grpo-gym", or the peer's name and version.
        note: Whatever a reader must know to read the number right.
    """

    question: str
    subject: str
    figure: str
    value: float
    unit: str
    low: float | None = None
    high: float | None = None
    who: str = OURS
    note: str = ""


@dataclass
class Report:
    """All rows of one benchmark, and details that go into the JSON only."""

    rows: list[Row] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON."""
        return {"rows": [asdict(row) for row in self.rows], "details": self.details}


def cpu_rounds(work: Callable[[], int], rounds: int) -> list[float]:
    """Return CPU seconds per item of each round; `work` does a round and returns how many items it did."""
    figures = []
    for _ in range(rounds):
        began = time.process_time()
        items = work()
        figures.append((time.process_time() - began) / items)
    return figures


def median_and_range(values: Sequence[float]) -> tuple[float, float, float]:
    """Return median, minimum and maximum."""
    return statistics.median(values), min(values), max(values)
