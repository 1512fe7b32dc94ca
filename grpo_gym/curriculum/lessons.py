"""Who sits in which lesson: the arm of every group, and what its rows have earned so far.

A group is reported once, when its last row has ended. A row counts with what its verdict calls solved, else with its
rewards of all turns, clipped to [0, 1]; a row whose scorer abstained does not count; a group without rows that count,
or one that was reset before its end, is not reported at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from grpo_gym.curriculum.arms import Arm, Curriculum
from grpo_gym.rng import Rng

CALLERS_CHOICE = ("task", "tier", "problem")
"""Reset options with which the caller chooses; the curriculum then neither chooses nor learns."""


@dataclass
class _Lesson:
    """One group: its arm, and what its rows earned, or solved."""

    arm: Arm
    running: set[int]
    earned: dict[int, float] = field(default_factory=dict)
    abstained: set[int] = field(default_factory=set)


class Lessons:
    """Puts groups to the arms that a curriculum chooses, and reports them when they have ended.

    Args:
        curriculum: Chooses and is told.
        group_size: Rows of a group; rows k * group_size and so on belong to group k.
    """

    def __init__(self, curriculum: Curriculum, group_size: int = 1) -> None:
        self.curriculum = curriculum
        self.group_size = group_size
        self._lessons: dict[int, _Lesson] = {}

    def begin(self, group: int, start: tuple[int, int], options: Mapping[str, Any], split: str) -> dict[str, Any]:
        """Return the reset options of a group that begins: the caller's, and the arm where that is the curriculum's.

        Args:
            group: Its number.
            start: Its seed and index.
            options: What the caller asks for; with a task, tier or problem among it the caller chooses.
            split: The split when the options name none. Held-out problems are neither chosen nor learned from.
        """
        self._lessons.pop(group, None)
        named = any(options.get(option) is not None for option in CALLERS_CHOICE)
        if named or (options.get("split") or split) != "train":
            return dict(options)
        arm = self.curriculum.choose(Rng("curriculum", *start))
        first = group * self.group_size
        self._lessons[group] = _Lesson(arm, set(range(first, first + self.group_size)))
        return {**options, "task": arm.task, "tier": arm.tier}

    def book(self, row: int, reward: float, ended: bool, abstains: bool, solved: float | None = None) -> None:
        """Take down what a step of a running row came to.

        Args:
            row: Its number.
            reward: What the step earned.
            ended: Whether the episode is over.
            abstains: Whether the scorer could not judge.
            solved: What the verdict says of the whole episode instead of its rewards, None for nothing.
        """
        lesson = self._lessons.get(row // self.group_size)
        if lesson is None or row not in lesson.running:
            return
        lesson.earned[row] = lesson.earned.get(row, 0.0) + reward if solved is None else solved
        if abstains:
            lesson.abstained.add(row)
        if ended:
            lesson.running.discard(row)

    def report(self) -> None:
        """Tell the curriculum of the groups that have ended since, in order."""
        for group in sorted(group for group, lesson in self._lessons.items() if not lesson.running):
            lesson = self._lessons.pop(group)
            judged = [earned for row, earned in sorted(lesson.earned.items()) if row not in lesson.abstained]
            if judged:
                self.curriculum.update(lesson.arm, [min(1.0, max(0.0, earned)) for earned in judged])
