"""What a confined process tries: attacks that must fail, and work that must go on. `python -m` runs them all.

Each takes the stage, a namespace of what there is to aim at, and raises when it is refused.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from types import SimpleNamespace

Attempt = Callable[[SimpleNamespace], None]

ATTACKS: dict[str, Attempt] = {}
DEEDS: dict[str, Attempt] = {}

LIBC = ctypes.CDLL(None, use_errno=True)


def attack(function: Attempt) -> Attempt:
    ATTACKS[function.__name__] = function
    return function


def deed(function: Attempt) -> Attempt:
    DEEDS[function.__name__] = function
    return function


def checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
