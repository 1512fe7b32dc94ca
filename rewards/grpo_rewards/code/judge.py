"""The judge: jobs in, verdicts out, by workers that run beside whatever else the caller does.

    with CodeJudge(workers=4) as judge:
        future = judge.submit(Job(solution, tests))        # returns at once
        verdicts = judge.judge_all(jobs, deadline_s=60)    # in the order of the jobs

Workers are threads, which wait for processes most of the time; each has zygotes of its own, started when first needed.
A worker that loses a process starts anew and tries the job again. Nothing is lost: every job ends in a verdict.
"""

from __future__ import annotations

import atexit
import logging
import os
import queue
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import suppress
from typing import Any

from grpo_gym.errors import InvalidValueError
from grpo_gym.verdict import Reason, Verdict
from grpo_rewards.code.confined.channel import ChannelError
from grpo_rewards.code.job import LONGEST_SOLUTION, Job
from grpo_rewards.code.outcome import Unsettled
from grpo_rewards.code.sandbox import Tier, WorkerLost
from grpo_rewards.code.suite import Style
from grpo_rewards.code.tiers import Wish, isolation
from grpo_rewards.code.watch import LimitReached
from grpo_rewards.code.worker import Worker

logger = logging.getLogger(__name__)

MOST_WORKERS = 8
WAITING_PER_WORKER = 16
"""Jobs that wait for each worker before `submit` waits too."""

_INSPECT_S, _INSPECT_MB = 2.0, 256


class _Pool:
    """Workers, and threads that use them. They hold no reference to the judge, so that a forgotten judge is closed."""

    def __init__(self, tier: Tier, packages: tuple[str, ...], workers: int, idle_s: float | None) -> None:
        self.workers = [Worker(tier, packages) for _ in range(workers)]
        self.owner = os.getpid()
        self._free: queue.LifoQueue[Worker] = queue.LifoQueue()  # the one used last has its processes ready
        for worker in reversed(self.workers):
            self._free.put(worker)
        self._queue: queue.Queue[_Order | None] = queue.Queue(maxsize=WAITING_PER_WORKER * workers)
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._idle_s, self._used = idle_s, threading.Event()
        self._closed = False
        if idle_s is not None:
            threading.Thread(target=self._let_go, name="code-judge-idle", daemon=True).start()

    def put(self, order: _Order) -> None:
        """Queue an order for a thread. Waits while the queue is full."""
        with self._lock:
            if len(self._threads) < min(len(self.workers), len(self._threads) + self._queue.qsize() + 1):
                thread = threading.Thread(target=self._work, name="code-judge", daemon=True)
                self._threads.append(thread)
                thread.start()
        self._queue.put(order)

    def carry_out(self, order: _Order) -> None:
        """Carry out an order in this thread, with the next worker that is free."""
        worker = self._free.get()
        try:
            order.carry_out(worker)
        finally:
            self._free.put(worker)
            self._used.set()

    def close(self) -> None:
        """End all workers when they have done what is queued."""
        if os.getpid() != self.owner:
            return  # a forked copy: threads and processes are the parent's
        self._closed = True
        self._used.set()
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            thread.join()
        for worker in self.workers:
            worker.close()

    def _work(self) -> None:
        while (order := self._queue.get()) is not None:
            self.carry_out(order)
            del order

    def _let_go(self) -> None:
        """End the processes of workers that were not used for a while."""
        assert self._idle_s is not None
        while not self._closed:
            self._used.wait()
            while self._used.is_set() and not self._closed:
                self._used.clear()
                time.sleep(self._idle_s)
            idle = []
            with suppress(queue.Empty):
                while not self._closed:
                    idle.append(self._free.get_nowait())
            for worker in idle:
                worker.close()
                self._free.put(worker)


class _Order:
    """A job, or a solution to look at, with the future of its result."""

    def __init__(self, job: Job | str) -> None:
        self.job = job
        self.future: Future[Any] = Future()

    def carry_out(self, worker: Worker) -> None:
        """Put a result into the future, whatever happens."""
        if not self.future.set_running_or_notify_cancel():
            return
        try:
            if isinstance(self.job, Job):
                self.future.set_result(worker.judge(self.job))
            else:
                self.future.set_result(_inspected(worker, self.job))
        except Exception as error:  # no fault of a solution: those are verdicts
            logger.warning("the judge failed: %s: %s", type(error).__name__, error)
            failure = f"the judge failed: {type(error).__name__}: {error}"[:300]
            self.future.set_result(
                Verdict.abstain(failure) if isinstance(self.job, Job) else {"ok": False, "error": failure}
            )


def _too_big() -> Verdict:
    return Verdict(0.0, Reason.TOO_BIG, feedback=f"the solution has more than {LONGEST_SOLUTION} characters")


def _inspected(worker: Worker, solution: str) -> dict[str, Any]:
    try:
        return worker.inspect(solution, _INSPECT_S, _INSPECT_MB)
    except (WorkerLost, Unsettled, ChannelError, LimitReached) as error:
        return {"ok": False, "error": {"kind": "limit", "type": type(error).__name__, "message": str(error)[:300]}}


class CodeJudge:
    """Judges solutions by tests, in processes that share nothing with the tests. For any number of threads.

    Args:
        workers: How many jobs run at a time; default: the CPUs, at most 8.
        isolation: "auto" for the best tier that works here, "namespaces" or "landlock" for one in particular, "none"
            to run solutions with the caller's rights, on the caller's own responsibility.
        packages: Installed packages that solutions may import beyond the standard library, with what they need.
        idle_s: Seconds without a job after which a worker lets its processes go; None: it keeps them, ready.

    Raises:
        NotIsolatedError: Solutions cannot be isolated here.
        InvalidValueError: The number of workers is no positive integer.
    """

    def __init__(
        self,
        *,
        workers: int | None = None,
        isolation: Wish = "auto",
        packages: Sequence[str] = ("numpy",),
        idle_s: float | None = None,
    ) -> None:
        if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int) or workers < 1):
            raise InvalidValueError(f"workers is {workers!r:.80}, must be an integer of at least 1")
        self._workers = workers or min(MOST_WORKERS, os.cpu_count() or 1)
        self._packages = tuple(packages)
        self._idle_s = idle_s
        self.isolation = _isolation(isolation)
        self._lock = threading.Lock()
        self._open()

    def judge(self, solution: str, tests: str | Mapping[str, Any], style: Style = "asserts", **options: Any) -> Verdict:
        """Judge one solution and wait for the verdict. Arguments are those of `Job`."""
        job = Job(solution, tests, style, **options)
        if len(solution) > LONGEST_SOLUTION:
            return _too_big()
        order = _Order(job)
        self._current().carry_out(order)  # here: handing it to a thread would take longer than many a run
        verdict: Verdict = order.future.result()
        return verdict

    def submit(self, job: Job) -> Future[Verdict]:
        """Queue a job; waits only while WAITING_PER_WORKER jobs per worker are queued already."""
        if len(job.solution) > LONGEST_SOLUTION:
            future: Future[Verdict] = Future()
            future.set_result(_too_big())
            return future
        order = _Order(job)
        self._current().put(order)
        return order.future

    def judge_all(self, jobs: Sequence[Job], deadline_s: float | None = None) -> list[Verdict]:
        """Judge jobs side by side and return their verdicts in order.

        Args:
            jobs: What to judge.
            deadline_s: Seconds for all of them; what is not done then abstains.
        """
        end = None if deadline_s is None else time.monotonic() + deadline_s
        futures = []
        for job in jobs:
            if end is not None and time.monotonic() > end:
                break
            futures.append(self.submit(job))
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
        order = _Order(solution)
        self._current().carry_out(order)
        found: dict[str, Any] = order.future.result()
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

    def _current(self) -> _Pool:
        with self._lock:
            if self._pool.owner != os.getpid():  # forked: the threads and processes are the parent's
                self._open()
            return self._pool

    def _open(self) -> None:
        self._pool = _Pool(self.isolation.tier, self._packages, self._workers, self._idle_s)
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
