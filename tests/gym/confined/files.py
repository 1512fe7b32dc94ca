"""Attempts to change files outside the scratch folder."""

from __future__ import annotations

import ctypes
import os
import socket
from pathlib import Path

from grpo_gym.isolation.kernel import syscall
from tests.gym.confined import LIBC, attack, checked


@attack
def write_a_file(s):
    Path(s.outside, "written").write_text("x")


@attack
def append_to_a_file(s):
    with Path(s.outside, "appended").open("a") as file:
        file.write("x")


@attack
def create_a_file(s):
    Path(s.outside, "created").write_text("x")


@attack
def create_by_relative_path(s):
    Path("..", "created-too").write_text("x")


@attack
def make_a_folder(s):
    Path(s.outside, "made").mkdir()


@attack
def make_a_pipe(s):
    os.mkfifo(Path(s.outside, "pipe"))


@attack
def bind_a_socket_file(s):
    socket.socket(socket.AF_UNIX).bind(str(Path(s.outside, "socket")))


@attack
def make_a_symlink(s):
    os.symlink("x", Path(s.outside, "symlinked"))


@attack
def delete_a_file(s):
    Path(s.outside, "deleted").unlink()


@attack
def delete_a_folder(s):
    Path(s.outside, "folder").rmdir()


@attack
def truncate_a_file(s):
    os.truncate(Path(s.outside, "truncated"), 0)


@attack
def truncate_by_opening_to_read(s):
    os.close(os.open(Path(s.outside, "emptied"), os.O_RDONLY | os.O_TRUNC))


@attack
def truncate_by_opening_for_nothing(s):
    os.close(os.open(Path(s.outside, "emptied2"), os.O_ACCMODE | os.O_TRUNC))


@attack
def truncate_by_openat2(s):
    how = (os.O_TRUNC | os.O_RDONLY).to_bytes(8, "little") + bytes(16)
    os.close(syscall("openat2", -100, os.fsencode(Path(s.outside, "emptied3")), how, 24))


@attack
def move_a_file_in(s):
    os.rename(Path(s.outside, "moved"), Path(s.scratch, "moved"))


@attack
def move_a_file_out(s):
    Path(s.scratch, "mine").write_text("x")
    os.rename(Path(s.scratch, "mine"), Path(s.outside, "moved out"))


@attack
def write_through_a_hard_link(s):
    os.link(Path(s.outside, "linked"), Path(s.scratch, "linked"))
    Path(s.scratch, "linked").write_text("x")


@attack
def write_through_a_symlink(s):
    link = Path(s.scratch, "symlink")
    link.symlink_to(Path(s.outside, "symlinked to"))
    link.write_text("x")


@attack
def write_through_an_open_folder(s):
    os.close(os.open("by folder", os.O_CREAT | os.O_WRONLY, dir_fd=s.handle))


@attack
def write_through_a_file_opened_to_read(s):
    Path(f"/proc/self/fd/{s.reading}").write_text("x")


@attack
def change_a_mode(s):
    os.chmod(Path(s.outside, "mode"), 0o777)


@attack
def change_a_mode_by_handle(s):
    os.fchmod(s.reading, 0o777)


@attack
def change_an_owner(s):
    os.chown(Path(s.outside, "mode"), os.getuid(), os.getgid())


@attack
def change_times(s):
    os.utime(Path(s.outside, "mode"), (1, 1))


@attack
def set_an_attribute(s):
    os.setxattr(Path(s.outside, "mode"), "user.note", b"x")


@attack
def set_file_flags(s):
    flags = ctypes.create_string_buffer(8)
    checked(LIBC.ioctl(s.reading, ctypes.c_ulong(0x80086601), flags))
    checked(LIBC.ioctl(s.reading, ctypes.c_ulong(0x40086602), flags))


@attack
def write_to_a_process(s):
    Path(f"/proc/{s.victim}/oom_score_adj").write_text("1000")
