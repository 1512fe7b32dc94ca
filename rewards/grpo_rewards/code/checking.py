"""Custom checkers: what the solution returned or printed goes to the task's own `check(input, output, expected)`.

A checker given as text runs in a closed-in child of the tests' side, under limits: outputs are hostile, and the checker
need not have been written with that in mind. One given as a function runs in the caller's own process. Only True
passes; whatever it raises counts as no.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from typing import Any

from grpo_rewards.code.confined import codec
from grpo_rewards.code.confined.channel import Closed, Malformed, TooLarge
from grpo_rewards.code.confined.zygote import EXAMINER
from grpo_rewards.code.conversation import Conversation
from grpo_rewards.code.job import Job
from grpo_rewards.code.outcome import Outcome, Unsettled
from grpo_rewards.code.plain import shown
from grpo_rewards.code.sandbox import Open
from grpo_rewards.code.suite import Checker
from grpo_rewards.code.watch import LimitReached, Watch

Case = tuple[Any, Any, Any]
"""Input, output as `codec` writes it, expected."""

_REPORT = 1 << 22


def check(job: Job, checker: Checker, cases: Mapping[int, Case], outcome: Outcome, open_sandbox: Open) -> None:
    """Let a checker decide about tests that were counted as passed so far.

    Args:
        job: Its limits are the checker's too.
        checker: Text or function.
        cases: Number of a test -> what is known of it.
        outcome: What came of running the solution.
        open_sandbox: Where a checker given as text runs.

    Raises:
        Unsettled: The checker's child died.
    """
    if not cases:
        return
    if isinstance(checker, str):
        decisions = _decide_apart(job, checker, list(cases.values()), open_sandbox)
    else:
        decisions = [_decide(checker, case) for case in cases.values()]
    for (test, (given, tree, expected)), (right, error) in zip(cases.items(), decisions, strict=True):
        if not right:
            outcome.checker_error = outcome.checker_error or error
            what = f"the checker failed: {error}" if error else "the checker says no"
            outcome.withdraw(test, what, input=shown(given), got=shown(_decoded(tree)), expected=shown(expected))


def _decoded(tree: Any) -> Any:
    """Return an output; what it is instead where it is none."""
    try:
        return codec.decode(tree, arrays=False)
    except codec.Malformed as error:
        return str(error)


def _decide(checker: Any, case: Case) -> tuple[bool, str]:
    given, tree, expected = case
    try:
        return checker(given, codec.decode(tree, arrays=False), expected) is True, ""
    except Exception as error:
        return False, f"{type(error).__name__}: {error}"[:300]


def _decide_apart(job: Job, source: str, cases: Sequence[Case], open_sandbox: Open) -> list[tuple[bool, str]]:
    """Ask a checker given as text in a child of its own: outputs go there as they came, unread here."""
    told = [[codec.encode(given), tree, codec.encode(expected)] for given, tree, expected in cases]
    sandbox = open_sandbox(EXAMINER)
    with Conversation(sandbox, job.allowance(len(cases)), job.output) as talk:
        watch = Watch(lambda: [sandbox.clock()], job.time_s * len(cases))
        talk.send({"mode": "checker", "source": source, "cases": told})
        try:
            checks = talk.receive(_REPORT, watch)["checks"]
            return [(check["ok"] is True, str(check.get("error") or "")[:300]) for check in checks]
        except LimitReached as limit:
            return [(False, f"the checker reached its {limit.reason.value}")] * len(cases)
        except (TooLarge, Malformed) as error:
            return [(False, str(error))] * len(cases)
        except Closed:
            pass  # it died
    if sandbox.ended().signal == signal.SIGKILL:
        raise Unsettled("the child of the checker was killed", by_others=True)
    return [(False, "the checker's process ended")] * len(cases)
