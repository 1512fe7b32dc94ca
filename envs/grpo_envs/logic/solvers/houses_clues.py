"""Draws clues about houses that are true, and takes as few as leave one arrangement: fewer by one leave two.

A clue is worth what it rules out. The nearest wrong arrangements, the true one with two values of an attribute
exchanged, are ruled out first, by counting; what is left is found by search, one arrangement and one clue at a time.
Every arrangement seen is kept: a clue that alone rules one out is needed, and only the others are tried by search.
"""

from __future__ import annotations

from collections.abc import Sequence

from grpo_envs.logic.solvers.houses import Clue, Row, holds, negated
from grpo_gym.rng import Rng

Weights = dict[str, int]
"""How often each kind of clue is drawn."""


class ClueDraw:
    """Draws true clues.

    Args:
        rng: Randomness.
        n: Houses.
        m: Attributes.
        places: The house of each value, counted from 0.
        weights: How often each kind is drawn.
    """

    def __init__(self, rng: Rng, n: int, m: int, places: Sequence[int], weights: Weights) -> None:
        self.rng, self.n, self.m = rng, n, m
        self.places = places
        self.kinds = tuple(weights)
        self.weights = tuple(weights.values())
        self.value_at = [[0] * n for _ in range(m)]
        for value, house in enumerate(places):
            self.value_at[value // n][house] = value

    def draw(self) -> Clue:
        """Draw a clue that is true."""
        kind = self.kinds[self.rng.weighted(self.weights)]
        if kind in ("at", "or", "out"):
            return self._place(kind)
        houses = self._houses(kind)
        if kind in ("is", "not", "either"):
            attributes = self.rng.sample(range(self.m), 2)
        else:
            attributes = [self.rng.below(self.m) for _ in houses]
        values = [self.value_at[a][h] for a, h in zip(attributes, houses, strict=False)]
        if kind == "either":
            others = [self.value_at[attributes[1]][h] for h in houses[1:]]
            self.rng.shuffle(others)
            values[1:] = others
        return Clue(kind, tuple(values))

    def _place(self, kind: str) -> Clue:
        value = self.rng.below(self.n * self.m)
        house = self.places[value]
        other = (house + self.rng.integer(1, self.n - 1)) % self.n
        houses = {"at": 1 << house, "or": 1 << house | 1 << other, "out": ((1 << self.n) - 1) ^ 1 << other}[kind]
        return Clue("in", (value,), houses)

    def _houses(self, kind: str) -> list[int]:
        """Draw houses that are related as the kind of clue says."""
        n, rng = self.n, self.rng
        first = rng.below(n)
        if kind == "is":
            return [first, first]
        other = (first + rng.integer(1, n - 1)) % n
        if kind == "not":
            return [first, other]
        if kind == "either":
            return [first, first, other]
        if kind == "before":
            return sorted((first, other))
        if kind == "between":
            one, middle, two = sorted(rng.sample(range(n), 3))
            return [middle, one, two] if rng.chance(1, 2) else [middle, two, one]
        distance = 2 if kind == "apart" else 1
        left = rng.below(n - distance)
        return [left, left + distance] if kind == "left" or rng.chance(1, 2) else [left + distance, left]


def exchanges(clue: Clue, places: list[int], value_at: Sequence[Sequence[int]], n: int) -> int:
    """Return which exchanges of two values of an attribute the clue rules out, as bits."""
    found = 0
    for value in clue.values:
        house, row = places[value], value_at[value // n]
        for other in range(n):
            if other == house:
                continue
            partner = row[other]
            places[value], places[partner] = other, house
            if not holds(clue, places):
                found |= 1 << (value // n * n + min(house, other)) * n + max(house, other)
            places[value], places[partner] = house, other
    return found


def minimal_clues(rng: Rng, n: int, m: int, places: list[int], weights: Weights) -> list[Clue]:
    """Return clues that only `places` fulfils, and none of which can be left out."""
    source = ClueDraw(rng, n, m, places, weights)
    every = sum(1 << (a * n + h) * n + g for a in range(m) for h in range(n) for g in range(h + 1, n))
    clues, ruled_out, covered = list[Clue](), list[int](), 0
    while covered != every:
        clue = source.draw()
        out = exchanges(clue, places, source.value_at, n)
        if out & ~covered:
            clues.append(clue)
            ruled_out.append(out)
            covered |= out
    seen = list[list[int]]()
    row = Row(n, m, clues)
    while (wrong := row.another(places)) is not None:
        seen.append(wrong)
        while holds(clue := source.draw(), wrong):
            pass
        clues.append(clue)
        ruled_out.append(exchanges(clue, places, source.value_at, n))
        row.add(clue)
    return _needed(n, m, places, clues, ruled_out, seen)


def _needed(
    n: int, m: int, places: list[int], clues: list[Clue], ruled_out: list[int], seen: list[list[int]]
) -> list[Clue]:
    """Leave out clues, the latest first, until each is needed."""
    kept = list(zip(clues, ruled_out, strict=True))
    for clue, out in reversed(list(kept)):
        others = [pair for pair in kept if pair[0] is not clue]
        covered = 0
        for _, more in others:
            covered |= more
        if out & ~covered or any(not holds(clue, wrong) and all(holds(c, wrong) for c, _ in others) for wrong in seen):
            continue
        wrong = Row(n, m, [*(c for c, _ in others), negated(clue, n)]).another(places)
        if wrong is None:
            kept = others
        else:
            seen.append(wrong)
    return [clue for clue, _ in kept]
