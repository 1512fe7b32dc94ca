"""What the terminal shows. Texts of policies and problems are hostile: they go through `plain`, never markup."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from grpo_gym.printing import visible

WIDTH_OF_LOGS = 110
"""Columns when nobody looks: rich would assume 80 and fold tables."""


def terminal() -> Console:
    """Return a console on standard output that reads no markup and folds no lines of its own accord."""
    width = None if sys.stdout.isatty() or os.environ.get("COLUMNS") else WIDTH_OF_LOGS
    return Console(width=width, markup=False, highlight=False, emoji=False, soft_wrap=True)


def plain(text: object, style: str = "", limit: int | None = None) -> Text:
    """Return any text as what it is: control characters escaped, brackets left alone."""
    return Text(visible(str(text), limit), style=style)


def grid(columns: Sequence[str], numbers: Sequence[int] = (), title: str | None = None) -> Table:
    """Return an empty table; the columns at the places in `numbers` are set to the right."""
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold", pad_edge=False)
    for place, name in enumerate(columns):
        table.add_column(name, justify="right" if place in numbers else "left", overflow="fold")
    return table


def percent(share: float | None) -> str:
    """Return a share as a percentage with one digit, "-" for none."""
    return "-" if share is None or share != share else f"{100 * share:.1f} %"


def interval(share: float, low: float, high: float) -> str:
    """Return a share with its 95 % interval, in per cent."""
    return "-" if share != share else f"{percent(share)}  [{100 * low:.1f}, {100 * high:.1f}]"


@contextmanager
def warnings_on_stderr() -> Iterator[None]:
    """Show the library's log warnings as `warning: ...` lines on standard error while a command runs."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setLevel(logging.WARNING)
    handler.setFormatter(_Visible("warning: %(message)s"))
    logger = logging.getLogger("grpo_agents")
    kept = logger.propagate
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = kept


class _Visible(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return visible(super().format(record))
