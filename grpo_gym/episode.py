"""One episode, without Gymnasium: a problem is shown, actions come in, and at some point there is a verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from grpo_gym.scoring import MAX_ANSWER, attempt, is_finite, is_sound, too_big
from grpo_gym.stream import Drawn
from grpo_gym.task import Turn
from grpo_gym.verdict import Reason, Verdict


@dataclass(frozen=True)
class Outcome:
    """What one action led to.

    Attributes:
        message: The environment's new message, "" when it has nothing to say.
        reward: The reward of this step.
        terminated: The episode is over by its own rules.
        truncated: The episode is over because the turns are used up.
        verdict: The final judgement; None while the episode goes on.
    """

    message: str
    reward: float
    terminated: bool
    truncated: bool
    verdict: Verdict | None


class Episode:
    """The state of one episode of a problem: a single-turn one takes one verdict, a dialogue runs turn by turn."""

    def __init__(self, drawn: Drawn, instructions: bool = True) -> None:
        self.task = drawn.task
        self.problem = drawn.problem
        self.turns = 0
        self.done = False
        self.dialogue = self.task.dialogue(self.problem) if self.task.dialogue is not None else None
        self.first_message = opening(drawn, instructions)
        self.transcript: list[tuple[str, str]] = [("environment", self.first_message)]

    def finish(self, action: str, verdict: Verdict) -> Outcome:
        """End a single-turn episode with the verdict on its answer."""
        self.transcript.append(("policy", action))
        self.done = True
        return Outcome("", float(verdict), True, False, verdict)

    def converse(self, action: str) -> Outcome:
        """Take one turn of a dialogue. A dialogue that raises on an action scores 0 for it; nothing escapes."""
        assert self.dialogue is not None
        dialogue = self.dialogue
        self.transcript.append(("policy", action))
        self.turns += 1
        turn = too_big() if len(action) > MAX_ANSWER else attempt(lambda: dialogue.reply(action), _is_sound_turn)
        if isinstance(turn, Verdict):
            turn = Turn(verdict=turn)
        verdict = turn.verdict
        truncated = verdict is None and self.turns >= self.task.max_turns
        if truncated:
            verdict = attempt(dialogue.give_up, is_sound)
        self.done = verdict is not None
        if turn.message:
            self.transcript.append(("environment", turn.message))
        reward = turn.reward + (float(verdict) if verdict is not None else 0.0)
        return Outcome(turn.message, reward, self.done and not truncated, truncated, verdict)

    def hints(self) -> dict[str, str]:
        """Return what those who ask are shown before a turn of a dialogue.

        `solution` is the oracle's next action after all that was said, `guess` the weak solver's. One that raises is
        left out: a player may have said what it cannot follow, and a step never raises because of what was said.
        """
        solution = attempt(lambda: self.task.right_answer(self.problem, tuple(self.transcript)), _is_text)
        guess = attempt(lambda: self.task.hasty_answer(self.problem, self.turns), _is_text)
        return {key: str(text) for key, text in (("solution", solution), ("guess", guess)) if isinstance(text, str)}


def _is_sound_turn(turn: object) -> bool:
    if not isinstance(turn, Turn) or not isinstance(turn.message, str) or not is_finite(turn.reward):
        return False
    return turn.verdict is None or is_sound(turn.verdict)


def _is_text(action: object) -> bool:
    return isinstance(action, str)


def opening(drawn: Drawn, instructions: bool) -> str:
    """Return the first observation: the prompt and, unless switched off, the line that says how to answer."""
    line = drawn.task.answer_format
    return f"{drawn.problem.prompt}\n{line}" if instructions and line else drawn.problem.prompt


def reset_info(episode: Episode, expose_answer: bool) -> dict[str, Any]:
    """Return a fresh info for a reset: labels, and the answer only when it is asked for."""
    task, problem = episode.task, episode.problem
    info: dict[str, Any] = {
        "task": problem.task,
        "tier": problem.tier,
        "split": str(problem.split),
        "problem_id": problem.problem_id,
    }
    if expose_answer:
        info["answer"] = task.answer(problem)
        if episode.dialogue is not None:
            return info | episode.hints()
        info["solution"] = problem.solution if problem.solution is not None else info["answer"]
        if (guess := task.hasty_answer(problem)) is not None:
            info["guess"] = guess
    return info


def step_info(episode: Episode, verdict: Verdict | None, expose_answer: bool = False) -> dict[str, Any]:
    """Return a fresh info for a step: reason, feedback, float components, abstention. No times, nothing shared.

    Where a dialogue goes on and answers are asked for, the hints for its next turn stand beside them.
    """
    hints = episode.hints() if expose_answer and not episode.done else {}
    if verdict is None:
        verdict = Verdict(0.0, Reason.NO_ANSWER)
    components = {name: float(value) for name, value in verdict.components.items()}
    return {
        "task": episode.problem.task,
        "problem_id": episode.problem.problem_id,
        "reason": str(verdict.reason),
        "feedback": str(verdict.feedback),
        "rewards": components or {"score": float(verdict)},
        "abstain": float(verdict.abstains),
        **hints,
    }
