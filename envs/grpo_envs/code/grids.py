"""Shortest ways through a grid whose squares cost, block, carry over or may be forced, by drawn rules."""

from __future__ import annotations

from typing import Any

from grpo_envs.code.draft import Draft, coding
from grpo_gym.rng import Rng

Steps = list[tuple[int, int]]

_MOVES: dict[str, tuple[str, Steps]] = {
    "four": ("one square up, down, left or right", [(-1, 0), (1, 0), (0, -1), (0, 1)]),
    "king": (
        "one square in any of the eight directions",
        [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1) if (a, b) != (0, 0)],
    ),
    "knight": (
        "like a knight in chess, two squares in one direction and one at right angles to it",
        [(a, b) for a in (-2, -1, 1, 2) for b in (-2, -1, 1, 2) if abs(a) != abs(b)],
    ),
    "forward": ("one square right, down, or diagonally right and down", [(0, 1), (1, 0), (1, 1)]),
    "camel": ("one square right or down, or three squares up or left", [(0, 1), (1, 0), (-3, 0), (0, -3)]),
    "leap": (
        "one or two squares up, down, left or right (a leap of two squares may go over anything)",
        [(-1, 0), (1, 0), (0, -1), (0, 1), (-2, 0), (2, 0), (0, -2), (0, 2)],
    ),
}

_CODE = """from heapq import heappop, heappush


def solve(grid: list[str], row: int, column: int) -> list[list[int]]:
    height, width = len(grid), len(grid[0])
    cost = {costs}
    least = [[-1] * width for _ in range(height)]
{search}
        for dy, dx in {steps}:
            ny, nx = {target}
            if not (0 <= ny < height and 0 <= nx < width):
                continue
            c = grid[ny][nx]
{wall}
    return least
"""

_SEARCH = """    heap, done = [(0, row, column, 0)], set()
    while heap:
        spent, y, x, forced = heappop(heap)
        if (y, x, forced) in done:
            continue
        done.add((y, x, forced))
        if least[y][x] == -1:
            least[y][x] = spent"""


def _distances(
    grid: list[str], row: int, column: int, steps: Steps, costs: dict[str, int], wrap: bool, most: int, force: int
) -> list[list[int]]:
    """Return the least cost of every square: the nearest open one is settled, again and again."""
    height, width = len(grid), len(grid[0])
    squares = {(y, x): c for y, row in enumerate(grid) for x, c in enumerate(row)}
    front, settled = {(row, column, 0): 0}, dict[tuple[int, int, int], int]()
    while front:
        y, x, used = key = min(front, key=lambda key: front[key])
        spent = settled[key] = front.pop(key)
        for dy, dx in steps:
            square = (y + dy, (x + dx) % width if wrap else x + dx)
            if square not in squares:
                continue
            wall = squares[square] == "#"
            goal = (*square, used + wall)
            total = spent + (force if wall else costs[squares[square]])
            if used + wall <= most and goal not in settled and total < front.get(goal, total + 1):
                front[goal] = total
    least: dict[tuple[int, int], int] = {}
    for (y, x, _), spent in settled.items():
        least[y, x] = min(spent, least.get((y, x), spent))
    return [[least.get((y, x), -1) for x in range(width)] for y in range(height)]


def _statement(extra: str, wrap: bool, words: str, most: int, costs: dict[str, int], force: int) -> list[Any]:
    return [
        "It takes a grid as a list of texts of equal length, one for each row from top to bottom: '.' is a "
        "meadow, '~' water, "
        "'^' a hill and '#' a wall. All ways begin in the given row and column (counted "
        "from 0, from the top and from the left), on a meadow.",
        f"A step leads {words}.",
        "Rows are closed to rings: what leaves a row on the left or on the right comes in at its other end (a "
        "leap over "
        "the upper or lower edge is not possible)."
        if wrap
        else "Steps out of the grid are not possible.",
        f"A step onto a meadow costs {costs['.']}, onto water {costs['~']}, onto a hill {costs['^']}; "
        + (
            f"a step onto a wall costs {force}, and at most {most} step{'s' * (most > 1)} of the whole way may "
            "lead onto a wall."
            if most
            else "walls cannot be stepped on."
        ),
        "Return a list with a list for each row of the grid, which holds for every square of the row the least "
        "total cost of a "
        "way that ends there (the square where a way begins costs nothing), and -1 if there is "
        "no way to it.",
        extra,
    ]


def _edges() -> list[Any]:
    return [
        [["."], 0, 0],
        [[".#", "#."], 1, 1],
        [["..", ".."], 0, 1],
        [["...", "###", "..."], 2, 1],
        [[".~.^.", ".#.#.", "^..~."], 1, 2],
        [["....", "....", "....", "...."], 2, 2],
        [["..~.."] * 5, 2, 2],
        [[".", "~", "."], 2, 0],
        [[".^~#.", "####.", ".#~^."], 0, 4],
    ]


def _mistakes(rule: Any, costs: dict[str, int]) -> list[Any]:
    return [rule(costs={**costs, c: n + 1}) for c, n in costs.items()]


def _program(costs: dict[str, int], steps: Steps, wrap: bool, most: int, force: int) -> str:
    search = _SEARCH if most else _SEARCH.replace(", forced", "").replace("column, 0)", "column)")
    wall = [
        "            if c == '#':",
        "                continue",
        "            heappush(heap, (spent + cost[c], ny, nx))",
    ]
    if most:
        wall = [
            "            if c != '#':",
            "                heappush(heap, (spent + cost[c], ny, nx, forced))",
            f"            elif forced < {most}:",
            f"                heappush(heap, (spent + {force}, ny, nx, forced + 1))",
        ]
    return _CODE.format(
        costs="{" + ", ".join(f"'{c}': {n}" for c, n in costs.items()) + "}",
        steps=steps,
        search=search,
        target="y + dy, (x + dx) % width" if wrap else "y + dy, x + dx",
        wall="\n".join(wall),
    )


@coding("code.grids", tiers=(3, 4, 5))
def grids(rng: Rng, tier: int) -> Draft:
    """Find the cheapest way; from tier 4 on round the edges or through walls, at tier 5 in large grids as well."""
    name = rng.choice(list(_MOVES))
    words, steps = _MOVES[name]
    costs = {".": rng.integer(1, 5), "~": rng.integer(1, 9), "^": rng.integer(1, 14)}
    wrap = tier > 3 and rng.chance(1, 2)
    most = rng.integer(1, 2) if tier > 3 and (not wrap or tier == 5) else 0
    force = rng.integer(3, 12)

    def rule(
        steps: Steps = steps, costs: dict[str, int] = costs, wrap: bool = wrap, most: int = most, force: int = force
    ) -> Any:
        return lambda grid, row, column: _distances(grid, row, column, steps, costs, wrap, most, force)

    def inputs(rng: Rng) -> list[Any]:
        height, width = rng.integer(2, 4), rng.integer(2, 5)
        dense = rng.choice(("..~^#", "..~^##", ".~^##", "...~^"))
        rows = [[rng.choice(dense) for _ in range(width)] for _ in range(height)]
        y, x = rng.below(height), rng.below(width)
        rows[y][x] = "."
        return [["".join(row) for row in rows], y, x]

    def heavy(rng: Rng) -> list[Any]:
        n = 7
        rows = [["#" if (i * 7 + j * j * 3) % 5 == 0 else ".~^"[(i * j + i) % 3] for j in range(n)] for i in range(n)]
        rows[3][3] = "."
        return [[["".join(row) for row in rows], 3, 3]]

    edges = _edges()
    mistakes = _mistakes(rule, costs)
    mistakes += [rule(steps=other) for key, (_, other) in _MOVES.items() if key in ("four", "king") and key != name]
    mistakes += [rule(wrap=not wrap), rule(most=most + 1)]
    mistakes += [rule(most=most - 1), rule(force=force + 1)] if most else []
    needed = ([rule(wrap=False)] if wrap else []) + ([rule(most=0)] if most else [])
    extra = "The grid may have 50 squares, so do not try all ways." if tier == 5 else ""
    return Draft(
        head="solve(grid: list[str], row: int, column: int) -> list[list[int]]",
        statement=_statement(extra, wrap, words, most, costs, force),
        code=_program(costs, steps, wrap, most, force),
        expected=rule(),
        inputs=inputs,
        edges=edges,
        mistakes=mistakes,
        needed=needed,
        heavy=heavy if tier == 5 else None,
        rules=tier + 1,
    )
