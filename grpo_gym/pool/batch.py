"""One batch of answers on its way through the worker processes.

Every wait here has an end: an answer its deadline, a start-up START_LIMIT, and each read or write on a pipe IO_LIMIT.
"""

from __future__ import annotations

import json
import logging
import time
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from multiprocessing.connection import wait

from grpo_gym.pool.workers import PATIENCE, START_LIMIT, Worker, Workers
from grpo_gym.scoring import is_sound
from grpo_gym.verdict import Reason, Verdict

logger = logging.getLogger(__name__)

MAX_LOSSES = 3
"""Workers that a batch may lose without an answer being involved before it gives up."""


class Trouble(Enum):
    """Why there is no verdict."""

    DIED = "the worker died on the answer, twice"
    LOST = "no worker could be started"
    UNLOADABLE = "the worker could not load the reward or the problem"


@dataclass(frozen=True)
class Failure:
    """An answer without a verdict."""

    trouble: Trouble
    text: str


Result = Verdict | Failure


class Batch:
    """One reward's answers on their way through the workers.

    Args:
        workers: Where processes are borrowed.
        reward: The packed reward.
        answers: The packed answers; results come in this order.
        limit: Seconds for each answer.
    """

    def __init__(self, workers: Workers, reward: bytes, answers: Sequence[bytes], limit: float) -> None:
        self.workers = workers
        self.reward = reward
        self.answers = answers
        self.limit = limit
        self.waiting = deque(range(len(answers)))
        self.running: list[Worker] = []
        self.deaths: Counter[int] = Counter()
        self.losses = 0
        self.results: dict[int, Result] = {}

    def run(self) -> list[Result]:
        """Return one result per answer."""
        try:
            while self.waiting or self.running:
                self._assign()
                self._collect()
        finally:
            for worker in self.running:  # left over only when we are interrupted
                self.workers.discard(worker)
        return [self.results[job] for job in range(len(self.answers))]

    def _assign(self) -> None:
        while self.waiting:
            job = self.waiting[0]
            try:
                worker = self.workers.take(fresh=self.deaths[job] > 0)
            except OSError as error:
                self._lose(str(error))
                continue
            if worker is None:
                if not self.running:
                    self.workers.wait_for_one()
                return
            self.waiting.popleft()
            worker.job = job
            self.running.append(worker)
            if worker.ready:
                self._send(worker)

    def _collect(self) -> None:
        if not self.running:
            return
        left = min(worker.deadline for worker in self.running) - time.monotonic()
        ready = wait([worker.pipe for worker in self.running], max(0.0, min(left, PATIENCE) if self.waiting else left))
        for worker in list(self.running):
            if worker.pipe in ready:
                self._hear(worker)
            elif time.monotonic() >= worker.deadline:
                # the reply may have come while we read from another worker, or while this process was stopped
                self._hear(worker) if worker.pipe.poll() else self._late(worker)

    def _send(self, worker: Worker) -> None:
        try:
            worker.send(self.reward, self.answers[worker.job], self.limit)
        except OSError as error:
            self._end(worker)
            self.waiting.appendleft(worker.job)
            self._lose(f"a worker was gone before its job arrived: {error}")

    def _hear(self, worker: Worker) -> None:
        try:
            message = worker.pipe.recv_bytes()
            result = _unpack(message) if worker.ready else None
        except (EOFError, OSError, ValueError, LookupError, TypeError):
            # past the deadline the worker's own watchdog ended it before we came round to it
            return self._late(worker) if time.monotonic() >= worker.deadline else self._died(worker)
        if result is None:
            worker.ready = True
            return self._send(worker)
        self.results[worker.job] = result
        self.running.remove(worker)
        self.workers.give_back(worker)

    def _late(self, worker: Worker) -> None:
        self._end(worker)
        if worker.ready:
            text = f"scoring took longer than {self.limit:g} s"
            self.results[worker.job] = Verdict(0.0, Reason.TIMEOUT, feedback=text)
        else:
            self.waiting.appendleft(worker.job)
            self._lose(f"a worker was not up after {START_LIMIT:g} s")

    def _died(self, worker: Worker) -> None:
        self._end(worker)
        if not worker.ready:
            self.waiting.appendleft(worker.job)
            return self._lose(f"a worker died while it started ({worker.fate()})")
        self.deaths[worker.job] += 1
        if self.deaths[worker.job] < 2:
            self.waiting.append(worker.job)
        else:
            self.results[worker.job] = Failure(Trouble.DIED, f"the scorer died on it: {worker.fate()}")

    def _end(self, worker: Worker) -> None:
        self.running.remove(worker)
        self.workers.discard(worker)

    def _lose(self, text: str) -> None:
        """Count a worker lost through no answer's fault; too many of them and the waiting answers get no verdict."""
        self.losses += 1
        logger.warning("%s", text)
        if self.losses >= MAX_LOSSES:
            self.results.update((job, Failure(Trouble.LOST, text)) for job in self.waiting)
            self.waiting.clear()


def _unpack(message: bytes) -> Result:
    """Read a worker's reply. Raises ValueError, LookupError or TypeError when something else wrote to the pipe."""
    reply = json.loads(message)
    if "unloadable" in reply:
        return Failure(Trouble.UNLOADABLE, str(reply["unloadable"]))
    value = reply["value"]
    verdict = Verdict(
        None if value is None else float(value),
        Reason(reply["reason"]),
        {str(name): float(part) for name, part in reply["components"].items()},
        str(reply["feedback"]),
        dict(reply["details"]),
    )
    if not is_sound(verdict):
        raise ValueError(f"no finite numbers: {verdict}")
    return verdict
