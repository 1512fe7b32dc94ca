"""Data sets of the Hugging Face hub. One that cannot be reached is an error within seconds, not after half a minute."""

from __future__ import annotations

import importlib
import os
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

from grpo_gym.errors import DataError, MissingExtraError

HUB_LIMIT = 5.0
"""Seconds to find out whether the hub can be reached; its own library would try for half a minute."""


def load_from_hub(identifier: str, subset: str | None) -> Mapping[str, Any]:
    """Return rows by split.

    Raises:
        MissingExtraError: The `datasets` package is not installed.
        DataError: The hub cannot be reached, or has no such data set.
    """
    try:
        datasets: Any = importlib.import_module("datasets")
    except ImportError:
        raise MissingExtraError(f"the hub data set {identifier!r}", "agent") from None
    if not _offline():
        _check_hub(identifier)
    try:
        loaded: Mapping[str, Any] = datasets.load_dataset(identifier, name=subset)
    except Exception as error:
        first_line = (str(error).splitlines() or [""])[0]
        raise DataError(
            f"the hub data set {identifier!r} cannot be loaded ({type(error).__name__}: {first_line}); "
            "check the id and the subset, or give a local JSONL file"
        ) from error
    return loaded


def _offline() -> bool:
    switches = (os.environ.get(name, "").lower() for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE"))
    return any(switch in ("1", "on", "yes", "true") for switch in switches)


def _check_hub(identifier: str) -> None:
    """Raise DataError at once when there is no way to the hub."""
    endpoint = os.environ.get("HF_ENDPOINT") or "https://huggingface.co"
    try:
        urllib.request.urlopen(urllib.request.Request(endpoint, method="HEAD"), timeout=HUB_LIMIT).close()
    except urllib.error.HTTPError as answered:
        answered.close()
    except (OSError, ValueError) as error:
        raise DataError(
            f"the hub ({endpoint}) cannot be reached for the data set {identifier!r}: {error}; "
            "give a local JSONL file, or set HF_HUB_OFFLINE=1 if the data set is in the cache"
        ) from error
