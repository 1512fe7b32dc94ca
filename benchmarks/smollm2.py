"""A real model and a tool: SmolLM2-135M-Instruct learns when to ask a calculator, in a short GRPO run on a CPU.

    python -m benchmarks.smollm2            # does the runs that are missing and writes docs/benchmarks/smollm2.md
    python -m benchmarks.smollm2 --scan     # adds to it where the model starts on other tasks

The model is fetched by `smollm2_weights`, the text is made in `smollm2_page`. Finished runs and scanned tasks stand in
docs/benchmarks/smollm2.jsonl, one a line, and are not repeated.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import Any

from benchmarks.arms import add_line, kept
from benchmarks.publish import PAGES
from benchmarks.smollm2_page import write_page
from benchmarks.smollm2_scan import as_turns, scan
from benchmarks.smollm2_weights import fetch

ENV = "grpo/MathTool.Chain-v0"
SEEDS = 2
PROBLEMS, GREEDY_PROBLEMS, STEPS, PROMPTS, GROUP = 256, 64, 20, 4, 8
RATE = 1e-5
MAX_TOKENS = 20
FACTS = {"env": ENV, "steps": STEPS, "prompts": PROMPTS, "group": GROUP, "rate": RATE, "max_tokens": MAX_TOKENS}
"""What the page says of the runs."""
KEPT_ANSWERS = 24
"""Test problems whose answers are kept, before and after."""
SHOWN = (("15 - 11 + 16", 20), ("5 + 7 + 18", 30), ("19 + 4 - 7", 16))
"""Problems of the training split that the system prompt shows played, with their results."""


def system_prompt() -> str:
    """Return a system message with example episodes: a calculation, its result, the answer."""
    turns = []
    for sum_, result in SHOWN:
        turns += [("user", f"Compute {sum_}."), ("assistant", f"<calc>{sum_}</calc>")]
        turns += [("user", str(result)), ("assistant", f"\\boxed{{{result}}}")]
    return as_turns("You have a calculator.", turns)


def config_of(seed: int) -> Any:
    """Return the training config of a seed."""
    from grpo_agents.config import TrainConfig
    from grpo_agents.config.reading import with_options

    options = {
        "model": str(fetch()),
        "env": ENV,
        "tier": (0,),
        "env_args": {"instructions": False},
        "system_prompt": system_prompt(),
        "seed": seed,
        "steps": STEPS,
        "prompts": PROMPTS,
        "group_size": GROUP,
        "dtype": "bfloat16",
        "threads": 1,
        "sampling.max_tokens": MAX_TOKENS,
        "optimisation.learning_rate": RATE,
        "optimisation.warmup_steps": 2,
        "evaluation.every": 0,
    }
    return with_options(TrainConfig(), options)


def do_run(seed: int) -> dict[str, Any]:
    """Test, train and test again; return what is kept of it."""
    from grpo_agents.environments import EnvChoice, distinct_seeds
    from grpo_agents.grpo import GRPO
    from grpo_agents.train import load_policy

    config = config_of(seed)
    policy = load_policy(config)
    seeds = distinct_seeds(EnvChoice.of(config), "test", seed, PROBLEMS)
    before = examined(policy, config, seeds)
    print(f"seed {seed}: begins at {before['sampled']['pass@1']:.3f}", flush=True)
    steps: list[dict[str, Any]] = []

    def note(metrics: dict[str, Any]) -> None:
        steps.append({**chosen(metrics), "cpu": time.process_time()})
        print(f"seed {seed} step {metrics['step']}: {metrics['pass@1']:.3f}", flush=True)

    began = time.process_time()
    GRPO(policy, config=config, on_step=note).learn()
    cpu = time.process_time() - began
    after = examined(policy, config, seeds)
    return {"key": f"run {seed}", "seed": seed, "before": before, "steps": steps, "cpu": cpu, "after": after}


def chosen(metrics: dict[str, Any]) -> dict[str, Any]:
    """Return what is kept of a step."""
    names = ("step", "pass@1", "length", "entropy/sampled", "grad_norm", "groups/signal", "rows")
    kept_names = (*names, "tokens/sampled", "tokens/trained", "seconds/rollout", "seconds/update")
    return {name: metrics[name] for name in kept_names}


def examined(policy: Any, config: Any, seeds: Sequence[int]) -> dict[str, Any]:
    """Return sampled scores on all problems and greedy ones on the first."""
    return {
        "sampled": score(policy, config, seeds, greedy=False),
        "greedy": score(policy, config, seeds[:GREEDY_PROBLEMS], greedy=True),
    }


def score(policy: Any, config: Any, seeds: Sequence[int], greedy: bool) -> dict[str, Any]:
    """Return pass@1, problem by problem, how often the calculator was asked first, and the first answers."""
    from grpo_agents.environments import EnvChoice
    from grpo_agents.evaluate import evaluate

    began = time.process_time()
    scored = evaluate(
        policy, EnvChoice.of(config), "test", seeds, config.sampling, greedy=greedy, seed=config.seed, rows=32
    )
    figures = scored.to_json()
    return {
        **{name: figures[name] for name in ("n", "pass@1", "low", "high", "length")},
        "calls": sum("<calc>" in episode.texts[0] for episode in scored.episodes),
        "turns": sum(len(episode.texts) for episode in scored.episodes) / len(scored.episodes),
        "right": [int(episode.reward >= 1.0) for episode in scored.episodes],
        "answers": [[episode.prompt, *episode.texts] for episode in scored.episodes[:KEPT_ANSWERS]],
        "cpu": time.process_time() - began,
    }


def main() -> None:
    """Do what is missing, then write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.smollm2", description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS, help="runs, each with a seed of its own")
    parser.add_argument("--scan", action="store_true", help="first look where the model starts on other tasks")
    options = parser.parse_args()
    keep = PAGES / "smollm2.jsonl"
    if options.scan:
        scan(keep)
    for seed in range(options.seeds):
        if f"run {seed}" not in kept(keep):
            add_line(keep, do_run(seed))
    write_page(PAGES, list(kept(keep).values()), FACTS, system_prompt())


if __name__ == "__main__":
    main()
