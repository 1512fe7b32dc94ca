r"""Zebra puzzles: who lives in which house, with which job, drink and pet? One answer fits a minimal set of clues.

An arrangement is drawn first, and then true clues until it is the only one that fits: proved by search, as is that none
of the clues can be left out. Answers are judged by the clues.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from grpo_envs.boxed import boxed
from grpo_envs.logic.solvers.dressing import dressing
from grpo_envs.logic.solvers.houses import Clue, holds
from grpo_envs.logic.solvers.houses_clues import minimal_clues
from grpo_envs.logic.solvers.houses_theory import HouseTheory
from grpo_envs.logic.solvers.houses_words import CATEGORIES, PEOPLE, Vocabulary, joined
from grpo_envs.logic.solvers.houses_work import Elimination, TooLongError
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.verdict import Reason
from grpo_rewards.logic import Findings, PuzzleReward, UnreadError
from grpo_rewards.logic.deduction import Chain, check_deductions
from grpo_rewards.logic.reward import SHOWN

SIZES = ((3, 2), (3, 3), (4, 4), (5, 4), (5, 5), (6, 6))
"""Houses and attributes, by tier."""

_WEAK = {"next": 2, "before": 1, "apart": 1, "between": 1, "either": 1, "or": 1, "out": 1, "not": 1}
WEIGHTS = (*5 * ({"at": 6, "is": 14, "left": 11, **_WEAK},), {"at": 12, "is": 20, "left": 15, **_WEAK})
"""How often each kind of clue is drawn, by tier: those that tell most the most often, else sets and workings get
long."""

MOST_LINES = 140
"""Lines that the working may take: a puzzle that needs more is drawn again."""

Arrangement = list[int]
"""The house of each value, counted from 0."""

_JOINT = re.compile(r"\s*(?:[;,\n|&]|\\\\|\band\b)\s*")
_HOUSE = re.compile(
    r"(?:house )?(\d)(?:\s*(?:[:=.]|->|[-\u2013\u2014](?=\s)|\bis\b|\bhas\b)\s*(.*)|\s+(.+))?", re.IGNORECASE
)
_DRESS = '([{"*.|&-'
"""Signs of which most answers have none: to look for them is cheaper than to take them off."""
_BRACKETS = str.maketrans({**dict.fromkeys("[](){}", ","), '"': "", "\u2022": ""})
_STOP = re.compile(r"(?<!\d)\.(?=\s|$)|^\s*[-*](?=\s)", re.MULTILINE)
"""The end of a sentence, and what a line of a list begins with."""
_RULE = re.compile(r"[-: ]{3,}")


def read(text: str, problem: Problem) -> Arrangement:
    """Read the houses, "1: Ann, baker; 2: ...", in any order. Raises UnreadError."""
    words = Vocabulary(problem.meta["attributes"])
    places: dict[int, int] = {}
    taken: dict[tuple[int, int], int] = {}
    house = -1
    for piece in _pieces(text, problem):
        match = _HOUSE.fullmatch(piece)
        if match:
            house, piece = int(match[1]) - 1, match[2] or match[3] or ""
        value = words.value(piece) if piece else None
        if (value is None and piece) or not 0 <= house < words.n:
            raise UnreadError(f"{piece[:60]!r} is nothing that lives in a house from 1 to {words.n}")
        if value is not None:
            there = taken.setdefault((house, value // words.n), value)
            if there != value or places.setdefault(value, house) != house:
                raise UnreadError(f"{piece!r} and house {house + 1} are said to go together, and not to", Reason.HEDGED)
    missing = [word for value, word in enumerate(words.values) if value not in places]
    if missing:
        raise UnreadError(f"nothing is said about {missing[0]}")
    return [places[value] for value in range(len(words.values))]


def _pieces(text: str, problem: Problem) -> list[str]:
    """Cut a text into houses and who or what lives there, without the marks of lists, brackets and a table's head."""
    text = text.strip(" .[](){}")
    if text.isascii() and not any(mark in text for mark in _DRESS):
        return list(filter(None, _JOINT.split(text)))
    pieces = [piece for piece in _JOINT.split(_STOP.sub("\n", text.translate(_BRACKETS))) if piece]
    if "|" not in text and "&" not in text:
        return pieces
    plurals = [plural.casefold() for plural, *_ in problem.meta["attributes"]]
    head = {"house", "houses", "person", *plurals, *(plural.removesuffix("s") for plural in plurals)}
    start = next((k for k, piece in enumerate(pieces) if piece.casefold() not in head), 0)
    return [piece for piece in pieces[start:] if not _RULE.fullmatch(piece)]


def check(places: Arrangement, problem: Problem) -> Findings:
    """Check the clues one by one."""
    clues = clues_of(problem)
    broken = [number for number, clue in enumerate(clues, 1) if not holds(clue, places)]
    if not broken:
        return Findings()
    words = Vocabulary(problem.meta["attributes"])
    said = [f"clue {number} does not hold: {words.sentence(clues[number - 1])}" for number in broken[:SHOWN]]
    return Findings(said, credit=partial(_credit, clues, places, words.n))


def _credit(clues: Sequence[Clue], places: Arrangement, n: int) -> tuple[float, float]:
    """Return the share of clues that hold, and of those that hold where all is listed in the order of the prompt."""
    echoes = ([(value + shift) % n for value in range(len(places))] for shift in range(n))
    luck = max(sum(holds(clue, echo) for clue in clues) for echo in echoes) / len(clues)
    return sum(holds(clue, places) for clue in clues) / len(clues), luck


def clues_of(problem: Problem) -> list[Clue]:
    """Return the clues in the problem's meta."""
    return [Clue(kind, tuple(values), houses) for kind, values, houses in problem.meta["clues"]]


def soundness(response: str, problem: Problem) -> Chain:
    """Check the deductions in a response."""
    attributes = problem.meta["attributes"]
    words = Vocabulary(attributes)
    solution = read(problem.reference, problem)
    return check_deductions(response, HouseTheory(words.n, len(attributes), clues_of(problem), words, solution))


def spelled(words: Sequence[str], n: int, places: Sequence[int]) -> str:
    """Write an arrangement in the asked format."""
    houses = [[word for word, place in zip(words, places, strict=True) if place == house] for house in range(n)]
    return "; ".join(f"{house}: {', '.join(who)}" for house, who in enumerate(houses, 1))


def others(problem: Problem) -> list[str]:
    """Write the reference with houses and values in another order, and as lines."""
    rows = problem.reference.split("; ")
    turned = [f"{row[:3]}{', '.join(reversed(row[3:].split(', ')))}" for row in reversed(rows)]
    lines = "\n".join(f"House {row}" for row in rows)
    return [f"\\boxed{{{'; '.join(turned)}}}", f"Answer:\n{lines}"]


def work(problem: Problem) -> float:
    """Count the lines of the worked solution."""
    return str(problem.solution).count("\n")


def first_thought(problem: Problem, rng: Rng) -> str:
    """Read the clues once and the first half again, and place by chance what is still open."""
    words = Vocabulary(problem.meta["attributes"])
    attempt = Elimination(words.n, len(words.values) // words.n, clues_of(problem), MOST_LINES)
    for number in (*range(len(attempt.clues)), *range(len(attempt.clues) // 2)):
        told = attempt.read(number)
        if isinstance(told, set):
            attempt.settle(told)
    places: Arrangement = []
    for start in range(0, len(words.values), words.n):
        free = list(range(words.n))
        rng.shuffle(free)
        for houses in attempt.known[start : start + words.n]:
            place = next((house for house in free if houses >> house & 1), free[0])
            free.remove(place)
            places.append(place)
    return "\n".join([*attempt.lines(words.values), f"\\boxed{{{spelled(words.values, words.n, places)}}}"])


@dataclass(frozen=True)
class Puzzle:
    """A puzzle without words: who lives where, the clues, and how they lead there."""

    n: int
    m: int
    places: Arrangement
    clues: list[Clue]
    search: Elimination

    def dressed(self, rng: Rng) -> DressedPuzzle:
        """Draw attributes and their values."""
        categories = [PEOPLE, *rng.sample(CATEGORIES, self.m - 1)]
        things = joined((f"a {category.singular}" for category in categories[1:]), "and")
        return DressedPuzzle(self, things, [[kind.plural, *rng.sample(kind.values, self.n)] for kind in categories])


@dataclass(frozen=True)
class DressedPuzzle:
    """A puzzle in words."""

    bare: Puzzle
    things: str
    attributes: list[list[str]]

    @cached_property
    def words(self) -> Vocabulary:
        """The words."""
        return Vocabulary(self.attributes)

    @cached_property
    def prompt(self) -> str:
        """The question."""
        n = self.bare.n
        lines = [
            f"{n} houses stand in a row, numbered 1 to {n} from left to right. In each lives one person, with "
            f"{self.things} that nobody else has.",
            " ".join(f"{plural}: {', '.join(values)}." for plural, *values in self.attributes),
            *(f"{number}. {self.words.sentence(clue)}" for number, clue in enumerate(self.bare.clues, 1)),
            "Who lives where, and with what?",
        ]
        return "\n".join(lines)

    def problem(self) -> Problem:
        """Return the problem with its working."""
        values = self.words.values
        reference = spelled(values, self.bare.n, self.bare.places)
        solution = "\n".join([*self.bare.search.lines(values), f"\\boxed{{{reference}}}"])
        clues = [[clue.kind, list(clue.values), clue.houses] for clue in self.bare.clues]
        return Problem(self.prompt, reference, solution, {"attributes": self.attributes, "clues": clues})


@dressing(
    "logic.zebra",
    reward=PuzzleReward(read, check, soundness=soundness),
    answer_format=r"Answer in the form \boxed{1: Kim, cook; 2: Lou, judge}, with all houses and all that is listed.",
    answer=boxed,
    equivalents=others,
    default_tiers=(2,),
    effort=work,
    guess=first_thought,
)
def zebra(rng: Rng, tier: int) -> Puzzle:
    """Find out who has which job, drink, pet ...: 3 houses, 2 attributes (tier 0) to 6 houses, 6 attributes (5)."""
    n, m = SIZES[tier]
    kinds = {k: weight for k, weight in WEIGHTS[tier].items() if n > 3 or k not in ("apart", "between")}
    while True:
        places = [house for _ in range(m) for house in rng.sample(range(n), n)]
        clues = minimal_clues(rng, n, m, places, kinds)
        rng.shuffle(clues)
        search = Elimination(n, m, clues, MOST_LINES)
        try:
            search.search()
        except TooLongError:
            continue
        return Puzzle(n, m, places, clues, search)
