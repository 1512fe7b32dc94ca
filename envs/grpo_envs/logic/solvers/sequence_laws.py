"""Laws of sequences: each is drawn, named in words, and found again in the terms by differences.

A law's `find` reads its parameters off the first terms and checks them on all others, so whatever it finds is the only
choice of parameters that fits. The same lines are the worked solution and the proof that a continuation is unique.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from grpo_envs.math.writing import bracketed
from grpo_gym.rng import Rng

Lines = list[str]

Follow = Callable[[list[int], Lines], int]
"""Terms so far -> the next one; writes how it comes about."""


class UndeterminedError(Exception):
    """The terms leave a law's parameters open: the problem is drawn again."""


@dataclass
class Table:
    """Terms and their differences, which are written down when they are first needed.

    Attributes:
        rows: The terms, their differences, the differences of those, as far as needed.
        lines: What was calculated, one equation per line.
    """

    rows: list[list[int]]
    lines: Lines = field(default_factory=list)
    _apart: list[int] = field(default_factory=list)

    @property
    def terms(self) -> list[int]:
        """The terms that are given."""
        return self.rows[0]

    def row(self, order: int) -> list[int]:
        """Return the differences of an order; 0 are the terms."""
        while len(self.rows) <= order:
            self.rows.append(differences(self.rows[-1], 1, self.lines))
        return self.rows[order]

    @property
    def apart(self) -> list[int]:
        """The differences of terms two places apart."""
        if not self._apart:
            self._apart = differences(self.terms, 2, self.lines)
        return self._apart


@dataclass(frozen=True)
class Found:
    """What became of looking for a law.

    Attributes:
        why: The evidence, in words.
        follow: How the sequence goes on by it; None when it does not fit.
    """

    why: str
    follow: Follow | None = None


@dataclass(frozen=True)
class Law:
    """One law.

    Attributes:
        words: How a prompt names it.
        draw: Draws so many terms of a sequence that follows it.
        find: Looks for it in terms. Raises UndeterminedError when they do not settle its parameters.
    """

    words: str
    draw: Callable[[Rng, int], list[int]]
    find: Callable[[Table], Found]


def differences(row: Sequence[int], distance: int, lines: Lines) -> list[int]:
    """Return the differences of numbers that far apart in a row, one line for each."""
    pairs = list(zip(row, row[distance:], strict=False))
    lines += [f"{b} - {bracketed(a)} = {b - a}" for a, b in pairs]
    return [b - a for a, b in pairs]


def added(term: int, step: int, lines: Lines) -> int:
    """Return a sum and write it down."""
    lines.append(f"{term} + {bracketed(step)} = {term + step}")
    return term + step


def scaled(factors: Sequence[tuple[int, int]], rest: int, lines: Lines) -> int:
    """Return a sum of products and a number, which is left out where it is 0, and write it down."""
    parts = [f"{bracketed(a)} * {bracketed(b)}" for a, b in factors]
    value = sum(a * b for a, b in factors) + rest
    lines.append(f"{' + '.join([*parts, bracketed(rest)] if rest else parts)} = {value}")
    return value


def _some(rng: Rng, largest: int) -> int:
    """Draw a number other than 0."""
    return rng.integer(1, largest) * rng.choice((1, -1))


def _factor(rng: Rng) -> int:
    return rng.choice((2, 3, -2, -3, -1))


# --- constant differences


def _constant(order: int) -> Callable[[Table], Found]:
    """Return what finds sequences whose differences of an order are all the same."""

    def find(table: Table) -> Found:
        row = table.row(order)
        other = next((d for d in row if d != row[0]), None)
        if other is not None:
            return Found(f"{row[0]}, then {other}")
        return Found(f"{row[0]} every time", lambda terms, lines: _carry(terms, order, row[0], lines))

    return find


def _carry(terms: list[int], order: int, constant: int, lines: Lines) -> int:
    """Return the next term: from the constant differences up through the others to the terms."""
    rows = [terms[-order:]]
    while len(rows) < order:
        rows.append([b - a for a, b in pairwise(rows[-1])])
    value = constant
    for row in reversed(rows):
        value = added(row[-1], value, lines)
    return value


def _steady(rng: Rng, n: int) -> list[int]:
    start, step = rng.integer(20, 99), rng.choice((*range(-3, 0), *range(1, 13)))
    return [start + k * step for k in range(n)]


def _growing(rng: Rng, n: int) -> list[int]:
    start, step, growth = rng.integer(-20, 60), rng.integer(-9, 12), _some(rng, 6)
    return [start + k * step + k * (k - 1) // 2 * growth for k in range(n)]


def _cubic(rng: Rng, n: int) -> list[int]:
    start, step, growth, third = rng.integer(-20, 60), rng.integer(-9, 12), rng.integer(-9, 9), _some(rng, 4)
    return [start + k * step + k * (k - 1) // 2 * growth + k * (k - 1) * (k - 2) // 6 * third for k in range(n)]


# --- two things in turn


def _find_turns(table: Table) -> Found:
    steps = table.row(1)
    for k in range(2, len(steps)):
        if steps[k] != steps[k - 2]:
            return Found(f"{steps[k - 2]}, then {steps[k]} two steps later")
    return Found(
        f"{steps[0]} and {steps[1]} in turn",
        lambda terms, lines: added(terms[-1], steps[(len(terms) - 1) % 2], lines),
    )


def _turns(rng: Rng, n: int) -> list[int]:
    terms = [rng.integer(10, 60)]
    steps = [rng.integer(2, 12), rng.choice((*range(-5, 0), *range(1, 13)))]
    rng.shuffle(steps)
    while len(terms) < n:
        terms.append(terms[-1] + steps[(len(terms) - 1) % 2])
    return terms


def _find_woven(table: Table) -> Found:
    apart = table.apart
    for k in range(2, len(apart)):
        if apart[k] != apart[k - 2]:
            return Found(f"{apart[k - 2]}, then {apart[k]} in {_places(k)} places")
    return Found(
        f"{apart[0]} in odd places and {apart[1]} in even places",
        lambda terms, lines: added(terms[-2], apart[len(terms) % 2], lines),
    )


def _places(k: int) -> str:
    return "even" if k % 2 else "odd"


def _woven(rng: Rng, n: int) -> list[int]:
    starts, steps = (rng.integer(1, 60), rng.integer(1, 60)), (_some(rng, 12), _some(rng, 12))
    return [starts[k % 2] + k // 2 * steps[k % 2] for k in range(n)]


def _find_woven_affine(table: Table) -> Found:
    terms, apart = table.terms, table.apart
    rules = []
    for k in (0, 1):
        ratio = _ratio(apart[k::2], table.lines)
        if isinstance(ratio, str):
            return Found(f"{ratio} in {_places(k)} places")
        rules.append((ratio, scaled([(-ratio, terms[k])], terms[k + 2], table.lines)))
    (p, q), (r, s) = rules
    return Found(
        f"p = {p} and q = {q} in odd places, p = {r} and q = {s} in even places",
        lambda terms, lines: scaled([(rules[len(terms) % 2][0], terms[-2])], rules[len(terms) % 2][1], lines),
    )


def _woven_affine(rng: Rng, n: int) -> list[int]:
    odd, even = _affine(rng, (n + 1) // 2), _affine(rng, n // 2)
    return [(even if k % 2 else odd)[k // 2] for k in range(n)]


# --- recurrences


def _ratio(steps: Sequence[int], lines: Lines) -> int | str:
    """Return the whole number that each step is of the one before, or in words why there is none."""
    first, second = steps[:2]
    if first == 0:
        raise UndeterminedError
    if second % first:
        return f"{second} is no multiple of {first}"
    ratio = second // first
    lines.append(f"{second} / {bracketed(first)} = {ratio}")
    for before, step in pairwise(steps[1:]):
        if scaled([(ratio, before)], 0, lines) != step:
            return f"{ratio * before} is not {step}"
    return ratio


def _find_affine(table: Table) -> Found:
    p = _ratio(table.row(1), table.lines)
    if isinstance(p, str):
        return Found(p)
    q = scaled([(-p, table.terms[0])], table.terms[1], table.lines)
    return Found(f"p = {p}, q = {q}", lambda terms, lines: scaled([(p, terms[-1])], q, lines))


def _affine(rng: Rng, n: int) -> list[int]:
    p, q, terms = _factor(rng), rng.integer(-9, 9), [rng.integer(1, 20)]
    while len(terms) < n:
        terms.append(p * terms[-1] + q)
    return terms


def _find_placed(table: Table) -> Found:
    p = _ratio(table.row(2), table.lines)
    if isinstance(p, str):
        return Found(p)
    terms, steps = table.terms, table.row(1)
    q = scaled([(-p, steps[0])], steps[1], table.lines)
    r = scaled([(-p, terms[0]), (-q, 2)], terms[1], table.lines)
    return Found(
        f"p = {p}, q = {q}, r = {r}",
        lambda terms, lines: scaled([(p, terms[-1]), (q, len(terms) + 1)], r, lines),
    )


def _placed(rng: Rng, n: int) -> list[int]:
    p, q, r, terms = _factor(rng), _some(rng, 9), rng.integer(-9, 9), [rng.integer(1, 20)]
    while len(terms) < n:
        terms.append(p * terms[-1] + q * (len(terms) + 1) + r)
    return terms


def _pair(row: Sequence[int], lines: Lines) -> tuple[int, int] | str:
    """Return p and q with row[k] = p * row[k-1] + q * row[k-2] throughout, or in words why there are none."""
    a, b, c, d = row[:4]
    common = scaled([(b, b), (-a, c)], 0, lines)
    if common == 0:
        raise UndeterminedError
    tops = scaled([(b, c), (-a, d)], 0, lines), scaled([(b, d), (-c, c)], 0, lines)
    found = []
    for top in tops:
        if top % common:
            return f"{top} is no multiple of {common}"
        found.append(top // common)
        lines.append(f"{top} / {bracketed(common)} = {found[-1]}")
    p, q = found
    for k in range(4, len(row)):
        if scaled([(p, row[k - 1]), (q, row[k - 2])], 0, lines) != row[k]:
            return f"{p * row[k - 1] + q * row[k - 2]} is not {row[k]}"
    return p, q


def _find_two_before(table: Table) -> Found:
    pair = _pair(table.terms, table.lines)
    if isinstance(pair, str):
        return Found(pair)
    p, q = pair
    return Found(f"p = {p}, q = {q}", lambda terms, lines: scaled([(p, terms[-1]), (q, terms[-2])], 0, lines))


def _two_before(rng: Rng, n: int) -> list[int]:
    return _recurrence(rng, n, 0)


def _find_two_before_and(table: Table) -> Found:
    pair = _pair(table.row(1), table.lines)
    if isinstance(pair, str):
        return Found(pair)
    p, q = pair
    a, b, c = table.terms[:3]
    r = scaled([(-p, b), (-q, a)], c, table.lines)
    return Found(f"p = {p}, q = {q}, r = {r}", lambda terms, lines: scaled([(p, terms[-1]), (q, terms[-2])], r, lines))


def _two_before_and(rng: Rng, n: int) -> list[int]:
    return _recurrence(rng, n, _some(rng, 9))


def _recurrence(rng: Rng, n: int, r: int) -> list[int]:
    p, q = _some(rng, 3), _some(rng, 3)
    terms = [rng.integer(-9, 9), _some(rng, 9)]
    while len(terms) < n:
        terms.append(p * terms[-1] + q * terms[-2] + r)
    return terms


LAWS = {
    "steady": Law("the same number is added every time", _steady, _constant(1)),
    "turns": Law("two numbers are added in turn", _turns, _find_turns),
    "growing": Law("the number that is added changes by the same amount every time", _growing, _constant(2)),
    "woven": Law("two sequences take turns, and each adds a number of its own every time", _woven, _find_woven),
    "affine": Law("each term is p times the one before, plus q", _affine, _find_affine),
    "two_before": Law(
        "each term is p times the one before, plus q times the one before that", _two_before, _find_two_before
    ),
    "cubic": Law("the differences of the differences change by the same amount every time", _cubic, _constant(3)),
    "placed": Law("the n-th term is p times the one before, plus q times n, plus r", _placed, _find_placed),
    "woven_affine": Law(
        "two sequences take turns, and in each a term is p times its last one, plus q, with p and q of its own",
        _woven_affine,
        _find_woven_affine,
    ),
    "two_before_and": Law(
        "each term is p times the one before, plus q times the one before that, plus r",
        _two_before_and,
        _find_two_before_and,
    ),
}
"""Name -> law."""
