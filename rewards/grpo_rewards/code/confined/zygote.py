"""The zygote: a warm interpreter that forks one closed-in child per run, and never sees what the child is told.

It takes orders on a socket: descriptors and limits, no text. The child reads its job from its own channel after the
fork, so that no run can find anything of an earlier one in memory that it inherits, and no test or expected value ever
is in a process that solutions are forked from. After each run everything that is left of it is killed, reaped and
wiped; only then the next child is forked, which closes itself in and waits: a run begins with a child that is ready.
The zygote ends when the socket closes, or the caller or its own outer process ends, whatever killed them.

    caller                         zygote                          child (forked ahead, closed in)
    RUN limits, descriptors  ->    hands them on              ->   takes them, then runs the program of the role
                             <-    process id, handle
    STOP                     ->    kill, reap, wipe, fork the next
                             <-    exit status, CPU, memory
"""

from __future__ import annotations

import array
import fcntl
import gc
import importlib
import json
import os
import select
import signal
import socket
import stat
import struct
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NoReturn

from grpo_rewards.code.confined import namespaces, program
from grpo_rewards.code.confined.walls import MAX_TASKS, Walls, close_in_zygote, limit_zygote, tasks_beside

RUN, STOP = b"R", b"S"
ORDER = struct.Struct("=cxBBIQQ")  # order; slots of the descriptors as bits; role; CPU s; memory; largest file
STARTED = struct.Struct("=ii")  # process id, error
ENDED = struct.Struct("=iddQ")  # wait status, user s, system s, largest resident set in bytes

SOLUTION, EXAMINER, PROBE = range(3)
"""Roles of children."""

SLOTS = (0, 1, 3, 4)
"""Descriptors that a caller may give: standard input and output, the control channel, the calls channel."""

_LOW, _HIGH, _MOST = 5, 10, 1 << 16
"""A child's descriptors end at _LOW; those that are being put into place lie from _HIGH on, below _MOST."""

MOST_ENTRIES, MOST_BLOCKS = 4000, 48 << 11
"""Files and folders, and blocks of 512 bytes, that a run may have at a time in a scratch folder without bounds."""

_LOOK_MS = 50
"""Milliseconds between looks at such a folder."""

FAILED = 97
"""Exit code of a child that could not be closed in, or whose program broke: no fault of what it was to run."""

_PROGRAMS: dict[int, Callable[[int, int], object]] = {}
"""Role -> what its children run, given their control and calls channel."""

_FUNCTIONS = {SOLUTION: "solution:serve", EXAMINER: "examiner:examine", PROBE: "probe:report"}


class Zygote:
    """What is ready to fork.

    Attributes:
        tier: "namespaces", "landlock" or "none".
        scratch: The folder that children may write.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        """Enter the tier of the configuration and import everything. Raises OSError when the kernel refuses."""
        self.control = socket.socket(fileno=config["control"])
        self.tier: str = config["tier"]
        self._watched = _handles(os.getppid())
        user, tasks = namespaces.unused_user(), MAX_TASKS
        readable = config["readable"]
        if self.tier == "namespaces":
            user, outer = namespaces.enter((self.control.fileno(), *self._watched))
            self._watched.append(outer)
            self.scratch = namespaces.SCRATCH
        else:
            user = user if _may_read(readable, user) else None
            tasks = MAX_TASKS if user is not None else 4 * MAX_TASKS + tasks_beside()
            self.scratch = config["scratch"]
        _import(config)  # in the namespace, which one thread alone can enter, but while all files can still be read
        self.walls = Walls(user, filtered=self.tier != "none", dies_along=self.tier != "namespaces")
        if self.tier == "namespaces":
            namespaces.show_only(readable)
        elif user is not None:
            os.chown(self.scratch, user, user)
        if self.tier != "none":
            close_in_zygote(readable, config["listed"], self.scratch)
        limit_zygote(tasks)
        self._running = self._spare = 0
        self._overfull = False
        self._of_child: list[int] = []
        self._line, line = socket.socketpair()
        high = fcntl.fcntl(line.detach(), fcntl.F_DUPFD, _HIGH)
        self._childs_line = socket.socket(fileno=high)
        os.chdir(self.scratch)
        self._poll = select.poll()
        for place in (self.control.fileno(), *self._watched):
            self._poll.register(place, select.POLLIN)
        gc.collect()
        gc.freeze()

    def serve(self) -> None:
        """Carry out orders until the caller is gone."""
        try:
            self._spare = self._fork()
            while order := self._next_order():
                kind = order[0][:1]
                if kind == RUN and not self._running:
                    self._run(*order)
                elif kind == STOP:
                    self.control.sendall(ENDED.pack(*self._end()))
                    self._spare = self._fork()
        finally:
            self._end()

    def _next_order(self) -> tuple[bytes, list[int]] | None:
        look = _LOOK_MS if self._running and self.tier != "namespaces" else None
        while not (ready := {place for place, _ in self._poll.poll(look)}):
            if overfull(self.scratch):
                self._overfull, look = True, None
                os.kill(self._running, signal.SIGKILL)
        if not ready.isdisjoint(self._watched):
            return None
        if not ready.isdisjoint(self._of_child):
            self._let_go_of_child()
            return self._next_order()
        return _take(self.control)

    def _let_go_of_child(self) -> None:
        """Drop an order that a child did not live to take: the caller then sees that its channels are closed."""
        for handle in self._of_child:
            self._poll.unregister(handle)
            os.close(handle)
        self._of_child = []
        self._childs_line.setblocking(False)
        with suppress(BlockingIOError):
            for descriptor in (_take(self._childs_line) or (b"", []))[1]:
                os.close(descriptor)
        self._childs_line.setblocking(True)

    def _run(self, order: bytes, descriptors: list[int]) -> None:
        """Hand an order on to the child that waits."""
        try:
            child = self._spare or self._fork()
            _give(self._line, order, descriptors)
        except OSError as error:
            self.control.sendall(STARTED.pack(0, error.errno or 1))
        else:
            self._running, self._of_child = child, _handles(child)
            _give(self.control, STARTED.pack(child, 0), self._of_child)
            for handle in self._of_child:
                self._poll.register(handle, select.POLLIN)
        finally:
            self._spare = 0
            for descriptor in descriptors:
                os.close(descriptor)

    def _fork(self) -> int:
        """Fork a child that closes itself in and waits for its order."""
        child = os.fork()
        if child == 0:
            self._be_child()
        return child

    def _be_child(self) -> NoReturn:
        """Wait for the order, then be the program that it names. Never returns."""
        status = FAILED
        try:
            os.closerange(3, self._childs_line.fileno())
            os.closerange(self._childs_line.fileno() + 1, _MOST)
            self.walls.close_in()
            order = _take(self._childs_line)
            if order is not None:
                _, slots, role, *limits = ORDER.unpack(order[0])
                _place(slots, order[1])
                self.walls.limit(*limits)
                _PROGRAMS[role](3, 4)
                status = 0
        finally:
            os._exit(status)

    def _end(self) -> tuple[int, float, float, int]:
        """Kill and reap what is left of a run and wipe its folder; return the child's status and usage."""
        running, spare = self._running, self._spare
        self._let_go_of_child()
        if self.tier == "namespaces":
            with suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)  # everything in the namespace but this process
        else:
            for child in (running, spare):
                if child:
                    os.kill(child, signal.SIGKILL)
        ended = (0, 0.0, 0.0, 0)
        with suppress(ChildProcessError):
            while True:
                process, status, usage = os.wait3(0)
                if process == running:
                    ended = (status, usage.ru_utime, usage.ru_stime, usage.ru_maxrss * 1024)
        if self._overfull:
            ended = (signal.SIGXFSZ, *ended[1:])  # as if the kernel counted what lies in a folder
        self._running = self._spare = 0
        self._overfull = False
        wipe(self.scratch)
        return ended


def overfull(folder: str) -> bool:
    """Whether more lies in a folder than may: in the tier of namespaces the file system itself has these bounds."""
    entries, blocks, inside = 0, 0, [folder]
    while inside:
        try:
            with os.scandir(inside.pop()) as found:
                for entry in found:
                    entries += 1
                    blocks += entry.stat(follow_symlinks=False).st_blocks
                    if entry.is_dir(follow_symlinks=False):
                        inside.append(entry.path)
                    if entries > MOST_ENTRIES or blocks > MOST_BLOCKS:
                        return True
        except FileNotFoundError:
            continue  # it went meanwhile
        except OSError:
            return True  # locked, or at the end of too long a path: so that nobody sees what lies in it
    return False


def wipe(folder: str) -> None:
    """Empty a folder however deep and locked what lies in it is: level by level, without recursion or long paths."""
    with os.scandir(folder) as entries:
        inside = [(entry.path, entry.is_dir(follow_symlinks=False)) for entry in entries]
    number, mark = 0, os.urandom(8).hex()  # a name that nothing in there has
    while inside:
        path, is_folder = inside.pop()
        if not is_folder:
            with suppress(FileNotFoundError):
                os.unlink(path)
            continue
        os.chmod(path, stat.S_IRWXU)  # as its owner, or as one whom modes do not stop
        with os.scandir(path) as entries:
            below = [entry.name for entry in entries]
        for name in below:  # lift everything to the top, so that no path grows
            number += 1
            lifted = os.path.join(folder, f"{mark}.{number}")
            os.rename(os.path.join(path, name), lifted)
            inside.append((lifted, stat.S_ISDIR(os.lstat(lifted).st_mode)))
        os.rmdir(path)


def _give(line: socket.socket, message: bytes, descriptors: list[int]) -> None:
    """Send a message of fixed size with descriptors."""
    line.sendmsg([message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] * bool(descriptors))


def _take(line: socket.socket) -> tuple[bytes, list[int]] | None:
    """Receive an order with its descriptors; None when the other end is gone."""
    order, ancillary, _, _ = line.recvmsg(ORDER.size, socket.CMSG_SPACE(len(SLOTS) * 4))
    data = ancillary[0][2] if ancillary else b""
    descriptors = list(struct.unpack_from(f"={len(data) // 4}i", data))
    return (order, descriptors) if len(order) == ORDER.size else None


def _place(slots: int, descriptors: list[int]) -> None:
    """Put received descriptors into their slots and close everything else; a slot that is not given keeps nothing.

    They came in the order of the slots, with the lowest numbers that were free: 3, 4, ... So each goes to a lower
    place, or one that was emptied before, and none overwrites another.
    """
    given = iter(descriptors)
    for number, slot in enumerate(SLOTS):
        if slots >> number & 1:
            os.dup2(next(given), slot)
    os.closerange(_LOW if slots & 8 else _LOW - 1, _MOST)


def _handles(process: int) -> list[int]:
    """Return a descriptor that becomes readable as a process ends; none where the system has no such thing."""
    try:
        return [os.pidfd_open(process)]
    except (OSError, AttributeError):
        return []


def _may_read(readable: list[str], user: int | None) -> bool:
    """Whether a user id that children would take can read Python's files; tried in a child."""
    if user is None:
        return False
    child = os.fork()
    if child == 0:
        try:
            os.setresuid(user, user, user)
            os._exit(0 if all(os.access(path, os.R_OK) for path in readable) else 1)
        except BaseException:
            os._exit(1)
    return os.waitpid(child, 0)[1] == 0


def _import(config: Mapping[str, Any]) -> None:
    """Import what children are likely to need, so that they find it done."""
    os.register_at_fork = _ignore  # repairs of threads and dice that would cost each fork
    sys.path.extend(config["sites"])
    for name in config["modules"]:
        importlib.import_module(name)
    for name in config["packages"]:
        with suppress(ImportError):
            importlib.import_module(name)
    for site in config["sites"]:
        sys.path.remove(site)
    if "random" in sys.modules:
        sys.modules["random"].seed(0)  # the dice of every child: a verdict is the same the next time
    for role, place in _FUNCTIONS.items():
        module, _, function = place.partition(":")
        if found := sys.modules.get(f"{__package__}.{module}"):
            _PROGRAMS[role] = getattr(found, function)
    _open_streams()


def _open_streams() -> None:
    """Open the standard streams on pipes, as children will have them, which inherit the streams ready."""
    reading, writing = os.pipe()
    for slot, end in ((0, reading), (1, writing)):
        os.dup2(end, slot)
        os.close(end)
    program.open_streams()
    null = os.open(os.devnull, os.O_RDWR)
    for slot in (0, 1):
        os.dup2(null, slot)
    os.close(null)


def _ignore(**hooks: object) -> None:
    """Take no notice: this process has one thread, and its children may all roll the same dice."""


def main(config: Mapping[str, Any]) -> None:
    """Say whether the tier could be entered, then serve."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    control = config["control"]
    try:
        zygote = Zygote(config)
    except Exception as error:  # the caller tries the next tier, and says why
        _say(control, {"error": f"{type(error).__name__}: {error}"})
        os._exit(1)
    _say(control, {"tier": zygote.tier, "user": zygote.walls.user})
    zygote.serve()
    os._exit(0)


def _say(control: int, message: Mapping[str, Any]) -> None:
    text = json.dumps(message).encode()
    os.write(control, struct.pack(">I", len(text)) + text)
