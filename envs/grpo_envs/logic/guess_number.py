"""Guess a number from "higher" and "lower": the small interactive task, one episode of several turns."""

from __future__ import annotations

import re

from grpo_gym.problem import Problem
from grpo_gym.reward import Reward
from grpo_gym.rng import Rng
from grpo_gym.task import Transcript, Turn, task
from grpo_gym.verdict import Reason, Verdict
from grpo_rewards.math.boxes import boxes
from grpo_rewards.math.extract import answer_in
from grpo_rewards.text import outside_thoughts

MAX_TURNS = 10
LARGEST = (8_000, 16_000, 32_000, 64_000, 128_000, 256_000)
"""Upper end of the widest interval by tier."""
WIDTH = (4, 8, 16, 64, 256, 1_000)
"""How many numbers are possible, by tier: binary search needs 2 to 10 guesses."""

LONGEST = 10_000
"""Characters at the end of a turn that are read."""

_NUMBER = re.compile(r"(?<![\d,])\d{1,3}(?:\{?,\}?\d{3}){1,2}(?![\d,])|(?<!\w)-?\d{1,9}(?!\w)", re.ASCII)
_GUESS = re.compile(
    r"\b(?:guess(?:ing|es)?(?: is)?|(?:i|i'll|i will|let me) (?:try|say|choose|pick|take|name))\b[\s:*]{0,5}(?=-?\d)"
    r"(-?[\d,]{1,12}\d|\d)(?!\d|[\s,*]{0,5}(?:(?:or|and|to)\b|-?\d))",
    re.IGNORECASE | re.ASCII,
)


class GuessReward(Reward):
    """Judges a lone guess, for tools that score without an episode."""

    def score(self, response: str, problem: Problem) -> Verdict:
        """Return 1.0 when the response names exactly one number and it is the right one."""
        guess = read_guess(response)
        if guess is None:
            return Verdict(0.0, Reason.NO_ANSWER, feedback="name exactly one whole number")
        return Verdict(1.0, Reason.CORRECT) if guess == int(problem.reference) else Verdict(0.0, Reason.WRONG)


class Guessing:
    """One episode: answers "higher" or "lower" until the number is named."""

    def __init__(self, problem: Problem) -> None:
        self.secret = int(problem.reference)

    def reply(self, action: str) -> Turn:
        """Compare the guess with the number. A turn that names no single number is used up all the same."""
        guess = read_guess(action)
        if guess is None:
            return Turn("Say one whole number.")
        if guess == self.secret:
            return Turn("Right.", Verdict(1.0, Reason.CORRECT))
        return Turn("Higher." if guess < self.secret else "Lower.")

    def give_up(self) -> Verdict:
        """Out of turns."""
        return Verdict(0.0, Reason.WRONG, feedback=f"the number was {self.secret}")


def read_guess(text: str) -> int | None:
    r"""Return the one whole number that a turn names, None when there is none or more than one.

    It stands in `\boxed{...}`, behind "the answer is" or "I guess", alone on the last line, or nowhere else.
    """
    text = text.strip()
    if text.isascii() and text.isdigit() and len(text) < 10:
        return int(text)
    visible = outside_thoughts(text)[-LONGEST:].strip()
    inside = boxes(visible)
    marked = answer_in(visible, inside)
    if marked.hedged:
        return None
    if marked.text is not None and marked.marked:
        return _only(marked.text)
    if (number := _only(visible)) is not None:
        return number
    guesses = {_only(guess) for guess in _GUESS.findall(visible)}
    if len(guesses) == 1:
        return guesses.pop()
    alone = {line.strip(" *.") for line in visible.splitlines() if _NUMBER.fullmatch(line.strip(" *."))}
    return _only(alone.pop()) if len(alone) == 1 and _NUMBER.fullmatch(visible.splitlines()[-1].strip(" *.")) else None


def _only(text: str) -> int | None:
    """Return the one whole number in a text."""
    found = _NUMBER.findall(text)
    return int(re.sub(r"[{},]", "", found[0])) if len(found) == 1 else None


def bisect(problem: Problem, transcript: Transcript) -> str:
    """The oracle: halve the interval that the answers so far leave."""
    low, high = problem.meta["low"], problem.meta["high"]
    guess = None
    for role, text in transcript:
        if role == "policy":
            guess = read_guess(text)
        elif guess is not None and text == "Higher.":
            low = guess + 1
        elif guess is not None and text == "Lower.":
            high = guess - 1
    return str((low + high) // 2)


def turns_of_bisection(problem: Problem) -> float:
    """Return how many guesses the oracle takes for this number."""
    low, high, turns = problem.meta["low"], problem.meta["high"], 1
    while (guess := (low + high) // 2) != int(problem.reference):
        low, high = (guess + 1, high) if guess < int(problem.reference) else (low, guess - 1)
        turns += 1
    return float(turns)


def at_once(problem: Problem, rng: Rng) -> str:
    """Name any number of the interval, as somebody who does not wait for an answer: the weak solver."""
    return str(rng.integer(problem.meta["low"], problem.meta["high"]))


@task(
    "logic.guess_number",
    reward=GuessReward(),
    answer_format="Guess one whole number per turn; you are told Higher, Lower or Right.",
    default_tiers=(0, 1),
    oracle=bisect,
    dialogue=Guessing,
    max_turns=MAX_TURNS,
    effort=turns_of_bisection,
    guess=at_once,
    floors={"copied part": 0.3, "constant answer": 0.3, "leaks": 0.6},  # the interval's ends are possible numbers
)
def guess_number(rng: Rng, tier: int) -> Problem:
    """Find a number in an interval by guesses that are answered Higher or Lower."""
    low = rng.integer(1, LARGEST[tier])
    high = low + WIDTH[tier] - 1
    secret = rng.integer(low, high)
    prompt = f"I think of a whole number from {low} to {high}."
    return Problem(prompt, str(secret), solution=str(secret), meta={"low": low, "high": high}, variant=str(secret))
