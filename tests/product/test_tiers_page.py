"""The page about tiers speaks of every task; its figures are those of whoever ran it last."""

from __future__ import annotations

import pytest

from benchmarks.tiers import FEW_DRAWS, PAGE, Figures, drawn, meaning, percentile, row
from grpo_gym import Task
from grpo_gym.registration import tasks_of
from tests.shared import product_ids

TASKS = {task.name: task for identifier in product_ids() for task in tasks_of(identifier)}


def test_every_task_stands_on_the_page_with_all_its_tiers() -> None:
    said: list[str] = []
    rows: dict[str, list[str]] = {}
    family, name = "", ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            family = line[3:]
        elif line.startswith("* `"):
            said.append(line[3:].partition("`: ")[0])
        elif line.startswith("| ") and family:
            cells = [cell.strip(" *†") for cell in line.strip("|").split("|")]
            name = cells[0] or name
            rows.setdefault(f"{family}.{name}", []).append(cells[1])

    assert sorted(said) == sorted(TASKS), "run python -m benchmarks.tiers"
    for name, task in TASKS.items():
        assert rows[name] == [str(tier) for tier in task.tiers]


def test_the_page_explains_each_tier_of_the_scale() -> None:
    text = PAGE.read_text(encoding="utf-8")

    assert all(f"| {tier} | " in text.partition("\n## ")[0] for tier in range(6))


def test_a_task_says_in_its_docstring_what_it_asks() -> None:
    assert not [name for name, task in TASKS.items() if meaning(task).startswith("Not described")]


@pytest.mark.parametrize("name", ["logic.guess_number", "math.chain"])
def test_problems_are_drawn_with_their_cost_and_named_apart(name: str) -> None:
    task: Task = TASKS[name]

    problems, seconds = drawn(task, 1, FEW_DRAWS)

    assert len(problems) == len(seconds) == FEW_DRAWS
    assert all(problem.tier == 1 and problem.task == name for problem in problems)
    assert len({problem.problem_id for problem in problems}) > FEW_DRAWS // 2
    assert all(cost >= 0 for cost in seconds)


def test_a_percentile_is_the_value_below_which_that_share_lies() -> None:
    assert percentile(range(100), 0.95) == 95
    assert percentile([7.0], 0.95) == 7.0


def test_a_row_marks_the_default_tiers_and_the_weak_solvers_of_tasks() -> None:
    figures = Figures(1, 12.0, 0.5, 0.0123, 0.2, 398, 400)

    assert row(TASKS["logic.guess_number"], figures, first=True) == (
        "| guess_number † | **1** | 12 | 50 % | 0.012 | 0.2 | 398 of 400 |"
    )
    assert row(TASKS["math.chain"], Figures(5, 12.0, 0.5, 1, 2, 9, 9), first=False).startswith("|  | 5 | 12 |")
