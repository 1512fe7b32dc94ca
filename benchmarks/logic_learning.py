"""Does GRPO learn logic puzzles? From a warm start per task, over seeds, beside the controls of `arms.py`.

A warm start is made by two commands, as a user would: `grpo-gym sft` on worked solutions, from nothing (`--model new`)
or from the shipped policy where a puzzle is about numbers, then `grpo-gym sft --careful 0.3` on a mixture with hasty
answers (what the task's weak solver says). Their time is told apart from that of GRPO. Made once, it is kept in the
folder `WARM` and found there again.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.arms import Run, arm_rows, do_runs, gap_row, reward_of
from benchmarks.rows import Report, Row

QUESTION = "logic_learning"
ARMS = {"grpo": 3, "shuffled": 3, "sft mixture": 1, "sft careful": 1}
QUICK_ARMS = {"grpo": 1}
CAREFUL_SHARE = 0.3
WARM = Path("runs") / "warm-starts"


@dataclass(frozen=True)
class Lesson:
    """A task with what its warm start takes.

    Attributes:
        env: Environment id.
        tier: The tier that is taught and trained on.
        model: Where the warm start begins: "new" or "embedded".
        careful_steps: Optimiser steps on worked solutions.
        mixture_steps: Optimiser steps on the mixture.
        steps: Steps of GRPO and of its controls.
    """

    env: str
    tier: int
    model: str
    careful_steps: int
    mixture_steps: int
    steps: int


LESSONS = {
    "knights": Lesson("grpo/Logic.Knights-v0", 0, "new", 400, 100, 20),
    "countdown": Lesson("grpo/Logic.Countdown-v0", 0, "embedded", 800, 100, 20),
    "sequence": Lesson("grpo/Logic.Sequence-v0", 0, "embedded", 700, 100, 20),
}
RATES = {"new": "4e-3", "embedded": "2e-3"}
"""AdamW's rate of the first phase by where it begins."""


def run(quick: bool, keep: Path | None = None) -> Report:
    """Make the warm starts that are missing, do all runs two at a time, and report every one.

    Args:
        quick: One seed of grpo on the first task only, with a shorter warm start.
        keep: JSONL file of finished runs; runs found there are not repeated.
    """
    report = Report(details={"runs": [], "warm starts": {}})
    arms, problems = (QUICK_ARMS, 256) if quick else (ARMS, 2048)
    names = list(LESSONS)[:1] if quick else list(LESSONS)
    for name in names:
        lesson = LESSONS[name]
        folder, seconds = warm_start(name, lesson)
        runs = [
            Run(arm, seed, lesson.steps, problems, lesson.env, (lesson.tier,), str(folder), reward=reward_of(arm))
            for arm, seeds in arms.items()
            for seed in range(seeds)
        ]
        results = do_runs(runs, keep)
        report.details["runs"] += results
        report.details["warm starts"][name] = seconds
        report.rows += lesson_rows(name, seconds, arms, results)
    return report


def lesson_rows(
    name: str, seconds: Mapping[str, float], arms: Sequence[str] | Mapping[str, int], results: Sequence[dict[str, Any]]
) -> list[Row]:
    """Return the rows of one task: the warm start's time, every arm, and how much of it is not noise."""
    note = ", ".join(f"{phase} {value:.0f} s" for phase, value in seconds.items())
    rows = [Row(QUESTION, name, "warm start", sum(seconds.values()), "s", note=note)]
    for arm in arms:
        rows += arm_rows(QUESTION, arm, [r for r in results if r["arm"] == arm], name)
    took = [r["seconds"] for r in results if r["arm"] == "grpo"]
    rows.append(Row(QUESTION, f"{name} grpo", "training", statistics.median(took), "s", min(took), max(took)))
    return rows + gap_row(QUESTION, results, name)


def warm_start(name: str, lesson: Lesson) -> tuple[Path, dict[str, float]]:
    """Return the folder of a task's warm start, made now if it is not there, and the seconds that its phases took.

    Raises:
        RuntimeError: One of the commands failed.
    """
    options = ["--env", lesson.env, "--tier", str(lesson.tier)]
    return warm_start_from(name, options, lesson.model, lesson.careful_steps, lesson.mixture_steps)


def warm_start_from(
    name: str,
    options: Sequence[str],
    model: str,
    careful_steps: int,
    mixture_steps: int,
    mixture_options: Sequence[str] = (),
    batch: int = 32,
    careful_share: float = CAREFUL_SHARE,
) -> tuple[Path, dict[str, float]]:
    """Return the folder of a warm start, made now if it is not there, and the seconds that its two phases took.

    Args:
        name: What its folder is called, with the steps behind it.
        options: What `grpo-gym sft` is told about the environment.
        model: Where it begins: "new" or "embedded".
        careful_steps: Optimiser steps on worked solutions.
        mixture_steps: Optimiser steps on the mixture with hasty answers.
        mixture_options: What the second phase is told about the environment; empty for the same.
        batch: Demonstrations per step.
        careful_share: Share of the mixture that is not hasty.

    Raises:
        RuntimeError: One of the commands failed.
    """
    folder = WARM / f"{name.replace(' ', '-')}-{careful_steps}-{mixture_steps}"
    careful, mixture, figures = folder / "careful", folder / "mixture", folder / "seconds.json"
    if figures.exists():
        return mixture, json.loads(figures.read_text(encoding="utf-8"))
    size = ["--batch", str(batch)]
    first = ["--model", model, "--steps", str(careful_steps), "--optimizer", "muon"]
    first += ["--learning-rate", RATES[model]]
    then = ["--model", str(careful), "--steps", str(mixture_steps), "--careful", str(careful_share)]
    then += ["--learning-rate", "5e-4", "--weight-decay", "0", "--seed", "1"]
    seconds = {
        "careful": _sft([*options, *size, *first, "--out", str(careful)]),
        "mixture": _sft([*(mixture_options or options), *size, *then, "--out", str(mixture)]),
    }
    figures.write_text(json.dumps(seconds), encoding="utf-8")
    return mixture, seconds


def _sft(options: list[str]) -> float:
    """Run `grpo-gym sft` and return the seconds it took."""
    began = time.perf_counter()
    done = subprocess.run([sys.executable, "-m", "grpo_gym", "sft", *options], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"grpo-gym sft {' '.join(options)} failed: {done.stderr[-500:]}")
    return time.perf_counter() - began
