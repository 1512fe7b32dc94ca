"""What came of one job: the results of its tests, the first failure, and why there are no more; and its verdict."""

from __future__ import annotations

import signal
from dataclasses import dataclass, field
from typing import Any

from grpo_gym.verdict import Reason, Verdict
from grpo_rewards.code.confined.zygote import FAILED
from grpo_rewards.code.sandbox import Ended
from grpo_rewards.code.watch import LimitReached

SHOWN_TESTS = 1000
"""Tests whose results a verdict lists; all are counted."""


class Unsettled(Exception):
    """A child ended in a way that the solution need not have caused: another try tells.

    Attributes:
        by_others: Whether the solution cannot have done it by itself, as far as we know.
    """

    def __init__(self, message: str, by_others: bool = False) -> None:
        super().__init__(message)
        self.by_others = by_others


@dataclass
class Outcome:
    """What came of one job.

    Attributes:
        passed: How many tests passed.
        total: How many tests there are; where only running them tells, how many there were so far.
        tests: The result of each test that was run: {"ok": bool, ...}.
        reason: Why it did not pass; CORRECT as long as nothing speaks against it.
        failure: The first failing case: "test" (its number from 0), "message", and what applies of "call", "input",
            "got", "expected", "exception", "line".
        exception: Name of the exception that ended it.
        stdout: The end of what the solution printed.
        cpu_s: Seconds of CPU that the solution (and tests given as text) used.
        checker_error: What the checker raised.
    """

    total: int
    passed: int = 0
    tests: list[dict[str, Any]] = field(default_factory=list)
    reason: Reason = Reason.CORRECT
    failure: dict[str, Any] | None = None
    exception: str = ""
    stdout: str = ""
    cpu_s: float = 0.0
    checker_error: str = ""

    def succeed(self, **found: Any) -> None:
        """Note that the test which comes next passed."""
        self.passed += 1
        self.tests.append({"ok": True} | found)

    def fail(self, reason: Reason, message: str, **found: Any) -> None:
        """Note a failure of the test that comes next; the first one gives the reason."""
        message, found = _printable(message), {key: _printable(value) for key, value in found.items()}
        if self.failure is None:
            self.reason = reason
            self.failure = {"test": len(self.tests), "message": message} | found
            self.exception = str(found.get("exception", ""))
        self.tests.append({"ok": False, "message": message})

    def withdraw(self, test: int, message: str, **found: Any) -> None:
        """Note that a test which was counted as passed did not pass; the reason is that of the first failing test."""
        message, found = _printable(message), {key: _printable(value) for key, value in found.items()}
        self.passed -= 1
        self.tests[test] = {"ok": False, "message": message}
        if self.failure is None or test < self.failure["test"]:
            self.reason = Reason.WRONG_ANSWER
            self.failure = {"test": test, "message": message} | found
            self.exception = ""

    def fault(self, error: dict[str, Any], **found: Any) -> None:
        """Note a failure by an exception that the solution's process told (`confined.faults.describe`)."""
        name, message = _text(error.get("type"), 60), _text(error.get("message"), 300)
        told = {"exception": name, "line": error["line"]} if type(error.get("line")) is int else {"exception": name}
        if error.get("kind") == "syntax":
            reason = Reason.SYNTAX_ERROR
        else:
            reason = Reason.MEMORY_LIMIT if "MemoryError" in (name, error.get("base")) else Reason.RUNTIME_ERROR
        self.fail(reason, f"{name}: {message}".rstrip(": "), **told | found)

    def limit(self, reached: LimitReached, **found: Any) -> None:
        """Note that the test which comes next reached a limit."""
        self.fail(reached.reason, f"the {reached.reason.value.replace('_', ' ')} was reached", **found)

    def death(self, ended: Ended, most_cpu_s: int) -> None:
        """Note that the solution's process ended before it was done.

        Args:
            ended: How.
            most_cpu_s: Seconds of CPU after which the kernel ends it.

        Raises:
            Unsettled: Others may have ended it: the kernel for want of memory, or a person.
        """
        spent = ended.cpu_s > most_cpu_s - 1
        if ended.signal == signal.SIGKILL and not spent:  # which a child cannot send to itself
            raise Unsettled("the solution's process was killed", by_others=True)
        if ended.code == FAILED or ended.signal in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            raise Unsettled(f"the solution's process ended with status {ended.status}")
        if ended.signal == signal.SIGXCPU or (ended.signal == signal.SIGKILL and spent):
            self.fail(Reason.CPU_LIMIT, "the time limit was reached")
        elif ended.signal:
            names = {number.value: number.name for number in signal.Signals}  # some numbers have none
            self.fail(Reason.CRASHED, f"the process crashed: {names.get(ended.signal, ended.signal)}")
        else:
            self.fail(Reason.RUNTIME_ERROR, f"the process left with exit code {ended.code}", exception="SystemExit")

    def verdict(self) -> Verdict:
        """Return the verdict: 1 when there are tests and all passed, else 0."""
        right = self.reason is Reason.CORRECT and self.passed == self.total > 0
        reason = Reason.WRONG_ANSWER if self.reason is Reason.CORRECT and not right else self.reason
        message = self.failure["message"] if self.failure else ""
        details: dict[str, Any] = {
            "passed": self.passed,
            "total": self.total,
            "share": self.passed / self.total if self.total else 0.0,
            "tests": self.tests[:SHOWN_TESTS],
            "failure": self.failure,
            "exception": self.exception,
            "stdout": self.stdout,
            "cpu_s": self.cpu_s,
        }
        if self.checker_error:
            details["checker_error"] = self.checker_error
        return Verdict(float(right), Reason.CORRECT if right else reason, feedback=message, details=details)


def _text(told: Any, limit: int) -> str:
    """Return what a hostile process told, as far as it is text: anything else may be too deep to be written out."""
    return told[:limit] if isinstance(told, str) else ""


def _printable(value: Any) -> Any:
    """Return a text without what cannot be written to a file or plays tricks with a terminal; others as they are."""
    if not isinstance(value, str) or value.isprintable():
        return value
    escaped = (c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in value)
    return "".join(escaped)
