"""One reward for all logic tasks, with the options of each: partial credit, and deductions that count.

    gym.make("grpo/Logic-v0", reward=LogicReward(steps=0.2))

The rules remain those of the task that a problem belongs to. Other tasks of a mixture are judged by their own rewards.
"""

from __future__ import annotations

import numbers
from typing import Any

from grpo_gym.errors import InvalidValueError
from grpo_gym.problem import Problem
from grpo_gym.registration import load_tasks
from grpo_gym.reward import Reward
from grpo_gym.verdict import Verdict
from grpo_rewards.logic import PuzzleReward


class LogicReward(Reward):
    """Judges every puzzle by its own task's rules, and what is no puzzle by its task's own reward.

    Args:
        partial: The most that an answer which breaks rules may earn, in [0, 1); paid for what is right beyond luck.
        steps: The part of a right answer's value that depends on its deductions, in [0, 1); 0.0 only reports them.
            Puzzles that have no language for deductions are judged by the answer alone. None leaves them unread.
    """

    def __init__(self, partial: float = 0.0, steps: float | None = None) -> None:
        _check_share("partial", partial)
        if steps is not None:
            _check_share("steps", steps)
        self.partial = partial
        self.steps = steps
        self._known: dict[PuzzleReward, PuzzleReward] = {}

    def in_place_of(self, own: Reward) -> Reward:
        """Return a puzzle's reward with these options; a reward that is no puzzle's stays as it is."""
        if not isinstance(own, PuzzleReward):
            return own
        if own not in self._known:
            steps = self.steps if own.soundness is not None else None
            self._known[own] = own.crediting(partial=self.partial, steps=steps)
        return self._known[own]

    def score(self, response: str, problem: Problem) -> Verdict:
        """Judge one response to a problem of a registered task. Raises UnknownNameError when there is none."""
        return self.in_place_of(load_tasks(f"grpo/{problem.task}")[0].reward).score(response, problem)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_known": {}}


def _check_share(name: str, value: object) -> None:
    """Raise InvalidValueError when an option is no number from 0 to below 1."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not 0 <= float(value) < 1:
        raise InvalidValueError(f"{name} is {value!r:.80}, must be a number in [0, 1)")
