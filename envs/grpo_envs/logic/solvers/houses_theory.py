"""What follows from clues about houses, decided by search within a bound: for the check of deductions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grpo_envs.logic.solvers.houses import Clue, Houses, Row, holds, houses_of, narrowed, negated, tables
from grpo_envs.logic.solvers.houses_words import Vocabulary

MAX_NODES = 300
"""Nodes of one search; beyond, a deduction counts as not checked."""


class HouseTheory:
    """A theory of `grpo_rewards.logic.deduction` whose claims are clues.

    Args:
        n: Houses.
        m: Attributes.
        clues: What is given, in the order of the numbers under which it is cited.
        vocabulary: Reads claims.
        solution: The arrangement that fits the clues: a witness that saves a search where it fits what is given.
    """

    def __init__(self, n: int, m: int, clues: Sequence[Clue], vocabulary: Vocabulary, solution: Sequence[int]) -> None:
        self.n, self.m = n, m
        self.premises: Mapping[str, Clue] = {str(number): clue for number, clue in enumerate(clues, 1)}
        self.vocabulary = vocabulary
        self.solution = solution

    def read(self, text: str) -> Clue | None:
        """Read one claim."""
        return self.vocabulary.claim(text)

    def negation(self, claim: Clue) -> Clue:
        """Return what is true exactly where the claim is false."""
        return negated(claim, self.n)

    def entails(self, given: Sequence[Clue], claim: Clue) -> bool | None:
        """Whether a claim is true in every arrangement that fits what is given; None where that stays open."""
        possible = self.consistent([*given, negated(claim, self.n)])
        return None if possible is None else not possible

    def consistent(self, given: Sequence[Clue]) -> bool | None:
        """Whether some arrangement fits what is given; None where that stays open."""
        if all(holds(clue, self.solution) for clue in given):
            return True
        self.left = MAX_NODES
        row = Row(self.n, self.m, given)
        return self._fits(row, list(row.start), [clue for clue in given if clue.kind != "in"])

    def _fits(self, row: Row, known: list[Houses], clues: Sequence[Clue]) -> bool | None:
        """Search until no clue can be broken any more: attributes are arranged independently of one another."""
        self.left -= 1
        if self.left < 0:
            return None
        if not row.propagate(known):
            return False
        breakable = next((clue for clue in clues if self._breakable(clue, known)), None)
        if breakable is None:
            return True
        value = max(breakable.values, key=lambda v: known[v].bit_count())
        result: bool | None = False
        for house in houses_of(known[value]):
            tried = list(known)
            tried[value] = 1 << house
            found = self._fits(row, tried, clues)
            if found:
                return True
            result = None if found is None else result
        return result

    def _breakable(self, clue: Clue, known: Sequence[Houses]) -> bool:
        """Whether values that are where they can be may break a clue."""
        opposite, places = negated(clue, self.n).kind, [known[value] for value in clue.values]
        if len(places) == 3:
            return bool(narrowed(opposite, self.n, *places)[0])
        return bool(places[0] & tables(opposite, self.n)[1][places[1]])
