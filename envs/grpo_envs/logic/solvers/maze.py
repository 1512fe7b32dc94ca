"""Mazes: a grid of cells as text, and how far it is from everywhere to the goal.

    S  where one starts      x y z  things to pick up: keys, or marks that must be visited
    G  the goal              X Y Z  doors, which take the key of the same letter
    #  a wall                1-9    what it costs to enter the cell; where there are no prices, every cell costs 1

Where one is, with what one has picked up, is a state. Every question about a maze is one about distances of states.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence

THINGS = "xyz"
MOVES = {"R": (0, 1), "D": (1, 0), "L": (0, -1), "U": (-1, 0)}
"""Letter of a move -> rows down and columns to the right."""

State = tuple[int, int]
"""Cell, counted in reading order, and the things picked up as bits."""


class Maze:
    """A maze.

    Args:
        rows: The grid, a text per row.
        needed: The things that one must have at the goal.

    Attributes:
        priced: Whether cells have costs of their own; start and goal then cost nothing, things 1.
        start: Where one starts, with nothing.
    """

    def __init__(self, rows: Sequence[str], needed: str = "") -> None:
        self.rows = list(rows)
        self.height, self.width = len(rows), len(rows[0])
        self.cells = "".join(rows)
        self.needed = _bits(needed)
        self.priced = any(cell.isdigit() for cell in self.cells)
        self.start: State = (self.cells.index("S"), 0)

    def enter(self, state: State, move: str) -> State | str:
        """Return the state after a move, or in words why it cannot be made."""
        cell, held = state
        down, right = MOVES[move]
        row, column = cell // self.width + down, cell % self.width + right
        if not (0 <= row < self.height and 0 <= column < self.width):
            return "leaves the grid"
        cell = row * self.width + column
        sign = self.cells[cell]
        if sign == "#":
            return f"runs into the wall at {self.name((cell, 0))}"
        if sign in THINGS:
            held |= _bits(sign)
        elif (key := sign.lower()) in THINGS and not held & _bits(key):
            return f"finds the door at {self.name((cell, 0))} locked"
        return cell, held

    def cost(self, state: State) -> int:
        """Return what entering a state costs."""
        sign = self.cells[state[0]]
        return int(sign) if sign.isdigit() else 0 if self.priced and sign in "SG" else 1

    def is_goal(self, state: State) -> bool:
        """Whether one is at the goal with all that is needed."""
        return self.cells[state[0]] == "G" and not self.needed & ~state[1]

    def steps(self, state: State) -> Iterator[tuple[str, State]]:
        """Return the moves that can be made, with where they lead to."""
        for move in MOVES:
            after = self.enter(state, move)
            if not isinstance(after, str):
                yield move, after

    def to_go(self) -> dict[State, int]:
        """Return what it costs at least from every state to the goal, of those that can be reached."""
        before: dict[State, list[State]] = {self.start: []}
        reached = [self.start]
        for state in reached:  # grows while it is walked through
            for _, after in self.steps(state):
                if after not in before:
                    before[after] = []
                    reached.append(after)
                before[after].append(state)
        queue = [(0, state) for state in reached if self.is_goal(state)]
        far: dict[State, int] = {}
        while queue:
            distance, state = heapq.heappop(queue)
            if state not in far:
                far[state] = distance
                further = distance + self.cost(state)
                for earlier in before[state]:
                    if earlier not in far:
                        heapq.heappush(queue, (further, earlier))
        return far

    def best_moves(self, state: State, far: dict[State, int]) -> Iterator[tuple[str, State]]:
        """Return the moves that lose nothing."""
        for move, after in self.steps(state):
            if after in far and far[after] + self.cost(after) == far[state]:
                yield move, after

    def best_way(self, far: dict[State, int]) -> list[tuple[str, State]]:
        """Return one best way from the start: moves, and the states that they lead to."""
        way: list[tuple[str, State]] = []
        state = self.start
        while not self.is_goal(state):
            move, state = next(self.best_moves(state, far))
            way.append((move, state))
        return way

    def best_ways(self, far: dict[State, int]) -> Iterator[str]:
        """Return all best ways, as moves."""
        ways = [("", self.start)]
        while ways:
            moves, state = ways.pop()
            if self.is_goal(state):
                yield moves
            else:
                ways += [(moves + move, after) for move, after in self.best_moves(state, far)]

    def name(self, state: State) -> str:
        """Return a state's name: column, row, and what one has, "b3x"."""
        cell, held = state
        things = "".join(thing for thing in THINGS if held & _bits(thing))
        return f"{chr(ord('a') + cell % self.width)}{cell // self.width + 1}{things}"

    def picture(self) -> str:
        """Return the grid with letters for columns and numbers for rows."""
        top = "".join(chr(ord("a") + column) for column in range(self.width))
        return "\n".join([f"  {top}", *(f"{number} {row}" for number, row in enumerate(self.rows, 1))])


def _bits(things: str) -> int:
    return sum(1 << THINGS.index(thing) for thing in things)
