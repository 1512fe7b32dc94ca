"""One problem of a sample with what is known of it, and a hostile text with what came of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from grpo_gym.checks.child import Key, Record
from grpo_gym.checks.laboratory import Scored
from grpo_gym.checks.texts import nonsense

SHORT = 3
"""Characters of an answer that may stand in a prompt by chance."""

_LONG_NUMBER = re.compile(r"(?<![\d.])-?\d{4,}", re.ASCII)


@dataclass(frozen=True)
class Specimen:
    """One problem of the sample.

    Attributes:
        key: Where it is found.
        problem: The problem as JSON.
        right: An answer that should earn the maximum; None when none is known.
        final: The reference as a final answer in the asked format; None when that cannot be written.
        text: What a reset shows.
        info: A reset's info.
        cpu: CPU seconds that making it took.
        touched: Files and addresses that making it touched.
    """

    key: Key
    problem: Record
    right: str | None
    final: str | None
    text: str
    info: dict[str, Any]
    cpu: float
    touched: list[str]

    @property
    def reference(self) -> Any:
        """What decides whether an answer is right."""
        return self.problem["reference"]

    @property
    def answers(self) -> list[str]:
        """The worked solution and the final answer, once each."""
        return [text for text in dict.fromkeys((self.right, self.final)) if text is not None]

    @property
    def told(self) -> bool:
        """Whether the first message holds the answer, where that can be decided: as asked for, or as a long number."""
        reference = str(self.reference)
        formatted = self.final is not None and self.final.strip() != reference.strip()
        if self.final is not None and formatted and len(self.final) > SHORT and self.final in self.text:
            return True
        return _LONG_NUMBER.fullmatch(reference) is not None and reference in _LONG_NUMBER.findall(self.text)

    def emptied(self, text: str) -> str:
        """Return a text of the same shape that says nothing."""
        right = str(self.reference)
        return nonsense(text, right, (self.final or "").replace(right, ""))


@dataclass(frozen=True)
class Others:
    """What a subject says of a problem beside the reference: "equivalents", "solutions", "probes"."""

    record: Record

    def told(self, kind: str) -> list[Any] | None:
        """Return what it says, None for nothing."""
        told: list[Any] | None = self.record.get(kind, {}).get("told")
        return told

    def error(self, kind: str) -> str:
        """Return how it failed to, "" when it did not."""
        return str(self.record.get("fate") or self.record[kind]["error"])


@dataclass(frozen=True)
class Hostile:
    """A text that deserves nothing, and what came of it."""

    name: str
    specimen: Specimen
    text: str
    scored: Scored


def specimens(keys: Sequence[Key], made: Sequence[Record]) -> list[Specimen]:
    """Return the problems that could be made, of the child's replies to `make`."""
    fields = ("problem", "right", "final", "text", "info", "cpu", "touched")
    return [
        Specimen(key, *(record[name] for name in fields))
        for key, record in zip(keys, made, strict=True)
        if "problem" in record and not record.get("error")
    ]
