"""Runs of neighbouring numbers: how many there are of a kind, or the best of them, in lists too long to try all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from grpo_envs.code.draft import Draft, coding
from grpo_gym.rng import Rng

Ints = list[int]


def _count_by(good: Callable[[Ints], bool]) -> Callable[[Ints], int]:
    return lambda xs: sum(good(xs[i:j]) for i in range(len(xs)) for j in range(i + 1, len(xs) + 1))


_TALES = {
    "divisible": (
        "Return how many runs have a sum that leaves remainder {r} when divided by {m} (as Python's % counts).",
        """    seen = {{0: 1}}
    total = count = 0
    for x in xs:
        total += x
        count += seen.get((total - {r}) % {m}, 0)
        seen[total % {m}] = seen.get(total % {m}, 0) + 1
    return count""",
    ),
    "sum": (
        "Return how many runs have a sum of exactly {s}.",
        """    seen = {{0: 1}}
    total = count = 0
    for x in xs:
        total += x
        count += seen.get(total - {s}, 0)
        seen[total] = seen.get(total, 0) + 1
    return count""",
    ),
    "distinct": (
        "Return how many runs hold at most {k} different numbers.",
        """    counts = {{}}
    first = count = 0
    for last, x in enumerate(xs):
        counts[x] = counts.get(x, 0) + 1
        while len(counts) > {k}:
            counts[xs[first]] -= 1
            if counts[xs[first]] == 0:
                del counts[xs[first]]
            first += 1
        count += last - first + 1
    return count""",
    ),
    "multiples": (
        "Return how many runs hold exactly {k} multiples of {m} (0 is one).",
        """    seen = {{0: 1}}
    total = count = 0
    for x in xs:
        total += x % {m} == 0
        count += seen.get(total - {k}, 0)
        seen[total] = seen.get(total, 0) + 1
    return count""",
    ),
    "best": (
        "Return the largest sum of a run of at least {k} numbers, and {empty} if the list is shorter than that.",
        """    if len(xs) < {k}:
        return {empty}
    sums = [0]
    for x in xs:
        sums.append(sums[-1] + x)
    best, least = None, 0
    for last in range({k}, len(xs) + 1):
        least = min(least, sums[last - {k}])
        if best is None or sums[last] - least > best:
            best = sums[last] - least
    return best""",
    ),
    "longest": (
        "Return the length of the longest run that holds at most {k} numbers greater than {s}, and 0 if there is none.",
        """    first = over = best = 0
    for last, x in enumerate(xs):
        over += x > {s}
        while over > {k}:
            over -= xs[first] > {s}
            first += 1
        best = max(best, last - first + 1)
    return best""",
    ),
}


def _slow(kind: str, r: int, m: int, s: int, k: int, empty: int) -> Callable[[Ints], int]:
    """Return the count or the best by trying all runs."""
    if kind == "best":
        return lambda xs: max((sum(xs[i:j]) for i in range(len(xs)) for j in range(i + k, len(xs) + 1)), default=empty)
    if kind == "longest":
        return lambda xs: max(
            (j - i for i in range(len(xs)) for j in range(i + 1, len(xs) + 1) if sum(x > s for x in xs[i:j]) <= k),
            default=0,
        )
    good: dict[str, Callable[[Ints], bool]] = {
        "divisible": lambda run: sum(run) % m == r,
        "sum": lambda run: sum(run) == s,
        "distinct": lambda run: len(set(run)) <= k,
        "multiples": lambda run: sum(x % m == 0 for x in run) == k,
    }
    return _count_by(good[kind])


def _long(code: str) -> Callable[[Ints], int]:
    """Return the reference program itself, for lists that are too long to try all runs of."""
    names: dict[str, Any] = {}
    exec(code, names)
    function: Callable[[Ints], int] = names["solve"]
    return function


def _statement(words: str, told: dict[str, str], changes: list[str]) -> list[Any]:
    return [
        "It takes a list of whole numbers, which may be empty. A run is a non-empty sequence of neighbouring "
        "numbers of the list; "
        "runs at different places are different, even if they hold the same numbers.",
        " ".join(told[change] for change in changes).replace(". First", ". Then"),
        words,
        "The list may hold 8000 numbers, so do not go through all runs.",
    ]


def _edges(s: int, m: int, r: int, k: int) -> tuple[Any, ...]:
    return (
        [[]],
        [[4]],
        [[s]],
        [[0, 0, 0, 0]],
        [[3, -3, 3, -3, 3]],
        [list(range(1, 9))],
        [[m, 2 * m, r, 1]],
        [[5] * k],
        [[-3] * (k - 1)],
        [[-3, -4] * k],
        [[s, s + 1] * 3],
        [[s + 1, s + 2] * (k + 1)],
    )


def _told(a: int, b: int) -> dict[str, str]:
    return {
        "linear": f"First replace every number x by {a} * x + {b}.".replace("+ -", "- "),
        "alternate": f"First multiply every number with an odd index (from 0) by {a}.",
        "blocks": f"First add {b} to every number whose index (from 0) is a multiple of {abs(a) + 1}.",
    }


def _lines(a: int, b: int) -> dict[str, str]:
    return {
        "linear": f"    xs = [{a} * x + {b} for x in xs]\n".replace("+ -", "- "),
        "alternate": f"    xs = [x if i % 2 == 0 else {a} * x for i, x in enumerate(xs)]\n",
        "blocks": f"    xs = [x + {b} if i % {abs(a) + 1} == 0 else x for i, x in enumerate(xs)]\n",
    }


@coding("code.subarrays", tiers=(4, 5))
def subarrays(rng: Rng, tier: int) -> Draft:
    """Count runs or find the best one in long lists, after one change of the list, or at tier 5 after two."""
    kind = rng.choice(list(_TALES))
    m, s, k, empty = rng.integer(3, 20), rng.integer(-15, 25), rng.integer(2, 6), rng.choice((0, -1, -100))
    r = rng.below(m)
    a, b = rng.choice((-4, -3, -2, 2, 3, 4, 5)), rng.choice((-7, -5, -4, -3, -2, -1, 1, 2, 3, 4, 6, 8))
    changes = rng.sample(("linear", "alternate", "blocks"), tier - 3)
    words, body = (part.format(r=r, m=m, s=s, k=k, empty=empty) for part in _TALES[kind])
    told = _told(a, b)
    line = _lines(a, b)

    def changed(xs: Ints) -> Ints:
        for change in changes:
            if change == "linear":
                xs = [a * x + b for x in xs]
            elif change == "alternate":
                xs = [x * (a if i & 1 else 1) for i, x in enumerate(xs)]
            else:
                xs = [x if i % (abs(a) + 1) else x + b for i, x in enumerate(xs)]
        return xs

    def rule(r: int = r, m: int = m, s: int = s, k: int = k, empty: int = empty) -> Any:
        slow = _slow(kind, r, m, s, k, empty)
        return lambda xs: slow(changed(xs))

    head = "solve(xs: list[int]) -> int"
    code = f"def {head}:\n{''.join(line[change] for change in changes)}{body}"
    right = rule()

    def expected(xs: Ints) -> int:
        return right(xs) if len(xs) < 40 else _long(code)(xs)

    def inputs(rng: Rng) -> list[Any]:
        wide = rng.choice((5, 12, 25))
        return [[rng.below(wide) - wide // 3 for _ in range(rng.integer(4, 10))]]

    def heavy(rng: Rng) -> list[Any]:
        p = rng.choice((101, 103, 107))
        return [[[(i * i + p * i) % 11 - 4 for i in range(8_000)]]]

    used = {"divisible": "rm", "sum": "s", "distinct": "k", "multiples": "km", "best": "k", "longest": "ks"}[kind]
    values = {"r": r, "m": m, "s": s, "k": k}
    mistakes = [rule(**{name: values[name] + step}) for name in used for step in (1, -1) if name != "r" or step == 1]
    if kind == "best":
        mistakes.append(rule(empty=empty + 1))
    return Draft(
        head=head,
        statement=_statement(words, told, changes),
        code=code,
        expected=expected,
        inputs=inputs,
        edges=_edges(s, m, r, k),
        mistakes=mistakes,
        heavy=heavy,
        time_s=1.0,  # going through all runs takes about twice as long
        rules=tier + 1,
    )
