r"""Finding out by trial how a function of others wants its reference and its answer, and what it pays at most.

The right answer to a few problems is written in the usual ways (`\boxed{12}`, "The answer is 12.", "#### 12",
`<answer>12</answer>`, bare, ...), and the first way that is paid most is the one that is asked for from then on.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from grpo_gym.calling import Calling
from grpo_gym.foreign import ForeignReward, Spell, same
from grpo_gym.problem import Problem
from grpo_gym.scoring import FAULTS
from grpo_gym.verdict import Verdict

FORMATS: tuple[tuple[str, str], ...] = (
    (r"\boxed{@}", r"Put the answer in \boxed{}."),
    ("The answer is @.", "End with a line: The answer is ..."),
    ("The answer is @", "End with a line: The answer is ..."),
    ("#### @", "Write the answer behind ####."),
    ("<answer>@</answer>", "Put the answer between <answer> and </answer>."),
    ("@", "Write the answer and nothing else."),
    ("<think>I add up.</think>\n<answer>@</answer>", "Think in <think></think>, answer in <answer></answer>."),
    ("<think>\nI add up.\n</think>\n<answer>\n@\n</answer>", "Think in <think></think>, answer in <answer></answer>."),
    ("<think>I add up.</think>\n\\boxed{@}", r"Think in <think></think>, answer in \boxed{}."),
    (
        "<reasoning>\nI add up.\n</reasoning>\n<answer>\n@\n</answer>\n",
        "Reason in <reasoning></reasoning>, answer in <answer></answer>.",
    ),
    (
        "Assistant: <think>I add up.</think>\n<answer>@</answer>",
        "Think in <think></think>, answer in <answer></answer>.",
    ),
    ("Answer: @", "End with a line: Answer: ..."),
    ("Final Answer: @", "End with a line: Final Answer: ..."),
    ("$@$", "Write the answer between dollars."),
    ("```\n@\n```", "Put the answer in a code fence."),
)
"""Ways to write an answer, "@" standing for it, and how each is asked for."""

SPELLINGS: tuple[Callable[[Any], Any], ...] = (
    str,
    int,
    lambda text: f"\\boxed{{{text}}}",
    lambda text: f"${text}$",
    lambda text: f"#### {text}",
    lambda text: [text],
)
"""Ways in which a reward may expect the reference of a sum; a file's references are handed over as they are."""

PATIENCE = 20.0
"""Seconds after which no further way is tried."""


class Scorer(Protocol):
    """What can be tried: a reward or an environment."""

    def score(self, response: str, problem: Problem) -> Verdict:
        """Judge an answer; may raise."""


NOTHING = -math.inf
"""What an answer earns on which the function raises, abstains, or returns no finite number."""


@dataclass(frozen=True)
class Manner:
    """How the function wants its reference and the answer.

    Attributes:
        spell: Turns our reference into what it is handed.
        written: The format of an answer, "@" standing for it; "" where none is known.
        asked: How the format is asked for.
        messages: Whether completions are messages.
    """

    spell: Spell
    written: str
    asked: str
    messages: bool = False

    def answer(self, reference: object) -> str | None:
        """Write a reference as a final answer; None when that cannot be done."""
        writable = self.written and isinstance(reference, (str, int, float))
        return self.written.replace("@", str(reference)) if writable else None


@dataclass
class Trial:
    """What was found by trying.

    Attributes:
        manner: The manner that is paid best so far.
        most: What right answers in it earn at least.
        least: The least that any text earned.
        complaint: The first error that the function raised.
        told_apart: Whether a right answer was paid more than a wrong one.
        deadline: When no further way is tried.
    """

    manner: Manner = Manner(same, *FORMATS[0])
    most: float = NOTHING
    least: float = 0.0
    complaint: str = ""
    told_apart: bool = False
    deadline: float = field(default_factory=lambda: time.monotonic() + PATIENCE)

    def ask(self, scorer: Scorer, text: str, problem: Problem) -> float:
        """Return what a text earns."""
        try:
            value = scorer.score(text, problem).value
        except FAULTS as error:
            self.complaint = self.complaint or f"{type(error).__name__}: {error}"[:160]
            return NOTHING
        if value is None or not math.isfinite(value):
            return NOTHING
        self.least = min(self.least, value)
        return value

    def try_formats(self, scorer: Scorer, problems: Sequence[Problem], spell: Spell, messages: bool = False) -> None:
        """Try all ways to write the answer, and the worked solutions where the problems have some."""
        for written, asked in FORMATS:
            if time.monotonic() > self.deadline:
                return
            manner = Manner(spell, written, asked, messages)
            wrong = self.ask(scorer, written.replace("@", _wrong(problems[0])), problems[0])
            paid = self._paid(scorer, [(manner.answer(p.reference), p) for p in problems])
            self._keep(paid, manner)
            self.told_apart |= paid > max(0.0, wrong)
        solved = self._paid(scorer, [(p.solution, p) for p in problems])
        self._keep(solved, Manner(spell, "", "", messages))

    def _paid(self, scorer: Scorer, answers: Sequence[tuple[str | None, Problem]]) -> float:
        """Return the least that answers earn; stop at the first that earns no more than another manner does."""
        least = math.inf
        for answer, problem in answers:
            least = min(least, NOTHING if answer is None else self.ask(scorer, answer, problem))
            if least <= self.most:
                break
        return least

    def _keep(self, paid: float, manner: Manner) -> None:
        """Remember a manner that is paid better than those before."""
        if paid > self.most:
            self.most, self.manner = paid, manner

    @property
    def range(self) -> tuple[float, float]:
        """The least and the most that the function pays, as far as is known."""
        return (self.least, self.most) if self.most > 0 else (self.least, 1.0)

    def note(self, example: Problem) -> str:
        """Say what was found, with an example."""
        if self.most <= 0:
            because = f" ({self.complaint})" if self.complaint else ""
            return f"none of {len(FORMATS)} usual ways to write a right answer earns more than 0{because}"
        answer = example.solution if not self.manner.written else self.manner.answer(example.reference)
        return f"{answer!r:.60} earns {self.most:g}, which is taken as the maximum"


def tried(calling: Calling, problems: Sequence[Problem], ours: bool) -> Trial:
    """Find the manner in which a function is paid best, and what it pays at most and at least.

    Args:
        calling: How it is called.
        problems: What it is tried on.
        ours: Whether the problems are sums, whose references can be spelled in other ways.
    """
    trial = Trial()
    for spell in SPELLINGS if ours else (same,):
        for messages in (calling.messages, not calling.messages) if calling.style == "trl" else (False,):
            reward = ForeignReward(dataclasses.replace(calling, messages=messages), spell)
            trial.try_formats(reward, problems, spell, messages)
        if trial.told_apart:
            break  # it understands the reference as it was spelled
    return trial


def _wrong(problem: Problem) -> str:
    return str(int(problem.reference) + 1) if str(problem.reference).isdecimal() else "something else"
