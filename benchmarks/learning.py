"""Does the agent learn, and would something simpler have done the same? The shipped policy, over seeds, with controls.

The arms are those of `arms.py`. One more:

    harder        grpo on a higher tier, longer: what is still learned once completions have stopped growing
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.arms import Run, arm_rows, do_runs, gap_row, reward_of
from benchmarks.rows import Report, Row

QUESTION = "learning"
ARMS = {"grpo": 8, "shuffled": 8, "sft mixture": 3, "sft careful": 3}
QUICK_ARMS = {"grpo": 1, "shuffled": 1}
HARDER = "harder"
HARDER_TIER = 2
HARDER_PROBLEMS = 1024
HARDER_SEEDS = 3
HARDER_STEPS = 120
EVALUATE_EVERY = 5
PLATEAU = 0.97
"""Completions have stopped growing at the first evaluation whose length reaches this share of the final length."""


def run(quick: bool, keep: Path | None = None) -> Report:
    """Do all runs, two at a time, and report every one.

    Args:
        quick: One seed of grpo and shuffled only, fewer problems.
        keep: JSONL file of finished runs; runs found there are not repeated.
    """
    from grpo_agents.config import TrainConfig

    arms, steps, problems = (QUICK_ARMS, 15, 256) if quick else (ARMS, TrainConfig().steps, 2048)
    runs = [
        Run(arm, seed, steps, problems, reward=reward_of(arm)) for arm, seeds in arms.items() for seed in range(seeds)
    ]
    if not quick:
        runs += [
            Run(
                HARDER,
                seed,
                HARDER_STEPS,
                HARDER_PROBLEMS,
                tier=(HARDER_TIER,),
                every=EVALUATE_EVERY,
                per_problem=True,
            )
            for seed in range(HARDER_SEEDS)
        ]
    results = do_runs(runs, keep)
    report = Report(details={"runs": results})
    for arm in arms:
        report.rows += arm_rows(QUESTION, arm, [r for r in results if r["arm"] == arm])
    report.rows += gap_row(QUESTION, results)
    if harder := [r for r in results if r["arm"] == HARDER]:
        report.rows += _harder_rows(harder)
    return report


def end_of_growth(curve: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the first point of a curve at which completions have stopped growing.

    Lengths are those on the fixed test problems: a training batch's length moves with the problems it happens to hold.
    """
    final = curve[-1]["length"]
    return next(point for point in curve if point["length"] >= PLATEAU * final)


def _harder_rows(results: Sequence[dict[str, Any]]) -> list[Row]:
    """Return the gain between the end of growth and the end of the run, paired over problems and seeds."""
    gains: list[float] = []
    notes = []
    for result in results:
        at = end_of_growth(result["curve"])
        gains += [float(b) - float(a) for a, b in zip(at["right"], result["after"]["right"], strict=True)]
        end = result["after"]["pass@1"]
        notes.append(f"seed {result['seed']}: {at['pass@1']:.3f} at step {at['step']} -> {end:.3f}")
    mean = statistics.fmean(gains)
    half = 1.96 * statistics.stdev(gains) / len(gains) ** 0.5
    notes.insert(0, f"tier {HARDER_TIER}, from the end of growth to the end")
    row = Row(QUESTION, HARDER, "gain in pass@1", mean, "share", mean - half, mean + half, note="; ".join(notes))
    return [*arm_rows(QUESTION, HARDER, results), row]
