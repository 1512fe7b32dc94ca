"""A reward that does to its process what the answer says: what the laboratory has to survive."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from grpo_gym import Problem, Procedural, Reason, Reward, Task, Verdict
from tests.gym.broken_kit import boxed, sums
from tests.gym.slow_rewards import DEEDS


def flood(_: str) -> None:
    for stream in (1, 2):
        for _block in range(200):
            os.write(stream, b"x" * 10_000)


def spawn(mark: str) -> None:
    """Start a process that would outlive its parent, and write down its number."""
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
    Path(mark).write_text(str(process.pid))


def linger(mark: str) -> None:
    spawn(mark)
    time.sleep(300)


class Deeds(Reward):
    def score(self, response: str, problem: Problem) -> Verdict:
        deed, _, detail = response.partition(" ")
        deeds = {**DEEDS, "flood": flood, "spawn": spawn, "linger": linger}
        told = deeds[deed](detail) if deeds.get(deed) else None
        if told is not None:
            return told
        right = response == boxed(problem)
        return Verdict(float(right), Reason.CORRECT if right else Reason.WRONG, {"pid": float(os.getpid())})


task = Task("lab.deeds", Procedural(sums), Deeds(), answer=boxed, namespace="tests")


class Where(Reward):
    """Tells where its process stands."""

    def score(self, response: str, problem: Problem) -> Verdict:
        inside = Path.cwd().name.startswith("grpo-gym-check-") and str(Path.cwd()) == os.environ["TMPDIR"]
        return Verdict(0.0, Reason.WRONG, {"inside": float(inside), "hash": float(hash("text") % 10**9)})


class Slower(Reward):
    cost = "slow"
    time_limit = 30.0

    def score(self, response: str, problem: Problem) -> Verdict:
        return Verdict(0.0, Reason.WRONG)


class Importing(Deeds):
    """Its first call in a process works for a second, as an import does."""

    def __init__(self) -> None:
        self.imported = False

    def score(self, response: str, problem: Problem) -> Verdict:
        end = time.thread_time() + (0.0 if self.imported else 1.0)
        while time.thread_time() < end:
            self.imported = True
        return super().score(response, problem)


importing = Task("lab.importing", Procedural(sums), Importing(), answer=boxed, namespace="tests")
where = Task("lab.where", Procedural(sums), Where(), answer=boxed, namespace="tests")
slower = Task("lab.slower", Procedural(sums), Slower(), answer=boxed, namespace="tests")
