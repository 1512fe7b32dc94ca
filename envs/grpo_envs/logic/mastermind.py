"""Mastermind: find a secret code from what is told about each guess, within as many guesses as a good player needs."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from grpo_envs.boxed import boxed
from grpo_envs.logic.solvers.codes import Told, all_codes, best_guess, left, opening, told
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import Transcript, Turn, task
from grpo_gym.verdict import Reason, Verdict
from grpo_rewards.logic import Findings, PuzzleReward, UnreadError
from grpo_rewards.logic.reading import answer_text

LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ"
"""Those that are no digit at a glance."""

LISTED = 9
"""Codes that the oracle writes down before it chooses one."""

LONGEST = 20_000
"""Characters of a turn that are read."""

_SAID = re.compile(r"Guess (?P<guess>[A-Z]+): (?P<in_place>\d) in place, (?P<elsewhere>\d) elsewhere\.")


@dataclass(frozen=True)
class Size:
    """What a tier hides.

    Attributes:
        places: Letters of the code.
        letters: Different letters that there are.
        turns: Guesses that are allowed: the most that the oracle takes for any code.
    """

    places: int
    letters: int
    turns: int


SIZES = (Size(2, 3, 4), Size(3, 3, 4), Size(3, 4, 5), Size(4, 4, 5), Size(4, 5, 6), Size(4, 6, 6))
"""By tier."""

Step = tuple[str, Told]
"""A guess and what it was told."""


class Breaking:
    """One episode: tells about guesses until the code is found or the guesses are used up."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.steps: list[Step] = []
        self.turns_left = int(problem.meta["turns"])

    def reply(self, action: str) -> Turn:
        """Compare the guess with the code. What is no guess, or cannot be right any more, is used up all the same."""
        self.turns_left -= 1
        try:
            guess = read(final(action), self.problem)
        except UnreadError as error:
            return self._turn(f"No guess: {error}.", error.reason)
        answer = told(self.problem.reference, guess)
        if guess == self.problem.reference:
            return Turn("Right.", Verdict(1.0, Reason.CORRECT))
        against = next((earlier for earlier, known in self.steps if told(guess, earlier) != known), None)
        self.steps.append((guess, answer))
        doubt = f" It could not be right: see what {against} was told." if against else ""
        return self._turn(f"Guess {guess}: {answer[0]} in place, {answer[1]} elsewhere.{doubt}", Reason.WRONG)

    def give_up(self) -> Verdict:
        """Out of turns."""
        return self._lost(Reason.WRONG)

    def _turn(self, said: str, reason: Reason) -> Turn:
        if self.turns_left <= 0:
            return Turn(said, self._lost(reason))
        return Turn(f"{said} {self.turns_left} {'guesses' if self.turns_left > 1 else 'guess'} left.")

    def _lost(self, reason: Reason) -> Verdict:
        return Verdict(0.0, reason, feedback=f"the code was {self.problem.reference}")


def final(action: str) -> str:
    """Return the final answer of a turn. Raises UnreadError; turn after turn, a long text would cost too much."""
    if len(action) > LONGEST:
        raise UnreadError(f"a turn of {len(action)} characters, {LONGEST} are read", Reason.TOO_BIG)
    return answer_text(action)


def read(text: str, problem: Problem) -> str:
    """Read one code: "ABA", "A B A", "a, b, a". Raises UnreadError."""
    letters, places = problem.meta["letters"], problem.meta["places"]
    code = re.sub(r"[\s,]+", "", text).upper() if len(text) <= 4 * places else ""
    if len(code) != places or any(letter not in letters for letter in code):
        raise UnreadError(f"a guess is {places} letters, each one of {', '.join(letters)}")
    return code


def check(code: str, problem: Problem) -> Findings:
    """Judge a lone guess, for tools that score without an episode."""
    in_place, elsewhere = told(problem.reference, code)
    return Findings([] if code == problem.reference else [f"{in_place} in place, {elsewhere} elsewhere"])


def what_was_said(transcript: Transcript) -> list[Step]:
    """Return the guesses of an episode so far, and what they were told."""
    said = [_SAID.match(text) for role, text in transcript if role == "environment"]
    return [(match["guess"], (int(match["in_place"]), int(match["elsewhere"]))) for match in said if match]


def sift(problem: Problem, transcript: Transcript) -> str:
    """The oracle: of the codes that agree with all that was told, one that leaves the fewest in the worst case."""
    return _played(problem, transcript, best_guess)


def first_left(problem: Problem, transcript: Transcript) -> str:
    """A simpler player: the first code that agrees with all that was told. It may need more guesses than there are."""
    return _played(problem, transcript, lambda codes: codes[0])


def _played(problem: Problem, transcript: Transcript, choose: Callable[[list[str]], str]) -> str:
    letters, places = problem.meta["letters"], problem.meta["places"]
    steps = what_was_said(transcript)
    codes = all_codes(letters, places)
    for guess, answer in steps:
        codes = left(codes, guess, answer)
    guess = opening(letters, places) if choose is best_guess and not steps else choose(codes)
    rest = f"Left: {' '.join(codes)}\n" if len(codes) <= LISTED else ""
    return f"{rest}\\boxed{{{guess}}}"


def any_code(problem: Problem, rng: Rng) -> str:
    """The weak solver: any code."""
    letters = problem.meta["letters"]
    return f"\\boxed{{{''.join(rng.choice(letters) for _ in range(problem.meta['places']))}}}"


def number_of_codes(problem: Problem) -> float:
    """Return how many codes there are."""
    return float(len(problem.meta["letters"]) ** problem.meta["places"])


@task(
    "logic.mastermind",
    reward=PuzzleReward(read, check),
    answer_format=r"Put one guess per turn in a box, such as \boxed{AAB}.",
    answer=boxed,
    default_tiers=(0, 1),
    oracle=sift,
    dialogue=Breaking,
    max_turns=max(size.turns for size in SIZES),
    effort=number_of_codes,
    guess=any_code,
)
def mastermind(rng: Rng, tier: int) -> Problem:
    """Find a code of two letters of three (0) to four letters of six (5), in four to six guesses."""
    size = SIZES[tier]
    letters = "".join(sorted(rng.sample(LETTERS, size.letters)))
    code = "".join(rng.choice(letters) for _ in range(size.places))
    prompt = (
        f"I hide a code of {size.places} letters, each of them one of {', '.join(letters)}; a letter may come more "
        f"than once. You have {size.turns} guesses. I tell you how many letters of a guess are in place, and how many "
        "of the others stand elsewhere in the code, where each letter of the code answers for one letter of the guess."
    )
    meta = {"letters": letters, "places": size.places, "turns": size.turns}
    return Problem(prompt, code, solution=f"\\boxed{{{code}}}", meta=meta, variant=code)
