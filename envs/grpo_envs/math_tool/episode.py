r"""The conversation with the calculator: the policy writes `<calc>...</calc>`, the environment answers with the value.

    policy        <calc>12*(3+4)/5</calc>
    environment   84/5 = 16.8
    policy        \boxed{84/5}

What ends an episode is a final answer, judged by the wrapped task's own reward; a calculation is neither paid nor
punished. The rules for those who try:

* Calls are taken out of a turn before a final answer is looked for. So a box inside a call is no answer, and a call
  inside a box leaves something that is no number: both are judged, neither is computed for pay.
* A turn with a final answer ends the episode, whatever calls stand beside it. In a turn that also calls, only a box is
  a final answer: `Answer: <calc>3*4</calc>` is a call. A bare number never is: any turn may hold one.
* The environment repeats nothing that a policy wrote, so no text can come back with the environment's voice, and
  results that a policy makes up in its own turn are only its own words.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator
from functools import partial

from grpo_envs.datasets.rows import ANNOTATION
from grpo_envs.math_tool.calculator import answer, calculate
from grpo_envs.math_tool.exact import CalculatorError
from grpo_gym.problem import Problem
from grpo_gym.reward import Reward
from grpo_gym.task import Task, Transcript, Turn
from grpo_gym.verdict import Reason, Verdict
from grpo_rewards.math.boxes import boxes
from grpo_rewards.math.extract import final_answer
from grpo_rewards.text import outside_thoughts

MAX_TURNS = 8
MAX_LENGTH = 100_000
"""Characters of a turn; a longer one ends the episode as too big."""

MAX_CALLS = 8
"""Calculations of one turn that are answered."""

OPEN, CLOSE = "<calc>", "</calc>"
ANSWER_FORMAT = (
    rf"{OPEN}12*(3+4)/5{CLOSE} is computed for you and answered, in up to {MAX_TURNS - 1} turns. "
    r"Give the final answer in \boxed{}."
)
REMINDER = rf"Write a calculation as {OPEN}...{CLOSE}, or the final answer in \boxed{{}}."

_SAYS_SO = re.compile(r"answer|####", re.IGNORECASE)
"""In a conversation nothing less is final: bold words and bare numbers occur in the middle of it."""

_MARK = "<calc/>"
"""Stands where a call stood: nothing that a verifier could take for part of an answer."""

Ask = Callable[[Problem], "str | None"]
"""Writes a problem as one expression for the calculator, None where that is not possible."""


class Calculating:
    """One episode: answers calculations until there is a final answer.

    Args:
        problem: The problem.
        reward: Judges the final answer.
    """

    def __init__(self, problem: Problem, reward: Reward) -> None:
        self.problem = problem
        self.reward = reward

    def reply(self, action: str) -> Turn:
        """Judge a final answer, or answer the calculations; a turn with neither is used up all the same."""
        if len(action) > MAX_LENGTH:
            return Turn(verdict=Verdict(0.0, Reason.TOO_BIG, feedback=f"a turn of more than {MAX_LENGTH} characters"))
        calls, rest = split_calls(action)
        if is_final(rest, called=bool(calls)):
            return Turn(verdict=self.reward.score(rest, self.problem))
        if not calls:
            return Turn(REMINDER)
        lines = [answer(call) for call in calls[:MAX_CALLS]]
        if len(calls) > MAX_CALLS:
            lines.append(f"error: more than {MAX_CALLS} calculations in one turn")
        return Turn("\n".join(lines))

    def give_up(self) -> Verdict:
        """Out of turns."""
        return Verdict(0.0, Reason.NO_ANSWER, feedback=f"no final answer in {MAX_TURNS} turns")


def is_final(text: str, called: bool) -> bool:
    """Whether a turn, its calls taken out, offers a final answer: a box that is not empty, or a line that says so."""
    visible = outside_thoughts(text)
    if "box" in visible and any(visible[box.inside : box.end - 1].strip() for box in boxes(visible)):
        return True
    if called or not _SAYS_SO.search(visible):
        return False
    found = final_answer(text)
    return found.text is not None and found.marked


def split_calls(text: str) -> tuple[list[str], str]:
    """Return the expressions of the calls in a text, and the text without them. One pass, whatever the text."""
    calls: list[str] = []
    rest: list[str] = []
    position = 0
    while (start := text.find(OPEN, position)) >= 0:
        end = text.find(CLOSE, start)
        if end < 0:
            break
        calls.append(text[start + len(OPEN) : end])
        rest += [text[position:start], _MARK]
        position = end + len(CLOSE)
    rest.append(text[position:])
    return calls, "".join(rest)


def with_calculator(task: Task, ask: Ask | None = None) -> Task:
    """Return a single-turn maths task as one with a calculator: the same problems and splits, in several turns.

    Args:
        task: A task whose final answer is asked for in a box, e.g. "math.chain"; the result is "math_tool.chain".
        ask: Writes its problems as one expression, for worked episodes; else they follow the worked solution.
    """
    return dataclasses.replace(
        task,
        name=f"math_tool.{task.name.partition('.')[2]}",
        answer_format=ANSWER_FORMAT,
        dialogue=partial(Calculating, reward=task.reward),
        oracle=partial(worked_turn, ask=ask),
        max_turns=MAX_TURNS,
    )


def worked_turn(problem: Problem, transcript: Transcript, ask: Ask | None = None) -> str:
    """The oracle: the next turn of a worked episode, in which every calculation is left to the calculator."""
    said = sum(role == "policy" for role, _ in transcript)
    turns = worked_episode(problem, ask)
    return turns[min(said, len(turns) - 1)]


def worked_episode(problem: Problem, ask: Ask | None = None) -> list[str]:
    r"""Return the turns of a worked episode; the last ends in `\boxed{}`."""
    final = f"\\boxed{{{problem.reference}}}"
    expression = None if ask is None else ask(problem)
    if expression is not None and _value(expression) is not None:
        return [f"{OPEN}{expression}{CLOSE}", final]
    turns: list[str] = []
    text = ""
    for said, call, then in _steps(problem):
        text += said
        if call and len(turns) < MAX_TURNS - 1:
            turns.append(f"{text}{OPEN}{call}{CLOSE}")
            text = ""
        text += then
    return [*turns, text + final]


def _steps(problem: Problem) -> Iterator[tuple[str, str, str]]:
    """Yield the worked solution as (text before, expression or "", text after), without its final answer."""
    annotated = problem.meta.get("annotated")
    if isinstance(annotated, str):  # GSM8K: "48/2 = <<48/2=24>>24 clips"
        position, body = 0, annotated.rpartition("####")[0] or annotated
        for mark in ANNOTATION.finditer(body):
            yield body[position : mark.start()], mark[1] if _value(mark[1]) is not None else "", ""
            position = mark.end()
        yield body[position:].rstrip() + "\n", "", ""
        return
    for line in (problem.solution or "").splitlines():
        left, equals, right = line.partition(" = ")
        value = _value(left) if equals and not left.strip().isdigit() else None
        if not boxes(line):
            yield "", left if value is not None and value == _value(right.rpartition(" = ")[2]) else "", f"{line}\n"


def _value(expression: str) -> object:
    try:
        return calculate(expression)
    except CalculatorError:
        return None
