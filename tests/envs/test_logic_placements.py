"""Queens and colourings: every placement by the rules of the prompt is paid and no other; the working is true."""

from __future__ import annotations

import itertools
import re

import pytest

from grpo_envs.logic.coloring import coloring
from grpo_envs.logic.queens import queens
from grpo_gym import Problem, Rng
from tests.envs.puzzles import TIERS, boxed, found, problems, value

# --- queens


def given_queens(prompt: str) -> tuple[int, dict[int, int]]:
    size = int(re.match(r"Place (\d+) queens", prompt)[1])  # type: ignore[index]
    return size, {int(r): int(c) for r, c in re.findall(r"row (\d+) column (\d+)", prompt)}


def peaceful(columns: tuple[int, ...]) -> bool:
    n = len(columns)
    return all(len({c + sign * r for r, c in enumerate(columns)}) == n for sign in (-1, 0, 1))


ALL_EIGHT = [columns for columns in itertools.permutations(range(1, 9)) if peaceful(columns)]


def test_there_are_92_placements_of_eight_queens():
    assert len(ALL_EIGHT) == 92


@pytest.mark.parametrize("tier", [0, 1, 2])
def test_exactly_the_placements_that_keep_the_given_queens_are_paid(tier):
    for problem in problems(queens, tier, 12):
        size, given = given_queens(problem.prompt)
        assert size == 8
        right = [cs for cs in ALL_EIGHT if all(cs[row - 1] == column for row, column in given.items())]
        some = found(queens, problem)
        assert len(some) == min(4, len(right))
        assert set(some) <= {boxed(", ".join(map(str, columns))) for columns in right}
        for columns in ALL_EIGHT:
            assert value(queens, problem, boxed(str(list(columns)))) == (columns in right)


def test_queens_must_not_meet_on_columns_nor_on_diagonals_of_either_direction():
    problem = Problem("", "", meta={"size": 5, "given": [0] * 5})
    for columns in itertools.product(range(1, 6), repeat=5):
        if len(set(columns)) == 5 or Rng(str(columns)).chance(1, 20):
            assert value(queens, problem, boxed(str(list(columns)))) == peaceful(columns)


@pytest.mark.parametrize("tier", [3, 4, 5])
def test_a_large_board_is_completed_by_the_rules_that_the_prompt_states(tier):
    for problem in problems(queens, tier, 8):
        size, given = given_queens(problem.prompt)
        for answer in [boxed(problem.reference), *found(queens, problem)]:
            columns = tuple(int(number) for number in re.findall(r"\d+", answer))
            assert len(columns) == size
            assert peaceful(columns)
            assert all(columns[row - 1] == column for row, column in given.items())
            assert value(queens, problem, answer) == 1
        assert len(given) <= 4
        assert len(str(problem.solution)) <= 2_500


@pytest.mark.parametrize("tier", TIERS)
def test_every_line_of_a_worked_completion_is_true_of_the_board(tier):
    for problem in problems(queens, tier, 12):
        size, given = given_queens(problem.prompt)
        *lines, last = str(problem.solution).splitlines()
        placed: list[tuple[int, int]] = list(given.items())
        open_choices: list[tuple[int, int]] = []
        for line in lines:
            match = re.fullmatch(r"row (\d+): left ([\d ]+)(?:, (.*))?, free ([\d ]+|none), (take \d+|back)", line)
            assert match is not None, line
            row = int(match[1])
            while row in dict(placed):  # a row that is looked at again has been given up before
                placed.pop()
            left = {int(column) for column in match[2].split()}
            assert left == set(range(1, size + 1)) - {column for _, column in placed}
            pairs = [re.findall(r"\d+", part) for part in (match[3] or "").split(", ") if part]
            met = {int(column): int(by) for column, by in pairs}
            assert all(abs(dict(placed)[by] - column) == abs(by - row) for column, by in met.items())
            free = set() if match[4] == "none" else {int(column) for column in match[4].split()}
            assert free == left - set(met)
            if match[5] == "back":
                assert not free
                retry = open_choices.pop() if open_choices else None
                while placed and retry and placed[-1][0] != retry[0]:
                    placed.pop()
                if retry:
                    placed.pop()
                continue
            taken = int(match[5].split()[1])
            assert taken in free
            open_choices += [(row, column) for column in sorted(free - {taken}, reverse=True) if column > taken]
            placed.append((row, taken))
        assert last == boxed(", ".join(str(column) for _, column in sorted(placed)))


def test_a_queen_that_is_moved_or_attacked_is_named():
    problem = problems(queens, 0, 1)[0]
    _, given = given_queens(problem.prompt)
    columns = [int(number) for number in problem.reference.split(", ")]
    row = min(given) - 1
    columns[row] = columns[row] % 8 + 1
    feedback = queens.reward.score(boxed(", ".join(map(str, columns))), problem).feedback
    assert f"the queen of row {row + 1} was moved from column {given[row + 1]} to {columns[row]}" in feedback
    assert "attack each other" in feedback


# --- colourings


def graph_of(prompt: str) -> tuple[list[str], list[str], list[tuple[str, str]], dict[str, str]]:
    match = re.fullmatch(
        r"Colour the points (.*) with (.*) so that joined points have different colours\. Joined: (.*?)\. (.*)\.",
        prompt,
    )
    assert match is not None
    pairs = [(pair[0], pair[2]) for pair in match[3].split(", ")]
    given = dict(part.split(" is ") for part in match[4].split(", "))
    return match[1].split(", "), re.split(", | and ", match[2]), pairs, given


@pytest.mark.parametrize("tier", [0, 1, 2])
def test_exactly_the_proper_colourings_are_paid(tier):
    for problem in problems(coloring, tier, 6 - 2 * tier):
        points, colors, pairs, given = graph_of(problem.prompt)
        right = 0
        for choice in itertools.product(colors, repeat=len(points)):
            chosen = dict(zip(points, choice, strict=True))
            proper = chosen.items() >= given.items() and all(chosen[one] != chosen[two] for one, two in pairs)
            right += proper
            if proper or Rng(str(choice), problem.problem_id).chance(1, 2 * len(colors) ** (len(points) - 4)):
                answer = boxed(", ".join(f"{point}: {color}" for point, color in chosen.items()))
                assert value(coloring, problem, answer) == proper
        assert len(found(coloring, problem)) == min(4, right) > 0


@pytest.mark.parametrize("tier", TIERS)
def test_every_line_of_a_worked_colouring_names_what_the_neighbours_have(tier):
    for problem in problems(coloring, tier, 12):
        points, colors, pairs, given = graph_of(problem.prompt)
        neighbours = {p: {q for pair in pairs for q in pair if p in pair and q != p} for p in points}
        *lines, last = str(problem.solution).splitlines()
        placed = dict(given)
        for line in lines:
            name, beside, said = re.fullmatch(r"(\w): beside (.*); (.*)", line).groups()  # type: ignore[union-attr]
            while name in placed:  # a point that is looked at again has been given up before
                placed.popitem()
            listed = dict(part.split() for part in beside.split(", ")) if beside != "nothing coloured" else {}
            while not (
                said.endswith("back")
                or listed.items() == {n: placed[n] for n in neighbours[name] if n in placed}.items()
            ):
                placed.popitem()
            assert listed.items() == {n: placed[n] for n in neighbours[name] if n in placed}.items()
            left = set(colors) - set(listed.values())
            kind, color = said.split()[0], said.split()[-1]
            assert {"only": left == {color}, "try": color in left and len(left) > 1, "no": not left}[kind]
            if kind != "no":
                placed[name] = color
        assert last == boxed(", ".join(f"{point}: {placed[point]}" for point in points))
        assert all(placed[one] != placed[two] for one, two in pairs)
