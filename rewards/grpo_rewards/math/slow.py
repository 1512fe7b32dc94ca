"""The slow path: worker processes for what takes calculus, with a deadline that works from any thread.

No signal is used in this process: a worker that is late is killed from here, and another started when it is needed. A
worker is lent to one caller at a time; when all are lent, callers wait. They end with this process, whether it closes
them (`close`), exits or is killed. On Windows there is no slow path: what needs it stays undecided.
"""

from __future__ import annotations

import atexit
import dataclasses
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from multiprocessing.connection import Connection

from grpo_rewards.math.guard import TooBigError, UndecidedError
from grpo_rewards.math.policy import Policy

CPU_LIMIT = 1.5
"""Seconds of processor time for one answer."""

WALL_LIMIT = 6.0
"""Seconds by the clock for one answer; more, because the machine may be busy with training."""

START_LIMIT = 60.0
"""Seconds a worker may take to load sympy on a busy machine."""

MAX_WORKERS = 2


class DeadlineError(TimeoutError):
    """An answer took longer than its limit; its worker was killed."""


class _Worker:
    """A process and our end of the pipe to it."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        path = [entry for entry in sys.path if isinstance(entry, str)]
        program = (
            f"import sys; sys.path[:] = {path!r}; from grpo_rewards.math.worker import serve; serve({theirs.fileno()})"
        )
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-c", program],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # Ctrl-C is for the parent alone
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        self.pipe = Connection(ours.detach())

    def receive(self, seconds: float) -> bytes:
        """Wait for a message. Raises DeadlineError when none comes, EOFError or OSError when the worker is gone."""
        end = time.monotonic() + seconds
        while not self.pipe.poll(max(0.0, min(1.0, end - time.monotonic()))):
            if time.monotonic() >= end:
                raise DeadlineError(f"no verdict within {seconds:g} s")
        return self.pipe.recv_bytes()

    def is_idle(self) -> bool:
        """Whether it lives and waits; the pipe of a dead one has an end of file to read."""
        return self.process.poll() is None and not self.pipe.poll()

    def end(self) -> None:
        """Kill the process now."""
        self.pipe.close()
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


class _Workers:
    """The workers of this process."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.idle: list[_Worker] = []
        self.all: set[_Worker] = set()
        self.lent = 0

    def ask(self, job: bytes) -> dict[str, object]:
        """Return a worker's reply. Raises DeadlineError, TooBigError, UndecidedError."""
        worker = self._take()
        try:
            worker.pipe.send_bytes(job)
            reply: dict[str, object] = json.loads(worker.receive(WALL_LIMIT))
        except (EOFError, OSError) as error:
            self._give_back(worker, ended=True)
            if isinstance(error, DeadlineError):
                raise
            late = worker.process.returncode == -signal.SIGPROF
            raise (
                DeadlineError(f"more than {CPU_LIMIT:g} s") if late else TooBigError("a worker died on it")
            ) from None
        except BaseException:
            self._give_back(worker, ended=True)
            raise
        self._give_back(worker, ended=False)
        return reply

    def close(self) -> None:
        """End all workers that are not at work."""
        with self.changed:
            workers, self.idle = self.idle, []
            self.all.difference_update(workers)
        for worker in workers:
            worker.end()

    def forget(self) -> None:
        """In a forked child: the workers are the parent's."""
        for worker in self.all:
            worker.pipe.close()
            worker.process.returncode = 0  # else Popen takes them for children of ours
        self.__init__()  # type: ignore[misc]

    def _take(self) -> _Worker:
        with self.changed:
            while self.lent >= MAX_WORKERS:
                self.changed.wait()
            self.lent += 1
            worker = self.idle.pop() if self.idle else None
        if worker is not None and worker.is_idle():
            return worker
        if worker is not None:
            self._discard(worker)
        return self._start()

    def _start(self) -> _Worker:
        try:
            worker = _Worker()
        except OSError as error:
            self._return_place()
            raise UndecidedError(f"no worker can be started: {error}") from None
        with self.changed:
            self.all.add(worker)
        try:
            worker.receive(START_LIMIT)
        except (EOFError, OSError):
            self._give_back(worker, ended=True)
            raise UndecidedError("a worker did not start") from None
        return worker

    def _give_back(self, worker: _Worker, ended: bool) -> None:
        if ended:
            self._discard(worker)
        with self.changed:
            if not ended:
                self.idle.append(worker)
        self._return_place()

    def _discard(self, worker: _Worker) -> None:
        with self.changed:
            self.all.discard(worker)
        worker.end()

    def _return_place(self) -> None:
        with self.changed:
            self.lent -= 1
            self.changed.notify()


_workers = _Workers()
atexit.register(_workers.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_workers.forget)


def decide(answer: str, reference: str, policy: Policy) -> bool:
    """Whether an answer is right, its calculus worked out in a worker process.

    Args:
        answer: The answer, folded and trimmed.
        reference: The reference, likewise.
        policy: What is accepted beyond equality.

    Raises:
        DeadlineError: When it took too long.
        TooBigError: When it took too much memory.
        UndecidedError: When it cannot be decided.
    """
    if sys.platform == "win32":
        raise UndecidedError("calculus needs POSIX")
    job = {"answer": answer, "reference": reference, "policy": dataclasses.asdict(policy), "seconds": CPU_LIMIT}
    reply = _workers.ask(json.dumps(job).encode())
    if "right" in reply:
        return bool(reply["right"])
    if reply.get("too_big"):
        raise TooBigError(str(reply["fault"]))
    raise UndecidedError(str(reply["fault"]))


def processes() -> list[int]:
    """Return the process ids of the workers that exist now."""
    with _workers.changed:
        return [worker.process.pid for worker in _workers.all]


def close() -> None:
    """End the idle workers; the next answer that needs one starts it again."""
    _workers.close()
