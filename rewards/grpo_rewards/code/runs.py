"""How a job of each style is run. Each file named here is one way; what they share is `conversation` and `outcome`."""

from __future__ import annotations

from dataclasses import replace

from grpo_rewards.code.calling import NotPlainEnough, assert_call, run_calls, run_function
from grpo_rewards.code.examination import run_asserts
from grpo_rewards.code.job import Job
from grpo_rewards.code.outcome import Outcome
from grpo_rewards.code.plain_asserts import implied_entry_point, plain_asserts
from grpo_rewards.code.programs import run_programs
from grpo_rewards.code.sandbox import Open
from grpo_rewards.code.suite import FunctionSuite, StdioSuite


def run(job: Job, open_sandbox: Open) -> Outcome:
    """Run a job and return what came of it.

    Args:
        job: What to judge.
        open_sandbox: Returns a sandbox that is free, for a role.

    Raises:
        WorkerLost, Unsettled: Another try may tell.
    """
    suite = job.suite
    if isinstance(suite, StdioSuite):
        return run_programs(job, suite, open_sandbox)
    if isinstance(suite, FunctionSuite):
        return run_function(job, suite, open_sandbox)
    if job.entry_point is None:
        job = replace(job, entry_point=implied_entry_point(suite.source, job.given))
    asserts = None if job.in_place else plain_asserts(suite.source, job.given, job.entry_point)
    if asserts is not None:
        try:
            return run_calls(job, [assert_call(one) for one in asserts], open_sandbox)
        except NotPlainEnough:
            pass
    return run_asserts(job, suite, open_sandbox)
