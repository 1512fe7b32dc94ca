"""What one training run of a benchmark measures: scores on fixed test problems, and what it cost.

Scores are pass@1 on test problems that no arm trained on, sampled at temperature 1, the same problems and the same
random numbers at every score of a seed. `seconds` are those of training alone; memory is the highest resident size of
the process above what it was with everything imported, scores included, in chunks no larger than a training batch.
"""

from __future__ import annotations

import dataclasses
import resource
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.arms import Exam, Run, config_of, key_of
from benchmarks.false_rewards import rewarded
from benchmarks.paired import drawdown, pass_at_k
from grpo_agents.run_log import step_seconds

COLLAPSE = 0.5
"""A run has collapsed when its last pass@1 is below this share of its first."""
LAST_STEPS = 3
"""Steps at the end whose entropies are averaged."""
FIGURES = ("n", "pass@1", "low", "high", "length", "reward")
WIDTH = ("n", "low", "high")
"""Figures that a curve leaves out: its points are many."""


@dataclass
class Watch:
    """Gathers what a trainer tells after every step.

    Attributes:
        every: Steps between scores; 0 for none.
        score: Returns the figures of now.
        agent: The trainer; its `failures` are the failed steps in a row.
        seconds: Of each step.
        entropies: Nats per sampled token, estimated from the sampled tokens' own log-probs.
        completions: Drawn so far.
        failed: Steps whose optimiser step was due and not taken: nothing finite, or the environment raised.
        idle: Steps that moved no weight: those that failed, and those in which no completion had an advantage.
        curve: Scores so far.
    """

    every: int
    score: Callable[[], dict[str, Any]]
    agent: Any = None
    seconds: list[float] = field(default_factory=list)
    entropies: list[float] = field(default_factory=list)
    completions: int = 0
    failed: int = 0
    idle: int = 0
    curve: list[dict[str, Any]] = field(default_factory=list)

    def __call__(self, metrics: Mapping[str, Any]) -> None:
        """Take a step's metrics, and score the policy when it is time."""
        self.count_failure()  # of the step before: a trainer books it after it has told us
        self.seconds.append(step_seconds(metrics))
        self.entropies.append(float(metrics["entropy/sampled"]))
        self.completions += int(metrics["rows"])
        self.idle += not metrics["tokens/trained"]
        if self.every and metrics["step"] % self.every == 0:
            self.curve.append({"step": metrics["step"], "completions": self.completions, **self.score()})

    def count_failure(self) -> None:
        """Count the newest step if it failed; to be called once after each step."""
        self.failed += bool(self.agent is not None and self.agent.failures)

    def figures(self) -> dict[str, Any]:
        """Return what is kept of it."""
        return {
            "steps_done": len(self.seconds),
            "completions": self.completions,
            "step_s": statistics.median(self.seconds) if self.seconds else 0.0,
            "failed": self.failed,
            "idle": self.idle,
            "entropy": statistics.fmean(self.entropies[-LAST_STEPS:]) if self.entropies else None,
            "curve": [{name: value for name, value in point.items() if name not in WIDTH} for point in self.curve],
        }


def do_run(job: Run) -> dict[str, Any]:
    """Do one run in this process and return its figures."""
    import torch

    from grpo_agents.environments import EnvChoice, distinct_seeds
    from grpo_agents.train import load_policy

    config = config_of(job)
    policy = load_policy(config)
    torch.manual_seed(job.seed)
    imported = peak_mb()
    own = EnvChoice.of(config)
    choices = {e.name: EnvChoice(e.env, _tier(e)) for e in job.exams} or {"": own}
    seeds = {name: distinct_seeds(choice, "test", job.seed, job.problems) for name, choice in choices.items()}

    def score(samples: int = 1) -> dict[str, Any]:
        return scores(policy, choices, seeds, config, job, samples)

    before = score(job.samples)
    watch = Watch(job.every, score)
    began = time.perf_counter()
    trained = _train(job, config, policy, watch)
    seconds = sum(watch.seconds) if watch.seconds else time.perf_counter() - began
    scored = watch.curve[-1] if watch.curve and watch.curve[-1]["step"] == job.steps and job.samples == 1 else None
    after = {name: scored[name] for name in before} if scored else score(job.samples)
    return {
        "key": key_of(job),
        **dataclasses.asdict(job),
        "before": before,
        "after": after,
        "seconds": seconds,
        **watch.figures(),
        **trained,
        "peak_mb": round(peak_mb() - imported, 1),
        "drawdown": drawdown([before["pass@1"], *(point["pass@1"] for point in watch.curve), after["pass@1"]]),
        "collapsed": collapsed(before["pass@1"], after["pass@1"]),
    }


def collapsed(before: float, after: float) -> bool:
    """Whether a score fell below half of what it began at."""
    return after < COLLAPSE * before


def peak_mb() -> float:
    """Return the highest resident size of this process so far, in MiB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10


def scores(
    policy: Any, choices: Mapping[str, Any], seeds: Mapping[str, Sequence[int]], config: Any, job: Run, samples: int
) -> dict[str, Any]:
    """Return the figures of now: pooled over the exams, with pass@1 as the mean of theirs."""
    from grpo_agents.evaluate import Score, evaluate

    rows = config.prompts * config.group_size
    found = {}
    for name, choice in choices.items():
        asked = [seed for seed in seeds[name] for _ in range(samples)]
        found[name] = evaluate(policy, choice, "test", asked, config.sampling, seed=job.seed, rows=rows)
    pooled = Score([episode for score in found.values() for episode in score.episodes], False).to_json()
    figures = {name: pooled[name] for name in FIGURES}
    figures["turns"] = statistics.fmean(len(e.texts) for score in found.values() for e in score.judged)
    if len(found) > 1:
        figures["exams"] = {name: score.pass_at_1 for name, score in found.items()}
        figures["pass@1"] = statistics.fmean(figures["exams"].values())
    right = [[e.reward >= 1.0 for e in score.episodes] for score in found.values()]
    if samples > 1:
        problems = [of[i : i + samples] for of in right for i in range(0, len(of), samples)]
        figures[f"pass@{samples}"] = statistics.fmean(pass_at_k(samples, sum(of), samples) for of in problems)
    if job.per_problem:
        figures["right"] = [answer for of in right for answer in of]
    return figures


def _tier(exam: Exam) -> dict[str, Any]:
    from grpo_gym.stream import as_tier

    tier = as_tier(exam.tier)
    return {} if tier is None else {"tier": tier}


def _train(job: Run, config: Any, policy: Any, watch: Watch) -> dict[str, Any]:
    """Train, and return how many weights were trained and why it ended before its last step, if it did."""
    if job.arm.startswith("sft"):
        _imitate(job, config, policy)
        return {"parameters": sum(p.numel() for p in policy.model.parameters() if p.requires_grad), "stopped": ""}
    from grpo_agents.environments import EnvChoice
    from grpo_agents.train import agent_class
    from grpo_gym.errors import GrpoGymError

    env = EnvChoice.of(config).vector(config.prompts * config.group_size, config.group_size)
    agent = agent_class(config)(policy, rewarded(env, job.reward, job.seed), config, on_step=watch)
    watch.agent = agent
    stopped = ""
    try:
        agent.learn()
    except GrpoGymError as error:  # several failed steps in a row: that is a result, too
        if not agent.failures:
            raise
        stopped = str(error)
    finally:
        env.close()
    watch.count_failure()
    weights = {id(p): p.numel() for group in agent.optimizer.param_groups for p in group["params"]}
    return {"parameters": sum(weights.values()), "stopped": stopped}


def _imitate(job: Run, config: Any, policy: Any) -> None:
    from grpo_agents.config import SFTConfig
    from grpo_agents.sft import sft

    settings = SFTConfig(
        env=config.env,
        tier=config.tier,
        env_args=config.env_args,
        steps=job.steps,
        batch=config.prompts * config.group_size,
        careful=0.3 if job.arm == "sft mixture" else 1.0,
        learning_rate=config.optimisation.learning_rate,
        weight_decay=0.0,
        warmup_steps=config.optimisation.warmup_steps,
        seed=job.seed + 1000,
    )
    sft(policy, settings)
