"""Showing text that a policy wrote: it is hostile, so control characters are made visible and never obeyed."""

from __future__ import annotations

import unicodedata

KEPT = {"\n", "\t"}
HIDDEN_CATEGORIES = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
"""Controls, formats (direction marks), surrogates, private use, unassigned, line and paragraph separators."""


def visible(text: str, limit: int | None = None) -> str:
    r"""Return the text with control characters escaped ("\x1b"), cut at `limit` characters when one is given."""
    shown = text if limit is None or len(text) <= limit else text[:limit] + f" ... ({len(text)} characters)"
    if shown.isascii() and shown.isprintable():
        return shown
    return "".join(
        c if c in KEPT or unicodedata.category(c) not in HIDDEN_CATEGORIES else c.encode("unicode_escape").decode()
        for c in shown
    )
