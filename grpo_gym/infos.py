"""Row infos to Gymnasium's vector form and back: arrays per key, with a `_key` mask of the rows that have it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def batch_infos(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return infos as Gymnasium's vector environments give them.

    Floats become float64 and ints int64 arrays whatever row comes first (Gymnasium's own batching takes the dtype of
    the first value, so a leading 1 turns a later 0.5 into 0); texts become object arrays; dicts nest.
    """
    batched: dict[str, Any] = {}
    for key in dict.fromkeys(key for row in rows for key in row):
        present = np.array([key in row for row in rows], dtype=np.bool_)
        values = [row.get(key) for row in rows]
        first = next(value for value, has in zip(values, present, strict=True) if has)
        if isinstance(first, dict):
            batched[key] = batch_infos([value if isinstance(value, dict) else {} for value in values])
        elif any(isinstance(value, float) for value in values):
            batched[key] = np.array([0.0 if value is None else value for value in values], dtype=np.float64)
        elif isinstance(first, int):
            batched[key] = np.array([0 if value is None else value for value in values], dtype=np.int64)
        else:
            batched[key] = np.array(values, dtype=object)
        batched[f"_{key}"] = present
    return batched


def row_info(infos: dict[str, Any], row: int) -> dict[str, Any]:
    """Return one row's info from any Gymnasium vector infos, as plain Python values; absent keys are left out."""
    info: dict[str, Any] = {}
    for key, value in infos.items():
        if not isinstance(key, str) or key.startswith("_"):  # keys of others may be anything; a name is a text
            continue
        mask = infos.get(f"_{key}")
        if mask is not None and not mask[row]:
            continue
        if isinstance(value, dict):
            info[key] = row_info(value, row)
        elif isinstance(value, (np.ndarray, list, tuple)) and len(value) > row:
            item = value[row]
            info[key] = item.item() if isinstance(item, np.generic) else item
    return info
