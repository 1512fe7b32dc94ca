"""What became of the single steps of a solution: counted, and the false ones named. Shared by maths and logic."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Soundness:
    """What became of the steps.

    Attributes:
        checked: How many were found and decided.
        unsound: Those that are false or do not follow, as written, in the order in which they stand.
    """

    checked: int
    unsound: tuple[str, ...] = ()

    @property
    def share(self) -> float:
        """The part of the steps that is sound; 1 when there are none."""
        return 1.0 - len(self.unsound) / self.checked if self.checked else 1.0
