"""Comparing two texts: the cheapest way from one to the other, and the best common subsequence, by drawn costs."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from grpo_envs.code.draft import Draft, coding
from grpo_gym.rng import Rng

_EDIT = """def solve(a: str, b: str) -> int:
{ready}    cost = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(len(a) + 1):
        for j in range(len(b) + 1):
            if i == 0 and j == 0:
                continue
            ways = []
            if i > 0:
                ways.append(cost[i - 1][j] + {delete})
            if j > 0:
                ways.append(cost[i][j - 1] + {insert})
            if i > 0 and j > 0:
                ways.append(cost[i - 1][j - 1] + {change})
{swap}            cost[i][j] = min(ways)
    return cost[len(a)][len(b)]
"""

_COMMON = """def solve(a: str, b: str) -> int:
{ready}    best = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            best[i][j] = max(best[i - 1][j], best[i][j - 1])
            if {near}:
                best[i][j] = max(best[i][j], best[i - 1][j - 1] + {worth})
    return best[len(a)][len(b)]
"""


def _texts(rng: Rng) -> list[Any]:
    a = "".join(rng.choice("abcde") for _ in range(rng.integer(1, 7)))
    if rng.chance(1, 2):
        return [a, "".join(rng.choice("abcde") for _ in range(rng.integer(1, 7)))]
    b = list(a)
    for _ in range(rng.integer(1, 3)):
        place = rng.below(len(b) + 1)
        b[place : place + rng.below(3)] = [rng.choice("abcde") for _ in range(rng.below(3))]
    if len(b) > 1 and rng.chance(1, 2):
        place = rng.below(len(b) - 1)
        b[place], b[place + 1] = b[place + 1], b[place]
    return [a, "".join(b)]


def _long(rng: Rng) -> list[Any]:
    a = "".join(rng.choice("abcde") for _ in range(32))
    return [[a, "".join(rng.choice("abcde") for _ in range(28))]]


_EDGES = (
    ["", ""],
    ["a", ""],
    ["", "eb"],
    ["abcde", "abcde"],
    ["ab", "ba"],
    ["aab", "aba"],
    ["cadab", "badce"],
    ["eee", "aaaa"],
)


@coding("code.alignments", tiers=(4, 5))
def alignments(rng: Rng, tier: int) -> Draft:
    """Edit distances and common subsequences with costs of their own; at tier 5 with one more rule."""
    return (_edit if rng.chance(1, 2) else _common)(rng, tier)


def _edit_statement(swap: int, delete: int, dear: int, which: str, insert: int, change: int) -> list[Any]:
    return [
        "It takes two texts a and b of the letters a to e, which may be empty. The text a is turned into b, from "
        "left to right, "
        "by steps each of which deals with letters of a that no other step touches:",
        f"removing a letter costs {delete}, and {dear} more for the removal {which}; inserting a letter costs "
        f"{insert}; replacing a "
        f"letter by a different one costs {change}; leaving a letter as it is costs nothing"
        + (
            f"; and exchanging two neighbouring letters of a, both of which then stay as they are, costs {swap}."
            if swap
            else "."
        ),
        "Return the least total cost.",
        "The texts may have 30 letters, so do not try all ways.",
    ]


def _edit(rng: Rng, tier: int) -> Draft:
    delete, insert, change = rng.integer(2, 9), rng.integer(2, 9), rng.integer(2, 9)
    swap = rng.integer(1, 5) if tier == 5 else 0
    dear, letter = rng.integer(1, 6), rng.choice("abcde")
    vowels = rng.chance(1, 2)
    special = "ae" if vowels else letter

    def rule(
        delete: int = delete, insert: int = insert, change: int = change, swap: int = swap, dear: int = dear
    ) -> Any:
        @lru_cache(maxsize=8192)
        def cost(a: str, b: str) -> int:
            if not a or not b:
                return len(a) * delete + sum(dear * (c in special) for c in a) + len(b) * insert
            ways = [cost(a[1:], b) + delete + dear * (a[0] in special), cost(a, b[1:]) + insert]
            ways.append(cost(a[1:], b[1:]) + change * (a[0] != b[0]))
            if swap and len(a) > 1 and len(b) > 1 and a[0] == b[1] and a[1] == b[0]:
                ways.append(cost(a[2:], b[2:]) + swap)
            return min(ways)

        return cost

    which = "of 'a' or 'e'" if vowels else f"of {letter!r}"
    test = f"a[i - 1] in {special!r}" if vowels else f"a[i - 1] == {letter!r}"
    swapping = (
        "            if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:\n"
        f"                ways.append(cost[i - 2][j - 2] + {swap})\n"
    )
    return Draft(
        head="solve(a: str, b: str) -> int",
        statement=_edit_statement(swap, delete, dear, which, insert, change),
        code=_EDIT.format(
            ready="",
            delete=f"{delete} + ({dear} if {test} else 0)",
            insert=insert,
            change=f"(0 if a[i - 1] == b[j - 1] else {change})",
            swap=swapping if swap else "",
        ),
        expected=rule(),
        inputs=_texts,
        edges=_EDGES,
        mistakes=[
            rule(delete=delete + 1),
            rule(delete=delete - 1),
            rule(insert=insert + 1),
            rule(insert=insert - 1),
            rule(change=change + 1),
            rule(change=change - 1),
            rule(dear=dear + 1),
            *([rule(swap=swap + 1), rule(swap=0)] if swap else []),
        ],
        needed=[rule(dear=0), rule(change=99)] + ([rule(swap=0)] if swap else []),
        heavy=_long,
        rules=tier,
    )


def _common(rng: Rng, tier: int) -> Draft:
    worths = [rng.integer(1, 12) for _ in range(5)]
    bonus = rng.integer(1, 5) if tier == 5 else 0
    near = rng.integer(1, 3)

    def rule(worths: list[int] = worths, bonus: int = bonus, near: int = near) -> Any:
        @lru_cache(maxsize=8192)
        def best(i: int, j: int, a: str, b: str) -> int:
            if i == len(a) or j == len(b):
                return 0
            found = [best(i + 1, j, a, b), best(i, j + 1, a, b)]
            if a[i] == b[j] and abs(i - j) <= near:
                found.append(best(i + 1, j + 1, a, b) + worths["abcde".index(a[i])] + bonus * (i == j))
            return max(found)

        return lambda a, b: best(0, 0, a, b)

    table = "{" + ", ".join(f"'{c}': {n}" for c, n in zip("abcde", worths, strict=True)) + "}"
    listed = ", ".join(f"{c} {n}" for c, n in zip("abcde", worths, strict=True))
    more = f" + ({bonus} if i == j else 0)" if bonus else ""
    nearly = [[n + (i == place) for i, n in enumerate(worths)] for place in range(5)]
    return Draft(
        head="solve(a: str, b: str) -> int",
        statement=[
            "It takes two texts a and b of the letters a to e, which may be empty. Letters of a are paired with "
            "letters of b: each letter "
            "with at most one, only with one that is equal, and without crossings (of two pairs, the one that is "
            "further right in a is also "
            "further right in b).",
            f"Two letters can be paired only if their indices differ by at most {near}.",
            f"A pair is worth as many points as its letter: {listed}"
            + (f"; it is worth {bonus} more if both letters have the same index." if bonus else "."),
            "Return the largest possible number of points.",
            "The texts may have 30 letters, so do not try all pairings.",
        ],
        code=_COMMON.format(
            ready=f"    points = {table}\n",
            near=f"a[i - 1] == b[j - 1] and abs(i - j) <= {near}",
            worth=f"points[a[i - 1]]{more}",
        ),
        expected=rule(),
        inputs=_texts,
        edges=(
            *_EDGES,
            ["e" * (near + 1) + "a", "ab"],
            ["a" + "e" * near, "c" * near + "a"],
            ["a", "c" * (near + 1) + "a"],
        ),
        mistakes=[
            rule(near=near + 1),
            rule(near=near - 1),
            *map(rule, nearly),
            *([rule(bonus=0), rule(bonus=bonus + 1)] if bonus else []),
        ],
        needed=[rule(near=99), *([rule(bonus=0)] if bonus else [])],
        heavy=_long,
        rules=tier,
    )
