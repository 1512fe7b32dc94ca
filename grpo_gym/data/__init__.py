"""Data sets as a source of problems: rows, a map from fields to columns, and splits that cannot leak.

    gsm8k = Dataset(
        {"train": "train.jsonl", "test": "test.jsonl"},
        {"prompt": "question", "reference": "answer"},
        transform=lambda row: {**row, "answer": row["answer"].split("####")[1].strip()},
    )
    env = TextEnv(Task("data.gsm8k", source=gsm8k, reward=exact))

Splits: a data set keeps its own. Where it has no validation split, a tenth of train (by content) is `val`; where it has
none, or nothing but train, content decides 8:1:1 as it does for generated problems. A row that is met again is left
out, from train rather than from val and from val rather than from test.

Order: each seed walks a split in a permutation of its own: no row comes twice before every row came once; then again in
another order.

Bad rows (not JSON, a column missing, an empty question, whatever `check` refuses) are left out, counted, logged and
listed in `left_out`; when they are a tenth of all or more, the map or the file is wrong, and that is a DataError which
names the first.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence, Sized
from dataclasses import replace
from typing import Any

from grpo_gym.data.fingerprint import Fingerprint, fingerprint_of
from grpo_gym.data.reading import ByTier, Check, Columns, Reading, Transform
from grpo_gym.data.tables import Data, read_tables
from grpo_gym.errors import DataError, InvalidValueError, UnknownNameError
from grpo_gym.problem import SPLITS, Problem, Split
from grpo_gym.rng import permuted
from grpo_gym.sources import Key, labelled

FIELDS = ("prompt", "reference", "solution", "meta", "tier")


class Dataset:
    """Rows of a data set as a Source.

    Args:
        data: A hub id, a JSON, JSONL or parquet file, a list of rows, a `datasets.Dataset`, or a mapping from splits to
            files or rows (a `DatasetDict` is one). It is read when the first problem is asked for.
        columns: Problem field -> column. `prompt` and `reference` are needed; `solution`, `tier` (0 to 5) and `meta`
            (one column or several) may be given. Default: columns named prompt and reference.
        transform: Changes a row before its columns are read; None leaves the row out.
        subset: The configuration of a hub data set, e.g. "main"; of several, all rows are read.
        check: Says why a problem cannot be used, e.g. because its reference cannot be read; "" when it can.
        only: The split that all rows are of, whatever the data say: "test" for a benchmark.

    Raises:
        UnknownNameError: A field that a problem does not have.
        InvalidValueError: A map without prompt or reference; data that can be read only once.
    """

    def __init__(
        self,
        data: Data,
        columns: Columns | None = None,
        *,
        transform: Transform | None = None,
        subset: str | Sequence[str] | None = None,
        check: Check | None = None,
        only: Split | None = None,
    ) -> None:
        self.data = data
        self.columns: Columns = {"prompt": "prompt", "reference": "reference"} if columns is None else dict(columns)
        self.transform = transform
        self.subset = subset
        self.check = check
        self.only = only
        check_columns(self.columns)
        if not isinstance(data, (Sized, os.PathLike)):
            raise InvalidValueError(
                f"data is a {type(data).__name__}, which can be read only once: give a list of rows"
            )
        self._lock = threading.Lock()
        self._problems: dict[Split, ByTier] | None = None
        self._left_out: tuple[str, ...] = ()
        self._fingerprint: Fingerprint | None = None

    @property
    def tiers(self) -> tuple[int, ...]:
        """The tiers of a task with this source, unless it declares its own: all with a tier column, else only 0."""
        return tuple(range(6)) if "tier" in self.columns else (0,)

    def problem(self, key: Key) -> Problem:
        """Return the problem at `key`.

        Raises:
            DataError: The data cannot be read as problems, or the split or tier is empty.
            UnknownNameError: The data have a split that is none of ours.
            MissingExtraError: Parquet or a hub id without the libraries that read them.
        """
        rows = self._rows(key)
        epoch, position = divmod(key.index, len(rows))
        order = (key.task, key.version, key.tier, key.split, key.seed, epoch)
        return labelled(rows[permuted(position, len(rows), *order)], key)

    def problem_among(self, tiers: Sequence[int], key: Key) -> Problem:
        """Return the problem at `key` in a walk through all rows of several tiers; its tier is the row's.

        Rows count alike here, whatever their tier, so that a walk of any seed meets each of them once.

        Raises:
            DataError, UnknownNameError, MissingExtraError: As `problem`.
        """
        by_tier = self._load()[key.split]
        sizes = [(tier, len(by_tier.get(tier, ()))) for tier in tiers]
        total = sum(size for _, size in sizes)
        if not total:
            raise self._empty(key)
        epoch, position = divmod(key.index, total)
        place = permuted(position, total, key.task, key.version, *tiers, key.split, key.seed, epoch)
        for tier, size in sizes:
            if place < size:
                return labelled(by_tier[tier][place], replace(key, tier=tier))
            place -= size
        raise AssertionError("a place is below the number of rows")

    def size(self, split: Split, tiers: Sequence[int] | None = None) -> int:
        """Return the number of problems in a split, of all tiers or of some."""
        by_tier = self._load()[split]
        if tiers is not None and "tier" in self.columns:
            return sum(len(by_tier.get(tier, ())) for tier in tiers)
        return sum(map(len, by_tier.values()))

    @property
    def left_out(self) -> tuple[str, ...]:
        """The rows that are no problems, each with the place where it is and the reason."""
        self._load()
        return self._left_out

    @property
    def fingerprint(self) -> Fingerprint:
        """What a checkpoint keeps to know the data set again: its rows counted and hashed."""
        by_split = self._load()
        if self._fingerprint is None:
            own = ((split, problem) for split in SPLITS for of_tier in by_split[split].values() for problem in of_tier)
            self._fingerprint = fingerprint_of(own)
        return self._fingerprint

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_lock": None, "_problems": None}  # a copy in another process reads the data again

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.Lock())

    def __deepcopy__(self, memo: dict[int, Any]) -> Dataset:
        return self  # it never changes: clones of an environment share the rows

    def _rows(self, key: Key) -> list[Problem]:
        by_tier = self._load()[key.split]
        rows = by_tier.get(key.tier if "tier" in self.columns else 0, [])
        if not rows and by_tier:
            has = tuple(sorted(by_tier))
            raise DataError(
                f"{key.task} has no {key.split} problem of tier {key.tier}: declare tiers={has} on its Task"
            )
        if not rows:
            raise self._empty(key)
        return rows

    def _empty(self, key: Key) -> DataError:
        sizes = ", ".join(f"{split} {self.size(split)}" for split in SPLITS)
        others = [split for split in SPLITS if self.size(split)]
        hint = f"; ask for split={others[0]!r}" if len(others) == 1 else ""
        return DataError(f"{key.task} has no {key.split} problem; it has: {sizes}{hint}")

    def _load(self) -> dict[Split, ByTier]:
        with self._lock:
            if self._problems is None:
                reading = Reading(self.columns, self.transform, self.check, self.only)
                self._problems = reading.splits(read_tables(self.data, self.subset))
                self._left_out = tuple(reading.bad)
            return self._problems


def check_columns(columns: Columns, needed: Sequence[str] = ("prompt", "reference")) -> None:
    """See that a map names fields of problems and columns.

    Raises:
        UnknownNameError: A field that a problem does not have.
        InvalidValueError: A needed field is missing, or what should be a column's name is none.
    """
    for field, column in columns.items():
        if field not in FIELDS:
            raise UnknownNameError("problem field", field, FIELDS)
        if not isinstance(column, str) and field != "meta":
            raise InvalidValueError(f"columns[{field!r}] is {column!r}: name one column")
    for field in needed:
        if field not in columns:
            raise InvalidValueError(f"columns is {dict(columns)}: it must say which column holds the {field!r}")
