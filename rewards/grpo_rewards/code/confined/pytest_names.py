"""The few names of pytest that test texts use, for an interpreter that has no pytest."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any


class Raised:
    """What `raises` gives: the exception, once there is one."""

    value: BaseException | None = None

    @property
    def type(self) -> Any:
        """Its class."""
        return type(self.value)

    def match(self, pattern: str) -> bool:
        """Whether its message fits a regular expression.

        Raises:
            AssertionError: It does not.
        """
        if not re.search(pattern, str(self.value)):
            raise AssertionError(f"{str(self.value)!r} does not match {pattern!r}")
        return True


@contextmanager
def _raises(kinds: Any, match: str | None = None) -> Iterator[Raised]:
    raised = Raised()
    try:
        yield raised
    except kinds as error:
        raised.value = error
        if match is not None:
            raised.match(match)
    else:
        raise AssertionError(f"did not raise {kinds}")


def raises(kinds: Any, *args: Any, match: str | None = None, **kwargs: Any) -> Any:
    """Expect an exception of these classes in a `with`, or from a call."""
    if not args:
        return _raises(kinds, match)
    with _raises(kinds) as raised:
        args[0](*args[1:], **kwargs)
    return raised


class approx:
    """A number, or numbers, up to a tolerance."""

    def __init__(self, expected: Any, rel: float | None = None, abs: float | None = None) -> None:
        self.expected = expected
        self.rel = 1e-6 if rel is None and abs is None else rel or 0.0
        self.abs = 1e-12 if abs is None else abs

    def __eq__(self, other: object) -> bool:
        return self._near(other, self.expected)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"approx({self.expected!r})"

    def _near(self, value: Any, expected: Any) -> bool:
        if isinstance(expected, Mapping):
            same = isinstance(value, Mapping) and value.keys() == expected.keys()
            return same and all(self._near(value[key], expected[key]) for key in expected)
        if isinstance(expected, Sequence) and not isinstance(expected, str):
            same = isinstance(value, Sequence) and len(value) == len(expected)
            return same and all(map(self._near, value, expected))
        if type(value) is bool or type(value) not in (int, float, complex):
            return bool(value == expected)
        if isinstance(value, complex) or isinstance(expected, complex):
            return bool(abs(value - expected) <= max(self.rel * abs(expected), self.abs))
        return math.isclose(value, expected, rel_tol=0, abs_tol=max(self.rel * abs(expected), self.abs))


def parametrize(names: Any, rows: Sequence[Any], **_: Any) -> Callable[[Any], Any]:
    """Run a test once per row."""
    keys = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    cases = [dict(zip(keys, row if len(keys) > 1 else [row], strict=True)) for row in rows]

    def mark(function: Any) -> Any:
        function.judge_cases = [{**a, **b} for a in getattr(function, "judge_cases", [{}]) for b in cases]
        return function

    return mark


def fixture(function: Any = None, **_: Any) -> Any:
    """Mark a function whose value tests ask for by its name."""
    if function is None:
        return fixture
    function.judge_fixture = True
    return function


def fail(reason: str = "") -> None:
    """Fail.

    Raises:
        AssertionError: Always.
    """
    raise AssertionError(reason)


def install() -> None:
    """Make `import pytest` give these names, unless there is a pytest."""
    from importlib.util import find_spec

    if "pytest" not in sys.modules and find_spec("pytest") is None:
        module = ModuleType("pytest")
        mark = SimpleNamespace(parametrize=parametrize, asyncio=lambda function: function)
        module.__dict__.update(
            raises=raises, approx=approx, fixture=fixture, fail=fail, mark=mark, param=lambda *a, **_: a
        )
        sys.modules["pytest"] = module
