"""What a scorer does besides scoring: the text it executes, the files and sockets it touches, the state it changes.

Python's audit hooks see every `exec`, `open` and `connect` of the interpreter, also those inside libraries, and nothing
can take a hook out again. So this runs only in the child process of a check.
"""

from __future__ import annotations

import decimal
import gc
import hashlib
import locale
import logging
import os
import random
import signal
import socket
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType
from typing import Any

TOKEN = "grpo_probe_"
"""Begins every name in a probe that must never come to be executed."""

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

_TOUCHES = {
    *("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.chmod", "os.chown"),
    *("os.truncate", "os.utime", "shutil.rmtree", "sqlite3.connect"),
    *("socket.connect", "socket.bind", "socket.getaddrinfo", "socket.sendto", "ftplib.connect", "urllib.Request"),
}


class Watch:
    """Collects audit events while it is looking.

    Attributes:
        executed: Whether text of an answer was executed as code.
        touched: Files written and addresses asked for, as short sentences.
    """

    def __init__(self) -> None:
        self.executed = False
        self.touched: list[str] = []
        self._looking = False
        sys.addaudithook(self._hear)

    @contextmanager
    def look(self) -> Iterator[Watch]:
        """Watch the block, with nothing seen so far."""
        self.executed, self.touched, self._looking = False, [], True
        try:
            yield self
        finally:
            self._looking = False

    def _hear(self, event: str, args: tuple[Any, ...]) -> None:
        if not self._looking:
            return
        if event == "exec":
            self.executed = self.executed or _mentions_token(args[0])
        elif event == "import":
            self.executed = self.executed or str(args[0]).startswith(TOKEN)
        elif event in ("os.system", "subprocess.Popen", "os.posix_spawn", "os.exec"):
            self.executed = self.executed or TOKEN in repr(args)
        elif event == "open":
            self._opened(*args)
        elif event in _TOUCHES:
            self._note(f"{event} {args[0]!r:.80}" if event != "socket.connect" else f"{event} {args[1]!r:.80}")

    def _opened(self, path: object, mode: object, flags: object) -> None:
        if isinstance(path, int) or path == os.devnull:
            return
        writes = any(letter in mode for letter in "wax+") if isinstance(mode, str) else False
        if writes or (isinstance(flags, int) and flags & _WRITES):
            self._note(f"writes {path!r:.80}")

    def _note(self, text: str) -> None:
        if len(self.touched) < 20:
            self.touched.append(text)


def _mentions_token(code: object) -> bool:
    """Whether compiled code holds a name or text of a probe, in itself or in a function inside it."""
    if isinstance(code, str):
        return TOKEN in code
    if isinstance(code, tuple):
        return any(map(_mentions_token, code))
    return isinstance(code, CodeType) and _mentions_token((*code.co_names, *code.co_varnames, *code.co_consts))


IMPORTS_CHANGE = ("the state of `numpy.random`", "the state of `torch`'s generator", "numpy's error handling",
                  "the warning filters", "sys.path", "the signal handlers")  # fmt: skip
"""What importing a library may change: judged only between two looks that no import lies between."""


def global_state() -> dict[str, str]:
    """Return a digest of what belongs to the whole process and a scorer has no business to change."""
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    return {
        "the state of `random`": _digest(random.getstate()),
        "the state of `numpy.random`": _digest(numpy.random.get_state()) if numpy else "",
        "the state of `torch`'s generator": _digest(torch.random.get_rng_state().tolist()) if torch else "",
        "numpy's error handling": _digest(sorted(numpy.geterr().items())) if numpy else "",
        "the working directory": _cwd(),
        "the environment variables": _digest(sorted(os.environ.items())),
        "the umask": _umask(),
        "the signal handlers": _digest([signal.getsignal(number) for number in sorted(signal.valid_signals())]),
        "the alarm": str(hasattr(signal, "getitimer") and signal.getitimer(signal.ITIMER_REAL)[0] > 0),
        "the recursion limit": str(sys.getrecursionlimit()),
        "the limit on digits of integers": str(sys.get_int_max_str_digits()),
        "the decimal context": _digest([decimal.getcontext().prec, decimal.getcontext().rounding]),
        "the locale": str(locale.setlocale(locale.LC_ALL)),
        "the warning filters": _digest(warnings.filters),
        "the logging level": f"{logging.root.level} {logging.root.manager.disable}",
        "the default socket timeout": str(socket.getdefaulttimeout()),
        "the standard streams": _digest([id(sys.stdin), id(sys.stdout), id(sys.stderr)]),
        "the garbage collector": str(gc.isenabled()),
        "the number of threads": str(threading.active_count()),
        "sys.path": _digest(sys.path),
    }


def changes(before: dict[str, str], after: dict[str, str], first: bool, imported: bool) -> list[str]:
    """Return what has changed between two looks.

    Args:
        before: The first look.
        after: The second.
        first: Whether all that lies between them was done for the first time: then a pool of threads may be set up.
        imported: Whether a library was imported between them.
    """
    excused = (*(IMPORTS_CHANGE if imported else ()), *(("the number of threads",) if first else ()))
    return [name for name in before if before[name] != after[name] and name not in excused]


def _cwd() -> str:
    try:
        return os.getcwd()
    except OSError:
        return "gone"


def _umask() -> str:
    mask = os.umask(0o077)
    os.umask(mask)
    return oct(mask)


def _digest(value: object) -> str:
    return hashlib.sha256(repr(value).encode("utf-8", "surrogatepass")).hexdigest()[:16]
