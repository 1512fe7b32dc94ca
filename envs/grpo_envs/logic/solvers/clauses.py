"""Clauses: their truth tables, minimal cores of contradictory ones, and the search that finds out which they are.

A clause is a list of literals as in the files of solvers: 3 is the third variable, -3 its negation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grpo_envs.logic.solvers.tables import columns, everything

Clause = list[int]


def table_of(clause: Clause, n: int) -> int:
    """Return the truth table of a clause over n variables."""
    table, ones, of = 0, everything(n), columns(n)
    for literal in clause:
        table |= of[literal - 1] if literal > 0 else ones ^ of[-literal - 1]
    return table


def common(tables: Sequence[int], n: int) -> int:
    """Return the rows in which all tables are true."""
    left = everything(n)
    for table in tables:
        left &= table
    return left


def without_each(tables: Sequence[int], n: int) -> list[int]:
    """Return for each table the rows in which all others are true."""
    behind = [everything(n)]
    for table in reversed(tables):
        behind.append(behind[-1] & table)
    before, left = everything(n), list[int]()
    for place, table in enumerate(tables):
        left.append(before & behind[len(tables) - 1 - place])
        before &= table
    return left


def core_of(tables: Sequence[int], n: int) -> list[int]:
    """Return the places of a minimal core of contradictory tables: each is left out that the others do without."""
    kept, after = list[int](), everything(n)
    for place in range(len(tables) - 1, -1, -1):
        if common(tables[:place], n) & after:
            kept.append(place)
            after &= tables[place]
    return kept[::-1]


class Search:
    """Finds values that make all clauses true, or shows that there are none, and writes down each step.

    Args:
        names: The variables.
        clauses: The clauses by their numbers.

    Attributes:
        values: What is known of the variables, by number from 1.
        reasons: For each of them the clauses that it follows from.
        lines: The steps.
        failed: After a contradiction without suppositions: the clauses that it follows from.
    """

    def __init__(self, names: Sequence[str], clauses: Mapping[int, Clause]) -> None:
        self.names = names
        self.clauses = clauses
        self.values: dict[int, bool] = {}
        self.reasons: dict[int, set[int]] = {}
        self.lines: list[str] = []
        self.failed: set[int] = set()
        self._indent = ""

    def solve(self) -> bool:
        """Give variables values until all clauses are true; False where that cannot be."""
        while self.propagate():
            left = [left for clause in self.clauses.values() if (left := self._open(clause))]
            shortest = min(left, key=len, default=[])
            if not shortest:
                return True
            before, indent = dict(self.values), self._indent
            self._write(f"Suppose {self.literal(shortest[0])}.")
            self.values[abs(shortest[0])] = shortest[0] > 0
            self._indent += " "
            if self.solve():
                return True
            self.lines[-1] += f", so {self.literal(-shortest[0])}."
            self.values, self._indent = before | {abs(shortest[0]): shortest[0] < 0}, indent
        return False

    def propagate(self) -> bool:
        """Draw what follows from clauses of which one literal is left; False when a clause has become false."""
        unread = True
        while unread:
            unread = False
            for number, clause in self.clauses.items():
                left = self._open(clause)
                if left is None or len(left) > 1:
                    continue
                because = {number}.union(*(self.reasons.get(abs(literal), ()) for literal in clause))
                if not left:
                    self._write(f"From {number}: contradiction")
                    self.failed = because
                    return False
                self._write(f"From {number}: {self.literal(left[0])}.")
                self.values[abs(left[0])] = left[0] > 0
                self.reasons[abs(left[0])] = because
                unread = True
        return True

    def literal(self, literal: int) -> str:
        """Write "A = true" or "A = false"."""
        return f"{self.names[abs(literal) - 1]} = {'true' if literal > 0 else 'false'}"

    def _open(self, clause: Clause) -> list[int] | None:
        """Return the literals of a clause that are not false; None when one is true."""
        left = []
        for literal in clause:
            value = self.values.get(abs(literal))
            if value is None:
                left.append(literal)
            elif value is (literal > 0):
                return None
        return left

    def _write(self, line: str) -> None:
        self.lines.append(self._indent + line)
