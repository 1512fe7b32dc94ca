"""The other side of the pool: one process that scores an answer at a time and says so over a pipe.

It is started as a bare interpreter, not by `multiprocessing`: that would run the user's script again in every worker.
It never outlives its parent: an idle worker sees the closed pipe, and one that hangs in an answer is ended by a
watchdog thread in C, which works even while the hung code holds the interpreter lock.
"""

from __future__ import annotations

import faulthandler
import json
import os
import pickle
from multiprocessing.connection import Connection
from typing import Any

from grpo_gym.problem import Problem
from grpo_gym.reward import Reward
from grpo_gym.scoring import FAULTS, attempt, is_sound
from grpo_gym.verdict import Verdict

READY = b"ready"

GRACE = 5.0
"""Seconds beyond the deadline after which the watchdog acts; the parent, if it lives, is faster."""


def pack_job(reward: bytes | None, answer: bytes, limit: float) -> bytes:
    """Return the message that asks for one answer to be scored; the reward goes along when the worker lacks it."""
    return pickle.dumps((reward, answer, limit))


def pack_answer(answer: str, problem: Problem) -> bytes:
    """Return the part of a job that differs from answer to answer. Raises what pickle raises."""
    return pickle.dumps((answer, problem))


def serve(handle: int) -> None:
    """Score what comes in over the pipe with this file descriptor until it is closed."""
    os.set_inheritable(handle, False)
    pipe = Connection(handle)
    reward: Reward | None = None
    with open(os.devnull, "w") as nowhere:
        pipe.send_bytes(READY)
        while (message := _next(pipe)) is not None:
            packed_reward, packed_answer, limit = pickle.loads(message)
            faulthandler.dump_traceback_later(limit + GRACE, exit=True, file=nowhere)
            try:
                if packed_reward is not None:
                    reward = None  # a reward that cannot be loaded must not leave the one before it in its place
                    reward = pickle.loads(packed_reward)
                if reward is None:
                    raise LookupError("the reward could not be loaded")
                answer, problem = pickle.loads(packed_answer)
                reply = _score(reward, answer, problem)
            except Exception as error:
                reply = {"unloadable": f"{type(error).__name__}: {error}"}
            _send(pipe, reply)
            faulthandler.cancel_dump_traceback_later()
    if reward is not None:
        try:
            reward.close()
        except FAULTS:
            return


def _next(pipe: Connection) -> bytes | None:
    try:
        return pipe.recv_bytes()
    except (EOFError, OSError):
        return None


def _score(reward: Reward, answer: str, problem: Problem) -> dict[str, Any]:
    verdict: Verdict = attempt(lambda: reward.score(answer, problem), is_sound)
    return {
        "value": None if verdict.value is None else float(verdict.value),
        "reason": str(verdict.reason),
        "components": {str(name): float(value) for name, value in verdict.components.items()},
        "feedback": str(verdict.feedback),
        "details": dict(verdict.details),
    }


def _send(pipe: Connection, reply: dict[str, Any]) -> None:
    """Send a reply as JSON, never as a pickle: what hostile text made of this process must not run in the parent."""
    try:
        text = json.dumps(reply, default=repr, skipkeys=True)
    except (ValueError, RecursionError):  # details that contain themselves
        text = json.dumps(reply | {"details": {}})
    try:
        pipe.send_bytes(text.encode())
    except OSError:
        return  # the parent is gone: the next read ends the loop
