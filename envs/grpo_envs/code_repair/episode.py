"""The conversation about a program: the policy sends one, hears what it fails on, and sends another.

    environment   statement, and perhaps a broken program
    policy        a program
    environment   The examples: wrong answer: 1 of 2 tests passed. Test 2 of 2: solve([3, 1]): got 4, expected 3
    policy        a better program

What ends an episode is a program that passes all tests; it earns 1, or `discount ** (turn - 1)`. When the turns are
used up, the last program counts, and it has failed: 0.

The rule about what is told: the examples of the statement are tried first, and a program that fails one of them is
told everything, input, output and expected output: all of that stands in the statement anyway. A program that passes
them and fails a hidden test is told how it failed (wrong answer, an exception, too slow) and how many passed before,
but no input and no output. So a program that answers the shown cases by heart learns nothing for the others.
"""

from __future__ import annotations

import dataclasses
from functools import partial

from grpo_envs.code.draft import ANSWER_FORMAT
from grpo_gym.errors import InvalidValueError
from grpo_gym.problem import Problem
from grpo_gym.reward import Reward
from grpo_gym.task import Task, Turn
from grpo_gym.verdict import Reason, Verdict
from grpo_rewards.code.reward import CodeReward

MAX_TURNS = 4

FORMS = ("blanks around", "line break before", "line ends of Windows")
"""Spellings of an answer that change nothing: a full stop behind a fence does, for the fence is then not closed."""

AGAIN = "Send the whole corrected program in one fenced code block."

_EXPLAINING = CodeReward(explain=True)
"""Judges the examples, and says all about them."""

_OVER = {Reason.SCORER_ERROR, Reason.TOO_BIG, Reason.ABSTAIN}
"""Verdicts that end an episode: there is nothing to be mended by another program."""


class Repairing:
    """One episode: answers programs until one is right.

    Args:
        problem: The problem; its reference may hold `public` tests beside the hidden ones.
        reward: Judges programs by the hidden tests.
        discount: Factor of the reward for every turn after the first.
    """

    def __init__(self, problem: Problem, reward: Reward, discount: float = 1.0) -> None:
        self.problem = problem
        self.reward = reward
        self.discount = discount
        self.turn = 0
        self.last = Verdict(0.0, Reason.NO_ANSWER, feedback="no program in any turn")
        self._known: dict[str, tuple[str, Verdict]] = {}

    def reply(self, action: str) -> Turn:
        """Judge a program; one that was sent before is answered as before."""
        self.turn += 1
        if action not in self._known:
            self._known[action] = self._judged(action)
        message, self.last = self._known[action]
        if self.last:
            paid = float(self.last) * self.discount ** (self.turn - 1)
            return Turn(verdict=dataclasses.replace(self.last, value=paid))
        if self.last.reason in _OVER:
            return Turn(verdict=self.last)
        return Turn(f"{message}\n{AGAIN}")

    def give_up(self) -> Verdict:
        """Out of turns: the last program counts."""
        return self.last

    def _judged(self, action: str) -> tuple[str, Verdict]:
        reference = self.problem.reference
        if isinstance(reference, dict) and reference.get("public") is not None:
            shown = {key: value for key, value in reference.items() if key != "public"} | {"tests": reference["public"]}
            verdict = _EXPLAINING.score(action, dataclasses.replace(self.problem, reference=shown))
            if not verdict:
                return f"The examples: {verdict.feedback or verdict.reason}", verdict
        verdict = self.reward.score(action, self.problem)
        return f"The hidden tests: {verdict.feedback or verdict.reason}", verdict


def with_repair(task: Task, max_turns: int = MAX_TURNS, discount: float = 1.0) -> Task:
    """Return a single-turn programming task as one in several turns: the same problems and splits.

    Args:
        task: A task judged by tests, e.g. "code.lists"; the result is "code_repair.lists".
        max_turns: Programs that may be sent.
        discount: Factor of the reward for every turn after the first; 1 pays a late right program like an early one.

    Raises:
        InvalidValueError: A discount outside [0, 1], or fewer than one turn.
    """
    if not 0 <= discount <= 1:
        raise InvalidValueError(f"discount is {discount!r}, must be in [0, 1]: it is paid again for every further turn")
    return dataclasses.replace(
        task,
        name=f"code_repair.{task.name.partition('.')[2]}",
        answer_format=f"{ANSWER_FORMAT} You are told what fails, and may send up to {max_turns} programs.",
        dialogue=partial(Repairing, reward=task.reward, discount=discount),
        forms=FORMS,
        max_turns=max_turns,
    )
