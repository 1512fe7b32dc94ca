"""One worker: sandboxes of its own, and the rule for what to do when one of them is lost.

A run ends with its child killed and reaped, which takes as long as the run itself; so there are two sandboxes of a
kind, and one settles while the other runs.
"""

from __future__ import annotations

import time
from dataclasses import replace

from grpo_gym.verdict import Reason, Verdict
from grpo_rewards.code.confined.zygote import SOLUTION
from grpo_rewards.code.conversation import Conversation
from grpo_rewards.code.job import Job
from grpo_rewards.code.outcome import Outcome, Unsettled
from grpo_rewards.code.runs import run
from grpo_rewards.code.sandbox import Sandbox, Tier, WorkerLost
from grpo_rewards.code.suite import FunctionSuite
from grpo_rewards.code.watch import Watch

TRIES_BY_OTHERS, TRIES_BY_ITSELF = 50, 2
"""Tries of a job whose processes were killed from outside, which a solution can hardly do, or ended as one could do."""

LOST_S = 60.0
"""Seconds after which a job that goes on losing zygotes is given up."""

_CANARY = Job("def f(x):\n    return x\n", FunctionSuite("f", ((1,),), (1,)), "function", time_s=10.0)
"""A solution that passes wherever judging works."""


class Worker:
    """Judges one job at a time. Not for several threads at once.

    Args:
        tier: How children are closed in.
        packages: Installed packages that solutions may import beyond the standard library.
    """

    def __init__(self, tier: Tier, packages: tuple[str, ...] = ()) -> None:
        self._tier = tier
        self._packages = packages
        self._sandboxes: dict[tuple[int, bool], list[Sandbox]] = {}
        self.restarts = 0

    def judge(self, job: Job) -> Verdict:
        """Return the verdict on a job. A run whose child was killed is tried again, in new sandboxes if those are lost.

        Raises:
            OSError: No sandbox can be started.
        """
        by_others = by_itself = 0
        began = time.monotonic()
        while True:
            try:
                return self._outcome(job).verdict()
            except (WorkerLost, Unsettled) as error:
                if isinstance(error, WorkerLost):  # a new zygote costs more than many runs
                    self._restart()
                if isinstance(error, WorkerLost) or error.by_others:
                    by_others += 1
                else:
                    by_itself += 1
                patience = LOST_S if isinstance(error, WorkerLost) else max(2.0, job.time_s)
                late = by_others + by_itself > 1 and time.monotonic() - began > patience
                if late or by_others >= TRIES_BY_OTHERS or by_itself >= TRIES_BY_ITSELF:
                    return self._blame(error)
            except BaseException:  # whatever it was (Ctrl-C, no more descriptors), what runs may be in any state
                self.close()
                raise

    def inspect(self, solution: str, time_s: float, memory_mb: int) -> dict[str, object]:
        """Return what a closed-in child finds in the syntax tree of a solution; nothing of it is executed.

        Raises:
            WorkerLost, Unsettled, ChannelError, LimitReached: It could not.
        """
        job = replace(_CANARY, solution=solution, time_s=time_s, memory_mb=memory_mb)
        sandbox = self._open(SOLUTION, full=False)
        talk = Conversation(sandbox, job.allowance(), job.output)
        try:
            talk.send({"mode": "inspect", "code": solution})
            found = talk.receive(1 << 20, Watch(lambda: [sandbox.clock()], time_s))
            return dict(found)
        finally:
            talk.close()

    @property
    def process_ids(self) -> list[int]:
        """Processes that this worker holds, for tests."""
        return [pid for kind in self._sandboxes.values() for sandbox in kind for pid in sandbox.process_ids]

    def close(self) -> None:
        """End all sandboxes."""
        for kind in self._sandboxes.values():
            for sandbox in kind:
                sandbox.close()
        self._sandboxes = {}

    def _outcome(self, job: Job) -> Outcome:
        full = job.mentions(self._packages)
        return run(job, lambda role: self._open(role, full))

    def _open(self, role: int, full: bool) -> Sandbox:
        """Return the sandbox of a kind that was not used last."""
        kind = self._sandboxes.setdefault((role, full), [])
        if len(kind) < 2 and all(sandbox.used for sandbox in kind):
            try:
                kind.append(Sandbox(role, self._tier, self._packages if full else ()))
            except OSError as error:
                raise WorkerLost(str(error)) from None
        else:
            kind.append(kind.pop(0))
        return kind[-1]

    def _restart(self) -> None:
        self.restarts += 1
        self.close()

    def _blame(self, error: Exception) -> Verdict:
        """Return 0 when judging works as such (the fault was the solution's), else an abstention."""
        try:
            works = bool(self._outcome(_CANARY).verdict())
        except (WorkerLost, Unsettled, OSError):
            works = False
        if not works:
            self._restart()
            return Verdict.abstain(f"the judge does not work here: {error}")
        outcome = Outcome(total=1)
        outcome.fail(Reason.CRASHED, f"its process was lost again and again: {error}")
        return outcome.verdict()
