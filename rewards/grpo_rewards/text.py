"""What several rewards need to look at a response as text. One pass each: a policy will find what takes longer."""

from __future__ import annotations

import re
import unicodedata

_NOTHING = re.compile(
    r"\\(?:text|mathrm|mathbf|mathit|textbf|textit|quad|qquad|displaystyle)(?![A-Za-z])|\\[,;:!\s]|[\s{}$~*_.]"
)
"""LaTeX, Markdown and blanks that print nothing by themselves."""


def outside_thoughts(response: str) -> str:
    """Return the text outside `<think>...</think>`; an unclosed thought hides the rest, a stray end what is before."""
    kept, position = [], 0
    while (start := response.find("<think>", position)) >= 0:
        end = response.find("</think>", start)
        if end < 0:
            break
        kept.append(response[position:start])
        position = end + len("</think>")
    kept.append(response[position:])
    return " ".join(kept).rsplit("</think>", 1)[-1].split("<think>", 1)[0]


def letters_and_digits(text: str) -> int:
    """Count the characters that say something: blanks, punctuation and invisible characters do not."""
    return sum(map(str.isalnum, text))


def is_blank(text: str) -> bool:
    """Whether nothing would be seen of a text: blanks, empty LaTeX wrappers, invisible characters."""
    return all(unicodedata.category(character).startswith(("C", "Z", "M")) for character in set(_NOTHING.sub("", text)))
