"""The process of the tests: runs the test text with the solution's names standing for things in another process.

The text is trusted and the solution is not. What passes here is decided here: the solution only hands over plain data,
or numbers of objects for which `proxies.py` makes stand-ins under the rules of `rules.py`.
"""

from __future__ import annotations

import ast
import os
import sys
from typing import Any

from grpo_rewards.code.confined.channel import Channel, ChannelError
from grpo_rewards.code.confined.instrument import NAME, instrument
from grpo_rewards.code.confined.names import bind
from grpo_rewards.code.confined.program import LoadError, classes_of, compiled, new_module, open_streams
from grpo_rewards.code.confined.pytest_names import install
from grpo_rewards.code.confined.record import Record
from grpo_rewards.code.confined.session import Lost, Session
from grpo_rewards.code.confined.suites import run_defined

JOB = 1 << 28
"""Bytes of the largest job."""

_RECURSION = 3000


def examine(control_fd: int = 3, calls_fd: int | None = 4) -> None:
    """Read one job from the control channel, run its tests, and send what came of them.

    Args:
        control_fd: The caller's end of the control channel.
        calls_fd: The end of the solution's process, in the mode "asserts".
    """
    control = Channel(control_fd)
    try:
        job = control.receive(JOB)
        open_streams()
        if job["mode"] == "checker":
            from grpo_rewards.code.confined.checker import check_all

            control.send({"checks": check_all(job["source"], job["cases"])})
        else:
            assert calls_fd is not None
            control.send(run_tests(job, Channel(calls_fd)))
    except ChannelError:
        pass
    finally:
        os._exit(0)


def run_tests(job: dict[str, Any], calls: Channel) -> dict[str, Any]:
    """Run a test text against the solution behind a channel.

    Args:
        job: "tests", "given", "entry_point", "in_place" and "every_test".
        calls: To the solution's process.

    Returns:
        "results", "passed", "failed" and "consulted"; "error" when the text itself is at fault; "gone" or "broken"
        when the solution's process ended or broke the protocol.
    """
    sys.setrecursionlimit(_RECURSION)
    module = new_module("__main__")
    session: Session | None = None
    record = None
    reply: dict[str, Any] = {"results": [], "passed": 0, "failed": 0, "consulted": 0}
    try:
        code = compiled(job.get("given", ""), "given.py")
        exec(code, module.__dict__)
        tree = ast.parse(job["tests"], "tests.py")
        session = Session(calls, classes_of(module), in_place=bool(job.get("in_place")))
        record = Record(session, job["tests"].replace("\r\n", "\n").split("\n"), every_test=bool(job.get("every_test")))
        _run(job, tree, module.__dict__, session, record)
    except LoadError as error:
        reply["error"] = error.fault["message"]
    except SyntaxError as error:
        reply["error"] = str(error)
    except Lost:
        pass
    except BaseException as error:  # the prompt's code raised it
        reply["error"] = f"{type(error).__name__}: {error}"[:300]
    if record is not None and session is not None:
        reply.update(results=record.results, passed=record.passed, failed=record.failed, consulted=session.consulted)
        if session.lost is not None:
            reply["gone" if session.lost.gone else "broken"] = True if session.lost.gone else str(session.lost)
    return reply


def _run(job: dict[str, Any], tree: ast.Module, namespace: dict[str, Any], session: Session, record: Record) -> None:
    bind(namespace, session, session.declared(), job, tree)
    if "pytest" in job["tests"]:
        install()
    if "unittest" in job["tests"]:
        import unittest

        unittest.main = lambda *args, **kwargs: None  # type: ignore[assignment]
    called = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    defined = ast.Module(list(tree.body), [])
    record.sites = list(instrument(tree, every_test=record.every_test))
    namespace[NAME] = record
    try:
        exec(compile(tree, "tests.py", "exec", dont_inherit=True), namespace)
    except Lost:
        raise
    except BaseException as error:  # of the tests, or of the solution in them
        line = error.__traceback__
        while line is not None and line.tb_frame.f_code.co_filename != "tests.py":
            line = line.tb_next
        record.outside(line.tb_lineno if line is not None else 0, error)
    if record.every_test or not record.failed:
        run_defined(defined, called, namespace, record)
