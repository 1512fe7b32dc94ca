"""Where does a training step go? Sampling, scoring and update apart; tokens per second; peak memory.

The shipped policy on its environment, 32 prompts x 8 completions, in a process of its own, so that memory is its own.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.rows import Report, Row, median_and_range

FIGURES = {
    "sample": ("CPU s", "seconds of sampling, scoring left out"),
    "score": ("CPU s", "seconds in the environment"),
    "update": ("CPU s", "seconds of forward, backward and optimiser"),
    "sampled tokens per CPU second": ("1/s", ""),
    "trained tokens per CPU second": ("1/s", "own tokens of rows with an advantage"),
}


def run(quick: bool) -> Report:
    """Measure in a child process."""
    steps = 4 if quick else 12
    root = Path(__file__).resolve().parent.parent
    child = subprocess.run(
        [sys.executable, "-m", "benchmarks.step", str(steps)],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    if child.returncode:
        raise RuntimeError(f"the step benchmark failed:\n{child.stderr[-2000:]}")
    measured: dict[str, Any] = json.loads(child.stdout.splitlines()[-1])
    report = Report(details=measured)
    for figure, (unit, note) in FIGURES.items():
        middle, low, high = median_and_range(measured[figure])
        report.rows.append(Row("step", "32 prompts x 8", figure, middle, unit, low, high, note=note))
    report.rows.append(Row("step", "32 prompts x 8", "peak memory", measured["peak_mb"], "MB"))
    return report


def measure(steps: int) -> dict[str, Any]:
    """Run steps after one warm-up step and return the figures, one entry per step."""
    import torch

    from grpo_agents.config import TrainConfig
    from grpo_agents.grpo import GRPO
    from grpo_agents.train import load_policy

    torch.set_num_threads(1)
    config = TrainConfig(threads=1)
    agent = GRPO(load_policy(config), config=config)
    clock = _clocked(agent.env)
    figures: dict[str, Any] = {name: [] for name in FIGURES}
    for step in range(steps + 1):
        agent.step = step + 1
        clock["env"] = 0.0
        began = time.process_time()
        rollout = agent.rollout()
        sampled = time.process_time()
        result = agent.improve(rollout)
        trained = time.process_time()
        if step == 0:
            continue
        sampling = sampled - began - clock["env"]
        figures["sample"].append(sampling)
        figures["score"].append(clock["env"])
        figures["update"].append(trained - sampled)
        figures["sampled tokens per CPU second"].append(sum(e.length for e in rollout.episodes) / sampling)
        figures["trained tokens per CPU second"].append(result.trained_tokens / (trained - sampled))
    figures["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return figures


def _clocked(env: Any) -> dict[str, float]:
    """Time the environment's reset and step from outside."""
    clock = {"env": 0.0}
    for name in ("reset", "step"):
        inner = getattr(env, name)

        def timed(*args: Any, inner: Any = inner, **kwargs: Any) -> Any:
            began = time.process_time()
            result = inner(*args, **kwargs)
            clock["env"] += time.process_time() - began
            return result

        setattr(env, name, timed)
    return clock


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]))))
