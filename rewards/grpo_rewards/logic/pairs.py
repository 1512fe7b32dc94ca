r"""Names and values in tables and brackets, written as one `name: value` a line, which the readers take.

`(A, x), (B, y)`, a Markdown table of two columns or two rows, a LaTeX array: whoever is asked for a value per name may
draw it. A row that is no name with a value stays as it is, for the reader to refuse.
"""

from __future__ import annotations

import re
from collections.abc import Collection

_PAIR = re.compile(r"\(([^(),;\n]{1,60}),([^(),;\n]{1,60})\)")
_ROW_END = re.compile(r"\\\\|\n")
_RULE = re.compile(r"[-|:+= ]{3,}")
_INDEX = str.maketrans("", "", "_{}")
_HEADING = re.compile(r"(?!(?:not?|or|wrong|false|maybe|neither)\b)[a-z]{1,20}(?: [a-z]{1,20})?", re.IGNORECASE)


def unindexed(name: str) -> str:
    """Write an index on the line: "x_{1}" is x1."""
    return name.translate(_INDEX)


def as_lines(text: str, names: Collection[str], values: Collection[str]) -> str:
    """Return a text with its pairs in brackets and rows of a table as "name: value".

    Args:
        text: An answer, its LaTeX taken off but for "&" and double backslashes.
        names: What has a value, in lower case.
        values: The values that exist, in lower case.
    """
    if "(" in text:
        text = _PAIR.sub(lambda pair: f"{pair[1]}: {pair[2]}" if _folded(pair[1]) in names else pair[0], text)
    return _table_as_lines(text, names, values) if "|" in text or "&" in text else text


def _table_as_lines(text: str, names: Collection[str], values: Collection[str]) -> str:
    rows = [row for row in _ROW_END.split(text) if row.strip(" |&") and not _RULE.fullmatch(row.strip())]
    cells = [[cell.strip() for cell in row.strip(" |&").split("|" if "|" in row else "&")] for row in rows]
    if len(rows) == 2 and len(cells[0]) == len(cells[1]) and all(_folded(cell) in names for cell in cells[0]):
        return "\n".join(f"{name}: {value}" for name, value in zip(*cells, strict=True))
    if len(rows) > 1 and len(cells[0]) == 2 and _is_heading(cells[0], names, values):
        del rows[0], cells[0]
    lines = [
        f"{found[0]}: {found[1]}" if len(found) == 2 and _folded(found[0]) in names else row
        for row, found in zip(rows, cells, strict=True)
    ]
    return "\n".join(lines)


def _is_heading(cells: list[str], names: Collection[str], values: Collection[str]) -> bool:
    """Whether a row names the columns. One with a name or a value is part of the answer."""
    words = {word for cell in cells for word in (_folded(cell), *_folded(cell).split())}
    return all(_HEADING.fullmatch(cell) for cell in cells) and words.isdisjoint(names) and words.isdisjoint(values)


def _folded(text: str) -> str:
    return unindexed(text.strip(" \"'").casefold())
