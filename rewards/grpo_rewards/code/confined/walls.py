"""What closes a child in before it reads a line of foreign code.

Landlock: it reads the standard library and writes in its scratch folder, nothing else. Seccomp: no new process, no
program, no socket, no signal to anyone but itself, nothing that Landlock overlooks (modes, owners, times). Limits: CPU,
memory, sizes and numbers of files, threads.

What a zygote can live with itself is put in force there, once, and inherited: a fork then costs no more for it. Only
what the zygote needs (forking, killing, wiping a folder) is taken from each child, by a second, short filter.
"""

from __future__ import annotations

import errno
import os
import resource
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from grpo_gym.isolation import kernel
from grpo_gym.isolation.kernel import Refusal
from grpo_gym.isolation.refusals import refusals

STACK = 256 << 20
"""Bytes that the stack of the main thread may grow to: honest recursion is deep."""

ROOM_FOR_THREADS = 256 << 20
"""Bytes of address space beyond the memory limit: stacks of threads are mapped long before they are used."""

MAX_FILES, MAX_TASKS = 64, 64
"""Open files; threads of one child."""

MAX_TIMERS = 256
"""Timers and queued signals, which the kernel counts by user."""

_REACHES_OUT = """
fanotify_init inotify_init inotify_init1 io_setup memfd_create memfd_secret mknod mknodat modify_ldt personality
pidfd_send_signal rt_sigqueueinfo rt_tgsigqueueinfo sync syncfs tkill
"""
"""Memory that no limit counts, what the machine shares, watching files outside, devices, signals by other doors."""

_RANKS = "ioprio_set sched_setaffinity sched_setattr sched_setparam sched_setscheduler setpriority"
"""Change the rank of groups, or of all that a user runs; a run that ranks itself last is never seen to use its time."""

_SIGNALLING_FILES = [("fcntl", 8), ("fcntl", 15), ("ioctl", 0x8901), ("ioctl", 0x8902)]
"""F_SETOWN, F_SETOWN_EX, FIOSETOWN, SIOCSPGRP: whom a file signals."""

_UNIX, _UNSHARE = 1, 2
"""AF_UNIX, CLOSE_RANGE_UNSHARE."""

_THREAD = kernel.CLONE_THREAD | 0x400  # CLONE_FILES: one table of open files, and one limit for it
"""What a new thread must share with the others."""

_ZYGOTE_NEEDS = "chmod fchmod fchmodat fchmodat2"
_NO_PROCESSES = "execve execveat fork vfork"

_OWN_PID = 0x7EADBEEF
"""Stands in the prepared filter for the process id of the child, which only the child knows."""

_DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")


def close_in_zygote(readable: Sequence[str], listed: Sequence[str], scratch: str) -> None:
    """Put in force for this process and all its children what the zygote can live with.

    Args:
        readable: Files and folders that may be read.
        listed: Folders whose names may be listed, though not all that lies below may be read.
        scratch: The folder that may be written.

    Raises:
        OSError: The kernel lacks Landlock or seccomp.
    """
    rules = kernel.file_rules(_rights(readable, listed, scratch), bound_reading=True)
    kernel.keep_file_rules(rules)
    os.close(rules)
    needed = set(_ZYGOTE_NEEDS.split())
    refused = [refusal for refusal in refusals(spaces=False, signals_scoped=True) if refusal.call not in needed]
    refused += [Refusal(call) for call in (_REACHES_OUT + _RANKS).split()]
    refused += [Refusal(call, argument=1, value=value) for call, value in _SIGNALLING_FILES]
    refused += [
        Refusal("socketpair", argument=0, value=_UNIX, equal=False),  # the kernel loads modules for other families
        Refusal("fallocate", errno.EOPNOTSUPP),  # takes space faster than anybody can look; libraries write instead
        Refusal("close_range", argument=2, mask=_UNSHARE, value=_UNSHARE),  # a table of open files for each thread
    ]
    kernel.refuse_calls(refused)


def limit_zygote(tasks: int) -> None:
    """Put in force for this process and all its children what is the same for every run.

    Args:
        tasks: Threads that the children's user may have.
    """
    bounds = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: MAX_FILES,
        resource.RLIMIT_NPROC: tasks,
        resource.RLIMIT_STACK: STACK,
    }
    if sys.platform == "linux":
        bounds[resource.RLIMIT_SIGPENDING] = MAX_TIMERS
    for kind, most in bounds.items():
        _lower(kind, most)


class Walls:
    """What each child adds for itself.

    Args:
        user: The user and group id that children take; None keeps the zygote's.
        filtered: Whether seccomp is to be used.
        dies_along: Whether a child must be told to end with the zygote; one in its namespace does so anyway.
    """

    def __init__(self, user: int | None, filtered: bool, dies_along: bool) -> None:
        self.user, self._dies_along = user, dies_along
        self.mapped = _mapped_bytes()
        self._filter = kernel.PreparedFilter(_refused(), _OWN_PID) if filtered else None

    def close_in(self) -> None:
        """Give up powers and calls for good. Raises OSError: nothing foreign may run then."""
        if self.user is not None:
            with suppress(PermissionError):  # a namespace mapped without root has no groups to give up
                os.setgroups([])
            os.setresgid(self.user, self.user, self.user)
            os.setresuid(self.user, self.user, self.user)  # takes the capabilities along
        elif self._filter is not None:
            kernel.drop_capabilities(kept=0)
        if self._dies_along:
            with suppress(OSError):  # other systems than Linux, in the tier that promises nothing
                kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
        if self._filter is not None:
            self._filter.keep(os.getpid())

    def limit(self, cpu_s: int, memory: int, file: int) -> None:
        """Put the limits of one run in force for this process; it can only lower them.

        Args:
            cpu_s: Seconds of CPU after which the kernel ends it; the judge's own limit is finer and lower.
            memory: Bytes of address space beyond what the zygote has mapped.
            file: Bytes of the largest file it may write.
        """
        _lower(resource.RLIMIT_CPU, cpu_s)
        _lower(resource.RLIMIT_FSIZE, file)
        _lower(resource.RLIMIT_AS, self.mapped + memory + ROOM_FOR_THREADS)


def _lower(kind: int, most: int) -> None:
    try:
        resource.setrlimit(kind, (most, most))
    except (ValueError, OSError):  # the hard one is lower already; or macOS, which knows no limit of address space
        hard = resource.getrlimit(kind)[1]
        with suppress(ValueError, OSError):
            resource.setrlimit(kind, (hard, hard))


def _refused() -> list[Refusal]:
    """Return the system calls that a child is refused and the zygote is not."""
    return [
        *(Refusal(call) for call in f"{_NO_PROCESSES} {_ZYGOTE_NEEDS}".split()),
        Refusal("clone", argument=0, mask=_THREAD, value=_THREAD, equal=False),
        Refusal("kill", argument=0, value=_OWN_PID, equal=False),
        Refusal("tgkill", argument=0, value=_OWN_PID, equal=False),
        Refusal("kill", argument=1, value=signal.SIGKILL),  # so that it means: somebody else did it
        Refusal("tgkill", argument=2, value=signal.SIGKILL),
    ]


def _mapped_bytes() -> int:
    """Return the address space that this process has mapped; a guess where /proc is not to be had."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except (OSError, ValueError):
        return 512 << 20


def _rights(readable: Sequence[str], listed: Sequence[str], scratch: str) -> dict[Path, int]:
    rights = {Path(folder): kernel.READ_NAMES for folder in listed if os.path.isdir(folder)}
    for name in readable:
        path = Path(name)
        if path.exists():
            rights[path] = kernel.READ_FOLDER if path.is_dir() else kernel.READ_FILE
    for name in _DEVICES:
        if os.path.exists(name):
            rights[Path(name)] = kernel.READ_FILE | kernel.IN_DEVICE * (name == "/dev/null")
    rights[Path(scratch)] = kernel.READ_FOLDER | kernel.IN_FOLDER
    return rights


def tasks_beside() -> int:
    """Return how many threads this user runs: where no namespace counts apart, they count against the limit."""
    tasks = 0
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if name.isdigit():
            with suppress(OSError):
                if os.stat(f"/proc/{name}").st_uid == os.getuid():
                    tasks += len(os.listdir(f"/proc/{name}/task"))
    return tasks
