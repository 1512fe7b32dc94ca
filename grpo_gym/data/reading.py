"""Rows to problems: columns are mapped, splits are made, and whatever is left out is counted."""

from __future__ import annotations

import json
import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from grpo_gym.data.tables import NotJson, Table
from grpo_gym.errors import DataError, nearest
from grpo_gym.problem import SPLITS, Problem, Split, content_digest, split_of

logger = logging.getLogger(__name__)

MAX_BAD_SHARE = 0.1
"""Bad rows are left out and counted; beyond this share the map or the file is wrong, and that is an error."""

NAMED = 12
"""Bad rows that a warning names; `Dataset.left_out` holds them all."""

Row = dict[str, Any]
Transform = Callable[[Row], Row | None]
Columns = Mapping[str, str | Sequence[str]]
Check = Callable[[Problem], str]
ByTier = dict[int, list[Problem]]


class RowError(Exception):
    """Why a row is no problem. Transforms may raise it; it never leaves the reading of a data set."""


class Reading:
    """One pass over the tables of a data set.

    Args:
        columns: Problem field -> column.
        transform: Changes a row before its columns are read; None leaves it out.
        check: Says why a problem cannot be used, "" when it can.
        only: The split that all rows are of, whatever the data say; None: as they say.
    """

    def __init__(
        self, columns: Columns, transform: Transform | None, check: Check | None = None, only: Split | None = None
    ) -> None:
        self.columns = columns
        self.transform = transform
        self.check = check
        self.only = only
        self.seen: set[bytes] = set()
        self.counts: Counter[str] = Counter()
        self.bad: list[str] = []

    def splits(self, tables: Mapping[Split | None, Table]) -> dict[Split, ByTier]:
        """Return the problems by split and tier. Raises DataError when too many rows are bad, or none is good."""
        problems: dict[Split, ByTier] = {split: defaultdict(list) for split in SPLITS}
        order: tuple[Split | None, ...] = ("test", "val", "train", None)  # what is met again is left out: not from test
        for own in order:
            for problem in self._problems(tables[own]) if own in tables else ():
                split = self.only or _split(own, problem, tables)
                problems[split][problem.tier].append(problem)
        self._report(", ".join(table.name for table in tables.values()))
        return {split: dict(by_tier) for split, by_tier in problems.items()}

    def _problems(self, table: Table) -> Iterator[Problem]:
        for number, row in table.rows:
            self.counts["rows"] += 1
            try:
                problem = self._problem(row)
            except RowError as error:
                self.counts["bad"] += 1
                self.bad.append(f"{table.name}, {table.unit} {number}: {error}")
                continue
            if problem is None:
                self.counts["dropped by the transform"] += 1
                continue
            digest = content_digest(problem.content)
            if digest in self.seen:
                self.counts["repeated"] += 1
                continue
            self.seen.add(digest)
            yield problem

    def _problem(self, row: Any) -> Problem | None:
        if isinstance(row, NotJson):
            raise RowError(row)
        if not isinstance(row, Mapping):
            raise RowError(f"a row is an object of columns, not {type(row).__name__}")
        read: Mapping[str, Any] | None = row
        if self.transform is not None:
            try:
                read = self.transform(dict(row))
            except RowError:
                raise
            except Exception as error:
                raise RowError(f"the transform failed: {type(error).__name__}: {error}") from error
        return None if read is None else self._checked(self._mapped(read))

    def _checked(self, problem: Problem) -> Problem:
        try:
            why = "" if self.check is None else self.check(problem)
        except Exception as error:
            raise RowError(f"the check failed: {type(error).__name__}: {error}") from error
        if why:
            raise RowError(why)
        return problem

    def _mapped(self, row: Mapping[str, Any]) -> Problem:
        prompt = column(row, self.columns["prompt"])
        if not isinstance(prompt, str) or not prompt.strip():
            raise RowError(f"column {self.columns['prompt']!r} is {prompt!r:.40}, not a question")
        reference = column(row, self.columns["reference"])
        if reference is None:
            raise RowError(f"column {self.columns['reference']!r} is empty")
        solution = column(row, self.columns["solution"]) if "solution" in self.columns else None
        if solution is not None and not isinstance(solution, str):
            raise RowError(f"column {self.columns['solution']!r} is {solution!r:.40}, not a text")
        names = self.columns.get("meta", ())
        meta = {name: column(row, name) for name in ([names] if isinstance(names, str) else names)}
        try:
            json.dumps([reference, meta], allow_nan=False)
        except (TypeError, ValueError) as error:
            raise RowError(f"reference and meta must be JSON values: {error}") from None
        return Problem(prompt, reference, solution=solution, meta=meta, tier=self._tier(row))

    def _tier(self, row: Mapping[str, Any]) -> int:
        if "tier" not in self.columns:
            return 0
        tier = column(row, self.columns["tier"])
        if isinstance(tier, bool) or not isinstance(tier, int) or tier not in range(6):
            raise RowError(f"column {self.columns['tier']!r} is {tier!r:.40}, a tier is a whole number from 0 to 5")
        return tier

    def _report(self, name: str) -> None:
        rows, bad = self.counts["rows"], self.counts["bad"]
        if bad and bad >= rows * MAX_BAD_SHARE:
            raise DataError(f"{name}: {bad} of {rows} rows cannot be read as problems; the first: {self.bad[0]}")
        if not self.seen:
            raise DataError(f"{name}: {rows} rows and no problem in them")
        left_out = ", ".join(f"{count} {why}" for why, count in self.counts.items() if why != "rows")
        if left_out:
            level = logging.WARNING if bad else logging.INFO
            logger.log(level, "%s: of %d rows left out: %s%s", name, rows, left_out, self._named())

    def _named(self) -> str:
        """Return the first bad row with its reason, and where the others are."""
        if not self.bad:
            return ""
        others = [row.split(": ", 1)[0] for row in self.bad[1:NAMED]]
        more = [f"{len(self.bad) - NAMED} more"] if len(self.bad) > NAMED else []
        return f"; the first bad one: {self.bad[0]}" + ("; " if others else "") + "; ".join([*others, *more])


def _split(own: Split | None, problem: Problem, tables: Mapping[Split | None, Table]) -> Split:
    """Return where a problem goes that came from the split `own` (None: from data without splits)."""
    by_content = split_of(problem.content)
    if own is None or set(tables) == {"train"}:
        return by_content
    return "val" if own == "train" and "val" not in tables and by_content == "val" else own


def column(row: Mapping[str, Any], name: str | Sequence[str]) -> Any:
    """Return a row's value in a column. Raises RowError, naming the nearest column, when there is none."""
    assert isinstance(name, str)  # Dataset checks the map
    if name not in row:
        close = nearest(name, map(str, row))
        hint = f"; did you mean {close!r}?" if close else f"; the columns are {', '.join(map(str, row))}"
        raise RowError(f"no column {name!r}{hint}")
    return row[name]
