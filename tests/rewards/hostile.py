"""Texts of a megabyte that are slow to read for whoever reads them in more than one pass."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

N = 1_000_000

HOSTILE: dict[str, str] = {
    "": "",
    "one endless word": "a" * N,
    "blanks": " " * N,
    "lines": "\n" * N,
    "boxes never closed": "\\boxed{" * (N // 7),
    "boxes": "\\boxed{1}" * (N // 9),
    "a box, then blanks": "\\boxed" + " " * N,
    "braces": "{" * (N // 2) + "}" * (N // 2),
    "backslashes": "\\" * N,
    "thoughts": "<think></think>" * (N // 15),
    "thoughts never closed": "<think>" * (N // 7),
    "ends of thoughts": "</think>" * (N // 8),
    "answers": "<answer>" * (N // 8),
    "half a tag": "<a" * (N // 2),
    "ticks": "`" * N,
    "ticks never closed": "`a\n" * (N // 3),
    "a fence never closed": "```" + "a" * N,
    "quotes": '"' * N,
    "stars": "*" * N,
    "dollars": "$" * N,
    "labels": "answer: " * (N // 8),
    "lines with labels": "answer: x\n" * (N // 10),
    "alternatives": "a or " * (N // 5),
    "environments": "\\begin{" * (N // 7),
    "numbers": " ".join(map(str, range(150_000))),
    "Chinese": "\u7b54" * N,
    "ligatures": "\ufdfa" * N,
    "lone surrogates": "\ud800" * N,
    "every character": "".join(map(chr, range(0x110000))),
    "nulls": "\0" * N,
}


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    """End what takes far longer than one pass; a loaded machine stays well below."""

    def give_up(number: int, frame: object) -> None:
        raise TimeoutError(f"more than {seconds} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
