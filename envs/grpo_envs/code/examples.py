"""A rule to be found from examples: one or two steps of a stated grammar, pinned down among all rules of that grammar.

All rules are tried on a fixed pool of inputs once. The examples of a problem are chosen one by one until every rule
that agrees with all of them agrees with the right one on the whole pool, from which the hidden tests come. Of rules
that agree on the whole pool only the first is ever asked for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import pairwise
from typing import Any

from grpo_envs.code.draft import Draft, coding
from grpo_gym.rng import Rng

POOL = 30
"""Inputs that rules are tried on."""

LEAST = 4
"""Examples of every problem, also where fewer pin the rule down."""

Function = Callable[[list[int]], Any]


@dataclass(frozen=True)
class Part:
    """A step: its line of program and what it does."""

    code: str
    apply: Function


def _each(formula: str, change: Callable[[int], int]) -> Part:
    return Part(f"    xs = [{formula} for x in xs]".replace("+ -", "- "), lambda xs: [change(x) for x in xs])


def _kept(condition: str, holds: Callable[[int], bool]) -> Part:
    return Part(f"    xs = [x for x in xs if {condition}]", lambda xs: [x for x in xs if holds(x)])


def _changes(wide: bool) -> list[Part]:
    """Return the steps that change or choose single numbers, with many values of their numbers or with few."""
    span = 20 if wide else 4
    parts: list[Part] = []
    for b in range(-span, span + 1):
        parts += [_linear(a, b) for a in (-3, -2, -1, 1, 2, 3, 4, 5) if (a, b) != (1, 0)]
    for m in range(2, 11 if wide else 6):
        parts += [_each(f"x % {m} + {c}", partial(_remainder, m, c)) for c in range(10 if wide else 2)]
        parts += [_kept(f"x % {m} == {r}", partial(_leaves, m, r)) for r in range(min(m, 4))]
    for k in range(-8, 15, 1 if wide else 6):
        parts += _by_number(k)
    return parts


def _linear(a: int, b: int) -> Part:
    return _each(f"{a} * x + {b}".removeprefix("1 * "), lambda x: a * x + b)


def _remainder(m: int, c: int, x: int) -> int:
    return x % m + c


def _leaves(m: int, r: int, x: int) -> bool:
    return x % m == r


def _by_number(k: int) -> list[Part]:
    return [
        _kept(f"x > {k}", lambda x: x > k),
        _kept(f"x < {k}", lambda x: x < k),
        _each(f"abs(x - {k})".replace("- -", "+ "), lambda x: abs(x - k)),
        _each(f"max(x, {k})", lambda x: max(x, k)),
        _each(f"x * x + {k}", lambda x: x * x + k),
    ]


def _running(xs: list[int]) -> list[int]:
    return [sum(xs[: i + 1]) for i in range(len(xs))]


ORDERS = [
    Part("", lambda xs: xs),
    Part("    xs = sorted(xs)", sorted),
    Part("    xs = xs[::-1]", lambda xs: xs[::-1]),
    Part("    xs = xs[1:]", lambda xs: xs[1:]),
]
SHAPES = [
    *ORDERS[1:],
    Part("    xs = sorted(xs, reverse=True)", lambda xs: sorted(xs, reverse=True)),
    Part("    xs = xs[:-1]", lambda xs: xs[:-1]),
    Part("    xs = xs[::2]", lambda xs: xs[::2]),
    Part("    xs = xs[1::2]", lambda xs: xs[1::2]),
    Part("    xs = list(dict.fromkeys(xs))", lambda xs: list(dict.fromkeys(xs))),
    Part("    xs = [b - a for a, b in zip(xs, xs[1:])]", lambda xs: [b - a for a, b in pairwise(xs)]),
    Part("    xs = [a + b for a, b in zip(xs, xs[1:])]", lambda xs: [a + b for a, b in pairwise(xs)]),
    Part("    xs = [sum(xs[:i + 1]) for i in range(len(xs))]", _running),
    Part("    xs = xs + xs[::-1]", lambda xs: xs + xs[::-1]),
    Part("    xs = xs[1:] + xs[:1]", lambda xs: xs[1:] + xs[:1]),
    Part("    xs = xs[-1:] + xs[:-1]", lambda xs: xs[-1:] + xs[:-1]),
]
_RETURNS = [Part("    return xs", lambda xs: xs), Part("    return sum(xs)", sum)]

_TOLD = {
    0: "The rule changes every number in the same way, or keeps some of the numbers by a condition on their value; "
    "then it may sort the list, "
    "reverse it or leave out its first number; and it returns the list, or the sum of its numbers.",
    1: "The rule has three steps: one changes every number in the same way, or keeps some of the numbers by a "
    "condition on their value; another "
    "one, before or after it, puts the list into another order, keeps some places of it, doubles it up, or works on "
    "neighbouring numbers; the last "
    "one returns the list, or the sum of its numbers.",
}


@dataclass(frozen=True)
class Grammar:
    """All rules of a tier.

    Attributes:
        programs: Bodies of the rules, one for each behaviour.
        results: What each of them makes of each input of the pool.
    """

    programs: list[str]
    results: list[tuple[str, ...]]

    @cached_property
    def alike(self) -> list[dict[str, list[tuple[str, ...]]]]:
        """For every input of the pool: output -> the rules that make it."""
        tables: list[dict[str, list[tuple[str, ...]]]] = [defaultdict(list) for _ in range(POOL)]
        for results in self.results:
            for place, result in enumerate(results):
                tables[place][result].append(results)
        return tables


@lru_cache(maxsize=1)
def pool() -> list[list[int]]:
    """Return the inputs that rules are tried on: the same in every problem."""
    rng = Rng("code.examples", "pool")
    lists = [[rng.integer(-9, 15) for _ in range(rng.integer(3, 7))] for _ in range(POOL - 4)]
    return [*lists, [], [6], [-4, -4], [0, 12, 0, 3, 12]]


@lru_cache(maxsize=2)
def grammar(tier: int) -> Grammar:
    """Return all rules of a tier."""
    if tier == 0:
        chains = [[a, b] for a in _changes(wide=True) for b in ORDERS]
    else:
        few = _changes(wide=False)
        chains = [chain for a in few for b in SHAPES for chain in ([a, b], [b, a])]
    found: dict[tuple[str, ...], str] = {}
    for chain in chains:
        lists = pool()
        for part in chain:
            lists = [part.apply(xs) for xs in lists]
        for end in _RETURNS:
            results = tuple(repr(end.apply(xs)) for xs in lists)
            found.setdefault(results, "\n".join(part.code for part in [*chain, end] if part.code))
    return Grammar(list(found.values()), list(found))


def pinned(rules: Grammar, which: int, rng: Rng) -> list[int]:
    """Return places of the pool that single out a rule: random ones, then always one that tells another rule apart."""
    right = rules.results[which]
    order = list(range(POOL - 4))
    rng.shuffle(order)
    chosen = order[: LEAST - 1]
    rivals = [
        r
        for r in rules.alike[chosen[0]][right[chosen[0]]]
        if r != right and all(r[place] == right[place] for place in chosen)
    ]
    while rivals or len(chosen) < LEAST:
        left = [place for place in [*order, *range(POOL - 4, POOL)] if place not in chosen]
        told = [sum(rival[place] != right[place] for rival in rivals) for place in left]
        chosen.append(left[told.index(max(told))])
        rivals = [r for r in rivals if r[chosen[-1]] == right[chosen[-1]]]
    return chosen


@coding("code.examples", tiers=(0, 1))
def examples(rng: Rng, tier: int) -> Draft:
    """Find the rule behind at least four examples."""
    rules = grammar(tier)
    which = rng.below(len(rules.programs))
    body, results = rules.programs[which], rules.results[which]
    chosen = pinned(rules, which, Rng("code.examples", tier, body))
    numeric = body.endswith("sum(xs)")
    head = f"solve(xs: list[int]) -> {'int' if numeric else 'list[int]'}"
    outputs = {repr(xs): result for xs, result in zip(pool(), results, strict=True)}

    def expected(xs: list[int]) -> Any:
        text = outputs[repr(xs)]
        return int(text) if numeric else [int(n) for n in text.strip("[]").split(",") if n]

    return Draft(
        head=head,
        statement=[
            "It takes a list of whole numbers and follows a rule that is to be found from the examples below.",
            _TOLD[tier],
        ],
        code=f"def {head}:\n{body}",
        expected=expected,
        inputs=lambda rng: [rng.choice(pool())],
        edges=[[xs] for place, xs in enumerate(pool()) if place not in chosen],
        shown=[[pool()[place]] for place in chosen],
        rules=tier + 2,
    )
