"""The judge: jobs in, verdicts out, by workers that run beside whatever else the caller does.

    with CodeJudge(workers=4) as judge:
        future = judge.submit(Job(solution, tests))        # returns at once
        verdicts = judge.judge_all(jobs, deadline_s=60)    # in the order of the jobs

Workers are threads, which wait for processes most of the time; each has zygotes of its own, started when first needed.
A worker that loses a process starts anew and tries the job again. Nothing is lost: every job ends in a verdict.
"""

from __future__ import annotations

import atexit
import os
import queue
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import suppress
from importlib.util import find_spec
from typing import Any

from grpo_gym.errors import InvalidValueError
from grpo_gym.verdict import Reason, Verdict
from grpo_rewards.code.job import LONGEST_SOLUTION, Job
from grpo_rewards.code.pool import Order, Pool, PoolClosed
from grpo_rewards.code.suite import Style
from grpo_rewards.code.tiers import Wish, isolation

MOST_WORKERS = 8


def _installed(packages: Sequence[str] | None) -> tuple[str, ...]:
    """Return packages that were asked for, all of which must be there. Raises InvalidValueError."""
    if packages is None:
        return ("numpy",) if find_spec("numpy") is not None else ()
    missing = [name for name in packages if not name.isidentifier() or find_spec(name) is None]
    if missing:
        raise InvalidValueError(f"packages: {', '.join(map(repr, missing))} cannot be found; name installed packages")
    return tuple(packages)


def _too_big() -> Verdict:
    return Verdict(0.0, Reason.TOO_BIG, feedback=f"the solution has more than {LONGEST_SOLUTION} characters")


class CodeJudge:
    """Judges solutions by tests, in processes that share nothing with the tests. For any number of threads.

    Args:
        workers: How many jobs run at a time; default: the CPUs, at most 8.
        isolation: "auto" for the best tier that works here, "namespaces" or "landlock" for one in particular, "none"
            to run solutions with the caller's rights, on the caller's own responsibility.
        packages: Installed packages that solutions may import beyond the standard library, with what they need;
            default: numpy where it is installed.
        idle_s: Seconds without a job after which a worker lets its processes go; None: it keeps them, ready.

    Raises:
        NotIsolatedError: Solutions cannot be isolated here.
        InvalidValueError: The number of workers is no positive integer, or a package is not installed.
    """

    def __init__(
        self,
        *,
        workers: int | None = None,
        isolation: Wish = "auto",
        packages: Sequence[str] | None = None,
        idle_s: float | None = None,
    ) -> None:
        if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int) or workers < 1):
            raise InvalidValueError(f"workers is {workers!r:.80}, must be an integer of at least 1")
        self._workers = workers or min(MOST_WORKERS, os.cpu_count() or 1)
        self._packages = _installed(packages)
        self._idle_s = idle_s
        self.isolation = _isolation(isolation)
        self._lock = threading.Lock()
        self._open()

    def judge(self, solution: str, tests: str | Mapping[str, Any], style: Style = "asserts", **options: Any) -> Verdict:
        """Judge one solution and wait for the verdict. Arguments are those of `Job`."""
        job = Job(solution, tests, style, **options)
        if len(solution) > LONGEST_SOLUTION:
            return _too_big()
        verdict: Verdict = self._carried_out(job)
        return verdict

    def submit(self, job: Job) -> Future[Verdict]:
        """Queue a job; waits only while `pool.WAITING_PER_WORKER` jobs per worker are queued already."""
        if len(job.solution) > LONGEST_SOLUTION:
            future: Future[Verdict] = Future()
            future.set_result(_too_big())
            return future
        return self._submitted(job, None)

    def judge_all(self, jobs: Sequence[Job], deadline_s: float | None = None) -> list[Verdict]:
        """Judge jobs side by side and return their verdicts in order.

        Args:
            jobs: What to judge.
            deadline_s: Seconds for all of them; what is not done then abstains.
        """
        end = None if deadline_s is None else time.monotonic() + deadline_s
        futures: list[Future[Verdict]] = []
        with suppress(queue.Full):
            futures.extend(self.submit(job) if end is None else self._submitted(job, end) for job in jobs)
        verdicts = []
        for future in futures:
            try:
                verdicts.append(future.result(None if end is None else max(0.0, end - time.monotonic())))
            except FutureTimeout:
                future.cancel()
                verdicts.append(Verdict.abstain(f"the batch's deadline of {deadline_s:g} s passed"))
        late = Verdict.abstain(f"the batch's deadline of {deadline_s or 0:g} s passed")
        return verdicts + [late] * (len(jobs) - len(verdicts))

    def inspect(self, solution: str) -> dict[str, Any]:
        """Return what a closed-in child reads off a solution's syntax tree; nothing is executed."""
        found: dict[str, Any] = self._carried_out(solution)
        return found

    @property
    def process_ids(self) -> list[int]:
        """The processes that the workers hold now."""
        return [pid for worker in list(self._pool.workers) for pid in worker.process_ids]

    @property
    def restarts(self) -> int:
        """How often a worker lost a process and started anew."""
        return sum(worker.restarts for worker in self._pool.workers)

    def close(self) -> None:
        """Finish what is queued and end all processes. Judging after it starts anew."""
        with self._lock:
            self._finalizer()
            self._open()

    def __enter__(self) -> CodeJudge:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _carried_out(self, job: Job | str) -> Any:
        """Return the result of an order that this thread carries out: handing it over may take longer than the run."""
        while True:
            with suppress(PoolClosed):
                order = Order(job)
                self._current().carry_out(order)
                return order.future.result()

    def _submitted(self, job: Job, end: float | None) -> Future[Verdict]:
        """Queue a job. Raises queue.Full at the end of the time that there is."""
        if len(job.solution) > LONGEST_SOLUTION:
            return self.submit(job)
        while True:
            with suppress(PoolClosed):
                order = Order(job)
                self._current().put(order, None if end is None else max(0.0, end - time.monotonic()))
                return order.future

    def _current(self) -> Pool:
        with self._lock:
            if self._pool.owner != os.getpid():  # forked: the threads and processes are the parent's
                self._open()
            return self._pool

    def _open(self) -> None:
        self._pool = Pool(self.isolation.tier, self._packages, self._workers, self._idle_s)
        self._finalizer = weakref.finalize(self, self._pool.close)


_isolation = isolation
_CALL_IDLE_S, _REWARD_IDLE_S = 0.25, 60.0
"""Seconds that processes are kept for the next call of `judge` (nothing is left of a single one), and for rewards."""

_shared: dict[float, CodeJudge] = {}
_sharing = threading.Lock()


def shared_judge(idle_s: float = _REWARD_IDLE_S) -> CodeJudge:
    """Return the judge that all rewards of this process share which were given none; it is closed at exit."""
    with _sharing:
        if idle_s not in _shared:
            _shared[idle_s] = CodeJudge(idle_s=idle_s)
        return _shared[idle_s]


def judge(
    solution: str,
    tests: str | Mapping[str, Any],
    style: Style = "asserts",
    *,
    time_s: float = 5.0,
    memory_mb: int = 512,
    given: str = "",
    in_place: bool = False,
    entry_point: str | None = None,
    every_test: bool = False,
) -> Verdict:
    """Judge one solution by tests that it cannot see.

    Args:
        solution: Python code; hostile until shown otherwise.
        tests: Text of asserts; or {"fn_name", "inputs", "outputs"} for style "function"; or {"inputs", "outputs"} for
            "stdio"; the last two with "tolerance" and "checker" where wanted.
        style: How the tests are written.
        time_s: Seconds of CPU for one run.
        memory_mb: Megabytes for one run.
        given: Code that the prompt defines.
        in_place: Whether asserts see what the solution does to its arguments.
        entry_point: The function that was asked for; needed only where it has the name of a built-in one.
        every_test: Whether tests go on after the first failure.

    Returns:
        Value 1 when every test passed, else 0, with the reason; `details` has "passed", "total", "share", "tests",
        "failure" (the first failing case), "exception", "stdout", "cpu_s".

    Raises:
        NotIsolatedError: Solutions cannot be isolated here.
        InvalidValueError: The tests are wrong.
    """
    return shared_judge(_CALL_IDLE_S).judge(
        solution, tests, style,
        time_s=time_s, memory_mb=memory_mb, given=given, in_place=in_place,
        entry_point=entry_point, every_test=every_test,
    )  # fmt: skip


@atexit.register
def _close_shared() -> None:
    for shared in _shared.values():
        shared.close()
