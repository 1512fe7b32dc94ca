"""The reference of a problem that asks for a program: its tests, and how the program runs. One JSON object."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from grpo_gym.errors import InvalidValueError, UnknownNameError
from grpo_rewards.code.plain import shown
from grpo_rewards.code.suite import AssertSuite, FunctionSuite, Suite, read_suite
from grpo_rewards.code.syntax import parsed

_OPTIONS: dict[str, tuple[type, ...]] = {
    "given": (str,),
    "in_place": (bool,),
    "time_s": (int, float),
    "memory_mb": (int, float),
    "entry_point": (str,),
}
KEYS = ("style", "tests", "public", *_OPTIONS)
"""What a reference can hold; `style` and `tests` it must."""


@dataclass(frozen=True)
class Reference:
    """What decides whether a program is right.

    Attributes:
        suite: The tests.
        public: Tests of the same style that a solver may see, or None.
        entry_point: The name that the program must define, where that is one known name.
        options: What else a job takes: given, in_place, time_s, memory_mb, entry_point; what is absent has a default.
    """

    suite: Suite
    public: Suite | None
    entry_point: str | None
    options: Mapping[str, Any]


def read_reference(reference: object) -> Reference:
    """Return the reference of a problem, checked.

    Raises:
        UnknownNameError: A key or style that does not exist.
        InvalidValueError: Anything else that is wrong with it.
    """
    if not isinstance(reference, Mapping):
        raise InvalidValueError(f"a reference of code is a mapping with 'style' and 'tests', got {shown(reference)}")
    for key in reference:
        if key not in KEYS:
            raise UnknownNameError("key of a code reference", key, KEYS)
    for key in ("style", "tests"):
        if key not in reference:
            raise InvalidValueError(
                f"the reference has no {key!r}, only {', '.join(map(repr, reference)) or 'nothing'}"
            )
    options = {key: reference[key] for key in _OPTIONS if reference.get(key) is not None}
    for key, value in options.items():
        if not isinstance(value, _OPTIONS[key]) or (isinstance(value, bool) and bool not in _OPTIONS[key]):
            raise InvalidValueError(
                f"{key!r} of the reference is {shown(value)}, must be a {_OPTIONS[key][-1].__name__}"
            )
    suite = read_suite(reference["tests"], reference["style"])
    public = reference.get("public")
    return Reference(
        suite=suite,
        public=None if public is None else read_suite(public, reference["style"]),
        entry_point=options.get("entry_point") or _entry_point(suite, options.get("given", "")),
        options=options,
    )


def _entry_point(suite: Suite, given: str) -> str | None:
    """Return the one name that the tests ask for, None when that is not one."""
    if isinstance(suite, FunctionSuite):
        return suite.fn_name.split(".")[0]
    return _only_free_name(suite.source, given) if isinstance(suite, AssertSuite) else None


@lru_cache(maxsize=512)
def _only_free_name(source: str, given: str) -> str | None:
    """Return the name that the text of tests reads and nobody but the solution can define, None unless it is one."""
    try:
        trees = [parsed(source), parsed(given)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None  # the code of the prompt is told about where it runs
    read: set[str] = set()
    bound = set(vars(builtins))
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, ast.Name):
            (read if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            bound.add(node.name)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.alias):
            bound.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, ast.ExceptHandler) and node.name:
            bound.add(node.name)
    free = read - bound
    return free.pop() if len(free) == 1 else None
