"""Colour points so that joined ones differ: some have their colour, every proper colouring of the rest is right.

Points are joined that differ in a planted colouring. So there is a solution, and how hard it is to find goes by how
many points, joined pairs and colours there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from grpo_envs.boxed import boxed
from grpo_gym.problem import Problem
from grpo_gym.reward import Probe
from grpo_gym.rng import Rng
from grpo_gym.task import task
from grpo_rewards.logic import Findings, PuzzleReward
from grpo_rewards.logic.reading import assignments

COLORS = ("red", "green", "blue", "yellow")
NAMES = "ABCDEFGHIJKLMNOPQRST"


class Size(NamedTuple):
    """A tier's graphs: how many points, colours, joined pairs, and points that have their colour already."""

    points: int
    colors: int
    edges: int
    given: int


SIZES = (
    Size(5, 3, 7, 2),
    Size(7, 3, 11, 2),
    Size(9, 3, 16, 2),
    Size(12, 3, 23, 2),
    Size(14, 4, 42, 3),
    Size(18, 4, 60, 3),
)
LONGEST = 30
"""Steps of a worked solution that shows the tries that fail, too."""

Neighbours = Mapping[str, Sequence[str]]
"""Point -> the points that it is joined with."""


class Coloring:
    """Search for colourings: the point with the fewest colours left first, most neighbours breaking ties.

    Args:
        neighbours: Who is joined with whom.
        colors: The colours that there are.
        given: The colours that are fixed.
        most: How many colourings are looked for.
        first: A colour for each point that is tried before the others.
        patience: How many looks at a point the search may take.

    Attributes:
        found: Complete colourings.
        steps: The search as it went, a line a look at a point.
    """

    def __init__(
        self,
        neighbours: Neighbours,
        colors: Sequence[str],
        given: Mapping[str, str],
        most: int = 1,
        first: Mapping[str, str] | None = None,
        patience: int = 10**9,
    ) -> None:
        self.found: list[dict[str, str]] = []
        self.steps: list[str] = []
        self._neighbours, self._colors, self._most, self._patience = neighbours, colors, most, patience
        self._first = first or {}
        self._color = dict(given)
        self._go()

    def _left(self, point: str) -> list[str]:
        seen = {self._color[other] for other in self._neighbours[point] if other in self._color}
        return [color for color in self._colors if color not in seen]

    def _go(self) -> None:
        open_points = [point for point in self._neighbours if point not in self._color]
        if not open_points:
            self.found.append({point: self._color[point] for point in self._neighbours})
            return
        lefts = {point: self._left(point) for point in open_points}
        point = min(open_points, key=lambda name: (len(lefts[name]), -len(self._neighbours[name])))
        left = lefts[point]
        left.sort(key=lambda color: color != self._first.get(point))
        neighbours = ", ".join(
            f"{other} {self._color[other]}" for other in self._neighbours[point] if other in self._color
        )
        known = f"{point}: beside {neighbours}" if neighbours else f"{point}: beside nothing coloured"
        if not left:
            self.steps.append(f"{known}; no colour left, back")
        for color in left:
            self.steps.append(f"{known}; {'only' if len(left) == 1 else 'try'} {color}")
            self._color[point] = color
            self._go()
            del self._color[point]
            if len(self.found) >= self._most or len(self.steps) > self._patience:
                return


def clashes(pairs: Sequence[Sequence[str]], colors: Mapping[str, str]) -> list[str]:
    """Return which neighbours have the same colour, in words."""
    return [
        f"{one} and {two} are joined and are both {colors[one]}" for one, two in pairs if colors[one] == colors[two]
    ]


def read(text: str, problem: Problem) -> dict[str, str]:
    """Read a colour for every point. Raises UnreadError."""
    return assignments(text, problem.meta["points"], problem.meta["colors"])


def check(colors: dict[str, str], problem: Problem) -> Findings:
    """Check that given colours are kept and neighbours differ.

    For partial credit count the uncoloured points whose neighbours all differ from them. Luck is the share of
    joined pairs that any assignment of colours respects on average.
    """
    given: dict[str, str] = problem.meta["given"]
    pairs: list[list[str]] = problem.meta["edges"]
    broken = [f"{point} is {given[point]}, not {colors[point]}" for point in given if colors[point] != given[point]]
    kept = not broken
    broken += clashes(pairs, colors)
    if not broken:
        return Findings()
    wrong = {point for pair in pairs if colors[pair[0]] == colors[pair[1]] for point in pair}
    asked = [point for point in colors if point not in given]
    share = sum(point not in wrong for point in asked) / len(asked) if kept else 0.0
    return Findings(broken, share, 1 - 1 / len(problem.meta["colors"]))


def _listed(colors: Mapping[str, str]) -> str:
    return ", ".join(f"{point}: {color}" for point, color in colors.items())


def neighbours_of(problem: Problem) -> dict[str, list[str]]:
    """Return every point's neighbours."""
    return _neighbours(problem.meta["points"], problem.meta["edges"])


def _neighbours(points: Sequence[str], pairs: Sequence[Sequence[str]]) -> dict[str, list[str]]:
    neighbours: dict[str, list[str]] = {point: [] for point in points}
    for one, two in pairs:
        neighbours[one].append(two)
        neighbours[two].append(one)
    return neighbours


def solutions(problem: Problem) -> Iterable[str]:
    """Return up to four colourings."""
    search = Coloring(neighbours_of(problem), problem.meta["colors"], problem.meta["given"], 4)
    return [f"\\boxed{{{_listed(found)}}}" for found in search.found]


def others(problem: Problem) -> Iterable[str]:
    """Write the colours otherwise: as sentences, with equals signs, backwards, a line a point."""
    pairs = [pair.split(": ") for pair in str(problem.reference).split(", ")]
    sentence = ", ".join(f"{point} is {color}" for point, color in pairs)
    return [
        f"\\boxed{{{sentence}}}",
        f"\\boxed{{{', '.join(f'{point} = {color}' for point, color in reversed(pairs))}}}",
        f"\\boxed{{\\text{{{problem.reference}}}}}",
        "Answer:\n" + "\n".join(f"{point}: {color}" for point, color in pairs),
    ]


def looks(problem: Problem) -> float:
    """How many looks at a point a search takes until all have a colour."""
    return float(len(Coloring(neighbours_of(problem), problem.meta["colors"], problem.meta["given"]).steps))


def given_only(problem: Problem, rng: Rng) -> str:
    """Give every point any colour that no neighbour was given: what others get meanwhile is not looked at."""
    given: dict[str, str] = problem.meta["given"]
    colors = {}
    for point, neighbours in neighbours_of(problem).items():
        seen = {given[other] for other in neighbours if other in given}
        colors[point] = given.get(point) or rng.choice([c for c in problem.meta["colors"] if c not in seen] or ["red"])
    return f"\\boxed{{{_listed(colors)}}}"


def hostile() -> tuple[Probe, ...]:
    """Answers that try to be paid without being right."""
    return (
        Probe("all of one colour", lambda p: f"\\boxed{{{_listed(dict.fromkeys(p.meta['points'], 'red'))}}}"),
        Probe("a point twice", lambda p: f"\\boxed{{{p.reference}, A: red, A: green}}"),
        Probe("the given points alone", lambda p: f"\\boxed{{{_listed(p.meta['given'])}}}"),
    )


@task(
    "logic.coloring",
    reward=PuzzleReward(read, check, hostile=hostile),
    answer_format=r"Answer with the colour of every point in \boxed{}, like \boxed{A: ..., B: ...}.",
    answer=boxed,
    default_tiers=(0, 1),
    equivalents=others,
    solver=solutions,
    effort=looks,
    guess=given_only,
)
def coloring(rng: Rng, tier: int) -> Problem:
    """Colour 5 points with three colours (tier 0), up to 12 (3); 14 and 18 points with four colours (4, 5)."""
    size = SIZES[tier]
    points, colors = list(NAMES[: size.points]), rng.sample(COLORS, size.colors)
    planted = _planted(rng, points, colors)
    colors.sort()  # else the same graph with the colours named in another order could be in another split
    pairs = _joined(rng, points, planted, size.edges)
    neighbours = _neighbours(points, pairs)
    one, two = rng.choice(pairs)
    fixed = {one, two}
    fixed.update(rng.sample([point for point in points if point not in fixed], size.given - 2))
    given = {point: planted[point] for point in points if point in fixed}
    search = Coloring(neighbours, colors, given, patience=LONGEST)
    if len(search.steps) > LONGEST:
        search = Coloring(neighbours, colors, given, first=planted)
    prompt = (
        f"Colour the points {', '.join(points)} with {', '.join(colors[:-1])} and {colors[-1]} so that joined points "
        f"have different colours. Joined: {', '.join('-'.join(pair) for pair in pairs)}. "
        f"{', '.join(f'{point} is {color}' for point, color in given.items())}."
    )
    reference = _listed(search.found[0])
    meta = {"points": points, "colors": colors, "edges": [list(pair) for pair in pairs], "given": given}
    return Problem(prompt, reference, "\n".join([*search.steps, f"\\boxed{{{reference}}}"]), meta)


def _planted(rng: Rng, points: Sequence[str], colors: Sequence[str]) -> dict[str, str]:
    """Return a colouring that uses all colours about equally often."""
    shares = [colors[k % len(colors)] for k in range(len(points))]
    rng.shuffle(shares)
    return dict(zip(points, shares, strict=True))


def _joined(rng: Rng, points: Sequence[str], planted: Mapping[str, str], number: int) -> list[tuple[str, str]]:
    """Draw pairs of points of different colours."""
    possible = [(a, b) for j, b in enumerate(points) for a in points[:j] if planted[a] != planted[b]]
    rng.shuffle(possible)
    return sorted(possible[:number])
