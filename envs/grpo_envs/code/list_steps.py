"""Steps on lists of integers, and what a list comes to in the end: the parts of `code.list_steps`."""

from __future__ import annotations

from collections import Counter
from functools import partial
from itertools import accumulate, pairwise
from operator import ge, gt, le, lt
from typing import Any

from grpo_envs.code.steps import Maker, Step
from grpo_gym.rng import Rng

Ints = list[int]

_SIGNS: dict[str, Any] = {">": gt, ">=": ge, "<": lt, "<=": le}
_SAID = {">": "greater than", ">=": "at least", "<": "less than", "<=": "at most"}
_NEAR = {">": ">=", ">=": ">", "<": "<=", "<=": "<"}


def by_remainder(rng: Rng) -> Step:
    """Keep or drop by the remainder of a division."""
    m = rng.integer(2, 9)
    r, drop = rng.below(m), rng.chance(1, 3)
    sign, word = ("!=", "drop all") if drop else ("==", "keep only the")
    return Step(
        f"{word} numbers that leave remainder {r} when divided by {m} (as Python's % counts, also for negative ones)",
        f"xs = [x for x in xs if x % {m} {sign} {r}]",
        lambda xs: [x for x in xs if (x % m == r) is not drop],
        (
            lambda xs: [x for x in xs if (abs(x) % m == r) is not drop],
            lambda xs: [x for x in xs if (x % m == r) is drop],
        ),
        "filter",
    )


def by_size(rng: Rng) -> Step:
    """Keep by comparison with a number."""
    sign, k = rng.choice(list(_SIGNS)), rng.integer(-12, 20)
    holds, near = _SIGNS[sign], _SIGNS[_NEAR[sign]]
    return Step(
        (f"keep only the numbers that are {_SAID[sign]} {k}", f"throw away every number that is not {_SAID[sign]} {k}"),
        f"xs = [x for x in xs if x {sign} {k}]",
        lambda xs: [x for x in xs if holds(x, k)],
        (lambda xs: [x for x in xs if near(x, k)],),
        "filter",
    )


def by_place(rng: Rng) -> Step:
    """Keep every m-th number."""
    m = rng.integer(2, 4)
    r = rng.below(m)
    return Step(
        f"keep only the numbers whose index (counted from 0) leaves remainder {r} when divided by {m}",
        f"xs = [x for i, x in enumerate(xs) if i % {m} == {r}]",
        lambda xs: xs[r::m],
        (lambda xs: xs[(r + 1) % m :: m], lambda xs: xs[r :: m + 1]),
        "filter",
    )


def without_repeats(rng: Rng) -> Step:
    """Keep one of equal numbers."""
    if rng.chance(1, 2):
        return Step(
            "of equal numbers keep only the first one, in the order of the list",
            "xs = list(dict.fromkeys(xs))",
            lambda xs: [x for i, x in enumerate(xs) if x not in xs[:i]],
            (lambda xs: [x for i, x in enumerate(xs) if x not in xs[i + 1 :]], sorted),
            "unique",
        )
    return Step(
        "of equal numbers keep only the last one, in the order of the list",
        "xs = list(dict.fromkeys(xs[::-1]))[::-1]",
        lambda xs: [x for i, x in enumerate(xs) if x not in xs[i + 1 :]],
        (lambda xs: [x for i, x in enumerate(xs) if x not in xs[:i]],),
        "unique",
    )


def linear(rng: Rng) -> Step:
    """Replace x by a * x + b."""
    a, b = rng.choice((-5, -4, -3, -2, 2, 3, 4, 5, 6, 7)), rng.integer(-15, 15)
    formula = f"{a} * x" + (f" + {b}" if b > 0 else f" - {-b}" if b else "")
    return Step(
        (f"replace every number x by {formula}", f"turn each number x into {formula}"),
        f"xs = [{formula} for x in xs]",
        lambda xs: [a * x + b for x in xs],
        (lambda xs: [a * x - b for x in xs],) if b else (),
        "linear",
    )


def split_even_odd(rng: Rng) -> Step:
    """One formula for even numbers, another for odd ones."""
    a, b = rng.integer(2, 6), rng.integer(1, 9)
    return Step(
        f"halve every even number and replace every odd number x by {a} * x + {b}",
        f"xs = [x // 2 if x % 2 == 0 else {a} * x + {b} for x in xs]",
        lambda xs: [a * x + b if x & 1 else x >> 1 for x in xs],
        (lambda xs: [x // 3 if x % 2 == 0 else a * x + b for x in xs], lambda xs: [a * x + b for x in xs]),
        "parity",
    )


def clamp(rng: Rng) -> Step:
    """Cut values off at both ends."""
    low = rng.integer(-10, 4)
    high = low + rng.integer(4, 15)
    return Step(
        f"replace every number below {low} by {low} and every number above {high} by {high}",
        f"xs = [max({low}, min({high}, x)) for x in xs]",
        lambda xs: [low if x < low else high if x > high else x for x in xs],
        (
            lambda xs: [max(low + 1, min(high, x)) for x in xs],
            lambda xs: [max(low, min(high - 1, x)) for x in xs],
        ),
        "clamp",
    )


def differences(rng: Rng) -> Step:
    """Differences or sums of neighbours."""
    if rng.chance(1, 2):
        return Step(
            "replace the list by the differences of neighbours, each number minus the one before it "
            "(a list of fewer than two numbers becomes empty)",
            "xs = [b - a for a, b in zip(xs, xs[1:])]",
            lambda xs: [xs[i] - xs[i - 1] for i in range(1, len(xs))],
            (lambda xs: [a - b for a, b in pairwise(xs)], lambda xs: [b - a for a, b in pairwise([0, *xs])]),
            "neighbours",
        )
    return Step(
        "replace every number by the sum of itself and all numbers before it",
        "total = 0\nsums = []\nfor x in xs:\n    total += x\n    sums.append(total)\nxs = sums",
        lambda xs: [sum(xs[: i + 1]) for i in range(len(xs))],
        (lambda xs: [sum(xs[:i]) for i in range(len(xs))],),
        "neighbours",
    )


def running(rng: Rng) -> Step:
    """The extreme so far."""
    word, function = rng.choice((("largest", max), ("smallest", min)))
    other = min if function is max else max
    name = function.__name__
    return Step(
        f"replace every number by the {word} of itself and all numbers before it",
        f"xs = [{name}(xs[:i + 1]) for i in range(len(xs))]",
        lambda xs: list(accumulate(xs, function)),
        (lambda xs: list(accumulate(xs, other)),),
        "running",
    )


def weighted(rng: Rng) -> Step:
    """Add a multiple of the index."""
    k, start = rng.choice((-4, -3, -2, 2, 3, 4, 5)), rng.below(2)
    place = "i" if start == 0 else "(i + 1)"
    return Step(
        f"add to every number {k} times its position, where the first number has position {start}",
        f"xs = [x + {k} * {place} for i, x in enumerate(xs)]",
        lambda xs: [x + k * i for i, x in enumerate(xs, start)],
        (lambda xs: [x + k * i for i, x in enumerate(xs, 1 - start)],),
        "weighted",
    )


def ordered(rng: Rng) -> Step:
    """Sort by a key with a rule for ties."""
    m = rng.integer(3, 9)
    way = rng.choice(("up", "down", "remainder", "size", "stable"))
    if way in ("up", "down"):
        word = "ascending" if way == "up" else "descending"
        code = "sorted(xs)" if way == "up" else "sorted(xs, reverse=True)"
        return Step(
            f"sort the list in {word} order",
            f"xs = {code}",
            lambda xs: sorted(xs)[:: 1 if way == "up" else -1],
            (lambda xs: sorted(xs)[:: -1 if way == "up" else 1],),
            "order",
        )
    if way == "remainder":
        return Step(
            f"sort the list by the remainder x % {m}, and numbers of equal remainder from small to large",
            f"xs = sorted(xs, key=lambda x: (x % {m}, x))",
            lambda xs: [x for r in range(m) for x in sorted(xs) if x % m == r],
            (lambda xs: sorted(xs, key=lambda x: x % m), lambda xs: sorted(xs, key=lambda x: (x % m, -x))),
            "order",
        )
    if way == "size":
        return Step(
            "sort the list by absolute value, and of a number and its negative the negative one first",
            "xs = sorted(xs, key=lambda x: (abs(x), x))",
            lambda xs: sorted(sorted(xs), key=abs),
            (lambda xs: sorted(xs, key=abs), lambda xs: sorted(xs, key=lambda x: (abs(x), -x)), sorted),
            "order",
        )
    return Step(
        f"sort the list by the remainder x % {m}; numbers of equal remainder keep their order",
        f"xs = sorted(xs, key=lambda x: x % {m})",
        lambda xs: [x for r in range(m) for x in xs if x % m == r],
        (lambda xs: sorted(xs, key=lambda x: (x % m, x)), lambda xs: sorted(xs, key=lambda x: -(x % m))),
        "order",
    )


def turned(rng: Rng) -> Step:
    """Reverse or rotate."""
    k = rng.integer(1, 4)
    way = rng.choice(("reverse", "left", "right"))
    if way == "reverse":
        return Step("reverse the list", "xs = xs[::-1]", lambda xs: list(reversed(xs)), (), "turn")
    sign = 1 if way == "left" else -1
    code = f"xs = [xs[(i {'+' if sign > 0 else '-'} {k}) % len(xs)] for i in range(len(xs))]"
    return Step(
        f"rotate the list by {k} to the {way} (an empty list stays empty, a short one goes round several times)",
        code,
        lambda xs: _rotated(xs, sign * k),
        (lambda xs: _rotated(xs, -sign * k), lambda xs: _rotated(xs, sign * (k + 1))),
        "turn",
    )


def _rotated(xs: Ints, k: int) -> Ints:
    if not xs:
        return []
    k %= len(xs)
    return xs[k:] + xs[:k]


def blocks(rng: Rng) -> Step:
    """Cut into blocks or slide a window."""
    w = rng.integer(2, 4)
    name, word = rng.choice((("sum", "sum"), ("max", "largest number"), ("min", "smallest number")))
    function: Any = {"sum": sum, "max": max, "min": min}[name]
    if rng.chance(1, 2):
        return Step(
            f"cut the list into blocks of {w} from the left, the last of which may be shorter, "
            f"and replace every block by its {word}",
            f"xs = [{name}(xs[i:i + {w}]) for i in range(0, len(xs), {w})]",
            lambda xs: [function(part) for part in _blocks(xs, w)],
            (
                lambda xs: [function(xs[i : i + w]) for i in range(0, len(xs) - w + 1, w)],
                lambda xs: [function(xs[i : i + w + 1]) for i in range(0, len(xs), w)],
            ),
            "blocks",
        )
    return Step(
        f"replace the list by the {word} of every {w} consecutive numbers, from left to right "
        f"(a list of fewer than {w} numbers becomes empty)",
        f"xs = [{name}(xs[i:i + {w}]) for i in range(len(xs) - {w} + 1)]",
        lambda xs: [function(part) for part in zip(*(xs[i:] for i in range(w)), strict=False)],
        (
            lambda xs: [function(xs[i : i + w]) for i in range(len(xs) - w)],
            lambda xs: [function(xs[i : i + w]) for i in range(max(0, len(xs) - w + 2))],
            lambda xs: [function(xs[i : i + w + 1]) for i in range(max(0, len(xs) - w + 1))],
        ),
        "blocks",
    )


def _blocks(xs: Ints, w: int) -> list[Ints]:
    parts: list[Ints] = []
    for i, x in enumerate(xs):
        if i % w == 0:
            parts.append([])
        parts[-1].append(x)
    return parts


STEPS: list[Maker] = [
    by_remainder,
    by_size,
    by_place,
    without_repeats,
    linear,
    split_even_odd,
    clamp,
    differences,
    running,
    weighted,
    ordered,
    turned,
    blocks,
]


# --- what a list comes to


def total(rng: Rng) -> Step:
    """A sum of some kind."""
    m = rng.integer(5, 30)
    way = rng.choice(("sum", "squares", "alternating", "spread"))
    if way == "sum":
        return Step("return the sum (0 for an empty list)", "return sum(xs)", lambda xs: sum(xs, 0))
    if way == "squares":
        return Step(
            f"return the sum of the squares, modulo {m} (0 for an empty list)",
            f"return sum(x * x for x in xs) % {m}",
            lambda xs: sum(x * x % m for x in xs) % m,
            (lambda xs: sum(x * x for x in xs), lambda xs: sum(xs) ** 2 % m),
        )
    if way == "alternating":
        return Step(
            "return the alternating sum: the first number minus the second plus the third and so on (0 for an empty "
            "list)",
            "return sum(x if i % 2 == 0 else -x for i, x in enumerate(xs))",
            lambda xs: sum(xs[::2]) - sum(xs[1::2]),
            (lambda xs: sum(xs[1::2]) - sum(xs[::2]),),
        )
    return Step(
        "return the largest number minus the smallest (0 for an empty list)",
        "return max(xs) - min(xs) if xs else 0",
        lambda xs: (lambda s: s[-1] - s[0] if s else 0)(sorted(xs)),
        (lambda xs: xs[-1] - xs[0] if xs else 0,),
    )


def place_of_extreme(rng: Rng) -> Step:
    """Where the largest or smallest number is."""
    word, function = rng.choice((("largest", max), ("smallest", min)))
    if rng.chance(1, 2):
        return Step(
            f"return the index (from 0) of the {word} number, the first such index if there are several, "
            "and -1 for an empty list",
            f"return xs.index({function.__name__}(xs)) if xs else -1",
            lambda xs: next((i for i, x in enumerate(xs) if x == function(xs)), -1),
            (partial(_last_index, function),),
        )
    return Step(
        f"return the index (from 0) of the {word} number, the last such index if there are several, "
        "and -1 for an empty list",
        f"return max(i for i, x in enumerate(xs) if x == {function.__name__}(xs)) if xs else -1",
        partial(_last_index, function),
        (lambda xs: xs.index(function(xs)) if xs else -1,),
    )


def _last_index(function: Any, xs: Ints) -> int:
    return len(xs) - 1 - xs[::-1].index(function(xs)) if xs else -1


def most_frequent(rng: Rng) -> Step:
    """The number that occurs most often, with a rule for ties."""
    word = rng.choice(("smallest", "largest"))
    sign = 1 if word == "smallest" else -1
    key = "(-xs.count(x), x)" if word == "smallest" else "(-xs.count(x), -x)"
    return Step(
        f"return the number that occurs most often, the {word} of them if there are several, and 0 for an empty list",
        f"return min(xs, key=lambda x: {key}) if xs else 0",
        lambda xs: _mode(xs, sign),
        (lambda xs: _mode(xs, -sign), lambda xs: max(xs, key=xs.count) if xs else 0),
    )


def _mode(xs: Ints, sign: int) -> int:
    counts = Counter(xs)
    most = max(counts.values(), default=0)
    return sign * min((sign * x for x in counts if counts[x] == most), default=0)


def counted(rng: Rng) -> Step:
    """How many have a property."""
    k, sign = rng.integer(-8, 15), rng.choice(list(_SIGNS))
    holds, near = _SIGNS[sign], _SIGNS[_NEAR[sign]]
    if rng.chance(1, 2):
        return Step(
            "return how many numbers are strictly greater than the number just before them",
            "return sum(b > a for a, b in zip(xs, xs[1:]))",
            lambda xs: sum(1 for i in range(1, len(xs)) if xs[i] > xs[i - 1]),
            (lambda xs: sum(b >= a for a, b in pairwise(xs)), lambda xs: sum(b < a for a, b in pairwise(xs))),
        )
    return Step(
        f"return how many numbers are {_SAID[sign]} {k}",
        f"return sum(x {sign} {k} for x in xs)",
        lambda xs: len([x for x in xs if holds(x, k)]),
        (lambda xs: sum(near(x, k) for x in xs),),
    )


ENDS: list[Maker] = [total, place_of_extreme, most_frequent, counted]
