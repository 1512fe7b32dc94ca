"""Grid paths: a best way through a maze with walls, then costs, keys and doors, marks that must be visited.

Every best way is right: an answer is walked, move by move. The worked solution is the table of distances to the goal,
from the goal outwards, and the way down along it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from grpo_envs.boxed import boxed
from grpo_envs.logic.solvers.maze import MOVES, Maze, State
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task
from grpo_rewards.logic import Findings, PuzzleReward, UnreadError

MOST_DRAWS = 1_000

WORDS = {"up": "U", "down": "D", "left": "L", "right": "R"}
ARROWS = {"\u2191": "U", "\u2193": "D", "\u2190": "L", "\u2192": "R"}
_SIGNS = {letter: arrow for arrow, letter in ARROWS.items()}
_BETWEEN = re.compile(r"[\s,;]+|->|\\to(?![a-zA-Z])")
_LATEX_ARROW = re.compile(r"\\(?:long)?(up|down|left|right)arrow(?![a-zA-Z])", re.IGNORECASE)
_LETTERS_AND_ARROWS = re.compile(r"[^\u2191\u2193\u2190]*[a-zA-Z][^\u2191\u2193\u2190]*")
"""Letters, and no arrow but the one to the right: then it stands between moves and is none."""


@dataclass(frozen=True)
class Size:
    """What a tier asks for.

    Attributes:
        side: Rows and columns.
        walls: Cells that are walls.
        least: Moves from start to goal at least, before things and costs are put in. Never 1: start and goal may be
            free, and where two free cells meet there is no end of best ways.
        doors: Doors, each with its key.
        marks: Cells that must be visited.
        priced: Whether cells cost from 1 to 9.
    """

    side: int
    walls: int
    least: int
    doors: int = 0
    marks: int = 0
    priced: bool = False


SIZES = (
    Size(4, 5, 4),
    Size(5, 7, 5),
    Size(6, 12, 7),
    Size(6, 6, 6, priced=True),
    Size(6, 11, 6, doors=2),
    Size(6, 6, 5, marks=3, priced=True),
)
"""By tier."""

RULE = (
    "Find a {best} way from S to G. A move goes one cell up, down, left or right (U, D, L, R); # is a wall.{more}\n"
    "{picture}"
)
COSTS = " Entering a cell costs the digit in it; S and G cost nothing{things}."
DOORS = " A door X or Y can be entered only after the cell of its key, x or y, has been entered."
MARKS = " x, y and z must all be entered on the way, in any order; the way may go through G before it ends there."


def read(text: str, problem: Problem) -> str:
    r"""Read moves: "RRD", "R, R, D", "right right down", "R \to R \to D", arrows. Raises UnreadError."""
    if not text.isalnum():
        text = _LATEX_ARROW.sub(lambda arrow: _SIGNS[WORDS[arrow[1].lower()]], text)
        if "\u2192" in text and _LETTERS_AND_ARROWS.fullmatch(text):
            text = text.replace("\u2192", " ")
    moves = []
    for piece in _BETWEEN.split(text.strip("[]() ")):
        meant = WORDS.get(piece.casefold()) or "".join(ARROWS.get(sign, sign) for sign in piece.upper())
        if any(sign not in MOVES for sign in meant):
            raise UnreadError(f"{piece[:40]!r} is no move: use U, D, L and R")
        moves.append(meant)
    return "".join(moves)


def check(moves: str, problem: Problem) -> Findings:
    """Walk the way: it must be possible, end at the goal with all that is needed, and cost no more than is needed."""
    least = int(problem.meta["least"])
    if len(moves) > 2 * least + 1:  # free cells do not meet: so it costs more than the least
        return Findings([f"{len(moves)} moves are far too many"], luck=0.0)
    maze = Maze(problem.meta["rows"], problem.meta["needed"])
    state, cost = maze.start, 0
    for number, move in enumerate(moves, 1):
        after = maze.enter(state, move)
        if isinstance(after, str):
            return Findings([f"move {number}, {move} from {maze.name(state)}, {after}"], luck=0.0)
        state = after
        cost += maze.cost(state)
    if not maze.is_goal(state):
        missing = "" if maze.cells[state[0]] != "G" else ", where something is still to be visited"
        return Findings([f"the way ends at {maze.name(state)}{missing or ', not at G'}"], luck=0.0)
    share = min(1.0, least / cost)
    return Findings([f"the way costs {cost}, there is one for less"] if cost > least else [], share=share, luck=0.0)


def all_best(problem: Problem) -> Iterable[str]:
    """Return every best way, boxed."""
    maze = Maze(problem.meta["rows"], problem.meta["needed"])
    return (f"\\boxed{{{moves}}}" for moves in maze.best_ways(maze.to_go()))


def spellings(problem: Problem) -> list[str]:
    """Return the way in other signs."""
    words = {letter: word for word, letter in WORDS.items()}
    moves = str(problem.reference)
    texts = (" ".join(moves), ", ".join(words[m] for m in moves), "".join(_SIGNS[m] for m in moves), moves.lower())
    return [f"\\boxed{{{text}}}" for text in texts]


def table_size(problem: Problem) -> float:
    """Return how many distances the worked solution writes down, and how many moves it takes to walk."""
    return float(len((problem.solution or "").split()))


def straight_on(problem: Problem, rng: Rng) -> str:
    """Go straight to G: past walls where that is no detour, else through them; costs, doors and marks are not seen."""
    maze = Maze(problem.meta["rows"], problem.meta["needed"])
    goal = divmod(maze.cells.index("G"), maze.width)
    cell = maze.start[0]
    way: list[tuple[str, State]] = []
    while maze.cells[cell] != "G":
        row, column = divmod(cell, maze.width)
        nearer = []
        for move, (down, right) in MOVES.items():
            if down * (goal[0] - row) + right * (goal[1] - column) > 0:
                nearer.append((move, cell + down * maze.width + right))
        move, cell = rng.choice([step for step in nearer if maze.cells[step[1]] != "#"] or nearer)
        way.append((move, (cell, 0)))
    return _walked(maze, way)


def _walked(maze: Maze, way: Sequence[tuple[str, State]]) -> str:
    """Write a way, move by move, and the answer."""
    states = [maze.start, *(state for _, state in way)]
    lines = [f"{maze.name(a)} to {maze.name(b)}: {move}" for a, (move, b) in zip(states, way, strict=False)]
    return "\n".join([*lines, f"\\boxed{{{''.join(move for move, _ in way)}}}"])


def worked(maze: Maze, far: dict[State, int]) -> str:
    """Write all that is no farther from the goal than the start is, by distance, and the way along the table."""
    near = sorted((distance, state) for state, distance in far.items() if distance <= far[maze.start])
    of = "Cost" if maze.priced else "Moves"
    with_things = "; b2x is b2 with x" if any(held for _, (_, held) in near) else ""
    lines = [f"{of} to G{with_things}"]
    for distance, group in groupby(near, key=lambda entry: entry[0]):
        lines.append(f"{distance}: {' '.join(maze.name(state) for _, state in group)}")
    return "\n".join([*lines, _walked(maze, maze.best_way(far))])


@task(
    "logic.paths",
    reward=PuzzleReward(read, check),
    answer_format=r"Put the moves in a box, such as \boxed{RRD}.",
    answer=boxed,
    default_tiers=(0, 1),
    equivalents=spellings,
    solver=all_best,
    effort=table_size,
    guess=straight_on,
)
def paths(rng: Rng, tier: int) -> Problem:
    """Find a best way: around walls (0 to 2), the cheapest (3), with keys and doors (4), by three marks (5)."""
    size = SIZES[tier]
    for _ in range(MOST_DRAWS):
        rows = _furnished(rng, size)
        if rows is not None:
            return _posed(rows, size)
    raise AssertionError("unreachable: most draws make a maze that can be walked")


def _posed(rows: list[str], size: Size) -> Problem:
    needed = "xyz"[: size.marks]
    maze = Maze(rows, needed)
    far = maze.to_go()
    more = COSTS.format(things=", x, y and z cost 1" if size.marks else "") if size.priced else ""
    more += DOORS if size.doors else MARKS if size.marks else ""
    prompt = RULE.format(best="cheapest" if size.priced else "shortest", more=more, picture=maze.picture())
    reference = "".join(move for move, _ in maze.best_way(far))
    return Problem(prompt, reference, worked(maze, far), {"rows": rows, "needed": needed, "least": far[maze.start]})


def _furnished(rng: Rng, size: Size) -> list[str] | None:
    """Return a maze with all that belongs in it, None when no way is long enough."""
    cells = list(range(size.side**2))
    rng.shuffle(cells)
    signs = ["."] * len(cells)
    for cell in cells[: size.walls]:
        signs[cell] = "#"
    free = cells[size.walls :]
    start = free.pop()
    signs[start] = "S"
    distances = _distances(signs, start, size.side)
    goals = [cell for cell in free if distances.get(cell, 0) >= size.least]
    if not goals:
        return None
    goal = rng.choice(goals)
    signs[goal] = "G"
    free = [cell for cell in free if cell in distances and cell != goal]
    if size.priced:
        for cell in free:
            signs[cell] = str(rng.integer(1, 9))
        signs = ["#" if sign == "." else sign for sign in signs]  # cells that cannot be reached need no price
    for thing in "xyz"[: size.marks]:
        signs[free.pop()] = thing
    for thing in "xyz"[: size.doors]:
        if not _locked(rng, signs, free, thing, size.side):
            return None
    return _rows(signs, size.side)


def _locked(rng: Rng, signs: list[str], free: list[int], thing: str, side: int) -> bool:
    """Put a door on the best way, and its key elsewhere; whether there is still a way, and it takes all keys."""
    maze = Maze(_rows(signs, side))
    way = [cell for _, (cell, _) in maze.best_way(maze.to_go()) if signs[cell] == "."]
    if not way:
        return False
    door = rng.choice(way)
    free.remove(door)
    signs[door] = thing.upper()
    signs[free.pop()] = thing
    maze = Maze(_rows(signs, side))
    far = maze.to_go()
    return maze.start in far and maze.best_way(far)[-1][1][1] == 2 ** ("xyz".index(thing) + 1) - 1


def _rows(signs: Sequence[str], side: int) -> list[str]:
    return ["".join(signs[start : start + side]) for start in range(0, side * side, side)]


def _distances(signs: Sequence[str], start: int, side: int) -> dict[int, int]:
    """Return how many moves it is to every cell that can be reached."""
    found = {start: 0}
    reached = [start]
    for cell in reached:  # grows while it is walked through
        row, column = divmod(cell, side)
        for down, right in MOVES.values():
            after = cell + down * side + right
            if 0 <= row + down < side and 0 <= column + right < side and signs[after] != "#" and after not in found:
                found[after] = found[cell] + 1
                reached.append(after)
    return found
