"""Sudoku of 4x4 cells, unique by counting: a set of clues is unique where it meets every way to change the grid.

There are 288 full grids, two up to symmetry. A set of clues of a grid leaves no other solution exactly when it has a
cell in each set of cells by which another grid differs. So the unique sets of clues are listed, once a process, and a
puzzle is a draw from the list and a draw from the symmetries: uniform over all puzzles with so many clues. Single cells
with one digit left solve all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import combinations

from grpo_envs.boxed import boxed
from grpo_envs.logic.solvers.latin import Board
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task

BOARD = Board(2)
EMPTY = ((4, 5), (6, 7), (8, 9), (10, 10), (11, 11), (12, 12))
"""Fewest and most empty cells by tier; no puzzle with more than twelve has one solution."""

PATTERNS = ((1, 2, 3, 4, 3, 4, 1, 2, 2, 1, 4, 3, 4, 3, 2, 1), (1, 2, 3, 4, 3, 4, 1, 2, 2, 3, 4, 1, 4, 1, 2, 3))
ORBITS = (96, 192)
"""A grid of each kind, and how many grids there are of it."""

_ASKED = (
    "Fill in this sudoku: every row, every column and every 2x2 box must hold 1, 2, 3 and 4 once each. A dot is an "
    "empty cell.\n"
)
_ONLY = {15 - (1 << bit): bit + 1 for bit in range(4)}
"""Three digits that are taken, as bits -> the one that is left."""


def _lines() -> list[tuple[int, ...]]:
    """Return the eight orders of rows, or columns, that keep boxes together."""
    pairs = [((0, 1), (2, 3)), ((2, 3), (0, 1))]
    return [(*first[::one], *second[::two]) for first, second in pairs for one in (1, -1) for two in (1, -1)]


SYMMETRIES = [
    tuple(4 * r + c if straight else 4 * c + r for r in rows for c in columns)
    for rows in _lines()
    for columns in _lines()
    for straight in (True, False)
]
"""Which cell each cell takes its digit from."""

RELABELLINGS = [
    (0, a, b, c, 10 - a - b - c) for a in range(1, 5) for b in range(1, 5) for c in range(1, 5) if len({a, b, c}) == 3
]


@cache
def full_grids() -> list[tuple[int, ...]]:
    """Return the 288 full grids."""
    moved = [[pattern[cell] for cell in symmetry] for pattern in PATTERNS for symmetry in SYMMETRIES]
    return sorted({tuple(names[digit] for digit in cells) for cells in moved for names in RELABELLINGS})


@cache
def _unavoidable(pattern: tuple[int, ...]) -> list[int]:
    """Return the smallest sets of cells, as bits, by which other full grids differ from this one."""
    changes = {sum(1 << cell for cell in range(16) if grid[cell] != pattern[cell]) for grid in full_grids()} - {0}
    return sorted(change for change in changes if not any(other & change == other != change for other in changes))


@cache
def unique_clues(kind: int, number: int) -> list[tuple[int, ...]]:
    """Return every set of so many cells of `PATTERNS[kind]` that leaves one solution."""
    changes = _unavoidable(PATTERNS[kind])
    bits = [1 << cell for cell in range(16)]
    found = []
    for cells in combinations(range(16), number):
        kept = sum([bits[cell] for cell in cells])
        if all(kept & change for change in changes):
            found.append(cells)
    return found


def solved(clues: Sequence[int]) -> tuple[list[int], list[str], int]:
    """Fill the cells that have one digit left, sweep after sweep in reading order.

    Returns:
        The full grid, a line for every cell, and how many cells were looked at.

    Raises:
        ValueError: No empty cell has one digit left.
    """
    cells, lines, looks = list(clues), [], 0
    taken = [0] * 12
    for cell, digit in enumerate(cells):
        if digit:
            row, column, box = BOARD.units_of[cell]
            bit = 1 << digit - 1
            taken[row] |= bit
            taken[column] |= bit
            taken[box] |= bit
    empty = [cell for cell in range(16) if not cells[cell]]
    while empty:
        left: list[int] = []
        for cell in empty:
            row, column, box = BOARD.units_of[cell]
            only = _ONLY.get(taken[row] | taken[column] | taken[box])
            if only is None:
                left.append(cell)
                continue
            lines.append(_line(cells, cell, only))
            cells[cell] = only
            bit = 1 << only - 1
            taken[row] |= bit
            taken[column] |= bit
            taken[box] |= bit
        looks += len(empty)
        if len(left) == len(empty):
            raise ValueError("no empty cell has one digit left")
        empty = left
    return cells, lines, looks


_SIGNS = ("", " 1", " 2", " 3", " 4")
_NAMES = [BOARD.name(cell) for cell in range(16)]
_SEEN_FROM = [tuple(BOARD.units[unit] for unit in BOARD.units_of[cell]) for cell in range(16)]


def _line(cells: list[int], cell: int, digit: int) -> str:
    """Write what a cell sees, row, column and box, and the digit that is left."""
    row, column, box = ["".join([_SIGNS[cells[at]] for at in unit]) for unit in _SEEN_FROM[cell]]
    said = f"{_NAMES[cell]}:"
    if row:
        said += f" row{row},"
    if column:
        said += f" column{column},"
    if box:
        said += f" box{box},"
    return f"{said} so {digit}"


def looks(problem: Problem) -> float:
    """How many cells are looked at, sweep after sweep, until all are filled."""
    return float(solved([int(sign) if sign != "." else 0 for sign in problem.meta["clues"]])[2])


def rows_alone(problem: Problem, rng: Rng) -> str:
    """Fill every row with its missing digits in any order: columns and boxes are not looked at."""
    rows = []
    for start in range(0, 16, 4):
        signs = problem.meta["clues"][start : start + 4]
        missing = [sign for sign in "1234" if sign not in signs]
        rng.shuffle(missing)
        rows.append(" ".join(missing.pop() if sign == "." else sign for sign in signs))
    return f"\\boxed{{{' / '.join(rows)}}}"


@task(
    "logic.mini_sudoku",
    reward=BOARD.reward(),
    answer_format=r"Answer with the four rows in \boxed{}, a slash between rows: \boxed{. . . . / . . . . / ...}.",
    answer=boxed,
    default_tiers=(0, 1),
    equivalents=BOARD.spellings,
    effort=looks,
    guess=rows_alone,
)
def mini_sudoku(rng: Rng, tier: int) -> Problem:
    """Fill a 4x4 grid: 4 or 5 cells are empty (tier 0), up to 12, which is the most there can be (5)."""
    number = 16 - rng.integer(*EMPTY[tier])
    kind = rng.weighted([grids * len(unique_clues(kind, number)) for kind, grids in enumerate(ORBITS)])
    kept = rng.choice(unique_clues(kind, number))
    names, symmetry = rng.choice(RELABELLINGS), rng.choice(SYMMETRIES)
    pattern = [0] * 16
    for cell in kept:
        pattern[cell] = names[PATTERNS[kind][cell]]
    clues = [pattern[cell] for cell in symmetry]
    cells, lines, _ = solved(clues)
    reference = BOARD.line(cells)
    meta = {"clues": "".join([str(digit) if digit else "." for digit in clues])}
    return Problem(_ASKED + BOARD.drawn(clues), reference, "\n".join([*lines, f"\\boxed{{{reference}}}"]), meta)
