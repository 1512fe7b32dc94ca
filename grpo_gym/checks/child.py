"""The process in which the thing under check runs: it makes problems, scores texts, and tells what it saw.

A fork of a bare interpreter (`nursery.py`), asked for by `laboratory.py`. Requests are pickled, since the parent is
trusted; replies are JSON, since the subject is not. A score that eats too much CPU is ended by the kernel (SIGPROF,
whose default action kills even code that never comes back to Python); one that sleeps is ended by the parent.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from grpo_gym.checks.forms import FORMS
from grpo_gym.checks.pace import work
from grpo_gym.checks.target import Target
from grpo_gym.checks.watch import Watch, changes, global_state
from grpo_gym.errors import GrpoGymError
from grpo_gym.problem import Problem, Split
from grpo_gym.scoring import FAULTS, is_finite
from grpo_gym.verdict import Reason, Verdict

Record = dict[str, Any]


TICKS = 0.02
"""Seconds by which the process's coarse clock may run ahead of the thread's."""


class Key(NamedTuple):
    """Where a problem is found; tier None draws among the default tiers."""

    tier: int | None
    split: Split
    seed: int
    place: int


class Right(NamedTuple):
    """Stands for right actions, each spelled in the form of this name; a text stands for itself."""

    form: str


Item = tuple[Key | Record, "str | Right"]
"""A problem, by its key or as JSON, and what is answered."""


def serve(handle: int) -> None:
    """Open the subject that comes first over the pipe, then answer requests until the pipe is closed."""
    os.set_inheritable(handle, False)
    pipe = Connection(handle)
    sys.dont_write_bytecode = True
    subject, scratch = pickle.loads(pipe.recv_bytes())
    try:
        foreign, open_target = subject.find()
        isolation = _confine(scratch) if foreign else None
        bench = Bench(open_target())  # nothing of a foreign subject is called before it is confined
    except FAULTS as error:
        _send(pipe, {"error": str(error) if isinstance(error, GrpoGymError) else _sentence(error)})
        return
    _send(pipe, {"facts": bench.target.facts.to_json(), "isolation": isolation})
    while (message := _next(pipe)) is not None:
        name, arguments, bench.cpu_limit = pickle.loads(message)
        for reply in getattr(bench, name)(*arguments):
            _send(pipe, reply)


class Bench:
    """Answers requests about one target. Each method yields one JSON object per item asked for.

    Attributes:
        cpu_limit: CPU seconds that one item of the present request may take.
    """

    def __init__(self, target: Target) -> None:
        self.target = target
        self.cpu_limit = 0.0
        self.watch = Watch()
        self._made: dict[Key, Problem] = {}
        self._seen = global_state(), len(sys.modules)

    def make(self, keys: list[Key]) -> Iterator[Record]:
        """Make problems, with a right answer and the final answer of each."""
        for key in keys:
            self._made.pop(key, None)
            record: Record = {"error": ""}
            spent = _stopwatch()
            try:
                with self._limited(), self.watch.look() as seen:
                    problem = self._problem(key)
                record["cpu"] = spent()
                record["touched"] = seen.touched
                record["problem"] = problem.to_json()
                record["right"] = _text("the right answer", self.target.right_answer(problem))
                record["final"] = _text("the final answer", self.target.final_answer(problem, problem.reference))
                record["text"], record["info"] = self.target.opening(problem)
            except FAULTS as error:
                record = {"error": _sentence(error)}
            yield record

    def content(self, keys: list[Key]) -> Iterator[Record]:
        """Make problems and tell their content and effort only."""
        for key in keys:
            self._made.pop(key, None)
            try:
                with self._limited():
                    problem = self._problem(key)
                    effort = self.target.effort(problem)
                yield {"content": problem.content, "effort": effort, "tier": problem.tier, "error": ""}
            except FAULTS as error:
                yield {"error": _sentence(error)}

    def write(self, items: list[tuple[Key, object]]) -> Iterator[Record]:
        """Write references as final answers to problems; None where that cannot be done.

        A task that writes the right answer whatever the reference says has written nothing wrong.
        """
        for key, reference in items:
            try:
                problem = self._problem(key)
                text = self.target.final_answer(problem, reference)
                if reference != problem.reference and text == self.target.final_answer(problem, problem.reference):
                    text = None
            except FAULTS:
                text = None
            yield {"text": text if isinstance(text, str) else None}

    def others(self, keys: list[Key]) -> Iterator[Record]:
        """Return other right answers by the subject's own word, and the texts of its own probes."""
        for key in keys:
            yield {
                "equivalents": self._told(lambda problem: _texts(self.target.equivalents(problem)), key),
                "solutions": self._told(lambda problem: _texts(self.target.solutions(problem)), key),
                "probes": self._told(
                    lambda problem: [[p.name, text, p.at_most] for p, text in self.target.probes(problem)], key
                ),
            }

    def score(self, items: list[Item]) -> Iterator[Record]:
        """Score texts one after the other, watched."""
        for item in items:
            with self._limited(), self.watch.look() as seen:
                spent, began = _stopwatch(), time.monotonic()
                record = self._judged(item)
                record["cpu"], record["seconds"] = spent(), time.monotonic() - began
            yield record | {"executed": seen.executed, "touched": seen.touched}

    def score_in_threads(self, items: list[Item], threads: int) -> Iterator[Record]:
        """Score texts in several threads at once."""
        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-5)  # threads that share something must get the chance to disturb each other
        try:
            with ThreadPoolExecutor(threads) as pool:
                yield from pool.map(self._judged, items)
        finally:
            sys.setswitchinterval(interval)

    def pace(self) -> Iterator[Record]:
        """Tell how long a fixed piece of work takes here."""
        yield {"seconds": work()}

    def state(self, keys: list[Key], items: list[Item]) -> Iterator[Record]:
        """Make problems and score texts, twice, and tell what of the process's global state has changed by it.

        What has changed since the process opened the subject is told, too: it was asked for scores only. The first pass
        shows what is changed once and for all, the second what only looked like an import's doing.
        """
        found: Record = {"by generation": [], "by scoring": self._changes(first=True)}
        for first in (True, False):
            self._make_all(keys)
            found["by generation"] += self._changes(first)
            self._judge_all(items)
            found["by scoring"] += self._changes(first)
        yield {how: list(dict.fromkeys(names)) for how, names in found.items()}

    def _changes(self, first: bool) -> list[str]:
        """Return what of the global state has changed since the last look."""
        (before, modules), self._seen = self._seen, (global_state(), len(sys.modules))
        after, modules_now = self._seen
        return changes(before, after, first, imported=modules_now != modules)

    def _make_all(self, keys: list[Key]) -> None:
        for key in keys:
            self._made.pop(key, None)
            with suppress(*FAULTS), self._limited():
                self.target.right_answer(self._problem(key))

    def _judge_all(self, items: list[Item]) -> None:
        for item in items:
            with self._limited():
                self._judged(item)

    def _told(self, ask: Callable[[Problem], list[Any] | None], key: Key) -> Record:
        """Return what the subject says of a problem, None for nothing, with the error if it raises."""
        try:
            with self._limited():
                return {"told": ask(self._problem(key)), "error": ""}
        except FAULTS as error:
            return {"told": None, "error": _sentence(error)}

    def _problem(self, where: Key | Record) -> Problem:
        if isinstance(where, dict):
            return Problem.from_json(where)
        if where not in self._made:
            self._made[where] = self.target.problem(*where)
        return self._made[where]

    def _judged(self, item: Item) -> Record:
        where, answer = item
        try:
            problem = self._problem(where)
            if isinstance(answer, Right):
                verdict = self.target.play_right(problem, FORMS[answer.form].spell)
            else:
                verdict = self.target.score(answer, problem)
        except FAULTS as error:
            return {"error": _sentence(error)}
        return _record(verdict)

    @contextmanager
    def _limited(self) -> Iterator[None]:
        """End this process when the block takes more CPU seconds than it may."""
        if not hasattr(signal, "setitimer"):
            yield
            return
        signal.setitimer(signal.ITIMER_PROF, self.cpu_limit)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)


def _stopwatch() -> Callable[[], float]:
    """Return a function that tells the CPU seconds since now.

    This thread's clock is exact; the whole process's advances in ticks while a timer is armed, and counts only where
    other threads have clearly worked too.
    """
    thread, process = time.thread_time(), time.process_time()

    def spent() -> float:
        own, all_threads = time.thread_time() - thread, time.process_time() - process
        return all_threads if all_threads > own + TICKS else own

    return spent


def _record(verdict: object) -> Record:
    """Return a verdict as JSON; a number that is none is told as its text, which the lines look for."""
    if not isinstance(verdict, Verdict):
        return {"error": f"score returned {type(verdict).__name__}, not a Verdict"}
    if verdict.reason is Reason.SCORER_ERROR:
        return {"error": verdict.feedback or "scorer_error"}
    components = {str(name): value if is_finite(value) else repr(value) for name, value in verdict.components.items()}
    leaves = verdict.details.get("leaves") if verdict.details.get("sum") is True else None
    return {
        "error": "",
        "value": verdict.value if verdict.value is None or is_finite(verdict.value) else repr(verdict.value),
        "reason": str(verdict.reason),
        "components": components,
        "feedback": str(verdict.feedback)[:200],
        "leaves": leaves,
    }


def _text(what: str, found: object) -> str | None:
    if found is not None and not isinstance(found, str):
        raise TypeError(f"{what} is {found!r:.60}, not a text")
    return found


def _texts(found: Iterable[object] | None) -> list[str] | None:
    return None if found is None else [str(text) for text in found]


def _sentence(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:300]


def _confine(scratch: str) -> list[Any]:
    """Close the process in, and return whether it is isolated, with a sentence about how."""
    from grpo_gym.checks.confine import confine

    confinement = confine(Path(scratch))
    return [confinement.isolated, str(confinement)]


def _next(pipe: Connection) -> bytes | None:
    try:
        return pipe.recv_bytes()
    except (EOFError, OSError):
        return None


def _send(pipe: Connection, reply: Record) -> None:
    fallback: Callable[[object], str] = repr
    try:
        text = json.dumps(reply, default=fallback, skipkeys=True)
    except (ValueError, RecursionError):  # something that contains itself
        text = json.dumps({"error": "the result cannot be written as JSON"})
    pipe.send_bytes(text.encode())
