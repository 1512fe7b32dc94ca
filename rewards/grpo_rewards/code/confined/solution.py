"""The process of the solution: reads one job, runs the solution's code, and answers what it is asked.

Everything here shares a process with hostile code, which may replace any of it. So nobody outside relies on what comes
from here beyond its being plain data: expected values and tests never come here.
"""

from __future__ import annotations

import itertools
import os
from types import ModuleType
from typing import Any

from grpo_rewards.code.confined.basedata import base_data
from grpo_rewards.code.confined.channel import Channel, ChannelError
from grpo_rewards.code.confined.codec import NotPlain, decode, encode
from grpo_rewards.code.confined.coroutines import finished, is_coroutine
from grpo_rewards.code.confined.faults import describe
from grpo_rewards.code.confined.program import LoadError, flush, new_module, open_streams, run_in

JOB = 1 << 28
"""Bytes of the largest job; it comes from the trusted side."""

DRAINED = 100_000
"""Items that are taken from an iterator which a function returned."""


def serve(control_fd: int = 3, calls_fd: int | None = None) -> None:
    """Read one job from the control channel and do it; returns when the other end is gone.

    Args:
        control_fd: The caller's end of the control channel.
        calls_fd: The end of the process that runs the tests, in the mode "asserts".
    """
    control = Channel(control_fd)
    try:
        job = control.receive(JOB)
        open_streams()
        if job["mode"] == "stdio":
            from grpo_rewards.code.confined.stdio import run

            run(job, control)
        elif job["mode"] == "inspect":
            from grpo_rewards.code.confined.metrics import measure

            control.send(measure(job["code"]))
        else:
            _serve_module(job, control, calls_fd)
    except ChannelError:
        pass
    finally:
        flush()
        os._exit(0)  # a thread of the solution must not keep the process


def _serve_module(job: dict[str, Any], control: Channel, calls_fd: int | None) -> None:
    module = new_module("solution")
    try:
        classes = run_in(module, job.get("given", ""), job["code"])
    except LoadError as error:
        control.send({"error": error.fault})
        return
    except BaseException as error:  # whatever the solution raises
        flush()
        control.send({"error": describe(error)})
        return
    flush()
    control.send({"loaded": True})
    if job["mode"] == "function":
        while True:
            control.send(answer(module, control.receive(JOB)))
    assert calls_fd is not None
    from grpo_rewards.code.confined.remote import serve_calls

    serve_calls(module, classes, Channel(calls_fd))


def answer(module: ModuleType, request: dict[str, Any]) -> dict[str, Any]:
    """Call a function of the solution with arguments of its own, and tell what came of it."""
    try:
        args = request["args"] if request.get("plain") else decode(request["args"])
        value = _called(module, request["call"], args)
        if not request.get("exact"):
            value = _finished(value)
        tree = encode(value, base_data)
    except NotPlain as error:
        return {"refused": str(error)}
    except BaseException as error:  # whatever the solution raises
        return {"error": describe(error)}
    finally:
        flush()
    return {"value": tree}


def _called(module: ModuleType, name: str, args: list[Any]) -> Any:
    owner, _, method = name.partition(".")
    if owner not in module.__dict__:
        raise NameError(f"name {owner!r} is not defined")
    function = module.__dict__[owner]
    if method:
        function = getattr(function(), method)
    return function(*args)


def _finished(value: Any) -> Any:
    """Return what a coroutine comes to, and what an iterator yields: tests of style "function" mean that."""
    if is_coroutine(value):
        value = finished(value)
    if hasattr(type(value), "__next__"):
        value = list(itertools.islice(value, DRAINED + 1))
        if len(value) > DRAINED:
            raise NotPlain("an iterator without end")
    return value
