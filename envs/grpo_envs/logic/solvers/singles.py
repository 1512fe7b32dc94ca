"""Sudoku as people do it: one digit left for a cell, one place left for a digit, and a try that runs into a wall.

The order of steps depends on the order of cells, what can be filled does not: so a try that settles a puzzle does the
same in each of its symmetric copies, and with more clues.
"""

from __future__ import annotations

from collections.abc import Sequence

from grpo_envs.logic.solvers.latin import Board

BOARD = Board(3)
FULL = 511
"""All nine digits as bits: digit d is bit d - 1."""

_ONLY = {FULL - (1 << bit): bit + 1 for bit in range(9)}
_BITS = {1 << bit: bit + 1 for bit in range(9)}
_DIGITS = [[bit + 1 for bit in range(9) if mask >> bit & 1] for mask in range(512)]
_TEXTS = ["".join(f" {digit}" for digit in digits) for digits in _DIGITS]
_NAMES = [BOARD.name(cell) for cell in range(81)]


class Filling:
    """A grid that is being filled.

    Attributes:
        cells: Digits, 0 where nothing stands yet.
        lines: What was found, one deduction a line.
        looks: How many cells were looked at.
        wall: What contradicts the rules, "" where nothing does.
    """

    def __init__(self, clues: Sequence[int]) -> None:
        self.cells = list(clues)
        self.lines: list[str] = []
        self.looks = 0
        self.wall = ""
        self._taken = [0] * 27
        self._barred = [0] * 81
        for cell, digit in enumerate(clues):
            if digit:
                for unit in BOARD.units_of[cell]:
                    self._taken[unit] |= 1 << digit - 1
        self._empty = [cell for cell, digit in enumerate(clues) if not digit]

    @property
    def is_full(self) -> bool:
        """Whether every cell is filled."""
        return not self._empty

    def options(self, cell: int) -> list[int]:
        """Return the digits that an empty cell may still hold."""
        return _DIGITS[FULL & ~self._seen(cell)]

    def empty(self) -> list[int]:
        """Return the empty cells."""
        return list(self._empty)

    def place(self, cell: int, digit: int) -> None:
        """Put a digit into an empty cell."""
        self._put(cell, 1 << digit - 1)
        self._empty.remove(cell)

    def bar(self, cell: int, digit: int) -> None:
        """Rule a digit out for a cell."""
        self._barred[cell] |= 1 << digit - 1

    def run(self) -> Filling:
        """Fill what follows, until nothing does or a rule is broken."""
        while self._empty and not self.wall and (self._sweep() or (not self.wall and self._search())):
            pass
        return self

    def attempt(self, cell: int, digit: int) -> Filling:
        """Return what follows from a digit in a cell, in a copy."""
        tried = self._copy()
        tried.place(cell, digit)
        return tried.run()

    def without(self, cell: int, digit: int) -> Filling:
        """Return what follows where a cell does not hold a digit, in a copy."""
        tried = self._copy()
        tried.bar(cell, digit)
        return tried.run()

    def refute(self, cell: int, digit: int) -> None:
        """Rule a digit out by trying it, where the cell is empty. Raises ValueError when the try meets no wall."""
        if self.cells[cell] or digit not in self.options(cell):
            return
        tried = self.attempt(cell, digit)
        if not tried.wall:
            raise ValueError(f"{digit} at {_NAMES[cell]} meets no contradiction")
        chain = [line.split(":")[0] + line[-2:] for line in tried.lines]
        said = "".join(f"{step}, " for step in chain)
        self.lines.append(f"if {_NAMES[cell]} were {digit}: {said}{tried.wall}; so {_NAMES[cell]} is not {digit}")
        self.looks += tried.looks
        self.bar(cell, digit)

    def _copy(self) -> Filling:
        copy = Filling(self.cells)
        copy._barred = list(self._barred)
        return copy

    def _seen(self, cell: int) -> int:
        row, column, box = BOARD.units_of[cell]
        return self._taken[row] | self._taken[column] | self._taken[box] | self._barred[cell]

    def _put(self, cell: int, bit: int) -> None:
        self.cells[cell] = _BITS[bit]
        row, column, box = BOARD.units_of[cell]
        self._taken[row] |= bit
        self._taken[column] |= bit
        self._taken[box] |= bit

    def _sweep(self) -> bool:
        """Fill the cells that have one digit left, in reading order. Return whether there was one."""
        left: list[int] = []
        taken, barred = self._taken, self._barred
        for cell in self._empty:
            row, column, box = BOARD.units_of[cell]
            in_row, in_column, in_box = taken[row], taken[column], taken[box]
            seen = in_row | in_column | in_box | barred[cell]
            if seen not in _ONLY:
                left.append(cell)
                if seen == FULL:
                    self.wall = f"{_NAMES[cell]} has no digit left"
                continue
            parts = [in_row, in_column & ~in_row, in_box & ~in_row & ~in_column]
            said = [name + _TEXTS[part] for name, part in zip(("row", "column", "box"), parts, strict=True) if part]
            if unseen := barred[cell] & ~(in_row | in_column | in_box):
                said.append("not" + _TEXTS[unseen])
            self.lines.append(f"{_NAMES[cell]}: {', '.join(said)}, so {_ONLY[seen]}")
            self._put(cell, FULL - seen)
        self.looks += len(self._empty)
        found = len(left) < len(self._empty)
        self._empty = left
        return found

    def _search(self) -> bool:
        """Fill the cells that are the only place for a digit in a row, column or box. Return whether there was one."""
        may = [0] * 81
        for cell in self._empty:
            may[cell] = FULL & ~self._seen(cell)
        found = False
        for number, unit in enumerate(BOARD.units):
            once = more = 0
            for cell in unit:
                more |= once & may[cell]
                once |= may[cell]
            taken = self._taken[number]
            if once | taken != FULL:
                digit = _DIGITS[FULL & ~(once | taken)][0]
                self.wall = f"{BOARD.names[number]} has no place for {digit}"
                return False
            for digit in _DIGITS[once & ~more & ~taken]:
                found |= self._only_place(number, digit, may)
        self.looks += 9 * len(BOARD.units)
        if found:
            self._empty = [cell for cell in self._empty if not self.cells[cell]]
        return found

    def _only_place(self, number: int, digit: int, may: list[int]) -> bool:
        """Fill the one cell of a unit that may hold a digit, unless it was filled or has come to see it meanwhile."""
        bit = 1 << digit - 1
        cell = next(cell for cell in BOARD.units[number] if may[cell] & bit)
        if self.cells[cell] or self._seen(cell) & bit:
            return False
        self.lines.append(f"{_NAMES[cell]}: the only place in {BOARD.names[number]} for {digit}")
        self._put(cell, bit)
        return True
