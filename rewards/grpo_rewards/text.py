"""What several rewards need to look at a response as text. One pass each: a policy will find what takes longer."""

from __future__ import annotations

import re
import unicodedata

_NOTHING = re.compile(
    r"\\(?:text|mathrm|mathbf|mathit|textbf|textit|quad|qquad|displaystyle)(?![A-Za-z])|\\[,;:!\s]|[\s{}$~*_.]"
)
"""LaTeX, Markdown and blanks that print nothing by themselves."""

_THOUGHT = re.compile(r"<(?P<closing>/)?(?P<name>think|thinking|thought)>")


def outside_thoughts(response: str) -> str:
    """Return the text outside `<think>...</think>`.

    Before a closing tag without an opening one all is thought; behind an opening one without a closing one, too.
    """
    kept: list[str] = []
    position, opened = 0, False
    for tag in _THOUGHT.finditer(response):
        if tag["closing"]:
            if not opened:
                kept.clear()
            position, opened = tag.end(), False
        elif not opened:
            kept.append(response[position : tag.start()])
            opened = True
    if not opened:
        kept.append(response[position:])
    return " ".join(kept)


def letters_and_digits(text: str) -> int:
    """Count the characters that say something: blanks, punctuation and invisible characters do not."""
    return sum(map(str.isalnum, text))


def is_blank(text: str) -> bool:
    """Whether nothing would be seen of a text: blanks, empty LaTeX wrappers, invisible characters."""
    return all(unicodedata.category(character).startswith(("C", "Z", "M")) for character in set(_NOTHING.sub("", text)))
