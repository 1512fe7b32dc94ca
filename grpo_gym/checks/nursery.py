"""Where the child processes of a check come from: a bare interpreter imports this package once, and is forked for each.

    child = nursery(hash_seed).start(handle, folder)      # runs `grpo_gym.checks.child.serve(handle)`
    child.wait(1.0)                                       # its exit code, None while it lives

A check needs two processes, and one more for every text that ends one. An interpreter of its own, which has to import
Gymnasium, would be most of what each costs. The interpreter that is forked has met no subject: what a child imports,
changes or draws stays in that child. It ends with the process that asks for children, and they with it.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe
from multiprocessing.reduction import recv_handle, send_handle
from typing import NamedTuple, NoReturn

START_LIMIT = 60.0
"""Seconds that an interpreter may take to import this package and fork."""

_READ_ONCE = ("PYTHON", "OMP_", "OPENBLAS_", "MKL_", "LD_")
"""Environment variables that begin so are read when a process starts: where they differ, it is another interpreter."""

_PROGRAM = "import sys; sys.path[:] = {path!r}; from grpo_gym.checks.nursery import tend; tend({handle})"


class _Setup(NamedTuple):
    """What an interpreter cannot change any more, and the process that it belongs to."""

    owner: int
    hash_seed: int
    path: tuple[str, ...]
    variables: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Child:
    """A forked process, the leader of a session of its own."""

    nursery: Nursery
    pid: int

    def wait(self, seconds: float) -> int | None:
        """Return the exit code, negative for a signal; None when it does not end in time."""
        return self.nursery.wait(self.pid, seconds)


class Nursery:
    """An interpreter that is forked on request, one request at a time.

    Args:
        path: Its import path.
        hash_seed: Its PYTHONHASHSEED, which its children share.

    Attributes:
        living: Children that have not been waited for.
    """

    def __init__(self, path: tuple[str, ...], hash_seed: int) -> None:
        self.living: set[int] = set()
        self._hash_seed = str(hash_seed)
        self._lock = threading.Lock()
        self._pipe, theirs = Pipe()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-W", "ignore", "-c", _PROGRAM.format(path=list(path), handle=theirs.fileno())],
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )

    @property
    def is_alive(self) -> bool:
        """Whether it can be asked."""
        return not self._pipe.closed and self._process.poll() is None

    def start(self, handle: int, folder: str) -> Child:
        """Fork a child that serves requests from a socket.

        Args:
            handle: The socket's file descriptor.
            folder: The child's working and temporary folder.

        Raises:
            OSError: The interpreter has ended, or does not answer.
        """
        with self._lock:
            self._pipe.send((folder, {**self._environment(), "TMPDIR": folder}))
            send_handle(self._pipe, handle, self._process.pid)
            pid = self._answer(START_LIMIT)
        if pid is None:
            raise OSError("the interpreter that is forked for a check could not be forked")
        self.living.add(pid)
        return Child(self, pid)

    def wait(self, pid: int, seconds: float) -> int | None:
        """Return a child's exit code, None when it does not end in time or the interpreter has ended itself."""
        with self._lock:
            try:
                self._pipe.send((pid, seconds))
                code = self._answer(START_LIMIT + seconds)
            except OSError:
                code = None
            if code is not None or not self.is_alive:
                self.living.discard(pid)
        return code

    def close(self) -> None:
        """End the interpreter."""
        self._pipe.close()
        try:
            self._process.wait(timeout=5.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _environment(self) -> dict[str, str]:
        return {**os.environ, "PYTHONHASHSEED": self._hash_seed}

    def _answer(self, limit: float) -> int | None:
        if not self._pipe.poll(limit):
            raise TimeoutError("the interpreter that is forked for a check does not answer")
        try:
            code: int | None = self._pipe.recv()
        except EOFError as error:
            raise OSError("the interpreter that is forked for a check has ended") from error
        return code


_kept: dict[_Setup, Nursery] = {}


def nursery(hash_seed: int) -> Nursery:
    """Return an interpreter under this hash seed that is set up as this process is now."""
    path = [entry or os.getcwd() for entry in sys.path if isinstance(entry, str)]
    path += [] if os.getcwd() in path else [os.getcwd()]
    variables = sorted((k, v) for k, v in os.environ.items() if k.startswith(_READ_ONCE))
    setup = _Setup(os.getpid(), hash_seed, tuple(path), tuple(variables))
    for other, kept in list(_kept.items()):
        outdated = other != setup and other.hash_seed == hash_seed and not kept.living
        if other.owner == setup.owner and (outdated or not kept.is_alive):
            _kept.pop(other).close()
    if setup not in _kept:
        _kept[setup] = Nursery(setup.path, hash_seed)
    return _kept[setup]


@atexit.register
def _close_all() -> None:
    for setup, kept in _kept.items():
        if setup.owner == os.getpid():
            kept.close()


def tend(handle: int) -> NoReturn:
    """Fork a child for every request that comes over the pipe, and say how children ended, until it is closed."""
    import grpo_gym.checks.child  # noqa: F401  # what every child needs

    os.set_inheritable(handle, False)
    pipe = Connection(handle)
    living: set[int] = set()
    gc.collect()
    gc.freeze()  # what is never collected is never copied
    while True:
        try:
            first, second = pipe.recv()
            if isinstance(first, int):
                pipe.send(_wait(first, second, living))
                continue
            socket = recv_handle(pipe)
            pid = os.fork()
            if pid == 0:
                pipe.close()
                _live(socket, first, second)
            living.add(pid)
            os.close(socket)
            pipe.send(pid)
        except (EOFError, OSError):
            break
    for pid in living:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
    os._exit(0)


def _live(socket: int, folder: str, variables: dict[str, str]) -> NoReturn:
    """Be the child: alone in its session, in its folder, with nothing drawn from a random state that others share."""
    from grpo_gym.checks.child import serve

    code = 1
    try:
        os.setsid()
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(variables)
        importlib.invalidate_caches()
        if "numpy" in sys.modules:
            sys.modules["numpy"].random.seed()
        gc.unfreeze()
        serve(socket)
        code = 0
    finally:
        os._exit(code)


def _wait(pid: int, seconds: float, living: set[int]) -> int | None:
    """Return a child's exit code, None when it does not end in time."""
    end, pause = time.monotonic() + seconds, 0.0005
    while True:
        try:
            ended, status = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            return None
        if ended:
            living.discard(pid)
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() >= end:
            return None
        time.sleep(pause)
        pause = min(2 * pause, 0.02)
