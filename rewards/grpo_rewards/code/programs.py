"""Tests that are runs of a program: it reads standard input and prints, and what it printed is compared here."""

from __future__ import annotations

from grpo_gym.verdict import Reason
from grpo_rewards.code import compare
from grpo_rewards.code.checking import Case, check
from grpo_rewards.code.confined import codec
from grpo_rewards.code.confined.channel import Malformed, TooLarge
from grpo_rewards.code.confined.zygote import SOLUTION
from grpo_rewards.code.conversation import Conversation
from grpo_rewards.code.job import Job
from grpo_rewards.code.outcome import Outcome
from grpo_rewards.code.plain import shown
from grpo_rewards.code.sandbox import Open, Sandbox
from grpo_rewards.code.suite import StdioSuite
from grpo_rewards.code.watch import LimitReached, Watch

_SMALL = 1 << 20
"""Bytes that a program may print beyond four times what is expected."""


def run_programs(job: Job, suite: StdioSuite, open_sandbox: Open) -> Outcome:
    """Run the program once for each input, each time in a child of its own."""
    outcome = Outcome(total=len(suite.inputs))
    cases: dict[int, Case] = {}
    left = job.output
    for number, (given, expected) in enumerate(zip(suite.inputs, suite.outputs, strict=True)):
        most = left if suite.checker is not None else min(left, _SMALL + 4 * len(expected))
        printed = _run_program(job, given, most, outcome, open_sandbox(SOLUTION))
        if printed is not None:
            if suite.checker is not None:
                cases[number] = (given, codec.encode(printed), expected)
                left -= len(printed)
            _decide(suite, given, printed, expected, outcome)
        if outcome.failure and not job.every_test:
            break
        if outcome.reason in (Reason.CPU_LIMIT, Reason.WALL_LIMIT):
            break  # each of the others may take as long
    if suite.checker is not None:
        check(job, suite.checker, cases, outcome, open_sandbox)
    return outcome


def _decide(suite: StdioSuite, given: str, printed: str, expected: str, outcome: Outcome) -> None:
    """Compare what was printed; a checker's decision comes later, for all runs at once."""
    if suite.checker is not None or compare.same_output(printed, expected, suite.tolerance):
        outcome.succeed()
        return
    wrong = compare.first_output_difference(printed, expected, suite.tolerance)
    outcome.fail(Reason.WRONG_ANSWER, wrong, input=shown(given), got=shown(printed), expected=shown(expected))


def _run_program(job: Job, given: str, most: int, outcome: Outcome, sandbox: Sandbox) -> str | None:
    """Run the program on one input; return what it printed, or None when it failed, which is noted.

    Args:
        job: The job.
        given: The input.
        most: Bytes that it may print: no more are kept than could be right.
        outcome: Where failures are noted.
        sandbox: Where it runs.
    """
    about = {"input": shown(given)}
    said = failed = None
    with Conversation(sandbox, job.allowance(), most, stdin=given, whole=True) as talk:
        watch = Watch(lambda: [sandbox.clock()], job.time_s)
        talk.send(job.task("stdio"))
        try:
            said = talk.exhaust(watch)
        except (LimitReached, TooLarge, Malformed) as error:
            failed = error
    outcome.cpu_s += talk.cpu_s
    outcome.stdout = talk.tail()
    if isinstance(failed, LimitReached):
        outcome.limit(failed, **about)
        return None
    end = said.get("end") if isinstance(said, dict) else None
    if said is None and failed is None:
        ended = sandbox.ended()
        if ended.code != 0:
            outcome.death(ended, job.allowance().cpu_s)
            return None
    elif not isinstance(end, dict) or "status" not in end:
        outcome.fail(Reason.PROTOCOL_VIOLATION, "the program wrote where it should not", **about)
        return None
    elif end["status"] != 0:
        fault = end.get("error")
        outcome.fault(fault if isinstance(fault, dict) else {"type": "SystemExit"}, **about)
        return None
    try:
        return bytes(talk.printed).decode("utf-8")
    except UnicodeDecodeError as error:
        outcome.fail(Reason.WRONG_ANSWER, f"the output is no UTF-8: {error.reason} at byte {error.start}", **about)
        return None
