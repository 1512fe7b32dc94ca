"""Houses in a row and who lives in them with what: clues as constraints, their propagation, and a search that proves.

There are n houses and m attributes of n values each; every value belongs to one house. Value v of attribute a is number
a * n + v. What is known about a value is the set of houses where it can be, as bits; clues cut these sets down by table
look-up, and within an attribute whatever no permutation uses is cut, so the values of one attribute need no clue to
keep out of each other's houses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import permutations
from typing import NamedTuple

Houses = int
"""A set of houses: bit h for house h + 1."""


class Clue(NamedTuple):
    """What is said about where values are.

    About two values: "is" and "not" (in one house or not), "left" (directly left of), "next" (neighbours), "before"
    (somewhere left of), "apart" (one house between). About three: "between" (the first stands between the others) and
    "either" (the first is in the house of one of the others).

    Attributes:
        kind: "in" or one of those; with a "!" before it the opposite.
        values: The values that it is about.
        houses: Where the value can be; for "in" only.
    """

    kind: str
    values: tuple[int, ...]
    houses: Houses = 0


def negated(clue: Clue, n: int) -> Clue:
    """Return the clue that is true exactly where this one is not; the kind of its opposite has a "!"."""
    if clue.kind == "in":
        return clue._replace(houses=((1 << n) - 1) ^ clue.houses)
    return clue._replace(kind=clue.kind[1:] if clue.kind[0] == "!" else f"!{clue.kind}")


def holds(clue: Clue, places: Sequence[int]) -> bool:
    """Whether a clue is true where value x is in house `places[x]`, counted from 0."""
    kind = clue.kind
    if kind[0] == "!":
        return not holds(clue._replace(kind=kind[1:]), places)
    x = places[clue.values[0]]
    if kind == "in":
        return bool(clue.houses >> x & 1)
    y = places[clue.values[1]]
    if kind == "between":
        z = places[clue.values[2]]
        return y < x < z or z < x < y
    if kind == "either":
        return x in (y, places[clue.values[2]])
    return _related(kind, x, y)


def _related(kind: str, x: int, y: int) -> bool:
    if kind[0] == "!":
        return not _related(kind[1:], x, y)
    if kind == "is":
        return x == y
    if kind == "not":
        return x != y
    if kind == "left":
        return y - x == 1
    if kind == "before":
        return x < y
    return abs(x - y) == (1 if kind == "next" else 2)


Table = tuple[Houses, ...]
"""For every set of houses another one."""


@cache
def tables(kind: str, n: int) -> tuple[Table, Table]:
    """Return where y can be, given where x can, and where x can be, given where y can."""
    sets = range(1 << n)

    def allowed(of: Houses, forward: bool) -> Houses:
        others = (
            g
            for g in range(n)
            if any(of >> h & 1 and _related(kind, *((h, g) if forward else (g, h))) for h in range(n))
        )
        return sum(1 << g for g in others)

    return tuple(allowed(s, True) for s in sets), tuple(allowed(s, False) for s in sets)


@lru_cache(maxsize=1 << 16)
def narrowed(kind: str, n: int, x: Houses, y: Houses, z: Houses) -> tuple[Houses, Houses, Houses]:
    """Return where three values can still be under a clue about them."""
    clue = Clue(kind, (0, 1, 2))
    fits = [
        (1 << h, 1 << g, 1 << f)
        for h in range(n)
        if x >> h & 1
        for g in range(n)
        if y >> g & 1
        for f in range(n)
        if z >> f & 1 and holds(clue, (h, g, f))
    ]
    left = [0, 0, 0]
    for fit in fits:
        left = [a | b for a, b in zip(left, fit, strict=True)]
    return left[0], left[1], left[2]


@cache
def _arrangements(n: int) -> tuple[tuple[Table, ...], tuple[tuple[int, ...], ...]]:
    """Return for each value and set of houses, and each value and house, the permutations with the value there."""
    at = [[0] * n for _ in range(n)]
    for number, order in enumerate(permutations(range(n))):
        for house, value in enumerate(order):
            at[value][house] |= 1 << number
    within = tuple(tuple(sum(at[v][h] for h in range(n) if s >> h & 1) for s in range(1 << n)) for v in range(n))
    return within, tuple(map(tuple, at))


@lru_cache(maxsize=1 << 16)
def apart(known: tuple[Houses, ...]) -> tuple[Houses, ...] | None:
    """Return where the values of one attribute can be, each in a house of its own; None where they cannot."""
    within, at = _arrangements(len(known))
    left = within[0][known[0]]
    for value, houses in enumerate(known):
        left &= within[value][houses]
    if not left:
        return None
    return tuple(sum(1 << h for h, mask in enumerate(of_value) if left & mask) for of_value in at)


class Row:
    """A row of houses with clues, ready for the search.

    Args:
        n: Houses, and values of each attribute.
        m: Attributes.
        clues: What is given.
    """

    def __init__(self, n: int, m: int, clues: Sequence[Clue] = ()) -> None:
        self.n, self.m = n, m
        self.start: list[Houses] = [(1 << n) - 1] * (n * m)
        self.degree = [0] * (n * m)
        self.pairs: list[tuple[int, int, int, Table, Table]] = []
        self.triples: list[tuple[int, str, int, int, int]] = []
        for clue in clues:
            self.add(clue)

    def add(self, clue: Clue) -> None:
        """Take one clue more. `touched` are the attributes that it is about, as bits."""
        touched = 0
        for value in clue.values:
            self.degree[value] += 1
            touched |= 1 << value // self.n
        if clue.kind == "in":
            self.start[clue.values[0]] &= clue.houses
        elif len(clue.values) == 3:
            x, y, z = clue.values
            self.triples.append((touched, clue.kind, x, y, z))
        else:
            x, y = clue.values
            self.pairs.append((touched, x, y, *tables(clue.kind, self.n)))

    def propagate(self, known: list[Houses]) -> bool:
        """Cut down where values can be until no clue cuts more; False for a contradiction."""
        changed = (1 << self.m) - 1
        while changed:
            for a in range(self.m):
                if changed >> a & 1:
                    closed = apart(tuple(known[a * self.n : a * self.n + self.n]))
                    if closed is None:
                        return False
                    known[a * self.n : a * self.n + self.n] = closed
            changed = self._read_pairs(known, changed)
            if changed >= 0 and self.triples:
                changed = self._read_triples(known, changed)
            if changed < 0:
                return False
        return True

    def _read_pairs(self, known: list[Houses], active: int) -> int:
        """Apply the clues about attributes where something changed; return what that changes, or -1: contradiction."""
        changed = 0
        for touched, x, y, forward, backward in self.pairs:
            if touched & active:
                at_x, at_y = known[x], known[y]
                new_x = at_x & backward[at_y]
                new_y = at_y & forward[new_x]
                if new_x != at_x or new_y != at_y:
                    if not new_y:
                        return -1
                    known[x], known[y] = new_x, new_y
                    changed |= touched
                    active |= touched
        return changed

    def _read_triples(self, known: list[Houses], changed: int) -> int:
        """Apply all clues about three values; return what has changed with what that changes, or -1: contradiction."""
        for touched, kind, x, y, z in self.triples:
            now = known[x], known[y], known[z]
            new = narrowed(kind, self.n, *now)
            if new != now:
                if not new[0]:
                    return -1
                known[x], known[y], known[z] = new
                changed |= touched
        return changed

    def another(self, truth: Sequence[int]) -> list[int] | None:
        """Return an arrangement that fits and is not `truth`; None proves that there is none."""
        return self._another(list(self.start), truth)

    def _another(self, known: list[Houses], truth: Sequence[int]) -> list[int] | None:
        if not self.propagate(known):
            return None
        best, chosen = 0.0, -1
        for value, houses in enumerate(known):
            if houses & (houses - 1) and (worth := (1 + self.degree[value]) / houses.bit_count()) > best:
                best, chosen = worth, value
        if chosen < 0:
            places = [houses.bit_length() - 1 for houses in known]
            return places if places != list(truth) else None
        for house in sorted(houses_of(known[chosen]), key=lambda h: h == truth[chosen]):
            tried = list(known)
            tried[chosen] = 1 << house
            found = self._another(tried, truth)
            if found:
                return found
        return None


def houses_of(houses: Houses) -> Iterator[int]:
    """Yield the houses of a set, from left to right."""
    while houses:
        yield (houses & -houses).bit_length() - 1
        houses &= houses - 1
