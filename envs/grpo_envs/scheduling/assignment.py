"""An exact solver for rotas: shift by shift, each along a shortest path of replacements (a minimum-cost flow).

A shift takes a person with shifts left; or one without, who then gives up another shift; or one who works already on
that day, who then changes the role. The shift given up is filled in the same way. The cheapest such chain keeps the
rota cheapest after every shift (successive shortest paths), and shifts given up make edges of negative cost, so the
paths are found by relaxation (Bellman and Ford).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Shift = tuple[str, int]
"""A day and the place of the role on it."""


class Assignment:
    """The cheapest rota.

    Args:
        days: Day -> roles.
        people: Name -> `roles`, `most` shifts, `prices` by day.

    Attributes:
        relaxed: How many ways of filling a shift were looked at.
        filled: Shift -> who works it.
    """

    def __init__(self, days: Mapping[str, Sequence[str]], people: Mapping[str, Any]) -> None:
        self.people = people
        self.shifts: list[Shift] = [(day, place) for day, roles in days.items() for place in range(len(roles))]
        self.able = {
            (day, place): [n for n, p in people.items() if days[day][place] in p["roles"] and day in p["prices"]]
            for day, place in self.shifts
        }
        self.filled: dict[Shift, str] = {}
        self.relaxed = 0

    def solve(self) -> int | None:
        """Return the least cost, or None when the shifts cannot all be filled."""
        for shift in self.shifts:
            if not self._fill(shift):
                return None
        return sum(int(self.people[name]["prices"][day]) for (day, _), name in self.filled.items())

    def _fill(self, new: Shift) -> bool:
        """Fill one more shift at the least cost. False when there is no way."""
        of: dict[str, list[Shift]] = {name: [] for name in self.people}
        for shift, name in self.filled.items():
            of[name].append(shift)
        cost: dict[Shift, int] = {new: 0}
        came: dict[Shift, tuple[Shift, str]] = {}
        end: tuple[int, Shift, str] | None = None
        queue = [new]
        while queue:
            shift = queue.pop(0)
            for name in self.able[shift]:
                price = cost[shift] + self.people[name]["prices"][shift[0]]
                given_up = self._given_up(name, shift[0], of[name])
                if not given_up and (end is None or price < end[0]):
                    end = (price, shift, name)
                for other in given_up:
                    self.relaxed += 1
                    freed = price - self.people[name]["prices"][other[0]]
                    if other != shift and freed < cost.get(other, 10**9):
                        cost[other], came[other] = freed, (shift, name)
                        queue.append(other)
        if end is None:
            return False
        _, shift, name = end
        while True:
            self.filled[shift] = name
            if shift == new:
                return True
            shift, name = came[shift]

    def _given_up(self, name: str, day: str, shifts: list[Shift]) -> list[Shift]:
        """Return the shifts one of which somebody must give up to work on a day; none where they can work more."""
        on_day = [shift for shift in shifts if shift[0] == day]
        return on_day or (shifts if len(shifts) >= self.people[name]["most"] else [])
