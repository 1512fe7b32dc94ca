"""Plain data crosses unchanged; nothing else crosses, and no message of a hostile process does harm."""

import json
import math
import os
import socket
import struct
import time
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_rewards.code.confined import encoding
from grpo_rewards.code.confined.basedata import base_data
from grpo_rewards.code.confined.channel import Channel, Closed, Malformed, TimedOut, TooLarge
from grpo_rewards.code.confined.codec import DEPTH, NotPlain, decode, encode

PRIME = (1 << 61) - 1  # integers that differ by it have one hash

VALUES = [
    None, True, 0, -(2**63), 2**63, -(10**400), 1.5, -0.0, math.inf, 1e308, 3 + 4j, "", "é\0\n", "\ud83d\ude00",
    "\ude00", "\ud83d", b"\x00\xff", bytearray(b"ab"), [], [1, [2, [3]]], (), (1, (2,)), set(), {1, "a"},
    frozenset({1}), {}, {"a": 1, 2: [3], (4,): None}, range(1, 9, 2), slice(1, None, 2), Fraction(1, 3),
    Decimal("1.10"), Decimal("NaN"), datetime(2020, 1, 2, 3, 4, 5, 6), datetime(2020, 1, 2, tzinfo=UTC),
    date(2020, 1, 2), timedelta(-1, 5, 7), deque([1, 2], maxlen=5), OrderedDict(a=1), Counter("aab"), [True, False],
    [0, True], [1, 2.0], [2**70, 1], "x" * 1000, list(range(1000)), {i: str(i) for i in range(1000)},
]  # fmt: skip

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(st.text() | st.integers(), inner)
        | st.sets(st.integers() | st.text())
    ),
    max_leaves=20,
)


def there_and_back(value: Any) -> Any:
    return decode(json.loads(json.dumps(encode(value))))


def alike(a: Any, b: Any) -> bool:
    return type(a) is type(b) and repr(a) == repr(b)


@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
def test_plain_data_comes_back_as_it_was(value):
    assert alike(there_and_back(value), value)


@given(plain)
def test_any_plain_data_comes_back_as_it_was(value):
    back = there_and_back(value)
    assert back == value
    assert type(back) is type(value)


def test_special_values_come_back():
    assert math.isnan(there_and_back(math.nan))
    assert there_and_back(defaultdict(list, a=[1])) == {"a": [1]}
    table = {"a": 1, "b": 2}
    for view in (table.keys(), table.values(), table.items()):
        assert type(there_and_back(view)) is type(view)
        assert list(there_and_back(view)) == list(view)


@pytest.mark.parametrize("dtype", ["?", "i1", "u8", "f2", "f4", "f8", "c16", "U3", "S3"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0,), (2, 0, 3)])
def test_arrays_cross_with_type_and_shape_and_are_lists_where_numpy_is_not_wanted(dtype, shape):
    array = np.ones(shape).astype(dtype)
    tree = json.loads(json.dumps(encode(array)))
    back = decode(tree)
    assert (back.dtype, back.shape) == (array.dtype, array.shape)
    assert (back == array).all()
    if dtype != "S3":
        assert decode(tree, arrays=False) == array.tolist()


def test_numpy_scalars_keep_their_type_or_become_numbers():
    tree = encode([np.float32(1.5), np.int64(7), np.nan])
    assert [type(value) for value in decode(tree)] == [np.float32, np.int64, float]
    assert [type(value) for value in decode(tree, arrays=False)] == [float, int, float]


Point = namedtuple("Point", "x y")


class Liar(int):
    """Equals everything."""

    def __eq__(self, other):
        return True

    def __add__(self, other):
        return self

    __hash__ = int.__hash__


@pytest.mark.parametrize(
    "value",
    [Liar(3), object(), len, int, [Liar(3)], {1: object()}, Point(1, 2), np.array([object()]), Ellipsis],
    ids=lambda value: type(value).__name__,
)
def test_what_is_not_exactly_a_built_in_type_does_not_cross(value):
    with pytest.raises(NotPlain):
        encode(value)


def test_subclasses_cross_as_their_data_where_that_is_wanted():
    class Stack(list[int]):
        def __iter__(self):
            return iter((9,))

    tree = encode([Stack([1, 2]), Liar(3), Point(1, 2)], base_data)
    assert decode(tree) == [[1, 2], 3, (1, 2)]
    assert [type(value) for value in decode(tree)] == [list, int, tuple]


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    return value


def test_depth_and_size_are_bounded_when_writing(monkeypatch):
    monkeypatch.setattr(encoding, "ITEMS", 10_000)
    assert there_and_back(nested(DEPTH)) == nested(DEPTH)
    doubled: list[Any] = [0] * 8
    for _ in range(40):  # shares one list over and over: 2**40 items
        doubled = [doubled, doubled]
    endless: list[Any] = []
    endless.append(endless)
    for value in (nested(DEPTH + 1), doubled, endless, 1 << 2_000_000, Decimal("1e200000"), Fraction(1, 3**50_000)):
        with pytest.raises(NotPlain):
            encode(value)


HOSTILE = [
    {}, {"x": 1}, {"t": 1, "s": 2}, {"t": 5}, {"t": {"t": []}}, {"s": [[1]]}, {"d": [1]}, {"d": [[], 1]}, {"f": 3},
    {"f": "1e5"}, {"f": []}, {"i": "zz"}, {"i": 5}, {"i": "0x" + "f" * 300_000}, {"z": [1]}, {"z": ["a", 1.0]},
    {"b": "zz"}, {"b": 3}, {"u": "ff"}, {"r": [1, 2, 0]}, {"r": [1, 2]}, {"r": [1, 2, 1.5]}, {"F": [1, 0]},
    {"F": ["1", 2]},
    {"D": "x"}, {"D": "1e999999"}, {"D": 4}, {"dt": "yesterday"}, {"dt": 1}, {"td": [10**12, 0, 0]}, {"q": []},
    {"q": [-1]}, {"a": []}, {"a": ["|O", [1], [1]]}, {"a": ["<f8", [-1], []]}, {"a": ["<f8", [2], [1.0]]},
    {"a": ["<U9999999", [1], ["a"]]}, {"a": ["<f8", [10**12, 0], []]}, {"a": ["<f8", [1], [[1]]]}, {"o": 1},
    {"dk": [1]},
    {"F": [{"i": "0x" + "f" * 9000}, 1]}, {"sl": [1]}, {"fs": [{"d": []}]}, {"c": [1, 2, 3]},
    {"s": [{"i": hex(n * PRIME)} for n in range(1, 20_000)]},
]  # fmt: skip


@pytest.mark.parametrize("tree", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_trees_are_malformed_and_nothing_worse(tree):
    with pytest.raises(Malformed):
        decode(tree)


def test_depth_is_bounded_when_reading():
    tree: Any = []
    for _ in range(DEPTH + 1):
        tree = {"t": [tree]}
    with pytest.raises(Malformed):
        decode(tree)


def test_honest_tables_of_any_size_are_read():
    value = {"set": set(range(200_000)), "dict": {str(i): i for i in range(50_000)}}
    assert decode(encode(value)) == value


@pytest.fixture
def pair():
    a, b = socket.socketpair()
    yield a, b
    a.close()
    b.close()


def test_messages_arrive_in_order_whatever_their_size(pair):
    a, b = (Channel(end.fileno(), blocking=False) for end in pair)
    a.send({"n": 1})
    a.send("é" * 3)
    a.send([1.5, None])
    assert [b.receive() for _ in range(3)] == [{"n": 1}, "é" * 3, [1.5, None]]


def test_a_message_in_pieces_is_put_together(pair):
    text = json.dumps(list(range(1000))).encode()
    frame = struct.pack(">I", len(text)) + text
    pid = os.fork()
    if pid == 0:
        for at in range(0, len(frame), 100):
            pair[1].sendall(frame[at : at + 100])
            time.sleep(0.0005)
        os._exit(0)
    assert Channel(pair[0].fileno()).receive(deadline=time.monotonic() + 20) == list(range(1000))
    os.waitpid(pid, 0)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"NaN",
        b"[Infinity]",
        b"1 2",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"9" * 5000,
        "é".encode(),
    ],
)
def test_garbage_is_malformed(pair, body):
    pair[1].sendall(struct.pack(">I", len(body)))
    pid = os.fork()
    if pid == 0:
        pair[1].sendall(body)
        os._exit(0)
    with pytest.raises(Malformed):
        Channel(pair[0].fileno()).receive()
    os.waitpid(pid, 0)


def test_what_is_too_large_late_or_gone_is_told_apart(pair):
    channel = Channel(pair[0].fileno(), blocking=False)
    with pytest.raises(TimedOut):
        channel.receive(deadline=time.monotonic() + 0.01)
    with pytest.raises(TooLarge):
        channel.send("x" * 100, limit_bytes=50)
    with pytest.raises(TimedOut):  # the other end does not read
        channel.send("x" * 10_000_000, deadline=time.monotonic() + 0.01)
    pair[1].sendall(struct.pack(">I", 1 << 30))
    with pytest.raises(TooLarge):
        channel.receive(limit_bytes=1 << 20)
    pair[1].close()
    with pytest.raises(Closed):
        Channel(pair[0].fileno(), blocking=False).send("x")
    with pytest.raises(Closed):
        Channel(pair[0].fileno(), blocking=False).receive()


def test_a_trickle_of_bytes_does_not_outlast_the_deadline(pair):
    pair[1].sendall(struct.pack(">I", 100) + b"[")
    with pytest.raises(TimedOut):
        Channel(pair[0].fileno(), blocking=False).receive(deadline=time.monotonic() - 1)
