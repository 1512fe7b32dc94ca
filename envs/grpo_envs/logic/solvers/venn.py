"""Categorical statements over the regions of a Venn diagram: all, no, some, some not.

A region is what belongs to some of the kinds and to no other one; a set of regions is a truth table over the kinds.
What "all" and "no" say empties regions. What "some" says puts something into one of several. So a conclusion of the
first sort follows when the premises empty all of its regions, and one of the second sort when for some premise all
regions that are left to it lie in the conclusion's. Both are complete: where that fails, a diagram shows it.

People find the same by chains: whoever is a poet is a baker, so not a cook.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from grpo_envs.logic.solvers.tables import columns, everything

Literal = tuple[int, bool]
"""A kind, and whether something belongs to it."""

Step = tuple[Literal, int]
"""A literal, and the number of the premise that it comes from; 0 for what is known already."""


class Statement(NamedTuple):
    """A categorical statement: "all", "no", "some" or "some not", the kind it is about, and the other kind."""

    quantity: str
    subject: int
    predicate: int

    def regions(self, n: int) -> int:
        """Return the regions that it says are empty (all, no), or of which one is not (some, some not)."""
        inside, other = columns(n)[self.subject], columns(n)[self.predicate]
        return inside & ~other if self.quantity in ("all", "some not") else inside & other

    @property
    def universal(self) -> bool:
        """Whether it says that something is not there."""
        return self.quantity in ("all", "no")

    @property
    def turned(self) -> Statement:
        """The statement with its kinds exchanged."""
        return Statement(self.quantity, self.predicate, self.subject)

    def says(self, other: Statement) -> bool:
        """Whether the other one is this one, or the same with its kinds exchanged where that changes nothing."""
        return other == self or (self.quantity in ("no", "some") and other == self.turned)


class Diagram:
    """What premises say of the regions.

    Attributes:
        empty: Regions that nothing is in.
        filled: For every premise that says that something is there: the regions where that may be.
    """

    def __init__(self, n: int, premises: Sequence[Statement]) -> None:
        self.n = n
        self.premises = premises
        self.empty = 0
        for premise in premises:
            if premise.universal:
                self.empty |= premise.regions(n)
        self.filled = [p.regions(n) & ~self.empty for p in premises if not p.universal]

    def possible(self) -> bool:
        """Whether the premises can be true together, and every kind can have members."""
        left = everything(self.n) & ~self.empty
        return all(self.filled) and all(left & column for column in columns(self.n))

    def entails(self, statement: Statement) -> bool:
        """Whether a conclusion is true in every diagram of the premises."""
        regions = statement.regions(self.n)
        if statement.universal:
            return not regions & ~self.empty
        return any(not filled & ~regions for filled in self.filled)

    def counterexample(self, statement: Statement) -> list[int]:
        """Return regions that make all premises true and the statement false when something is in them alone."""
        regions = statement.regions(self.n)
        if statement.universal:
            needed = [regions & ~self.empty, *self.filled]
        else:
            needed = [filled & ~regions for filled in self.filled]
        chosen = list[int]()
        for choice in needed:
            if not any(choice >> region & 1 for region in chosen):
                chosen.append((choice & -choice).bit_length() - 1)
        return chosen


class Chains:
    """What follows for something from what it belongs to, and by which premises.

    Args:
        premises: The premises; those that say that something is there are no links.
    """

    def __init__(self, premises: Sequence[Statement]) -> None:
        self.premises = premises
        self.links: dict[Literal, list[Step]] = {}
        for number, (quantity, subject, predicate) in enumerate(premises, 1):
            if quantity in ("all", "no"):
                holds = quantity == "all"
                self._link((subject, True), (predicate, holds), number)
                self._link((predicate, not holds), (subject, False), number)

    def path(self, beginning: Literal, end: Literal) -> list[Step] | None:
        """Return the shortest chain between two literals: each literal with the premise that gives it."""
        came: dict[Literal, tuple[Literal, int]] = {}
        waiting = [beginning]
        for here in waiting:
            if here == end:
                steps = list[Step]()
                while here != beginning:
                    before, number = came[here]
                    steps.append((here, number))
                    here = before
                return steps[::-1]
            for there, number in self.links.get(here, ()):
                if there != beginning and there not in came:
                    came[there] = here, number
                    waiting.append(there)
        return None

    def proof(self, statement: Statement) -> list[list[Step]] | None:
        """Return the chains of the shortest proof of a statement, None where nothing proves it.

        Where something has to be there, the first two steps stand alone: what a premise says of a witness. Each further
        chain begins with one of these.
        """
        wanted = [(statement.subject, True), (statement.predicate, statement.quantity in ("all", "some"))]
        if statement.universal:
            path = self.path(*wanted)
            return None if path is None else [path]
        found = list[list[list[Step]]]()
        for number, (quantity, subject, predicate) in enumerate(self.premises, 1):
            if quantity in ("some", "some not"):
                witness = [(subject, True), (predicate, quantity == "some")]
                chains = [[(literal, number)] for literal in witness]
                ends = [self._shortest(witness, literal) for literal in wanted]
                if all(end is not None for end in ends):
                    found.append([*chains, *(end for end in ends if end)])
        return min(found, key=length, default=None)

    def _shortest(self, witness: list[Literal], end: Literal) -> list[Step] | None:
        """Return the shortest chain from one of the literals of a witness, that literal in front without a premise."""
        chains = list[list[Step]]()
        for literal in witness:
            path = self.path(literal, end)
            if path is not None:
                chains.append([(literal, 0), *path] if path else [])
        return min(chains, key=len, default=None)

    def _link(self, beginning: Literal, end: Literal, number: int) -> None:
        self.links.setdefault(beginning, []).append((end, number))


def length(proof: list[list[Step]] | None) -> int:
    """Return how many premises a proof uses."""
    steps = {step for chain in proof or () for step in chain}
    return len({number for _, number in steps if number})
