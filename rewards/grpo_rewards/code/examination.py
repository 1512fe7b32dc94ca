"""Tests that are any Python text: it runs in a child of its own, with the solution's names as proxies.

    caller ── tests ──> tests' child ── calls ──> solution's child <── code ── caller
       └──── report ──────┘             plain data and numbers of objects

The report comes from the child of the tests, which the solution reaches only by the answers to its calls.
"""

from __future__ import annotations

import signal
import socket
from contextlib import ExitStack
from typing import Any

from grpo_gym.verdict import Reason
from grpo_rewards.code.confined.channel import Closed, Malformed
from grpo_rewards.code.confined.zygote import EXAMINER, SOLUTION
from grpo_rewards.code.conversation import Conversation
from grpo_rewards.code.job import Job
from grpo_rewards.code.outcome import Outcome, Unsettled
from grpo_rewards.code.sandbox import Open, Sandbox
from grpo_rewards.code.suite import AssertSuite
from grpo_rewards.code.watch import LimitReached, Watch

_REPORT = 1 << 24


def run_asserts(job: Job, suite: AssertSuite, open_sandbox: Open) -> Outcome:
    """Run the text of the tests beside the solution."""
    solution, tests = open_sandbox(SOLUTION), open_sandbox(EXAMINER)
    outcome = Outcome(total=0)
    report = error = None
    with ExitStack() as stack:
        ours, theirs = (stack.enter_context(end) for end in socket.socketpair())
        talk = stack.enter_context(Conversation(solution, job.allowance(), job.output, calls=ours))
        examiner = stack.enter_context(Conversation(tests, job.allowance(), job.output, calls=theirs))
        ours.close()
        theirs.close()
        watch = Watch(lambda: [solution.clock(), tests.clock()], job.time_s)
        talk.send(job.task("asserts"))
        examiner.send(_questions(job, suite))
        try:
            report = examiner.receive(_REPORT, watch, beside=[talk])
            error = talk.pending()
        except LimitReached as reached:
            outcome.limit(reached)
        except Malformed:
            error = {}
        except Closed:
            pass  # the tests' child died, which is looked into below
    outcome.cpu_s, outcome.stdout = talk.cpu_s + examiner.cpu_s, talk.tail()
    if outcome.failure is None:
        _settle(job, outcome, report, error, solution, tests)
    return outcome


def _questions(job: Job, suite: AssertSuite) -> dict[str, Any]:
    """Return what the tests' child is told."""
    return {
        "mode": "asserts",
        "tests": suite.source,
        "given": job.given,
        "in_place": job.in_place,
        "every_test": job.every_test,
        "entry_point": job.entry_point,
    }


def _settle(job: Job, outcome: Outcome, report: Any, error: Any, solution: Sandbox, tests: Sandbox) -> None:
    """Take over the report of the tests' child; where there is none, find out why.

    Raises:
        Unsettled: The tests' child died, or the solution's in a way that others may have caused.
    """
    if report is None:
        ended = tests.ended()
        if ended.signal == signal.SIGXCPU:
            outcome.fail(Reason.CPU_LIMIT, "the cpu limit was reached by the tests")
            return
        raise Unsettled(f"the child of the tests ended with status {ended.status}", ended.signal == signal.SIGKILL)
    for result in report["results"]:
        if result["ok"]:
            outcome.succeed(line=result.get("line"))
        else:
            _note(outcome, result)
    outcome.passed = int(report["passed"])
    if report["failed"] and not report["consulted"] and outcome.exception != "NameError" and outcome.failure:
        outcome.reason = Reason.SCORER_ERROR
        outcome.failure["message"] += "; the solution was never asked: if the code given with the prompt defines "
        outcome.failure["message"] += "what is tested, name that function as entry_point"
    if outcome.failure is None:
        _find_fault(job, outcome, report, error, solution)
    outcome.total = max(len(outcome.tests), outcome.passed + int(report["failed"]))


def _find_fault(job: Job, outcome: Outcome, report: dict[str, Any], error: Any, solution: Sandbox) -> None:
    """Note what speaks against a solution no test of which failed. Raises Unsettled."""
    if isinstance(error, dict) and isinstance(error.get("error"), dict):
        outcome.fault(error["error"])
    elif report.get("gone"):
        outcome.death(solution.ended(), job.allowance().cpu_s)
    elif report.get("broken"):
        outcome.fail(Reason.PROTOCOL_VIOLATION, str(report["broken"]))
    elif report.get("error"):
        outcome.fail(Reason.SCORER_ERROR, f"the tests themselves fail: {report['error']}"[:300])
    elif report["failed"]:
        outcome.fail(Reason.WRONG_ANSWER, "a test failed")
    elif not report["passed"]:
        outcome.fail(Reason.WRONG_ANSWER, "no assert of the tests was reached")
    elif not report["consulted"]:
        outcome.fail(Reason.WRONG_ANSWER, "the tests never asked for anything that the solution defines")


def _note(outcome: Outcome, result: dict[str, Any]) -> None:
    """Note the failure of one test."""
    found = {key: result[key] for key in ("line", "got", "expected", "exception") if result.get(key) is not None}
    found["call"] = result.get("source", "")
    message = str(result.get("message") or "the assert does not hold")
    name = str(found.get("exception", ""))
    message = message if name in ("", "AssertionError") else f"{name}: {message}"
    reason = Reason.MEMORY_LIMIT if name == "MemoryError" else Reason.RUNTIME_ERROR
    outcome.fail(Reason.WRONG_ANSWER if name in ("", "AssertionError") else reason, message, **found)
