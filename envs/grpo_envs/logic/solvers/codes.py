"""Secret codes: what a guess is told, which codes are left, and the guess that leaves least in the worst case.

A letter of the code answers for one letter of the guess only: places that agree are counted first, and of what is left
each letter as often as it stands in both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import product
from operator import eq

TRIED = 50
"""Codes that may still be right which are weighed as the next guess: with all of them, a turn could take seconds."""

Told = tuple[int, int]
"""Letters in place, and letters elsewhere."""


def told(code: str, guess: str) -> Told:
    """Return what a guess is told: the letters in place, and the letters that stand elsewhere in the code."""
    in_place = sum(map(eq, code, guess))
    common = sum(min(code.count(letter), guess.count(letter)) for letter in dict.fromkeys(guess))
    return in_place, common - in_place


def all_codes(letters: str, places: int) -> list[str]:
    """Return every code, in the order of the letters."""
    return list(map("".join, product(letters, repeat=places)))


def left(codes: Iterable[str], guess: str, answer: Told) -> list[str]:
    """Return the codes for which a guess is told this."""
    return [code for code in codes if told(code, guess) == answer]


def best_guess(codes: Sequence[str]) -> str:
    """Return, of codes that may all be right, the first that leaves the fewest in the worst case."""
    if len(codes) <= 2:
        return codes[0]
    step = -(-len(codes) // TRIED)
    return min(codes[::step], key=lambda guess: max(Counter(told(code, guess) for code in codes).values()))


def opening(letters: str, places: int) -> str:
    """Return the guess that `best_guess` would begin with."""
    pattern = _opening(len(letters), places)
    return "".join(letters[k] for k in pattern)


@lru_cache
def _opening(count: int, places: int) -> tuple[int, ...]:
    """Return the first guess as numbers of letters: weighed once, for it hides nothing but how many there are."""
    letters = "abcdefgh"[:count]
    return tuple(letters.index(letter) for letter in best_guess(all_codes(letters, places)))


def worst_turns(codes: Sequence[str], guess: str) -> tuple[int, int]:
    """Return the most turns that the strategy takes from here, and the sum over all codes, beginning with a guess."""
    classes: dict[Told, list[str]] = {}
    for code in codes:
        classes.setdefault(told(code, guess), []).append(code)
    most, total = 1, len(codes)
    for answer, rest in classes.items():
        if answer[0] < len(guess):
            deeper, more = worst_turns(rest, best_guess(rest))
            most, total = max(most, 1 + deeper), total + more
    return most, total
