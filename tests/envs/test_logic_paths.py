"""Grid paths and sequences against second solvers, which read the prompt alone and search in another way."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest

from grpo_envs.logic.paths import SIZES as PATH_SIZES
from grpo_envs.logic.paths import paths
from grpo_envs.logic.sequence import SIZES, continued, sequence
from grpo_gym import Problem, Reason, Task
from tests.arithmetic import evaluate

HOSTILE = [
    "",
    r"\boxed{}",
    r"\boxed{__import__('os').getcwd()}",
    r"\boxed{9**9**9}",
    r"\boxed{" + "R" * 100_000 + "}",
    r"\boxed{" + "1, " * 30_000 + "1}",
    "[" * 100_000,
    r"\boxed{nan, inf}",
]


def scored(of: Task, text: str, problem: Problem) -> float:
    return float(of.reward.score(text, problem))


def sample(of: Task, tier: int, many: int) -> Iterator[Problem]:
    return (of.problem(tier, "train", 900 + k, 0) for k in range(many))


# --- paths: forward relaxation over (row, column, things), read off the prompt

Place = tuple[int, int, frozenset[str]]
WAYS = {"U": (-1, 0), "D": (1, 0), "L": (0, -1), "R": (0, 1)}


class Grid:
    """A maze as a reader of the prompt understands it."""

    def __init__(self, prompt: str) -> None:
        rule, header, *lines = prompt.split("\n")
        self.rows = [line.split(" ", 1)[1] for line in lines]
        self.columns = header.strip()
        assert len(self.columns) == len(self.rows[0])
        self.priced = "cheapest" in rule
        self.doors = "A door" in rule
        self.passes = "may go through G" in rule
        self.things_cost = "x, y and z cost 1" in rule
        self.wanted = frozenset("xyz") if "must all be entered" in rule else frozenset()
        self.start: Place = next(
            (r, c, frozenset()) for r, row in enumerate(self.rows) for c, sign in enumerate(row) if sign == "S"
        )

    def move(self, place: Place, letter: str) -> Place | None:
        if self.rows[place[0]][place[1]] == "G" and not self.passes:
            return None
        r, c, things = place[0] + WAYS[letter][0], place[1] + WAYS[letter][1], place[2]
        if not (0 <= r < len(self.rows) and 0 <= c < len(self.rows[0])) or self.rows[r][c] == "#":
            return None
        sign = self.rows[r][c]
        if sign in "XYZ" and (not self.doors or sign.lower() not in things):
            return None
        return r, c, things | {sign} if sign in "xyz" else things

    def price(self, place: Place) -> int:
        sign = self.rows[place[0]][place[1]]
        if not self.priced:
            return 1
        return int(sign) if sign.isdigit() else 1 if self.things_cost and sign in "xyz" else 0

    def done(self, place: Place) -> bool:
        return self.rows[place[0]][place[1]] == "G" and self.wanted <= place[2]

    def least(self, start: Place) -> int:
        """Lower prices until none can be lowered any more."""
        best = {start: 0}
        changed = [start]
        while changed:
            place = changed.pop()
            for letter in WAYS:
                after = self.move(place, letter)
                if after is not None and best[place] + self.price(after) < best.get(after, 10**6):
                    best[after] = best[place] + self.price(after)
                    changed.insert(0, after)
        return min(cost for place, cost in best.items() if self.done(place))

    def walk(self, moves: str) -> int | None:
        """What moves cost that lead to the goal, None for others."""
        place, cost = self.start, 0
        for letter in moves:
            after = self.move(place, letter)
            if after is None:
                return None
            place, cost = after, cost + self.price(after)
        return cost if self.done(place) else None

    def place(self, name: str) -> Place:
        return int(name[1]) - 1, self.columns.index(name[0]), frozenset(name[2:])


def test_the_relaxation_agrees_on_a_maze_that_was_solved_by_hand():
    grid = Grid("Find a shortest way.\n  abc\n1 S#G\n2 .#.\n3 ...")
    assert grid.least(grid.start) == 6
    assert (grid.walk("DDRRUU"), grid.walk("RR"), grid.walk("DDRRU")) == (6, None, None)


@pytest.mark.parametrize("tier", paths.tiers)
def test_no_way_is_better_than_the_reference(tier):
    for problem in sample(paths, tier, 12 if tier < 4 else 5):
        grid = Grid(problem.prompt)
        assert grid.walk(problem.reference) == grid.least(grid.start) == problem.meta["least"]
        assert scored(paths, f"\\boxed{{{problem.reference}}}", problem) == 1
        assert scored(paths, str(problem.solution), problem) == 1


@pytest.mark.parametrize("tier", [0, 1])
def test_every_best_way_is_right_and_every_other_is_wrong(tier):
    """All strings of as many moves as the best way has: thousands."""
    assert paths.solver is not None
    right = 0
    for problem in sample(paths, tier, 40):
        grid, length = Grid(problem.prompt), len(problem.reference)
        if length > 6:
            continue
        best = grid.least(grid.start)
        found = {"".join(moves) for moves in product("UDLR", repeat=length) if grid.walk("".join(moves)) == best}
        assert {f"\\boxed{{{moves}}}" for moves in found} == set(paths.solver(problem))
        assert all(scored(paths, f"\\boxed{{{moves}}}", problem) == 1 for moves in found)
        wrong = [problem.reference[:k] + other + problem.reference[k + 1 :] for k in range(length) for other in "UDLR"]
        assert not any(scored(paths, f"\\boxed{{{moves}}}", problem) for moves in set(wrong) - found)
        right += len(found)
    assert right > 40


@pytest.mark.parametrize("tier", paths.tiers)
def test_every_distance_in_the_table_is_true(tier):
    for problem in sample(paths, tier, 4 if tier < 4 else 1):
        grid = Grid(problem.prompt)
        _, *lines = str(problem.solution).split("\n")
        table = [line.split(": ") for line in lines if re.match(r"\d+: ", line)]
        states = [(int(distance), name) for distance, names in table for name in names.split()]
        assert states[-1][0] == problem.meta["least"]
        for distance, name in states[:: max(1, len(states) // 25)]:
            assert grid.least(grid.place(name)) == distance, (problem.prompt, name)
        for line in lines[len(table) : -1]:
            before, after, letter = re.fullmatch(r"(\w+) to (\w+): ([UDLR])", line).groups()  # type: ignore[union-attr]
            assert grid.move(grid.place(before), letter) == grid.place(after)


def test_a_way_that_is_too_long_is_told_so_and_pays_only_as_partial_credit():
    rows = ["S..", ".#.", "..G"]
    problem = Problem("", "RRDD", meta={"rows": rows, "needed": "", "least": 4})
    verdict = paths.reward.score(r"\boxed{RLRRDD}", problem)
    assert (verdict.value, verdict.reason) == (0, Reason.WRONG)
    assert "costs 6, there is one for less" in verdict.feedback
    credited: Any = paths.reward
    assert credited.crediting(partial=0.6).score(r"\boxed{RLRRDD}", problem).value == pytest.approx(0.6 * 4 / 6)
    for moves, said in (
        ("U", "move 1, U from a1, leaves the grid"),
        ("RD", "move 2, D from b1, runs into the wall at b2"),
        ("RR", "the way ends at c1, not at G"),
        ("RRDDRRDDRR", "far too many"),
    ):
        assert said in paths.reward.score(f"\\boxed{{{moves}}}", problem).feedback
        assert credited.crediting(partial=0.6).score(f"\\boxed{{{moves}}}", problem).value == 0


def test_a_way_that_costs_one_too_much_is_wrong():
    priced = Problem("", "RR", meta={"rows": ["S2G", "111"], "needed": "", "least": 2})
    assert (scored(paths, r"\boxed{RR}", priced), scored(paths, r"\boxed{DRRU}", priced)) == (1, 0)


def test_a_way_may_go_through_the_goal_where_the_prompt_says_so():
    """With marks the cheapest way often does; in the other tiers no best way can."""
    beyond = Problem("", "", meta={"rows": ["S1G1x"], "needed": "x", "least": 4})
    assert scored(paths, r"\boxed{RRRRLL}", beyond) == 1
    assert scored(paths, r"\boxed{RR}", beyond) == 0
    assert [next(sample(paths, tier, 1)).prompt.count("may go through G") for tier in range(6)] == [0, 0, 0, 0, 0, 1]


def test_a_locked_door_and_a_mark_left_out_are_named():
    locked = Problem("", "", meta={"rows": ["SXG", "x.."], "needed": "", "least": 4})
    assert "finds the door at b1 locked" in paths.reward.score(r"\boxed{RR}", locked).feedback
    assert scored(paths, r"\boxed{DURR}", locked) == 1
    marked = Problem("", "", meta={"rows": ["S.G", "x.."], "needed": "x", "least": 4})
    assert "something is still to be visited" in paths.reward.score(r"\boxed{RR}", marked).feedback
    assert scored(paths, r"\boxed{DRRU}", marked) == scored(paths, r"\boxed{DURR}", marked) == 1


@pytest.mark.parametrize(
    "text", ["RRDD", "R R D D", "R, R, D, D", "rrdd", "right, right, down, down", "→→↓↓", r"R \to R \to D \to D"]
)
def test_a_way_may_be_spelled_in_many_ways(text):
    problem = Problem("", "RRDD", meta={"rows": ["S..", ".#.", "..G"], "needed": "", "least": 4})
    assert scored(paths, f"\\boxed{{{text}}}", problem) == 1


def test_higher_tiers_have_what_they_are_said_to_have():
    for problem in sample(paths, 4, 10):
        way = str(problem.solution).split("\n")[-2]
        assert re.search(r"to [a-f]\dxy:", way), "the best way takes both keys"
    for tier, size in enumerate(PATH_SIZES):
        for problem in sample(paths, tier, 5):
            cells = "".join(problem.meta["rows"])
            assert len(cells) == size.side**2
            assert sum(cells.count(thing) for thing in "xyz") == size.doors + size.marks


# --- sequences: all parameters in a range are tried, and what fits the terms is continued

RANGE = range(-12, 13)
WIDE = range(-80, 81)


def run(terms: list[int], start: int, follow: Callable[..., int], asked: int) -> tuple[int, ...] | None:
    """Go on by a rule from the first terms on; None when it does not lead through all that are given."""
    made = terms[:start]
    while len(made) < len(terms) + asked:
        made.append(follow(made))
        if len(made) <= len(terms) and made[-1] != terms[len(made) - 1]:
            return None
    return tuple(made[len(terms) :])


def poly(made: list[int], order: int, constant: int) -> int:
    """The term after which the differences of an order are that constant."""
    signs = {1: (1,), 2: (2, -1), 3: (3, -3, 1)}[order]
    return constant + sum(sign * made[-k - 1] for k, sign in enumerate(signs))


def continuations(law: str, t: list[int], asked: int) -> set[tuple[int, ...] | None]:
    """Every way in which terms go on under a law, in the words of the prompt."""
    if law == "the same number is added every time":
        return {run(t, 1, lambda m, d=d: m[-1] + d, asked) for d in WIDE}
    if law == "two numbers are added in turn":
        d, e = t[1] - t[0], t[2] - t[1]
        return {run(t, 1, lambda m: m[-1] + (d if len(m) % 2 else e), asked)}
    if law == "the number that is added changes by the same amount every time":
        return {run(t, 2, lambda m, g=g: poly(m, 2, g), asked) for g in WIDE}
    if law == "the differences of the differences change by the same amount every time":
        return {run(t, 3, lambda m, g=g: poly(m, 3, g), asked) for g in WIDE}
    if law == "two sequences take turns, and each adds a number of its own every time":
        return {run(t, 2, lambda m: m[-2] + (t[2] - t[0], t[3] - t[1])[len(m) % 2], asked)}
    if law == "each term is p times the one before, plus q":
        return {run(t, 1, lambda m, p=p: p * (m[-1] - t[0]) + t[1], asked) for p in RANGE}
    pairs = list(product(RANGE, RANGE))
    if law == "each term is p times the one before, plus q times the one before that":
        return {run(t, 2, lambda m, p=p, q=q: p * m[-1] + q * m[-2], asked) for p, q in pairs}
    if law == "each term is p times the one before, plus q times the one before that, plus r":
        return {run(t, 2, lambda m, p=p, q=q: p * (m[-1] - t[1]) + q * (m[-2] - t[0]) + t[2], asked) for p, q in pairs}
    if law == "the n-th term is p times the one before, plus q times n, plus r":
        return {
            run(t, 1, lambda m, p=p, q=q: p * (m[-1] - t[0]) + q * (len(m) + 1 - 2) + t[1], asked) for p, q in pairs
        }
    assert (
        law == "two sequences take turns, and in each a term is p times its last one, plus q, with p and q of its own"
    )
    return {
        run(t, 2, lambda m, r=(p, q): r[len(m) % 2] * (m[-2] - t[len(m) % 2]) + t[len(m) % 2 + 2], asked)
        for p, q in pairs
    }


def asked_of(prompt: str) -> tuple[list[int], dict[str, str], int]:
    """Terms, letters with their laws, and how many terms are asked for."""
    first, *laws, last = prompt.split("\n")
    begins = re.match(r"A sequence begins ([-\d, ]+)\. One of these laws holds", first)
    assert begins is not None
    return (
        [int(term) for term in begins[1].split(",")],
        dict(line.split(". ", 1) for line in laws),
        ("two", "three").index(last.split()[4]) + 2,
    )


@pytest.mark.parametrize("tier", sequence.tiers)
def test_all_laws_that_fit_go_on_alike_and_as_the_reference_says(tier):
    for problem in sample(sequence, tier, 30 if tier < 4 else 10):
        terms, laws, asked = asked_of(problem.prompt)
        found = {letter: continuations(law, terms, asked) - {None} for letter, law in laws.items()}
        reference = tuple(int(term) for term in problem.reference.split(", "))
        assert set().union(*found.values()) == {reference}, problem.prompt
        assert scored(sequence, f"\\boxed{{{problem.reference}}}", problem) == 1
        said = dict(re.findall(r"^([A-E]) (fails|holds):", str(problem.solution), re.MULTILINE))
        assert all((verdict == "holds") == bool(found[letter]) for letter, verdict in said.items())


@pytest.mark.parametrize("tier", sequence.tiers)
def test_every_line_of_the_working_is_true(tier):
    for problem in sample(sequence, tier, 20):
        *lines, last = str(problem.solution).split("\n")
        for line in lines:
            left, equals, right = line.partition(" = ")
            if not re.match("[A-E] ", line):
                assert equals
                assert evaluate(left) == evaluate(right), line
        assert last == f"\\boxed{{{problem.reference}}}"
        assert len(str(problem.solution)) < 2_500


@pytest.mark.parametrize("tier", sequence.tiers)
def test_a_term_that_is_off_by_one_is_wrong(tier):
    for problem in sample(sequence, tier, 5):
        terms = [int(term) for term in problem.reference.split(", ")]
        for k, change in product(range(len(terms)), (-1, 1)):
            wrong = [term + change * (k == place) for place, term in enumerate(terms)]
            assert scored(sequence, f"\\boxed{{{', '.join(map(str, wrong))}}}", problem) == 0
        for count in (terms[:-1], [*terms, terms[-1]], terms[::-1]):
            if count != terms:
                assert scored(sequence, f"\\boxed{{{', '.join(map(str, count))}}}", problem) == 0


def test_every_law_of_a_tier_comes_up():
    for tier, size in enumerate(SIZES):
        holding = set()
        for problem in sample(sequence, tier, 60):
            _, laws, _ = asked_of(problem.prompt)
            holding |= {laws[letter] for letter in re.findall(r"^([A-E]) holds", str(problem.solution), re.MULTILINE)}
        assert len(holding) == len(size.laws)


def test_terms_that_go_on_in_two_ways_are_not_asked_for():
    assert continued([1, 2, 4], ["growing", "affine"], 2) is None  # 7, 11 or 8, 16
    found = continued([1, 2, 4, 8], ["growing", "affine"], 2)
    assert found is not None
    assert found[0] == [16, 32]


# --- both


@pytest.mark.parametrize("of", [paths, sequence], ids=lambda of: of.name)
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_answer_earns_nothing_and_raises_nothing(of, text):
    for tier in of.tiers:
        assert scored(of, text, of.problem(tier, "train", 1, 0)) == 0


@pytest.mark.parametrize("of", [paths, sequence], ids=lambda of: of.name)
def test_two_answers_are_none(of):
    problem, other = of.problem(0, "train", 1, 0), of.problem(0, "train", 1, 1)
    for text in (f"{problem.reference} or {other.reference}", f"{other.reference}; {problem.reference}"):
        assert scored(of, f"\\boxed{{{text}}}", problem) == 0
