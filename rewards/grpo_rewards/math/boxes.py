r"""Where boxes stand: the brace counting under `extract.py`, one pass over the text."""

from __future__ import annotations

import re
from dataclasses import dataclass

_TOKEN = re.compile(r"(?P<box>\\{1,2}(?:boxed|fbox|framebox)\s*\{)|\\[\\{}]|(?P<open>\{)|(?P<close>\})")
"""A box is opened, an escaped brace or backslash, a brace. Escaped once more (as in JSON), a box is still a box."""


@dataclass(frozen=True)
class Box:
    """A box with balanced braces: where it starts, where its content starts, and where it ends."""

    start: int
    inside: int
    end: int


def boxes(text: str) -> list[Box]:
    """Return the boxes in the order in which they end. One that is never closed hides none inside it."""
    if "box" not in text:
        return []
    found: list[Box] = []
    opened: list[tuple[int, int] | None] = []
    for token in _TOKEN.finditer(text):
        kind = token.lastgroup
        if kind == "open":
            opened.append(None)
        elif kind == "box":
            opened.append(token.span())
        elif kind == "close" and opened:
            span = opened.pop()
            if span is not None:
                found.append(Box(*span, token.end()))
    return found
