"""Complete a placement of queens: some stand already, and every way to place the others by the rules is right.

A placement lists the column of the queen in each row. Which of the given queens came from which placement does not
matter: the rules are checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

from grpo_envs.boxed import boxed
from grpo_gym.problem import Problem
from grpo_gym.reward import Probe
from grpo_gym.rng import Rng
from grpo_gym.task import task
from grpo_rewards.logic import Findings, PuzzleReward, UnreadError
from grpo_rewards.logic.reading import numbers

SIZES = ((8, 2, 3), (8, 4, 4), (8, 5, 5), (10, 6, 7), (12, 8, 9), (14, 10, 11))
"""Rows of the board, fewest and most queens that are missing, by tier."""

LONGEST = 16
"""Looks at a row in a worked solution that shows the tries that fail, too."""

FREE_CHOICE = 8
"""Up to this size placements are drawn from the list of all; larger boards are filled at random."""


class Board:
    """Queens on a board; a row without one holds None.

    Attributes:
        columns: The column of each row's queen, from 0.
    """

    def __init__(self, columns: Sequence[int | None]) -> None:
        self.columns = list(columns)
        self._n = len(columns)
        self._all = (1 << self._n) - 1
        self._files = self._rising = self._falling = 0
        for row, column in enumerate(columns):
            if column is not None:
                self._flip(row, column)

    def _flip(self, row: int, column: int) -> None:
        """Note that a queen attacks her column and her diagonals, or that she no longer does."""
        self._files ^= 1 << column
        self._rising ^= 1 << row + column
        self._falling ^= 1 << column - row + self._n

    def put(self, row: int, column: int) -> None:
        """Place a queen that no other attacks."""
        self.columns[row] = column
        self._flip(row, column)

    def take(self, row: int) -> None:
        """Take a row's queen away."""
        column = self.columns[row]
        assert column is not None
        self.columns[row] = None
        self._flip(row, column)

    def _free(self, row: int) -> int:
        """Return the columns of a row that no queen attacks, as bits."""
        return ~(self._files | self._rising >> row | self._falling >> self._n - row) & self._all

    def narrowest(self) -> tuple[int, list[int]] | None:
        """Return the row without a queen that has the fewest free columns, and those; None where none is missing."""
        best, fewest, least = -1, 0, self._n + 1
        for row in range(self._n):
            if self.columns[row] is None:
                free = self._free(row)
                if free.bit_count() < least:
                    best, fewest, least = row, free, free.bit_count()
        return None if best < 0 else (best, [column for column in range(self._n) if fewest >> column & 1])


class Completion:
    """Search for completions: the row with the fewest free columns first, its columns from left to right.

    Args:
        columns: The queens that stand.
        most: How many completions are looked for.
        first: A column for each row that is tried before the others.
        rng: Draws the order of the others.
        patience: How many looks at a row the search may take.

    Attributes:
        found: Completed placements.
        looks: The search as it went: queens that stood, the row that was looked at, its free columns, the one taken.
    """

    def __init__(
        self,
        columns: Sequence[int | None],
        most: int = 1,
        first: Sequence[int] | None = None,
        rng: Rng | None = None,
        patience: int = 10**9,
    ) -> None:
        self.found: list[list[int]] = []
        self.looks: list[Look] = []
        self._board, self._most, self._first, self._rng, self._patience = Board(columns), most, first, rng, patience
        self._go()

    def _go(self) -> None:
        narrowest = self._board.narrowest()
        if narrowest is None:
            self.found.append([column for column in self._board.columns if column is not None])
            return
        row, free = narrowest
        if self._rng is not None:
            self._rng.shuffle(free)
        if self._first is not None:
            favourite = self._first[row]
            free.sort(key=lambda column: column != favourite)
        stood = list(self._board.columns)
        if not free:
            self.looks.append((stood, row, free, None))
        for column in free:
            self.looks.append((stood, row, free, column))
            self._board.put(row, column)
            self._go()
            self._board.take(row)
            if len(self.found) >= self._most or len(self.looks) > self._patience:
                return


Look = tuple[list[int | None], int, list[int], int | None]


def told(look: Look) -> str:
    """Write a look at a row: the columns that are left, the diagonals that attack some, what is free and taken."""
    stood, row, free, taken = look
    left = [column for column in range(len(stood)) if column not in stood]
    parts = ["left " + " ".join(str(column + 1) for column in left)]
    for column in left:
        if column not in free:
            by = next(k for k, other in enumerate(stood) if other is not None and abs(other - column) == abs(k - row))
            parts.append(f"{column + 1} meets row {by + 1}")
    parts.append("free " + (" ".join(str(column + 1) for column in sorted(free)) or "none"))
    parts.append("back" if taken is None else f"take {taken + 1}")
    return f"row {row + 1}: {', '.join(parts)}"


def worked(columns: Sequence[int | None], placed: Sequence[int]) -> tuple[list[str], list[int]]:
    """Return a search for a completion and what it finds; where it is long, one whose tries all lead to `placed`."""
    search = Completion(columns, patience=LONGEST)
    if len(search.looks) > LONGEST:
        search = Completion(columns, first=placed)
    return [told(look) for look in search.looks], search.found[0]


@cache
def placements(n: int) -> list[list[int]]:
    """Return all placements of n queens on n x n."""
    return Completion([None] * n, 10**6).found


def attacks(columns: Sequence[int]) -> list[tuple[int, int]]:
    """Return the pairs of rows whose queens attack each other."""
    return [
        (one, two)
        for two in range(len(columns))
        for one in range(two)
        if columns[one] == columns[two] or abs(columns[one] - columns[two]) == two - one
    ]


def read(text: str, problem: Problem) -> list[int]:
    """Read the columns. Raises UnreadError."""
    found, n = numbers(text), problem.meta["size"]
    if len(found) != n:
        raise UnreadError(f"{len(found)} columns, where the board has {n} rows")
    if not all(1 <= column <= n for column in found):
        raise UnreadError(f"columns go from 1 to {n}")
    return found


def check(columns: list[int], problem: Problem) -> Findings:
    """Check that the given queens stand where they stood and no two attack each other.

    For partial credit count the missing rows whose queen nobody attacks. Luck is no less than what the missing columns
    in any order get right on average.
    """
    given: list[int] = problem.meta["given"]
    moved = [row for row, column in enumerate(given) if column and column != columns[row]]
    broken = [f"the queen of row {row + 1} was moved from column {given[row]} to {columns[row]}" for row in moved]
    pairs = attacks(columns)
    broken += [f"the queens of rows {one + 1} and {two + 1} attack each other" for one, two in pairs]
    if not broken:
        return Findings()
    missing = [row for row, column in enumerate(given) if not column]
    attacked = {row for pair in pairs for row in pair}
    share = 0.0 if moved else sum(row not in attacked for row in missing) / len(missing)
    return Findings(broken, share, max(0.5, 2 / len(missing)))


def _given(problem: Problem) -> list[int | None]:
    return [column - 1 if column else None for column in problem.meta["given"]]


def _listed(columns: Sequence[int]) -> str:
    return ", ".join(str(column + 1) for column in columns)


def solutions(problem: Problem) -> Iterable[str]:
    """Return up to four completions."""
    return [f"\\boxed{{{_listed(found)}}}" for found in Completion(_given(problem), 4).found]


def others(problem: Problem) -> Iterable[str]:
    """Write the columns otherwise: in brackets, with blanks alone, with "and"."""
    text = str(problem.reference)
    head, _, last = text.rpartition(", ")
    return [f"\\boxed{{{form}}}" for form in (f"[{text}]", f"({text})", text.replace(",", ""), f"{head} and {last}")]


def rows_looked_at(problem: Problem) -> float:
    """How many looks at a row a search takes until all queens stand."""
    return float(len(Completion(_given(problem)).looks))


def columns_alone(problem: Problem, rng: Rng) -> str:
    """Put the missing columns into the missing rows in any order: diagonals are not looked at."""
    given: list[int] = problem.meta["given"]
    missing = [column for column in range(1, len(given) + 1) if column not in given]
    rng.shuffle(missing)
    return f"\\boxed{{{', '.join(str(column or missing.pop()) for column in given)}}}"


def hostile() -> tuple[Probe, ...]:
    """Answers that try to be paid without being right."""
    return (
        Probe("the given queens alone", lambda p: f"\\boxed{{{', '.join(str(c) for c in p.meta['given'] if c)}}}"),
        Probe("all on a diagonal", lambda p: f"\\boxed{{{_listed(range(p.meta['size']))}}}"),
        Probe("a row more", lambda p: f"\\boxed{{{p.reference}, 1}}"),
    )


@task(
    "logic.queens",
    reward=PuzzleReward(read, check, hostile=hostile),
    answer_format=r"Answer with the columns of the queens in \boxed{}, from row 1 to the last, separated by commas.",
    answer=boxed,
    default_tiers=(0, 1),
    equivalents=others,
    solver=solutions,
    effort=rows_looked_at,
    guess=columns_alone,
)
def queens(rng: Rng, tier: int) -> Problem:
    """Complete 8 queens of whom 2 or 3 are missing (tier 0), up to 14 of whom 10 or 11 are (5)."""
    n, fewest, most = SIZES[tier]
    placed = rng.choice(placements(n)) if n <= FREE_CHOICE else Completion([None] * n, rng=rng).found[0]
    missing = set(rng.sample(range(n), rng.integer(fewest, most)))
    given = [0 if row in missing else column + 1 for row, column in enumerate(placed)]
    lines, found = worked([column - 1 if column else None for column in given], placed)
    stand = ", ".join(f"row {row} column {column}" for row, column in enumerate(given, 1) if column)
    prompt = (
        f"Place {n} queens on a board of {n} rows and {n} columns so that no two stand in the same row, the same "
        f"column or on the same diagonal. Some stand already: {stand}. They stay where they are."
    )
    reference = _listed(found)
    solution = "\n".join([*lines, f"\\boxed{{{reference}}}"])
    return Problem(prompt, reference, solution, {"size": n, "given": given})
