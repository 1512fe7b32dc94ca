r"""Find the one final answer in a response: the last `\boxed{...}`, else the last final-answer line.

There is no fallback to "any last number": a response that names no answer has none, else a policy learns to mention
many numbers. Two answers offered as alternatives are a hedge, not an answer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from grpo_rewards.math.rational import read_rational

_BOX = re.compile(r"\\(?:boxed|fbox)\s*\{")
_LINE = re.compile(
    r"^[\s*#>_]*(?:(?:so|thus|hence|therefore)[, ]+)?(?:the\s+)?(?:final\s+)?answer"
    r"(?:\s+is|\s*[:=])[\s*:]*(?P<line>\S.*)$"
    r"|^\s*\#{4}\s*(?P<hash>\S.*)$",
    re.IGNORECASE | re.MULTILINE,
)
_BETWEEN_ALTERNATIVES = re.compile(
    r"[\s$.,;:()\\\[\]]*(?:(?:or|and|maybe|perhaps|either)[\s$.,;:()\\\[\]]*)*", re.IGNORECASE
)
_THINK = re.compile(r"<think>.*?</think>", re.DOTALL)


@dataclass(frozen=True)
class Extraction:
    """The final answer's text, or why there is none.

    Attributes:
        text: The answer as written, None when there is none.
        hedged: Whether several different answers were offered side by side.
    """

    text: str | None
    hedged: bool = False


def final_answer(response: str) -> Extraction:
    """Return the final answer of a response. Text inside `<think>` does not count; an unclosed one hides the rest."""
    visible = _THINK.sub(" ", response)
    visible = visible.rsplit("</think>", 1)[-1].split("<think>", 1)[0]
    boxes = _boxes(visible)
    if boxes:
        return _last_box(visible, boxes)
    lines = list(_LINE.finditer(visible))
    if not lines:
        return Extraction(None)
    return Extraction((lines[-1]["line"] or lines[-1]["hash"]).strip())


def _boxes(text: str) -> list[tuple[int, int, str]]:
    """Return (start, end, content) of every box with balanced braces, in one pass over the text."""
    found = []
    position = 0
    while (match := _BOX.search(text, position)) is not None:
        end = _closing_brace(text, match.end())
        if end is None:
            break
        found.append((match.start(), end + 1, text[match.end() : end].strip()))
        position = end + 1
    return found


def _closing_brace(text: str, start: int) -> int | None:
    depth = 1
    for brace in re.finditer(r"\\[{}\\]|[{}]", text[start:]):
        if brace.group() == "{":
            depth += 1
        elif brace.group() == "}":
            depth -= 1
            if depth == 0:
                return start + brace.start()
    return None


def _last_box(text: str, boxes: list[tuple[int, int, str]]) -> Extraction:
    last = boxes[-1]
    for before, after in zip(reversed(boxes[:-1]), reversed(boxes[1:]), strict=True):
        if not _BETWEEN_ALTERNATIVES.fullmatch(text[before[1] : after[0]]):
            break
        if not _same(before[2], last[2]):
            return Extraction(last[2], hedged=True)
    return Extraction(last[2] or None)


def _same(left: str, right: str) -> bool:
    if left == right:
        return True
    a, b = read_rational(left), read_rational(right)
    return a is not None and a == b
