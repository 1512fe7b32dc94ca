"""What came of the asserts of a test text. The verdict goes by this list, never by whether an exception arrived.

The instrumented text calls these methods, see `instrument.py`.
"""

from __future__ import annotations

import ast
import reprlib
import sys
from collections.abc import Sequence
from typing import Any

from grpo_rewards.code.confined.faults import class_name, text_of
from grpo_rewards.code.confined.rules import same
from grpo_rewards.code.confined.session import Lost, Session
from grpo_rewards.code.confined.state import RemoteBase, has_data

RESULTS = 1000
"""Results that are told one by one; beyond them only their number."""

_SHOWN = 500
_BRIEF = reprlib.Repr()
_BRIEF.maxlevel, _BRIEF.maxstring, _BRIEF.maxother, _BRIEF.maxlong = 8, 300, 300, 300
_BRIEF.maxlist = _BRIEF.maxtuple = _BRIEF.maxset = _BRIEF.maxfrozenset = _BRIEF.maxdict = _BRIEF.maxdeque = 60


class Record:
    """The results so far.

    Args:
        session: To the solution.
        lines: The test text, for quotations.
        every_test: Whether the text goes on behind a failure.
    """

    def __init__(self, session: Session, lines: Sequence[str], *, every_test: bool) -> None:
        self.session = session
        self.lines = lines
        self.every_test = every_test
        self.sites: list[ast.stmt] = []
        self.results: list[dict[str, Any]] = []
        self.passed = 0
        self.failed = 0
        self.told: BaseException | None = None
        self.marks: dict[int, int] = {}
        self.before = 0

    same = staticmethod(same)

    def note(self, line: int, source: str, *, ok: bool, **more: Any) -> None:
        """Add one result."""
        self.passed += ok
        self.failed += not ok
        if len(self.results) < RESULTS:
            self.results.append({"ok": ok, "line": line, "source": source[:_SHOWN], **more})

    def asserted(self, site: int, ok: bool, *sides: Any) -> bool:
        """Note an assert whose condition was evaluated.

        Returns:
            Whether it failed, and its message is wanted.
        """
        more = {} if ok else {name: shown(side) for name, side in zip(("got", "expected"), sides, strict=False)}
        self._at(site, ok=ok, **more)
        return not ok

    def tell(self, site: int, message: Any = None) -> None:
        """Add its message to the failure just noted, and raise it."""
        if message is not None and self.results:
            self.results[-1]["message"] = shown(message)
        if not self.every_test:
            self.told = AssertionError(message) if message is not None else AssertionError()
            raise self.told

    def raised(self, site: int, expected: bool) -> bool:
        """Note an assert whose condition raised an exception.

        Args:
            site: Which assert.
            expected: Whether the text around it waits for exceptions; then this is none of the assert's.

        Returns:
            Whether the exception goes on.
        """
        error = sys.exc_info()[1]
        assert error is not None
        if isinstance(error, Lost):
            return True
        if error is not self.told and not expected:
            self._at(site, ok=False, **told(error))
            self.told = error
        return expected or not self.every_test

    def outside(self, line: int, error: BaseException | None = None) -> bool:
        """Note an exception that no assert raised.

        Returns:
            Whether it goes on.
        """
        error = error or sys.exc_info()[1]
        assert error is not None
        if isinstance(error, Lost):
            return True
        if isinstance(error, SystemExit) and not error.code:
            return True
        if error is not self.told:
            self.note(line, self._quoted(line), ok=False, **told(error))
            self.told = error
        return not self.every_test

    def begin(self) -> None:
        """A statement of a text without asserts begins."""
        self.before = self.session.consulted

    def done(self, line: int) -> None:
        """The statement has ended; it is a test if it asked the solution something."""
        if self.session.consulted > self.before:
            self.note(line, self._quoted(line), ok=True)

    def entered(self, site: int) -> None:
        """A `with` around asserts begins."""
        self.marks[site] = self.session.swallowed

    def reached(self, site: int) -> None:
        """The end of its body was reached."""
        self.marks.pop(site, None)

    def left(self, site: int, line: int) -> None:
        """It has ended; asserts that a context manager of the solution has skipped are a failure."""
        if self.session.swallowed > self.marks.pop(site, self.session.swallowed):
            self.note(line, self._quoted(line), ok=False, message="the solution's context manager skipped asserts")

    def _at(self, site: int, *, ok: bool, **more: Any) -> None:
        node = self.sites[site]
        if len(self.results) < RESULTS:
            self.note(node.lineno, self._segment(node), ok=ok, **more)
        else:
            self.note(node.lineno, "", ok=ok)

    def _quoted(self, line: int) -> str:
        return self.lines[line - 1].strip() if 0 < line <= len(self.lines) else ""

    def _segment(self, node: ast.stmt) -> str:
        if node.end_lineno == node.lineno:
            text = self.lines[node.lineno - 1]
            return text.encode()[node.col_offset : node.end_col_offset].decode(errors="replace")
        return "\n".join(self.lines[node.lineno - 1 : node.end_lineno]).strip()


def told(error: BaseException) -> dict[str, Any]:
    """An exception in a result."""
    return {"exception": class_name(type(error)), "message": text_of(error)}


def shown(value: Any) -> str:
    """A short text for a value; an object of the solution is not asked."""
    if isinstance(value, RemoteBase) and not has_data(value):
        return f"<{class_name(type(value))} object>"
    try:
        return _BRIEF.repr(value)[:_SHOWN]
    except Exception:  # integers with too many digits, and what the tests' own classes raise
        return f"<{class_name(type(value))}>"
