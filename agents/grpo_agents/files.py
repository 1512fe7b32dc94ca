"""Text and JSON files that are written whole or not at all (`atomic` does it for folders); refusals of the disk."""

from __future__ import annotations

import errno
import json
import math
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from grpo_gym.errors import CheckpointError

WAYS_OUT = {
    errno.ENOSPC: "free some space there or choose a folder on another disk",
    errno.EDQUOT: "free some of your quota or choose a folder on another disk",
    errno.EACCES: "choose a folder that you may write to",
    errno.EPERM: "choose a folder that you may write to",
    errno.EROFS: "choose a folder that you may write to",
}


def write_text(path: Path, text: str) -> None:
    """Write a text file so that `path` holds either all of it or what it held before. Raises CheckpointError."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    with writing(path):
        try:
            with temporary.open("x", encoding="utf-8") as file:  # unlike tempfile's, its mode is what the umask allows
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file as `write_text` does. NaN becomes null: JSON has none."""
    write_text(path, json.dumps(plain(value), indent=2, allow_nan=False) + "\n")


@contextmanager
def writing(path: Path, hint: str = "") -> Iterator[None]:
    """Turn a disk's refusal inside the block into a CheckpointError that names `path`, the cause and the way out.

    Args:
        path: What is being written.
        hint: Put behind the sentence.
    """
    try:
        yield
    except OSError as error:
        raise CheckpointError(f"cannot write {path}: {_cause(error)}{hint}") from error
    except CheckpointError as error:  # of such a block inside this one
        if not isinstance(error.__cause__, OSError):
            raise
        raise CheckpointError(f"cannot write {path}: {_cause(error.__cause__)}{hint}") from error.__cause__
    except Exception as error:  # safetensors raises an error of its own, with the system's number in its text
        number = re.search(r"os error (\d+)", str(error))
        if not number:
            raise
        raise CheckpointError(f"cannot write {path}: {_cause(OSError(int(number[1]), ''))}{hint}") from error


def _cause(error: OSError) -> str:
    """Return why a disk refused, in words, and what to do."""
    if error.errno is None:
        return str(error)
    return f"{os.strerror(error.errno)}; {WAYS_OUT.get(error.errno, 'choose another folder')}"


def check_writable(folder: Path) -> None:
    """Raise CheckpointError unless files can be made in a folder, or in the nearest one above it; leaves nothing."""
    with writing(folder):
        above = next(path for path in (folder.absolute(), *folder.absolute().parents) if os.path.lexists(path))
        probe = above / f".writable.{secrets.token_hex(4)}"
        try:
            probe.write_text("?" * 64, encoding="utf-8")
        finally:
            if above.is_dir():
                probe.unlink(missing_ok=True)


@contextmanager
def in_use(folder: Path) -> Iterator[None]:
    """Make a folder and keep it for this process while the block runs; the lock dies with the process.

    Where the system has no `fcntl`, nothing is locked.

    Raises:
        CheckpointError: Another process has the folder, or it cannot be written.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
        yield
        return
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / ".lock").open("a")
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise CheckpointError(f"{folder} is in use by another process: wait for its end or stop it") from error
        except OSError:  # a file system without locks, some network disks for instance
            pass
        yield


def plain(value: Any) -> Any:
    """Return the value as JSON knows it, all the way down: NaN and infinities become None, strange objects their text.

    What comes from environments of others may hold anything; a log line is never worth a run.
    """
    if isinstance(value, (np.integer, np.bool_)):
        return value.item()
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value if value is None or isinstance(value, (str, int)) else str(value)
