"""Games of two with heaps: who wins, and with which move, by a drawn set of moves; heaps too big for recursion."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from grpo_envs.code.draft import Draft, coding
from grpo_gym.rng import Rng

_CODE = """MOVES = {moves}


def solve({arguments}) -> {kind}:
    limit = {largest}
    wins = [False] * (limit + 1)
    for n in range(limit + 1):
        moves = [m for m in MOVES if m <= n]
{extra}        if moves:
            wins[n] = any(not wins[n - m] for m in moves)
        else:
            wins[n] = {stuck}
{last}
"""

_NIM = """MOVES = {moves}


def solve(heaps: list[int]) -> {kind}:
    values = []
    for n in range(max(heaps, default=0) + 1):
        reached = {{values[n - m] for m in MOVES if m <= n}}
{split}        value = 0
        while value in reached:
            value += 1
        values.append(value)
    total = 0
    for heap in heaps:
        total ^= values[heap]
{last}
"""

_LAST = {
    "count": (
        "how many of the numbers n from 0 to limit, both included, are such that the player who begins with a heap "
        "of n "
        "wins",
        "int",
        "    return sum(wins)",
    ),
    "largest": (
        "the largest n from 0 to limit, both included, such that the player who begins with a heap of n loses, and "
        "-1 if "
        "there is none",
        "int",
        "    return max((n for n in range(limit + 1) if not wins[n]), default=-1)",
    ),
    "losing": (
        "the list of the last five (or all, if there are fewer) of the numbers n from 0 to limit, both included, "
        "such that the "
        "player who begins with a heap of n loses, in ascending order",
        "list[int]",
        "    return [n for n in range(limit + 1) if not wins[n]][-5:]",
    ),
}


def _winner(moves: list[int], misere: bool, half: bool, forbidden: int) -> Any:
    """Return the function that says, by recursion, whether the player to move wins."""

    @lru_cache(maxsize=4096)
    def wins(n: int) -> bool:
        after = [n - m for m in moves if n - m >= 0]
        if half and n >= 2 and n % 2 == 0:
            after.append(n // 2)
        if forbidden:
            after = [rest for rest in after if rest % forbidden != 0 or rest == 0]
        return not all(map(wins, after)) if after else misere

    return wins


def _values(moves: list[int], split: bool, largest: int) -> list[int]:
    """Return the Grundy values of heaps of up to `largest`."""
    values: list[int] = []
    for n in range(largest + 1):
        seen = [values[n - m] for m in moves if m <= n]
        if split:
            seen += [values[a] ^ values[n - a] for a in range(1, n // 2 + 1)]
        values.append(next(v for v in range(len(seen) + 1) if v not in seen))
    return values


@coding("code.games", tiers=(3, 4, 5))
def games(rng: Rng, tier: int) -> Draft:
    """Subtraction games of one heap (tier 3), with further moves and forbidden rests (4), and of several heaps (5)."""
    moves = sorted(rng.sample(range(1, 16), rng.integer(3, 4)))
    return _one_heap(rng, tier, moves) if tier < 5 else _heaps(rng, moves)


def _one_heap(rng: Rng, tier: int, moves: list[int]) -> Draft:
    misere, half = rng.chance(1, 2), tier == 4 and rng.chance(1, 2)
    forbidden = rng.integer(3, 7) if tier == 4 else 0
    kind = rng.choice(list(_LAST))

    def rule(
        moves: list[int] = moves, misere: bool = misere, half: bool = half, forbidden: int = forbidden, off: int = 0
    ) -> Any:
        wins = _winner(moves, misere, half, forbidden)

        def compute(limit: int) -> Any:
            results = [wins(n) for n in range(limit + 1 + off)]
            losing = [n for n, win in enumerate(results) if not win]
            if kind == "count":
                return len(results) - len(losing)
            return losing[-5:] if kind == "losing" else max(losing, default=-1)

        return compute

    words, result, last = _LAST[kind]
    extra = "        if n >= 2 and n % 2 == 0:\n            moves.append(n // 2)\n" if half else ""
    extra += f"        moves = [m for m in moves if (n - m) % {forbidden} != 0 or n == m]\n" if forbidden else ""
    mistakes = [
        rule(misere=not misere),
        rule(off=1),
        rule(off=-1),
        rule(moves[1:]),
        rule(moves[:-1]),
        rule([*moves[:-1], moves[-1] + 1]),
    ]
    mistakes += [rule(half=False)] if half else []
    mistakes += [rule(forbidden=0), rule(forbidden=forbidden + 1)] if forbidden else []
    return Draft(
        head=f"solve(limit: int) -> {result}",
        statement=[
            f"Two players take turns at a heap of n things. Whoever is to move takes {_either(moves)} things away "
            "(never more than "
            "there are)"
            + (", or, if the number of things is even and at least 2, exactly half of them." if half else "."),
            f"No move may leave a number of things that is a multiple of {forbidden}, except 0." if forbidden else "",
            f"A player who cannot move {'wins' if misere else 'loses'}. Both play as well as possible.",
            f"Given limit, a whole number that is at least 0, return {words}.",
            "The limit may be as large as 400, so do not try all games." if tier == 4 else "",
        ],
        code=_CODE.format(
            moves=moves, arguments="limit: int", kind=result, largest="limit", extra=extra, stuck=misere, last=last
        ).replace("    limit = limit\n", ""),
        expected=rule(),
        inputs=lambda rng: [rng.integer(3, 45)],
        edges=([0], [1], [moves[0] - 1], [moves[0]], [moves[-1]], [moves[-1] + 1]),
        mistakes=mistakes,
        needed=([rule(half=False)] if half else []) + ([rule(forbidden=0)] if forbidden else []),
        heavy=(lambda rng: [[400]]) if tier == 4 else None,
        rules=tier + 1,
    )


def _heap_statement(words: str, split: bool, moves: list[int]) -> list[Any]:
    return [
        "Two players take turns at several heaps of things. Whoever is to move chooses one heap and takes "
        f"{_either(moves)} things "
        "away from it (a taking move; never more than there are)"
        + (", or parts a heap of at least two things into two heaps that are not empty." if split else "."),
        "A player who cannot move loses. Both play as well as possible.",
        "Given the list of the numbers of things in the heaps (it may be empty, numbers may be 0):",
        words,
        "A heap may hold 200 things, so do not try all games.",
    ]


def _asked(kind: str, fair: int) -> tuple[str, str, str]:
    return {
        "value": (
            "If the player who begins loses, return -1. Otherwise let g be the Grundy value of the whole position "
            "(the bitwise "
            "exclusive or of the values of its heaps, where the value of a heap is the smallest whole number, from "
            "0 on, that no move "
            f"from it leads to), and s the number of things in all heaps; return (g * {fair} + s) % 101.",
            "int",
            f"    return (total * {fair} + sum(heaps)) % 101 if total else -1",
        ),
        "moves": (
            "Return how many taking moves of the player who begins lead to a position in which the other player, to "
            "move, loses; "
            "moves are different if they take from different heaps of the list or different numbers of things.",
            "int",
            "    return sum(values[h] ^ values[h - m] == total for h in heaps for m in MOVES if m <= h)",
        ),
        "first": (
            "Return a taking move [index of the heap, number of things taken] of the player who begins after which "
            "the other player, "
            "to move, loses: of all such moves the one with the smallest index and, for that heap, the smallest "
            "number. "
            "Return [] if there is none.",
            "list[int]",
            "    good = [[i, m] for i, h in enumerate(heaps) for m in MOVES if m <= h and values[h] ^ values[h - m] "
            "== total]\n"
            "    return good[0] if good else []",
        ),
    }[kind]


def _heaps(rng: Rng, moves: list[int]) -> Draft:
    split, kind = rng.chance(1, 2), rng.choice(("value", "moves", "first"))
    fair = rng.integer(2, 9)

    def rule(moves: list[int] = moves, split: bool = split, plus: int = 0) -> Any:
        table = _values(moves, split, 30)

        def compute(heaps: list[int]) -> Any:
            values = table if max(heaps, default=0) <= 30 else _values(moves, split, max(heaps))
            total = plus
            for heap in heaps:
                total ^= values[heap]
            good = [[i, m] for i, h in enumerate(heaps) for m in moves if m <= h and values[h] ^ values[h - m] == total]
            if kind == "value":
                return (total * fair + sum(heaps)) % 101 if total else -1
            if kind == "moves":
                return len(good)
            return good[0] if good else []

        return compute

    words, result, last = _asked(kind, fair)
    splitting = "        reached |= {values[a] ^ values[n - a] for a in range(1, n // 2 + 1)}\n" if split else ""

    def inputs(rng: Rng) -> list[Any]:
        return [[rng.integer(0, 28) for _ in range(rng.integer(1, 4))]]

    return Draft(
        head=f"solve(heaps: list[int]) -> {result}",
        statement=_heap_statement(words, split, moves),
        code=_NIM.format(moves=moves, kind=result, split=splitting, last=last),
        expected=rule(),
        inputs=inputs,
        edges=([[]], [[0]], [[1]], [[moves[0]]], [[moves[-1], moves[-1]]], [[2, 3, 5]], [[13, 0, 26, 13]]),
        mistakes=[rule(moves[1:]), rule(moves[:-1]), rule(split=not split), rule([*moves[:-1], moves[-1] + 1])],
        needed=[rule(split=False)] if split else [],
        heavy=lambda rng: [[[rng.integer(100, 120), rng.integer(60, 90), 41]]],
        rules=6,
    )


def _either(moves: list[int]) -> str:
    return f"{', '.join(map(str, moves[:-1]))} or {moves[-1]}"
