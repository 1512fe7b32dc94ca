"""One training run of a benchmark: which there are, what decides them, and doing many of them over seeds.

    grpo          the real thing
    shuffled      the same, rewards permuted over the batch: noise of the same size. Adam turns noise into drift, so
                  a single seed proves nothing; every run is shown
    sft mixture   goes on imitating the mixture the start was made of: should stay where it is
    sft careful   imitates careful working only: reaches the careful accuracy as well, and needs worked solutions for it

Every arm of a benchmark takes the same number of optimiser steps on the same number of completions, and starts from the
same weights. Arms differ by `options` of the training config and by the `reward`. What one run measures is in
`one_run.py`.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import multiprocessing
import statistics
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.intervals import difference_interval, mean_interval
from benchmarks.rows import Row

Options = tuple[tuple[str, Any], ...]
AT_ONCE = 2
"""Runs at the same time, each on one core."""


@dataclass(frozen=True)
class Exam:
    """Test problems that a run is scored on.

    Attributes:
        name: What it is called in results.
        env: Environment id.
        tier: Its tier or tiers; empty for its defaults.
    """

    name: str
    env: str
    tier: tuple[int, ...] = ()


@dataclass(frozen=True)
class Run:
    """One training run to be done.

    Attributes:
        arm: Name of the arm; one that begins with "sft" imitates.
        seed: Seed of the run.
        steps: Optimiser steps.
        problems: Test problems of each exam.
        env: Environment id.
        tier: Its tier or tiers; empty for its defaults.
        model: Where every run starts: "embedded" or a folder.
        every: Steps between scores on the test problems while it runs; 0 for none.
        options: Further options of the training config, as (dotted name, plain value).
        reward: "true", or a name of `false_rewards.FALSE_REWARDS`.
        exams: What is scored; empty for the test split of what is trained on.
        samples: Completions of each test problem before and after; above 1 pass@k is given for k = samples, too.
        per_problem: Whether scores say of every problem if it was right.
    """

    arm: str
    seed: int
    steps: int
    problems: int
    env: str = "grpo/Arithmetic-v0"
    tier: tuple[int, ...] = ()
    model: str = "embedded"
    every: int = 0
    options: Options = ()
    reward: str = "true"
    exams: tuple[Exam, ...] = ()
    samples: int = 1
    per_problem: bool = False


def reward_of(arm: str) -> str:
    """Return what an arm is paid: arms named after a false reward get it, all others the true one."""
    from benchmarks.false_rewards import FALSE_REWARDS, TRUE

    return arm if arm in FALSE_REWARDS else TRUE


def do_runs(runs: Sequence[Run], keep: Path | None, say: bool = False) -> list[dict[str, Any]]:
    """Do all runs, two at a time, each in a process of its own, and return their figures in order.

    What is finished is kept at once: killed half way, only the runs under way are lost.

    Args:
        runs: What to do.
        keep: JSONL file of finished runs; runs found there are not repeated.
        say: Print a line for every run that is finished.
    """
    from benchmarks.one_run import do_run

    done = kept(keep)
    waiting = [run for run in runs if key_of(run) not in done]
    if not waiting:
        return [done[key_of(run)] for run in runs]
    spawn = multiprocessing.get_context("spawn")  # nothing is inherited, so that memory can be compared
    with ProcessPoolExecutor(AT_ONCE, mp_context=spawn, max_tasks_per_child=1) as pool:
        begun = {pool.submit(do_run, run): run for run in waiting}
        try:
            for count, future in enumerate(as_completed(begun), 1):
                result = future.result()
                done[result["key"]] = result
                if keep is not None:
                    add_line(keep, result)
                if say:
                    run, after = begun[future], result["after"]["pass@1"]
                    print(f"{count}/{len(waiting)} {run.env} {run.arm} seed {run.seed}: {after:.3f}", flush=True)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return [done[key_of(run)] for run in runs]


def config_of(job: Run) -> Any:
    """Return the training config of a run: the defaults, and what the run names.

    Raises:
        UnknownNameError: An option that does not exist.
        InvalidValueError: Options out of bounds, or that contradict each other.
    """
    from grpo_agents.config import TrainConfig
    from grpo_agents.config.reading import with_options

    own = {"seed": job.seed, "steps": job.steps, "threads": 1, "env": job.env, "tier": job.tier, "model": job.model}
    return with_options(TrainConfig(), {**own, "evaluation.every": 0, **dict(job.options)})


def key_of(job: Run) -> str:
    """Name a run by everything that decides its result: job, starting weights, config."""
    from grpo_agents.config import EMBEDDED, to_dict
    from grpo_agents.embedded import FOLDER

    folder = FOLDER if job.model == EMBEDDED else Path(job.model)
    weights = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    known = {**dataclasses.asdict(job), "model": ""}  # the weights say it, wherever they lie
    text = json.dumps([known, weights, {**to_dict(config_of(job)), "model": ""}], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def kept(keep: Path | None) -> dict[str, dict[str, Any]]:
    """Return the finished runs of a JSONL file by key; a line that was cut short is left out, as one not run."""
    if keep is None or not keep.exists():
        return {}
    records = {}
    for line in keep.read_text(encoding="utf-8").splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict) and "key" in record:
            records[str(record["key"])] = record
    return records


def add_line(keep: Path, record: Mapping[str, Any]) -> None:
    """Add a record to a JSONL file, on a line of its own even behind a line that was cut short."""
    keep.parent.mkdir(parents=True, exist_ok=True)
    torn = keep.exists() and not keep.read_bytes().endswith(b"\n") and keep.stat().st_size > 0
    with keep.open("a", encoding="utf-8") as file:
        file.write(("\n" if torn else "") + json.dumps(record) + "\n")


def arm_rows(question: str, arm: str, results: Sequence[Mapping[str, Any]], subject: str = "") -> list[Row]:
    """Return what became of an arm: pass@1 and length before and after, every seed in the note."""
    rows = []
    name = f"{subject} {arm}".strip()
    for when in ("before", "after"):
        values = [r[when]["pass@1"] for r in results]
        only = results[0][when]
        mean, low, high = mean_interval(values) if len(values) > 1 else (values[0], only["low"], only["high"])
        note = "seeds: " + " ".join(f"{value:.3f}" for value in values)
        rows.append(Row(question, name, f"pass@1 {when}", mean, "share", low, high, note=note))
        length = statistics.fmean(r[when]["length"] for r in results)
        rows.append(Row(question, name, f"length {when}", length, "tokens"))
    return rows


def gap_row(question: str, results: Sequence[Mapping[str, Any]], subject: str = "") -> list[Row]:
    """Return how far true rewards end above shuffled ones, where both have at least two seeds."""
    true, shuffled = ([r["after"]["pass@1"] for r in results if r["arm"] == arm] for arm in ("grpo", "shuffled"))
    if min(len(true), len(shuffled)) < 2:
        return []
    gap, low, high = difference_interval(true, shuffled)
    name = f"{subject} grpo minus shuffled".strip()
    return [Row(question, name, "pass@1 after", gap, "share", low, high, note="Welch, 95 %")]
