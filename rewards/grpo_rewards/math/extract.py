r"""Find the one final answer in a response.

In this order: the last `\boxed{...}`; the last `<answer>`; the last line that says "the answer is ...", "Answer: ..."
or `#### ...`; a last line in bold; a response that is nothing but an answer. There is no fallback to "any last
number": a response that names no answer has none, else a policy learns to mention many numbers.

Two answers offered as alternatives are a hedge. Boxes joined by "and" or commas are the members of one list. After an
explicit correction ("wait, that is wrong") the later answer counts. Everything is a fixed number of passes over the
text: a policy will find an answer that takes quadratic time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from grpo_rewards.math.boxes import Box, boxes
from grpo_rewards.math.fold import trim
from grpo_rewards.text import outside_thoughts

_LABEL = re.compile(
    r"\b(?:(?:answer|option|choice)\b(?:[ \t]{1,4}(?:to|for|of)\b[^.\n:=]{0,60}?)?[ \t*_]{0,12}"
    r"(?:\b(?:is|are|equals|must be|should be|would be|will be|becomes)\b(?![ \t]{1,4}(?:not|wrong|incorrect)\b)"
    r"[ \t]{0,4}:?|:|=)|solutions? (?:is|are)\b)"
    r"[ \t*_:]{0,12}",
    re.IGNORECASE,
)
_HEADING = re.compile(
    r"^[ \t]{0,9}(?:#{1,3}(?!#)|\*\*)[ \t]{0,9}(?:the )?(?:final )?answer[ \t.:*]{0,9}$", re.IGNORECASE | re.MULTILINE
)
_HASHES = re.compile(r"^[ \t]{0,9}\#{4}(?!\#)[ \t]{0,9}", re.MULTILINE)
_BOLD = re.compile(r"\*\*([^*\n]{1,200})\*\*")
_FILLER = re.compile(
    r"(?:therefore|thus|then|simply|just|clearly|indeed|hence|now|equal to|given by|approximately|about|exactly|"
    r"option|choice)\b[ \t]*:?[ \t]*|[,:][ \t]+", re.IGNORECASE,
)  # fmt: skip
_SENTENCE_END = re.compile(r"(?<![ (])[.!?](?=[)\]*\"'$]{0,3}(?:\s|$))|\n")
_REMARK = re.compile(
    r"(?:[,;]|(?<!\s))\s++(?:because|since|as|so|which|where|when|for|i\.e\.|that is|obtained|by|after|with|from|"
    r"rather|not|in total)\b.*|(?<!\s)\s++\([A-Za-z ]++\)\s*+$",
    re.IGNORECASE | re.DOTALL,
)
"""What is said behind an answer. A run of blanks is tried once, from its beginning: there may be many blanks."""

_LABELS = ("answer", "option", "choice", "solution", "####")
"""One of them is part of every label; where none is, the patterns need not search."""

_SAME_LETTERS = str.maketrans("\u017f\u0131\u0130", "sii")
"""Letters that the patterns, which ignore case, take for these."""

_BLOCK = 4_000
_MATHS_SPAN = re.compile(r"\$\$?([^$]{1,4000})\$\$?|\\\((.{1,4000}?)\\\)|\\\[(.{1,4000}?)\\\]", re.DOTALL)

_CORRECTION = re.compile(
    r"\b(?:wrong|incorrect|mistake|error|correct(?:ing|ion|ed)|actually|instead|wait|oops|sorry|no,|rather|recheck|check|"
    r"revis\w+|hold on|scratch|should (?:be|have)|reconsider\w*|misread|not right)\b", re.IGNORECASE,
)  # fmt: skip
_ALTERNATIVE = re.compile(
    r"\b(?:or|either|maybe|perhaps|possibly|alternatively|otherwise|else|if|unless|could|might|depending|unsure|"
    r"not sure|versus|vs)\b", re.IGNORECASE,
)  # fmt: skip
_JOINT = re.compile(
    r"(?:[\s$.,;:&*/|]|\\[()\[\],;: ]|\\quad|\\qquad|\\text\{\s*and\s*\}|\band\b|\balso\b|\bboth\b|"
    r"(?<![A-Za-z])[A-Za-z](?:_\{?\w\}?)? ?=)*", re.IGNORECASE,
)  # fmt: skip
_OR_BEHIND = re.compile(
    r"(?:[\s$,;(]|\\\))*\b(?:or|and maybe|maybe|perhaps)\b(?: (?:maybe|perhaps|possibly|else))*\s*([^.;\n]{1,80})",
    re.IGNORECASE,
)
_NEAR = 160
"""Characters between two answers that still stand side by side."""


@dataclass(frozen=True)
class Extraction:
    """The final answer's text, or why there is none.

    Attributes:
        text: The answer as written, None when there is none.
        hedged: Whether several different answers were offered side by side.
        parts: All of them, in order, when they were.
        joined: Whether they were joined as members of one list ("and", commas) and not as alternatives.
        marked: Whether the answer was marked as one; else it is the whole response.
    """

    text: str | None
    hedged: bool = False
    parts: tuple[str, ...] = ()
    joined: bool = False
    marked: bool = True


def final_answer(response: str) -> Extraction:
    """Return the final answer of a response. Text inside `<think>` does not count; an unclosed one hides the rest."""
    visible = outside_thoughts(response)
    return answer_in(visible, boxes(visible))


def answer_in(visible: str, found: Sequence[Box]) -> Extraction:
    """Return the final answer of what is said outside thoughts, with its boxes."""
    if found:
        corrected = _correction_behind(visible, found[-1])
        return corrected or _from_boxes(visible, found)
    tagged = _tagged(visible)
    if tagged is not None:
        inner = _labelled(tagged) or trim(tagged)
        return Extraction(inner or None)
    labelled = _labelled(visible)
    if labelled is not None:
        return Extraction(labelled or None)
    bold = _last_bold(visible)
    if bold is not None:
        return Extraction(bold)
    bare = visible.strip()
    if bare and "\n" not in bare and len(bare) <= 400 and "boxed" not in bare:
        return Extraction(bare, marked=False)
    return Extraction(None)


def _from_boxes(text: str, found: Sequence[Box]) -> Extraction:
    """Return the last box, or it and those that stand beside it."""
    last = found[-1]
    content = _content(text, last)
    parts, joined, following = [content], True, last
    for box in reversed(found[:-1]):
        if box.end > following.start:
            continue  # inside one that is read already
        gap = text[box.end : following.start] if following.start - box.end <= _NEAR else None
        if gap is None:
            break
        is_joint = _JOINT.fullmatch(gap) is not None
        is_alternative = "\n\n" not in gap and _ALTERNATIVE.search(gap) and not _CORRECTION.search(gap)
        if not is_joint and not is_alternative:
            break
        joined = joined and is_joint and _is_list(gap)
        parts.append(_content(text, box))
        following = box
        if len(parts) > 64:
            break
    behind = _OR_BEHIND.match(text, last.end, last.end + _NEAR)
    if behind is not None and re.search(r"\d|\$|\\", behind[1]):
        parts.insert(0, trim(behind[1].split("$")[1] if behind[1].count("$") > 1 else behind[1]))
        joined = False
    if len(set(parts)) == 1:
        return Extraction(content or None)
    return Extraction(content, True, tuple(reversed(parts)), joined)


def _is_list(gap: str) -> bool:
    """Whether boxes with this between them are members of a list: a comma or "and", not nothing and not a new line."""
    return bool(re.search(r"[,;&]|\band\b|quad", gap))


def _content(text: str, box: Box) -> str:
    return text[box.inside : box.end - 1].strip()


def _correction_behind(text: str, last: Box) -> Extraction | None:
    """Return the answer of a line that corrects the last box: "wait, that is wrong. The answer is 7."."""
    tail = text[last.end :]
    correction = _CORRECTION.search(tail) if _label_end(tail) is not None else None
    if correction is None:
        return None
    labelled = _labelled(tail[correction.start() :])
    return Extraction(labelled) if labelled else None


def _tagged(text: str) -> str | None:
    """Return what the last `<answer>` holds; without its closing tag (a stop string) it runs to the end."""
    start = text.rfind("<answer>")
    if start < 0:
        return None
    start += len("<answer>")
    end = text.find("</answer>", start)
    return text[start : end if end >= 0 else len(text)].strip()


def _labelled(text: str) -> str | None:
    """Return what the last final-answer line says; one that stands alone is completed by the next line."""
    end = _label_end(text)
    if end is None:
        return None
    said = _statement(text[end : end + 20_000])
    return "" if _is_cut(said) else said


def _label_end(text: str) -> int | None:
    """Return where the last label ends, None without one.

    No label goes over the end of a line. So the lines are searched from the last one back, in growing blocks.
    """
    folded = text.translate(_SAME_LETTERS).lower() if not text.isascii() else text.lower()
    if not any(label in folded for label in _LABELS):
        return None
    end, size = len(text), _BLOCK
    while end > 0:
        start = text.rfind("\n", 0, max(0, end - size)) + 1
        ends = [match.end() for pattern in (_LABEL, _HASHES, _HEADING) for match in pattern.finditer(text, start, end)]
        if ends:
            return max(ends)
        end, size = start, 2 * size
    return None


def _statement(behind: str) -> str:
    """Cut what follows a label down to the answer: its sentence, without the reason given for it."""
    behind = behind.lstrip(" \t*_:")
    if not behind.strip():
        return ""
    behind = behind.lstrip()
    position, end = 0, len(behind.rstrip(" .*"))
    while (filler := _FILLER.match(behind, position)) is not None and filler.end() < end:
        position = filler.end()  # "then 5" says 5, but "then" alone may be the answer
    behind = behind[position:]
    span = _MATHS_SPAN.match(behind)
    start = span.end() if span is not None else 0
    stop = _SENTENCE_END.search(behind, start)
    sentence = behind[: stop.start()] if stop is not None else behind
    head, rest = sentence[:start], sentence[start:]
    return trim(head + _REMARK.sub("", rest))


def _is_cut(said: str) -> bool:
    """Whether an answer breaks off inside a box."""
    return re.search(r"\\(?:boxed|fbox)\s*\{", said) is not None and said.count("{") > said.count("}")


def _last_bold(text: str) -> str | None:
    """Return what the last line has in bold: all of it, or the end of its sentence."""
    line = text.rstrip()[-600:].rsplit("\n", 1)[-1].strip()
    spans = list(_BOLD.finditer(line))
    if not spans or line[spans[-1].end() :].strip(" .!") != "" or len(spans) > 1:
        return None
    return trim(spans[-1][1])
