r"""Find the one final answer in a response: the last `\boxed{...}`, else the last final-answer line.

There is no fallback to "any last number": a response that names no answer has none, else a policy learns to mention
many numbers. Two answers offered as alternatives are a hedge, not an answer. Everything here is one pass over the text:
a policy will find an answer that takes quadratic time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from grpo_rewards.math.rational import read_rational

_TOKEN = re.compile(r"(?P<box>\\{1,2}(?:boxed|fbox)\s*\{)|\\[\\{}]|(?P<open>\{)|(?P<close>\})")
"""A box is opened, an escaped brace or backslash, a brace. Escaped once more (as in JSON), a box is still a box."""

_LABEL = re.compile(
    r"[ \t*#>_]*(?:(?:so|thus|hence|therefore)[, ]+)?(?:the[ \t]+)?(?:final[ \t]+)?answer"
    r"(?:[ \t]+is\b|[ \t*]*[:=])[ \t*:]*",
    re.IGNORECASE,
)
_HASHES = re.compile(r"[ \t]*\#{4}(?!\#)[ \t]*")
"""The final-answer line of GSM8K."""

_BETWEEN_ALTERNATIVES = re.compile(
    r"[\s$.,;:()\\\[\]]*(?:(?:or|and|maybe|perhaps|either)[\s$.,;:()\\\[\]]*)*", re.IGNORECASE
)


@dataclass(frozen=True)
class Extraction:
    """The final answer's text, or why there is none.

    Attributes:
        text: The answer as written, None when there is none.
        hedged: Whether several different answers were offered side by side.
    """

    text: str | None
    hedged: bool = False


@dataclass(frozen=True)
class _Box:
    start: int
    inside: int
    end: int


def final_answer(response: str) -> Extraction:
    """Return the final answer of a response. Text inside `<think>` does not count; an unclosed one hides the rest.

    Raises:
        TooBigError: When two boxes side by side hold numerals too long to be compared.
    """
    visible = _without_thoughts(response)
    boxes = _boxes(visible)
    if not boxes:
        return Extraction(_last_line(visible))
    last = _content(visible, boxes[-1])
    if _is_hedged(visible, boxes, last):
        return Extraction(last, hedged=True)
    return Extraction(last or None)


def _without_thoughts(response: str) -> str:
    """Return the text outside `<think>...</think>`; before a stray closing tag all is thought."""
    kept, position = [], 0
    while (start := response.find("<think>", position)) >= 0:
        end = response.find("</think>", start)
        if end < 0:
            break
        kept.append(response[position:start])
        position = end + len("</think>")
    kept.append(response[position:])
    return " ".join(kept).rsplit("</think>", 1)[-1].split("<think>", 1)[0]


def _boxes(text: str) -> list[_Box]:
    """Return the boxes with balanced braces as they close. One that is never closed hides none inside it."""
    found: list[_Box] = []
    opened: list[tuple[int, int] | None] = []
    for token in _TOKEN.finditer(text):
        if token["box"] is not None:
            opened.append(token.span())
        elif token["open"] is not None:
            opened.append(None)
        elif token["close"] is not None and opened:
            span = opened.pop()
            if span is not None:
                found.append(_Box(*span, token.end()))
    return found


def _content(text: str, box: _Box) -> str:
    """Return what is in a box. Only boxes that are compared are copied: nested ones hold each other's text."""
    return text[box.inside : box.end - 1].strip()


def _is_hedged(text: str, boxes: list[_Box], last: str) -> bool:
    """Whether the last box is one of several different ones side by side."""
    for position in range(len(boxes) - 2, -1, -1):
        if not _BETWEEN_ALTERNATIVES.fullmatch(text, boxes[position].end, boxes[position + 1].start):
            return False
        if not _same(_content(text, boxes[position]), last):
            return True
    return False


def _last_line(text: str) -> str | None:
    """Return what the last final-answer line says; a label that stands alone is completed by the next line."""
    following = ""
    for line in reversed(text.splitlines()):
        label = _LABEL.match(line) or _HASHES.match(line)
        if label is not None:
            return line[label.end() :].strip() or following or None
        following = line.strip() or following
    return None


def _same(left: str, right: str) -> bool:
    if left == right:
        return True
    a, b = read_rational(left), read_rational(right)
    return a is not None and a == b
