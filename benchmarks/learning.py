"""Does the agent learn, and would something simpler have done the same? The shipped policy, over seeds, with controls.

    grpo          the real thing
    shuffled      the same, rewards permuted over the batch: noise of the same size. Adam turns noise into drift, so
                  a single seed proves nothing; every run is shown
    sft mixture   goes on imitating the mixture the start was made of: should stay where it is
    sft careful   imitates careful working only: reaches the careful accuracy as well, and needs worked solutions for it

Every arm takes the same number of optimiser steps on the same number of completions. Scores are pass@1 on test problems
that no arm trained on, sampled at temperature 1.

    harder        grpo on a higher tier, longer: what is still learned once completions have stopped growing
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import multiprocessing
import statistics
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.vector import VectorWrapper

from benchmarks.intervals import difference_interval, mean_interval
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


@dataclass(frozen=True)
class Run:
    """One training run to be done.

    Attributes:
        arm: Name of the arm.
        seed: Seed of the run.
        steps: Optimiser steps.
        problems: Test problems.
    """

    arm: str
    seed: int
    steps: int
    problems: int


class ShuffledRewards(VectorWrapper):
    """Permutes every batch's rewards over its rows, so that they say nothing about the completions."""

    def __init__(self, env: Any, seed: int) -> None:
        super().__init__(env)
        self._rng = np.random.default_rng(seed)

    def step(self, actions: Any) -> Any:
        """Step, then permute the rewards."""
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        return observations, self._rng.permutation(rewards), terminated, truncated, infos


def run(quick: bool, keep: Path | None = None) -> Report:
    """Do all runs, two at a time, and report every one.

    Args:
        quick: One seed of grpo and shuffled only, fewer problems.
        keep: JSONL file of finished runs; runs found there are not repeated.
    """
    from grpo_agents.config import TrainConfig

    arms, steps, problems = (QUICK_ARMS, 15, 256) if quick else (ARMS, TrainConfig().steps, 2048)
    runs = [Run(arm, seed, steps, problems) for arm, seeds in arms.items() for seed in range(seeds)]
    if not quick:
        runs += [Run(HARDER, seed, HARDER_STEPS, HARDER_PROBLEMS) for seed in range(HARDER_SEEDS)]
    results = _do(runs, keep)
    report = Report(details={"runs": results})
    for arm in arms:
        report.rows += _arm_rows(arm, [r for r in results if r["arm"] == arm])
    finals = {arm: [r["after"]["pass@1"] for r in results if r["arm"] == arm] for arm in arms}
    if min(len(finals["grpo"]), len(finals["shuffled"])) >= 2:
        gap, low, high = difference_interval(finals["grpo"], finals["shuffled"])
        row = Row(QUESTION, "grpo minus shuffled", "pass@1 after", gap, "share", low, high, note="Welch, 95 %")
        report.rows.append(row)
    if harder := [r for r in results if r["arm"] == HARDER]:
        report.rows += _harder_rows(harder)
    return report


def _do(runs: Sequence[Run], keep: Path | None) -> list[dict[str, Any]]:
    done = _kept(keep)
    waiting = [r for r in runs if _key(r) not in done]
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        for result in pool.map(do_run, waiting):
            done[result["key"]] = result
            if keep is not None:
                keep.parent.mkdir(parents=True, exist_ok=True)
                with keep.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(result) + "\n")
    return [done[_key(r)] for r in runs]


def do_run(job: Run) -> dict[str, Any]:
    """Do one run in this process and return its figures."""
    import torch

    from grpo_agents.config import TrainConfig
    from grpo_agents.environments import EnvChoice, distinct_seeds
    from grpo_agents.evaluate import evaluate
    from grpo_agents.train import load_policy

    tier = (HARDER_TIER,) if job.arm == HARDER else ()
    config = TrainConfig(seed=job.seed, steps=job.steps, threads=1, tier=tier)
    config = dataclasses.replace(config, evaluation=dataclasses.replace(config.evaluation, every=0))
    policy = load_policy(config)
    torch.manual_seed(job.seed)
    choice = EnvChoice.of(config)
    seeds = distinct_seeds(choice, "test", job.seed, job.problems)

    def score() -> dict[str, Any]:
        sampled = evaluate(policy, choice, "test", seeds, config.sampling, seed=job.seed)
        figures = sampled.to_json()
        figures["right"] = [e.reward >= 1.0 for e in sampled.episodes]
        return figures

    before = score()
    curve: list[dict[str, Any]] = []
    lengths: list[float] = []

    def watch(metrics: dict[str, Any]) -> None:
        lengths.append(metrics["length"])
        if job.arm == HARDER and metrics["step"] % EVALUATE_EVERY == 0:
            curve.append({"step": metrics["step"], **score()})

    _train(job, config, policy, watch)
    after = curve[-1] if curve else score()
    result = {"key": _key(job), **dataclasses.asdict(job), "before": before, "after": after}
    result |= {"lengths": lengths, "curve": curve}
    if job.arm != HARDER:
        for figures in (before, after):
            figures.pop("right")
    return result


def _train(job: Run, config: Any, policy: Any, watch: Any) -> None:
    from grpo_agents.config import SFTConfig
    from grpo_agents.environments import EnvChoice
    from grpo_agents.grpo import GRPO
    from grpo_agents.sft import sft

    if job.arm.startswith("sft"):
        settings = SFTConfig(
            env=config.env,
            tier=config.tier,
            steps=job.steps,
            batch=config.prompts * config.group_size,
            careful=0.3 if job.arm == "sft mixture" else 1.0,
            learning_rate=config.optimisation.learning_rate,
            weight_decay=0.0,
            warmup_steps=config.optimisation.warmup_steps,
            seed=job.seed + 1000,
        )
        sft(policy, settings)
        return
    env = EnvChoice.of(config).vector(config.prompts * config.group_size, config.group_size)
    GRPO(policy, ShuffledRewards(env, job.seed) if job.arm == "shuffled" else env, config, on_step=watch).learn()


def _arm_rows(arm: str, results: Sequence[dict[str, Any]]) -> list[Row]:
    rows = []
    for when in ("before", "after"):
        values = [r[when]["pass@1"] for r in results]
        only = results[0][when]
        mean, low, high = mean_interval(values) if len(values) > 1 else (values[0], only["low"], only["high"])
        note = "seeds: " + " ".join(f"{value:.3f}" for value in values)
        rows.append(Row(QUESTION, arm, f"pass@1 {when}", mean, "share", low, high, note=note))
        length = statistics.fmean(r[when]["length"] for r in results)
        rows.append(Row(QUESTION, arm, f"length {when}", length, "tokens"))
    return rows


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
    return [*_arm_rows(HARDER, results), row]


def _key(job: Run) -> str:
    """Name a run by everything that decides its result: job, shipped weights, default config."""
    from grpo_agents.config import TrainConfig, to_dict
    from grpo_agents.embedded import FOLDER

    weights = hashlib.sha256((FOLDER / "model.safetensors").read_bytes()).hexdigest()
    text = json.dumps([dataclasses.asdict(job), weights, to_dict(TrainConfig())], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _kept(keep: Path | None) -> dict[str, dict[str, Any]]:
    if keep is None or not keep.exists():
        return {}
    return {record["key"]: record for record in map(json.loads, keep.read_text(encoding="utf-8").splitlines())}
