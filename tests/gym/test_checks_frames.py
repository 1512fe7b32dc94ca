"""What comes from a child is read in whole messages, however it is cut, and is waited for no longer than told."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from multiprocessing.connection import Connection

import pytest

from grpo_gym.checks.frames import Frames


@pytest.fixture
def ends() -> Iterator[tuple[Frames, socket.socket]]:
    ours, theirs = socket.socketpair()
    frames = Frames(ours)
    with theirs:
        yield frames, theirs
    frames.close()


def test_messages_go_both_ways_between_it_and_a_connection(ends: tuple[Frames, socket.socket]) -> None:
    frames, theirs = ends
    child = Connection(theirs.detach())
    frames.send(b"question" * 1_000)
    assert child.recv_bytes() == b"question" * 1_000
    for answer in (b"", b"one", b"x" * 20_000):
        child.send_bytes(answer)
    assert [frames.receive(5.0) for _ in range(3)] == [b"", b"one", b"x" * 20_000]
    child.close()
    with pytest.raises(EOFError):
        frames.receive(5.0)


def test_a_message_in_pieces_is_one_and_two_in_one_piece_are_two(ends: tuple[Frames, socket.socket]) -> None:
    frames, theirs = ends
    both = struct.pack("!i", 3) + b"one" + struct.pack("!i", 3) + b"two"
    theirs.sendall(both[:5])
    with pytest.raises(TimeoutError):
        frames.receive(0.01)
    theirs.sendall(both[5:])

    assert (frames.receive(5.0), frames.receive(5.0)) == (b"one", b"two")


def test_a_length_that_is_none_is_refused(ends: tuple[Frames, socket.socket]) -> None:
    frames, theirs = ends
    theirs.sendall(struct.pack("!i", -1))

    with pytest.raises(ValueError, match="-1 bytes"):
        frames.receive(5.0)
