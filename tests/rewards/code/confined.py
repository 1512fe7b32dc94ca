"""Runs the judge's inner processes without the sandbox: bare interpreters that fork a child per run.

The modules are loaded as the judge loads them: in an interpreter without site packages, and without running the package
above them.
"""

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from grpo_rewards.code import confined
from grpo_rewards.code.confined.channel import Channel

SERVER = """
import os, resource, signal, socket, sys, types
root, fd = sys.argv[1], int(sys.argv[2])
for name in ("grpo_rewards", "grpo_rewards.code"):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = []
sys.modules["grpo_rewards.code"].__path__ = [root]
import grpo_rewards.code.confined.solution, grpo_rewards.code.confined.stdio
if sys.argv[3] == "tests":
    import grpo_rewards.code.confined.examiner, grpo_rewards.code.confined.checker
sys.path[:0] = sys.argv[4:]
if sys.argv[4:]:
    import numpy
import gc
gc.collect(); gc.freeze()
server = socket.socket(fileno=fd)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
while True:
    kind, fds, _, _ = socket.recv_fds(server, 16, 5)
    if not kind:
        break
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for at, fd in enumerate(fds):
            os.dup2(fd, 100 + at)
        for at in range(len(fds)):
            os.dup2(100 + at, at)
        os.closerange(len(fds), 256)
        resource.setrlimit(resource.RLIMIT_CPU, (10, 10))
        resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31))
        calls = 4 if len(fds) > 4 else None
        if kind == b"tests":
            from grpo_rewards.code.confined.examiner import examine
            examine(3, calls)
        else:
            from grpo_rewards.code.confined.solution import serve
            serve(3, calls)
        os._exit(0)
    for fd in fds:
        os.close(fd)
    server.send(str(pid).encode())
"""


class Zygote:
    """A bare interpreter that has loaded the modules of one side and forks a child per run."""

    def __init__(self, kind: str, paths: tuple[str, ...] = ()) -> None:
        self.kind = kind
        self.lock = threading.Lock()
        self.socket, other = socket.socketpair()
        root = Path(confined.__file__).parents[1]
        command = [sys.executable, "-I", "-S", "-c", SERVER, str(root), str(other.fileno()), kind, *paths]
        self.process = subprocess.Popen(command, pass_fds=[other.fileno()], env={"OPENBLAS_NUM_THREADS": "1"})
        other.close()

    def fork(self, fds: list[int]) -> int:
        """Start a run on these descriptors: 0, 1, 2, 3 and, where there are two sides, 4."""
        with self.lock:
            socket.send_fds(self.socket, [self.kind.encode()], fds)
            return int(self.socket.recv(16))

    def close(self) -> None:
        """End the interpreter."""
        self.socket.close()
        self.process.wait(10)


class Side:
    """One running child: its control channel, its output and its process."""

    def __init__(self, zygote: Zygote, calls: int | None = None, stdin: bytes = b"") -> None:
        mine, theirs = socket.socketpair()
        self.read_end, write_end = os.pipe()
        input_end, feed = os.pipe()
        null = os.open(os.devnull, os.O_RDWR)
        self.pid = zygote.fork([input_end, write_end, null, theirs.fileno(), *([] if calls is None else [calls])])
        for fd in (write_end, input_end, null):
            os.close(fd)
        theirs.close()
        os.write(feed, stdin[:60_000])
        os.close(feed)
        self.control = Channel(mine.detach(), blocking=False)

    def ask(self, message: Any, seconds: float = 20.0) -> Any:
        """Send a message on the control channel and return the reply."""
        self.control.send(message)
        return self.reply(seconds)

    def reply(self, seconds: float = 20.0) -> Any:
        return self.control.receive(deadline=time.monotonic() + seconds)

    def output(self, seconds=20.0) -> str:
        """What the child wrote until it ended."""
        parts = []
        while select.select([self.read_end], [], [], seconds)[0]:
            part = os.read(self.read_end, 1 << 16)
            if not part:
                break
            parts.append(part)
        return b"".join(parts).decode()

    def hang_up(self) -> None:
        """Close the control channel, at which the child ends by itself."""
        if self.control.fd >= 0:
            os.close(self.control.fd)
            self.control.fd = -1

    def close(self) -> None:
        """End the child."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        self.hang_up()
        os.close(self.read_end)


class Pair:
    """The two interpreters, and runs of tests against solutions in children of them."""

    def __init__(self) -> None:
        self.solutions, self.examiners = Zygote("solution"), Zygote("tests")

    def run(self, code: str, tests: str, **job: Any) -> dict[str, Any]:
        """Judge a solution; returns the reply of the tests' process."""
        mine, theirs = socket.socketpair()
        solution, examiner = Side(self.solutions, mine.fileno()), Side(self.examiners, theirs.fileno())
        mine.close()
        theirs.close()
        try:
            solution.control.send({"mode": "asserts", "code": code, "given": job.get("given", "")})
            return dict(examiner.ask({"mode": "asserts", "tests": tests, **job}))
        finally:
            solution.close()
            examiner.close()

    def examine(self, frames: bytes, tests: str, **job: Any) -> dict[str, Any]:
        """Run tests against a process that writes these bytes and then reads until the tests are done."""
        mine, theirs = socket.socketpair()
        examiner = Side(self.examiners, theirs.fileno())
        theirs.close()
        try:
            mine.sendall(frames[:100_000])
            examiner.control.send({"mode": "asserts", "tests": tests, **job})
            with contextlib.suppress(OSError):  # the tests may have had enough
                mine.sendall(frames[100_000:])
                mine.shutdown(socket.SHUT_WR)
            return dict(examiner.reply())
        finally:
            mine.close()
            examiner.close()

    def close(self) -> None:
        """End the interpreters."""
        self.solutions.close()
        self.examiners.close()


def programs(file: str) -> dict[str, dict[str, Any]]:
    """The programs of a table beside this file: name -> "solution", "tests" and the fields of the job."""
    found: dict[str, dict[str, Any]] = {}
    for part in (Path(__file__).parent / file).read_text().split("\n=== ")[1:]:
        head, *sections = part.split("\n--- ")
        name, _, option = head.partition(" | ")
        found[name] = dict(section.split("\n", 1) for section in sections)
        if option:
            key, value = option.split()
            found[name][key] = True if value == "true" else value
    return found


def accepted(reply: dict[str, Any]) -> bool:
    """Whether the caller would believe that every test passed."""
    clean = not reply["failed"] and not {"gone", "broken", "error"} & reply.keys()
    return clean and reply["passed"] >= 1 and reply["consulted"] >= 1
