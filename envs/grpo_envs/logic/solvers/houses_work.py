"""Where everything is, worked out line by line, and only what the answer needs is written down.

A clue is read against what is known so far, and the line says where its values can still be ("From 3: ..."). That the
values of an attribute are in different houses settles others ("By elimination: ..."). Where no clue tells more,
something is supposed that the clues refute, if there is such a thing, else a value with the fewest houses left is
supposed to be in the first of them. Every finding remembers what it rests on, so that in the end those can be left out
on which nothing rests. The lines are in the language that `grpo_rewards.logic.deduction` checks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

from grpo_envs.logic.solvers.houses import Clue, Houses, Row, apart, houses_of, narrowed, tables

NOTHING = -1
"""What the knowledge rests on that a value is in some house."""


class Finding(NamedTuple):
    """Where a value can be, as found in a line of the working.

    Attributes:
        line: The line; NOTHING for what is used without mention.
        value: What it is about.
        houses: Where that can be.
        excluded: The house where it cannot be, when that is all that the line says; else NOTHING.
        rests_on: Numbers of earlier findings.
    """

    line: int
    value: int
    houses: Houses
    excluded: int
    rests_on: tuple[int, ...]


class Clash(NamedTuple):
    """A contradiction: how it is said, and the findings that it rests on."""

    said: str
    rests_on: tuple[int, ...]


class TooLongError(Exception):
    """The working needs more lines than it may have."""


class Elimination:
    """A search with its working.

    Args:
        n: Houses.
        m: Attributes.
        clues: What is given.
        most: Lines that the search may take; it raises TooLongError before it takes more.

    Attributes:
        known: Where each value can be; after `search` its one house.
    """

    def __init__(self, n: int, m: int, clues: Sequence[Clue], most: int) -> None:
        self.n, self.clues, self.most = n, clues, most
        self.row = Row(n, m, clues)
        self.known: list[Houses] = [(1 << n) - 1] * (n * m)
        self.rests: list[int] = [NOTHING] * (n * m)
        self.read_at: list[int] = [NOTHING] * len(clues)
        self.findings: list[Finding] = []
        self.heads: list[str] = []

    def search(self, changed: Iterable[int] = ()) -> Clash | None:
        """Look for the arrangement that fits, where something is new about the attributes `changed`.

        Returns:
            How what is known leads to a contradiction, if it does.
        """
        while True:
            clash = self.settle(changed) or self._read_all()
            if clash:
                return clash
            supposed = self._supposition()
            if supposed is None:
                return None
            value, house = supposed
            before = list(self.known), list(self.rests)
            self._find(value, 1 << house, (), self._line("Suppose "))
            changed = (value // self.n,)
            clash = self.search(changed)
            if clash is None:
                return None
            self.known, self.rests = before
            line, left = self._line(f"{clash.said}, so "), self.known[value] & ~(1 << house)
            self._find(value, left, (*clash.rests_on, self.rests[value]), line, house)

    def _read_all(self) -> Clash | None:
        """Read the clues in turn until none tells more; return how they lead to a contradiction, if they do."""
        count, number, silent = len(self.clues), 0, 0
        while silent < count:
            told = self.read(number)
            if told:
                clash = told if isinstance(told, Clash) else self.settle(told)
                if clash:
                    return clash
                silent = 0
            silent += 1
            number = (number + 1) % count
        return None

    def read(self, number: int) -> Clash | set[int] | None:
        """Read one clue, and note where its values can still be; return the attributes of which that tells more."""
        clue, since = self.clues[number], self.read_at[number]
        if all(self.rests[value] < since for value in clue.values):
            return None
        self.read_at[number] = len(self.findings)
        before = [self.known[value] for value in clue.values]
        after = self._under(clue, before)
        if after == before:
            return None
        rests = [self.rests[value] for value in clue.values]
        if not all(after):
            return Clash(f"From {number + 1}: contradiction", tuple(rests))
        line, told = self._line(f"From {number + 1}: "), set[int]()
        for place, (value, old, new) in enumerate(zip(clue.values, before, after, strict=True)):
            if new != old:
                self.read_at[number] += 1
                # what the value itself was known to be is used only where the clue alone would leave more
                alone = self._under(clue, [*before[:place], (1 << self.n) - 1, *before[place + 1 :]])[place]
                self._find(value, new, tuple(r for k, r in enumerate(rests) if k != place or new != alone), line)
                told.add(value // self.n)
        return told

    def settle(self, attributes: Iterable[int]) -> Clash | None:
        """Keep the values of each attribute in houses of their own, and say what that settles."""
        settled = list[tuple[int, Houses, tuple[int, ...]]]()
        for attribute in sorted(attributes):
            values = range(attribute * self.n, attribute * self.n + self.n)
            before = self.known[values.start : values.stop]
            after = apart(tuple(before))
            if after is None:
                return Clash("By elimination: contradiction", tuple(self.rests[value] for value in values))
            changed = [(v, new) for v, old, new in zip(values, before, after, strict=True) if new != old]
            for value, new, rests_on in [(v, new, self._behind(v, new, values)) for v, new in changed]:
                if new & (new - 1):
                    self._find(value, new, rests_on, NOTHING)
                else:
                    settled.append((value, new, rests_on))
        if settled:
            line = self._line("By elimination: ")
            for value, new, rests_on in settled:
                self._find(value, new, rests_on, line)
        return None

    def _behind(self, value: int, new: Houses, values: Iterable[int]) -> tuple[int, ...]:
        """Return the findings that keep a value out of the houses where its neighbours must be: few, if few suffice."""
        others = [v for v in values if v != value]
        taken = [v for v in others if not self.known[v] & (self.known[v] - 1)]
        free = self.known[value]
        for other in taken:
            free &= ~self.known[other]
        if free == new:
            return (self.rests[value], *(self.rests[v] for v in taken))
        if not new & (new - 1) and not any(self.known[v] & new for v in others):
            return tuple(self.rests[v] for v in others)
        return (self.rests[value], *(self.rests[v] for v in others))

    def _supposition(self) -> tuple[int, int] | None:
        """Return what to suppose: what the clues refute, if there is such a thing; None when all is settled."""
        still_open = [v for v, houses in enumerate(self.known) if houses & (houses - 1)]
        still_open.sort(key=lambda v: self.known[v].bit_count())
        for value in still_open:
            for house in houses_of(self.known[value]):
                tried = list(self.known)
                tried[value] = 1 << house
                if not self.row.propagate(tried):
                    return value, house
        return (still_open[0], next(houses_of(self.known[still_open[0]]))) if still_open else None

    def _under(self, clue: Clue, known: Sequence[Houses]) -> list[Houses]:
        """Return where the values of a clue can be, given where they could be before."""
        if clue.kind == "in":
            return [known[0] & clue.houses]
        if len(known) == 3:
            return list(narrowed(clue.kind, self.n, *known))
        forward, backward = tables(clue.kind, self.n)
        first = known[0] & backward[known[1]]
        return [first, known[1] & forward[first]]

    def _line(self, head: str) -> int:
        if len(self.heads) == self.most:
            raise TooLongError(f"more than {self.most} lines")
        self.heads.append(head)
        return len(self.heads) - 1

    def _find(self, value: int, houses: Houses, rests_on: tuple[int, ...], line: int, excluded: int = NOTHING) -> None:
        """Note where a value can be."""
        self.known[value], self.rests[value] = houses, len(self.findings)
        self.findings.append(Finding(line, value, houses, excluded, rests_on))

    def lines(self, words: Sequence[str]) -> list[str]:
        """Return the working in words, one for each value, without the findings on which the answer does not rest."""
        needed, waiting = set[int](), list(self.rests)
        while waiting:
            number = waiting.pop()
            if number != NOTHING and number not in needed:
                needed.add(number)
                waiting += self.findings[number].rests_on
        said: dict[int, list[str]] = {}
        for finding in (self.findings[number] for number in sorted(needed)):
            if finding.line != NOTHING:
                said.setdefault(finding.line, []).append(_said(finding, words))
        return [f"{self.heads[line]}{', '.join(said[line])}." for line in sorted(said)]


def _said(finding: Finding, words: Sequence[str]) -> str:
    word = words[finding.value]
    if finding.excluded != NOTHING:
        return f"{word} not in house {finding.excluded + 1}"
    return f"{word} in house {written(finding.houses)}"


@cache
def written(houses: Houses) -> str:
    """Write a set of houses as the working does: "1", "1/2/4"."""
    return "/".join(str(house + 1) for house in houses_of(houses))
