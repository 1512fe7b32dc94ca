"""Finds in a response what may be a deduction: claims with what they cite, suppositions, contradictions.

Only the frame is read here ("From 2 and 4: ...", "Suppose ...", "... contradiction, so ..."); whether what it frames is
a claim is for the puzzle to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from grpo_rewards.logic.reading import plain

LONGEST = 300
"""Characters of a sentence that may be a deduction; longer ones are prose."""

Kind = Literal["claim", "supposition", "contradiction"]


@dataclass(frozen=True)
class Sentence:
    """One sentence, or a part of one that stands alone.

    Attributes:
        kind: What it does.
        said: What is claimed or supposed, as text; empty for a contradiction.
        cited: The premises that it names, in order; none "by elimination", None where nothing is said of them.
        written: The sentence as it stands, for feedback.
        concludes: Whether it draws the conclusion of the contradiction before it: "contradiction, so ...".
    """

    kind: Kind
    said: str
    cited: tuple[str, ...] | None
    written: str
    concludes: bool = False


_KINDS = r"(?:clue|premise|statement|rule|fact|hint|constraint|condition)s?"
_ONE = rf"(?:{_KINDS}\s+)?#?\(?\d{{1,3}}\)?"
_MANY = rf"{_ONE}(?:\s*(?:,\s*and\b|,|and\b|&|\+|with\b)\s*{_ONE}){{0,30}}"
_BECAUSE = r"(?:from|by|with|using|given|because of|due to|according to|combining|since)"
_GIVES = (
    r"(?::|,|=>|->|\u21d2|\u2192|\u22a2|\\Rightarrow|\\implies|gives?\b|implies\b|imply\b|means?\b|"
    r"tells? us\b|yields?\b|shows?\b|(?=we\b|it follows\b))"
)
_ARROW = r"(?:=>|->|\u21d2|\u2192|\u22a2|\\Rightarrow|\\implies|gives?\b|implies\b|imply\b|means?\b|yields?\b)"
_BEFORE = re.compile(
    rf"(?:{_BECAUSE}\s+(?:the\s+)?({_MANY})\s*{_GIVES}|(?:the\s+)?({_MANY})\s*{_ARROW}(?:\s+that\b)?)"
    r"\s*(.+)",
    re.IGNORECASE,
)
_BEHIND = re.compile(
    rf"(.+?)(?:,|\s)\s*(?:\(\s*(?:{_BECAUSE}\s+|see\s+)?(?:the\s+)?({_MANY})\s*\)|\[({_MANY})\]|"
    rf"{_BECAUSE}\s+(?:the\s+)?({_MANY}))",
    re.IGNORECASE,
)
_ELIMINATION = re.compile(r"by (?:elimination|exclusion)\b[:,]?\s*(.+)", re.IGNORECASE)
_FILLER = re.compile(
    r"(?:(?:so|then|now|but|and|next|also|again|finally|hence|therefore|thus|consequently|that|"
    r"we (?:now )?(?:get|see|know|have|conclude|find|infer)|it follows|this means|which means)(?:[,:]\s*|\s+))+",
    re.IGNORECASE,
)
_SO = re.compile(
    r"\s*(?:,\s*(?:and\s+)?|\u2014\s*|\s)"
    r"(?:so|hence|therefore|thus|consequently|it follows|which means|this means)\b(?:\s+that\b)?,?\s*",
    re.IGNORECASE,
)
_SUPPOSE = re.compile(
    r"(?:(?:let us|let's|we|now|first|next|instead)\s+){0,3}(?:suppose|assume|case\s+\d{1,2}\s*[:.])"
    r"(?:\s+(?:now|first|instead|next|for contradiction|otherwise))?,?(?:\s+that\b)?[:,]?\s*(.+)",
    re.IGNORECASE,
)
_CONTRADICTION = re.compile(
    r"(?:.{0,60}\b)?contradict(?:s|ion|ions|ory|ing)?\b.{0,60}|"
    r"(?:(?:this|that|which|it) )?(?:is )?(?:clearly )?(?:impossible|absurd)|\u22a5",
    re.IGNORECASE,
)
_DENIED = re.compile(r"\b(?:no|not|without|avoid|any)\b|n't\b", re.IGNORECASE)
_WITH = re.compile(
    rf"contradict\w*\s*(?:{_BECAUSE}\s+|to\s+|in\s+|between\s+|of\s+)?(?:the\s+)?({_MANY})\b", re.IGNORECASE
)
_LABEL = re.compile(r"(?:[-*\u2022>#]+\s+)*(?:(?:step\s+)?\d{1,3}\s*[.:)]\s+)?(?:[-*\u2022]\s+)?", re.IGNORECASE)
_ENDS = re.compile(r"(?<=[.;!?])\s+|;")


def sentences(response: str) -> Iterator[Sentence]:
    """Yield what may be deductions, in the order in which they stand, thoughts included."""
    for line in response.splitlines():
        label = _LABEL.match(line.strip())
        rest = line.strip()[label.end() if label else 0 :]
        for written in _ENDS.split(rest):
            if 1 < len(written) <= LONGEST and not written.endswith("?"):
                yield from _parts(plain(written).rstrip(" .!,:;"))


def _parts(written: str) -> Iterator[Sentence]:
    """Cut a sentence at "so" and its like; each part is checked for itself."""
    concludes = False
    for part in _SO.split(written):
        found = _sentence(part, written, concludes)
        if found is not None:
            yield found
            concludes = found.kind == "contradiction"


def _sentence(part: str, written: str, concludes: bool) -> Sentence | None:
    text = _unfilled(part)
    supposed = _SUPPOSE.fullmatch(text)
    if supposed:
        return Sentence("supposition", supposed[1], None, written)
    cited: tuple[str, ...] | None = None
    alone, before = _ELIMINATION.fullmatch(text), _BEFORE.fullmatch(text)
    if alone:
        cited, text = (), _unfilled(alone[1])
    elif before:
        cited, text = _numbers(before[1] or before[2]), _unfilled(before[3])
    if _CONTRADICTION.fullmatch(text):
        if _DENIED.search(text):
            return None
        against = _WITH.search(text)
        more = _numbers(against[1]) if against else ()
        return Sentence("contradiction", "", (cited or ()) + more if more else cited, written)
    behind = None if before or alone else _BEHIND.fullmatch(text)
    if behind:
        cited, text = _numbers(behind[2] or behind[3] or behind[4]), behind[1]
    return Sentence("claim", text.strip(), cited, written, concludes) if text.strip() else None


def _unfilled(text: str) -> str:
    filler = _FILLER.match(text)
    return text[filler.end() :] if filler else text


def _numbers(cited: str) -> tuple[str, ...]:
    return tuple(str(int(number)) for number in re.findall(r"\d{1,3}", cited))
