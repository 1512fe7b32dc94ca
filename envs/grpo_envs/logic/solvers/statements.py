"""What knights and knaves say: statements with the worlds in which they are true, as bits of one integer.

A world is a number: bit j tells whether person j is a knight. A statement is a mask over all 2^n worlds, so logic is
`&`, `|` and `^`. Its code, Polish notation such as `or k1 n0`, is what `meta` holds and what the rules are checked on.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import combinations
from typing import NamedTuple

from grpo_gym.rng import Rng

_PEOPLE = "Ada Ben Cleo Dan Eva Finn Gwen Hugo Iris Jack Kara Leo Mia Ned Olga Paul Rosa Sam Tess Umar Vera Will Zoe"
NAMES = tuple(_PEOPLE.split())

RULES = "A knight says only what is true, a knave only what is false. Everybody here is a knight or a knave."


class Statement(NamedTuple):
    """Something that can be said.

    Attributes:
        code: Polish notation; people are numbered from 0.
        mask: The worlds in which it is true.
        words: English with `{0}`, `{1}` for names; the speaker is "I".
    """

    code: str
    mask: int
    words: str


@cache
def knights(people: int) -> tuple[int, ...]:
    """Return for each person the worlds in which he or she is a knight."""
    full = everything(people)
    return tuple(full ^ full // ((1 << (1 << j)) + 1) for j in range(people))  # 2^j ones, 2^j zeros, and so on


def everything(people: int) -> int:
    """Return the mask of all worlds."""
    return (1 << (1 << people)) - 1


@lru_cache(maxsize=4096)
def _counted(people: int, among: tuple[int, ...], k: int) -> int:
    bits = sum(1 << j for j in among)
    return sum(1 << world for world in range(1 << people) if (world & bits).bit_count() == k)


@lru_cache(maxsize=4096)
def truth(code: str, people: int) -> int:
    """Return the worlds in which a statement is true, read from its code."""
    mask, rest = _read(code.split(), people)
    if rest:
        raise ValueError(f"statement {code!r}: nothing may follow {code.split()[: -len(rest)]}")
    return mask


def _read(parts: list[str], people: int) -> tuple[int, list[str]]:
    """Read one statement off the front of a code."""
    head, rest = parts[0], parts[1:]
    full = everything(people)
    if head[0] in "kn" and head[1:].isdigit():
        mask = knights(people)[int(head[1:])]
        return (mask if head[0] == "k" else full ^ mask), rest
    if head.startswith("count"):
        among = tuple(int(j) for j in rest[0].split(","))
        return _counted(people, among, int(head[5:])), rest[1:]
    first, rest = _read(rest, people)
    if head == "not":
        return full ^ first, rest
    if head.startswith("says"):
        return full ^ first ^ knights(people)[int(head[4:])], rest
    second, rest = _read(rest, people)
    return _joined(head, first, second, full), rest


def _joined(sign: str, first: int, second: int, full: int) -> int:
    if sign == "and":
        return first & second
    if sign == "or":
        return first | second
    if sign == "if":
        return full ^ first | second
    return full ^ first ^ second  # iff


Catalogue = tuple[tuple[Statement, ...], ...]


@lru_cache(maxsize=64)
def simple_statements(people: int, speaker: int) -> Catalogue:
    """Return what a person can say without nesting, kind by kind; nothing is said about oneself alone."""
    masks, full = knights(people), everything(people)

    def literal(j: int, sign: str) -> Statement:
        who = "I am" if j == speaker else f"{{{j}}} is"
        return Statement(f"{sign}{j}", masks[j] if sign == "k" else full ^ masks[j], f"{who} a {_KIND[sign]}")

    def both(sign: str, a: Statement, b: Statement, words: str) -> Statement:
        return Statement(f"{sign} {a.code} {b.code}", _joined(sign, a.mask, b.mask, full), words)

    pairs = [(a, b) if b != speaker else (b, a) for a, b in combinations(range(people), 2)]
    signed = [(literal(a, s), literal(b, t)) for a, b in pairs for s in "kn" for t in "kn"]
    alike = [
        both("iff", literal(a, "k"), literal(b, t), f"{_pair(a, b, speaker)} are of {kind}")
        for a, b in pairs
        for t, kind in (("k", "the same kind"), ("n", "different kinds"))
    ]
    found = [
        [literal(j, sign) for j in range(people) if j != speaker for sign in "kn"],
        alike,
        [both("and", a, b, f"{a.words} and {b.words}") for a, b in signed],
        [both("or", a, b, f"{a.words} or {b.words}, or both") for a, b in signed],
    ]
    if people > 2:
        found.append([both("if", a, b, f"if {a.words}, then {b.words}") for x in signed for a, b in (x, x[::-1])])
        found.append(_counts(people, speaker))
    return tuple(tuple(kind) for kind in found)


_KIND = {"k": "knight", "n": "knave"}


def _pair(a: int, b: int, speaker: int) -> str:
    names = [f"{{{j}}}" for j in (a, b) if j != speaker]
    return " and ".join([*names, "I"] if speaker in (a, b) else names)


def _counts(people: int, speaker: int) -> list[Statement]:
    """Return "exactly k of them are knights", about everybody and about every three."""
    groups = [tuple(range(people))] + ([*combinations(range(people), 3)] if people > 3 else [])
    return [
        Statement(
            f"count{k} {','.join(map(str, among))}",
            _counted(people, among, k),
            f"exactly {k} of {_listed(among, people, speaker)} {'is a knight' if k == 1 else 'are knights'}",
        )
        for among in groups
        for k in range(1, len(among))
    ]


def _listed(among: Sequence[int], people: int, speaker: int) -> str:
    if len(among) == people:
        return f"the {people} of us"
    names = [f"{{{j}}}" for j in among if j != speaker] + (["me"] if speaker in among else [])
    return f"{', '.join(names[:-1])} and {names[-1]}"


def said(rng: Rng, people: int, speaker: int, depth: int) -> Statement:
    """Draw what a person says: a simple statement, or one with others inside it, `depth` levels at most."""
    if depth < 2:
        kinds = simple_statements(people, speaker)
        kind = kinds[rng.below(len(kinds))]
        return kind[rng.below(len(kind))]
    full = everything(people)
    inner = said(rng, people, NOBODY, depth - rng.integer(1, 2))
    shape = rng.below(5)
    if shape == 0:
        return Statement(f"not {inner.code}", full ^ inner.mask, f"it is not true that ({inner.words})")
    if shape < 3:
        who = rng.choice([j for j in range(people) if j != speaker])
        mask = full ^ inner.mask ^ knights(people)[who]
        return Statement(f"says{who} {inner.code}", mask, f"{{{who}}} would say that ({inner.words})")
    other = rng.choice(simple_statements(people, NOBODY)[rng.below(2)])
    sign = rng.choice(("and", "or", "iff"))
    mask = _joined(sign, other.mask, inner.mask, full)
    return Statement(f"{sign} {other.code} {inner.code}", mask, _JOINED[sign].format(other.words, inner.words))


NOBODY = -1
"""The speaker of what stands inside another statement: there, "I" would be read in two ways, so names are used."""

_JOINED = {"and": "({}) and ({})", "or": "({}) or ({}), or both", "iff": "({}) if and only if ({})"}
