"""Sudoku of 9x9 cells with one solution: a stored minimal puzzle, a random symmetry, clues added back by tier.

The stored puzzles were made from nothing and proved by search (`sudoku_store.py`). A symmetry keeps a solution the only
one, and so does a clue more. What is stored is where the clues of a puzzle may be fewest: which cells beyond them are
given is drawn, so puzzles below the last tier are symmetric copies of one another about never.
"""

from __future__ import annotations

from itertools import permutations

from grpo_envs.boxed import boxed
from grpo_envs.logic.solvers.singles import BOARD, Filling
from grpo_envs.logic.solvers.sudoku_store import stored
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task

EMPTY = ((4, 6), (16, 24), (32, 38), (42, 46), (49, 52), (56, 58))
"""Fewest and most empty cells by tier; a minimal puzzle has few more."""

TRIES = (False, False, False, False, False, True)
"""Whether single cells and single places are not enough."""

_ASKED = (
    "Fill in this sudoku: every row, every column and every 3x3 box must hold the digits 1 to 9 once each. A dot is an "
    "empty cell.\n"
)
_LETTERS = "abcdefghi"
_ORDERS = list(permutations(range(3)))


def work(problem: Problem) -> float:
    """How many cells are looked at by somebody who fills single cells, then single places, then tries."""
    filling = Filling([int(sign) if sign != "." else 0 for sign in problem.meta["clues"]])
    return float(solve(filling, [(cell, digit) for cell, digit in problem.meta["tries"]]).looks)


def solve(filling: Filling, tries: list[tuple[int, int]]) -> Filling:
    """Fill the grid: what is single, then what follows from tries. Raises ValueError where that is not enough."""
    filling.run()
    for cell, digit in tries:
        if not filling.is_full:
            filling.refute(cell, digit)
            filling.run()
    if not filling.is_full:
        raise ValueError("the tries do not settle the puzzle")
    return filling


def rows_alone(problem: Problem, rng: Rng) -> str:
    """Fill every row with its missing digits in any order: columns and boxes are not looked at."""
    rows = []
    for start in range(0, 81, 9):
        signs = problem.meta["clues"][start : start + 9]
        missing = [sign for sign in BOARD.symbols if sign not in signs]
        rng.shuffle(missing)
        rows.append(" ".join(missing.pop() if sign == "." else sign for sign in signs))
    return f"\\boxed{{{' / '.join(rows)}}}"


def symmetry(rng: Rng) -> list[int]:
    """Return which cell each cell takes its digit from, in one of the symmetries that keep rows, columns and boxes."""
    rows, columns = _lines(rng), _lines(rng)
    if rng.chance(1, 2):
        return [9 * r + c for r in rows for c in columns]
    return [9 * c + r for r in rows for c in columns]


def _lines(rng: Rng) -> list[int]:
    return [3 * band + line for band in rng.choice(_ORDERS) for line in rng.choice(_ORDERS)]


@task(
    "logic.sudoku",
    reward=BOARD.reward(),
    answer_format=r"Answer with the nine rows in \boxed{}, a slash between rows: \boxed{. . . . . . . . . / ...}.",
    answer=boxed,
    default_tiers=(2, 3),
    equivalents=BOARD.spellings,
    effort=work,
    guess=rows_alone,
)
def sudoku(rng: Rng, tier: int) -> Problem:
    """Fill a 9x9 grid: 4 to 6 cells are empty (tier 0), 32 to 46 (2, 3), up to 58 where most take tries (5)."""
    grid, tries = rng.choice(stored(TRIES[tier]))
    digits = list(range(1, 10))
    rng.shuffle(digits)
    name = dict(zip("123456789" + _LETTERS, digits + digits, strict=True))
    blanks = [cell for cell, sign in enumerate(grid) if sign in _LETTERS]
    empty = set(rng.sample(blanks, min(rng.integer(*EMPTY[tier]), len(blanks))))
    moved = symmetry(rng)
    clues = [0 if cell in empty else name[grid[cell]] for cell in moved]
    tried = [(moved.index(cell), name[str(digit)]) for cell, digit in tries]
    filling = solve(Filling(clues), tried)
    reference = BOARD.line(filling.cells)
    meta = {
        "clues": "".join([str(digit) if digit else "." for digit in clues]),
        "tries": [list(pair) for pair in tried],
    }
    solution = "\n".join([*filling.lines, f"\\boxed{{{reference}}}"])
    return Problem(_ASKED + BOARD.drawn(clues), reference, solution, meta)
