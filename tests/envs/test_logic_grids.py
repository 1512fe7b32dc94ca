"""Sudokus: solved again by exact cover, from the prompt alone; every line of the working follows from those before."""

from __future__ import annotations

import itertools
import re
import statistics
from collections.abc import Iterator

import pytest

from grpo_envs.logic.mini_sudoku import PATTERNS, full_grids, mini_sudoku, unique_clues
from grpo_envs.logic.solvers import sudoku_store
from grpo_envs.logic.solvers.singles import Filling
from grpo_envs.logic.sudoku import sudoku
from grpo_gym import Problem, Reason, Rng
from tests.envs.puzzles import TIERS, boxed, hasty, problems, value
from tests.envs.second_grids import Cell, ExactCover, Pupil, clues_of


def _covers(clues: list[list[int]]) -> Iterator[dict[Cell, int]]:
    return ExactCover(clues).solutions()


@pytest.mark.parametrize(
    ("task", "many"), [(mini_sudoku, 25), (sudoku, 5)], ids=lambda value: getattr(value, "name", "")
)
@pytest.mark.parametrize("tier", TIERS)
def test_a_sudoku_has_one_solution_and_it_is_the_reference(task, many, tier):
    for problem in problems(task, tier, many):
        clues = clues_of(problem.prompt)
        found = list(itertools.islice(_covers(clues), 2))
        assert len(found) == 1
        rows = [" ".join(str(found[0][r, c]) for c in range(len(clues))) for r in range(len(clues))]
        assert problem.reference == " / ".join(rows)
        assert value(task, problem, boxed(" / ".join(rows))) == 1


def test_the_second_solver_finds_both_solutions_of_a_puzzle_that_has_two():
    assert len(list(_covers([[1, 2, 3, 4], [3, 4, 0, 0], [2, 1, 4, 3], [4, 3, 0, 0]]))) == 2
    assert not list(_covers([[1, 1, 0, 0]] + [[0] * 4] * 3))


def test_all_full_grids_and_all_puzzles_of_four_clues_are_known():
    """288 grids and 25,728 puzzles of four clues were counted by others."""
    assert len(full_grids()) == 288
    assert all(len(list(_covers([list(g[k : k + 4]) for k in (0, 4, 8, 12)]))) == 1 for g in full_grids()[:20])
    assert 96 * len(unique_clues(0, 4)) + 192 * len(unique_clues(1, 4)) == 25_728
    for kind in (0, 1):
        assert not unique_clues(kind, 3)
        left_out = Rng("left out", kind).sample(list(itertools.combinations(range(16), 5)), 40)
        for cells in left_out:
            clues = [[PATTERNS[kind][4 * r + c] if 4 * r + c in cells else 0 for c in range(4)] for r in range(4)]
            assert (len(list(itertools.islice(_covers(clues), 2))) == 1) == (cells in unique_clues(kind, 5))


# --- where 9x9 sudokus come from


def test_the_store_is_what_its_script_makes(monkeypatch):
    monkeypatch.setattr(sudoku_store, "EACH", 2)
    lines = sudoku_store.STORE.read_text(encoding="ascii").splitlines()
    plain = [line for line in lines if " " not in line]
    assert sudoku_store.make() == [*plain[:2], *(line for line in lines if " " in line)][:4]
    assert len(plain) == len(lines) - len(plain) == 600


def _stored() -> list[str]:
    return [grid for tries in (False, True) for grid, _ in sudoku_store.stored(tries)]


@pytest.mark.parametrize(
    "grid",
    [
        pytest.param(g, marks=() if k % 150 == 0 else pytest.mark.long, id=str(k))
        for k, g in enumerate(_stored())
        if k % 10 == 0
    ],
)
def test_a_stored_puzzle_is_unique_and_needs_each_of_its_clues(grid):
    full = [int(sign) if sign.isdigit() else "abcdefghi".index(sign) + 1 for sign in grid]
    clues = [digit if sign.isdigit() else 0 for digit, sign in zip(full, grid, strict=True)]
    rows = [clues[k : k + 9] for k in range(0, 81, 9)]
    [found] = list(itertools.islice(_covers(rows), 2))
    assert [found[cell // 9, cell % 9] for cell in range(81)] == full
    for cell in [cell for cell in range(81) if clues[cell]][::6]:
        less = [list(row) for row in rows]
        less[cell // 9][cell % 9] = 0
        assert len(list(itertools.islice(_covers(less), 2))) == 2


def test_stored_puzzles_are_no_symmetric_copies_of_one_another():
    """What no symmetry changes: how many clues the boxes of a band hold, and how often each digit is given."""

    def trace(grid: str) -> tuple[object, ...]:
        given = [sign.isdigit() for sign in grid]
        boxes = [
            [sum(given[27 * b + 9 * r + 3 * s + c] for r in range(3) for c in range(3)) for s in range(3)]
            for b in range(3)
        ]
        rows = [[sum(given[27 * b + 9 * r + c] for c in range(9)) for r in range(3)] for b in range(3)]
        columns = [[sum(given[9 * r + 3 * s + c] for r in range(9)) for c in range(3)] for s in range(3)]
        two = sorted(
            [
                [sorted(map(sorted, rows)), sorted(map(sorted, boxes))],
                [sorted(map(sorted, columns)), sorted(sorted(b[s] for b in boxes) for s in range(3))],
            ]
        )
        return repr(two), repr(sorted(grid.count(digit) for digit in "123456789"))

    traces = [trace(grid) for grid in _stored()]
    assert len(set(traces)) == len(traces) == 1200


def test_generated_sudokus_are_not_the_same_puzzle_in_another_dress():
    counts = [sorted(p.meta["clues"].count(d) for d in "123456789") for p in problems(sudoku, 3, 60)]
    assert len({str(count) for count in counts}) > 40


# --- the working


@pytest.mark.parametrize(
    ("task", "many"), [(mini_sudoku, 20), (sudoku, 8)], ids=lambda value: getattr(value, "name", "")
)
@pytest.mark.parametrize("tier", TIERS)
def test_every_line_of_a_worked_sudoku_follows_from_the_lines_before(task, many, tier):
    for problem in problems(task, tier, many):
        *lines, last = str(problem.solution).splitlines()
        pupil = Pupil.of(clues_of(problem.prompt))
        for line in lines:
            pupil.follow(line)
        rows = [" ".join(str(pupil.grid[r, c]) for c in range(pupil.n)) for r in range(pupil.n)]
        assert last == boxed(" / ".join(rows))
        assert len(str(problem.solution)) <= 3_000


def test_tries_stand_in_the_highest_tier_alone():
    tried = [sum("were" in str(p.solution) for p in problems(sudoku, tier, 40)) for tier in TIERS]
    assert tried[:5] == [0] * 5
    assert tried[5] >= 25


def test_a_try_that_meets_no_contradiction_is_no_deduction():
    problem = problems(sudoku, 5, 1)[0]
    clues = [digit for row in clues_of(problem.prompt) for digit in row]
    full = [int(digit) for digit in problem.reference if digit.isdigit()]
    cell = clues.index(0)
    with pytest.raises(ValueError, match=f"{full[cell]} at r1c{cell + 1} meets no contradiction"):
        Filling(clues).refute(cell, full[cell])


# --- the rules of a sudoku


@pytest.mark.parametrize("task", [mini_sudoku, sudoku], ids=lambda task: task.name)
def test_a_grid_that_breaks_a_rule_earns_nothing_and_is_told_which(task):
    for problem in problems(task, 2, 10):
        rows = [row.split() for row in problem.reference.split(" / ")]
        clues = clues_of(problem.prompt)
        r, c = next((r, c) for r, row in enumerate(clues) for c, digit in enumerate(row) if not digit)
        wrong = [list(row) for row in rows]
        wrong[r][c] = rows[r][c - 1]
        verdict = task.reward.score(boxed(" / ".join(" ".join(row) for row in wrong)), problem)
        assert (float(verdict), verdict.reason) == (0, Reason.WRONG)
        assert f"row {r + 1} has more than one {wrong[r][c]}" in verdict.feedback
        swapped = problem.reference.translate(str.maketrans("12", "21"))
        verdict = task.reward.score(boxed(swapped), problem)
        assert float(verdict) == 0
        assert re.match(r"the clue [12] at r\dc\d was changed to [12]", verdict.feedback)


def test_rows_and_columns_are_not_enough():
    problem = Problem("", "", meta={"clues": "." * 16})
    assert value(mini_sudoku, problem, boxed("1 2 3 4 / 3 4 1 2 / 2 1 4 3 / 4 3 2 1")) == 1
    verdict = mini_sudoku.reward.score(boxed("1 2 3 4 / 2 3 4 1 / 3 4 1 2 / 4 1 2 3"), problem)
    assert verdict.feedback.startswith("the box at r1c1 has more than one 2")
    verdict = mini_sudoku.reward.score(boxed("1 2 3 4 / 3 4 1 2 / 1 2 3 4 / 3 4 1 2"), problem)
    assert verdict.feedback.startswith("column 1 has more than one 1")


@pytest.mark.parametrize("task", [mini_sudoku, sudoku], ids=lambda task: task.name)
@pytest.mark.parametrize("tier", [0, 3])
def test_filling_rows_blindly_earns_next_to_nothing_with_partial_credit(task, tier):
    generous = task.reward.crediting(partial=0.5)
    answers = [(p, hasty(task, p)) for p in problems(task, tier, 60)]
    paid = [float(generous.score(answer, p)) for p, answer in answers if value(task, p, answer) == 0]
    assert statistics.fmean(paid) < 0.05
    problem = problems(task, tier, 1)[0]
    assert float(generous.score(boxed(problem.reference.translate(str.maketrans("12", "21"))), problem)) == 0


@pytest.mark.parametrize("task", [mini_sudoku, sudoku], ids=lambda task: task.name)
def test_one_wrong_pair_of_many_cells_earns_some_partial_credit(task):
    problem = problems(task, 3, 1)[0]
    rows = [row.split() for row in problem.reference.split(" / ")]
    blanks = [(r, c) for r, row in enumerate(clues_of(problem.prompt)) for c, digit in enumerate(row) if not digit]
    r, c = blanks[0]
    rows[r][c] = next(sign for sign in "12" if sign != rows[r][c])
    assert 0.1 < float(task.reward.crediting(partial=0.5).score(boxed(" / ".join(map(" ".join, rows))), problem)) < 0.5
