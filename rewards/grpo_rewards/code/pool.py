"""Workers and the threads that use them: orders in, results in their futures, whatever happens.

A caller that waits anyway carries its order out itself, with the next worker that is free; others queue theirs.
"""

from __future__ import annotations

import logging
import os
import queue
import threading
import time
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from grpo_gym.verdict import Verdict
from grpo_rewards.code.confined.channel import ChannelError
from grpo_rewards.code.job import Job
from grpo_rewards.code.outcome import Unsettled
from grpo_rewards.code.sandbox import Tier, WorkerLost
from grpo_rewards.code.watch import LimitReached
from grpo_rewards.code.worker import Worker

logger = logging.getLogger("grpo_rewards.code")

WAITING_PER_WORKER = 16
"""Jobs that wait for each worker before `put` waits too."""

_INSPECT_S, _INSPECT_MB = 2.0, 256


class PoolClosed(Exception):
    """The pool takes no more orders."""


class Order:
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


def _inspected(worker: Worker, solution: str) -> dict[str, Any]:
    try:
        return worker.inspect(solution, _INSPECT_S, _INSPECT_MB)
    except (WorkerLost, Unsettled, ChannelError, LimitReached) as error:
        return {"ok": False, "error": {"kind": "limit", "type": type(error).__name__, "message": str(error)[:300]}}


class Pool:
    """Workers and threads. They hold no reference to the judge, so that a forgotten judge is closed."""

    def __init__(self, tier: Tier, packages: tuple[str, ...], workers: int, idle_s: float | None) -> None:
        self.workers = [Worker(tier, packages) for _ in range(workers)]
        self.owner = os.getpid()
        self._free: queue.LifoQueue[Worker] = queue.LifoQueue()  # the one used last has its processes ready
        for worker in reversed(self.workers):
            self._free.put(worker)
        self._queue: queue.Queue[Order | None] = queue.Queue(maxsize=WAITING_PER_WORKER * workers)
        self._threads: list[threading.Thread] = []
        self._gate = threading.Lock()  # who puts, and who closes
        self._inside, self._visitors = threading.Condition(), 0
        self._idle_s, self._used = idle_s, threading.Event()
        self._closed = False
        if idle_s is not None:
            threading.Thread(target=self._let_go, name="code-judge-idle", daemon=True).start()

    def put(self, order: Order, timeout_s: float | None = None) -> None:
        """Queue an order for a thread. Waits while the queue is full.

        Raises:
            PoolClosed: It was closed.
            queue.Full: It was full for so long.
        """
        if not self._gate.acquire(timeout=-1 if timeout_s is None else timeout_s):
            raise queue.Full
        try:
            if self._closed:
                raise PoolClosed
            if len(self._threads) < len(self.workers):
                thread = threading.Thread(target=self._work, name="code-judge", daemon=True)
                self._threads.append(thread)
                thread.start()
            self._queue.put(order, timeout=timeout_s)
        finally:
            self._gate.release()

    def carry_out(self, order: Order) -> None:
        """Carry out an order in this thread. Raises PoolClosed."""
        with self._inside:
            if self._closed:
                raise PoolClosed
            self._visitors += 1
        try:
            self._carry_out(order)
        finally:
            with self._inside:
                self._visitors -= 1
                self._inside.notify_all()

    def close(self) -> None:
        """End all workers when they have done what is queued."""
        if os.getpid() != self.owner:
            return  # a forked copy: threads and processes are the parent's
        with self._gate:
            with self._inside:
                self._closed = True
            for _ in self._threads:
                self._queue.put(None)
        self._used.set()
        for thread in self._threads:
            thread.join()
        with self._inside:
            self._inside.wait_for(lambda: self._visitors == 0)
        for _ in self.workers:
            self._free.get().close()  # waits for those that are being let go

    def _work(self) -> None:
        while (order := self._queue.get()) is not None:
            self._carry_out(order)
            del order

    def _carry_out(self, order: Order) -> None:
        worker = self._free.get()
        try:
            order.carry_out(worker)
        finally:
            self._free.put(worker)
            self._used.set()

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
