"""One reward for all logic tasks, with the options of each: partial credit, and deductions that count.

    gym.make("grpo/Logic-v0", reward=LogicReward(steps=0.2))

The rules remain those of the task that a problem belongs to.
"""

from __future__ import annotations

from grpo_gym.errors import InvalidValueError
from grpo_gym.problem import Problem
from grpo_gym.registration import load_tasks
from grpo_gym.reward import Reward
from grpo_gym.verdict import Verdict
from grpo_rewards.logic import PuzzleReward


class LogicReward(Reward):
    """Judges every problem by its own task's rules.

    Args:
        partial: The most that an answer which breaks rules may earn, in [0, 1); paid for what is right beyond luck.
        steps: The part of a right answer's value that depends on its deductions, in [0, 1); 0.0 only reports them.
            Puzzles that have no language for deductions are judged by the answer alone. None leaves them unread.
    """

    def __init__(self, partial: float = 0.0, steps: float | None = None) -> None:
        for name, value in (("partial", partial), ("steps", steps)):
            if value is not None and not 0 <= value < 1:
                raise InvalidValueError(f"{name} is {value}, must be in [0, 1)")
        self.partial = partial
        self.steps = steps
        self._known: dict[str, PuzzleReward] = {}

    def score(self, response: str, problem: Problem) -> Verdict:
        """Judge one response.

        Raises:
            UnknownNameError: The problem's task does not exist.
            InvalidValueError: It has no rules of a puzzle that could be credited.
        """
        if problem.task not in self._known:
            self._known[problem.task] = self._crediting(problem.task)
        return self._known[problem.task].score(response, problem)

    def _crediting(self, name: str) -> PuzzleReward:
        reward = load_tasks(f"grpo/{name}")[0].reward
        if not isinstance(reward, PuzzleReward):
            raise InvalidValueError(f"{name} is judged by {type(reward).__name__}, not by rules of a puzzle")
        return reward.crediting(partial=self.partial, steps=self.steps if reward.soundness is not None else None)
