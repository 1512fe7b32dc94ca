"""What a check found: one line per question, each with a figure, and for a failure with what to do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from grpo_gym.printing import visible


class Status(StrEnum):
    """How a line ended."""

    PASS = "pass"
    FAIL = "fail"
    SKIP = "skip"


@dataclass(frozen=True)
class Line:
    """One question and its answer.

    Attributes:
        key: Name of the question, e.g. "constant answer"; a task's `floors` are declared under it.
        status: pass, fail, or skip where the question does not arise.
        found: What was measured, or why it was skipped.
        advice: What to do about a failure; "" otherwise.
    """

    key: str
    status: Status
    found: str
    advice: str = ""


@dataclass(frozen=True)
class Report:
    """All lines about one subject.

    Attributes:
        subject: What was checked.
        lines: The answers, in the order of the questions.
        seconds: Wall time of the check.
        note: How the subject was read and confined, for people; "" when there is nothing to say.
    """

    subject: str
    lines: tuple[Line, ...]
    seconds: float
    note: str = ""

    @property
    def ok(self) -> bool:
        """Whether no line failed."""
        return not self.failed

    @property
    def failed(self) -> tuple[Line, ...]:
        """The lines that failed."""
        return tuple(line for line in self.lines if line.status is Status.FAIL)

    def line(self, key: str) -> Line:
        """Return a line by its key. Raises KeyError."""
        for line in self.lines:
            if line.key == key:
                return line
        raise KeyError(key)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object."""
        return {
            "subject": self.subject,
            "ok": self.ok,
            "seconds": round(self.seconds, 2),
            "note": self.note,
            "lines": [
                {"key": line.key, "status": str(line.status), "found": line.found, "advice": line.advice}
                for line in self.lines
            ],
        }

    def __str__(self) -> str:
        width = max((len(line.key) for line in self.lines), default=0)
        rows = [f"{self.subject}: {self.summary}"]
        for line in self.lines:
            rows.append(f"  {line.status:<4}  {line.key:<{width}}  {line.found}")
            if line.advice:
                rows.append(f"        {'':<{width}}  -> {line.advice}")
        return "\n".join(visible(row) for row in rows)

    @property
    def summary(self) -> str:
        """One sentence: how many lines passed, failed and were skipped."""
        counts = {status: sum(line.status is status for line in self.lines) for status in Status}
        return (
            f"{counts[Status.PASS]} passed, {counts[Status.FAIL]} failed, {counts[Status.SKIP]} skipped "
            f"in {self.seconds:.1f} s"
        )
