"""A puzzle's reward: read the answer, check the rules, say what is broken. Whoever fulfils the rules is right."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from grpo_gym.errors import InvalidValueError
from grpo_gym.problem import Problem
from grpo_gym.reward import Probe, Reward
from grpo_gym.verdict import Reason, Verdict
from grpo_rewards.logic.probes import boxed_probes
from grpo_rewards.logic.reading import UnreadError, answer_text
from grpo_rewards.soundness import Soundness

SHOWN = 3
"""Broken rules, and steps that do not follow, which the feedback names."""


@dataclass(frozen=True)
class Findings:
    """What the rules say about an answer.

    Attributes:
        broken: The rules that it breaks, in words; none for a right answer.
        share: The part of the answer that is right, for partial credit: cells, clues, clauses.
        luck: The share that a constant answer or an echo of the question reaches; credit is paid above it only.
        credit: Returns share and luck where working them out takes longer than the rules; asked only where partial
            credit is paid.
    """

    broken: Sequence[str] = ()
    share: float = 0.0
    luck: float = 1.0
    credit: Callable[[], tuple[float, float]] | None = None


Reader = Callable[[str, Problem], Any]
"""Final answer and problem -> what the rules are checked on. Raises UnreadError."""

Rules = Callable[[Any, Problem], Findings]
"""What was read and the problem -> what is broken."""

Steps = Callable[[str, Problem], Soundness]
"""Whole response and problem -> which of the stated deductions follow."""


class PuzzleReward(Reward):
    r"""1 when the final answer fulfils all rules of the puzzle, else 0.

    Args:
        read: Reads the final answer. What it refuses scores 0 with the reader's reason.
        check: Checks what was read against the rules in the problem. The stored solution must not decide.
        soundness: Checks the deductions in the response, for puzzles that have a language for them.
        partial: The most that an answer which breaks rules may earn, in [0, 1). It is paid for what is right beyond
            luck: `partial * (share - luck) / (1 - luck)`. 0, the default, pays nothing.
        steps: The part of a right answer's value that depends on its deductions, in [0, 1). None leaves them unread;
            0.0 only reports them as `components["steps"]`, the share that follows.
        hostile: Returns more answers of the puzzle's own that must not be paid, for `check_reward`; a function of a
            module, so that the reward can travel to other processes.
    """

    def __init__(
        self,
        read: Reader,
        check: Rules,
        *,
        soundness: Steps | None = None,
        partial: float = 0.0,
        steps: float | None = None,
        hostile: Callable[[], Sequence[Probe]] = tuple,
    ) -> None:
        for name, value in (("partial", partial), ("steps", steps)):
            if value is not None and not 0 <= value < 1:
                raise InvalidValueError(f"{name} is {value}, must be in [0, 1)")
        if steps is not None and soundness is None:
            raise InvalidValueError("steps: this puzzle has no language for deductions that could be checked")
        self.read = read
        self.check = check
        self.soundness = soundness
        self.partial = partial
        self.steps = steps
        self.hostile = hostile

    def crediting(self, *, partial: float = 0.0, steps: float | None = None) -> PuzzleReward:
        """Return the same rules with partial credit, or with deductions that count."""
        return PuzzleReward(
            self.read, self.check, soundness=self.soundness, partial=partial, steps=steps, hostile=self.hostile
        )

    def score(self, response: str, problem: Problem) -> Verdict:
        """Judge one response."""
        verdict = self._answer(response, problem)
        if self.steps is None or self.soundness is None:
            return verdict
        found = self.soundness(response, problem)
        value = float(verdict)
        components = {"answer": value} | ({"steps": found.share} if found.checked else {})
        said = [verdict.feedback, *(f"does not follow: {step[:80]}" for step in found.unsound[:SHOWN])]
        feedback = "; ".join(part for part in said if part)
        return Verdict(value * (1 - self.steps * (1 - found.share)), verdict.reason, components, feedback)

    def _answer(self, response: str, problem: Problem) -> Verdict:
        try:
            findings = self.check(self.read(answer_text(response), problem), problem)
        except UnreadError as error:
            return Verdict(0.0, error.reason, feedback=str(error))
        if not findings.broken:
            return Verdict(1.0, Reason.CORRECT)
        feedback = "; ".join(findings.broken[:SHOWN])
        value = self.partial * _beyond(findings) if self.partial else 0.0
        return Verdict(value, Reason.WRONG, feedback=feedback)

    def probes(self) -> Sequence[Probe]:
        """Answers that try to be paid without being right."""
        mentioned = Probe("the right answer mentioned only", lambda p: f"it may be so: {p.reference}, but nobody knows")
        return (*boxed_probes(), mentioned, *self.hostile())


def _beyond(findings: Findings) -> float:
    """Return the share beyond luck, 0 to 1."""
    share, luck = (findings.share, findings.luck) if findings.credit is None else findings.credit()
    return 0.0 if luck >= 1 else max(0.0, min(1.0, (share - luck) / (1 - luck)))
