"""Close this process in, then make every attempt once; print what succeeded as JSON.

    python -m tests.gym.confined '{"tier": "full", "uid": null, "folder": "...", ...}'

With the tier "open" it does not close itself in: an attack that fails then would prove nothing.
"""

from __future__ import annotations

import encodings.idna  # noqa: F401  # beforehand: a plain user may not be able to read root's Python
import errno
import json
import multiprocessing.popen_fork
import multiprocessing.queues
import multiprocessing.synchronize  # noqa: F401
import os
import random
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from grpo_gym.checks import confine as confine_module
from grpo_gym.checks.confine import confine
from grpo_gym.isolation import kernel as kernel_module
from tests.gym.confined import ATTACKS, DEEDS, Attempt, files, processes, work

assert files
assert processes
assert work


def main() -> None:
    wanted = json.loads(sys.argv[1])
    stage = SimpleNamespace(**wanted, open=wanted["tier"] == "open", root=wanted["uid"] in (None, 0))
    stage.handle = os.open(stage.outside, os.O_RDONLY)
    stage.reading = os.open(Path(stage.outside, "read"), os.O_RDONLY)
    random.seed(3)
    stage.dice = random.random()
    random.seed(3)
    become(stage.uid)
    os.chdir(stage.scratch)
    prepare(stage.tier)
    told = None if stage.open else confine(Path(stage.scratch), memory_bytes=1 << 30, file_bytes=1 << 20)
    result = {
        "confinement": None if told is None else [told.tier, told.isolated, str(told)],
        "done": {name: outcome(function, stage) for name, function in ATTACKS.items()},
        "works": {name: outcome(function, stage) for name, function in DEEDS.items()} if told else {},
    }
    print(json.dumps(result))


def become(uid: int | None) -> None:
    if uid is not None and uid != os.getuid():
        os.setgroups([])
        os.setgid(uid)
        os.setuid(uid)
        kernel_module.prctl(
            4, 1
        )  # PR_SET_DUMPABLE: a change of user hides /proc/self, which an ordinary start does not
        os.environ["HOME"] = "/nonexistent"


def prepare(tier: str) -> None:
    """Stand in for kernels and containers that offer less."""
    kernel: Any = kernel_module  # parts of both are replaced
    policy: Any = confine_module
    if tier in ("plain", "old"):
        policy._enter_namespaces = _refused
    if tier == "old":
        real = kernel.syscall

        def first_landlock(name: str, *arguments: Any) -> int:
            version_asked = name == "landlock_create_ruleset" and arguments == (None, 0, 1)
            return 1 if version_asked else real(name, *arguments)

        kernel.syscall = first_landlock
    if tier == "no landlock":
        kernel.restrict_files = _refused
    if tier == "no seccomp":
        policy._enter_namespaces = _refused
        kernel.refuse_calls = _refused
    if tier == "nothing":
        policy._enter_namespaces = _refused
        kernel.restrict_files = kernel.refuse_calls = _refused
    if tier == "pretended":  # all calls "work", and nothing holds
        policy._enter_namespaces = _refused
        kernel.restrict_files = kernel.refuse_calls = lambda *_: 7


def _refused(*_: Any, **__: Any) -> Any:
    raise OSError(errno.EPERM, "not here")


def outcome(function: Attempt, stage: SimpleNamespace) -> str:
    """Return "" when it went through, else why not."""
    try:
        function(stage)
    except (OSError, MemoryError, AssertionError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    return ""


if __name__ == "__main__":
    main()
