"""From responses to the judge's verdicts, and back in order: what all rewards of code share.

One judgement per program: parts of a combination that ask about the same answer get the same verdict, from a memory of
the last few thousand. Rewards that were given no judge share one per process; it starts with the first program and
ends when the last of them is closed, at the latest with the process.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Protocol

from grpo_gym.errors import GrpoGymError
from grpo_gym.problem import Problem
from grpo_gym.verdict import Reason, Verdict
from grpo_rewards.code.extract import solution_code
from grpo_rewards.code.job import Job
from grpo_rewards.code.judge import CodeJudge, shared_judge
from grpo_rewards.code.reference import Reference, read_reference

REMEMBERED = 4_096
"""Judgements that are remembered; the oldest are forgotten first."""

_LOST = ("WorkerLost", "Unsettled")
"""Errors of looking at a program that it need not have caused."""


class Judge(Protocol):
    """What is asked of a judge; a `CodeJudge` does it."""

    def submit(self, job: Job) -> Future[Verdict]:
        """Start to judge a program."""
        ...

    def inspect(self, solution: str) -> dict[str, Any]:
        """Return the measures of a program's syntax tree, or what is wrong with it; nothing is executed."""
        ...

    def close(self) -> None:
        """End its processes."""
        ...


@dataclass(frozen=True)
class Judged:
    """One response, judged.

    Attributes:
        code: Its program, None when it holds none.
        verdict: The judge's; or that there is no program, or that the reference is unreadable.
    """

    code: str | None
    verdict: Verdict


class Judging:
    """A judge with a memory.

    Args:
        judge: Who judges.
    """

    def __init__(self, judge: Judge) -> None:
        self.judge = judge
        self._verdicts = _Memory()
        self._reports = _Memory()

    def judged(self, rows: Sequence[tuple[str, Problem]], every_test: bool = False) -> list[Judged]:
        """Judge responses: all programs are handed over first, then the verdicts are collected in order.

        Args:
            rows: (response, problem) pairs.
            every_test: Whether tests go on behind the first that fails, so that shares can be told.
        """
        read = _once_each(_read)
        started = [self._start(response, problem, read(problem.reference), every_test) for response, problem in rows]
        return [collect() for collect in started]

    def programs(self, rows: Sequence[tuple[str, Problem]]) -> list[str | Verdict]:
        """Return the program of each response, or the verdict on a response without one; nothing is run."""
        read = _once_each(_read)
        return [_program(response, read(problem.reference)) for response, problem in rows]

    def report(self, code: str) -> dict[str, Any] | Verdict:
        """Return what the judge reads off a program without running it, or an abstention when the judge failed."""
        found: dict[str, Any] = self._reports.get(code, lambda: self.judge.inspect(code))
        error = found.get("error")
        if not error or (isinstance(error, Mapping) and error.get("type") not in _LOST):
            return found
        self._reports.forget(code)
        return Verdict.abstain(f"the program could not be looked at: {error}"[:300])

    def _start(
        self, response: str, problem: Problem, reference: Reference | Verdict, every_test: bool
    ) -> Callable[[], Judged]:
        code = _program(response, reference)
        if isinstance(code, Verdict):
            return lambda: Judged(None, code)
        assert isinstance(reference, Reference)  # else there were no program
        job = Job(code, reference.suite, reference.suite.style, every_test=every_test, **reference.options)
        key = (id(problem.reference), code, every_test)
        future, _ = self._verdicts.get(key, lambda: (self.judge.submit(job), problem))  # the problem keeps its id
        return lambda: Judged(code, self._collected(key, future))

    def _collected(self, key: Hashable, future: Future[Verdict]) -> Verdict:
        try:
            verdict = future.result()
        except BaseException:
            self._verdicts.forget(key)
            raise
        if verdict.abstains or verdict.reason is Reason.SCORER_ERROR:
            self._verdicts.forget(key)  # whoever asks again may get an answer
        return verdict


def _read(reference: object) -> Reference | Verdict:
    try:
        return read_reference(reference)
    except GrpoGymError as error:
        return Verdict.abstain(f"the reference cannot be read: {error}")


def _program(response: str, reference: Reference | Verdict) -> str | Verdict:
    if isinstance(reference, Verdict):
        return reference
    found = solution_code(response, reference.entry_point)
    return Verdict(0.0, found.reason, feedback=found.why) if found.code is None else found.code


def _once_each(read: Callable[[object], Reference | Verdict]) -> Callable[[object], Reference | Verdict]:
    """Return a reader that reads each reference of a batch once."""
    known: dict[int, Reference | Verdict] = {}

    def reader(reference: object) -> Reference | Verdict:
        if id(reference) not in known:
            known[id(reference)] = read(reference)
        return known[id(reference)]

    return reader


class _Memory:
    """The last values by key."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[Hashable, Any] = {}

    def get(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return the value of a key, made at need."""
        with self._lock:
            if key not in self._known:
                self._known[key] = make()
                if len(self._known) > REMEMBERED:
                    del self._known[next(iter(self._known))]
            return self._known[key]

    def forget(self, key: Hashable) -> None:
        """Let the value be made again."""
        with self._lock:
            self._known.pop(key, None)


_lock = threading.Lock()
_shared: dict[tuple[int, int | None], tuple[Judging, weakref.WeakSet[Any]]] = {}


_by_judge: weakref.WeakValueDictionary[int, Judging] = weakref.WeakValueDictionary()


def judging_of(judge: Judge) -> Judging:
    """Return the judging of a judge, the same one for all rewards that were given this judge."""
    with _lock:
        return _by_judge.setdefault(id(judge), Judging(judge))


def borrow(holder: object, workers: int | None) -> Judging:
    """Return the judging that this process shares, started at need.

    Args:
        holder: Who needs it, until `give_back`.
        workers: Programs that run at a time, by a judge for this number; None takes the one that all share.
    """
    with _lock:
        key = (os.getpid(), workers)  # a forked process never sees what its parent waits for
        if key not in _shared:
            lent = shared_judge() if workers is None else CodeJudge(workers=workers)
            _shared[key] = Judging(lent), weakref.WeakSet()
        judging, holders = _shared[key]
        holders.add(holder)
        return judging


def give_back(holder: object) -> None:
    """Give up a holder's share of every judge; the last share that goes ends its processes."""
    unused = []
    with _lock:
        for key, (judging, holders) in list(_shared.items()):
            holders.discard(holder)
            if not holders and key[0] == os.getpid():
                unused.append(judging)
                del _shared[key]
    for judging in unused:
        judging.judge.close()
