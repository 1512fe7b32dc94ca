"""Runs the solution as a program that reads standard input and writes standard output, and ends it as Python does."""

from __future__ import annotations

import atexit
import os
import sys
from contextlib import suppress
from typing import Any, NoReturn

from grpo_rewards.code.confined.channel import Channel, ChannelError
from grpo_rewards.code.confined.faults import describe
from grpo_rewards.code.confined.program import LoadError, flush, new_module, run_in


def run(job: dict[str, Any], control: Channel) -> NoReturn:
    """Run the program, say how it ended, and leave the process with its status.

    Args:
        job: "given" and "code".
        control: Where `{"end": {"status": int, "error"?: ...}}` goes. The program can write there too, so this tells
            why a run failed and never that it passed.
    """
    end = _run(job)
    if not flush() and end["status"] == 0:
        end["status"] = 120  # what Python itself leaves with when its output cannot be written
    with suppress(ChannelError):
        control.send({"end": end})
    os._exit(end["status"])


def _run(job: dict[str, Any]) -> dict[str, Any]:
    module = new_module("__main__")
    end: dict[str, Any] = {"status": 0}
    try:
        run_in(module, job.get("given", ""), job["code"])
    except LoadError as error:
        return {"status": 1, "error": error.fault}
    except SystemExit as error:
        end = _exit(error)
    except BaseException as error:  # whatever it raises ends the program and not more
        end = {"status": 1, "error": describe(error)}
        _hook(error)
    _finish(module.__dict__)
    return end


def _exit(error: SystemExit) -> dict[str, Any]:
    """The status of a program that called `sys.exit`."""
    code = error.code
    if code is None or (type(code) is int and code & 0xFF == 0):
        return {"status": 0}
    status = code & 0xFF if type(code) is int else 1
    return {"status": status, "error": describe(error)}


def _hook(error: BaseException) -> None:
    """Call the program's own hook for what nobody caught; the standard one would write to nowhere."""
    if sys.excepthook is not sys.__excepthook__:
        _quietly(sys.excepthook, type(error), error, error.__traceback__)


def _finish(namespace: dict[str, Any]) -> None:
    """What the interpreter does at its end: wait for threads, call what was registered, let go of objects."""
    threading = sys.modules.get("threading")  # not imported: no thread was started
    if threading is not None:
        _quietly(threading._shutdown)
    _quietly(atexit._run_exitfuncs)
    flush()
    _quietly(namespace.clear)  # files that were never closed are written out as they go


def _quietly(call: Any, *args: Any) -> None:
    with suppress(BaseException):  # the program's own code again
        call(*args)
