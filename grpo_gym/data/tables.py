"""Reading rows: from lists, JSON, JSONL and parquet files, `datasets` objects and the Hugging Face hub.

JSON and JSONL need nothing but the standard library; what needs more is imported when such data are read. Nothing is
read, and no network is touched, before the first problem is asked for.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from grpo_gym.errors import DataError, MissingExtraError, UnknownNameError, nearest
from grpo_gym.problem import Split

Data = str | Path | Sequence[Any] | Mapping[str, Any]
"""A file, a hub id, rows, or any of these by split. A `datasets.Dataset` is a sequence, a `DatasetDict` a mapping."""

SPLIT_NAMES: dict[str, Split] = {
    "train": "train",
    "val": "val",
    "valid": "val",
    "validation": "val",
    "dev": "val",
    "test": "test",
}
SUFFIXES = (".json", ".jsonl", ".parquet")


class NotJson(str):
    """A line that could not be parsed, in place of its row: the reason."""


@dataclass(frozen=True)
class Table:
    """Rows of one origin.

    Attributes:
        name: What an error calls it, e.g. "train.jsonl".
        unit: What a number counts: "line" or "row".
        rows: (number, row) pairs.
    """

    name: str
    unit: str
    rows: Iterable[tuple[int, Any]]


def read_tables(data: Data, subset: str | Sequence[str] | None = None) -> dict[Split | None, Table]:
    """Return tables by split; the only key is None where the data have no splits.

    Raises:
        DataError: A file that is missing, not what its suffix says, or a hub that cannot be reached.
        UnknownNameError: A split name that does not exist.
        MissingExtraError: Parquet or a hub id without the libraries that read them.
    """
    if isinstance(data, Mapping):
        return _by_split({name: _table(part, f"rows of {name}") for name, part in data.items()})
    if isinstance(data, str) and is_hub_id(data):
        return _from_hub(data, subset)
    if isinstance(data, (str, Path)) and Path(data).suffix == ".json":
        return _from_json(Path(data))
    return {None: _table(data, "rows")}


def _by_split(tables: Mapping[str, Table]) -> dict[Split | None, Table]:
    found: dict[Split | None, Table] = {}
    for name, table in tables.items():
        if name not in SPLIT_NAMES:
            raise UnknownNameError("split of a data set", name, SPLIT_NAMES)
        if SPLIT_NAMES[name] in found:
            raise DataError(f"{name!r} names the split {SPLIT_NAMES[name]!r} a second time")
        found[SPLIT_NAMES[name]] = table
    if not found:
        raise DataError("a data set without any split")
    return found


def _table(data: Any, name: str) -> Table:
    if isinstance(data, (str, Path)):
        path = Path(data)
        if path.suffix == ".jsonl":
            return Table(path.name, "line", _lines(path))
        if path.suffix == ".parquet":
            return Table(path.name, "row", enumerate(_parquet(path), 1))
        if path.suffix == ".json":
            tables = _from_json(path)
            if None in tables:
                return tables[None]
        raise DataError(f"{str(data)!r} is not a {', '.join(SUFFIXES)} file of rows")
    return Table(name, "row", enumerate(data, 1))


def is_hub_id(data: str) -> bool:
    """Whether this can only be a hub id: no suffix of a data file, no such path here, at most one slash."""
    return not data.endswith(SUFFIXES) and not Path(data).exists() and data.count("/") <= 1 and data[:1] not in "./"


def absent(path: Path) -> DataError:
    """Return the error that says that a data file is not there, with the nearest one that is."""
    try:
        close = nearest(path.name, (other.name for other in path.parent.iterdir() if other.suffix in SUFFIXES))
    except OSError:
        close = None
    hint = f"; did you mean {str(path.with_name(close))!r}?" if close else ""
    return DataError(f"no data file {str(path)!r} (seen from {str(Path.cwd())!r}){hint}")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise absent(path) from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"the data file {str(path)!r} cannot be read: {error}") from error


def _lines(path: Path) -> Iterator[tuple[int, Any]]:
    # not splitlines(): JSON strings may hold U+2028 and other characters that it takes for line ends
    for number, line in enumerate(_text(path).split("\n"), 1):
        if not line.strip():
            continue
        try:
            yield number, json.loads(line, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            yield number, NotJson(f"not JSON: {error}")


def _from_json(path: Path) -> dict[Split | None, Table]:
    """Read a JSON file: a list of rows, or an object of such lists by split."""
    try:
        content = json.loads(_text(path), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        hint = "; a file of one object per line is called .jsonl" if "Extra data" in str(error) else ""
        raise DataError(f"the data file {str(path)!r} is not JSON: {error}{hint}") from error
    if isinstance(content, list):
        return {None: Table(path.name, "row", enumerate(content, 1))}
    if isinstance(content, dict) and all(isinstance(rows, list) for rows in content.values()):
        return _by_split({k: Table(f"{path.name}[{k}]", "row", enumerate(v, 1)) for k, v in content.items()})
    raise DataError(f"the data file {str(path)!r} holds neither a list of rows nor such lists by split")


def _parquet(path: Path) -> list[Any]:
    try:
        parquet: Any = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise MissingExtraError("reading parquet", "agent") from None
    if not path.is_file():
        raise absent(path)
    try:
        return list(parquet.read_table(path).to_pylist())
    except (OSError, ValueError) as error:
        raise DataError(f"the data file {str(path)!r} cannot be read as parquet: {error}") from error


def _from_hub(identifier: str, subset: str | Sequence[str] | None) -> dict[Split | None, Table]:
    from grpo_gym.data.hub import load_from_hub  # it imports urllib, a tenth of the price of `import grpo_gym`

    several = [subset] if subset is None or isinstance(subset, str) else list(subset)
    parts = load_from_hub(identifier, several)
    found = sorted({name for part in parts for name in part})
    known = [name for name in found if name in SPLIT_NAMES]
    if not known:
        raise DataError(
            f"the hub data set {identifier!r} has the splits {found}, none of which is train, validation or test; "
            "load it yourself and give {'train': rows}"
        )
    rows = {name: chain(*(part[name] for part in parts if name in part)) for name in known}
    return _by_split({name: Table(f"{identifier}[{name}]", "row", enumerate(rows[name], 1)) for name in known})


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON value")
