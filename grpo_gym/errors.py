"""Every error a user can cause, as one small tree. A message says what was wrong, shows the value, and says what to do.

The tree:
    GrpoGymError
    ├── UnknownNameError       an id, option, task or config field that does not exist (with the nearest right name)
    ├── InvalidValueError      a value outside its bounds (also a ValueError)
    ├── GeneratorError         a task's generator failed or cannot fill a split
    ├── DataError              a data file or data set that cannot be read as problems
    ├── ModelError             a model or tokenizer that cannot be used
    ├── CheckpointError        a run folder or checkpoint that cannot be resumed
    └── MissingExtraError      an optional dependency that a command needs (also an ImportError)
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class GrpoGymError(Exception):
    """Base of all errors of this package; the command line prints them as one line without a traceback."""


class UnknownNameError(GrpoGymError, LookupError):
    """A name that does not exist. The message names the nearest right one."""

    def __init__(self, kind: str, name: object, known: Iterable[str]) -> None:
        names = sorted(known)
        super().__init__(f"unknown {kind} {name!r}{_suggestion(str(name), names)}")

    def __str__(self) -> str:
        return str(self.args[0])


class InvalidValueError(GrpoGymError, ValueError):
    """A value outside what is allowed; the message gives field, value and bound."""


class GeneratorError(GrpoGymError, RuntimeError):
    """A task's generator raised, returned the wrong thing, or never landed in the asked split."""


class DataError(GrpoGymError, ValueError):
    """A data file, data set or column that cannot be read as problems."""


class ModelError(GrpoGymError, RuntimeError):
    """A model or tokenizer that cannot be loaded or used."""


class CheckpointError(GrpoGymError, RuntimeError):
    """A run folder or checkpoint that is missing, damaged or does not fit."""


class MissingExtraError(GrpoGymError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs the '{extra}' extra: pip install 'grpo-gym[{extra}]'")


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name closest to `name`, ignoring case, or None when nothing is close.

    Of names that are as close, one with the same letters comes first: a slip of the fingers swaps two of them.
    """
    by_lower = {candidate.lower(): candidate for candidate in known}
    found = difflib.get_close_matches(name.lower(), list(by_lower), n=3, cutoff=0.5)
    swapped = [candidate for candidate in found if sorted(candidate) == sorted(name.lower())]
    return by_lower[[*swapped, *found][0]] if found else None


def _suggestion(name: str, names: list[str]) -> str:
    close = nearest(name, names)
    if close is not None:
        return f"; did you mean {close!r}?"
    if not names:
        return "; none is registered"
    shown = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
    return f"; known: {shown}"
