"""The self-check of a tier: a closed-in child tries to do harm, and says what worked. Nothing foreign runs in it."""

from __future__ import annotations

import ctypes
import functools
import os
import signal
import socket
from collections.abc import Callable, Mapping
from typing import Any

from grpo_rewards.code.confined.channel import Channel


def report(control_fd: int, calls_fd: int) -> None:
    """Answer one job on the control channel: which attempts to do harm worked, and which honest work did not.

    The job: {"read": files outside, "write": folders outside, "tcp": port, "abstract": name of a listening socket,
    "secret": a text that no environment variable may hold}.
    """
    channel = Channel(control_fd)
    job = channel.receive()
    leaks = [what for what, attempt in _harm(job).items() if _works(attempt)]
    lacks = [what for what, attempt in _work().items() if not _works(attempt)]
    channel.send({"leaks": leaks, "lacks": lacks})


def _harm(job: Mapping[str, Any]) -> dict[str, Callable[[], object]]:
    libc = ctypes.CDLL(None, use_errno=True)
    harm: dict[str, Callable[[], object]] = {
        "a process could be forked": lambda: _child(os.fork),
        "a process could be forked by C": lambda: _child(libc.fork),
        "a program could be started": lambda: os.posix_spawn("/bin/true", ["true"], {}),
        "the parent could be signalled": lambda: os.kill(os.getppid(), signal.SIGCONT),
        "every process could be signalled": lambda: os.kill(-1, 0),
        "a listener on this machine could be reached": lambda: _connect(socket.AF_INET, ("127.0.0.1", job["tcp"])),
        "a local socket could be reached": lambda: _connect(socket.AF_UNIX, "\0" + job["abstract"]),
        "shared memory could be made": lambda: _no_error(libc.shmget(0x47525031, 4096, 0o1600)),
        "memory that no limit counts could be made": lambda: os.memfd_create("x"),
        "the environment holds a secret": lambda: _found(job["secret"], "".join(os.environ.values())),
    }
    for path in job["read"]:
        harm[f"{os.path.basename(path)} could be read"] = functools.partial(_read, path)
    for number, folder in enumerate(job["write"], 1):
        harm[f"a folder could be made outside ({number})"] = functools.partial(_make_folder, folder)
    return harm


def _work() -> dict[str, Callable[[], object]]:
    return {
        "importing a module": lambda: __import__("colorsys"),
        "writing in the scratch folder": _write_file,
        "starting a thread": _run_thread,
        "a pair of sockets": _make_pair,
    }


def _works(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except (OSError, ImportError, RuntimeError, MemoryError):
        return False
    return True


def _child(fork: Callable[[], int]) -> None:
    process = fork()
    if process == 0:
        os._exit(0)
    if process < 0:
        raise OSError("refused")
    os.waitpid(process, 0)


def _connect(family: int, address: object) -> None:
    with socket.socket(family) as client:
        client.settimeout(1)
        client.connect(address)  # type: ignore[arg-type]


def _no_error(result: int) -> None:
    if result < 0:
        raise OSError("refused")


def _found(secret: str, text: str) -> None:
    if secret not in text:
        raise OSError("not found")


def _read(path: str) -> None:
    os.close(os.open(path, os.O_RDONLY))


def _make_folder(folder: str) -> None:
    path = os.path.join(folder, f".probe-{os.getpid()}")
    os.mkdir(path)
    os.rmdir(path)


def _make_pair() -> None:
    for end in socket.socketpair():
        end.close()


def _write_file() -> None:
    import tempfile

    tempfile.TemporaryFile().close()


def _run_thread() -> None:
    import threading

    thread = threading.Thread(target=int)
    thread.start()
    thread.join()
