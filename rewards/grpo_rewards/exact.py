r"""A word or phrase as the answer, compared as text: what most tasks without numbers need.

Forgiving in form, strict in content. `the answer is Paris.`, `\boxed{Paris}`, `<answer>**paris**</answer>` and a bare
`Paris` as the whole response are the answer "Paris"; `Paris or Rome`, `Parisian` and a mention of Paris are not.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from grpo_gym.problem import Problem
from grpo_gym.reward import Probe, Reward
from grpo_gym.verdict import Reason, Verdict
from grpo_rewards.math.extract import Extraction, final_answer
from grpo_rewards.text import outside_thoughts

_ANSWER_TAG = re.compile(r"</?answer>")
_WRAPPERS = (
    ("`", "`"), ("$", "$"), ("{", "}"), ("\\(", "\\)"), ("\\[", "\\]"),
    ("\\text{", "}"), ("\\textbf{", "}"), ("\\textit{", "}"), ("\\mathrm{", "}"), ("\\mathbf{", "}"),
    ('"', '"'), ("'", "'"), ("\u201c", "\u201d"), ("\u2018", "\u2019"), ("\u201e", "\u201c"), ("\u00ab", "\u00bb"),
    ("\u300c", "\u300d"),
)  # fmt: skip
"""What may stand around an answer without being part of it: code, quotes, LaTeX."""

_ALTERNATIVES = re.compile(r"\s*(?:[,;/|\n]|\b(?:or|and|maybe|perhaps|either)\b)\s*", re.IGNORECASE)

_EMPHASIS = "*_"
"""Dropped from either end alone: "**Answer: Paris**" leaves two stars behind the answer."""

_STOPS = ".\u3002 "

_ROOM = 200
"""Characters by which an answer may be longer than four times the longest right one before it is not looked at."""


class ExactReward(Reward):
    """1 when the final answer is the reference, compared as text; else 0.

    The problem's reference is a text (or number), or a list of texts that are all accepted. The final answer is the
    last box, else the last final-answer line, inside `<answer>` where that tag is used once; else the whole response if
    it is a single line. Unicode form, blanks, quotes, emphasis, LaTeX text wrappers and a final full stop do not count.

    Args:
        ignore_case: Whether "paris" is "Paris".
    """

    def __init__(self, ignore_case: bool = True) -> None:
        self.ignore_case = ignore_case

    def score(self, response: str, problem: Problem) -> Verdict:
        """Judge one response. Abstains when the reference is no text."""
        accepted = {self._folded(text) for text in _texts(problem.reference)} - {""}
        if not accepted:
            return Verdict.abstain(f"the reference {problem.reference!r:.80} is neither a text nor a list of texts")
        found, labelled = _answer(response)
        if found.hedged:
            return Verdict(0.0, Reason.HEDGED, feedback="several different answers were offered")
        if found.text is None:
            return Verdict(0.0, Reason.NO_ANSWER, feedback=r"no \boxed{...}, no final-answer line, not a single line")
        said = " ".join(found.text.split())
        if len(said) > 4 * max(map(len, accepted)) + _ROOM:
            return Verdict(0.0, Reason.WRONG if labelled else Reason.NO_ANSWER, feedback="far longer than the answer")
        if self._folded(said) in accepted:
            return Verdict(1.0, Reason.CORRECT)
        pieces = {self._folded(piece) for piece in _ALTERNATIVES.split(said)}
        if pieces & accepted and len(pieces - {""}) > 1:
            return Verdict(0.0, Reason.HEDGED, feedback=f"several answers: {said[:80]}")
        return Verdict(0.0, Reason.WRONG, feedback=f"{said[:80]!r} is not the answer")

    def probes(self) -> Sequence[Probe]:
        """Answers that try to be paid without being right."""

        def right(problem: Problem) -> str:
            return next(iter(_texts(problem.reference)), "")

        return (
            Probe("two boxes", lambda p: f"\\boxed{{{right(p)}}} or \\boxed{{something else}}"),
            Probe("two answers in one", lambda p: f"Answer: {right(p)} or something else"),
            Probe("the question again", lambda p: p.prompt),
            Probe("a longer word", lambda p: f"Answer: {right(p)}terday"),
            Probe("the answer mentioned only", lambda p: f"It might be {right(p)}, but who knows."),
            Probe("the answer among others, bare", lambda p: f"{right(p)}, something else"),
            Probe("the answer inside think only", lambda p: f"<think>Answer: {right(p)}</think>"),
            Probe("an empty box at the end", lambda p: f"\\boxed{{{right(p)}}} \\boxed{{}}"),
        )

    def _folded(self, text: str) -> str:
        """Drop what does not matter. Called on short texts only: unwrapping is quadratic."""
        shown = "".join(c for c in unicodedata.normalize("NFKC", text) if unicodedata.category(c) != "Cf")
        folded = " ".join(shown.replace("\\ ", " ").split())
        while (inner := _unwrapped(folded.strip(_EMPHASIS).rstrip(_STOPS))) != folded:
            folded = inner
        return folded.casefold() if self.ignore_case else folded


def _texts(reference: object) -> list[str]:
    """Return the accepted texts, none when the reference is anything but texts and numbers."""
    listed = reference if isinstance(reference, (list, tuple)) else [reference]
    if not all(isinstance(item, (str, int, float)) for item in listed):
        return []
    return [str(item) for item in listed]


def _answer(response: str) -> tuple[Extraction, bool]:
    """Return the final answer, and whether it was marked as one."""
    visible = outside_thoughts(response)
    tags = list(_ANSWER_TAG.finditer(visible))
    tagged = [tag[0] for tag in tags] == ["<answer>", "</answer>"]
    if tagged:
        visible = visible[tags[0].end() : tags[1].start()]
    found = final_answer(visible)
    return found, found.marked or tagged


def _unwrapped(text: str) -> str:
    """Take one wrapper off, if there is one around the text."""
    for opening, closing in _WRAPPERS:
        if len(text) >= len(opening) + len(closing) and text.startswith(opening) and text.endswith(closing):
            return text[len(opening) : -len(closing)].strip()
    return text
