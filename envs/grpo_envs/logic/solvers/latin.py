"""Square grids whose rows, columns and boxes hold every digit once: how they are written, read and checked.

A cell is a number from 0, in reading order; a grid is a flat sequence of digits, 0 where nothing stands yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from grpo_gym.problem import Problem
from grpo_gym.reward import Probe
from grpo_rewards.logic import Findings, PuzzleReward
from grpo_rewards.logic.reading import grid
from grpo_rewards.logic.reward import SHOWN


class Board:
    """The geometry of a grid of `box` x `box` boxes, 4x4 or 9x9.

    Attributes:
        box: Rows and columns of a box.
        size: Rows of the grid, which is also the number of digits.
        cells: Number of cells.
        rows: The cells of every row; so are `columns` and `boxes`.
        units: All rows, columns and boxes, in this order.
        names: What the units are called, in the same order.
        units_of: The row, the column and the box of every cell.
    """

    def __init__(self, box: int) -> None:
        self.box, self.size = box, box * box
        n = self.size
        self.cells = n * n
        self.rows = [tuple(range(n * r, n * r + n)) for r in range(n)]
        self.columns = [tuple(range(c, n * n, n)) for c in range(n)]
        corners = [n * r + c for r in range(0, n, box) for c in range(0, n, box)]
        self.boxes = [tuple(corner + n * r + c for r in range(box) for c in range(box)) for corner in corners]
        self.units = [*self.rows, *self.columns, *self.boxes]
        self.names = [f"{kind} {k + 1}" for kind in ("row", "column") for k in range(n)]
        self.names += [f"the box at {self.name(corner)}" for corner in corners]
        self.units_of = [
            (cell // n, n + cell % n, 2 * n + cell // n // box * box + cell % n // box) for cell in range(n * n)
        ]
        self.symbols = "".join(str(digit) for digit in range(1, n + 1))

    def name(self, cell: int) -> str:
        """Return what a cell is called: r2c3 is the third cell of the second row."""
        return f"r{cell // self.size + 1}c{cell % self.size + 1}"

    def drawn(self, cells: Sequence[int]) -> str:
        """Write a grid as the prompt shows it: a line a row, dots for empty cells."""
        signs = [str(digit) if digit else "." for digit in cells]
        return "\n".join([" ".join(signs[row[0] : row[-1] + 1]) for row in self.rows])

    def line(self, cells: Sequence[int]) -> str:
        """Write a full grid on one line, as answers are: rows with a slash between them."""
        signs = list(map(str, cells))
        return " / ".join([" ".join(signs[row[0] : row[-1] + 1]) for row in self.rows])

    def read(self, text: str, problem: Problem) -> list[list[str]]:
        """Read the rows of an answer. Raises UnreadError."""
        return grid(text, self.size, self.size, self.symbols)

    def check(self, rows: list[list[str]], problem: Problem) -> Findings:
        """Check that the clues in `meta["clues"]` are kept and every unit holds every digit once."""
        clues: str = problem.meta["clues"]
        found = "".join(map("".join, rows))
        signs = self._signs(found)
        changed = [k for k, clue in enumerate(clues) if clue != found[k] and clue != "."]
        doubled = [k for k, unit in enumerate(signs) if len(set(unit)) < self.size]
        if not changed and not doubled:
            return Findings()
        if changed:
            return Findings(
                [
                    f"the clue {clues[cell]} at {self.name(cell)} was changed to {found[cell]}"
                    for cell in changed[:SHOWN]
                ]
            )
        broken = [f"{self.names[k]} has more than one {max(signs[k], key=signs[k].count)}" for k in doubled[:SHOWN]]
        return Findings(broken, credit=partial(self._credit, clues, found, signs))

    def _credit(self, clues: str, found: str, signs: list[str]) -> tuple[float, float]:
        """Return the share of filled cells whose digit no row, column or box holds twice, and the luck in it.

        Luck is what filling rows, columns or boxes with their missing digits in any order gets right on average: one
        cell for each of them.
        """
        filled = [cell for cell, clue in enumerate(clues) if clue == "."]
        units = [self.units_of[cell] for cell in filled]
        single = [found[cell] for cell, at in zip(filled, units, strict=True) if self._once(found[cell], signs, at)]
        luck = max(len(set(kind)) for kind in zip(*units, strict=True)) / len(filled)
        return len(single) / len(filled), luck

    @staticmethod
    def _once(sign: str, signs: list[str], at: tuple[int, ...]) -> bool:
        return all(signs[unit].count(sign) == 1 for unit in at)

    def _signs(self, found: str) -> list[str]:
        """Return what stands in every unit."""
        n, box = self.size, self.box
        texts = [found[start : start + n] for start in range(0, n * n, n)]
        texts += [found[column::n] for column in range(n)]
        texts += ["".join([found[cell : cell + box] for cell in cells[::box]]) for cells in self.boxes]
        return texts

    def reward(self) -> PuzzleReward:
        """Return the reward of puzzles on this board."""
        return PuzzleReward(self.read, self.check, hostile=self._hostile)

    def _hostile(self) -> tuple[Probe, ...]:
        return (
            Probe("blanks filled with 1", lambda p: f"\\boxed{{{self._filled(p)}}}"),
            Probe("another clue", lambda p: f"\\boxed{{{self._swapped(p)}}}"),
        )

    def _filled(self, problem: Problem) -> str:
        """Return the clues with 1 in every empty cell."""
        return self.line([int(sign) for sign in problem.meta["clues"].replace(".", "1")])

    def _swapped(self, problem: Problem) -> str:
        """Return the solution with 1 and 2 swapped: every unit is right, but clues are changed."""
        return str(problem.reference).translate(str.maketrans("12", "21"))

    def spellings(self, problem: Problem) -> list[str]:
        """Write a right answer otherwise: a block of lines, without blanks, as a matrix, with bars, as a list."""
        rows = str(problem.reference).split(" / ")
        block = "\n".join(rows)
        matrix = r" \\ ".join(row.replace(" ", " & ") for row in rows)
        return [
            f"Answer:\n{block}",
            f"```\n{block}\n```",
            f"\\boxed{{{'/'.join(row.replace(' ', '') for row in rows)}}}",
            f"\\boxed{{\\begin{{matrix}} {matrix} \\end{{matrix}}}}",
            "\n".join(f"| {row.replace(' ', ' | ')} |" for row in rows),
            f"\\boxed{{[{', '.join('[' + row.replace(' ', ', ') + ']' for row in rows)}]}}",
        ]
