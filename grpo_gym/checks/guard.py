"""Going on in a forked child while the process that called stays behind as a guard, and ends as the child ends.

The guard does nothing but wait. It ends everything when its own parent is gone, even when that was killed and could say
nothing, and it kills what the child leaves running. It says how the child ended by ending the same way.
"""

from __future__ import annotations

import os
import random
import select
import signal
import struct
import sys
import warnings
from collections.abc import Iterable
from contextlib import suppress
from typing import NoReturn, Protocol

from grpo_gym.isolation import kernel

PATIENCE = 1000
"""Milliseconds after which a guard looks around though nothing was reported: where a kernel has no process handles."""


class Closable(Protocol):
    """Something that the guard need not keep open."""

    def close(self) -> None:
        """Close it."""


def lead_own_group() -> None:
    """Make this process the leader of a process group, so that the whole group can be killed with it."""
    if os.getpgrp() != os.getpid():
        os.setpgid(0, 0)


def go_on_in_child(report: int = -1, unneeded: Iterable[Closable] = ()) -> int:
    """Fork and return in the child only, without other threads; the caller becomes its guard and never returns.

    Args:
        report: Where this process, as a guard, says how the child ended: what an earlier call returned.
        unneeded: What the guard need not keep open.

    Returns:
        The file descriptor to hand on as `report`; the process that does not fork again closes it.
    """
    parent, guard, dice = os.getppid(), os.getpid(), random.getstate()
    reading, writing = os.pipe()
    with suppress(OSError):
        kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # "multi-threaded, may deadlock": the others are idle pools
        child = os.fork()
    if child == 0:
        with suppress(OSError):
            kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() not in (guard, 0):  # 0: the guard is outside this process namespace, and its end ends us
            os._exit(1)
        os.close(reading)
        if report >= 0:
            os.close(report)
        random.setstate(dice)  # a fork seeds `random` anew, and a subject may have seeded it on purpose
        return writing
    os.close(writing)
    for thing in unneeded:
        thing.close()
    _end_like(_watch(child, parent), reading, report)


def _watch(child: int, parent: int) -> int:
    """Return the child's status when it ends; end the whole group when the parent does so first."""
    poller = select.poll()
    for process in (child, parent):
        with suppress(OSError):
            poller.register(os.pidfd_open(process), select.POLLIN)
    while True:
        while (ended := os.waitpid(-1, os.WNOHANG))[0] != 0:  # others are orphans that were handed to the guard
            if ended[0] == child:
                return ended[1]
        if os.getppid() != parent:
            os.killpg(0, signal.SIGKILL)
        poller.poll(PATIENCE)


def _end_like(status: int, reading: int, report: int) -> NoReturn:
    """End this process as the child did, with everything that the child left running."""
    os.set_blocking(reading, False)
    with suppress(BlockingIOError):
        said = os.read(reading, 4)  # the child was a guard itself and knows better
        status = struct.unpack("=i", said)[0] if len(said) == 4 else status
    if report >= 0:
        with suppress(OSError):
            os.write(report, struct.pack("=i", status))
    leftovers = True
    with suppress(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
        leftovers = os.getpid() != 1  # the first process of a namespace takes all others with it
        if leftovers:
            os.killpg(0, signal.SIGKILL)
    if os.WIFSIGNALED(status):
        with suppress(OSError, ValueError):
            signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
        os._exit(128 + os.WTERMSIG(status))  # the first process of a namespace survives its own signals
    os._exit(os.WEXITSTATUS(status))


def threads() -> int:
    """Return the number of threads of this process, those of libraries included."""
    return len(os.listdir("/proc/self/task")) if sys.platform == "linux" else 1
