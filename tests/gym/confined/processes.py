"""Attempts to reach the network, other processes and secrets, and to go beyond the limits."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import resource
import signal
import socket
import tempfile
import threading
from contextlib import ExitStack
from pathlib import Path

from grpo_gym.isolation import kernel
from grpo_gym.isolation.kernel import syscall
from tests.gym.confined import LIBC, attack, checked


@attack
def connect_by_tcp(s):
    socket.create_connection(("127.0.0.1", s.tcp), timeout=5).close()


@attack
def send_by_udp(s):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.sendto(b"x", ("127.0.0.1", s.udp))


@attack
def listen_by_tcp(s):
    socket.create_server(("127.0.0.1", 0)).close()


@attack
def connect_to_a_socket_file(s):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(s.unix)


@attack
def connect_to_an_abstract_socket(s):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect("\0" + s.abstract)


@attack
def send_from_a_pair_to_a_socket_file(s):
    one, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    one.sendto(b"x", s.datagrams)


@attack
def ring_for_a_socket(s):
    try:
        os.close(syscall("io_uring_setup", 1, ctypes.create_string_buffer(120)))
    except OSError as error:
        if not s.open or error.errno not in (errno.ENOSYS, errno.EPERM):  # many machines switch it off for all
            raise


@attack
def signal_a_process(s):
    os.kill(s.victim, signal.SIGWINCH)


@attack
def signal_a_group(s):
    os.killpg(s.victim, signal.SIGWINCH)


@attack
def signal_by_handle(s):
    signal.pidfd_send_signal(os.pidfd_open(s.victim), signal.SIGWINCH)


@attack
def signal_by_owned_file(s):
    """Let input on a pair be signalled to another process. The signal is sent when something arrives."""
    one, other = socket.socketpair()
    fcntl.fcntl(one, fcntl.F_SETOWN, s.counter)
    fcntl.fcntl(one, 10, signal.SIGUSR1)  # F_SETSIG
    fcntl.fcntl(one, fcntl.F_SETFL, fcntl.fcntl(one, fcntl.F_GETFL) | os.O_ASYNC)
    before = signals(s.counter)
    other.send(b"x")
    for _ in range(200):
        if signals(s.counter) != before:
            return
        threading.Event().wait(0.005)
    raise OSError("nothing arrived")


def signals(process: int) -> str:
    """Return the signals that are pending for a process that blocks them."""
    return next(line for line in Path(f"/proc/{process}/status").read_text().splitlines() if line.startswith("ShdPnd"))


@attack
def limit_a_process(s):
    resource.prlimit(s.victim, resource.RLIMIT_NOFILE, (32, 32))


@attack
def slow_a_process(s):
    os.setpriority(os.PRIO_PROCESS, s.victim, 19)


@attack
def debug_a_process(s):
    checked(LIBC.ptrace(0x4206, s.victim, 0, 0))  # PTRACE_SEIZE


@attack
def read_memory_of_a_process(s):
    with Path(f"/proc/{s.victim}/mem").open("rb"):
        return


@attack
def read_environment_of_a_process(s):
    assert b"hidden" in Path(f"/proc/{s.victim}/environ").read_bytes()


@attack
def read_environment_of_the_starter(s):
    assert Path(f"/proc/{s.starter}/environ").read_bytes()


@attack
def read_own_environment(s):
    assert "hidden" in f"{os.environ}" + Path("/proc/self/environ").read_text()


@attack
def read_own_environment_in_c(s):
    LIBC.getenv.restype = ctypes.c_char_p
    assert b"hidden" in (LIBC.getenv(b"A_SECRET") or b"")


@attack
def make_a_message_queue(s):
    queue = syscall("shmget", 0x6E6F6E65, 100, 0o1666)
    try:
        os.stat(f"/proc/{s.victim}/ns/ipc")
        same = os.readlink(f"/proc/{s.victim}/ns/ipc") == os.readlink("/proc/self/ns/ipc")
    finally:
        syscall("shmctl", queue, 0, None)
    assert same, "in a namespace of its own"


@attack
def enter_new_namespaces(s):
    child = os.fork()
    if child == 0:
        os._exit(LIBC.unshare(0x10000000) & 1)
    assert os.waitpid(child, 0)[1] == 0


@attack
def clone_into_new_namespaces(s):
    child = syscall("clone", 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0)
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


@attack
def let_go_of_the_starter(s):
    kernel.prctl(kernel.PR_SET_PDEATHSIG, 0)


# --- limits


@attack
def take_memory(s):
    bytearray(3 << 30)


@attack
def write_a_large_file(s):
    with tempfile.TemporaryFile() as file:
        os.posix_fallocate(file.fileno(), 0, 3 << 20)


@attack
def open_many_files(s):
    with ExitStack() as stack:
        for _ in range(400):
            stack.enter_context(open(os.devnull))


@attack
def allow_core_dumps(s):
    assert resource.getrlimit(resource.RLIMIT_CORE)[1] != 0
