"""The system calls that a confined process is refused, and why each list is there."""

from __future__ import annotations

import errno
import os
import socket

from grpo_gym.isolation import kernel
from grpo_gym.isolation.kernel import Refusal

_NEVER = """
acct add_key adjtimex bind bpf chmod chown chroot clock_adjtime clock_settime connect delete_module fchmod fchmodat
fchmodat2 fchown fchownat file_setattr finit_module fremovexattr fsconfig fsetxattr fsmount fsopen fspick futimesat
init_module ioperm iopl kcmp kexec_file_load kexec_load keyctl lchown lremovexattr lsetxattr mount mount_setattr
move_mount open_by_handle_at open_tree open_tree_attr perf_event_open pidfd_getfd pivot_root process_vm_readv
process_vm_writev ptrace quotactl quotactl_fd reboot removexattr removexattrat request_key setdomainname sethostname
setns settimeofday setxattr setxattrat socket swapoff swapon syslog umount2 unshare userfaultfd utime utimensat utimes
vhangup
"""

_UNKNOWN = ("clone3", "io_uring_enter", "io_uring_register", "io_uring_setup", "openat2")
"""Answered as by a kernel that lacks them: their arguments cannot be looked at, and libraries fall back to others."""

_SHARED_IDS = """
migrate_pages mq_open mq_unlink msgctl msgget msgrcv msgsnd process_madvise process_mrelease semctl semget semop
semtimedop setpgid setsid shmat shmctl shmget
"""
"""Reach processes and queues by number, or leave the process group: harmless in a namespace of one's own."""

_SETS_FLAGS = (0x40086602, 0x401C5820)  # FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR
_FEEDS_TERMINAL = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX: type into the user's shell
_OWNS_SIGNALS = (0x8901, 0x8902)  # FIOSETOWN, SIOCSPGRP


def refusals(spaces: bool, signals_scoped: bool) -> list[Refusal]:
    """Return the system calls to refuse, given what namespaces and Landlock already see to."""
    accesses, truncates = os.O_ACCMODE, os.O_ACCMODE | os.O_TRUNC
    refused = [Refusal(call) for call in _NEVER.split()]
    refused += [Refusal(call, errno.ENOSYS) for call in _UNKNOWN]
    refused += [Refusal("ioctl", argument=1, value=value) for value in _SETS_FLAGS + _FEEDS_TERMINAL]
    refused += [
        Refusal("truncate"),  # an old Landlock does not cover it; ftruncate on an opened file is enough
        Refusal("clone", argument=0, mask=kernel.NEW_ANY, value=0, equal=False),
        Refusal("socketpair", argument=1, mask=0xF, value=socket.SOCK_STREAM, equal=False),  # others reach any address
        Refusal("socketpair", argument=0, value=socket.AF_UNIX, equal=False),  # the kernel loads modules for others
        Refusal("prctl", argument=0, value=kernel.PR_SET_PDEATHSIG),
    ]
    for call, flags in (("open", 1), ("openat", 2)):
        refused.append(Refusal(call, argument=flags, mask=accesses, value=accesses))  # "neither": not seen as writing
        refused.append(Refusal(call, argument=flags, mask=truncates, value=os.O_TRUNC))  # empties what it only reads
    if not spaces:
        refused += [Refusal(call) for call in _SHARED_IDS.split()]
        aimed = {"prlimit64": 0, "sched_setaffinity": 0, "sched_setattr": 0, "sched_setparam": 0}
        aimed |= {"sched_setscheduler": 0, "setpriority": 1, "ioprio_set": 1}
        refused += [Refusal(call, argument=position, equal=False) for call, position in aimed.items()]
        refused += [Refusal("setpriority", argument=0, value=kind) for kind in (1, 2)]  # a group, or all of a user
        refused += [Refusal("ioprio_set", argument=0, value=kind) for kind in (2, 3)]
    if not spaces and not signals_scoped:
        refused += [Refusal(call) for call in ("pidfd_send_signal", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "tkill")]
        refused += [Refusal(call, argument=0, value=os.getpid(), equal=False) for call in ("kill", "tgkill")]
        refused += [Refusal("fcntl", argument=1, value=value) for value in (8, 15)]  # F_SETOWN, F_SETOWN_EX
        refused += [Refusal("ioctl", argument=1, value=value) for value in _OWNS_SIGNALS]
    return refused
