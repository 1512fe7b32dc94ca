r"""A web of lies: from one person who is known to lie or not, chains of statements lead to everybody else.

Each statement ties one person more to those before, as its speaker, as somebody who "would say" it, or as the one it is
about; so everybody is determined, by a chain that has to be found among statements in any order. Several people are
asked for at once, and guessing pays little.
"""

from __future__ import annotations

from typing import NamedTuple

from grpo_envs.boxed import boxed
from grpo_envs.logic.solvers.houses_words import joined
from grpo_envs.logic.solvers.statement_reader import StatementReader
from grpo_envs.logic.solvers.statements import NAMES, everything, knights, truth
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task
from grpo_rewards.logic import Findings, PuzzleReward
from grpo_rewards.logic.deduction import Chain, Worlds, check_deductions
from grpo_rewards.logic.reading import assignments

PEOPLE = (4, 6, 8, 10, 12, 14)
"""People, by tier."""

ASKED = (2, 3, 4, 5, 6, 7)
"""How many of them are asked for, by tier."""

LEVELS = (0, 0, 1, 1, 2, 2)
"""How many people "would say" something inside of a statement at most, by tier."""

RULES = "Everybody here always tells the truth or always lies."
FACT = -1
"""The speaker of what is known."""

VALUES = {
    "truth": "truth",
    "tells the truth": "truth",
    "truthful": "truth",
    "lies": "lies",
    "lie": "lies",
    "liar": "lies",
    "lying": "lies",
}


class Said(NamedTuple):
    """A statement, or the fact that is known.

    Attributes:
        speaker: Who makes it, FACT for nobody.
        code: What is said, in the notation of `statements`.
        words: The same in English, with `{0}` for names.
        people: All whom it ties together; who they are without one tells who that one is.
    """

    speaker: int
    code: str
    words: str
    people: tuple[int, ...]


def read(text: str, problem: Problem) -> dict[str, str]:
    """Read who tells the truth and who lies. Raises UnreadError."""
    return assignments(text, problem.meta["asked"], VALUES)


def check(answer: dict[str, str], problem: Problem) -> Findings:
    """Check that what was said allows for the answer: whoever contradicts it is named."""
    names, asked = problem.meta["names"], problem.meta["asked"]
    left = everything(len(names))
    for mask in premises(problem).values():
        left &= mask
    masks = dict(zip(names, knights(len(names)), strict=True))
    wrong = [name for name in asked if not left & (masks[name] if answer[name] == "truth" else ~masks[name])]
    if not wrong:
        return Findings()
    count, honest = len(asked), sum(bool(left & masks[name]) for name in asked)
    said = [f"{name} cannot be taken for one who {VERBS[answer[name]]}, given what is said" for name in wrong]
    return Findings(said, (count - len(wrong)) / count, max(honest, count - honest) / count)


VERBS = {"truth": "tells the truth", "lies": "lies"}


def premises(problem: Problem) -> dict[str, int]:
    """Return the worlds that each line of the problem leaves."""
    people = len(problem.meta["names"])
    full, masks = everything(people), knights(people)
    return {
        str(number): truth(code, people) if speaker == FACT else full ^ masks[speaker] ^ truth(code, people)
        for number, (speaker, code) in enumerate(problem.meta["said"], 1)
    }


def soundness(response: str, problem: Problem) -> Chain:
    """Check the deductions in a response."""
    names = problem.meta["names"]
    return check_deductions(response, Worlds(everything(len(names)), premises(problem), StatementReader(names).read))


def spelled(asked: list[str], honest: dict[str, bool]) -> str:
    """Write who tells the truth and who lies."""
    return ", ".join(f"{name}: {'truth' if honest[name] else 'lies'}" for name in asked)


def others(problem: Problem) -> list[str]:
    """Write the reference in other words and another order."""
    pairs = [pair.split(": ") for pair in problem.reference.split(", ")]
    said = [f"{name} {VERBS[kind]}" for name, kind in pairs]
    return [f"\\boxed{{{', '.join(reversed(said))}}}", f"The answer is {' and '.join(said)}."]


def work(problem: Problem) -> float:
    """Count the people in the statements that the worked solution uses."""
    used = [line.split(":")[0].removeprefix("From ") for line in str(problem.solution).splitlines()[:-1]]
    return sum(len(problem.meta["said"][int(number) - 1][1].split()) for number in used)


def first_thought(problem: Problem, rng: Rng) -> str:
    """Read the lines once, in the order in which they stand, and toss a coin for whoever is still open."""
    names, asked = problem.meta["names"], problem.meta["asked"]
    masks = knights(len(names))
    known, lines = everything(len(names)), list[str]()
    for number, mask in premises(problem).items():
        for name, honest in zip(names, masks, strict=True):
            if known & honest not in (0, known) and known & mask & honest in (0, known & mask):
                kept = bool(known & mask & honest)
                known &= honest if kept else ~honest
                lines.append(f"From {number}: {name} {_verb(kept)}.")
    guessed = {
        name: rng.chance(1, 2) if known & honest not in (0, known) else bool(known & honest)
        for name, honest in zip(names, masks, strict=True)
    }
    return "\n".join([*lines, f"\\boxed{{{spelled(asked, guessed)}}}"])


def tie(rng: Rng, person: int, others: list[int], honest: list[bool], levels: int) -> Said:
    """Draw a statement that ties a person to some of those who are tied already."""
    nested = rng.integer(0, min(levels, len(others) - 1))
    pair = nested + 2 <= len(others) and rng.chance(1, 3)
    people = [person, *rng.sample(others, 1 + nested + pair)]
    rng.shuffle(people)
    speaker, *between = people[: 1 + nested]
    about = people[1 + nested :]
    true = honest[speaker]  # whether what is said must be true
    for who in between:
        true = true == honest[who]
    if pair:
        alike = true == (honest[about[0]] == honest[about[1]])
        code = f"iff k{about[0]} {'k' if alike else 'n'}{about[1]}"
        words = f"{{{about[0]}}} and {{{about[1]}}} are of {'the same kind' if alike else 'different kinds'}"
    else:
        kept = true == honest[about[0]]
        code = f"{'k' if kept else 'n'}{about[0]}"
        words = f"{{{about[0]}}} {_verb(kept)}"
    for who in reversed(between):
        code, words = f"says{who} {code}", f"{{{who}}} would say that {words}"
    return Said(speaker, code, f"{{{speaker}}} says that {words}", tuple(people))


def working(lines: list[Said], names: list[str], honest: list[bool], asked: list[str]) -> list[str]:
    """Return the deductions that lead to those who are asked for, in an order in which they can be made."""
    found: dict[int, tuple[int, Said]] = {}
    order = list[int]()
    while len(found) < len(names):
        for number, said in enumerate(lines, 1):
            unknown = [person for person in said.people if person not in found]
            if len(unknown) == 1:
                found[unknown[0]] = number, said
                order.append(unknown[0])
    needed = {names.index(name) for name in asked}
    for person in reversed(order):
        if person in needed:
            needed.update(found[person][1].people)
    return [
        f"From {found[person][0]}: {names[person]} {_verb(honest[person])}." for person in order if person in needed
    ]


@task(
    "logic.truth_chain",
    reward=PuzzleReward(read, check, soundness=soundness),
    answer_format=r"Answer in the form \boxed{Kim: truth, Lou: lies}, with everybody who is asked for.",
    answer=boxed,
    equivalents=others,
    default_tiers=(0, 1),
    effort=work,
    guess=first_thought,
)
def truth_chain(rng: Rng, tier: int) -> Problem:
    """Find out who lies in a web of statements about one another: 4 people (tier 0) to 14 (5), nested from tier 2."""
    people = PEOPLE[tier]
    names = rng.sample(NAMES, people)
    honest = [rng.chance(1, 2) for _ in names]
    order = rng.sample(range(people), people)
    first = order[0]
    fact = Said(FACT, f"{'k' if honest[first] else 'n'}{first}", f"{{{first}}} {_verb(honest[first])}", (first,))
    lines = [fact, *(tie(rng, order[k], order[:k], honest, LEVELS[tier]) for k in range(1, people))]
    rng.shuffle(lines)
    asked = [names[person] for person in rng.sample(order[1:], ASKED[tier])]
    reference = spelled(asked, dict(zip(names, honest, strict=True)))
    return Problem(
        "\n".join(
            [
                RULES,
                *(f"{number}. {said.words.format(*names)}." for number, said in enumerate(lines, 1)),
                f"For each of {joined(asked, 'and')}: truth or lies?",
            ]
        ),
        reference,
        "\n".join([*working(lines, names, honest, asked), f"\\boxed{{{reference}}}"]),
        {"names": names, "asked": asked, "said": [[said.speaker, said.code] for said in lines]},
    )


def _verb(honest: bool) -> str:
    return VERBS["truth" if honest else "lies"]
