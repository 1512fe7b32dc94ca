"""The options that name a data set (`dataset`, `columns`, `preset`, `subset`): JSON values, files found at once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from grpo_gym.data.tables import SUFFIXES, absent, is_hub_id
from grpo_gym.errors import DataError, InvalidValueError

Stamps = tuple[tuple[str, int, int], ...]
"""Name, time and size of a data set's files, so that a changed file is read again."""


def as_json(dataset: Any, columns: Any, preset: Any, subset: Any) -> str:
    """Return the options as one JSON text.

    Raises:
        InvalidValueError: They are no JSON values, or the data set is nothing that could be one.
    """
    options = {"dataset": dataset, "columns": columns, "preset": preset, "subset": subset}
    try:
        text = json.dumps(options, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InvalidValueError(
            f"dataset, columns, preset and subset are JSON values, for a spec holds them ({error}); "
            "of rows or `datasets` objects make a Dataset and a Task of your own"
        ) from None
    if not isinstance(dataset, (str, list, dict)) or not dataset:
        raise InvalidValueError(f"dataset is {dataset!r:.60}: give a name, a path, rows, or these by split")
    return text


def located(dataset: Any) -> Any:
    """Return a data set with whole paths: it is read later, perhaps from another folder."""
    if isinstance(dataset, dict):
        return {split: located(part) for split, part in dataset.items()}
    return str(Path(dataset).resolve()) if isinstance(dataset, str) and not is_hub_id(dataset) else dataset


def check_subset(subset: Any, dataset: Any) -> None:
    """See that only a data set of the hub has a subset. Raises InvalidValueError."""
    if subset is not None and not (isinstance(dataset, str) and is_hub_id(dataset)):
        raise InvalidValueError(f"subset is {subset!r}: only data sets of the hub have subsets")


def stamps(dataset: Any, is_known: Callable[[str], object]) -> Stamps:
    """Return the stamps of a data set's files. Raises DataError, naming the nearest, for an absent one.

    Args:
        dataset: The option.
        is_known: Whether a name is that of a preset, and so of no file.
    """
    paths = dataset.values() if isinstance(dataset, dict) else [dataset]
    found: list[tuple[str, int, int]] = []
    for path in paths:
        if not isinstance(path, str) or (isinstance(dataset, str) and (is_known(path) or is_hub_id(path))):
            continue
        if not Path(path).is_file():
            if Path(path).suffix in SUFFIXES:
                raise absent(Path(path))
            raise DataError(f"{path!r} is no {', '.join(SUFFIXES)} file (seen from {str(Path.cwd())!r})")
        file = Path(path).stat()
        found.append((str(Path(path).resolve()), file.st_mtime_ns, file.st_size))
    return tuple(found)
