"""Twenty questions: find out who is meant by yes-or-no questions, hardly more of them than halving needs.

A question is one bit, however long it is: n turns, the last of which names the person, can tell at most 2^(n-1) people
apart. From tier 2 on there are so many, or nearly, and a question that halves them must be looked for. A wrong name
ends the game: else one would name one after the other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from grpo_envs.logic.solvers.questions import (
    MOST_CONDITIONS,
    MOST_NAMES,
    NoQuestionError,
    Person,
    Question,
    best_question,
    can_be_found,
    read_question,
)
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import Transcript, Turn, task
from grpo_gym.verdict import Reason, Verdict
from grpo_rewards.logic import Findings, PuzzleReward, UnreadError
from grpo_rewards.logic.reading import plain
from grpo_rewards.math.boxes import boxes
from grpo_rewards.text import outside_thoughts

_NAMES = (
    "Abel Ada Agnes Alma Amos Anna Arno Bea Ben Bert Carl Cleo Clara Cora Dan Dina Dora Earl Eli Ella Emil Emma Enid "
    "Erik Eva Finn Flora Fred Gail Gina Greta Gus Hana Hugo Ida Igor Ines Ivan Jack Jana Joel Jon Judy Kai Kara Karl "
    "Kim Lars Lea Leo Lily Lisa Luis Mara Marc Maud Max Mia Mona Nell Nina Noah Nora Olaf Olga Omar Otto Paul Pia "
    "Rita Rosa Ruth Sam Sara Saul Tara Theo Tim Tina Tom Una Vera Vic Wanda Will Yara Yves Zeno"
)
NAMES = _NAMES.split()
HATS = ("red", "blue", "green", "white")
PETS = ("cat", "dog", "hen", "fish")
FLOORS = 9

MOST_DRAWS = 1_000
LONGEST = 20_000
"""Characters of a turn that are read."""

EXAMPLE = "ask: hat is red and floor > 4"

_MOVE = re.compile(r"(ask|name) ?: ?(.*)", re.IGNORECASE)


@dataclass(frozen=True)
class Size:
    """What a tier asks.

    Attributes:
        people: Among how many one is meant.
        turns: Questions and names that are allowed together.
    """

    people: int
    turns: int


SIZES = (Size(8, 5), Size(12, 5), Size(16, 5), Size(24, 6), Size(40, 7), Size(64, 7))
"""By tier."""


class Asking:
    """One episode: answers questions until a person is named, which ends it, or the turns are used up."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.turns_left = int(problem.meta["turns"])

    def reply(self, action: str) -> Turn:
        """Answer a question or a name. A turn that is neither is used up all the same, and told why."""
        self.turns_left -= 1
        people = self.problem.meta["people"]
        try:
            kind, said = move(action)
            if kind == "name":
                right = named(said, people) == self.problem.reference
                return Turn("Right.", Verdict(1.0, Reason.CORRECT)) if right else Turn("No.", self._lost(Reason.WRONG))
            meant = next(person for person in people if person["name"] == self.problem.reference)
            return self._turn("Yes." if read_question(said, people).holds(meant) else "No.", Reason.WRONG)
        except NoQuestionError as error:
            return self._turn(f"Not understood: {error}. For example: {EXAMPLE}.", Reason.UNPARSEABLE)

    def give_up(self) -> Verdict:
        """Out of turns."""
        return self._lost(Reason.WRONG)

    def _turn(self, said: str, reason: Reason) -> Turn:
        if self.turns_left <= 0:
            return Turn(said, self._lost(reason))
        return Turn(f"{said} {self.turns_left} {'turns' if self.turns_left > 1 else 'turn'} left.")

    def _lost(self, reason: Reason) -> Verdict:
        return Verdict(0.0, reason, feedback=f"it was {self.problem.reference}")


def move(action: str) -> tuple[str, str]:
    r"""Return "ask" or "name", and what is asked or named: the last line outside thoughts, the only one of its kind.

    It may be in bold, and in `\boxed{...}`.

    Raises:
        NoQuestionError: It is neither, or there are several.
    """
    if len(action) > LONGEST:
        raise NoQuestionError(f"a turn has at most {LONGEST} characters")
    lines = [plain(_unboxed(line)) for line in outside_thoughts(action).splitlines() if line.strip()]
    moves = [match for line in lines if (match := _MOVE.fullmatch(line))]
    if len(moves) != 1 or moves[0].string != lines[-1]:
        raise NoQuestionError('a turn ends with one line "ask: ..." or "name: ..."')
    return moves[0][1].lower(), moves[0][2].rstrip(" .?")


def _unboxed(line: str) -> str:
    """Return what is in the box that a line is or ends with."""
    found = boxes(line)
    return (
        line[found[0].inside : found[0].end - 1] if len(found) == 1 and not line[found[0].end :].strip(" $.*") else line
    )


def named(said: str, people: list[Person]) -> str:
    """Return the one of the people who is named. Raises NoQuestionError."""
    known = {str(person["name"]).casefold(): str(person["name"]) for person in people}
    if said.casefold() not in known:
        raise NoQuestionError("name one of the people")
    return known[said.casefold()]


def read(text: str, problem: Problem) -> str:
    """Read a lone name: "name: Ada", "Ada". Raises UnreadError."""
    match = _MOVE.fullmatch(text)
    try:
        return named(match[2].rstrip(" .?") if match and match[1].lower() == "name" else text, problem.meta["people"])
    except NoQuestionError as error:
        raise UnreadError(str(error)) from None


def check(name: str, problem: Problem) -> Findings:
    """Judge a lone name, for tools that score without an episode."""
    return Findings([] if name == problem.reference else [f"it is not {name}"])


def naming(problem: Problem) -> str:
    """Write a name as the last turn."""
    return f"name: {problem.reference}"


def still_possible(problem: Problem, transcript: Transcript) -> list[Person]:
    """Return the people who agree with all answers so far."""
    people: list[Person] = problem.meta["people"]
    asked = None
    for role, text in transcript:
        if role == "policy":
            asked = _question(text, problem.meta["people"])
        elif asked is not None:
            people = [person for person in people if asked.holds(person) == text.startswith("Yes")]
    return people


def _question(action: str, people: list[Person]) -> Question | None:
    """Return what a turn has asked, None where it was not understood."""
    try:
        kind, said = move(action)
        return read_question(said, people) if kind == "ask" else None
    except NoQuestionError:
        return None


def halve(problem: Problem, transcript: Transcript) -> str:
    """The oracle: of all who agree with the answers so far, ask what halves them; name the last one."""
    people = still_possible(problem, transcript)
    return f"name: {people[0]['name']}" if len(people) == 1 else f"ask: {best_question(people)}"


def anybody(problem: Problem, rng: Rng) -> str:
    """The weak solver: name somebody."""
    return f"name: {rng.choice(problem.meta['people'])['name']}"


def number_of_people(problem: Problem) -> float:
    """Return among how many people one is meant."""
    return float(len(problem.meta["people"]))


@task(
    "logic.twenty_questions",
    reward=PuzzleReward(read, check),
    answer_format=f'End each turn with one line, such as "{EXAMPLE}", or "name: " and a name.',
    answer=naming,
    default_tiers=(0, 1),
    oracle=halve,
    dialogue=Asking,
    max_turns=max(size.turns for size in SIZES),
    effort=number_of_people,
    guess=anybody,
)
def twenty_questions(rng: Rng, tier: int) -> Problem:
    """Find one of 8 (0) to 64 (5) people in five to seven turns."""
    size = SIZES[tier]
    for _ in range(MOST_DRAWS):
        people: list[Person] = [
            {"name": name, "hat": rng.choice(HATS), "pet": rng.choice(PETS), "floor": rng.integer(1, FLOORS)}
            for name in rng.sample(NAMES, size.people)
        ]
        if can_be_found(people, size.turns):
            return _posed(people, str(rng.choice(people)["name"]), size)
    raise AssertionError("unreachable: most people can be halved by two conditions")


def _posed(people: list[Person], meant: str, size: Size) -> Problem:
    listed = "\n".join(f"{p['name']}: {p['hat']} hat, {p['pet']}, floor {p['floor']}" for p in people)
    prompt = (
        f"I think of one of these people. You have {size.turns} turns to find out who it is: questions, answered Yes "
        "or No, and a name, which ends the game. A question is one condition, or up to "
        f"{MOST_CONDITIONS} joined all by and, or all by or. Conditions are like: hat is blue; pet is not hen; "
        f"floor > 4; floor < 4; name in A, B, C (at most {MOST_NAMES} names).\n{listed}"
    )
    meta = {"people": [dict(person) for person in people], "turns": size.turns}
    return Problem(prompt, meant, solution=f"name: {meant}", meta=meta, variant=meant)
