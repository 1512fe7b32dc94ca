"""Sequence induction: the next terms under a law from a list that the question states.

"What comes next?" has any answer one likes. Here the prompt names the laws that may hold, and a problem is posed only
if all of them that fit the terms continue in the same way: `sequence_laws` finds their parameters, and there are no
others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grpo_envs.boxed import boxed
from grpo_envs.logic.solvers.sequence_laws import LAWS, Follow, Lines, Table, UndeterminedError, added
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task
from grpo_rewards.logic import Findings, PuzzleReward
from grpo_rewards.logic.reading import numbers

MOST_DRAWS = 1_000


@dataclass(frozen=True)
class Size:
    """What a tier asks for.

    Attributes:
        laws: Names of the laws that may hold.
        shown: Terms that are given.
        asked: Terms that are asked for.
    """

    laws: tuple[str, ...]
    shown: int
    asked: int


SIZES = (
    Size(("steady", "turns"), 5, 2),
    Size(("turns", "growing", "woven"), 6, 2),
    Size(("growing", "woven", "affine"), 6, 2),
    Size(("growing", "woven", "affine", "two_before"), 7, 2),
    Size(("woven", "affine", "cubic", "placed", "two_before"), 7, 3),
    Size(("cubic", "placed", "woven_affine", "two_before_and"), 8, 3),
)
"""By tier. The laws of a tier show equally many terms, so that the length does not tell which one holds."""

AMOUNTS = {2: "two", 3: "three"}


def continued(terms: Sequence[int], laws: Sequence[str], asked: int) -> tuple[list[int], Lines] | None:
    """Return the next terms and how they are found: by every law in turn, until one fits.

    Returns:
        None when no law fits, or when two that fit go on differently.

    Raises:
        UndeterminedError: The terms leave the parameters of a law open.
    """
    table = Table([list(terms)])
    first: tuple[list[int], Lines] | None = None
    for letter, name in zip("ABCDE", laws, strict=False):
        found = LAWS[name].find(table)
        if found.follow is None:
            table.lines.append(f"{letter} fails: {found.why}.")
            continue
        lines = [*table.lines, f"{letter} holds: {found.why}."]
        following = _followed(terms, found.follow, asked, lines)
        if first is None:
            first = following, lines
        elif first[0] != following:
            return None
    return first


def _followed(terms: Sequence[int], follow: Follow, asked: int, lines: Lines) -> list[int]:
    known = list(terms)
    for _ in range(asked):
        known.append(follow(known, lines))
    return known[len(terms) :]


def listed(terms: Sequence[int]) -> str:
    """Write terms: "3, -5, 7"."""
    return ", ".join(map(str, terms))


def read(text: str, problem: Problem) -> list[int]:
    """Read the terms. Raises UnreadError."""
    return numbers(text)


def check(following: list[int], problem: Problem) -> Findings:
    """Compare with the terms that the laws lead to."""
    asked = int(problem.meta["asked"])
    if len(following) != asked:
        return Findings([f"{len(following)} terms, where {asked} are asked for"])
    right = continued(problem.meta["terms"], problem.meta["laws"], asked)
    assert right is not None  # a problem with no continuation, or two, is never posed
    good = next((k for k in range(asked) if following[k] != right[0][k]), asked)
    broken = [f"{following[good]} does not follow after {listed(problem.meta['terms'])}"] if good < asked else []
    return Findings(broken, share=good / asked, luck=0.0)


def spellings(problem: Problem) -> list[str]:
    """Return the answer in other words."""
    terms = str(problem.reference).split(", ")
    texts = (f"[{', '.join(terms)}]", " ".join(terms), f"{', '.join(terms[:-1])} and {terms[-1]}")
    return [f"\\boxed{{{text}}}" for text in texts]


def digits_written(problem: Problem) -> float:
    """Return how many digits the worked solution takes."""
    return float(sum(character.isdigit() for character in problem.solution or ""))


def at_a_glance(problem: Problem, rng: Rng) -> str:
    """Go on by the last steps alone: the same one, one that grows as the last has grown, or the one before it."""
    terms = list(problem.meta["terms"])
    before, last = terms[-2] - terms[-3], terms[-1] - terms[-2]
    step, growth = rng.choice(((last, 0), (last, last - before), (before, 0)))
    in_turn = growth == 0 and step != last
    lines: Lines = []
    for _ in range(problem.meta["asked"]):
        step += growth
        terms.append(added(terms[-1], step, lines))
        if in_turn:
            step = before + last - step
    return "\n".join([*lines, f"\\boxed{{{listed(terms[-problem.meta['asked'] :])}}}"])


@task(
    "logic.sequence",
    reward=PuzzleReward(read, check),
    answer_format=r"Put the terms in a box, such as \boxed{7, 9}.",
    answer=boxed,
    default_tiers=(0, 1),
    equivalents=spellings,
    effort=digits_written,
    guess=at_a_glance,
)
def sequence(rng: Rng, tier: int) -> Problem:
    """Continue a sequence whose law is one of two to five that the prompt names."""
    size = SIZES[tier]
    for _ in range(MOST_DRAWS):
        terms = LAWS[rng.choice(size.laws)].draw(rng, size.shown)
        try:
            found = continued(terms, size.laws, size.asked)
        except UndeterminedError:
            continue
        if found is not None and listed(found[0]) not in listed(terms):
            return _posed(terms, size, *found)
    raise AssertionError("unreachable: few draws leave their continuation open")


def _posed(terms: list[int], size: Size, following: list[int], lines: Lines) -> Problem:
    laws = "\n".join(f"{letter}. {LAWS[name].words}" for letter, name in zip("ABCDE", size.laws, strict=False))
    prompt = (
        f"A sequence begins {listed(terms)}. One of these laws holds, with fixed whole numbers "
        f"(which may be negative or 0):\n{laws}\nWhat are the next {AMOUNTS[size.asked]} terms?"
    )
    reference = listed(following)
    meta = {"terms": terms, "laws": list(size.laws), "asked": size.asked}
    return Problem(prompt, reference, "\n".join([*lines, f"\\boxed{{{reference}}}"]), meta)
