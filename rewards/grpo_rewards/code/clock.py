"""Reading from outside how much CPU a child used, and how long it was idle rather than kept waiting by others.

Limits go by what a program does, not by how busy the machine is. Its CPU is what it computed. Its idle time is the time
in which it neither computed nor stood in the queue for a CPU: asleep, or waiting for what never comes. The kernel
counts both; where it does not tell (no /proc, other systems), wall time stands in for them.
"""

from __future__ import annotations

import os
import select
import time
from contextlib import suppress


class Clock:
    """The clock of one process. Closed by `close`; after the process ended it stands still.

    Attributes:
        process: Its id as the caller sees it; 0 where that cannot be found.
    """

    def __init__(self, handle: int | None) -> None:
        self._handle = handle
        self._started = time.monotonic()
        self._used = self._busy = 0.0
        self.process = _process_of(handle) if handle is not None else 0

    def fileno(self) -> int:
        """A descriptor that becomes readable when the process has ended; -1 where there is none."""
        return -1 if self._handle is None else self._handle

    def cpu_s(self) -> float:
        """Seconds of CPU that its threads used."""
        if not self.process:
            return time.monotonic() - self._started
        if not self.ended():
            with suppress(OSError):
                self._used = time.clock_gettime(~self.process << 3 | 2)  # the kernel's number for its CPU clock
        return self._used

    def busy_s(self) -> float:
        """Seconds that its threads used, or queued for a CPU."""
        if self.process and not self.ended():
            self._busy = max(self._busy, _busy_s(self.process))
        return max(self._busy, self.cpu_s())

    def close(self) -> None:
        """Release the descriptor."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
            self.process = 0

    def ended(self) -> bool:
        """Whether the process has ended, as far as can be told."""
        if self._handle is None:
            return False
        poll = select.poll()
        poll.register(self._handle, select.POLLIN)
        return bool(poll.poll(0))


def _process_of(handle: int) -> int:
    """Return the id of the process that a handle is for, as this process sees it."""
    with suppress(OSError, ValueError), open(f"/proc/self/fdinfo/{handle}") as file:
        for line in file:
            if line.startswith("Pid:"):
                return max(0, int(line.split()[1]))
    return 0


def _busy_s(process: int) -> float:
    """Return the seconds that the threads of a process ran, and that the one which was kept waiting most waited.

    Not the sum of what they waited: many threads that mostly sleep would look as if the process never did.
    """
    ran = waited = 0
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{process}/task"):
            with suppress(OSError, ValueError), open(f"/proc/{process}/task/{thread}/schedstat") as file:
                its_ran, its_waited = map(int, file.read().split()[:2])
                ran, waited = ran + its_ran, max(waited, its_waited)
    return (ran + waited) / 1e9
