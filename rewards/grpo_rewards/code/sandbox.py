"""The caller's end of one zygote: starts it, has it fork children, and sees to it that nothing is left of any run."""

from __future__ import annotations

import array
import fcntl
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import grpo_gym.isolation
from grpo_rewards.code import confined
from grpo_rewards.code.clock import Clock
from grpo_rewards.code.confined import zygote as orders

Tier = Literal["namespaces", "landlock", "none"]

START_S, STOP_S = 60.0, 20.0
"""Seconds that a zygote may take to start, and to kill and reap a child, on the busiest machine."""

_FAKE_PACKAGES = """
import sys, types, json
config = json.loads(sys.argv[1])
for name, folder in config["folders"].items():
    package = sys.modules[name] = types.ModuleType(name)
    package.__path__ = [folder]
from grpo_rewards.code.confined.zygote import main
main(config)
"""
"""Starts a zygote without running the packages' own __init__: it must stay small, since every run forks it."""

_PREFIX, _SETTLED_S = "grpo-judge-", 60.0
"""How scratch folders are called, and the age at which one that nobody holds is a dead judge's."""

_ENVIRONMENT = {
    "PATH": "/usr/bin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8", "TZ": "UTC", "PYTHONHASHSEED": "0",
    "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1",
}  # fmt: skip
"""All that a child's environment holds: no secret, one order of sets, one thread of linear algebra."""

_COMMON = [
    "abc",
    "array",
    "bisect",
    "cmath",
    "collections",
    "collections.abc",
    "contextlib",
    "copy",
    "dataclasses",
    "datetime",
    "decimal",
    "enum",
    "fractions",
    "functools",
    "heapq",
    "io",
    "itertools",
    "json",
    "math",
    "numbers",
    "operator",
    "os",
    "random",
    "re",
    "string",
    "sys",
    "time",
    "types",
    "typing",
]
_OURS = {
    orders.SOLUTION: ("solution", "stdio", "remote", "metrics", "probe"),
    orders.EXAMINER: ("examiner", "checker", "probe"),
}


Open = Callable[[int], "Sandbox"]
"""Returns a sandbox that is free for one more run, for a role."""


class WorkerLost(Exception):
    """A zygote is gone, or does not answer: no fault of a solution as far as one can tell."""


@dataclass
class Ended:
    """How a child ended.

    Attributes:
        status: As `os.wait` gives it.
        cpu_s: Seconds of CPU that it used.
        memory: Its largest resident set, in bytes.
    """

    status: int
    cpu_s: float
    memory: int

    @property
    def signal(self) -> int:
        """The signal that ended it, or 0."""
        return os.WTERMSIG(self.status) if os.WIFSIGNALED(self.status) else 0

    @property
    def code(self) -> int:
        """Its exit code; -1 when a signal ended it."""
        return os.WEXITSTATUS(self.status) if os.WIFEXITED(self.status) else -1


@dataclass(frozen=True)
class Allowance:
    """What a child may use at most, in the kernel's coarse terms; the judge's own limits are finer.

    Attributes:
        cpu_s: Whole seconds of CPU.
        memory: Bytes of memory beyond the interpreter's.
        file: Bytes of one file.
    """

    cpu_s: int = 60
    memory: int = 512 << 20
    file: int = 24 << 20


class Sandbox:
    """One zygote. Not for several threads at once.

    Args:
        role: Which program its children run (`confined.zygote.SOLUTION` or `EXAMINER`).
        tier: How they are closed in.
        packages: Importable packages beyond the standard library that they are to have.

    Attributes:
        used: Whether anything ran in it.

    Raises:
        OSError: The tier cannot be entered here; the message says why.
    """

    def __init__(self, role: int, tier: Tier, packages: Sequence[str] = ()) -> None:
        self.role, self.tier = role, tier
        self._clock: Clock | None = None
        self._starting = self._stopping = self.used = False
        self._ended = Ended(0, 0.0, 0)
        self._scratch, self._hold = _held_folder() if tier != "namespaces" else ("", -1)
        self._control, theirs = socket.socketpair()
        config = _config(role, tier, packages, theirs.fileno(), self._scratch)
        command = [sys.executable, "-s", "-S", "-P", "-B", "-X", "utf8", "-c", _FAKE_PACKAGES, json.dumps(config)]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()], env=_ENVIRONMENT, start_new_session=True, cwd="/",
        )  # fmt: skip
        theirs.close()
        self._control.settimeout(START_S)
        try:
            hello = json.loads(self._read(struct.unpack(">I", self._read(4))[0]))
        except WorkerLost as lost:
            self.close()
            raise OSError(f"the judge's helper process did not start: {lost}") from None
        if "error" in hello:
            self.close()
            raise OSError(hello["error"])
        self._control.settimeout(STOP_S)

    @property
    def process_ids(self) -> list[int]:
        """The zygote's outer process and the running child, for tests."""
        return [self._process.pid] + ([self._clock.process] if self._clock and self._clock.process else [])

    def start(self, descriptors: dict[int, int], allowance: Allowance, role: int | None = None) -> None:
        """Begin a run, without waiting for it to begin.

        Args:
            descriptors: Slot (0, 1, 3 or 4) -> the caller's descriptor, which stays the caller's to close.
            allowance: What the kernel lets it use.
            role: Another program than this zygote's own.

        Raises:
            WorkerLost: The zygote is gone, or could not end the run before.
        """
        self._settle()
        slots = sum(1 << orders.SLOTS.index(slot) for slot in descriptors)
        order = orders.ORDER.pack(
            orders.RUN, slots, self.role if role is None else role,
            allowance.cpu_s, allowance.memory, allowance.file,
        )  # fmt: skip
        given = array.array("i", [descriptors[slot] for slot in orders.SLOTS if slot in descriptors])
        self.used = True
        self._tell(order, [(socket.SOL_SOCKET, socket.SCM_RIGHTS, given)])
        self._starting = True

    def clock(self) -> Clock:
        """Return the clock of the running child. Raises WorkerLost: the zygote could not start it."""
        if self._starting:
            self._clock = self._started()
        assert self._clock is not None, "nothing was started"
        return self._clock

    def stop(self) -> None:
        """Kill the child that was started, with all that it left, without waiting for it. Raises WorkerLost."""
        self._drop_clock()
        self._tell(orders.ORDER.pack(orders.STOP, 0, 0, 0, 0, 0), [])
        self._stopping = True

    def ended(self) -> Ended:
        """Say how the child that was stopped ended. Raises WorkerLost."""
        self._settle()
        return self._ended

    def _settle(self) -> None:
        """Read the answers that are due."""
        if self._starting:
            self._clock = self._started()
        if self._stopping:
            status, user, system, memory = orders.ENDED.unpack(self._read(orders.ENDED.size))
            self._ended = Ended(status, user + system, memory)
            self._stopping = False
            self._drop_clock()

    def _started(self) -> Clock:
        try:
            answer, ancillary, _, _ = self._control.recvmsg(orders.STARTED.size, socket.CMSG_SPACE(4))
        except OSError as error:
            raise WorkerLost(f"the zygote does not answer: {error}") from None
        handles = array.array("i")
        for _, _, data in ancillary:
            handles.frombytes(data[: len(data) - len(data) % handles.itemsize])
        if len(answer) < orders.STARTED.size:
            raise WorkerLost("the zygote is gone")
        self._starting = False
        _, failure = orders.STARTED.unpack(answer)
        if failure:
            raise WorkerLost(f"the zygote cannot start a child: {os.strerror(failure)}")
        return Clock(handles[0] if handles else None)

    def _tell(self, order: bytes, ancillary: list[tuple[int, int, array.array[int]]]) -> None:
        try:
            self._control.sendmsg([order], ancillary)
        except OSError as error:
            raise WorkerLost(f"the zygote is gone: {error}") from None

    def _drop_clock(self) -> None:
        if self._clock is not None:
            self._clock.close()
            self._clock = None

    def close(self) -> None:
        """End the zygote and everything below it; wait until it is gone."""
        self._drop_clock()
        self._control.close()  # which it takes as the order to end
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        if self._scratch:
            shutil.rmtree(self._scratch, ignore_errors=True)
            os.close(self._hold)
            self._scratch = ""

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            try:
                chunk = self._control.recv(size - len(data))
            except OSError as error:
                raise WorkerLost(f"the zygote does not answer: {error}") from None
            if not chunk:
                raise WorkerLost("the zygote is gone")
            data += chunk
        return data


def _held_folder() -> tuple[str, int]:
    """Make a folder and lock it as long as this process lives; remove those whose owners were killed.

    Returns:
        Its path, and the descriptor that holds the lock.
    """
    for left in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _SETTLED_S:
                hold = os.open(left, os.O_RDONLY | os.O_DIRECTORY)
                try:
                    fcntl.flock(hold, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(left, ignore_errors=True)
                finally:
                    os.close(hold)
    folder = tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-")
    hold = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    fcntl.flock(hold, fcntl.LOCK_EX)
    return folder, hold


def _config(role: int, tier: Tier, packages: Sequence[str], control: int, scratch: str) -> dict[str, Any]:
    found = {name: spec for name in packages if (spec := find_spec(name)) is not None}
    places = [Path(folder) for spec in found.values() for folder in spec.submodule_search_locations or ()]
    libraries = [path.with_name(f"{path.name}.libs") for path in places]
    here = Path(confined.__path__[0])
    return {
        "control": control,
        "tier": tier, "scratch": scratch,
        "readable": [str(path) for path in (*_standard_library(), *places, *libraries) if path.exists()],
        "listed": [str(folder) for folder in _module_folders()],
        "sites": sorted({str(path.parent) for path in places}),
        "packages": list(found),
        "modules": [*_COMMON, *(f"{confined.__name__}.{name}" for name in _OURS[role])],
        "folders": {
            "grpo_gym": str(Path(grpo_gym.isolation.__path__[0]).parent),
            "grpo_gym.isolation": grpo_gym.isolation.__path__[0],
            "grpo_rewards": str(here.parents[1]),
            "grpo_rewards.code": str(here.parent),
            "grpo_rewards.code.confined": str(here),
        },
    }  # fmt: skip


def _standard_library() -> list[Path]:
    """Return what Python needs to read at run time: its own modules without installed packages, shared libraries."""
    folders = _module_folders()
    modules = [p for folder in folders for p in folder.iterdir() if p.name not in ("site-packages", "dist-packages")]
    triplet = sysconfig.get_config_var("MULTIARCH") or ""
    shared = [Path(base) / triplet for base in ("/lib", "/usr/lib")] if triplet else [Path("/usr/lib")]
    shared += [Path("/lib64"), Path("/usr/lib64"), Path("/usr/share/zoneinfo")]
    own = [p for folder in folders for p in folder.parent.glob("*.so*")]
    return [*modules, *shared, *own]


def _module_folders() -> list[Path]:
    return sorted({Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib")})
