"""Program text into a syntax tree, from any thread.

CPython up to 3.12 counts the depth of the tree that it builds in one counter of the interpreter. Building a node can
run the garbage collector, a finaliser gives the interpreter to another thread, and if that one parses too, each finds
the other's count: `SystemError: AST constructor recursion depth mismatch`, or a `RecursionError` for a shallow text
(python/cpython issue 106905). A judge parses in many threads, so ours wait for each other; somebody else's parsing can
still come between, and then the text is parsed again.
"""

from __future__ import annotations

import ast
import os
import threading
import warnings

TRIES = 5

_one_at_a_time = threading.RLock()  # re-entrant: a finaliser that runs inside a parse may parse
os.register_at_fork(  # a child must not inherit a lock whose holder it lacks
    before=_one_at_a_time.acquire, after_in_parent=_one_at_a_time.release, after_in_child=_one_at_a_time.release
)


def parsed(source: str) -> ast.Module:
    """Return the tree of a program, without the warnings that Python has about old escapes.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: The text is no program, or too deep for the interpreter.
    """
    for _ in range(TRIES - 1):
        try:
            return _parsed(source)
        except (SystemError, RecursionError):
            continue  # another thread's count, or a text that is truly too deep: the last try tells
    return _parsed(source)


def _parsed(source: str) -> ast.Module:
    with _one_at_a_time, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source)
