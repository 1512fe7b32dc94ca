"""Worker processes and who holds which: up to a limit of them, lent to one batch for one answer at a time."""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from contextlib import suppress
from multiprocessing.connection import Connection

from grpo_gym.pool.serve import pack_job

START_LIMIT = 120.0
"""Seconds a worker may take to import what it needs, on a busy machine."""

IO_LIMIT = 10
"""Seconds a read or write on a pipe may block, e.g. because the worker was stopped in the middle of a message."""

PATIENCE = 0.1
"""Seconds until a batch that lacks workers looks again whether another thread gave one back."""

CLOSE_LIMIT = 2.0
"""Seconds that idle workers have to end by themselves before they are killed."""


_SIGNALS = {known.value: known.name for known in signal.Signals}


class Worker:
    """A process and our end of the pipe to it.

    Attributes:
        ready: Whether it has said that it is up.
        reward: The packed reward that it holds.
        job: The job it works on.
        deadline: When it must have said something, on the monotonic clock.
    """

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            ours.setsockopt(socket.SOL_SOCKET, option, struct.pack("ll", IO_LIMIT, 0))
        path = [entry for entry in sys.path if isinstance(entry, str)]
        program = f"import sys; sys.path[:] = {path!r}; from grpo_gym.pool.serve import serve; serve({theirs.fileno()})"
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-c", program],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # Ctrl-C is for the parent alone, and the whole group can be killed
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        self.pipe = Connection(ours.detach())
        self.ready = False
        self.reward: bytes | None = None
        self.job = -1
        self.deadline = time.monotonic() + START_LIMIT

    def send(self, reward: bytes, answer: bytes, limit: float) -> None:
        """Ask for one answer to be scored. Raises OSError when the worker is gone."""
        self.pipe.send_bytes(pack_job(None if reward == self.reward else reward, answer, limit))
        self.reward = reward
        self.deadline = time.monotonic() + limit

    def is_waiting(self) -> bool:
        """Whether it waits for a job; a dead one's pipe has an end of file to read."""
        return self.process.poll() is None and not self.pipe.poll()

    def kill(self) -> None:
        """End the process, and what it started, now."""
        self.pipe.close()
        if self.process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=IO_LIMIT)

    def fate(self) -> str:
        """Say how the process ended."""
        code = self.process.returncode
        if code is None:
            return "it does not end"
        return f"exit code {code}" if code >= 0 else f"signal {_SIGNALS.get(-code, -code)}"


class Workers:
    """Up to `limit` workers, started when they are first needed."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._all: set[Worker] = set()
        self._starting = 0
        self._idle: list[Worker] = []
        self._changed = threading.Condition()

    def take(self, fresh: bool) -> Worker | None:
        """Return a worker, a new one if asked, or None when all are lent. Raises OSError when none can be started."""
        while True:
            with self._changed:
                room = len(self._all) + self._starting < self.limit
                start = room and (fresh or not self._idle)
                worker = self._idle.pop() if self._idle and not start else None
                self._starting += start
            if start:
                return self._start()
            if worker is None or (worker.is_waiting() and not fresh):
                return worker
            self.discard(worker)

    def processes(self) -> list[int]:
        """Return the process ids of all workers."""
        with self._changed:
            return [worker.process.pid for worker in self._all]

    def give_back(self, worker: Worker) -> None:
        """Return a worker that has finished its job."""
        with self._changed:
            self._idle.append(worker)
            self._changed.notify()

    def discard(self, worker: Worker) -> None:
        """Kill a worker; another may be started in its place."""
        worker.kill()
        with self._changed:
            self._all.discard(worker)
            self._changed.notify()

    def wait_for_one(self) -> None:
        """Wait a moment for another thread to give a worker back."""
        with self._changed:
            if not self._idle:
                self._changed.wait(PATIENCE)

    def close(self) -> None:
        """End all workers: each closes its reward when it sees the closed pipe, and is killed when that takes long."""
        with self._changed:
            workers, self._all, self._idle = list(self._all), set(), []
        for worker in workers:
            worker.pipe.close()
        end = time.monotonic() + CLOSE_LIMIT
        for worker in workers:
            with suppress(subprocess.TimeoutExpired):
                worker.process.wait(timeout=max(0.0, end - time.monotonic()))
            worker.kill()

    def forget(self) -> None:
        """In a forked child: drop our copies of the pipes; the processes belong to the parent."""
        for worker in self._all:
            worker.pipe.close()
            worker.process.returncode = 0  # else Popen takes them for children of ours

    def _start(self) -> Worker:
        try:
            worker = Worker()
            with self._changed:
                self._all.add(worker)
            return worker
        finally:
            with self._changed:
                self._starting -= 1
