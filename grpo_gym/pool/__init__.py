"""Slow rewards are scored in worker processes, with a deadline per answer. One pool per process serves them all.

An answer that runs past its deadline scores 0 and its worker is replaced. A worker that dies on an answer is replaced
and the answer tried once more; if that dies too, a right answer to the problem decides whose fault it was. What cannot
reach another process (an unpicklable reward, or one defined in the running script, which no worker ever runs again) is
scored in this one, without a deadline; the log says so once.

The pool starts with the first slow answer and ends when the last environment or reward that used it is closed, is
garbage-collected, or the interpreter exits. `GRPO_GYM_WORKERS` sets its size; default: the CPUs, at most 8. It needs
POSIX: on Windows slow rewards are scored in process.
"""

from __future__ import annotations

import logging
import os
import pickle
import sys
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from grpo_gym.pool.batch import Batch, Failure, Result, Trouble
from grpo_gym.pool.serve import pack_answer
from grpo_gym.pool.workers import Workers
from grpo_gym.reward import Reward
from grpo_gym.scoring import MAX_ANSWER, blame, is_scorer_error, right_answer, score_one, too_big
from grpo_gym.stream import Drawn
from grpo_gym.verdict import Reason, Verdict

logger = logging.getLogger(__name__)

MAX_WORKERS = 8

Rows = Sequence[tuple[str, Drawn]]

_said: set[type] = set()
"""Classes of rewards that the log has named."""


def score_in_pool(reward: Reward, rows: Rows, holder: object | None = None) -> list[Verdict]:
    """Judge answers of a slow reward in the worker pool; never raises, returns one verdict per row in order.

    Args:
        reward: The reward; a pickled copy of it does the work.
        rows: (answer, drawn problem) pairs.
        holder: Keeps the pool alive until `release(holder)`; default: the reward.
    """
    try:
        if sys.platform == "win32":
            raise NotImplementedError("the worker pool needs POSIX")
        packed = pickle.dumps(reward)
    except Exception as error:
        _stays_here(reward, error)
        return [score_one(reward, answer, drawn) for answer, drawn in rows]
    with _shared.session(reward if holder is None else holder) as workers:
        return _Scoring(workers, reward, packed).verdicts(rows)


def release(holder: object) -> None:
    """Give up a holder's share of the pool; the last share that goes ends the processes."""
    _shared.release(holder)


def processes() -> list[int]:
    """Return the process ids of the workers that exist now."""
    return _shared.processes()


class _Scoring:
    """One call: answers to results to verdicts, with the right answers as referees."""

    def __init__(self, workers: Workers, reward: Reward, packed: bytes) -> None:
        self.workers = workers
        self.reward = reward
        self.packed = packed

    def verdicts(self, rows: Rows) -> list[Verdict]:
        results = self._results(rows)
        doubtful = {id(drawn): drawn for (_, drawn), result in zip(rows, results, strict=True) if _is_fault(result)}
        referees = self._right_verdicts(list(doubtful.values()))
        return [self._settle(result, *row, referees) for row, result in zip(rows, results, strict=True)]

    def _results(self, rows: Rows) -> list[Result]:
        results: dict[int, Result] = {}
        packed: dict[int, bytes] = {}
        for position, (answer, drawn) in enumerate(rows):
            if len(answer) > MAX_ANSWER:
                results[position] = too_big()
                continue
            try:
                packed[position] = pack_answer(answer, drawn.problem)
            except Exception as error:
                results[position] = Failure(Trouble.UNLOADABLE, f"{type(error).__name__}: {error}")
        batch = Batch(self.workers, self.packed, list(packed.values()), self.reward.time_limit)
        results.update(zip(packed, batch.run(), strict=True))
        return [results[position] for position in range(len(rows))]

    def _right_verdicts(self, problems: Sequence[Drawn]) -> dict[int, Verdict]:
        """Return what the scorer makes of a right answer to each problem; a failure on it is an abstention."""
        answers = [right_answer(drawn) for drawn in problems]
        rows = [(a, drawn) for a, drawn in zip(answers, problems, strict=True) if isinstance(a, str)]
        results = iter(self._results(rows))
        verdicts: dict[int, Verdict] = {}
        for answer, drawn in zip(answers, problems, strict=True):
            result = next(results) if isinstance(answer, str) else answer
            verdicts[id(drawn)] = Verdict.abstain(result.text) if isinstance(result, Failure) else result
        return verdicts

    def _settle(self, result: Result, answer: str, drawn: Drawn, referees: dict[int, Verdict]) -> Verdict:
        if isinstance(result, Verdict):
            return blame(result, referees[id(drawn)], drawn) if _is_fault(result) else result
        if result.trouble is Trouble.LOST:
            return Verdict.abstain(result.text)
        if result.trouble is Trouble.UNLOADABLE:
            _stays_here(self.reward, result.text)
            return score_one(self.reward, answer, drawn)
        return blame(Verdict(0.0, Reason.CRASHED, feedback=result.text), referees[id(drawn)], drawn)


def _is_fault(result: Result) -> bool:
    """Whether it must be found out whose fault this is."""
    if isinstance(result, Verdict):
        return is_scorer_error(result)
    return result.trouble is Trouble.DIED


def _stays_here(reward: Reward, why: object) -> None:
    if type(reward) not in _said:
        _said.add(type(reward))
        text = "%s cannot be scored in worker processes and is scored here, without a deadline: %s"
        logger.warning(text, type(reward).__name__, why)


class _Shared:
    """The workers of this process, and who holds them."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # re-entrant: the collector may run a finalizer inside our own critical section
        self.workers: Workers | None = None
        self.holders: dict[int, weakref.finalize[..., object]] = {}
        self.active = 0

    @contextmanager
    def session(self, holder: object) -> Iterator[Workers]:
        """Lend the workers; they are not closed before the session ends, whoever lets go meanwhile."""
        with self.lock:
            if id(holder) not in self.holders:
                self.holders[id(holder)] = weakref.finalize(holder, self._drop, id(holder))
            if self.workers is None:
                self.workers = Workers(worker_count())
            workers = self.workers
            self.active += 1
        try:
            yield workers
        finally:
            with self.lock:
                self.active -= 1
            self._close_if_unused()

    def release(self, holder: object) -> None:
        finalizer = self.holders.get(id(holder))
        if finalizer is not None:
            finalizer()

    def processes(self) -> list[int]:
        with self.lock:
            return [] if self.workers is None else self.workers.processes()

    def forget(self) -> None:
        """In a forked child: the workers are the parent's, and a thread that is gone may have held the lock."""
        self.lock = threading.RLock()
        for finalizer in self.holders.values():
            finalizer.detach()
        if self.workers is not None:
            self.workers.forget()
        self.workers, self.holders, self.active = None, {}, 0

    def _drop(self, key: int) -> None:
        with self.lock:
            self.holders.pop(key, None)
        self._close_if_unused()

    def _close_if_unused(self) -> None:
        with self.lock:
            if self.holders or self.active or self.workers is None:
                return
            workers, self.workers = self.workers, None
        workers.close()


def worker_count() -> int:
    """Return the pool's size: GRPO_GYM_WORKERS, else the CPUs this process may use, at most MAX_WORKERS."""
    asked = os.environ.get("GRPO_GYM_WORKERS", "")
    if asked.isdecimal() and int(asked) > 0:
        return int(asked)
    if asked:
        logger.warning("GRPO_GYM_WORKERS is %r, not a positive whole number; it is ignored", asked)
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(available, MAX_WORKERS)


_shared = _Shared()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_shared.forget)
