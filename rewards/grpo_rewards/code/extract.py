r"""Find the one program in a response. It is only cut out here: never run, and never parsed.

The rules, in this order. Text inside `<think>` does not count.

* A fenced block opens with a line of three or more ` or ~ and closes with a line of at least as many. It may be
  indented or stand behind a list's bullet; indentation that all lines share is taken off. Blocks tagged `python`, `py`,
  `python3` or not at all can be programs, blocks of other languages cannot. Those tagged as Python go before those
  without a tag, which may be output; an empty block or an interactive session (`>>>`) is no program.
* Of several blocks the last one that defines the entry point is the program, where the entry point is known and defined
  by any; else the last one. Blocks are never joined, and exactly one is judged: several programs are drafts, and offer
  no second chance.
* A response that ends inside a fenced block was cut off and holds no program, whatever came before.
* A response without any fence is the program itself if a line of it begins a definition, an import, an assignment or a
  call of print. Whether it is Python is found out where it runs.

Why it is not parsed: hostile text of 900 kB makes the parser take 0.8 GB and 5 s, and nested operators overflow the
stack of a thread of 512 kB, which ends the process. Both happen in the judge's child instead, where they end nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grpo_gym.verdict import Reason
from grpo_rewards.text import outside_thoughts

MAX_CODE = 200_000
"""Characters of a program; a longer one is not judged."""

_FENCE = re.compile(r"([ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?)(`{3,}(?=[^`]*$)|~{3,})(.*)")
_TAG = re.compile(r"[ \t{.]*([^\s{},:=]*)")
_PYTHON = ("python", "python3", "py")
_UNFENCED = re.compile(
    r"^(?:(?:async )?def \w{1,99} ?\(|class \w{1,99} ?[(:]|import \w|from [\w.]{1,99} import\b|print ?\(|"
    r"[A-Za-z_]\w{0,99} ?=(?!=))",
    re.MULTILINE,
)

_DEEPER = 3
"""Blanks by which a closing fence may be indented more than the opening one; more are part of the program."""


@dataclass(frozen=True)
class Extraction:
    """The program of a response, or why there is none.

    Attributes:
        code: The program's text.
        why: What is missing, in words; "" when there is a program.
        reason: The reason of a verdict on the response without a program.
    """

    code: str | None
    why: str = ""
    reason: Reason = Reason.NO_ANSWER


@dataclass(frozen=True)
class Block:
    """One fenced block.

    Attributes:
        tag: Its language, in lower case.
        code: Its text.
        closed: Whether its closing fence was found.
    """

    tag: str
    code: str
    closed: bool


def solution_code(response: str, entry_point: str | None = None) -> Extraction:
    """Return the program of a response, by the rules above.

    Args:
        response: The whole response.
        entry_point: The name that the program must define, where it is known; it decides between several blocks.
    """
    visible = outside_thoughts(response)
    blocks = list(_blocks(visible))
    if blocks and not blocks[-1].closed:
        return Extraction(None, "the last fenced block is not closed: the response was cut off")
    if not blocks:
        if not _UNFENCED.search(visible):
            return Extraction(None, "no fenced block of Python, and the response is no program itself")
        return _bounded(visible)
    programs = [block for block in blocks if not block.code.lstrip().startswith(">>>") and block.code.strip()]
    tagged = [block.code for block in programs if block.tag in _PYTHON]
    chosen = tagged or [block.code for block in programs if not block.tag]
    if not chosen:
        return Extraction(None, "no fenced block holds a Python program")
    return _bounded(_chosen(chosen, entry_point))


def _chosen(programs: Sequence[str], entry_point: str | None) -> str:
    """Return the last program that defines the entry point, else the last."""
    if entry_point is None or len(programs) == 1:
        return programs[-1]
    name = re.escape(entry_point)
    defines = re.compile(rf"^(?:(?:async[ \t]{{1,9}})?def|class)[ \t]+{name}\b|^{name}[ \t]*(?::[^=\n]+)?=(?!=)", re.M)
    return next((code for code in reversed(programs) if defines.search(code)), programs[-1])


def _bounded(code: str) -> Extraction:
    if len(code) > MAX_CODE:
        return Extraction(None, f"the program has more than {MAX_CODE} characters", Reason.TOO_BIG)
    return Extraction(code)


def _blocks(text: str) -> Iterator[Block]:
    """Yield the fenced blocks in order; only the last one can be unclosed."""
    opening: re.Match[str] | None = None
    lines: list[str] = []
    for line in text.split("\n"):
        fence = _FENCE.fullmatch(line.rstrip()) if "```" in line or "~~~" in line else None
        if opening is None:
            if fence is not None:
                opening, lines = fence, []
        elif fence is not None and _closes(fence, opening):
            yield _block(opening, lines, closed=True)
            opening = None
        else:
            lines.append(line)
    if opening is not None:
        yield _block(opening, lines, closed=False)


def _closes(fence: re.Match[str], opening: re.Match[str]) -> bool:
    """Whether a line closes a block: same mark, as long or longer, nothing behind it, not deep inside the program."""
    same = fence[2][0] == opening[2][0] and len(fence[2]) >= len(opening[2])
    return same and not fence[3].strip() and not fence[1].strip() and len(fence[1]) <= len(opening[1]) + _DEEPER


def _block(opening: re.Match[str], lines: Sequence[str], closed: bool) -> Block:
    tag = _TAG.match(opening[3])
    margin = _margin(lines)
    code = "\n".join(line[margin:] if line.strip() else line for line in lines)
    return Block(tag[1].lower() if tag else "", code + "\n", closed)


def _margin(lines: Sequence[str]) -> int:
    """Return how many blanks at the beginning all lines share; lines of blanks only do not count."""
    indents = {line[: len(line) - len(line.lstrip(" \t"))] for line in lines if line.strip()}
    if not indents:
        return 0
    first, last = min(indents), max(indents)  # what these two share, those between them share, too
    pairs = enumerate(zip(first, last, strict=False))
    return next((place for place, (one, other) in pairs if one != other), len(first))
