r"""Knights and knaves: who is what follows from what they say, for exactly one of the 2^n worlds.

The world is drawn first, uniformly, and kept: statements are drawn again until they leave nothing but it. So no
answer is more frequent than chance makes it, and the constant "all knights" earns 2^-n.
"""

from __future__ import annotations

from grpo_envs.boxed import boxed
from grpo_envs.logic.solvers.casework import Casework
from grpo_envs.logic.solvers.statement_reader import StatementReader
from grpo_envs.logic.solvers.statements import NAMES, RULES, Statement, everything, knights, said, truth
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task
from grpo_rewards.logic import Findings, PuzzleReward
from grpo_rewards.logic.deduction import Chain, Worlds, check_deductions
from grpo_rewards.logic.reading import assignments

PEOPLE = ((2, 2), (3, 3), (4, 4), (5, 5), (6, 6), (7, 8))
"""Fewest and most people, by tier."""

DEPTH = (1, 1, 1, 2, 2, 3)
"""Levels of statements within statements, by tier."""

CONDITIONAL = ' "If ..., then ..." is false only where the first part is true and the second is not.'

TRIES = 8
"""Statements that are drawn for one person before all are drawn again."""


def read(text: str, problem: Problem) -> dict[str, str]:
    """Read who is what. Raises UnreadError."""
    return assignments(text, problem.meta["names"], ("knight", "knave"))


def check(answer: dict[str, str], problem: Problem) -> Findings:
    """Check that knights say what is true and knaves what is false."""
    names, codes = problem.meta["names"], problem.meta["statements"]
    wrong = [names[i] for i in misfits(codes, world_of(answer, names))]
    if not wrong:
        return Findings()
    broken = [f"{who} cannot be a {answer[who]}, given what {who} says" for who in wrong]
    constant = min(len(misfits(codes, world)) for world in (0, (1 << len(names)) - 1))
    return Findings(broken, (len(names) - len(wrong)) / len(names), (len(names) - constant) / len(names))


def world_of(answer: dict[str, str], names: list[str]) -> int:
    """Return the world in which the people are what the answer says."""
    return sum(1 << j for j, name in enumerate(names) if answer[name] == "knight")


def misfits(codes: list[str], world: int) -> list[int]:
    """Return who cannot say in this world what he or she says."""
    return [i for i, code in enumerate(codes) if (truth(code, len(codes)) >> world & 1) != (world >> i & 1)]


def statements(rng: Rng, depth: int, people: int, world: int) -> list[Statement]:
    """Draw what everybody says: nobody repeats what follows already, and only the last statement decides."""
    masks, full = knights(people), everything(people)
    while True:
        left, chosen = full, list[Statement]()
        for i, mask in enumerate(masks):
            for _ in range(TRIES):
                statement = said(rng, people, i, depth)
                after = left & (full ^ mask ^ statement.mask)
                if after >> world & 1 and after != left and (after & (after - 1) == 0) == (i == people - 1):
                    break
            else:
                break
            left = after
            chosen.append(statement)
        else:
            return chosen


def casework(problem: Problem) -> Casework:
    """Return the search for the solution, not yet begun."""
    names, codes = problem.meta["names"], problem.meta["statements"]
    masks, full = knights(len(names)), everything(len(names))
    left = [full ^ mask ^ truth(code, len(names)) for code, mask in zip(codes, masks, strict=True)]
    return Casework(left, masks, names)


def spelled(names: list[str], world: int) -> str:
    """Write who is what."""
    return ", ".join(f"{name}: {'knight' if world >> j & 1 else 'knave'}" for j, name in enumerate(names))


def theory(problem: Problem) -> Worlds:
    """Return what is given, for the check of deductions: statement k as the worlds that it leaves."""
    names = problem.meta["names"]
    premises = {str(k): left for k, left in enumerate(casework(problem).premises, 1)}
    return Worlds(everything(len(names)), premises, StatementReader(names).read)


def soundness(response: str, problem: Problem) -> Chain:
    """Check the deductions in a response."""
    return check_deductions(response, theory(problem))


def others(problem: Problem) -> list[str]:
    """Write the reference in other words and another order."""
    pairs = [pair.split(": ") for pair in problem.reference.split(", ")]
    said = [f"{name} is a {kind}" for name, kind in pairs]
    return [f"\\boxed{{{', '.join(reversed(said))}}}", f"The answer is {' and '.join(said)}."]


def work(problem: Problem) -> float:
    """Count the lines of the worked solution."""
    return str(problem.solution).count("\n")


def first_thought(problem: Problem, rng: Rng) -> str:
    """Take the first person for a knight, read every statement once, and toss coins for whoever is still open."""
    names = problem.meta["names"]
    attempt = casework(problem)
    attempt.suppose()
    for number in range(1, len(names) + 1):
        attempt.read(number)
    world = rng.choice([world for world in range(1 << len(names)) if attempt.known >> world & 1])
    return "\n".join([*attempt.lines, f"\\boxed{{{spelled(names, world)}}}"])


@task(
    "logic.knights",
    reward=PuzzleReward(read, check, soundness=soundness),
    answer_format=r"Answer in the form \boxed{Kim: knight, Lou: knave}, with everybody in it.",
    answer=boxed,
    equivalents=others,
    default_tiers=(0, 1),
    effort=work,
    guess=first_thought,
)
def knights_and_knaves(rng: Rng, tier: int) -> Problem:
    """Find out who is a knight and who a knave: two people (tier 0) to eight (5), whose statements nest from tier 3."""
    people = rng.integer(*PEOPLE[tier])
    world = rng.below(1 << people)
    names = sorted(rng.sample(NAMES, people))  # else the same people in another order could be in another split
    spoken = statements(rng, DEPTH[tier], people, world)
    quotes = [statement.words.format(*names) for statement in spoken]
    lines = [f'{i + 1}. {names[i]} says: "{quote[0].upper()}{quote[1:]}."' for i, quote in enumerate(quotes)]
    masks, full = knights(people), everything(people)
    search = Casework([full ^ masks[i] ^ spoken[i].mask for i in range(people)], masks, names)
    search.search()
    rules = RULES + CONDITIONAL if any(", then " in quote for quote in quotes) else RULES
    reference = spelled(names, world)
    return Problem(
        "\n".join([rules, *lines, "Who is what? Exactly one answer fits."]),
        reference,
        "\n".join([*search.lines, f"\\boxed{{{reference}}}"]),
        {"names": names, "statements": [statement.code for statement in spoken]},
    )
