"""What premises entail: which letters must be true, which must be false, and which are open.

The truth table of all premises together decides. The worked solution takes one premise at a time, together with what is
known of single letters, and supposes something only where no premise says more.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from grpo_envs.boxed import boxed
from grpo_envs.logic.solvers.formulas import SAYINGS, Formula, Reader, connections, literals, nested
from grpo_envs.logic.solvers.tables import columns, everything, some_row
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task
from grpo_rewards.logic import Findings, PuzzleReward
from grpo_rewards.logic.deduction import Chain, Worlds, check_deductions
from grpo_rewards.logic.reading import assignments

LETTERS = ("p", "q", "r", "s", "t", "u", "w")

IMPLIES = 1
"""The place in `SAYINGS` of the one connective whose sides cannot change places."""

CHOICES = {n: list(combinations(LETTERS, n)) for n in range(3, 8)}

VALUES = {
    "true": "true", "t": "true", "1": "true",
    "false": "false", "f": "false", "0": "false",
    "open": "open", "unknown": "open", "undetermined": "open", "either": "open",
}  # fmt: skip


class Size(NamedTuple):
    """What a tier looks like.

    Attributes:
        letters: How many letters there are.
        fact: Whether a premise says outright what a letter is.
        nested: Of four premises, how many connect more than two letters.
        models: Rows in which all premises are true, at the most.
    """

    letters: int
    fact: bool
    nested: int
    models: int


SIZES = (
    Size(3, True, 0, 2),
    Size(4, True, 0, 2),
    Size(4, False, 1, 2),
    Size(5, False, 2, 2),
    Size(6, False, 3, 3),
    Size(7, False, 4, 3),
)


class Proof:
    """Decides letter by letter, and writes down how.

    Args:
        letters: The letters.
        premises: The truth tables of the premises.
    """

    def __init__(self, letters: Sequence[str], premises: Sequence[int]) -> None:
        self.letters = letters
        self.premises = premises
        self.columns = columns(len(letters))
        self.ones = everything(len(letters))
        self.lines: list[str] = []
        self.values: dict[int, bool] = {}

    def propagate(self, known: int, values: dict[int, bool], indent: str = "", sweeps: int = 1_000) -> int:
        """Draw what single premises say about letters; return the rows that are left, 0 at a contradiction."""
        unread = True
        while unread and sweeps:
            unread, sweeps = False, sweeps - 1
            for number, premise in enumerate(self.premises, 1):
                left = known & premise
                if not left:
                    self.lines.append(f"{indent}From {number}: contradiction")
                    return 0
                new = []
                for letter, column in enumerate(self.columns):
                    if letter not in values:
                        is_true = left & column
                        if not is_true or is_true == left:
                            values[letter] = bool(is_true)
                            known &= column if is_true else self.ones ^ column
                            new.append(self.letters[letter] if is_true else f"not {self.letters[letter]}")
                if new:
                    unread = True
                    self.lines.append(f"{indent}From {number}: {', '.join(new)}.")
        return known

    def decide(self, forced: dict[int, bool]) -> None:
        """Prove all forced letters."""
        known = self.propagate(self.ones, self.values)
        while len(self.values) < len(forced):
            letter = next(letter for letter in forced if letter not in self.values)
            known = self._refute(letter, not forced[letter], known, self.values, "")
            known = self.propagate(known, self.values)

    def _refute(self, letter: int, value: bool, known: int, values: dict[int, bool], indent: str) -> int:
        """Suppose a letter to be what it cannot be, up to the contradiction; return the rows that are left."""
        self.lines.append(f"{indent}Suppose {self.literal(letter, value)}.")
        inside, column = {**values, letter: value}, self.columns[letter]
        left = self.propagate(known & (column if value else self.ones ^ column), inside, indent + " ")
        while left:
            other = next(k for k in range(len(self.letters)) if k not in inside)
            left = self._refute(other, True, left, inside, indent + " ")
            left = self.propagate(left, inside, indent + " ")
        values[letter] = not value
        self.lines[-1] += f", so {self.literal(letter, not value)}."
        return known & (self.ones ^ column if value else column)

    def literal(self, letter: int, value: bool) -> str:
        """Write a letter that is true, or the negation of one that is false."""
        return self.letters[letter] if value else f"not {self.letters[letter]}"

    def row(self, number: int) -> str:
        """Write what all letters are in a row of the truth table."""
        said = [name if number >> k & 1 else f"not {name}" for k, name in enumerate(self.letters)]
        return ", ".join(said)


def read(text: str, problem: Problem) -> dict[str, str]:
    """Read what is said of every letter."""
    return assignments(text, problem.meta["letters"], VALUES)


def check(said: dict[str, str], problem: Problem) -> Findings:
    """Compare with the truth table of all premises."""
    letters = problem.meta["letters"]
    known = _forced(len(letters), _tables(problem))
    wrong = []
    for k, letter in enumerate(letters):
        if said[letter] != known[k]:
            wrong.append(f"{letter} is {'not ' if said[letter] != 'open' else 'decided, not '}{said[letter]}")
    luck = max(map(known.count, known)) / len(known)
    return Findings(wrong, 1 - len(wrong) / len(known), luck)


def soundness(response: str, problem: Problem) -> Chain:
    """Check the deductions of a response: each must follow from the premises it cites and what came before."""
    letters = problem.meta["letters"]
    premises = {str(number): table for number, table in enumerate(_tables(problem), 1)}
    return check_deductions(response, Worlds(everything(len(letters)), premises, Reader(letters)))


def others(problem: Problem) -> list[str]:
    """Return other spellings of the right answer."""
    pairs = [pair.split(": ") for pair in str(problem.reference).split(", ")]
    return [
        f"\\boxed{{{', '.join(f'{letter} = {value}' for letter, value in reversed(pairs))}}}",
        "Answer:\n" + "\n".join(f"{letter.upper()} is {value}." for letter, value in pairs),
        f"\\boxed{{{'; '.join(f'{letter} is {value}' for letter, value in pairs)}}}".replace("open", "undetermined"),
    ]


def lines_of_working(problem: Problem) -> int:
    """Return the effort: deductions of the worked solution."""
    return str(problem.solution).count("\n")


def hasty(problem: Problem, _: Rng) -> str:
    """Take the premises once, in their order, and call open what is not decided then."""
    letters = problem.meta["letters"]
    proof, values = Proof(letters, _tables(problem)), dict[int, bool]()
    proof.propagate(proof.ones, values, sweeps=1)
    said = [("true" if values[k] else "false") if k in values else "open" for k in range(len(letters))]
    return f"\\boxed{{{', '.join(f'{letter}: {value}' for letter, value in zip(letters, said, strict=True))}}}"


@task(
    "logic.propositional",
    reward=PuzzleReward(read, check, soundness=soundness),
    answer_format=r"Answer for every letter, like \boxed{x: true, y: false, z: open}.",
    answer=boxed,
    default_tiers=(0, 1),
    equivalents=others,
    effort=lines_of_working,
    guess=hasty,
)
def propositional(rng: Rng, tier: int) -> Problem:
    """Say of 3 (0) to 7 letters (5) which are decided; without a fact from tier 2 on, formulas nested ever more."""
    size = SIZES[tier]
    letters = rng.choice(CHOICES[size.letters])
    premises = _draw(rng, size, letters)
    tables = [table for _, table in premises]
    answers = _forced(size.letters, tables)
    proof = Proof(letters, tables)
    proof.decide({k: answer == "true" for k, answer in enumerate(answers) if answer != "open"})
    lines = proof.lines + _open(proof, answers)
    answer = ", ".join([f"{letter}: {answer}" for letter, answer in zip(letters, answers, strict=True)])
    said = "\n".join([f"{number}. {written}" for number, (written, _) in enumerate(premises, 1)])
    prompt = (
        f'These statements are true ("or": one or both):\n{said}\n'
        f"Which of {', '.join(letters[:-1])} and {letters[-1]} must be true, which must be false, and which are open?"
    )
    meta = {"letters": list(letters), "tables": [f"{table:x}" for table in tables]}
    return Problem(prompt, answer, "\n".join([*lines, f"\\boxed{{{answer}}}"]), meta)


def _tables(problem: Problem) -> list[int]:
    """Return the truth tables of the premises."""
    return [int(table, 16) for table in problem.meta["tables"]]


def _draw(rng: Rng, size: Size, letters: tuple[str, ...]) -> list[Formula]:
    """Draw premises that are true in one row, each of which leaves fewer rows, until they agree on a letter.

    They are sorted, and so are the sides of a connective that is the same either way: else the same premises in another
    order could be in another split.
    """
    n, formulas, pairs, premises = size.letters, literals(letters), connections(size.letters), list[Formula]()
    row, left = rng.below(1 << n), everything(n)
    if size.fact:
        letter = rng.below(n)
        premises.append(formulas[2 * letter + 1 - (row >> letter & 1)])
        left = premises[0][1]
    while left.bit_count() > size.models or not any(left & column in (0, left) for column in columns(n)):
        if size.nested and rng.below(4) < size.nested:
            written, table = nested(rng, formulas, n)
        else:
            kind, one, other, table = pairs[rng.below(len(pairs))]
            if other < one and kind != IMPLIES:
                one, other = other, one
            written = ""
        if table >> row & 1 and left & table != left:
            left &= table
            premises.append((written or SAYINGS[kind].format(formulas[one][0], formulas[other][0]), table))
    premises.sort()
    return premises


def _forced(n: int, premises: Sequence[int]) -> list[str]:
    """Return what the premises say of every letter."""
    left = everything(n)
    for table in premises:
        left &= table
    return ["false" if not left & column else "true" if left & column == left else "open" for column in columns(n)]


def _open(proof: Proof, answers: Sequence[str]) -> list[str]:
    """Show for every open letter that all premises can be true with it and without it."""
    left = proof.ones
    for table in proof.premises:
        left &= table
    return [
        f"Open: {proof.letters[k]}, as ({proof.row(some_row(left & column))}) and "
        f"({proof.row(some_row(left & ~column))}) fit."
        for k, (answer, column) in enumerate(zip(answers, proof.columns, strict=True))
        if answer == "open"
    ]
