r"""Answers as text, read strictly: names with values, grids, orders, lists of numbers. Nothing is evaluated.

A reader takes the whole final answer or refuses it: text that is left over is a second answer, or none. Forgiving in
form: `Alice is a knight and Bob is a knave`, `Alice: knight, Bob: knave` and one line per name say the same; a grid may
be written with blanks, commas, bars, brackets, as LaTeX, or without anything between its cells.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from grpo_gym.verdict import Reason
from grpo_rewards.logic.pairs import as_lines, unindexed
from grpo_rewards.math.boxes import Box, boxes
from grpo_rewards.math.extract import answer_in
from grpo_rewards.math.fold import trim
from grpo_rewards.text import outside_thoughts

LONGEST = 4_000
"""Characters of a final answer that is still read; the largest grid with all its dress has a tenth of them."""

_WRAPPER = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf|mathit|mathsf|operatorname)\s*\{([^{}]*)\}")
_ENVIRONMENT = re.compile(r"\\(?:begin|end)\s*\{[a-z*]{1,20}\}(?:\{[clr|]{0,40}\})?")
_SIZED = re.compile(r"\\(?:left|right)(?![a-zA-Z])")
_SPACING = re.compile(r"(?<!\\)\\(?:[ ,;:!]|(?:quad|qquad|hline)(?![a-zA-Z]))")
_BLANKS = re.compile(r"[^\S\n]+")
_BLANK_LINES = re.compile(r" ?\n[ \n]*")
_DRESS = re.compile(r"[\\$*`]|[^\S ]|  ")
"""What short answers mostly have none of: to look once is cheaper than to take off each piece."""
_FENCE = re.compile(r"```(?:[a-z]{0,10}[ \t]*\n)?(.*?)```", re.DOTALL)
_TAG = re.compile(r"<answer>(.*?)(?:</answer>|\Z)", re.DOTALL)
_REMARK = re.compile(r"(?:[^\W\d_]|[ ,;'()-]){0,200}[.!]?")
_DOUBT = re.compile(
    r"\b(?:answer|but|could|else|false|if|incorrect|instead|may|maybe|might|no|nobody|not|nothing|or|perhaps|possibly|"
    r"solution|unsure|wait|wrong)\b",
    re.IGNORECASE,
)
"""Words that make what stands behind a fence more than a remark."""
_LABEL = re.compile(
    r"^[ \t>*#]{0,8}(?:the )?(?:final )?(?:answer|solution)(?: is)?[ \t*]{0,4}:?[ \t*]{0,4}$",
    re.IGNORECASE | re.MULTILINE,
)
_JOINT = re.compile(r"\s*(?:[;\n]|\\\\|,(?:\s*and\b)?|\band\b|&|\.(?=\s|$))\s*", re.IGNORECASE)
_BULLET = re.compile(r"^(?:[-*\u2022]|\d{1,2}[.)])\s+", re.MULTILINE)
_SAYS = re.compile(r"\s*(?:[:=]|->|=>|\u2192|\\to|\\rightarrow|-(?=\s)|\bis\b|\bmust be\b|\bhas\b)\s*", re.IGNORECASE)
_ARTICLE = re.compile(r"^(?:an?|the)\s+", re.IGNORECASE)
_NUMBER = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_DIGIT = re.compile(r"\d")
_LINK = re.compile(
    r">|->|=>|[\u2192\u21d2\u227b]|\\(?:to|gt|succ|(?:long)?rightarrow)(?![a-zA-Z])|\bthen\b",
    re.IGNORECASE,
)
"""What may stand between the names of an order besides commas and "and"."""
_PLACE_JOINT = re.compile(r"\s*(?:[,;\n]|\\\\|\band\b)\s*|\s(?=\d{1,2}[.):])", re.IGNORECASE)
_PLACED = re.compile(
    r"(\d{1,2})(?:st|nd|rd|th)?\s*(?:[.):=-]|\bis\b)?\s*(\D{1,60})"
    r"|([^\d(]{1,60}?)\s*(?:[(:=]|-(?=\s)|\bis\b|\bin\b)\s*(\d{1,2})(?:st|nd|rd|th)?\)?",
    re.IGNORECASE | re.ASCII,
)
_ROW_NAME = re.compile(r"[\s,;/*\u2022-]{0,5}\brow\s*(\d{1,2})\b\s*[:.)=-]?\s*", re.IGNORECASE | re.ASCII)
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
        if not inside and visible.count("<answer>") > 1:
            _refuse_several(visible, _TAG)
        found = answer_in(visible, inside)
        if found.hedged:
            raise UnreadError("several different answers were offered", Reason.HEDGED)
        text = found.text if inside or not found.text else found.text.removeprefix("that ")
    if text is None or not text.strip():
        raise UnreadError(r"no \boxed{...} and no final-answer line", Reason.NO_ANSWER)
    if len(text) > LONGEST:
        raise UnreadError(f"an answer of {len(text)} characters", Reason.TOO_BIG)
    return plain(text)


def plain(text: str) -> str:
    r"""Take LaTeX and Markdown off a short text: `\text{knave}` is knave, `**A**` is A. Rows of a matrix stay rows."""
    if not _DRESS.search(text):
        return trim(text)
    text = text.replace("\r\n", "\n").replace("$", " ").replace("**", " ").replace("`", " ")
    if "\\" in text:
        text = _ENVIRONMENT.sub(" ", text)
        for _ in range(3):
            text = _WRAPPER.sub(r"\1", text)
        text = _SIZED.sub(" ", _SPACING.sub(" ", text.replace("\\_", "_")))
        text = text.replace(r"\{", "{").replace(r"\}", "}")
    return trim(_BLANK_LINES.sub("\n", _BLANKS.sub(" ", text)))


def _block(visible: str) -> str | None:
    """Return an answer that stands outside a box: in a last fence, or in several lines below "Answer:"."""
    visible = visible.replace("\r\n", "\n")
    tail = visible[-2 * LONGEST :].rstrip()
    if "```" in tail and (fenced := _fenced(tail)) is not None:
        return fenced
    labels = list(_LABEL.finditer(tail))
    below = tail[labels[-1].end() :].strip() if labels else ""
    if "\n" in below:
        return below
    bare = visible.strip()
    return bare if "\n" in bare and len(bare) <= LONGEST and not labels and not re.search("[a-z]{3}", bare) else None


def _fenced(tail: str) -> str | None:
    """Return what the last fence holds, behind which nothing may stand but a remark."""
    fences = list(_FENCE.finditer(tail))
    if not fences or not fences[-1][1].strip():
        return None
    behind = tail[fences[-1].end() :].strip()
    if behind and (not _REMARK.fullmatch(behind) or _DOUBT.search(behind)):
        return None
    _refuse_several(tail, _FENCE)
    return fences[-1][1]


def _refuse_several(text: str, pattern: re.Pattern[str]) -> None:
    """Raise UnreadError where marked answers stand side by side and differ. Judged as boxes are: each becomes one."""
    parts: list[str] = []
    found: list[Box] = []
    end = length = 0
    for match in pattern.finditer(text):
        inside = match[1].strip()
        gap = text[end : match.start()]
        start, end = length + len(gap), match.end()
        length = start + len(inside) + 1
        parts += gap, inside, "}"
        found.append(Box(start, start, length))
    if answer_in("".join([*parts, text[end:]]), found).hedged:
        raise UnreadError("several different answers were offered", Reason.HEDGED)


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
    if "(" in text or "|" in text or "&" in text:
        text = as_lines(_unbracketed(text), known, meant)
    for piece in items(text):
        parts = [part.strip(" \"'()") for part in _SAYS.split(piece)]
        parts = [part for part in parts if part]
        if len(parts) == 1 and len(words := parts[0].replace("(", " ").split(None, 1)) == 2:
            parts = words  # "Alice knight", "Alice (knight)"
        if len(parts) != 2:
            raise UnreadError(f"{piece[:60]!r} does not give a name its value")
        said = parts[0].casefold()
        name = known.get(said) or known.get(unindexed(said))
        value = meant.get(_ARTICLE.sub("", parts[1]).casefold())
        if name is None or value is None:
            raise UnreadError(f"{piece[:60]!r}: {'value' if name else 'name'} unknown")
        if found.setdefault(name, value) != value:
            raise UnreadError(f"{name} is said to be both {found[name]} and {value}", Reason.HEDGED)
    if missing := [name for name in names if name not in found]:
        raise UnreadError(f"nothing is said about {missing[0]}")
    return found


def numbers(text: str) -> list[int]:
    """Read a list of whole numbers, in brackets or not: "3, 1, 4", "[3 1 4]", "3 and 4". Raises UnreadError."""
    inside = _unbracketed(text.replace("\u2212", "-"))
    pieces = [piece for piece in re.split(r"\s*(?:[,;\n]|\band\b|\s)\s*", inside) if piece]
    if not pieces or not all(_NUMBER.fullmatch(piece) for piece in pieces):
        raise UnreadError(f"{text[:60]!r} is not a list of whole numbers")
    return [int(piece) for piece in pieces]


def order(text: str, names: Collection[str]) -> list[str]:
    """Read an order of all names: "B, A, C", "B > A > C", "1. B, 2. A, 3. C", "A (2), B (1), C (3)"; each exactly once.

    Args:
        text: The final answer, from `answer_text`.
        names: What is ordered; compared without case. No digit is part of one.

    Raises:
        UnreadError: A name is missing, unknown or named twice, or the places that are told are not 1, 2, 3, ...
    """
    known = {name.casefold(): name for name in names}
    links = _LINK.split(_unbracketed(text))
    if _DIGIT.search(text):
        return _by_place(links, known)
    found = []
    for piece in (piece for link in links for piece in items(link)):
        name = known.get(_ARTICLE.sub("", piece).casefold())
        if name is None:
            raise UnreadError(f"{piece[:60]!r} is none of the names")
        found.append(name)
    if len(found) != len(known) or len(set(found)) != len(known):
        raise UnreadError(f"{len(set(found))} of {len(known)} names are ordered, each must stand once")
    return found


def _by_place(links: Sequence[str], known: Mapping[str, str]) -> list[str]:
    """Read an order in which a number is told with every name."""
    found: dict[int, str] = {}
    pieces = [piece.strip(" .*-\u2022") for link in links for piece in _PLACE_JOINT.split(link)]
    for piece in filter(None, pieces):
        match = _PLACED.fullmatch(piece)
        said = _ARTICLE.sub("", (match[2] or match[3]).strip()).casefold() if match else ""
        if match is None or said not in known:
            raise UnreadError(f"{piece[:60]!r} is none of the names with its place")
        if found.setdefault(int(match[1] or match[4]), known[said]) != known[said]:
            raise UnreadError(f"place {match[1] or match[4]} is taken twice", Reason.HEDGED)
    if sorted(found) != list(range(1, len(known) + 1)) or len(set(found.values())) != len(known):
        raise UnreadError(f"{len(known)} names have the places 1 to {len(known)}, each of them one")
    return [found[place] for place in sorted(found)]


def grid(text: str, rows: int, columns: int, symbols: Collection[str]) -> list[list[str]]:
    r"""Read a grid of one-character cells, row by row.

    Rows end at line ends, "/", ";", LaTeX's double backslash or closing brackets; between cells there may be blanks,
    commas, bars, "&" or nothing. Without row ends, as many cells as the grid has are read in reading order.

    Raises:
        UnreadError: Another number of rows or cells, or a sign that no cell can hold.
    """
    if "row" in text.lower():
        text = _unnumbered(text, rows)
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


def _unnumbered(text: str, rows: int) -> str:
    """Take "Row 1:" off the rows of a grid. Raises UnreadError where they are not numbered in order."""
    head, *parts = _ROW_NAME.split(_unbracketed(text))
    if head.strip(" \n|&[]{}-") or [int(number) for number in parts[::2]] != list(range(1, rows + 1)):
        raise UnreadError(f"the rows are not numbered from 1 to {rows}")
    return "\n".join(parts[1::2])


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
