"""Sudokus solved by other means, from the prompt alone: exact cover; and a pupil who believes no line of a solution."""

from __future__ import annotations

import re
from collections.abc import Iterator

Cell = tuple[int, int]
Choice = tuple[int, int, int]
Demand = tuple[str, int, int]


def clues_of(prompt: str) -> list[list[int]]:
    """Read the grid in a prompt; 0 is an empty cell."""
    rows = [line.split() for line in prompt.splitlines() if re.fullmatch(r"[.\d]( [.\d])+", line)]
    return [[0 if sign == "." else int(sign) for sign in row] for row in rows]


class ExactCover:
    """Algorithm X: every cell is filled once, and every digit stands once in every row, column and box."""

    def __init__(self, clues: list[list[int]]) -> None:
        n = len(clues)
        box = int(n**0.5)
        self.meets: dict[Choice, tuple[Demand, ...]] = {
            (r, c, d): (("cell", r, c), ("row", r, d), ("column", c, d), ("box", r // box * box + c // box, d))
            for r in range(n)
            for c in range(n)
            for d in range(1, n + 1)
            if clues[r][c] in (0, d)
        }
        self.needs: dict[Demand, set[Choice]] = {}
        for choice, demands in self.meets.items():
            for demand in demands:
                self.needs.setdefault(demand, set()).add(choice)
        self.chosen: dict[Cell, int] = {}

    def solutions(self) -> Iterator[dict[Cell, int]]:
        """Find every way to fill the grid."""
        if not self.needs:
            yield dict(self.chosen)
            return
        scarce = min(self.needs, key=lambda demand: len(self.needs[demand]))
        for choice in sorted(self.needs[scarce]):
            removed = [(demand, self._meet(demand)) for demand in self.meets[choice]]
            self.chosen[choice[:2]] = choice[2]
            yield from self.solutions()
            del self.chosen[choice[:2]]
            for demand, rivals in reversed(removed):
                self._open(demand, rivals)

    def _meet(self, demand: Demand) -> set[Choice]:
        for rival in self.needs[demand]:
            for other in self.meets[rival]:
                if other != demand and other in self.needs:
                    self.needs[other].discard(rival)
        return self.needs.pop(demand)

    def _open(self, demand: Demand, rivals: set[Choice]) -> None:
        self.needs[demand] = rivals
        for rival in rivals:
            for other in self.meets[rival]:
                if other != demand and other in self.needs:
                    self.needs[other].add(rival)


def units_of(n: int, r: int, c: int) -> dict[str, set[Cell]]:
    """The cells of a cell's row, column and box."""
    box = int(n**0.5)
    top, left = r // box * box, c // box * box
    return {
        "row": {(r, k) for k in range(n)},
        "column": {(k, c) for k in range(n)},
        "box": {(top + i, left + j) for i in range(box) for j in range(box)},
    }


def cell_of(name: str) -> Cell:
    """Read r2c3."""
    row, column = re.fullmatch(r"r(\d)c(\d)", name).groups()  # type: ignore[union-attr]
    return int(row) - 1, int(column) - 1


class Pupil:
    """Reads a worked solution: what a line says must hold of the grid before it, and decide what it claims."""

    def __init__(self, n: int, grid: dict[Cell, int]) -> None:
        self.n, self.grid = n, grid
        self.barred: set[tuple[Cell, int]] = set()

    @classmethod
    def of(cls, clues: list[list[int]]) -> Pupil:
        """Begin with the clues."""
        return cls(len(clues), {(r, c): d for r, row in enumerate(clues) for c, d in enumerate(row) if d})

    def seen(self, cell: Cell) -> set[int]:
        """The digits that a cell cannot hold."""
        units = units_of(self.n, *cell).values()
        there = {self.grid[at] for unit in units for at in unit if at in self.grid}
        return there | {digit for at, digit in self.barred if at == cell}

    def nowhere_else(self, unit: set[Cell], cell: Cell, digit: int) -> bool:
        """Whether no other cell of a unit can hold a digit."""
        return all(at in self.grid or digit in self.seen(at) for at in unit if at != cell)

    def follow(self, line: str) -> None:
        """Believe a line after checking it."""
        if line.startswith("if "):
            self._refute(line)
            return
        name, said = line.split(": ")
        cell = cell_of(name)
        assert cell not in self.grid
        only = re.fullmatch(r"the only place in (.*) (\w+) for (\d)", said)
        self.grid[cell] = self._only_place(cell, *only.groups()) if only else self._only_digit(cell, said)

    def _only_place(self, cell: Cell, kind: str, where: str, digit: str) -> int:
        unit = self._unit(kind, where)
        assert cell in unit
        assert int(digit) not in self.seen(cell)
        assert self.nowhere_else(unit, cell, int(digit))
        return int(digit)

    def _unit(self, kind: str, where: str) -> set[Cell]:
        if kind == "the box at":
            return units_of(self.n, *cell_of(where))["box"]
        return units_of(self.n, int(where) - 1, int(where) - 1)[kind]

    def _only_digit(self, cell: Cell, said: str) -> int:
        *parts, last = said.split(", ")
        digit = int(last.removeprefix("so "))
        listed: set[int] = set()
        for part in parts:
            kind, *digits = part.split()
            told = {int(number) for number in digits}
            if kind == "not":
                assert {(cell, number) for number in told} <= self.barred
            else:
                assert told <= {self.grid[at] for at in units_of(self.n, *cell)[kind] if at in self.grid}
            listed |= told
        assert listed == set(range(1, self.n + 1)) - {digit}
        return digit

    def _refute(self, line: str) -> None:
        match = re.fullmatch(r"if (r\dc\d) were (\d): (.*); so \1 is not \2", line)
        assert match is not None
        cell, digit = cell_of(match[1]), int(match[2])
        *steps, wall = match[3].split(", ")
        tried = Pupil(self.n, {**self.grid, cell: digit})
        tried.barred = set(self.barred)
        for step in steps:
            at, number = cell_of(step.split()[0]), int(step.split()[1])
            assert tried._forces(at, number), step
            tried.grid[at] = number
        assert tried._is_wall(wall), wall
        self.barred.add((cell, digit))

    def _forces(self, cell: Cell, digit: int) -> bool:
        if cell in self.grid or digit in self.seen(cell):
            return False
        units = units_of(self.n, *cell).values()
        return len(self.seen(cell)) == self.n - 1 or any(self.nowhere_else(unit, cell, digit) for unit in units)

    def _is_wall(self, wall: str) -> bool:
        if (name := re.fullmatch(r"(r\dc\d) has no digit left", wall)) is not None:
            return cell_of(name[1]) not in self.grid and len(self.seen(cell_of(name[1]))) == self.n
        match = re.fullmatch(r"(.*) (\w+) has no place for (\d)", wall)
        assert match is not None
        unit, digit = self._unit(match[1], match[2]), int(match[3])
        placed = {self.grid[cell] for cell in unit if cell in self.grid}
        return digit not in placed and all(cell in self.grid or digit in self.seen(cell) for cell in unit)
