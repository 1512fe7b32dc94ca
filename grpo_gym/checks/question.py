"""A line of the report before it is answered: its key, its advice, and the function that measures.

One fault should fail one line, the one that names its cause. So a question judges only what earlier ones let pass: it
names those whose failure would show in it too (`after`), or leaves out what they have found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from grpo_gym.checks.exam import Exam
from grpo_gym.checks.laboratory import SubjectError
from grpo_gym.checks.report import Line, Status


@dataclass(frozen=True)
class Finding:
    """What was measured.

    Attributes:
        status: pass, fail, or skip where the question does not arise.
        text: The figure in words, or why the line is skipped.
    """

    status: Status
    text: str


@dataclass(frozen=True)
class Question:
    """One line of every report.

    Attributes:
        key: Its name, under which a task declares a floor.
        advice: What to do when it fails.
        measure: Finds the answer.
        after: Questions whose failure would show here too: after one of them this question is not asked.
    """

    key: str
    advice: str
    measure: Callable[[Exam], Finding]
    after: tuple[str, ...] = ()

    def ask(self, exam: Exam) -> Line:
        """Return the line, and remember a failure for the questions that follow."""
        reason = exam.facts.not_applicable.get(self.key)
        earlier = [key for key in self.after if key in exam.failed]
        if reason is not None:
            finding = skipped(reason)
        elif earlier:
            finding = skipped(f"cannot be told apart from what `{earlier[0]}` found; asked again once that is mended")
        else:
            finding = self._measured(exam)
        if finding.status is Status.FAIL:
            exam.failed.add(self.key)
        return Line(self.key, finding.status, finding.text, self.advice if finding.status is Status.FAIL else "")

    def _measured(self, exam: Exam) -> Finding:
        try:
            return self.measure(exam)
        except SubjectError as error:  # it could be opened once, and not in the next process
            return failed(str(error))


def question(key: str, advice: str, after: tuple[str, ...] = ()) -> Callable[[Callable[[Exam], Finding]], Question]:
    """Turn a measuring function into a question."""
    return lambda measure: Question(key, advice, measure, after)


def passed(text: str) -> Finding:
    """Return that all is well."""
    return Finding(Status.PASS, text)


def failed(text: str) -> Finding:
    """Return that it is not."""
    return Finding(Status.FAIL, text)


def skipped(text: str) -> Finding:
    """Return that the question does not arise."""
    return Finding(Status.SKIP, text)


def judged(problems: Sequence[str], well: str) -> Finding:
    """Return a failure that counts the problems and names the first ones, or that all is well."""
    if not problems:
        return passed(well)
    named = list(dict.fromkeys(problems))
    more = f" and {len(named) - 3} more" if len(named) > 3 else ""
    return failed(f"{len(problems)} x: " + "; ".join(named[:3]) + more)


def percent(share: float) -> str:
    """Return a share in whole per cent, with a digit below 10 %."""
    return f"{100 * share:.0f} %" if share >= 0.0995 or share == 0 else f"{100 * share:.1f} %"


def shown(text: str, limit: int = 40) -> str:
    """Return a text as a short literal."""
    return repr(text if len(text) <= limit else text[: limit - 1] + "\u2026")


NO_RIGHT_ANSWER = "no right answer is known that earns the maximum"
