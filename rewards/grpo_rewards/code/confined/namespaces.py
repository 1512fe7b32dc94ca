"""Going on in namespaces of one's own: users, network, process ids, mounts, message queues, the machine's name.

Entered once per zygote. The new root is a small memory file system that shows the standard library and the shared
libraries, read-only, an empty scratch folder at /tmp, and a few devices: no home, no /etc, no /proc. Works as root and
as a plain user; as root the children get a user id that nobody has, because limits on threads do not bind root.

    outer ── stays behind, writes the map of user ids, ends as the inner one ends
      └─ entrant ── enters the namespaces, forks, ends
           └─ inner ── process 1 of the namespace: what `enter` returns in
"""

from __future__ import annotations

import os
import pwd
import signal
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

from grpo_gym.isolation import kernel

SCRATCH = "/tmp"
SCRATCH_OPTIONS = b"size=48m,nr_inodes=4000,mode=1777"

_SPACES = kernel.NEW_MOUNTS | kernel.NEW_NAME | kernel.NEW_IPC | kernel.NEW_USERS | kernel.NEW_IDS | kernel.NEW_NET
_PLACES = ("/tmp", "/var/tmp", "/mnt", "/media", "/dev/shm", "/run")
_DEVICES = ("null", "zero", "urandom", "random")

_FIRST_USER, _USERS = 61_184, 4_000
"""User ids for services that come and go (systemd's are the same): nobody logs in with them."""

_INSIDE = 1000
"""The user id of the children inside; that of the zygote inside is 0 where root mapped two, else the same."""


def unused_user() -> int | None:
    """Return a user id that nobody has and this process may take, or None: it is not root.

    Each zygote looks from another one on: threads, timers and signals are counted by user, and a run that takes all it
    may should not take them from those beside it.
    """
    if os.geteuid() != 0:
        return None
    for step in range(_USERS):
        user = _FIRST_USER + (os.getpid() + step) % _USERS
        try:
            pwd.getpwuid(user)
        except KeyError:
            return user
    return None


def enter(unneeded: Sequence[int]) -> tuple[int | None, int]:
    """Return in process 1 of new namespaces; the process that calls stays behind and ends as the inner one ends.

    Args:
        unneeded: Descriptors that the process which stays behind closes.

    Returns:
        The user id that children must take (None: they keep this one's), and a descriptor that becomes readable when
        the outer process has ended.

    Raises:
        OSError: The kernel or the container forbids it; raised in the process that called.
    """
    user = unused_user()
    from_entrant, to_outer = os.pipe()
    from_outer, to_entrant = os.pipe()
    alive, held = os.pipe()  # the outer process alone holds the writing end
    kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
    entrant = os.fork()
    if entrant == 0:
        os.close(held)
        try:
            kernel.syscall("unshare", _SPACES)
        except OSError as error:
            os.write(to_outer, bytes([error.errno or 1]))
            os._exit(1)
        os.write(to_outer, b"\0")
        mapped = os.read(from_outer, 1)
        inner = os.fork() if mapped else 0
        if inner or not mapped:
            os.write(to_outer, inner.to_bytes(4, "big"))
            os._exit(0)
        for end in (from_entrant, to_outer, from_outer, to_entrant):
            os.close(end)
        return (None if mapped == b"1" else _INSIDE), alive
    os.close(alive)
    os.close(to_outer)
    os.close(from_outer)
    failure = (os.read(from_entrant, 1) or b"\x26")[0]
    if failure:
        os.waitpid(entrant, 0)
        for end in (from_entrant, to_entrant, held):
            os.close(end)
        raise OSError(failure, f"unshare: {os.strerror(failure)}")
    os.write(to_entrant, b"2" if _map_users(entrant, user) else b"1")
    os.waitpid(entrant, 0)
    for end in unneeded:
        os.close(end)
    _wait(held)


def _map_users(entrant: int, user: int | None) -> bool:
    """Write the maps of the entrant's namespace; return whether children have a user id apart from the zygote's."""
    folder = f"/proc/{entrant}"
    if user is not None:
        with suppress(OSError):
            for name in ("gid_map", "uid_map"):
                _write(f"{folder}/{name}", f"0 0 1\n{_INSIDE} {user} 1\n")
            return True
    _write(f"{folder}/setgroups", "deny")
    for name, own in (("gid_map", os.getegid()), ("uid_map", os.geteuid())):
        _write(f"{folder}/{name}", f"{_INSIDE} {own} 1\n")
    return False


def _write(path: str, text: str) -> None:
    place = os.open(path, os.O_WRONLY)
    try:
        os.write(place, text.encode())  # a map must come in one call
    finally:
        os.close(place)


def _wait(held: int) -> NoReturn:
    """Do nothing until all children have ended. `held` is closed by ending, which the inner process notices."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    with suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
    os._exit(0)


def show_only(readable: Sequence[str]) -> None:
    """Move into a new root that shows these absolute paths alone, read-only, and an empty scratch folder.

    Raises:
        OSError: A mount is refused.
    """
    mount = kernel.syscall
    mount("mount", b"none", b"/", None, kernel.MS_REC | kernel.MS_PRIVATE, None)
    root = next(p for p in _PLACES if os.path.isdir(p) and not any(r == p or r.startswith(p + "/") for r in readable))
    flags = kernel.MS_NOSUID | kernel.MS_NODEV
    mount("mount", b"tmpfs", root.encode(), b"tmpfs", flags, b"size=1m,nr_inodes=4000,mode=755")
    for path in sorted(set(readable)):
        _bind(path, root)
    os.makedirs(f"{root}/dev", exist_ok=True)
    for name in _DEVICES:
        if os.path.exists(f"/dev/{name}"):
            _bind(f"/dev/{name}", root, read_only=False)
    os.makedirs(f"{root}/.old")
    mount("pivot_root", root.encode(), f"{root}/.old".encode())
    os.chdir("/")
    mount("umount2", b"/.old", kernel.MNT_DETACH)
    os.rmdir("/.old")
    os.makedirs(SCRATCH, exist_ok=True)
    mount("mount", b"none", b"/", None, kernel.MS_REMOUNT | kernel.MS_BIND | kernel.MS_RDONLY | flags, None)
    mount("mount", b"tmpfs", SCRATCH.encode(), b"tmpfs", flags, SCRATCH_OPTIONS)


def _bind(path: str, root: str, read_only: bool = True) -> None:
    """Show a path of the old root at the same place below the new one; links of its parents are made again."""
    real = os.path.realpath(path)
    target = root + real
    if os.path.ismount(target) or os.path.isfile(target):  # two names of one file
        return _link(path, root)
    if os.path.isdir(real):
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "a"):
            pass
    kernel.syscall("mount", real.encode(), target.encode(), None, kernel.MS_BIND | kernel.MS_REC, None)
    if read_only:
        kept = os.statvfs(real).f_flag & (kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC)
        flags = kernel.MS_REMOUNT | kernel.MS_BIND | kernel.MS_RDONLY | kernel.MS_NOSUID | kept
        with suppress(OSError):  # other flags may be locked; Landlock refuses to write there in any case
            kernel.syscall("mount", b"none", target.encode(), None, flags, None)
    _link(path, root)


def _link(path: str, root: str) -> None:
    """Make the symbolic links again that lead from a path to its real place, e.g. /lib -> usr/lib."""
    parts = path.strip("/").split("/")
    for end in range(1, len(parts) + 1):
        place = "/" + "/".join(parts[:end])
        if os.path.islink(place):
            if not os.path.lexists(root + place):
                os.makedirs(os.path.dirname(root + place), exist_ok=True)
                os.symlink(os.readlink(place), root + place)
            rest = "/".join(parts[end:])
            there = os.path.join(os.path.dirname(place), os.readlink(place), rest)
            _link(os.path.normpath(there), root)
            return
