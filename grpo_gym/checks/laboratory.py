"""The parent's side of a check: starts the child, asks it, gives every answer a deadline, and replaces a dead child.

Nothing of the subject runs in this process, so a scorer that hangs, crashes or runs an answer as code costs a line of
the report and not the checker.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import socket
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from grpo_gym.checks.child import Item, Record
from grpo_gym.checks.frames import Frames
from grpo_gym.checks.nursery import Child, nursery
from grpo_gym.checks.subjects import Subject
from grpo_gym.checks.target import Facts
from grpo_gym.errors import GrpoGymError

START_LIMIT = 60.0
"""Seconds the child may take to import the subject."""

CPU_LIMIT = 2.0
"""CPU seconds that one answer or problem may take before its process is ended; a slow reward has its own limit."""

WALL_LIMIT = 15.0
"""Seconds that one answer may take on the clock: catches what sleeps; a busy machine must not trip it."""

FIRST_CPU_LIMIT, FIRST_WALL_LIMIT = 10.0, 60.0
"""What the first call of a kind may take in a process: it may import a large library."""

MAX_DEATHS = 3
"""Children that one request may cost before the rest of it is not tried."""

NOT_TRIED = "not tried: too many died before it"


class SubjectError(GrpoGymError):
    """The thing to check cannot be opened."""


@dataclass(frozen=True)
class Scored:
    """What came of scoring one text.

    Attributes:
        value: The reward; None for an abstention or when there is none. A text when it is no finite number.
        reason: The verdict's reason.
        components: Its components.
        error: What the scorer raised, "" when nothing.
        fate: How the process ended on it, "" when it lived.
        cpu: CPU seconds.
        seconds: Seconds on the clock.
        executed: Whether text of the answer ran as code.
        touched: Files and addresses that it touched.
        leaves: Parts of a reward that says it is their weighted sum: name -> weight and value.
    """

    value: float | str | None = None
    reason: str = ""
    components: dict[str, Any] = field(default_factory=dict)
    error: str = ""
    fate: str = ""
    cpu: float = 0.0
    seconds: float = 0.0
    executed: bool = False
    touched: tuple[str, ...] = ()
    leaves: dict[str, Any] | None = None

    @property
    def number(self) -> float:
        """The reward as the agent sees it: 0 where there is none."""
        return float(self.value) if isinstance(self.value, (int, float)) else 0.0

    @property
    def abstains(self) -> bool:
        """Whether there is a verdict, and it says nothing."""
        return self.value is None and bool(self.reason)

    @property
    def outcome(self) -> tuple[object, ...]:
        """What must be the same whenever the same text is scored."""
        return (self.value, self.reason, tuple(sorted(self.components.items())), bool(self.error), bool(self.fate))


class Laboratory:
    """A child process with the subject in it. Use it with `with`.

    Args:
        subject: What to open there.
        hash_seed: The child's PYTHONHASHSEED.
    """

    def __init__(self, subject: Subject, hash_seed: int = 1) -> None:
        self.subject = subject
        self.hash_seed = hash_seed
        self.scratch = tempfile.TemporaryDirectory(prefix="grpo-gym-check-", ignore_cleanup_errors=True)
        self.cpu_limit = CPU_LIMIT
        self.wall_limit = WALL_LIMIT
        self.isolation: tuple[bool, str] | None = None
        self._first: dict[str, Any] = {}
        self._warm: set[str] = set()
        self._child: Child | None = None
        self._pipe: Frames | None = None

    def __enter__(self) -> Laboratory:
        try:
            self.facts = self._start()
        except BaseException:
            self.__exit__()
            raise
        if self.facts.cost == "slow":
            self.cpu_limit = max(self.cpu_limit, self.facts.time_limit)
            self.wall_limit = max(self.wall_limit, self.facts.time_limit + 5)
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
        self.scratch.cleanup()

    def ask(self, request: str, items: Sequence[Any], *more: Any) -> list[Record]:
        """Return the child's reply to each item. One that ends the child is told as {"fate": how}."""
        replies: list[Record] = []
        for _ in range(MAX_DEATHS):
            if len(replies) == len(items):
                return replies
            self._warm_up(request, self._first.setdefault(request, items[0]), more)
            replies += self._some(request, list(items[len(replies) :]), more)
        return replies + [{"fate": NOT_TRIED}] * (len(items) - len(replies))

    def score(self, items: Sequence[Item]) -> list[Scored]:
        """Score texts."""
        return [_scored(record) for record in self.ask("score", items)]

    def once(self, request: str, *arguments: Any) -> Record:
        """Return the one reply to a request that is not about items."""
        if self._pipe is None:
            self._start()
        return self._receive(self._send(request, arguments, FIRST_CPU_LIMIT), FIRST_WALL_LIMIT)

    def _warm_up(self, request: str, item: Any, more: tuple[Any, ...]) -> None:
        """Have the first item of this kind done once in every process, so that no other has to wait for imports."""
        if self._pipe is None:
            self._start()
        if request in self._warm:
            return
        self._warm.add(request)
        self._receive(self._send(request, ([item], *more), FIRST_CPU_LIMIT), FIRST_WALL_LIMIT)
        if self._pipe is None:  # the item ends processes: it will be told so when it is asked for
            self._start()
            self._warm.add(request)

    def _some(self, request: str, items: list[Any], more: tuple[Any, ...]) -> list[Record]:
        """Return replies until all items have one or the child ends; its end is the last reply then."""
        replies: list[Record] = []
        alive = self._send(request, (items, *more), self.cpu_limit)
        for _ in items:
            reply = self._receive(alive, self.wall_limit)
            replies.append(reply)
            if self._pipe is None:
                break
        return replies

    def _send(self, request: str, arguments: tuple[Any, ...], cpu_limit: float) -> bool:
        assert self._pipe is not None
        try:
            self._pipe.send(pickle.dumps((request, arguments, cpu_limit)))
        except OSError:
            return False
        return True

    def _receive(self, alive: bool, wall_limit: float) -> Record:
        """Return the next reply, or how the child ended."""
        assert self._pipe is not None
        late = False
        try:
            if alive:
                reply: Record = json.loads(self._pipe.receive(wall_limit))
                return reply
        except TimeoutError:
            late = True
        except (EOFError, OSError, ValueError):
            pass
        return {"fate": self._end(late)}

    def _start(self) -> Facts:
        self._warm = set()
        ours, theirs = socket.socketpair()
        with theirs:
            self._child = nursery(self.hash_seed).start(theirs.fileno(), self.scratch.name)
        self._pipe = Frames(ours)
        self._pipe.send(pickle.dumps((self.subject, self.scratch.name)))
        return self._opened()

    def _opened(self) -> Facts:
        """Return what the subject says of itself. Raises SubjectError when it cannot be opened."""
        assert self._pipe is not None
        try:
            record: Record = json.loads(self._pipe.receive(START_LIMIT))
        except TimeoutError:
            record = {"error": "importing it takes too long"}
        except (EOFError, OSError, ValueError):
            record = {"error": f"importing it ends the process: {self._end(late=False)}"}
        if "facts" not in record:
            self._end(late=False)
            raise SubjectError(f"cannot check {self.subject.spec}: {record['error']}")
        self.isolation = None if record["isolation"] is None else tuple(record["isolation"])
        return Facts.from_json(record["facts"])

    def _end(self, late: bool = False) -> str:
        """End the child with all that it started, and say how it ended."""
        if self._pipe is not None:
            self._pipe.close()
            self._pipe = None
        child, self._child = self._child, None
        if child is None:
            return ""
        code = child.wait(0.0 if late else 1.0)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
        if code is None:
            child.wait(10.0)
        if late:
            return f"no answer within {self.wall_limit:g} s"
        if code == -signal.SIGPROF:
            return f"more than {self.cpu_limit:g} s of CPU time"
        if code is None or code >= 0:
            return f"the process ended with exit code {code}"
        return f"the process died of {signal.Signals(-code).name}"


def _scored(record: Record) -> Scored:
    return Scored(
        value=record.get("value"),
        reason=record.get("reason", ""),
        components=record.get("components", {}),
        error=record.get("error", ""),
        fate=record.get("fate", ""),
        cpu=record.get("cpu", 0.0),
        seconds=record.get("seconds", 0.0),
        executed=record.get("executed", False),
        touched=tuple(record.get("touched", ())),
        leaves=record.get("leaves"),
    )
