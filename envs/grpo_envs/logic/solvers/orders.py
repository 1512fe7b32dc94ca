"""Orders from clues: which orders are left, all n! of them at once, and the deductions that lead to the only one.

A set of orders is an integer whose bit r stands for the r-th permutation, so a clue costs one operation: what is left
of the 40,320 orders of eight is counted in microseconds. The deductions know nothing of that: they keep, for every
name, the places that are left, and suppose where nothing more follows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, reduce
from itertools import permutations
from math import factorial
from typing import NamedTuple

HOLDS: dict[str, Callable[..., bool]] = {
    "at": lambda k, a: a == k,
    "not at": lambda k, a: a != k,
    "before": lambda k, a, b: a < b,
    "after": lambda k, a, b: a > b,
    "ahead": lambda k, a, b: a + k == b,
    "behind": lambda k, a, b: a == b + k,
    "apart": lambda k, a, b: abs(a - b) == k,
    "not next": lambda k, a, b: abs(a - b) > 1,
    "between": lambda k, a, b, c: min(b, c) < a < max(b, c),
    "outside": lambda k, a, b, c: not min(b, c) < a < max(b, c),
    "before one": lambda k, a, b, c: a < max(b, c),
    "after one": lambda k, a, b, c: a > min(b, c),
}
"""Kind of clue -> whether it holds for the places of its names, counted from 1.

A clue about two names looks at the difference of their places only, one about three at their order only.
"""


class Clue(NamedTuple):
    """What is known: kind, indices of the names that it is about, and a number where the kind has one."""

    kind: str
    names: list[int]
    k: int = 0

    def holds(self, places: Sequence[int]) -> bool:
        """Whether the clue is true; `places` are those of all names, counted from 1."""
        return HOLDS[self.kind](self.k, *(places[name] for name in self.names))


@cache
def at(n: int) -> list[list[int]]:
    """Return which orders put name i in place p (from 0), by i and p; orders are numbered lexicographically."""
    if n == 1:
        return [[1]]
    below, block = at(n - 1), factorial(n - 1)
    table = [[0] * n for _ in range(n)]
    for first in range(n):
        rest = [name for name in range(n) if name != first]
        table[first][0] = ((1 << block) - 1) << (first * block)
        for index, name in enumerate(rest):
            for place in range(n - 1):
                table[name][place + 1] |= below[index][place] << (first * block)
    return table


def every(n: int) -> int:
    """Return the set of all orders."""
    return (1 << factorial(n)) - 1


def numbered(n: int, number: int) -> list[int]:
    """Return an order by its number: who comes first, second and so on."""
    rest, found = list(range(n)), list[int]()
    for size in range(n - 1, -1, -1):
        index, number = divmod(number, factorial(size))
        found.append(rest.pop(index))
    return found


@cache
def _apart(n: int, one: int, other: int, differences: tuple[int, ...]) -> int:
    """Return the orders in which `other` stands so many places behind `one`."""
    left = 0
    for place in range(n):
        behind = 0
        for difference in differences:
            if 0 <= place + difference < n:
                behind |= at(n)[other][place + difference]
        left |= at(n)[one][place] & behind
    return left


def orders(n: int, clue: Clue) -> int:
    """Return the set of orders of n names in which a clue holds."""
    holds, (kind, names, k) = HOLDS[clue.kind], clue
    left = 0
    if len(names) == 1:
        for place in range(n):
            if holds(k, place + 1):
                left |= at(n)[names[0]][place]
    elif len(names) == 2:
        left = _apart(n, *names, _differences(kind, k, n))
    else:
        ascending = tuple(range(1, n))
        for ranks in permutations(range(3)):
            if holds(k, *ranks):
                first, middle, last = (names[ranks.index(rank)] for rank in range(3))
                left |= _apart(n, first, middle, ascending) & _apart(n, middle, last, ascending)
    return left


@cache
def _differences(kind: str, k: int, n: int) -> tuple[int, ...]:
    return tuple(d for d in range(1 - n, n) if d and HOLDS[kind](k, 0, d))


@cache
def _rows(kind: str, k: int, n: int, size: int) -> list[tuple[int, ...]]:
    """Return the places that the names of a clue can have together, each place as the bit of its number."""
    places = permutations(range(1, n + 1), size)
    return [tuple(1 << place for place in row) for row in places if HOLDS[kind](k, *row)]


class _ContradictionError(Exception):
    """A name has no place left, or a place no name."""


class Deduction:
    """Finds the order from the clues as a person does, and writes down each step.

    Args:
        names: What is ordered.
        clues: What is known.
        longest: Characters of the steps after which it gives up.

    Attributes:
        left: The places that are left for every name, as the bits of their numbers from 1.
        lines: The steps.
    """

    def __init__(self, names: Sequence[str], clues: Sequence[Clue], longest: int = 100_000) -> None:
        self.names = names
        self.clues = clues
        self.longest = longest
        self.left = [(2 << len(names)) - 2] * len(names)
        self.lines: list[str] = []
        self._taken = [False] * len(names)
        self._seen: list[list[int]] = [[] for _ in clues]

    def solve(self) -> bool:
        """Leave one place for every name; False at a contradiction, or where that takes too long."""
        while self.propagate() and sum(map(len, self.lines)) <= self.longest:
            unsure = sorted((i for i, left in enumerate(self.left) if left & (left - 1)), key=self._width)
            if not unsure:
                return True
            if not self._refute(unsure, Deduction.propagate) and not self._refute(unsure[:1], Deduction.solve):
                return False  # more than one order is left, or it takes too long to find out
        return False

    def propagate(self) -> bool:
        """Draw what follows without suppositions; False at a contradiction."""
        try:
            while self._take() or self._fill() or self.look():
                pass
        except _ContradictionError:
            return False
        return True

    def look(self) -> bool:
        """Narrow places by the first clue that says more than is known; False when none does."""
        for number, clue in enumerate(self.clues):
            known = [self.left[name] for name in clue.names]
            if known == self._seen[number]:
                continue
            rows = _rows(clue.kind, clue.k, len(self.names), len(known))
            for index, left in enumerate(known):
                rows = [row for row in rows if row[index] & left]
            possible = [reduce(int.__or__, column, 0) for column in zip(*rows, strict=True)] or [0] * len(known)
            self._seen[number] = possible
            if possible != known:
                self._narrow(f"By {number + 1}", dict(zip(clue.names, possible, strict=True)))
                return True
        return False

    def _take(self) -> bool:
        """Take the place of a name that has only one from all others."""
        for name, place in enumerate(self.left):
            if place & (place - 1) == 0 and not self._taken[name]:
                self._taken[name] = True
                others = {i: left & ~place for i, left in enumerate(self.left) if i != name and left & place}
                if others:
                    self._narrow(self._places(name), others)
                    return True
        return False

    def _fill(self) -> bool:
        """Give a place that only one name can have to that name."""
        for place in range(1, len(self.names) + 1):
            able = [name for name, left in enumerate(self.left) if left >> place & 1]
            if not able:
                self.lines.append(f"Nobody can be {place}.")
                raise _ContradictionError
            if len(able) == 1 and self.left[able[0]] != 1 << place:
                self.left[able[0]] = 1 << place
                self.lines.append(f"Only {self.names[able[0]]} can be {place}.")
                return True
        return False

    def _refute(self, unsure: Sequence[int], method: Callable[[Deduction], bool]) -> bool:
        """Find a place that cannot be, by supposing it; False when the method refutes none."""
        for name in unsure:
            for place in range(1, len(self.names) + 1):
                if not self.left[name] >> place & 1:
                    continue
                trial = Deduction(self.names, self.clues)
                trial.left, trial._taken = list(self.left), list(self._taken)
                trial.left[name] = 1 << place
                if not method(trial):
                    self.lines.append(f"Suppose {self.names[name]} is {place}.")
                    self.lines.extend(" " + line for line in trial.lines)
                    self.left[name] &= ~(1 << place)
                    self.lines.append(f"So {self._places(name)}.")
                    return True
        return False

    def _narrow(self, reason: str, places: dict[int, int]) -> None:
        """Write down which places are left; raise at a contradiction."""
        changed = [name for name, left in places.items() if left != self.left[name]]
        for name in changed:
            self.left[name] = places[name]
            if not places[name]:
                self.lines.append(f"{reason}: no place is left for {self.names[name]}.")
                raise _ContradictionError
        self.lines.append(f"{reason}: {', '.join(map(self._places, changed))}.")

    def _places(self, name: int) -> str:
        left = self.left[name]
        places = [str(place) for place in range(1, len(self.names) + 1) if left >> place & 1]
        return f"{self.names[name]} {'is' if len(places) == 1 else 'in'} {' '.join(places)}"

    def _width(self, name: int) -> int:
        return self.left[name].bit_count()
