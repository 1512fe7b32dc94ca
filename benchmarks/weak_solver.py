r"""How often is a weak solver right? Success must fall from tier to tier, else a tier is not what it says.

A task that says what its weak solver answers (`Task.guess`: only the first propagation, the first bound, a greedy
choice) is asked for that, and its reward judges. For any other task the weak solver is somebody who knows how and is
not careful: each unit of the task's effort goes right with the same chance, which is set so that a typical problem of
the lowest tier goes right every second time. After a slip the answer is a near miss, which the reward judges, too: it
may be right by luck.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from grpo_gym import Problem, Rng, Task

HALF = 0.5
"""Success on a typical problem of the lowest tier."""

_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class WeakSolver:
    """Solves problems of one task badly.

    Attributes:
        task: The task.
        unit: The effort of a typical problem of the lowest tier, for tasks without a `guess`.
    """

    task: Task
    unit: float

    @classmethod
    def of(cls, task: Task, lowest: Sequence[Problem]) -> WeakSolver:
        """Return the weak solver of a task, given problems of its lowest tier."""
        return cls(task, statistics.median(efforts(task, lowest)))

    def success(self, problems: Sequence[Problem]) -> float:
        """Return the mean success on problems of one tier."""
        return statistics.fmean(map(self.chance, problems))

    def chance(self, problem: Problem) -> float:
        """Return the chance to be right on one problem: 0 or 1 for a task whose weak solver gives one answer."""
        guess = self.task.hasty_answer(problem)
        if guess is not None:
            return float(bool(self.task.reward.score(guess, problem)))
        assert self.task.effort is not None, f"{self.task.name} declares no effort"
        careful: float = HALF ** (self.task.effort(problem) / self.unit)
        return careful + (1 - careful) * self._luck(problem)

    def _luck(self, problem: Problem) -> float:
        """Return whether the near miss is right all the same. A program with a slip fails its tests, and is not run."""
        if self.task.name.startswith("code"):
            return 0.0
        wrong = near_miss(self.task.answer(problem), Rng("near miss", problem.problem_id))
        return float(bool(self.task.reward.score(wrong, problem)))


def efforts(task: Task, problems: Sequence[Problem]) -> list[float]:
    """Return the efforts of problems. Raises AssertionError for a task that declares none."""
    assert task.effort is not None, f"{task.name} declares no effort"
    return [task.effort(problem) for problem in problems]


def near_miss(answer: str, rng: Rng) -> str:
    """Return an answer with one of its numbers off by one or two; with another sign where it has no number."""
    numbers = list(_NUMBER.finditer(answer))
    if not numbers:
        return answer.replace("{", "{-", 1)
    place = rng.choice(numbers)
    other = int(place.group()) + rng.choice((1, 2, -1))
    return answer[: place.start()] + str(abs(other)) + answer[place.end() :]


def sample(task: Task, tier: int, many: int, seed: int = 0) -> list[Problem]:
    """Return problems of a tier, one of each of many seeds."""
    return [task.problem(tier, "train", seed + k, 2) for k in range(many)]
