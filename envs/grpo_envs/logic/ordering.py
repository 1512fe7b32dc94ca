"""Who finished where: the one order of some runners that fits all clues; clues that say nothing new are left out."""

from __future__ import annotations

from typing import NamedTuple

from grpo_envs.boxed import boxed
from grpo_envs.logic.solvers.orders import Clue, Deduction, every, numbered, orders
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task
from grpo_rewards.logic import Findings, PuzzleReward
from grpo_rewards.logic.reading import order

NAMES = ("Ann", "Bob", "Cid", "Dan", "Eva", "Fay", "Gus", "Ida", "Jim", "Kit", "Lea", "Max", "Ned", "Pam", "Sue")

SAYINGS = {
    "at": "{0} finished {k}.",
    "not at": "{0} did not finish {k}.",
    "before": "{0} finished before {1}.",
    "after": "{0} finished after {1}.",
    "ahead": "{0} finished exactly {k} places ahead of {1}.",
    "behind": "{0} finished exactly {k} places behind {1}.",
    "apart": "{0} and {1} finished exactly {k} places apart.",
    "not next": "{0} and {1} did not finish next to each other.",
    "between": "{0} finished somewhere between {1} and {2}.",
    "outside": "{0} did not finish between {1} and {2}.",
    "before one": "{0} finished before at least one of {1} and {2}.",
    "after one": "{0} finished after at least one of {1} and {2}.",
}
NEIGHBOURS = {
    "ahead": "{0} finished directly before {1}.",
    "behind": "{0} finished directly after {1}.",
    "apart": "{0} and {1} finished next to each other.",
}
"""How it is said that somebody is one place ahead, behind or apart."""

PLACES = ("0th", "1st", "2nd", "3rd", "4th", "5th", "6th", "7th", "8th")


class Size(NamedTuple):
    """What a tier looks like: runners, kinds of clues, and characters of a worked solution at the most."""

    runners: int
    kinds: tuple[str, ...]
    longest: int = 2_000


SIZES = (
    Size(4, ("before", "after", "ahead", "behind", "not at")),
    Size(5, ("before", "after", "ahead", "behind", "not at", "between")),
    Size(6, ("before", "after", "ahead", "behind", "apart", "not at", "between")),
    Size(6, ("before", "ahead", "apart", "not next", "between", "outside", "not at")),
    Size(7, ("before", "ahead", "apart", "not next", "between", "outside", "not at", "before one", "after one")),
    Size(8, ("before", "behind", "apart", "not next", "between", "outside", "before one", "after one"), 2_800),
)


def read(text: str, problem: Problem) -> list[int]:
    """Read the order as the place of every name."""
    names = problem.meta["names"]
    said = order(text, names)
    return [said.index(name) + 1 for name in names]


def check(places: list[int], problem: Problem) -> Findings:
    """Check every clue."""
    names, clues = problem.meta["names"], [Clue(*clue) for clue in problem.meta["clues"]]
    broken = [f"not so: {_said(clue, names)}" for clue in clues if not clue.holds(places)]
    return Findings(broken)


def others(problem: Problem) -> list[str]:
    """Return other spellings of the order."""
    names = str(problem.reference).split(" > ")
    lines = "\n".join(f"{place}. {name}" for place, name in enumerate(names, 1))
    return [f"\\boxed{{{', '.join(names)}}}", f"\\boxed{{[{'; '.join(names).lower()}]}}", f"Answer:\n{lines}"]


def every_order(problem: Problem) -> list[str]:
    """Return every order that fits: the only one, found without the deductions."""
    names, left = problem.meta["names"], every(len(problem.meta["names"]))
    for clue in problem.meta["clues"]:
        left &= orders(len(names), Clue(*clue))
    found = [row for row in range(left.bit_length()) if left >> row & 1]
    return [f"\\boxed{{{' > '.join(names[i] for i in numbered(len(names), row))}}}" for row in found]


def lines_of_working(problem: Problem) -> int:
    """Return the effort: steps of the worked solution."""
    return str(problem.solution).count("\n")


def hasty(problem: Problem, rng: Rng) -> str:
    """Look at every clue once, and sort by the middle of the places that are left; toss a coin between equals."""
    names = problem.meta["names"]
    once = Deduction(names, [Clue(*clue) for clue in problem.meta["clues"]])
    for _ in once.clues:
        once.look()
    shuffled = rng.sample(range(len(names)), len(names))
    shuffled.sort(key=lambda name: _middle(once.left[name]))
    return f"\\boxed{{{' > '.join(names[name] for name in shuffled)}}}"


@task(
    "logic.ordering",
    reward=PuzzleReward(read, check),
    answer_format=r"Answer with all names from first to last, like \boxed{A > B > C}.",
    answer=boxed,
    default_tiers=(0, 1),
    equivalents=others,
    solver=every_order,
    effort=lines_of_working,
    guess=hasty,
)
def ordering(rng: Rng, tier: int) -> Problem:
    """Order 4 runners (0) to 8 (5); clues say who was before whom at first, and ever less from tier to tier."""
    size = SIZES[tier]
    names = rng.sample(NAMES, size.runners)
    while True:
        places = rng.sample(range(1, size.runners + 1), size.runners)
        clues = _needed(_clues(rng, places, size.kinds), size.runners)
        rng.shuffle(clues)
        deduction = Deduction(names, clues, size.longest)
        if deduction.solve():
            break
    answer = " > ".join(names[places.index(place)] for place in range(1, size.runners + 1))
    said = "\n".join(f"{number}. {_said(clue, names)}" for number, clue in enumerate(clues, 1))
    prompt = (
        f"{', '.join(names[:-1])} and {names[-1]} ran a race; no two of them finished together.\n{said}\n"
        "In which order did they finish?"
    )
    meta = {"names": names, "clues": [list(clue) for clue in clues]}
    return Problem(prompt, answer, "\n".join([*deduction.lines, f"\\boxed{{{answer}}}"]), meta)


def _said(clue: Clue, names: list[str]) -> str:
    kind, about, k = clue
    saying = NEIGHBOURS[kind] if k == 1 and kind in NEIGHBOURS else SAYINGS[kind]
    return saying.format(*(names[i] for i in about), k=PLACES[k] if kind in ("at", "not at") else k)


def _clues(rng: Rng, places: list[int], kinds: tuple[str, ...]) -> list[Clue]:
    """Draw true clues that each leave fewer orders, until one order is left."""
    n = len(places)
    left, clues = every(n), list[Clue]()
    while left.bit_count() > 1:
        clue = _true(rng, places, rng.choice(kinds))
        fewer = left & orders(n, clue)
        if fewer != left:
            left = fewer
            clues.append(clue)
    return clues


def _true(rng: Rng, places: list[int], kind: str) -> Clue:
    """Draw a clue of a kind until it is true."""
    n = len(places)
    about = 1 if kind in ("at", "not at") else 2 if kind in ("before", "after", *NEIGHBOURS, "not next") else 3
    while True:
        names = rng.sample(range(n), about)
        if kind in ("at", "not at"):
            k = rng.integer(1, n)
        else:
            k = abs(places[names[0]] - places[names[1]]) if kind in NEIGHBOURS else 0
        clue = Clue(kind, names, k)
        if clue.holds(places):
            return clue


def _needed(clues: list[Clue], n: int) -> list[Clue]:
    """Return the clues without those that follow from the others, the last ones first."""
    sets = [orders(n, clue) for clue in clues]
    kept, after = list[Clue](), every(n)
    for number in range(len(clues) - 1, -1, -1):
        without = after
        for earlier in sets[:number]:
            without &= earlier
        if without.bit_count() > 1:
            kept.append(clues[number])
            after &= sets[number]
    return kept


def _middle(places: int) -> int:
    """Return twice the middle of the lowest and the highest place."""
    return places.bit_length() + (places & -places).bit_length()
