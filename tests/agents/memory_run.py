"""A program that trains and prints its resident memory behind each step: `python -m tests.agents.memory_run 40:0`.

In a process of its own, for one in which others ran before has freed memory that hides a leak.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch
from gymnasium.vector import AutoresetMode

from grpo_agents.grpo import GRPO
from tests.agents.foreign_envs import Word, vector
from tests.agents.runs import babbler, short

STATM = Path("/proc/self/statm")
ROWS = 12


def sizes_of_runs(*runs: tuple[int, int]) -> list[list[int]]:
    """Return the resident bytes behind each step of runs in one new process.

    Args:
        runs: Steps of each, and bytes that each of its steps loses.
    """
    command = [sys.executable, "-m", "tests.agents.memory_run", *(f"{steps}:{leak}" for steps, leak in runs)]
    path = os.pathsep.join(part for part in sys.path if part)
    out = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": path})
    sizes: list[list[int]] = json.loads(out.stdout.splitlines()[-1])
    return sizes


def main(steps: int, leak: int) -> list[int]:
    """Train with all that costs memory: a KL term, an entropy bonus, several turns of the loop."""
    torch.set_num_threads(1)
    sizes: list[int] = []
    lost: list[bytes] = []

    def watch(metrics: dict[str, Any]) -> None:
        lost.append(os.urandom(leak))
        sizes.append(int(STATM.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE"))

    config = short(steps=steps, objective={"kl_coef": 0.01, "entropy_coef": 0.01}, sampling={"max_tokens": 16})
    GRPO(babbler(), vector(Word, ROWS, AutoresetMode.NEXT_STEP), config, on_step=watch).learn()
    return sizes


if __name__ == "__main__":
    print(json.dumps([main(*map(int, run.split(":"))) for run in sys.argv[1:]]))
