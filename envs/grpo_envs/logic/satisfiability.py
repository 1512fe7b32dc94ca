"""Clauses that can all be true, or cannot: an assignment proves the one, a core of clauses the other.

Clauses are drawn at random until they contradict each other. With the last one they have a core; with another in its
place they can just be true. So both kinds look alike, are as long, and stand where the question is hardest. A core is a
set of clauses that cannot all be true, though without any one of them the others can. One clause is always drawn on
top, so naming all of them is never right.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from grpo_envs.boxed import boxed
from grpo_envs.logic.solvers.clauses import Clause, Search, common, core_of, table_of, without_each
from grpo_envs.logic.solvers.tables import everything, some_row
from grpo_gym.problem import Problem
from grpo_gym.reward import Probe
from grpo_gym.rng import Rng
from grpo_gym.task import task
from grpo_rewards.logic import Findings, PuzzleReward, UnreadError
from grpo_rewards.logic.reading import assignments, numbers

LETTERS = ("A", "B", "C", "D", "E", "F", "G", "H", "J", "K", "L", "M", "N", "P", "Q", "R", "S", "T", "U", "W")
VALUES = {"true": "true", "t": "true", "1": "true", "false": "false", "f": "false", "0": "false"}

TRIES = 100
"""Clauses that are drawn before a set of them is thrown away: few variables have few clauses that are not there yet."""

VALUE_BITS = {"true": "1", "false": "0"}

_CORE = re.compile(r"(?:unsat(?:isfiable)?|core)\b[\s:,=]*(?:clauses?\b|core\b)?[\s:]*(.+)", re.IGNORECASE | re.DOTALL)


class Size(NamedTuple):
    """What a tier looks like: variables, and the weights of clauses of one, two, three literals."""

    variables: int
    lengths: tuple[int, int, int]


SIZES = (
    Size(4, (1, 3, 0)),
    Size(5, (1, 7, 1)),
    Size(5, (0, 3, 2)),
    Size(6, (0, 1, 1)),
    Size(7, (0, 1, 2)),
    Size(8, (0, 1, 4)),
)


def read(text: str, problem: Problem) -> list[int] | dict[str, bool]:
    """Read the numbers of a core, or the value of every variable."""
    core = _CORE.fullmatch(text)
    if core is None:
        return {name: said == "true" for name, said in assignments(text, problem.meta["names"], VALUES).items()}
    named = numbers(core[1])
    if outside := [number for number in named if not 1 <= number <= len(problem.meta["clauses"])]:
        raise UnreadError(f"there is no clause {outside[0]}")
    if len(set(named)) != len(named):
        raise UnreadError("a clause is named twice")
    return named


def check(answer: list[int] | dict[str, bool], problem: Problem) -> Findings:
    """Check an assignment clause by clause, and a core for being one and for having nothing left over."""
    clauses, names = problem.meta["clauses"], problem.meta["names"]
    if isinstance(answer, dict):
        values = [answer[name] for name in names]
        true = [any(values[abs(literal) - 1] is (literal > 0) for literal in clause) for clause in clauses]
        return Findings([f"clause {number} is false" for number, fine in enumerate(true, 1) if not fine])
    tables = [table_of(clauses[number - 1], len(names)) for number in answer]
    if common(tables, len(names)):
        return Findings(["the clauses named can all be true together"])
    rest = [number for number, left in zip(answer, without_each(tables, len(names)), strict=True) if not left]
    return Findings([f"clause {number} can be left out: the others cannot all be true either" for number in rest])


def others(problem: Problem) -> list[str]:
    """Return other spellings of the right answer."""
    reference = str(problem.reference)
    if reference.startswith("unsat"):
        core = reference.removeprefix("unsat: ").split(", ")
        return [f"\\boxed{{UNSAT {{{', '.join(core[::-1])}}}}}", f"\\boxed{{unsatisfiable: clauses {' '.join(core)}}}"]
    pairs = [pair.split(" = ") for pair in reference.split(", ")]
    return [
        f"\\boxed{{{', '.join(f'{name}: {value}' for name, value in reversed(pairs))}}}",
        f"\\boxed{{{', '.join(f'{name}={VALUE_BITS[value]}' for name, value in pairs)}}}",
        "Answer:\n" + "\n".join(f"{name} is {value}" for name, value in pairs),
    ]


def every_assignment(problem: Problem) -> list[str]:
    """Return all rows of the truth table that are right, or a second core: the first clauses are tried first."""
    names, clauses = problem.meta["names"], problem.meta["clauses"]
    n, tables = len(names), [table_of(clause, len(names)) for clause in clauses]
    left = common(tables, n)
    if left:
        return [f"\\boxed{{{_assigned(names, row)}}}" for row in range(1 << n) if left >> row & 1]
    core = [len(tables) - 1 - place for place in core_of(tables[::-1], n)]
    return [f"\\boxed{{unsat: {', '.join(str(place + 1) for place in core)}}}"]


def lines_of_working(problem: Problem) -> int:
    """Return the effort: steps of the worked solution."""
    return str(problem.solution).count("\n")


def hasty(problem: Problem, rng: Rng) -> str:
    """Draw what follows without suppositions; name what led to a contradiction, else toss a coin for what is open."""
    names = problem.meta["names"]
    search = Search(names, dict(enumerate(problem.meta["clauses"], 1)))
    if not search.propagate():
        return f"\\boxed{{unsat: {', '.join(map(str, sorted(search.failed)))}}}"
    values = [search.values.get(k, rng.below(2) == 1) for k in range(1, len(names) + 1)]
    return f"\\boxed{{{_assigned(names, sum(value << k for k, value in enumerate(values)))}}}"


def _all_clauses(problem: Problem) -> str:
    return f"\\boxed{{unsat: {', '.join(str(k + 1) for k in range(len(problem.meta['clauses'])))}}}"


def hostile() -> tuple[Probe, ...]:
    """Answers that try to be paid without being right."""
    return (
        Probe("all clauses as the core", _all_clauses),
        Probe("no core", lambda p: "\\boxed{unsat}"),
        Probe("the first clause as the core", lambda p: "\\boxed{unsat: 1}"),
    )


@task(
    "logic.satisfiability",
    reward=PuzzleReward(read, check, hostile=hostile),
    answer_format=r"Answer with every value, like \boxed{X = true, Y = false}, or a core, like \boxed{unsat: 8, 9}.",
    answer=boxed,
    default_tiers=(0, 1),
    equivalents=others,
    solver=every_assignment,
    effort=lines_of_working,
    guess=hasty,
)
def satisfiability(rng: Rng, tier: int) -> Problem:
    """Make clauses over 4 (0) to 8 variables (5) true, or name a core; clauses get longer, too."""
    size = SIZES[tier]
    names = sorted(rng.sample(LETTERS, size.variables))
    clauses, contradictory = _draw(rng, size)
    rng.shuffle(clauses)
    said = "\n".join(f"{number}. {_written(clause, names)}" for number, clause in enumerate(clauses, 1))
    prompt = (
        f'{said}\nMake all of these clauses ("or": one or both) true: give {", ".join(names[:-1])} and {names[-1]} '
        "their values. If that cannot be, name a core: clauses that cannot all be true, though without any one of them "
        "the others can."
    )
    answer, lines = _refuted(clauses, names) if contradictory else _fulfilled(clauses, names)
    return Problem(prompt, answer, "\n".join([*lines, f"\\boxed{{{answer}}}"]), {"names": names, "clauses": clauses})


def _draw(rng: Rng, size: Size) -> tuple[list[Clause], bool]:
    """Draw clauses up to the first contradiction, and one more; half of the time none that contradicts the others."""
    contradictory = rng.below(2) == 1
    while True:
        clauses, left, more = list[Clause](), everything(size.variables), None
        for _ in range(TRIES):
            clause = _clause(rng, size)
            if any(_says_as_much(clause, other) for other in clauses):
                continue
            fewer = left & table_of(clause, size.variables)
            if more is None and not fewer:
                more = 2
            if not fewer and not contradictory:
                continue
            clauses.append(clause)
            left = fewer or left
            if more is not None:
                more -= 1
                if not more:
                    return clauses, contradictory


def _clause(rng: Rng, size: Size) -> Clause:
    length = 1 + rng.weighted(size.lengths)
    return [k + 1 if rng.below(2) else -k - 1 for k in sorted(rng.sample(range(size.variables), length))]


def _says_as_much(one: Clause, other: Clause) -> bool:
    """Whether one of two clauses follows from the other, or both are a core that everyone sees: A, not A."""
    return set(one) <= set(other) or set(other) <= set(one) or (len(one) == 1 and other == [-one[0]])


def _fulfilled(clauses: list[Clause], names: list[str]) -> tuple[str, list[str]]:
    """Search for values, and return them with the steps."""
    search = Search(names, dict(enumerate(clauses, 1)))
    search.solve()
    free = [k for k in range(1, len(names) + 1) if k not in search.values]
    lines = [f"Free: {', '.join(search.literal(k) for k in free)}."] if free else []
    values = search.values | dict.fromkeys(free, True)
    return _assigned(names, sum(values[k + 1] << k for k in range(len(names)))), search.lines + lines


def _refuted(clauses: list[Clause], names: list[str]) -> tuple[str, list[str]]:
    """Find a core, and return it with its refutation and with values that make all but one of its clauses true."""
    n, tables = len(names), [table_of(clause, len(names)) for clause in clauses]
    core = core_of(tables, n)
    search = Search(names, {place + 1: clauses[place] for place in core})
    search.solve()
    search.lines[-1] += "."
    letters = sorted({abs(literal) for place in core for literal in clauses[place]})
    lines = list[str]()
    for place, left in zip(core, without_each([tables[place] for place in core], n), strict=True):
        row = some_row(left)
        fitting = ", ".join(search.literal(k if row >> (k - 1) & 1 else -k) for k in letters)
        lines.append(f"Without {place + 1}: {fitting}.")
    return f"unsat: {', '.join(str(place + 1) for place in core)}", search.lines + lines


def _assigned(names: list[str], row: int) -> str:
    """Write a row of the truth table."""
    return ", ".join(f"{name} = {'true' if row >> k & 1 else 'false'}" for k, name in enumerate(names))


def _written(clause: Clause, names: list[str]) -> str:
    """Write a clause: "A or not B"."""
    return " or ".join(names[literal - 1] if literal > 0 else f"not {names[-literal - 1]}" for literal in clause)
