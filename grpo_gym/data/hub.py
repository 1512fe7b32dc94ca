"""Data sets of the Hugging Face hub. Every wait has an end: without a way to the hub it is one line within seconds.

With HF_HUB_OFFLINE=1 nothing but the cache is asked. Else the hub is knocked at first, since its own library would go
on trying for half a minute; then the data set is loaded, also from the cache where it is there already.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import queue
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from grpo_gym.errors import DataError, MissingExtraError

T = TypeVar("T")

HUB_LIMIT = 5.0
"""Seconds to find out whether the hub can be reached, the look-up of its name included."""

LOAD_LIMIT = 600.0
"""Seconds that the download of a data set may take."""


def load_from_hub(identifier: str, subsets: Sequence[str | None]) -> list[Mapping[str, Any]]:
    """Return rows by split, one mapping per subset.

    Raises:
        MissingExtraError: The `datasets` package is not installed.
        DataError: The hub cannot be reached and the cache has no copy, or there is no such data set.
    """
    if not _is_installed():
        raise MissingExtraError(f"the hub data set {identifier!r}", "agent")
    switch = _offline()
    if not switch:
        _check_hub(identifier)
    datasets: Any = importlib.import_module("datasets")
    try:
        return _within(LOAD_LIMIT, lambda: [datasets.load_dataset(identifier, name=subset) for subset in subsets])
    except TimeoutError:
        raise DataError(
            f"the hub data set {identifier!r} was not there after {LOAD_LIMIT:.0f} s; download it beforehand "
            f"(hf download --repo-type dataset {identifier}) and set HF_HUB_OFFLINE=1, or give a local JSONL file"
        ) from None
    except Exception as error:
        why = f"{type(error).__name__}: {_telling(error)}"
        if switch:
            raise DataError(
                f"{switch} is set and {cache_folder()} has no copy of the hub data set {identifier!r} ({why}); "
                "load it once with the hub in reach, or give a local JSONL file"
            ) from error
        raise DataError(
            f"the hub data set {identifier!r} cannot be loaded ({why}); "
            "check the id and the subset, or give a local JSONL file"
        ) from error


def cache_folder() -> str:
    """Return the folder where the `datasets` package keeps what it has loaded."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    home = os.environ.get("HF_HOME") or f"{base}/huggingface"
    return str(Path(os.environ.get("HF_DATASETS_CACHE") or f"{home}/datasets").expanduser())


def _is_installed() -> bool:
    if "datasets" in sys.modules:
        return sys.modules["datasets"] is not None
    return importlib.util.find_spec("datasets") is not None


def _offline() -> str:
    """Return the name of the switch that forbids the network, "" when none is on."""
    for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE"):
        if os.environ.get(name, "").lower() in ("1", "on", "yes", "true"):
            return name
    return ""


def _check_hub(identifier: str) -> None:
    """Raise DataError at once when there is no way to the hub."""
    endpoint = os.environ.get("HF_ENDPOINT") or "https://huggingface.co"
    try:
        _within(HUB_LIMIT, lambda: _knock(endpoint))
    except (OSError, ValueError) as error:  # a TimeoutError is an OSError
        raise DataError(
            f"the hub ({endpoint}) cannot be reached for the data set {identifier!r}: {error}; give a local JSONL "
            f"file, or set HF_HUB_OFFLINE=1 if the data set is in the cache ({cache_folder()})"
        ) from error


def _knock(endpoint: str) -> None:
    try:
        urllib.request.urlopen(urllib.request.Request(endpoint, method="HEAD"), timeout=HUB_LIMIT).close()
    except urllib.error.HTTPError as answered:
        answered.close()


def _within(seconds: float, call: Callable[[], T]) -> T:
    """Return what a call returns, or raise what it raises; TimeoutError when it goes on for longer.

    The look-up of a name and a library's own retries know no deadline, so they run in a thread that is left behind.
    """
    done: queue.Queue[tuple[T | None, BaseException | None]] = queue.Queue()

    def run() -> None:
        try:
            done.put((call(), None))
        except BaseException as error:
            done.put((None, error))

    threading.Thread(target=run, name="grpo-gym hub", daemon=True).start()
    try:
        result, error = done.get(timeout=seconds)
    except queue.Empty:
        raise TimeoutError(f"no answer within {seconds:g} s") from None
    if error is not None:
        raise error
    return result  # type: ignore[return-value]  # a call without an error has a result


def _telling(error: Exception) -> str:
    """Return an error's first line, or the one that lists the subsets to choose from."""
    lines = str(error).splitlines() or [""]
    return next((line for line in lines if line.startswith("Please pick one")), lines[0])
