"""The other side of the slow path: a process that decides one pair of answer and reference at a time.

It is started as a bare interpreter, so that a user's script never runs again in it. The texts come as JSON and are read
by our own parser; the verdict goes back as JSON. Its processor time per pair is limited by a timer that ends the
process, its memory by the operating system; the parent ends it when the clock runs out. It ends by itself when the
pipe closes or nothing comes for a while.
"""

from __future__ import annotations

import json
import os
import resource
import signal
from contextlib import suppress
from multiprocessing.connection import Connection

READY = b"ready"
MEMORY = 700 * 2**20
"""Bytes of address space; sympy itself needs about 200 MiB."""

IDLE = 300.0
"""Seconds without work after which the process ends."""


def serve(handle: int) -> None:
    """Decide what comes in over the pipe with this file descriptor until it is closed."""
    os.set_inheritable(handle, False)
    pipe = Connection(handle)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    with suppress(ValueError, OSError):  # not every system limits the address space
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    import grpo_rewards.math.symbolic as _  # noqa: F401 - loads sympy before the first deadline runs

    with suppress(OSError, EOFError):
        pipe.send_bytes(READY)
        while pipe.poll(IDLE):
            job = json.loads(pipe.recv_bytes())
            signal.setitimer(signal.ITIMER_PROF, float(job["seconds"]))
            reply = decide(str(job["answer"]), str(job["reference"]), job["policy"])
            signal.setitimer(signal.ITIMER_PROF, 0.0)
            pipe.send_bytes(json.dumps(reply).encode())


def decide(answer: str, reference: str, policy: dict[str, bool | float]) -> dict[str, object]:
    """Compare two texts with their calculus worked out; whatever goes wrong is an answer too.

    Returns:
        {"right": bool}, or {"fault": text, "too_big": bool} when it cannot be decided.
    """
    from grpo_rewards.math.compare import Comparison
    from grpo_rewards.math.guard import TooBigError
    from grpo_rewards.math.parser import parse_folded
    from grpo_rewards.math.policy import Policy
    from grpo_rewards.math.symbolic import resolved

    try:
        trees = [resolved(parse_folded(text)) for text in (answer, reference)]
        return {"right": Comparison(Policy(**policy)).same(*trees)}  # type: ignore[arg-type]
    except (TooBigError, MemoryError, RecursionError) as error:
        return {"fault": f"{type(error).__name__}: {error}"[:200], "too_big": True}
    except Exception as error:  # sympy fails in many ways, and none of them may reach the training loop
        return {"fault": f"{type(error).__name__}: {error}"[:200], "too_big": False}
