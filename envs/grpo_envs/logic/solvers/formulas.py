"""Formulas of propositional logic: drawn with their truth tables, and read from text by a small parser.

Written as people speak, with brackets around whatever is no letter: "not p", "(p or not q) implies r". Read are the
usual signs, too. Nothing is evaluated but the tables.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

from grpo_envs.logic.solvers.tables import columns, everything
from grpo_gym.rng import Rng

Formula = tuple[str, int]
"""How it is written, and its truth table."""

LONGEST, DEEPEST = 200, 30
"""Characters, and brackets inside each other, of a formula that is still read."""

SIGNS = {
    "not": "not", "~": "not", "\u00ac": "not", "!": "not", "\\neg": "not", "\\lnot": "not",
    "and": "and", "&": "and", "\u2227": "and", "\\land": "and", "\\wedge": "and",
    "or": "or", "|": "or", "\u2228": "or", "\\lor": "or", "\\vee": "or",
    "implies": "implies", "->": "implies", "=>": "implies", "\u2192": "implies", "\\to": "implies",
    "iff": "iff", "<->": "iff", "<=>": "iff", "\u2194": "iff",
    "(": "(", ")": ")",
}  # fmt: skip
LOOSEST_FIRST = ("iff", "implies", "or", "and")

SAYINGS = ("{} or {}", "{} implies {}", "not ({} and {})", "{} iff {}")
"""How formulas are connected outermost."""

_TOKEN = re.compile(r"\s*(\\?[a-z]+|<->|<=>|->|=>|[~!&|()\u00ac\u2227\u2228\u2192\u2194])", re.IGNORECASE)
_SAID = re.compile(
    r"(.+?)(?:\s+(?:is|must be|has to be|can only be)(\s+not)?\s|"
    r"\s+((?:cannot|can't|can not|could not|must not) be|isn't|is never)\s|\s*[:=])\s*(?:(true|1)|(?:false|0))",
    re.IGNORECASE,
)


@cache
def literals(letters: tuple[str, ...]) -> tuple[Formula, ...]:
    """Return every letter and, behind it, its negation."""
    ones, tables = everything(len(letters)), columns(len(letters))
    pairs = [((k, table), (f"not {k}", ones ^ table)) for k, table in zip(letters, tables, strict=True)]
    return tuple(formula for pair in pairs for formula in pair)


@cache
def connections(n: int) -> list[tuple[int, int, int, int]]:
    """Return every way to connect literals of two of n letters: connective, the literals' places, the truth table.

    They are listed once and drawn from, because a list is cheaper to draw from than several numbers are to draw.
    """
    tables = [table for _, table in literals(tuple("abcdefghij"[:n]))]
    return [
        (kind, left, right, outermost(kind, x, y, everything(n)))
        for kind in range(len(SAYINGS))
        for left, x in enumerate(tables)
        for right, y in enumerate(tables)
        if left // 2 != right // 2
    ]


def outermost(kind: int, left: int, right: int, ones: int) -> int:
    """Return the truth table of the connective of `SAYINGS` between two formulas."""
    if kind == 0:
        return left | right
    if kind == 1:
        return (ones ^ left) | right
    return ones ^ (left & right) if kind == 2 else ones ^ left ^ right


def nested(rng: Rng, formulas: Sequence[Formula], n: int) -> Formula:
    """Draw literals of three letters; two are connected in brackets, and the third with the result."""
    one, other, third = (formulas[2 * letter + rng.below(2)] for letter in rng.sample(range(n), 3))
    sign = rng.choice(LOOSEST_FIRST)
    pair = [(f"({one[0]} {sign} {other[0]})", _connect(sign, one[1], other[1], everything(n))), third]
    rng.shuffle(pair)
    (left, x), (right, y) = pair
    kind = rng.below(len(SAYINGS))
    return SAYINGS[kind].format(left, right), outermost(kind, x, y, everything(n))


class Reader:
    """Reads formulas over some letters, by recursive descent.

    Args:
        letters: The letters, in the order of the table's columns.
    """

    def __init__(self, letters: Sequence[str]) -> None:
        self.ones = everything(len(letters))
        self.tables: Mapping[str, int] = dict(zip(letters, columns(len(letters)), strict=True))

    def __call__(self, text: str) -> int | None:
        """Return the table of a formula, of "p is true" or "(p or q) must be false"; None for any other text."""
        if len(text) > LONGEST:
            return None
        said = _SAID.fullmatch(text.strip())
        self._tokens = self._cut(said[1] if said else text)
        self._next = 0
        table = self._binary(0, 0)
        if table is None or self._next != len(self._tokens):
            return None
        denied = said is not None and bool(said[2] or said[3]) == bool(said[4])
        return self.ones ^ table if denied else table

    def _cut(self, text: str) -> list[str]:
        """Return the tokens; one that does not exist where the text is no formula."""
        tokens, place = list[str](), 0
        while place < len(text.rstrip()):
            match = _TOKEN.match(text, place)
            word = match[1].lower() if match else "?"
            tokens.append(word if word in self.tables else SIGNS.get(word, "?"))
            place = match.end() if match else len(text)
        return tokens

    def _peek(self) -> str:
        return self._tokens[self._next] if self._next < len(self._tokens) else ""

    def _binary(self, level: int, depth: int) -> int | None:
        """Read what the connectives from a level on hold together; all but "implies" group to the left."""
        if level == len(LOOSEST_FIRST):
            return self._single(depth)
        sign, left = LOOSEST_FIRST[level], self._binary(level + 1, depth)
        while left is not None and self._peek() == sign:
            self._next += 1
            right = self._binary(level if sign == "implies" else level + 1, depth + 1)
            left = None if right is None else _connect(sign, left, right, self.ones)
        return left

    def _single(self, depth: int) -> int | None:
        """Read a letter, a negation or a formula in brackets."""
        token = self._peek()
        self._next += 1
        if token in self.tables:
            return self.tables[token]
        if depth > DEEPEST:
            return None
        if token == "not":
            table = self._single(depth + 1)
            return None if table is None else self.ones ^ table
        if token != "(":
            return None
        table = self._binary(0, depth + 1)
        closed = self._peek() == ")"
        self._next += 1
        return table if closed else None


def _connect(sign: str, left: int, right: int, ones: int) -> int:
    """Return the table of a connective."""
    if sign == "and":
        return left & right
    if sign == "or":
        return left | right
    if sign == "implies":
        return (ones ^ left) | right
    return ones ^ left ^ right
