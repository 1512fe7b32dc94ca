"""Grids of numbers: turned, shifted, filtered by rows, and read along their borders and neighbourhoods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from grpo_envs.code.draft import Draft, coding
from grpo_envs.code.steps import Maker, Step, composed, drawn, omissions, program, slips, told
from grpo_gym.rng import Rng

Grid = list[list[int]]


def _made(rows: int, columns: int, cell: Callable[[int, int], int]) -> Grid:
    return [[cell(i, j) for j in range(columns)] for i in range(rows)]


def turned(rng: Rng) -> Step:
    """Quarter turns and reflections."""
    way = rng.choice(("right", "left", "transpose", "rows", "columns"))
    words, code, apply = {
        "right": (
            "turn the grid a quarter turn clockwise",
            "g = [list(row) for row in zip(*g[::-1])]",
            lambda g: _made(len(g[0]), len(g), lambda i, j: g[len(g) - 1 - j][i]),
        ),
        "left": (
            "turn the grid a quarter turn counter-clockwise",
            "g = [list(row) for row in zip(*g)][::-1]",
            lambda g: _made(len(g[0]), len(g), lambda i, j: g[j][len(g[0]) - 1 - i]),
        ),
        "transpose": (
            "exchange rows and columns (the first row becomes the first column)",
            "g = [list(row) for row in zip(*g)]",
            lambda g: _made(len(g[0]), len(g), lambda i, j: g[j][i]),
        ),
        "rows": ("put the rows in reverse order", "g = g[::-1]", lambda g: list(reversed(g))),
        "columns": ("reverse every row", "g = [row[::-1] for row in g]", lambda g: [list(reversed(r)) for r in g]),
    }[way]
    return Step(words, code, apply, () if way == "transpose" else (_transposed,), "turn")


def shifted(rng: Rng) -> Step:
    """Rows pushed round by their index."""
    k, sign = rng.integer(1, 3), rng.choice((1, -1))
    amount = "its index (from 0)" if k == 1 else f"{k} times its index (from 0)"
    return Step(
        f"rotate every row to the {'left' if sign > 0 else 'right'} by {amount}: what leaves on one side comes in on "
        "the other",
        "w = len(g[0])\n"
        f"g = [[row[(j {'+' if sign > 0 else '-'} {k} * i) % w] for j in range(w)] for i, row in enumerate(g)]",
        lambda g: [_rotated(row, sign * k * i) for i, row in enumerate(g)],
        (
            lambda g: [_rotated(row, -sign * k * i) for i, row in enumerate(g)],
            lambda g: [_rotated(row, sign * k * (i + 1)) for i, row in enumerate(g)],
        ),
        "rotate",
    )


def _transposed(grid: Grid) -> Grid:
    return [list(row) for row in zip(*grid, strict=True)]


def _backwards(grid: Grid) -> Grid:
    return grid[::-1]


def _rotated(row: list[int], k: int) -> list[int]:
    k %= len(row)
    return row[k:] + row[:k]


def added(rng: Rng) -> Step:
    """Add a multiple of the indices."""
    a, b = rng.choice((-4, -3, -2, 2, 3, 4)), rng.choice((-3, -2, 2, 3, 5))
    return Step(
        f"add {a} * i + {b} * j to the number in row i and column j (both counted from 0)".replace("+ -", "- "),
        f"g = [[x + {a} * i + {b} * j for j, x in enumerate(row)] for i, row in enumerate(g)]".replace("+ -", "- "),
        lambda g: _made(len(g), len(g[0]), lambda i, j: g[i][j] + a * i + b * j),
        (lambda g: _made(len(g), len(g[0]), lambda i, j: g[i][j] + b * i + a * j),),
        "add",
    )


def neighbours(rng: Rng) -> Step:
    """Replace by sums or extremes of neighbours."""
    eight, own = rng.chance(1, 2), rng.chance(1, 2)
    name, word = rng.choice((("sum", "the sum"), ("max", "the largest"), ("min", "the smallest")))
    fold: Any = {"sum": sum, "max": max, "min": min}[name]
    own = own or name != "sum"
    near = "abs(a - i) <= 1 and abs(b - j) <= 1" if eight else "abs(a - i) + abs(b - j) <= 1"
    skip = "" if own else " and (a, b) != (i, j)"
    which = "the up to eight numbers next to it, corners included" if eight else "the up to four numbers beside it"

    def around(g: Grid, eight: bool = eight) -> Grid:
        steps = [(-1, 0), (0, -1), (0, 1), (1, 0)] + ([(-1, -1), (-1, 1), (1, -1), (1, 1)] if eight else [])
        steps = [(0, 0)] * own + steps
        n, w = len(g), len(g[0])
        return _made(n, w, lambda i, j: fold([g[i + a][j + b] for a, b in steps if 0 <= i + a < n and 0 <= j + b < w]))

    return Step(
        f"replace every number, all at the same time, by {word} of {'itself and ' if own else ''}{which}"
        f"{' (left, right, above, below)' if not eight else ''}" + ("" if own else ", without the number itself"),
        "n, w = len(g), len(g[0])\n"
        f"g = [[{name}({'[' if name != 'sum' else ''}g[a][b] for a in range(n) for b in range(w) "
        f"if {near}{skip}{']' if name != 'sum' else ''}) for j in range(w)] for i in range(n)]",
        around,
        (lambda g: around(g, not eight),),
        "near",
    )


def sorted_rows(rng: Rng) -> Step:
    """Order the rows by a key."""
    name, word = rng.choice((("sum(row)", "sum"), ("max(row)", "largest number"), ("row[0]", "first number")))
    key: Any = {"sum": sum, "largest number": max, "first number": lambda row: row[0]}[word]
    sign = rng.choice((1, -1))
    return Step(
        f"sort the rows by their {word}, from {'small to large' if sign > 0 else 'large to small'}; "
        "rows that share it keep their order",
        f"g = sorted(g, key=lambda row: {'' if sign > 0 else '-'}{name})",
        lambda g: [row for _, _, row in sorted((sign * key(row), i, row) for i, row in enumerate(g))],
        (
            lambda g: sorted(g, key=lambda row: (sign * key(row), row)),
            lambda g: sorted(g, key=lambda row: -sign * key(row)),
            lambda g: sorted(_backwards(g), key=lambda row: sign * key(row)),
        ),
        "rows",
    )


def reduced(rng: Rng) -> Step:
    """Remainders or thresholds."""
    m = rng.integer(3, 12)
    if rng.chance(1, 2):
        return Step(
            f"replace every number x by x % {m}",
            f"g = [[x % {m} for x in row] for row in g]",
            lambda g: [[x - x // m * m for x in row] for row in g],
            (lambda g: [[x % (m + 1) for x in row] for row in g],),
            "value",
        )
    return Step(
        f"replace every number that is at least {m} by 0",
        f"g = [[0 if x >= {m} else x for x in row] for row in g]",
        lambda g: [[x * (x < m) for x in row] for row in g],
        (lambda g: [[0 if x > m else x for x in row] for row in g],),
        "value",
    )


STEPS: list[Maker] = [turned, shifted, added, neighbours, sorted_rows, reduced]


def border(rng: Rng) -> Step:
    """Sums along lines."""
    way = rng.choice(("border", "diagonal", "even"))
    if way == "border":
        return Step(
            "return the sum of the numbers on the border (first and last row, first and last column, each once)",
            "n, w = len(g), len(g[0])\n"
            "return sum(g[i][j] for i in range(n) for j in range(w) if i in (0, n - 1) or j in (0, w - 1))",
            lambda g: sum(map(sum, g)) - sum(sum(row[1:-1]) for row in g[1:-1]),
            (lambda g: sum(g[0]) + sum(g[-1]) + sum(r[0] + r[-1] for r in g), lambda g: sum(map(sum, g))),
        )
    if way == "diagonal":
        k = rng.integer(2, 3)
        return Step(
            f"return the sum of the numbers for which row plus column (both counted from 0) is divisible by {k}",
            f"return sum(x for i, row in enumerate(g) for j, x in enumerate(row) if (i + j) % {k} == 0)",
            lambda g: sum(sum(row[-i % k :: k]) for i, row in enumerate(g)),
            (
                lambda g: sum(sum(row[i % k :: k]) for i, row in enumerate(g)),
                lambda g: sum(sum(row[(1 - i) % k :: k]) for i, row in enumerate(g)),
            ),
        )
    return Step(
        "return the index (from 0) of the row with the largest sum, the last such row if there are several",
        "return max(range(len(g)), key=lambda i: (sum(g[i]), i))",
        lambda g: len(g) - 1 - [sum(r) for r in reversed(g)].index(max(map(sum, g))),
        (lambda g: max(range(len(g)), key=lambda i: sum(g[i])),),
    )


def snake(rng: Rng) -> Step:
    """The numbers along a way through the grid."""
    way = rng.choice(("snake", "columns", "diagonals"))
    words, code, apply, wrong = {
        "snake": (
            "return all numbers as one list, row by row, rows with an even index (from 0) from left to right and "
            "the others from right to left",
            "return [x for i, row in enumerate(g) for x in (row if i % 2 == 0 else row[::-1])]",
            lambda g: [x for i, row in enumerate(g) for x in row[:: (1, -1)[i & 1]]],
            lambda g: [x for r in g for x in r],
        ),
        "columns": (
            "return all numbers as one list, column by column from left to right, each from bottom to top",
            "return [row[j] for j in range(len(g[0])) for row in g[::-1]]",
            lambda g: [x for column in zip(*reversed(g), strict=True) for x in column],
            lambda g: [x for column in zip(*g, strict=True) for x in column],
        ),
        "diagonals": (
            "return all numbers as one list, ordered by the sum of row and column (both counted from 0), and those "
            "of equal sum from top to bottom",
            "n, w = len(g), len(g[0])\n"
            "return [g[i][s - i] for s in range(n + w - 1) for i in range(n) if 0 <= s - i < w]",
            lambda g: [x for *_, x in sorted((i + j, i, x) for i, row in enumerate(g) for j, x in enumerate(row))],
            lambda g: [x for *_, x in sorted((i + j, j, x) for i, row in enumerate(g) for j, x in enumerate(row))],
        ),
    }[way]
    return Step(words, code, apply, (wrong,), "list")


def _grid(rng: Rng) -> list[Any]:
    w = rng.integer(1, 4)
    return [[[rng.integer(-4, 14) for _ in range(w)] for _ in range(rng.integer(1, 4))]]


@coding("code.matrices", tiers=(1, 2, 3))
def matrices(rng: Rng, tier: int) -> Draft:
    """A grid goes through tier + 1 steps; what comes out is a grid, a list or a number."""
    end = rng.below(3)
    steps = drawn(rng, STEPS, tier + 2 - (end > 0))
    if end:
        steps.append((snake if end == 1 else border)(rng))
    head = f"solve(g: list[list[int]]) -> {('list[list[int]]', 'list[int]', 'int')[end]}"
    return Draft(
        head=head,
        statement=[
            (
                "It takes a grid of whole numbers as a list of rows; there is at least one row, and all rows have "
                "the same "
                "length of at least 1.",
                "Its argument is a grid of whole numbers: a non-empty list of rows that are non-empty and equally "
                "long.",
            ),
            *told(steps),
            *(() if end else ("Return the resulting grid.",)),
        ],
        code=program(head, "g", steps),
        expected=composed([step.apply for step in steps]),
        inputs=_grid,
        edges=(
            [[[7]]],
            [[[1, 2, 3, 4, 5]]],
            [[[3], [1], [2]]],
            [[[0, 9, 0], [9, 5, 9], [0, 9, 0]]],
            [[[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12]]],
        ),
        mistakes=slips(steps),
        needed=omissions(steps),
        rules=len(steps),
    )
