"""What the tests of several puzzles share: problems, answers and what they earn."""

from __future__ import annotations

from grpo_gym import Problem, Task

TIERS = range(6)


def problems(task: Task, tier: int, many: int, seed: int = 7) -> list[Problem]:
    return [task.problem(tier, "train", seed, index) for index in range(many)]


def boxed(text: str) -> str:
    return f"\\boxed{{{text}}}"


def value(task: Task, problem: Problem, answer: str | None) -> float:
    assert answer is not None
    return float(task.reward.score(answer, problem))


def hasty(task: Task, problem: Problem) -> str:
    answer = task.hasty_answer(problem)
    assert answer is not None
    return answer


def found(task: Task, problem: Problem) -> list[str]:
    """What the task's solver finds."""
    assert task.solver is not None
    return list(task.solver(problem))
