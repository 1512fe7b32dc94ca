r"""Spellings of one answer that mean the same: a right answer keeps its reward in each of them.

A task whose answers have another meaning in one of these declares the ones that hold (`Task.forms`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Form:
    """One spelling.

    Attributes:
        spell: Writes an answer in it.
        fits: Whether the form means anything for an answer; an answer of several lines cannot be boxed, for instance.
    """

    spell: Callable[[str], str]
    fits: Callable[[str], bool] = lambda answer: True


def _one_line(answer: str) -> bool:
    return "\n" not in answer.strip()


def _boxable(answer: str) -> bool:
    return _bare(answer) and "boxed" not in answer


def _bare(answer: str) -> bool:
    return _one_line(answer) and not _LABEL.search(answer) and not _STRUCTURE.search(answer)


_STRUCTURE = re.compile(r"[{\"<`]")
"""Signs of JSON, markup or code, which nobody puts into a box or a sentence."""

_LABEL = re.compile(r"answer\b|####", re.IGNORECASE)
_LONG = re.compile(r"(?<![\d.,])\d{4,15}(?![\d.,]*\d)")
"""A whole number that thousands separators can be put into."""


def _separated(answer: str) -> str:
    return _LONG.sub(lambda match: f"{int(match[0]):,}", answer)


FORMS: dict[str, Form] = {
    "as it is": Form(lambda answer: answer),
    "blanks around": Form(lambda answer: f"  {answer} \n"),
    "line break before": Form(lambda answer: f"\n\n{answer}"),
    "line ends of Windows": Form(lambda answer: answer.replace("\n", "\r\n") + "\r\n"),
    "full stop": Form(lambda answer: f"{answer}.", _one_line),
    "boxed": Form(lambda answer: f"\\boxed{{{answer}}}", _boxable),
    "answer line": Form(lambda answer: f"The answer is {answer}.", _bare),
    "reasoning before": Form(lambda answer: f"Let me think about it step by step.\n\n{answer}"),
    "code fence": Form(lambda answer: f"```\n{answer}\n```", lambda answer: "```" not in answer),
    "bold": Form(lambda answer: f"**{answer}**", _bare),
    "thousands": Form(_separated, lambda answer: _separated(answer) != answer),
    "upper case": Form(str.upper, lambda answer: answer.isascii() and answer.upper() != answer and answer.isalpha()),
}
"""Name -> form. "upper case" is asked of plain words only, and only where the task declares it."""

BLANK_FORMS = ("blanks around", "line break before", "line ends of Windows")
"""What must hold whatever an answer is."""

DEFAULT_FORMS = tuple(name for name in FORMS if name not in ("as it is", "upper case", "bold"))
"""What must hold where a task declares nothing."""
