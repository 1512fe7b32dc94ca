"""Sums, differences and products in letters: each letter stands for a digit, and there is one solution.

Numbers are drawn and written in letters; some letters are given. In the first tiers one letter is open in each column,
so that the solution follows without a try. Beyond, letters are open as long as a search through all digits finds no
second solution: where it does, a letter by which the two differ is given.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from grpo_envs.boxed import boxed
from grpo_envs.logic.solvers.columns import Columns, Solver, one_a_column, without_carries, working
from grpo_gym.problem import Problem
from grpo_gym.reward import Probe
from grpo_gym.rng import Rng
from grpo_gym.task import task
from grpo_rewards.logic import Findings, PuzzleReward
from grpo_rewards.logic.reading import assignments

ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ"
"""No I and no O, which look like digits."""


class Size(NamedTuple):
    """A tier's numbers: digits of each of the two that are combined, signs, and how many letters are open at most."""

    digits: int
    signs: str
    open: int


SIZES = (
    Size(2, "+", 0),
    Size(4, "+", 0),
    Size(3, "+-", 5),
    Size(3, "+-*", 6),
    Size(4, "+-*", 7),
    Size(5, "+-*", 8),
)
"""By tier; 0 letters open at most: one a column."""


def as_sum(words: list[str], sign: str) -> Columns:
    """Return the columns of an equation as it is written: a difference is read backwards, as a sum."""
    first, second, result = words
    return Columns([second, result, first] if sign == "-" else words, sign == "*")


def puzzle(problem: Problem) -> tuple[Columns, dict[str, int]]:
    """Return the columns and the given digits."""
    return as_sum(problem.meta["words"], problem.meta["sign"]), problem.meta["given"]


def read(text: str, problem: Problem) -> dict[str, int]:
    """Read a digit for every letter. Raises UnreadError."""
    letters = sorted(set("".join(problem.meta["words"])))
    return {letter: int(digit) for letter, digit in assignments(text, letters, "0123456789").items()}


def check(digits: dict[str, int], problem: Problem) -> Findings:
    """Check that given digits are kept, letters differ, no number begins with 0, and the equation holds."""
    columns, given = puzzle(problem)
    broken = [
        f"{letter} is {given[letter]}, not {digits[letter]}" for letter in given if digits[letter] != given[letter]
    ]
    letters = sorted(digits)
    broken += [
        f"{one} and {two} are both {digits[one]}"
        for k, one in enumerate(letters)
        for two in letters[k + 1 :]
        if digits[one] == digits[two]
    ]
    broken += [f"a number begins with {letter} = 0" for letter in sorted(columns.leading) if digits[letter] == 0]
    if not columns.fits(digits):
        broken.append(f"{_in_digits(problem.meta['words'], problem.meta['sign'], digits)} is wrong")
    return Findings(broken)


def _in_digits(words: list[str], sign: str, digits: Mapping[str, int]) -> str:
    first, second, result = ("".join(str(digits[letter]) for letter in word) for word in words)
    return f"{first} {sign} {second} = {result}"


def _listed(digits: Mapping[str, int]) -> str:
    return ", ".join(f"{letter} = {digits[letter]}" for letter in sorted(digits))


def others(problem: Problem) -> Iterable[str]:
    """Write the digits otherwise: with colons, as a sentence, backwards, a line a letter."""
    pairs = [pair.split(" = ") for pair in str(problem.reference).split(", ")]
    return [
        f"\\boxed{{{', '.join(f'{letter}: {digit}' for letter, digit in pairs)}}}",
        f"\\boxed{{{', '.join(f'{letter}={digit}' for letter, digit in reversed(pairs))}}}",
        "Answer:\n" + "\n".join(f"{letter} = {digit}" for letter, digit in pairs),
        f"\\boxed{{{' and '.join(f'{letter} is {digit}' for letter, digit in pairs)}}}",
    ]


def solutions(problem: Problem) -> Iterable[str]:
    """Search for solutions from nothing: there is one."""
    return [f"\\boxed{{{_listed(found)}}}" for found in Solver(*puzzle(problem)).found]


def digits_tried(problem: Problem) -> float:
    """How many combinations of digits a search through all of them tries."""
    return float(Solver(*puzzle(problem)).tried)


def hasty(problem: Problem, rng: Rng) -> str:
    """Fill the columns and forget what is carried."""
    return f"\\boxed{{{_listed(without_carries(*puzzle(problem), rng))}}}"


def hostile() -> tuple[Probe, ...]:
    """Answers that try to be paid without being right."""
    return (
        Probe("all letters alike", lambda p: f"\\boxed{{{_listed(dict.fromkeys(''.join(p.meta['words']), 0))}}}"),
        Probe("a letter twice", lambda p: f"\\boxed{{{p.reference}, {p.reference[0]} = 9, {p.reference[0]} = 8}}"),
        Probe("the given letters alone", lambda p: f"\\boxed{{{_listed(p.meta['given'])}}}"),
    )


@task(
    "logic.cryptarithm",
    reward=PuzzleReward(read, check, hostile=hostile),
    answer_format=r"Answer with the digit of every letter in \boxed{}, like \boxed{A = ..., B = ...}.",
    answer=boxed,
    default_tiers=(0, 1),
    equivalents=others,
    solver=solutions,
    effort=digits_tried,
    guess=hasty,
)
def cryptarithm(rng: Rng, tier: int) -> Problem:
    """Find digits: a sum with one open letter a column (tiers 0, 1), then ever more open letters, also in products."""
    size = SIZES[tier]
    sign = rng.choice(size.signs)
    words, digits = _in_letters(rng, _numbers(rng, size.digits, sign))
    columns = as_sum(words, sign)
    if size.open:
        asked = _asked(columns, digits, rng.sample(columns.letters, min(size.open, len(columns.letters))))
    else:
        asked = one_a_column(columns, rng)
    given = {letter: digits[letter] for letter in columns.letters if letter not in asked}
    known = f" Given are {', '.join(f'{letter} = {digit}' for letter, digit in given.items())}." if given else ""
    prompt = (
        f"In {words[0]} {sign} {words[1]} = {words[2]} every letter stands for a digit, different letters for "
        f"different digits, and no number begins with 0.{known} Which digit does each letter stand for?"
    )
    reference = _listed(digits)
    solution = "\n".join([*working(columns, given, digits), f"\\boxed{{{reference}}}"])
    return Problem(prompt, reference, solution, {"words": words, "sign": sign, "given": given})


def _numbers(rng: Rng, digits: int, sign: str) -> list[int]:
    """Draw two numbers and what they make."""
    first, second = (rng.integer(10 ** (digits - 1), 10**digits - 1) for _ in range(2))
    if sign == "*":
        second = rng.integer(2, 9)
        return [first, second, first * second]
    return [first, second, first + second] if sign == "+" else [first + second, first, second]


def _in_letters(rng: Rng, numbers: list[int]) -> tuple[list[str], dict[str, int]]:
    """Write numbers in random letters."""
    letters = dict(zip("0123456789", rng.sample(ALPHABET, 10), strict=True))
    words = ["".join(letters[digit] for digit in str(number)) for number in numbers]
    used = set("".join(words))
    return words, {letter: int(digit) for digit, letter in letters.items() if letter in used}


def _asked(columns: Columns, digits: Mapping[str, int], asked: list[str]) -> list[str]:
    """Return letters of those to be asked for that have one solution: one by which two solutions differ is given."""
    while True:
        given = {letter: digit for letter, digit in digits.items() if letter not in asked}
        found = Solver(columns, given).found
        if len(found) == 1:
            return asked
        differing = next(letter for letter in asked if found[0][letter] != found[1][letter])
        asked = [letter for letter in asked if letter != differing]
