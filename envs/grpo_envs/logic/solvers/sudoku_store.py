"""Make sudokus from nothing: a random full grid, clues taken away while one solution is left, tries that settle it.

`python -m grpo_envs.logic.solvers.sudoku_store` writes `sudoku.txt`, the puzzles that the task draws from: making one
takes tens of milliseconds, a symmetric copy of one with clues added back takes microseconds. A line holds the full
grid, in letters where the puzzle is empty (a is 1), and the tries that it takes beyond single cells and single places:
"12=5" says that 5 in cell 12 meets a contradiction.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from grpo_envs.logic.solvers.singles import BOARD, FULL, Filling
from grpo_gym.rng import Rng

STORE = Path(__file__).with_name("sudoku.txt")
EACH = 600
"""Puzzles of each kind: those that single cells and places solve, and those that take tries."""

MOST_TRIES = 2
LONGEST_TRY = 12
"""Cells that a try may fill before it meets its contradiction."""

Stored = tuple[str, tuple[tuple[int, int], ...]]
"""The full grid with letters where the puzzle is empty, and the tries as (cell, digit)."""


@cache
def stored(tries: bool) -> list[Stored]:
    """Return the stored puzzles that take tries, or those that do not."""
    lines = [line.split() for line in STORE.read_text(encoding="ascii").splitlines()]
    puzzles = [(grid, tuple(_pair(word) for word in words)) for grid, *words in lines]
    return [puzzle for puzzle in puzzles if bool(puzzle[1]) == tries]


def _pair(word: str) -> tuple[int, int]:
    cell, digit = word.split("=")
    return int(cell), int(digit)


class Search:
    """Depth-first search for full grids, over the cell with the fewest digits left.

    Args:
        clues: Digits, 0 where a cell is empty.
        most: How many solutions are looked for: with 2, one solution means that it is the only one.
        rng: Draws the order in which digits are tried, for a random grid.

    Attributes:
        found: The solutions.
    """

    def __init__(self, clues: Sequence[int], most: int = 2, rng: Rng | None = None) -> None:
        self.found: list[list[int]] = []
        self._cells, self._taken = list(clues), [0] * 27
        self._empty = [cell for cell, digit in enumerate(clues) if not digit]
        self._most, self._rng = most, rng
        for cell, digit in enumerate(clues):
            if digit:
                self._flip(cell, digit)
        self._go()

    def _flip(self, cell: int, digit: int) -> None:
        """Note that a cell's units hold a digit, or that they no longer do."""
        for unit in BOARD.units_of[cell]:
            self._taken[unit] ^= 1 << digit - 1

    def _may(self, cell: int) -> int:
        row, column, box = BOARD.units_of[cell]
        return FULL & ~(self._taken[row] | self._taken[column] | self._taken[box])

    def _go(self) -> None:
        if not self._empty:
            self.found.append(list(self._cells))
            return
        best, fewest = 0, 10
        for place, cell in enumerate(self._empty):
            left = self._may(cell).bit_count()
            if left < fewest:
                best, fewest = place, left
                if left < 2:
                    break
        cell = self._empty.pop(best)
        digits = [digit for digit in range(1, 10) if self._may(cell) >> digit - 1 & 1]
        if self._rng is not None:
            self._rng.shuffle(digits)
        for digit in digits:
            if len(self.found) < self._most:
                self._cells[cell] = digit
                self._flip(cell, digit)
                self._go()
                self._flip(cell, digit)
        self._cells[cell] = 0
        self._empty.insert(best, cell)


def minimal(rng: Rng) -> tuple[list[int], list[int]]:
    """Return a random full grid and a puzzle of it that has one solution, and more without any one of its clues."""
    [full] = Search([0] * 81, 1, rng).found
    clues, order = list(full), list(range(81))
    rng.shuffle(order)
    for cell in order:
        clues[cell] = 0
        if len(Search(clues).found) > 1:
            clues[cell] = full[cell]
    return full, clues


def tries(full: Sequence[int], clues: Sequence[int]) -> list[tuple[int, int]] | None:
    """Return the shortest tries that settle a puzzle, none where it takes none; None where it takes more or longer."""
    filling, chosen = Filling(clues).run(), list[tuple[int, int]]()
    while not filling.is_full:
        if len(chosen) == MOST_TRIES:
            return None
        options = []
        for cell in filling.empty():
            for digit in filling.options(cell):
                tried = filling.attempt(cell, digit) if digit != full[cell] else None
                if tried is not None and tried.wall and len(tried.lines) <= LONGEST_TRY:
                    settled = len(filling.without(cell, digit).empty())
                    options.append((settled, len(tried.lines), cell, digit))
        if not options:
            return None
        _, _, cell, digit = min(options)
        chosen.append((cell, digit))
        filling.bar(cell, digit)
        filling.run()
    return chosen


def make() -> list[str]:
    """Return the lines of the store."""
    rng = Rng("sudoku store")
    lines: dict[bool, list[str]] = {False: [], True: []}
    while min(len(made) for made in lines.values()) < EACH:
        full, clues = minimal(rng)
        needed = tries(full, clues)
        if needed is not None and len(lines[bool(needed)]) < EACH:
            grid = "".join(
                str(digit) if clue else "abcdefghi"[digit - 1] for digit, clue in zip(full, clues, strict=True)
            )
            lines[bool(needed)].append(" ".join([grid, *(f"{cell}={digit}" for cell, digit in needed)]))
    return lines[False] + lines[True]


if __name__ == "__main__":
    STORE.write_text("\n".join(make()) + "\n", encoding="ascii")
