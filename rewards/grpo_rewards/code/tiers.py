"""How well solutions can be closed in on this machine: found out by trying, told to whoever asks.

    namespaces  a root, a network, process ids of their own, and Landlock, seccomp, limits
    landlock    Landlock, seccomp, limits: where containers or kernels forbid namespaces
    none        a process of its own with limits: not isolated; only where the caller says that this will do

In every tier the verdict is as hard to forge, since tests and expected values are in other processes. What the last
one lacks is protection of the machine: solutions read files and reach the network there.
"""

from __future__ import annotations

import functools
import os
import secrets
import socket
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from grpo_gym.errors import GrpoGymError, UnknownNameError
from grpo_rewards.code.confined.channel import ChannelError
from grpo_rewards.code.confined.zygote import PROBE, SOLUTION
from grpo_rewards.code.sandbox import Allowance, Sandbox, Tier, WorkerLost

Wish = Literal["auto", "namespaces", "landlock", "none"]

_PATIENCE_S = 30.0


class NotIsolatedError(GrpoGymError):
    """Solutions cannot be closed in here, and the caller did not say that they may run all the same."""


@dataclass(frozen=True)
class Isolation:
    """What holds for solutions here.

    Attributes:
        tier: "namespaces", "landlock" or "none".
        isolated: Whether a closed-in child tried to do harm and failed at everything.
        found: What was tried, and why better tiers do not work; for people.
    """

    tier: Tier
    isolated: bool
    found: str

    def __str__(self) -> str:
        return f"{'isolated' if self.isolated else 'not isolated'} ({self.tier}): {self.found}"


def isolation(wish: Wish = "auto") -> Isolation:
    """Return the tier that is active here, as found by trying it; the answer is kept.

    Args:
        wish: "auto" for the best one, or one in particular.

    Raises:
        NotIsolatedError: The tier that was wished for does not work, or none does that isolates.
        UnknownNameError: There is no such tier.
    """
    if wish not in get_args(Wish):
        raise UnknownNameError("isolation", wish, get_args(Wish))
    return _isolation(wish, os.getuid())


@functools.cache
def _isolation(wish: Wish, _user: int) -> Isolation:
    if wish == "none":
        return Isolation("none", False, "a process of its own with limits, asked for by name")
    tiers: tuple[Tier, ...] = ("namespaces", "landlock") if wish == "auto" else (wish,)
    lacks = []
    for tier in tiers:
        try:
            found = _tried(tier)
        except (OSError, WorkerLost, ChannelError) as error:
            lacks.append(f"{tier}: {error}")
            continue
        if not found:
            note = f"; {lacks[0]}" if lacks else ""
            return Isolation(tier, True, f"a child tried files, network, processes, signals, and reached nothing{note}")
        lacks.append(f"{tier}: {', '.join(found)}")
    raise NotIsolatedError(
        f"solutions cannot be isolated here ({'; '.join(lacks)}). On Linux 5.13 or newer Landlock is needed; elsewhere "
        "isolation='none' runs them all the same, with your rights, unprotected"
    )


def _tried(tier: Tier) -> list[str]:
    """Return what a closed-in child could do that it should not, or could not do that it should."""
    secret = f"secret-{secrets.token_hex(8)}"
    sandbox = Sandbox(SOLUTION, tier)
    ours, theirs = socket.socketpair()
    try:
        with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket(socket.AF_UNIX) as local:
            local.bind(f"\0{secret}")
            local.listen()
            sandbox.start({3: theirs.fileno()}, Allowance(), PROBE)
            theirs.close()
            places = {tempfile.gettempdir(), "/var/tmp", os.path.expanduser("~"), os.getcwd()} - {"/tmp"}
            job = {
                "read": [str(Path(__file__)), "/etc/passwd", "/proc/self/environ"],
                "write": sorted(places) if tier == "namespaces" else sorted(places | {"/tmp"}),
                "tcp": listener.getsockname()[1],
                "abstract": secret,
                "secret": next((value for name, value in os.environ.items() if name == "LOGNAME"), secret) or secret,
            }
            answer = _ask(ours, job)
        sandbox.stop()
        return [str(what) for what in (*answer["leaks"], *(f"{what} does not work" for what in answer["lacks"]))]
    finally:
        ours.close()
        with suppress(OSError):
            theirs.close()
        sandbox.close()


def _ask(end: socket.socket, job: dict[str, object]) -> dict[str, list[str]]:
    from grpo_rewards.code.confined.channel import Channel

    channel = Channel(end.fileno(), blocking=False)
    deadline = time.monotonic() + _PATIENCE_S
    channel.send(job, deadline)
    answer: dict[str, list[str]] = channel.receive(1 << 16, deadline)
    return answer
