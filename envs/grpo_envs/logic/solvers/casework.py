"""Who is a knight, worked out line by line: read every statement in turn, and where that stalls, suppose.

The first person who is still open is supposed to be a knight. A contradiction refutes that, and he or she is a knave;
a world that fits everything is the answer, because only one does. No line knows more than a reader does, so the
procedure can be learnt from its traces. The lines are in the language that `grpo_rewards.logic.deduction` checks.
"""

from __future__ import annotations

from collections.abc import Sequence


class Casework:
    """A search with its trace.

    Args:
        premises: For each statement the worlds that it leaves: its speaker is a knight exactly where it is true.
        masks: For each person the worlds in which he or she is a knight.
        names: The people.

    Attributes:
        lines: The trace so far.
        known: The worlds that are still open; after `search` the one that fits.
    """

    def __init__(self, premises: Sequence[int], masks: Sequence[int], names: Sequence[str]) -> None:
        self.premises = premises
        self.people = list(zip(names, masks, strict=True))
        self.lines: list[str] = []
        self.known = (1 << (1 << len(names))) - 1

    def search(self) -> int:
        """Look for the world that fits; return 0, or the number of a statement that clashes with what is known."""
        while True:
            clash = self._read_all()
            if clash or not self.known & (self.known - 1):
                return clash
            before, name = self.known, self.suppose()
            clash = self.search()
            if not clash:
                return 0
            self.lines.append(f"From {clash}: contradiction, so {name} is a knave.")
            self.known = before & ~self.mask_of(name)

    def suppose(self) -> str:
        """Suppose that the first person who is still open is a knight, and return the name."""
        name, mask = next((n, m) for n, m in self.people if self.known & m not in (0, self.known))
        self.lines.append(f"Suppose {name} is a knight.")
        self.known &= mask
        return name

    def read(self, number: int) -> bool:
        """Read one statement; whether it tells who somebody is. One that clashes with what is known tells nothing."""
        fits = self.known & self.premises[number - 1]
        told = []
        for name, mask in self.people if fits != self.known and fits else ():
            if self.known & mask in (0, self.known):
                continue
            if not fits & ~mask:
                told.append(f"{name} is a knight")
                self.known &= mask
            elif not fits & mask:
                told.append(f"{name} is a knave")
                self.known &= ~mask
        if told:
            self.lines.append(f"From {number}: {' and '.join(told)}.")
        return bool(told)

    def mask_of(self, name: str) -> int:
        """Return the worlds in which somebody is a knight."""
        return dict(self.people)[name]

    def _read_all(self) -> int:
        """Read the statements in turn until none tells more; return the number of one that clashes, or 0."""
        count, number, silent = len(self.premises), 0, 0
        while silent < count:
            if not self.known & self.premises[number]:
                return number + 1
            silent = 1 if self.read(number + 1) else silent + 1
            number = (number + 1) % count
        return 0
