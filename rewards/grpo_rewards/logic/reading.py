r"""Answers as text, read strictly: names with values, grids, orders, lists of numbers. Nothing is evaluated.

A reader takes the whole final answer or refuses it: text that is left over is a second answer, or none. Forgiving in
form: `Alice is a knight and Bob is a knave`, `Alice: knight, Bob: knave` and one line per name say the same; a grid may
be written with blanks, commas, bars, brackets, as LaTeX, or without anything between its cells.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from grpo_gym.verdict import Reason
from grpo_rewards.math.boxes import boxes
from grpo_rewards.math.extract import answer_in
from grpo_rewards.math.fold import trim
from grpo_rewards.text import outside_thoughts

LONGEST = 4_000
"""Characters of a final answer that is still read; the largest grid with all its dress has a tenth of them."""

_WRAPPER = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf|mathit|mathsf|operatorname)\s*\{([^{}]*)\}")
_ENVIRONMENT = re.compile(r"\\(?:begin|end)\s*\{[a-z*]{1,20}\}(?:\{[clr|]{0,40}\})?")
_SPACING = re.compile(r"(?<!\\)\\(?:[ ,;:!]|(?:quad|qquad|hline)(?![a-zA-Z]))")
_BLANKS = re.compile(r"[^\S\n]+")
_BLANK_LINES = re.compile(r" ?\n[ \n]*")
_DRESS = re.compile(r"[\\$*`]|[^\S ]|  ")
"""What short answers mostly have none of: to look once is cheaper than to take off each piece."""
_FENCE = re.compile(r"```[a-z]{0,10}[ \t]*\n(.*?)```", re.DOTALL)
_LABEL = re.compile(
    r"^[ \t>*#]{0,8}(?:the )?(?:final )?(?:answer|solution)(?: is)?[ \t*]{0,4}:?[ \t*]{0,4}$",
    re.IGNORECASE | re.MULTILINE,
)
_JOINT = re.compile(r"\s*(?:[;\n]|\\\\|,(?:\s*and\b)?|\band\b|&|\.(?=\s|$))\s*", re.IGNORECASE)
_BULLET = re.compile(r"^(?:[-*\u2022]|\d{1,2}[.)])\s+", re.MULTILINE)
_SAYS = re.compile(r"\s*(?:[:=]|->|=>|\u2192|\\to|\\rightarrow|-(?=\s)|\bis\b|\bmust be\b|\bhas\b)\s*", re.IGNORECASE)
_ARTICLE = re.compile(r"^(?:an?|the)\s+", re.IGNORECASE)
_NUMBER = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_ROWS = re.compile(r"\s*(?:\n|\\\\|/|;|\]\s*,?\s*\[|\|\s*\|)\s*")
_RULE = re.compile(r"[-+=|:\s]{3,}")
_BETWEEN_CELLS = re.compile(r"[\s,|&\[\](){}]+")


class UnreadError(Exception):
    """The answer cannot be read as what was asked for.

    Attributes:
        reason: What to tell the policy: no answer, several answers, or one that makes no sense.
    """

    def __init__(self, said: str, reason: Reason = Reason.UNPARSEABLE) -> None:
        super().__init__(said)
        self.reason = reason


def answer_text(response: str) -> str:
    r"""Return the final answer of a response as plain text, its LaTeX dress taken off.

    What counts as one: the last `\boxed{...}`, `<answer>...</answer>`, the text behind "the answer is", a last code
    fence or block of lines below "Answer:", else the whole response.

    Raises:
        UnreadError: No answer, several different ones side by side, or one that is too long.
    """
    visible = outside_thoughts(response)
    inside = boxes(visible)
    text = None if inside or "<answer>" in visible else _block(visible)
    if text is None:
        found = answer_in(visible, inside)
        if found.hedged:
            raise UnreadError("several different answers were offered", Reason.HEDGED)
        text = found.text
    if text is None or not text.strip():
        raise UnreadError(r"no \boxed{...} and no final-answer line", Reason.NO_ANSWER)
    if len(text) > LONGEST:
        raise UnreadError(f"an answer of {len(text)} characters", Reason.TOO_BIG)
    return plain(text)


def plain(text: str) -> str:
    r"""Take LaTeX and Markdown off a short text: `\text{knave}` is knave, `**A**` is A. Rows of a matrix stay rows."""
    if not _DRESS.search(text):
        return trim(text)
    text = _ENVIRONMENT.sub(" ", text.replace("\r\n", "\n"))
    for _ in range(3):
        text = _WRAPPER.sub(r"\1", text)
    text = _SPACING.sub(" ", text.replace("$", " ").replace("**", " ").replace("`", " ").replace("\\_", "_"))
    text = text.replace(r"\left", " ").replace(r"\right", " ").replace(r"\{", "{").replace(r"\}", "}")
    return trim(_BLANK_LINES.sub("\n", _BLANKS.sub(" ", text)))


def _block(visible: str) -> str | None:
    """Return an answer of several lines that stands outside a box: in a last fence, or below "Answer:"."""
    visible = visible.replace("\r\n", "\n")
    tail = visible[-2 * LONGEST :].rstrip()
    if tail.endswith("```"):
        fences = [match[1] for match in _FENCE.finditer(tail)]
        if fences and "\n" in fences[-1].strip():
            return fences[-1]
    labels = list(_LABEL.finditer(tail))
    below = tail[labels[-1].end() :].strip() if labels else ""
    if "\n" in below:
        return below
    bare = visible.strip()
    return bare if "\n" in bare and len(bare) <= LONGEST and not labels and not re.search("[a-z]{3}", bare) else None


def items(text: str) -> list[str]:
    """Cut a text at commas, semicolons, "and", sentence ends and line ends; brackets around the whole are dropped."""
    unmarked = _BULLET.sub("", _unbracketed(text))
    return [piece for piece in (piece.strip() for piece in _JOINT.split(unmarked)) if piece]


def assignments(text: str, names: Collection[str], values: Mapping[str, str] | Collection[str]) -> dict[str, str]:
    """Read "Alice is a knight, Bob: knave": one value for every name, in any order.

    Args:
        text: The final answer, from `answer_text`.
        names: All names that must have a value; compared without case.
        values: The values that exist, or a mapping from every accepted spelling to the value it means.

    Raises:
        UnreadError: A name without a value, with two, unknown, or text that is neither.
    """
    spelled = values if isinstance(values, Mapping) else {value: value for value in values}
    meant = {spelling.casefold(): value for spelling, value in spelled.items()}
    known = {name.casefold(): name for name in names}
    found: dict[str, str] = {}
    for piece in items(text):
        parts = [part.strip(" \"'()") for part in _SAYS.split(piece)]
        parts = [part for part in parts if part]
        if len(parts) == 1 and len(words := parts[0].split(None, 1)) == 2:
            parts = words  # "Alice knight"
        if len(parts) != 2:
            raise UnreadError(f"{piece[:60]!r} does not give a name its value")
        name, value = known.get(parts[0].casefold()), meant.get(_ARTICLE.sub("", parts[1]).casefold())
        if name is None or value is None:
            raise UnreadError(f"{piece[:60]!r}: {'value' if name else 'name'} unknown")
        if found.setdefault(name, value) != value:
            raise UnreadError(f"{name} is said to be both {found[name]} and {value}", Reason.HEDGED)
    if missing := [name for name in names if name not in found]:
        raise UnreadError(f"nothing is said about {missing[0]}")
    return found


def numbers(text: str) -> list[int]:
    """Read a list of whole numbers, in brackets or not: "3, 1, 4", "[3 1 4]", "3 and 4". Raises UnreadError."""
    inside = _unbracketed(text)
    pieces = [piece for piece in re.split(r"\s*(?:[,;\n]|\band\b|\s)\s*", inside) if piece]
    if not pieces or not all(_NUMBER.fullmatch(piece) for piece in pieces):
        raise UnreadError(f"{text[:60]!r} is not a list of whole numbers")
    return [int(piece) for piece in pieces]


def order(text: str, names: Collection[str], marks: str = r">|->|\u2192|\\to|\bthen\b") -> list[str]:
    """Read an order of all names: "B, A, C" or "B > A > C"; each exactly once.

    Args:
        text: The final answer, from `answer_text`.
        names: What is ordered; compared without case.
        marks: Pattern of the signs that may stand between names besides commas and "and".

    Raises:
        UnreadError: A name is missing, unknown or named twice.
    """
    known = {name.casefold(): name for name in names}
    pieces = [p for piece in re.split(marks, _unbracketed(text), flags=re.IGNORECASE) for p in items(piece)]
    found = []
    for piece in pieces:
        name = known.get(_ARTICLE.sub("", piece).casefold())
        if name is None:
            raise UnreadError(f"{piece[:60]!r} is none of the names")
        found.append(name)
    if len(found) != len(known) or len(set(found)) != len(known):
        raise UnreadError(f"{len(set(found))} of {len(known)} names are ordered, each must stand once")
    return found


def grid(text: str, rows: int, columns: int, symbols: Collection[str]) -> list[list[str]]:
    r"""Read a grid of one-character cells, row by row.

    Rows end at line ends, "/", ";", LaTeX's double backslash or closing brackets; between cells there may be blanks,
    commas, bars, "&" or nothing. Without row ends, as many cells as the grid has are read in reading order.

    Raises:
        UnreadError: Another number of rows or cells, or a sign that no cell can hold.
    """
    lines = [line for line in _ROWS.split(_unbracketed(text)) if line and not _RULE.fullmatch(line)]
    cells = [list(_BETWEEN_CELLS.sub("", line)) for line in lines]
    if len(cells) == 1 and len(cells[0]) == rows * columns:
        cells = [cells[0][start : start + columns] for start in range(0, rows * columns, columns)]
    if len(cells) != rows:
        raise UnreadError(f"{len(cells)} rows, where the grid has {rows}")
    for number, row in enumerate(cells, 1):
        if len(row) != columns:
            raise UnreadError(f"row {number} has {len(row)} cells, where the grid has {columns}")
        for cell in row:
            if cell not in symbols:
                raise UnreadError(f"{cell!r} in row {number} is nothing that a cell can hold")
    return cells


def one_of(text: str, values: Mapping[str, str] | Sequence[str]) -> str:
    """Read one of a few words; a mapping gives every accepted spelling its meaning. Raises UnreadError."""
    spelled = values if isinstance(values, Mapping) else {value: value for value in values}
    meant = {spelling.casefold(): value for spelling, value in spelled.items()}
    said = _ARTICLE.sub("", " ".join(text.strip(" \"'().").split())).casefold()
    if said not in meant:
        raise UnreadError(f"{text[:60]!r} is none of {', '.join(dict.fromkeys(meant.values()))}")
    return meant[said]


def _unbracketed(text: str) -> str:
    """Drop brackets that stand around the whole text."""
    text = text.strip()
    while len(text) >= 2 and text[0] + text[-1] in ("[]", "()", "{}") and _closes(text):
        text = text[1:-1].strip()
    return text


def _closes(text: str) -> bool:
    """Whether the bracket that opens a text is closed by its last character."""
    depth = 0
    for place, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if depth == 0:
            return place == len(text) - 1
    return False
