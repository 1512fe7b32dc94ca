"""Closing a process in before it reads hostile text: it may change files in one folder, and reaches nobody.

    confinement = confine(scratch)      # in the child, when all imports are done
    if confinement.isolated: ...        # what was seen, not what was hoped

Python rewards of others read texts that a policy wrote, and some of them run those texts. `confine` takes from the
process that calls it what it does not need for scoring, by whatever this kernel offers, as root and as a plain user:

* **Landlock**: files are created, changed and deleted below `scratch` only (and `/dev/null` written). Reading is free.
* **seccomp**: no sockets but connected pairs; no modes, owners and times of files, which Landlock leaves alone; no
  debugging, mounting, new namespaces, keys, kernel modules.
* **namespaces**: a network without any device, its own process ids, message queues and `/dev/shm`.
* **limits**: memory, file size, open files, no core dumps; the environment variables are forgotten but a few.

Threads and child processes go on working, and die with the process. Then it tests itself: it tries to write to a file
outside and to connect to a listener, and only when both fail it calls itself isolated. A kernel that lacks a part is
no error: the tier says what holds. What stays possible: reading every file that this user may read, and using CPU;
whoever starts the process sets its deadline and kills its process group.
"""

from __future__ import annotations

import ctypes
import os
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from grpo_gym.checks import guard
from grpo_gym.isolation import kernel
from grpo_gym.isolation.refusals import refusals

KEPT_VARIABLES = {
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LANGUAGE", "TZ", "TMPDIR", "LD_LIBRARY_PATH",
    "VIRTUAL_ENV", "CUDA_VISIBLE_DEVICES",
}  # fmt: skip
"""Environment variables that stay, with those that begin with one of KEPT_PREFIXES; others may hold secrets."""

KEPT_PREFIXES = ("LC_", "PYTHON", "OMP_", "OPENBLAS_", "MKL_", "COVERAGE_")

MAX_FILES, MAX_PROCESSES = 256, 256


@dataclass(frozen=True)
class Confinement:
    """What holds for this process from now on.

    Attributes:
        tier: The means that work, e.g. "landlock+seccomp+namespaces", or "limits only".
        isolated: Whether writing outside the scratch folder and reaching a listener were tried and failed.
        found: What the self-test found, or what the kernel lacks; for people.
    """

    tier: str
    isolated: bool
    found: str

    def __str__(self) -> str:
        return f"{'isolated' if self.isolated else 'not isolated'} ({self.tier}): {self.found}"


def confine(scratch: Path, memory_bytes: int = 4 << 30, file_bytes: int = 64 << 20) -> Confinement:
    """Close this process in, for good. To be called from the main thread, when everything is imported.

    On Linux it goes on in a forked child: the process id changes, other threads are left behind, timers and watchdogs
    are to be set afterwards. The process that was called ends as the child ends. The starter should give it a session
    of its own (`start_new_session=True`) and kill that group.

    Args:
        scratch: An existing folder; the working and temporary folder from now on.
        memory_bytes: Memory that the process may map beyond what it has now.
        file_bytes: Size of the largest file it may write.

    Returns:
        What holds. A missing feature of the kernel is told, never raised.
    """
    scratch = scratch.resolve()
    if sys.platform != "linux":
        _settle_in(scratch)
        _limit(memory_bytes, file_bytes, processes=False)
        return Confinement("limits only", False, f"there is no isolation on {sys.platform}")
    lacks: list[str] = []
    held: list[str] = []
    guard.lead_own_group()
    report = guard.go_on_in_child() if guard.threads() > 1 else -1  # with threads there are no namespaces
    trap = _Trap(scratch.parent)
    writable = {scratch: kernel.IN_FOLDER, Path(os.devnull): kernel.IN_DEVICE}
    spaces = False
    with _told("namespaces", lacks):
        private = _enter_namespaces(file_bytes)
        spaces = True
        writable |= dict.fromkeys(private, kernel.IN_FOLDER)
        report = guard.go_on_in_child(report, (trap,))  # becomes the first process of the namespace
    os.close(guard.go_on_in_child(report, (trap,)))
    _settle_in(scratch)
    _limit(memory_bytes, file_bytes, processes=spaces)
    with suppress(OSError):
        kernel.drop_capabilities()
    version = 0
    with _told("Landlock", lacks):
        version = kernel.restrict_files(writable)
        held.append("landlock")
    with _told("seccomp", lacks):
        kernel.refuse_calls(refusals(spaces, signals_scoped=version >= kernel.SIGNALS_SCOPED))
        held.append("seccomp")
    held += ["namespaces"] * spaces
    return _verdict(held, lacks, trap)


def _verdict(held: list[str], lacks: list[str], trap: _Trap) -> Confinement:
    tier = "+".join(held) or "limits only"
    leaks = trap.spring()
    trap.close()
    if leaks:
        return Confinement(tier, False, "; ".join(leaks + lacks))
    lacking = f"; without {'; '.join(lacks)}" if lacks else ""
    return Confinement(tier, True, f"it changes files in its scratch folder only and has no network{lacking}")


@contextmanager
def _told(what: str, lacks: list[str]) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        lacks.append(f"{what} ({error.strerror or error})")


def _settle_in(scratch: Path) -> None:
    """Work in the scratch folder, and forget environment variables, also where the kernel shows them."""
    os.chdir(scratch)
    for name in [n for n in os.environ if n not in KEPT_VARIABLES and not n.startswith(KEPT_PREFIXES)]:
        del os.environ[name]
    os.environ["TMPDIR"] = tempfile.tempdir = str(scratch)
    with suppress(OSError, IndexError, ValueError):
        kept = dict(os.environ)
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        start, end = int(fields[47]), int(fields[48])  # env_start and env_end, counted behind the process's name
        for name in kept:
            del os.environ[name]
        os.environ.update(kept)  # now they live elsewhere, and nothing points into the block that is cleared
        ctypes.memset(start, 0, end - start)


def _limit(memory_bytes: int, file_bytes: int, processes: bool) -> None:
    """Bound what the process may use."""
    try:
        import resource
    except ImportError:  # Windows
        return
    mapped = 0
    with suppress(OSError):
        mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: file_bytes,
        resource.RLIMIT_NOFILE: MAX_FILES,
        resource.RLIMIT_AS: mapped + memory_bytes,
    }
    if processes:  # outside a user namespace this would count the user's other processes; root is never counted
        limits[resource.RLIMIT_NPROC] = MAX_PROCESSES
    for kind, most in limits.items():
        hard = resource.getrlimit(kind)[1]
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        with suppress(OSError, ValueError):
            resource.setrlimit(kind, (least, least))


def _enter_namespaces(file_bytes: int) -> list[Path]:
    """Leave the network, process ids and message queues of the machine; return folders that are now private.

    Raises:
        OSError: This kernel or container forbids it.
    """
    user, group = os.geteuid(), os.getegid()
    inside = kernel.NEW_MOUNTS | kernel.NEW_NAME | kernel.NEW_IPC | kernel.NEW_IDS | kernel.NEW_NET
    try:
        kernel.syscall("unshare", kernel.NEW_USERS | inside)
    except OSError:
        if user != 0:
            raise
        kernel.syscall("unshare", inside)  # root may do so where user namespaces are switched off
    else:
        for name, line in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            with suppress(OSError):
                Path(f"/proc/self/{name}").write_text(line)
    shared = Path("/dev/shm")
    try:  # semaphores of `multiprocessing` live there
        kernel.syscall("mount", b"none", b"/", None, 1 << 18 | 1 << 14, None)  # MS_PRIVATE, MS_REC
        options = f"size={file_bytes},mode=1777".encode()
        kernel.syscall("mount", b"tmpfs", bytes(shared), b"tmpfs", 0b110, options)  # MS_NOSUID, MS_NODEV
    except OSError:
        return []
    return [shared]


class _Trap:
    """A file and a listener outside, made beforehand, at which the finished confinement is tried out.

    The file has no name any more, so that nothing is left behind; it is reached through `/proc`.
    """

    def __init__(self, folder: Path) -> None:
        self._file = self._listener = None
        for place in (str(folder), "/var/tmp", "/dev/shm", os.path.expanduser("~")):
            with suppress(OSError):
                self._file = tempfile.TemporaryFile(dir=place)  # noqa: SIM115  # closed by close()
                self._folder = place
                break
        with suppress(OSError):
            self._listener = socket.create_server(("127.0.0.1", 0))

    def close(self) -> None:
        """Close both."""
        for thing in (self._file, self._listener):
            if thing is not None:
                thing.close()

    def spring(self) -> list[str]:
        """Try to do harm; return what could be done, or why it cannot be told."""
        if self._file is None:
            return ["no folder outside can be written in the first place, so that nothing can be seen"]
        path, beside = f"/proc/self/fd/{self._file.fileno()}", os.path.join(self._folder, f".grpo-gym-{os.getpid()}")
        attempts = {
            "a file outside could be opened for writing": lambda: os.close(os.open(path, os.O_WRONLY)),
            "a file outside could be emptied": lambda: os.truncate(path, 0),
            "the mode of a file outside could be changed": lambda: os.chmod(path, 0o600),
            "a folder could be made outside": lambda: _make_folder(beside),
            "a listener on this machine could be reached": self._connect,
        }
        leaks = []
        for leak, attempt in attempts.items():
            with suppress(OSError):
                attempt()
                leaks.append(leak)
        return leaks

    def _connect(self) -> None:
        port = 9 if self._listener is None else self._listener.getsockname()[1]
        with socket.socket() as client, suppress(ConnectionRefusedError):  # a refusal also comes from somewhere
            client.settimeout(1)
            client.connect(("127.0.0.1", port))


def _make_folder(path: str) -> None:
    os.mkdir(path)
    os.rmdir(path)
