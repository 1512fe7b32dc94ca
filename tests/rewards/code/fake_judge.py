"""A judge that runs nothing: it reads in the program what the verdict is to be, and remembers what it was asked."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

from grpo_gym import Reason, Verdict
from grpo_rewards.code.confined.metrics import measure
from grpo_rewards.code.job import Job

SECRET = "31337"
"""What the tests expect: it must not be told unless asked for."""


def program(passed: int, total: int = 4, reason: Reason = Reason.WRONG_ANSWER, name: str = "f") -> str:
    """A program that passes some of its tests, and fails the others for a reason."""
    return f"# {passed} of {total} {reason}\ndef {name}(x): return x\n"


def fenced(code: str) -> str:
    """A response that holds a program."""
    return f"```python\n{code}```"


class LateFuture(Future[Verdict]):
    """A verdict that is only there when all programs are."""

    judge: FakeJudge

    def result(self, timeout: float | None = None) -> Verdict:
        assert len(self.judge.jobs) >= self.judge.wanted, (
            "a verdict was waited for before all programs were handed over"
        )
        return super().result(timeout)


class FakeJudge:
    """The judge.

    Args:
        wanted: How many programs must be handed over before the first verdict is waited for.
    """

    def __init__(self, wanted: int = 0) -> None:
        self.wanted = wanted
        self.jobs: list[Job] = []
        self.inspected: list[str] = []
        self.closed = 0

    def submit(self, job: Job) -> Future[Verdict]:
        self.jobs.append(job)
        future = LateFuture()
        future.judge = self
        future.set_result(self.verdict(job))
        return future

    def judge_all(self, jobs: Sequence[Job]) -> list[Verdict]:
        self.jobs += jobs
        return [self.verdict(job) for job in jobs]

    def inspect(self, solution: str) -> dict[str, Any]:
        self.inspected.append(solution)
        return measure(solution)

    def close(self) -> None:
        self.closed += 1

    def verdict(self, job: Job) -> Verdict:
        """What the first line of the program asks for."""
        words = job.solution.split("\n", 1)[0].split()
        passed, total, reason = int(words[1]), int(words[3]), Reason(words[4])
        if reason is Reason.ABSTAIN:
            return Verdict.abstain("the judge is out")
        right = passed == total
        failure: dict[str, Any] = {"test": passed, "call": f"f({SECRET})", "message": f"got 7, expected {SECRET}"}
        if reason is Reason.WRONG_ANSWER:
            failure |= {"got": "7", "expected": SECRET}
        else:
            failure |= {"message": "NameError: no z", "line": 3, "exception": "NameError"}
        details = {
            "passed": passed, "total": total, "share": passed / total, "failure": None if right else failure,
            "tests": [{"ok": True}] * passed + [{"ok": False, "message": " ".join(words[5:])}] * (total - passed),
            "exception": "", "stdout": "", "cpu_s": 0.0,
        }  # fmt: skip
        return Verdict(float(right), Reason.CORRECT if right else reason, {}, f"expected {SECRET}", details)
