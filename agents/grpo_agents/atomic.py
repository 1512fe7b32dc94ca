"""Folders that appear whole or not at all, however the process ends.

    with new_folder(path) as folder:
        ...write files into folder...

What is written goes to a hidden folder beside the target, is flushed to disk, and takes the target's name by a rename.
An error inside leaves the target as it was. Replacing an existing folder takes two renames, since none can swap two
folders portably: a machine that stops between them leaves the old one beside the target as `.NAME.PID.old`.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def new_folder(target: str | Path) -> Iterator[Path]:
    """Yield an empty folder that becomes `target` when the block ends without an error.

    Args:
        target: The folder to make or to replace as a whole; parents are made as needed. Inside another such block the
            yielded folder may itself be the target, before other files are written into it.
    """
    path = Path(target).absolute()
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.parent / f".{path.name}.{os.getpid()}.tmp"
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir()
    try:
        yield fresh
        _flush(fresh)
        _replace(path, fresh)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _replace(path: Path, fresh: Path) -> None:
    """Give `fresh` the name `path`; what had it before is removed afterwards."""
    old = fresh.with_suffix(".old")
    if path.exists():
        path.rename(old)
    try:
        fresh.rename(path)
    except OSError:
        if old.exists():
            old.rename(path)
        raise
    _flush_one(path.parent)
    shutil.rmtree(old, ignore_errors=True)


def _flush(folder: Path) -> None:
    """Have the disk hold every file below `folder`, and the names of them."""
    for path in folder.rglob("*"):
        _flush_one(path)
    _flush_one(folder)


def _flush_one(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
