"""One training run with its controls: what both learning benchmarks repeat over seeds.

    grpo          the real thing
    shuffled      the same, rewards permuted over the batch: noise of the same size. Adam turns noise into drift, so
                  a single seed proves nothing; every run is shown
    sft mixture   goes on imitating the mixture the start was made of: should stay where it is
    sft careful   imitates careful working only: reaches the careful accuracy as well, and needs worked solutions for it

Every arm takes the same number of optimiser steps on the same number of completions. Scores are pass@1 on test problems
that no arm trained on, sampled at temperature 1.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import multiprocessing
import statistics
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.vector import VectorWrapper

from benchmarks.intervals import difference_interval, mean_interval
from benchmarks.rows import Row


@dataclass(frozen=True)
class Run:
    """One training run to be done.

    Attributes:
        arm: Name of the arm; one that begins with "sft" imitates.
        seed: Seed of the run.
        steps: Optimiser steps.
        problems: Test problems.
        env: Environment id.
        tier: Its tier or tiers; empty for its defaults.
        model: Where every run starts: "embedded" or a folder.
        every: Steps between scores on the test problems while it runs; 0 for none.
    """

    arm: str
    seed: int
    steps: int
    problems: int
    env: str = "grpo/Arithmetic-v0"
    tier: tuple[int, ...] = ()
    model: str = "embedded"
    every: int = 0


class ShuffledRewards(VectorWrapper):
    """Permutes every batch's rewards over its rows, so that they say nothing about the completions."""

    def __init__(self, env: Any, seed: int) -> None:
        super().__init__(env)
        self._rng = np.random.default_rng(seed)

    def step(self, actions: Any) -> Any:
        """Step, then permute the rewards."""
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        return observations, self._rng.permutation(rewards), terminated, truncated, infos


def do_runs(runs: Sequence[Run], keep: Path | None) -> list[dict[str, Any]]:
    """Do all runs, two at a time, and return their figures in order.

    Args:
        runs: What to do.
        keep: JSONL file of finished runs; runs found there are not repeated.
    """
    done = _kept(keep)
    waiting = [r for r in runs if key_of(r) not in done]
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        for result in pool.map(do_run, waiting):
            done[result["key"]] = result
            if keep is not None:
                keep.parent.mkdir(parents=True, exist_ok=True)
                with keep.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(result) + "\n")
    return [done[key_of(r)] for r in runs]


def config_of(job: Run) -> Any:
    """Return the training config of a run: the defaults, and what the run names."""
    from grpo_agents.config import TrainConfig

    config = TrainConfig(seed=job.seed, steps=job.steps, threads=1, env=job.env, tier=job.tier, model=job.model)
    return dataclasses.replace(config, evaluation=dataclasses.replace(config.evaluation, every=0))


def do_run(job: Run) -> dict[str, Any]:
    """Do one run in this process and return its figures; `seconds` are those of training alone."""
    import torch

    from grpo_agents.environments import EnvChoice, distinct_seeds
    from grpo_agents.evaluate import evaluate
    from grpo_agents.train import load_policy

    config = config_of(job)
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
        if job.every and metrics["step"] % job.every == 0:
            curve.append({"step": metrics["step"], **score()})

    began = time.perf_counter()
    _train(job, config, policy, watch)
    seconds = time.perf_counter() - began
    after = curve[-1] if curve else score()
    result = {"key": key_of(job), **dataclasses.asdict(job), "before": before, "after": after, "seconds": seconds}
    result |= {"lengths": lengths, "curve": curve}
    if not job.every:
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


def key_of(job: Run) -> str:
    """Name a run by everything that decides its result: job, starting weights, config."""
    from grpo_agents.config import EMBEDDED, to_dict
    from grpo_agents.embedded import FOLDER

    folder = FOLDER if job.model == EMBEDDED else Path(job.model)
    weights = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    known = {**dataclasses.asdict(job), "model": ""}  # the weights say it, wherever they lie
    text = json.dumps([known, weights, {**to_dict(config_of(job)), "model": ""}], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _kept(keep: Path | None) -> dict[str, dict[str, Any]]:
    if keep is None or not keep.exists():
        return {}
    return {record["key"]: record for record in map(json.loads, keep.read_text(encoding="utf-8").splitlines())}
