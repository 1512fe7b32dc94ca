"""Programs are parsed from many threads at once, some of them deep in their stack, and every tree is right."""

from __future__ import annotations

import ast
import gc
import os
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from grpo_rewards.code.syntax import parsed

PROGRAM = "\n".join(
    f"def f{i}(a, b=(1, 2)):\n    return [x * {i} + a for x in b if x > (a + 1) * 2]" for i in range(40)
)


class Yielding:
    """Garbage whose finaliser gives the interpreter to another thread, as a file's or a lock's may."""

    def __init__(self) -> None:
        self.me = self

    def __del__(self) -> None:
        time.sleep(0)


@pytest.fixture
def restless() -> Iterator[None]:
    """Collect garbage and change threads as often as can be."""
    threshold, interval = gc.get_threshold(), sys.getswitchinterval()
    gc.set_threshold(5)
    sys.setswitchinterval(1e-6)
    yield
    gc.set_threshold(*threshold)
    sys.setswitchinterval(interval)


def test_threads_of_different_depths_may_parse_at_once(restless: None) -> None:
    expected, wrong = ast.dump(ast.parse(PROGRAM)), []

    def parse_at(depth: int) -> None:
        if depth:
            return parse_at(depth - 1)
        for _ in range(15):
            try:
                tree = parsed(PROGRAM)
            except Exception as error:
                wrong.append(repr(error))
            else:
                wrong.extend(["another tree"] * (ast.dump(tree) != expected))
            for _ in range(5):
                Yielding()
        return None

    threads = [threading.Thread(target=parse_at, args=(20 * k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert not any(thread.is_alive() for thread in threads)
    assert not wrong


def test_a_count_disturbed_by_somebody_else_is_taken_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever calls `ast.parse` beside us does not wait for our lock."""
    whole, calls = ast.parse, []

    def disturbed(source: str) -> ast.Module:
        calls.append(source)
        if len(calls) < 3:
            raise SystemError("AST constructor recursion depth mismatch (before=39, after=36)")
        return whole(source)

    monkeypatch.setattr(ast, "parse", disturbed)
    assert ast.unparse(parsed("x = 1")) == "x = 1"


@pytest.mark.parametrize(
    ("source", "error"), [("x = (", SyntaxError), ("x\0", ValueError), ("-" * 100_000, MemoryError)]
)
def test_what_cannot_be_parsed_is_refused(source: str, error: type[Exception]) -> None:
    with pytest.raises((error, SyntaxError, RecursionError)):
        parsed(source)


def test_a_child_forked_beside_a_parsing_thread_can_parse() -> None:
    stop = threading.Event()

    def parse_on() -> None:
        while not stop.is_set():
            parsed(PROGRAM)

    thread = threading.Thread(target=parse_on)
    thread.start()
    try:
        for _ in range(5):
            child = os.fork()
            if not child:
                os._exit(0 if ast.unparse(parsed("x = 1")) == "x = 1" else 1)
            deadline = time.monotonic() + 20
            while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
                time.sleep(0.01)
            if ended == (0, 0):
                os.kill(child, 9)
                os.waitpid(child, 0)
            assert ended == (child, 0)
    finally:
        stop.set()
        thread.join(timeout=20)
