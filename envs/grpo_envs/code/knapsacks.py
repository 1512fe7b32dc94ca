"""Filling a bag: weights, values, how often an item may be taken, bonuses, and what is asked for."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

from grpo_envs.code.draft import Draft, coding
from grpo_gym.rng import Rng

Items = list[list[int]]


def _code(copies: int, most: int, exact: bool, gone: int, ways: bool) -> str:
    """Return the program: a table by weight (and number of pieces) that is filled item after item."""
    head = "def solve(items: list[list[int]], room: int) -> int:"
    body = [
        head,
        f"    best = {{(0, 0): {'1' if ways else '0'}}}",
        "    for weight, value in items:",
        "        new = dict(best)",
        "        for (used, pieces), worth in best.items():",
        f"            for n in range(1, {copies + 1}):",
        "                total = used + n * weight",
    ]
    limits = "total > room" + (f" or pieces + n > {most}" if most else "")
    body += [f"                if {limits}:", "                    break"]
    key = "(total, pieces + n)" if most else "(total, 0)"
    if ways:
        body += [f"                key = {key}", "                new[key] = new.get(key, 0) + worth"]
    else:
        penalty = f" - ({gone} if n > 1 else 0)" if gone else ""
        body += [
            f"                key, gain = {key}, worth + n * value{penalty}",
            "                if key not in new or gain > new[key]:",
            "                    new[key] = gain",
        ]
    body += ["        best = new"]
    which = "[worth for (used, _), worth in best.items() if used == room]" if exact else "list(best.values())"
    body += [f"    found = {which}", "    return sum(found)" if ways else "    return max(found, default=-1)"]
    return "\n".join(body)


def _statement(
    gone: int, most: int, exact: bool, ways: bool, copies: int, tier: int, c: int, a: int, low: int, b: int
) -> list[Any]:
    return [
        "It takes a list of items [weight, value] of whole numbers, both at least 1 (the list may be empty), and "
        "a whole number "
        f"room, at least 0; a bag is to be filled. The bag holds a weight of room{f' + {c}' if c else ''}.",
        f"An item in the bag weighs {'its weight' if not low else f'its weight plus {low}'}"
        + ("." if ways else f" and counts {f'{a} times ' if a > 1 else ''}its value{f' plus {b}' if b else ''}."),
        "Each item of the list can be taken at most once."
        if copies == 1
        else f"Each item of the list can be taken up to {copies} times.",
        f"An item that is taken more than once loses {gone} in all (not for each piece)." if gone else "",
        f"At most {most} pieces may be in the bag." if most else "",
        "The bag must be filled to exactly the weight that it holds."
        if exact
        else "The bag may also be filled less, or stay empty.",
        "Return in how many ways it can be filled; two ways are different if some item of the list is taken a "
        "different "
        "number of times (items that look alike are still different items)."
        if ways
        else "Return the largest total that the items in the bag can count (an empty bag counts 0)"
        + (", and -1 if it cannot be filled so." if exact else "."),
        "There may be 30 items, so do not try all choices." if tier == 5 else "",
    ]


def _edges(room: int, c: int, low: int) -> tuple[Any, ...]:
    return (
        [[], 0],
        [[], 7],
        [[[3, 5]], room],
        [[[3, 5]], max(0, 3 + low - c)],
        [[[3, 5]], max(0, 2 + low - c)],
        [[[3, 5], [3, 5]], room],
        [[[1, 9], [1, 8], [1, 7], [1, 6]], max(0, 4 * (1 + low) - c)],
    )


def _rule(*, ways: bool, copies: int, most: int, exact: bool, gone: int, a: int, b: int, c: int, low: int) -> Any:
    def compute(items: Items, room: int) -> int:
        ready = [[w + low, a * v + b] for w, v in items]
        return _best(ready, room + c, copies, most, exact, gone, ways)

    return compute


def _mistakes(rule: Any, copies: int, exact: bool, c: int, low: int) -> list[Any]:
    return [rule(copies=copies + 1), rule(exact=not exact), rule(c=c + 1), rule(c=c - 1), rule(low=low + 1)]


@coding("code.knapsacks", tiers=(3, 4, 5))
def knapsacks(rng: Rng, tier: int) -> Draft:
    """Fill a bag best, or count the ways: each item once (tier 3), several times (4), of many items (5)."""
    copies = 1 if tier == 3 else rng.integer(2, 3)
    most = rng.integer(3, 5) if tier < 5 and rng.chance(1, 2) else 0
    exact = rng.chance(1, 2)
    ways = rng.chance(1, 3)
    a, b, c = rng.integer(1, 4), rng.integer(0, 5), rng.integer(0, 9)
    low = rng.integer(0, 3)
    gone = rng.integer(1, min(9, 2 * (a + b) - 1)) if copies > 1 and not ways else 0  # no item ever counts less than 0

    rule = partial(_rule, ways=ways, copies=copies, most=most, exact=exact, gone=gone, a=a, b=b, c=c, low=low)

    def inputs(rng: Rng) -> list[Any]:
        items = [[rng.integer(1, 9), rng.integer(1, 12)] for _ in range(rng.integer(1, 4 if copies > 1 else 6))]
        room = rng.integer(2, 24)
        if exact and rng.chance(2, 3):
            room = max(0, sum(w + low for w, _ in items if rng.chance(2, 3)) - c)
        return [items, room]

    def heavy(rng: Rng) -> list[Any]:
        p, q = rng.integer(3, 9), rng.integer(3, 9)
        return [[[[1 + i * p % 5, 1 + i * q % 17] for i in range(26)], 40]]

    code = _code(copies, most, exact, gone, ways)
    lines = code.splitlines()
    ready = [f"    room += {c}"] if c else []
    weight = f"weight + {low}" if low else "weight"
    value = f"{a} * value + {b}" if b else f"{a} * value" if a > 1 else "value"
    ready += [f"    items = [({weight}, {value}) for weight, value in items]"]
    code = "\n".join([lines[0], *ready, *lines[1:]])
    mistakes = _mistakes(rule, copies, exact, c, low)
    mistakes += [rule(copies=copies - 1)] if copies > 1 else []
    mistakes += [rule(most=most + 1), rule(most=most - 1)] if most else []
    mistakes += [] if ways else [rule(a=a + 1), rule(b=b + 1)]
    mistakes += [rule(gone=gone + 1)] if gone else []
    room = max(0, 2 * (3 + low) - c)
    return Draft(
        head="solve(items: list[list[int]], room: int) -> int",
        statement=_statement(gone, most, exact, ways, copies, tier, c, a, low, b),
        code=code,
        expected=rule(),
        inputs=inputs,
        edges=_edges(room, c, low),
        mistakes=mistakes,
        needed=[rule(most=0)] if most else [],
        heavy=heavy if tier == 5 else None,
        rules=tier + 1,
    )


def _best(items: Items, room: int, copies: int, most: int, exact: bool, gone: int, ways: bool) -> int:
    """Go down the list with the room and the pieces that are left, every state once."""

    @cache
    def rest(i: int, room: int, pieces: int) -> int | None:
        if i == len(items):
            return None if exact and room else int(ways)
        found: list[int] = []
        for n in range(min(copies, pieces, room // items[i][0]) + 1):
            below = rest(i + 1, room - n * items[i][0], pieces - n if most else pieces)
            if below is not None:
                found.append(below if ways else below + n * items[i][1] - gone * (n > 1))
        return (sum(found) if ways else max(found)) if found else None

    result = rest(0, room, most or 10**6)
    return result if result is not None else 0 if ways else -1
