"""Find all hands of four numbers that make 24, and how many of the ways to combine them do.

`python -m grpo_envs.logic.solvers.game24_store` writes `game24.txt`, which the task draws from. A line holds a tier,
how many of the ways are right, and hands in base 36, a digit a number.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from itertools import combinations_with_replacement, product
from pathlib import Path

STORE = Path(__file__).with_name("game24.txt")
TARGET = 24
LARGEST = 30
"""The largest number of a hand. Cards end at 13, which would be 1,400 hands: too few for six tiers."""

WAYS = 3_888
"""Ways to combine four numbers, two at a time: 6 pairs by 6 operations, then 3 pairs, then 1."""

LEAST = (0, 12, 8, 6, 3, 1)
"""The least number of right ways by tier, but for tier 0, whose hands sums and differences solve."""

A_LINE = 20
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"

Hand = tuple[int, ...]


@cache
def stored(tier: int) -> list[tuple[Hand, int]]:
    """Return a tier's hands, each with how many of its ways are right."""
    hands = []
    for line in STORE.read_text(encoding="ascii").splitlines():
        of, ways, *words = line.split()
        if int(of) == tier:
            hands += [(tuple(int(digit, 36) for digit in word), int(ways)) for word in words]
    return hands


def right_ways(numbers: list[float]) -> int:
    """Return how many of the ways to combine numbers, two at a time, give the target."""
    if len(numbers) == 1:
        return abs(numbers[0] - TARGET) < 1e-9
    found = 0
    for i, a in enumerate(numbers):
        for j in range(i):
            b = numbers[j]
            rest = [number for k, number in enumerate(numbers) if k not in (i, j)]
            made = [a + b, a - b, b - a, a * b, *([a / b] if b else []), *([b / a] if a else [])]
            found += sum(right_ways([*rest, value]) for value in made)
    return found


def is_sum(hand: Hand) -> bool:
    """Whether plus and minus signs are enough."""
    return any(sum(map(int.__mul__, signs, hand)) == TARGET for signs in product((1, -1), repeat=len(hand)))


def make() -> list[str]:
    """Return the lines of the store."""
    tiers: dict[tuple[int, int], list[str]] = defaultdict(list)
    given = [number for number in range(1, LARGEST + 1) if number != TARGET]
    for hand in combinations_with_replacement(given, 4):
        ways = right_ways([float(number) for number in hand])
        if ways:
            tier = 0 if is_sum(hand) else next(k for k, least in enumerate(LEAST) if k and ways >= least)
            tiers[tier, ways].append("".join(_DIGITS[number] for number in hand))
    return [
        " ".join([str(tier), str(ways), *words[start : start + A_LINE]])
        for (tier, ways), words in sorted(tiers.items())
        for start in range(0, len(words), A_LINE)
    ]


if __name__ == "__main__":
    STORE.write_text("\n".join(make()) + "\n", encoding="ascii")
