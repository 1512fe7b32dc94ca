"""The judge in the long run: nothing grows, and whatever is killed, nothing hangs, stays behind or is judged wrongly.

CI runs a tenth; in full: `GRPO_GYM_LONG=1 python -m pytest tests/rewards/code/test_judge_lasting.py`.
"""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from grpo_rewards.code import CodeJudge, Job

LONG = os.environ.get("GRPO_GYM_LONG", "") not in ("", "0")
VERDICTS = 10_000 if LONG else 1_000
KILLS = 100 if LONG else 10

pytestmark = pytest.mark.long

JOBS = [
    (Job("def f(x):\n    return x + 1\n", "assert f(1) == 2\nassert f(5) == 6\n"), True),
    (Job("def f(x):\n    return x + 2\n", "assert f(1) == 2\n"), False),
    (Job("def f(x):\n    return x + 1\n", "for n in range(3):\n    assert f(n) == n + 1\n"), True),
    (Job("print(int(input()) * 2)", {"inputs": ["3\n"], "outputs": ["6\n"]}, "stdio"), True),
    (Job("open('x', 'w').write('y')\nraise SystemExit(3)", {"inputs": ["3\n"], "outputs": ["6\n"]}, "stdio"), False),
    (Job("import os\nos.abort()", "assert f(1) == 2\n"), False),
]


def test_nothing_grows_with_the_number_of_verdicts() -> None:
    with CodeJudge(workers=2) as court:
        _judge_many(court, 200)  # what is made once
        before = _held(court)
        memory = _memory(court)
        _judge_many(court, VERDICTS)
        assert _held(court) == before
        assert _memory(court) - memory < 24 << 20
        assert court.restarts == 0


def _judge_many(court: CodeJudge, count: int) -> None:
    jobs = [JOBS[n % len(JOBS)] for n in range(count)]
    verdicts = court.judge_all([job for job, _ in jobs])
    assert [bool(verdict) for verdict in verdicts] == [right for _, right in jobs]


def _held(court: CodeJudge) -> dict[str, object]:
    """What this process and the judge's hold, once all is quiet."""
    processes = court.process_ids
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and any(state == "Z" for _, state in _descendants()):
        time.sleep(0.05)
    return {
        "descriptors": len(os.listdir("/proc/self/fd")),
        "threads": threading.active_count(),
        "zygotes": len(set(processes)),
        "zombies": sum(state == "Z" for _, state in _descendants()),
        "processes": len(_descendants()),
        "temporary files": sorted(
            name for name in os.listdir(tempfile.gettempdir()) if name.startswith(f"grpo-judge-{os.getpid()}-")
        ),
    }


def _memory(court: CodeJudge) -> int:
    """Resident bytes of this process and of those of the judge."""
    return sum(_resident(process) for process in [os.getpid(), *(process for process, _ in _descendants())])


def _resident(process: int) -> int:
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * resource.getpagesize()
    except (OSError, IndexError):
        return 0


def _descendants() -> list[tuple[int, str]]:
    """Process id and state of everything below this process."""
    parents: dict[int, list[tuple[int, str]]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                state, parent = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[:2]
            except (OSError, ValueError):
                continue
            parents.setdefault(int(parent), []).append((int(name), state))
    found, left = [], [os.getpid()]
    while left:
        below = parents.get(left.pop(), [])
        found += below
        left += [process for process, _ in below]
    return found


def test_killing_any_of_its_processes_costs_a_retry_and_no_verdict() -> None:
    dice = random.Random(7)
    slow = Job(
        "import time\ntime.sleep(0.02)\ndef f(x):\n    return x + 1\n", "for n in [1, 2]:\n    assert f(n) == n + 1\n"
    )
    with CodeJudge(workers=2) as court:
        _judge_many(court, 24)
        stop = threading.Event()
        killed: list[int] = []

        def kill() -> None:
            while not stop.is_set() and len(killed) < KILLS:
                time.sleep(dice.uniform(0.1, 0.25))
                victims = [process for process, state in _descendants() if state != "Z"]
                if victims:
                    victim = dice.choice(sorted(victims))
                    try:
                        os.kill(victim, dice.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM]))
                    except ProcessLookupError:
                        continue
                    killed.append(victim)

        killer = threading.Thread(target=kill)
        killer.start()
        try:
            deadline = time.monotonic() + 600
            while killer.is_alive() and time.monotonic() < deadline:
                jobs = [*JOBS, (slow, True), (slow, True)]
                verdicts = court.judge_all([job for job, _ in jobs])
                wrong = [v for v, (_, right) in zip(verdicts, jobs, strict=True) if not v.abstains and bool(v) != right]
                assert not wrong, wrong
        finally:
            stop.set()
            killer.join()
        assert len(killed) == KILLS
        _judge_many(court, 12)
    deadline = time.monotonic() + 20
    while _zygotes() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _zygotes()


CALLER = """
import json, sys
from grpo_rewards.code import CodeJudge, Job
loop = Job("def f(x):\\n    while True: pass\\n", "for n in [1]:\\n    assert f(n) == 2\\n", time_s=100)
quick = Job("def f(x):\\n    return x\\n", "assert f(1) == 1\\n")
court = CodeJudge(workers=2)
assert court.judge_all([quick] * 4)[3]
print(json.dumps(court.process_ids), flush=True)
while True:
    court.judge_all([quick] * 20 + [loop])
"""


def test_a_caller_that_is_killed_leaves_no_process() -> None:
    dice = random.Random(3)
    for _ in range(max(2, KILLS // 5)):
        caller = subprocess.Popen([sys.executable, "-c", CALLER], stdout=subprocess.PIPE, text=True)
        assert caller.stdout is not None
        processes = json.loads(caller.stdout.readline())
        assert processes
        time.sleep(dice.uniform(0.0, 0.4))
        below = _below(caller.pid)
        caller.kill()
        caller.wait()
        caller.stdout.close()
        deadline = time.monotonic() + 30
        while any(_same(process, started) for process, started in below) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not [process for process, started in below if _same(process, started)]


def _below(root: int) -> list[tuple[int, str]]:
    """Process id and start time of everything below a process."""
    found, left = [], [root]
    while left:
        parent = left.pop()
        for name in os.listdir("/proc"):
            if name.isdigit():
                try:
                    fields = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
                except OSError:
                    continue
                if int(fields[1]) == parent:
                    found.append((int(name), fields[19]))
                    left.append(int(name))
    return found


def _same(process: int, started: str) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19] == started
    except OSError:
        return False


def _zygotes() -> list[int]:
    found = []
    for process, _ in _descendants():
        try:
            if b"confined.zygote" in Path(f"/proc/{process}/cmdline").read_bytes():
                found.append(process)
        except OSError:
            continue
    return found
