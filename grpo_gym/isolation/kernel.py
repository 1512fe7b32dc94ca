"""The means of Linux to close a process in, called through ctypes: Landlock, seccomp, capabilities, namespaces.

Landlock says which files may be changed, by path. Seccomp refuses system calls by number and by the low 32 bits of an
argument, which is all the kernel looks at in flags and process ids. Neither needs a library, a helper program or root.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import platform
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

PR_SET_PDEATHSIG, PR_SET_SECCOMP, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 22, 36, 38

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = (1 << bit for bit in (0, 1, 2, 3, 5))
MS_BIND, MS_REC, MS_PRIVATE = (1 << bit for bit in (12, 14, 18))
MNT_DETACH = 2

CLONE_THREAD = 0x10000

NEW_MOUNTS, NEW_CGROUP, NEW_NAME, NEW_IPC, NEW_USERS, NEW_IDS, NEW_NET = (1 << bit for bit in (17, *range(25, 31)))
NEW_ANY = NEW_MOUNTS | NEW_CGROUP | NEW_NAME | NEW_IPC | NEW_USERS | NEW_IDS | NEW_NET
"""The kinds of namespaces, as flags of `unshare` and `clone`."""

# fmt: off
SYSCALLS: dict[str, tuple[int, int]] = {  # name: number on x86_64, on aarch64; -1 where there is none
    "acct": (163, 89), "add_key": (248, 217), "adjtimex": (159, 171), "bind": (49, 200), "bpf": (321, 280),
    "capget": (125, 90), "capset": (126, 91), "chmod": (90, -1), "chown": (92, -1), "chroot": (161, 51),
    "clock_adjtime": (305, 266), "clock_settime": (227, 112), "clone": (56, 220), "clone3": (435, 435),
    "connect": (42, 203), "delete_module": (176, 106), "execve": (59, 221), "execveat": (322, 281),
    "fallocate": (285, 47), "close_range": (436, 436),
    "io_setup": (206, 0), "sync": (162, 81), "syncfs": (306, 267),
    "fanotify_init": (300, 262), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452), "fchown": (93, 55),
    "fchownat": (260, 54), "fcntl": (72, 25), "file_setattr": (469, 469), "finit_module": (313, 273), "fork": (57, -1),
    "fremovexattr": (199, 16), "fsconfig": (431, 431), "fsetxattr": (190, 7), "fsmount": (432, 432),
    "fsopen": (430, 430), "fspick": (433, 433), "futimesat": (261, -1), "init_module": (175, 105),
    "inotify_init": (253, -1), "inotify_init1": (294, 26), "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427), "io_uring_setup": (425, 425), "ioctl": (16, 29), "ioperm": (173, -1),
    "iopl": (172, -1), "ioprio_set": (251, 30), "kcmp": (312, 272), "kexec_file_load": (320, 294),
    "kexec_load": (246, 104), "keyctl": (250, 219), "kill": (62, 129), "landlock_add_rule": (445, 445),
    "landlock_create_ruleset": (444, 444), "landlock_restrict_self": (446, 446), "lchown": (94, -1),
    "lremovexattr": (198, 15), "lsetxattr": (189, 6), "memfd_create": (319, 279), "memfd_secret": (447, 447),
    "migrate_pages": (256, 238), "mknod": (133, -1), "mknodat": (259, 33), "modify_ldt": (154, -1), "mount": (165, 40),
    "mount_setattr": (442, 442), "move_mount": (429, 429), "move_pages": (279, 239), "mq_open": (240, 180),
    "mq_unlink": (241, 181), "msgctl": (71, 187), "msgget": (68, 186), "msgrcv": (70, 188), "msgsnd": (69, 189),
    "open": (2, -1), "open_by_handle_at": (304, 265), "open_tree": (428, 428), "open_tree_attr": (467, 467),
    "openat": (257, 56), "openat2": (437, 437), "perf_event_open": (298, 241), "personality": (135, 92),
    "pidfd_getfd": (438, 438), "pidfd_send_signal": (424, 424), "pivot_root": (155, 41), "prctl": (157, 167),
    "prlimit64": (302, 261), "process_madvise": (440, 440), "process_mrelease": (448, 448),
    "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "ptrace": (101, 117), "quotactl": (179, 60),
    "quotactl_fd": (443, 443), "reboot": (169, 142), "removexattr": (197, 14), "removexattrat": (466, 466),
    "request_key": (249, 218), "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240),
    "sched_setaffinity": (203, 122), "sched_setattr": (314, 274), "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119), "semctl": (66, 191), "semget": (64, 190), "semop": (65, 193),
    "semtimedop": (220, 192), "setdomainname": (171, 162), "sethostname": (170, 161), "setns": (308, 268),
    "setpgid": (109, 154), "setpriority": (141, 140), "setsid": (112, 157), "settimeofday": (164, 170),
    "setxattr": (188, 5), "setxattrat": (463, 463), "shmat": (30, 196), "shmctl": (31, 195), "shmget": (29, 194),
    "socket": (41, 198), "socketpair": (53, 199), "swapoff": (168, 225), "swapon": (167, 224), "syslog": (103, 116),
    "tgkill": (234, 131), "tkill": (200, 130), "truncate": (76, 45), "umount2": (166, 39), "unshare": (272, 97),
    "userfaultfd": (323, 282), "utime": (132, -1), "utimensat": (280, 88), "utimes": (235, -1), "vfork": (58, -1),
    "vhangup": (153, 58),
}
# fmt: on

_COLUMN = {"x86_64": 0, "aarch64": 1}.get(platform.machine())
_ARCHITECTURE = {0: 0xC000003E, 1: 0xC00000B7}

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _REMOVE_DIR, _REMOVE_FILE, _MAKE_CHAR, _MAKE_DIR = (
    1 << bit for bit in range(8)
)
_MAKE_REG, _MAKE_SOCK, _MAKE_FIFO, _MAKE_BLOCK, _MAKE_SYM, _REFER, _TRUNCATE, _IOCTL_DEV = (
    1 << bit for bit in (8, 9, 10, 11, 12, 13, 14, 15)
)

IN_FOLDER = (
    _WRITE_FILE | _REMOVE_DIR | _REMOVE_FILE | _MAKE_DIR | _MAKE_REG | _MAKE_FIFO | _MAKE_SYM | _REFER | _TRUNCATE
)
"""What may be done below a writable folder: all but devices and sockets."""

IN_DEVICE = _WRITE_FILE | _TRUNCATE | _IOCTL_DEV
"""What may be done with a writable device."""

READ_FILE, READ_NAMES, READ_FOLDER = _READ_FILE, _READ_DIR, _READ_FILE | _READ_DIR
"""What may be done with what is only read: one file, the names in a folder, all files below a folder."""

_READS = _EXECUTE | _READ_FILE | _READ_DIR

_CHANGES = IN_FOLDER | _MAKE_CHAR | _MAKE_SOCK | _MAKE_BLOCK | _IOCTL_DEV

_SINCE = {_REFER: 2, _TRUNCATE: 3, _IOCTL_DEV: 5}
"""Rights younger than Landlock itself, and the version of its interface that brought them."""

SIGNALS_SCOPED = 6
"""The version of Landlock's interface that keeps signals and abstract sockets inside."""


class Refusal(NamedTuple):
    """A system call that seccomp refuses, always or by one argument.

    Attributes:
        call: Its name.
        error: The error it fails with.
        argument: Position of the argument that decides; None: refused always.
        mask: The bits of the argument that are looked at.
        value: What they are compared with.
        equal: Whether the call is refused when they are equal, or when they differ.
    """

    call: str
    error: int = errno.EPERM
    argument: int | None = None
    mask: int = 0xFFFFFFFF
    value: int = 0
    equal: bool = True


@functools.cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def syscall(name: str, *arguments: int | bytes | ctypes.Array[ctypes.c_char] | None) -> int:
    """Call the kernel. Raises OSError with the kernel's error, or ENOSYS on a machine whose numbers are not known."""
    number = -1 if _COLUMN is None else SYSCALLS[name][_COLUMN]
    if number < 0:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    values = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]  # bytes and buffers go as addresses
    result: int = _libc().syscall(ctypes.c_long(number), *values)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")
    return result


def landlock_version() -> int:
    """Return the version of Landlock's interface. Raises OSError: the kernel has none, or it is switched off."""
    return syscall("landlock_create_ruleset", None, 0, 1)


def file_rules(allowed: Mapping[Path, int], bound_reading: bool = False) -> int:
    """Return a descriptor of rules that say which files may be changed, and read; `keep_file_rules` puts them in force.

    Args:
        allowed: Existing files, folders and devices with the rights on them: IN_FOLDER, IN_DEVICE, READ_FILE ...
        bound_reading: Whether reading and executing is bound by the rules too; else it stays free.

    Raises:
        OSError: The kernel has no Landlock, or a path cannot be opened.
    """
    version = landlock_version()
    known = _CHANGES & ~sum(right for right, since in _SINCE.items() if since > version) | _READS * bound_reading
    network = 3 if version >= 4 else 0  # binding and connecting TCP sockets
    scopes = 3 if version >= SIGNALS_SCOPED else 0  # abstract sockets and signals
    attributes = struct.pack("=QQQ", known, network, scopes)[: 8 if version < 4 else 16 if version < 6 else 24]
    rules = syscall("landlock_create_ruleset", attributes, len(attributes), 0)
    try:
        for path, rights in allowed.items():
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
            try:
                syscall("landlock_add_rule", rules, 1, struct.pack("=Qi", rights & known, place), 0)
            finally:
                os.close(place)
    except OSError:
        os.close(rules)
        raise
    return rules


def keep_file_rules(rules: int) -> None:
    """Hold this thread and its children to rules of `file_rules`, for good. Raises OSError."""
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    syscall("landlock_restrict_self", rules, 0)


def restrict_files(writable: Mapping[Path, int]) -> int:
    """Let this thread and its children change files only where told; return the version of Landlock's interface.

    Args:
        writable: Existing folders and devices with the rights on them: IN_FOLDER or IN_DEVICE.

    Raises:
        OSError: The kernel has no Landlock, or it is switched off.
    """
    rules = file_rules(writable)
    try:
        keep_file_rules(rules)
    finally:
        os.close(rules)
    return landlock_version()


def refuse_calls(refusals: Iterable[Refusal]) -> None:
    """Refuse system calls to this thread and its children from now on. Raises OSError when the kernel cannot."""
    keep_call_filter(call_filter(refusals))


def call_filter(refusals: Iterable[Refusal]) -> bytes:
    """Return the program of a filter that refuses system calls, for `keep_call_filter`. Raises OSError."""
    if _COLUMN is None:
        raise OSError(errno.ENOSYS, f"no table of system calls for {platform.machine()}")
    return _program(refusals, _COLUMN)


def keep_call_filter(program: bytes) -> None:
    """Hold this thread and its children to a program of `call_filter`, for good. Raises OSError."""
    buffer = ctypes.create_string_buffer(program)
    length_and_address = struct.pack("@HP", len(program) // 8, ctypes.addressof(buffer))
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    syscall("prctl", PR_SET_SECCOMP, 2, length_and_address)


class PreparedFilter:
    """A filter that many processes put in force, each with its own number in it, at the cost of one call.

    Args:
        refusals: What it refuses.
        placeholder: A value among them that stands for the number.

    Raises:
        OSError: The kernel has no such filters, or the machine's calls are not known.
    """

    def __init__(self, refusals: Iterable[Refusal], placeholder: int) -> None:
        program = call_filter(refusals)
        wanted = struct.pack("=I", placeholder)
        self._places = [at for at in range(4, len(program), 8) if program[at : at + 4] == wanted]
        self._buffer = ctypes.create_string_buffer(program)
        described = struct.pack("@HP", len(program) // 8, ctypes.addressof(self._buffer))
        self._call = (ctypes.c_int(PR_SET_SECCOMP), ctypes.c_ulong(2), ctypes.create_string_buffer(described))
        self._rest = (ctypes.c_ulong(0), ctypes.c_ulong(0))
        prctl(PR_SET_NO_NEW_PRIVS, 1)

    def keep(self, number: int) -> None:
        """Hold this thread and its children to the filter, for good. Raises OSError."""
        for place in self._places:
            struct.pack_into("=I", self._buffer, place, number)
        if _libc().prctl(*self._call, *self._rest) != 0:
            code = ctypes.get_errno()
            raise OSError(code, f"seccomp: {os.strerror(code)}")


OPEN_ANYTHING = 0b110
"""CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH: opening files whatever their mode; Landlock bounds what can be written."""


def drop_capabilities(kept: int = OPEN_ANYTHING) -> None:
    """Give up every power of root but those of a mask. Raises OSError."""
    header = struct.pack("=Ii", 0x20080522, 0)
    held = ctypes.create_string_buffer(24)
    syscall("capget", header, held)
    left = struct.unpack("=6I", held.raw)[1] & kept
    syscall("capset", header, struct.pack("=6I", left, left, 0, 0, 0, 0))


def prctl(option: int, value: int) -> None:
    """Set an attribute of this process. Raises OSError."""
    syscall("prctl", option, value, 0, 0, 0)


_LOAD, _AND, _JUMP_EQUAL, _JUMP_AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000
_NUMBER, _MACHINE, _ARGUMENTS = 0, 4, 16
"""Where the kernel's description of a call holds its number, the machine and the arguments."""


def _program(refusals: Iterable[Refusal], column: int) -> bytes:
    """Return the filter as instructions of the classic packet filter; conditional jumps count from the next one."""
    code = [
        _instruction(_LOAD, _MACHINE),
        _instruction(_JUMP_EQUAL, _ARCHITECTURE[column], 1, 0),
        _instruction(_RETURN, _FAIL | errno.ENOSYS),  # calls of another machine have other numbers
        _instruction(_LOAD, _NUMBER),
    ]
    if column == 0:  # the x32 calls are the same ones under numbers of their own
        code += [_instruction(_JUMP_AT_LEAST, 0x40000000, 0, 1), _instruction(_RETURN, _FAIL | errno.ENOSYS)]
    for refusal in refusals:
        number = SYSCALLS[refusal.call][column]
        if number < 0:
            continue
        fail = _instruction(_RETURN, _FAIL | refusal.error)
        if refusal.argument is None:
            code += [_instruction(_JUMP_EQUAL, number, 0, 1), fail]
            continue
        code += [
            _instruction(_JUMP_EQUAL, number, 0, 5),
            _instruction(_LOAD, _ARGUMENTS + 8 * refusal.argument),
            _instruction(_AND, refusal.mask),
            _instruction(_JUMP_EQUAL, refusal.value, *((0, 1) if refusal.equal else (1, 0))),
            fail,
            _instruction(_LOAD, _NUMBER),
        ]
    return b"".join([*code, _instruction(_RETURN, _ALLOW)])


def _instruction(operation: int, operand: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", operation, if_true, if_false, operand)
