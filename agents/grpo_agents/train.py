"""The main job, start to end: load, test, train, test again, and leave a run folder that says what happened."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import grpo_gym
from grpo_agents.config import TrainConfig, to_dict
from grpo_agents.curves import draw_curves
from grpo_agents.environments import EnvChoice, distinct_seeds
from grpo_agents.evaluate import LEFT_OUT, Score, evaluate, left_out
from grpo_agents.files import check_writable, in_use, write_json
from grpo_agents.grpo import GRPO, Metrics
from grpo_agents.lora import adapter_rank
from grpo_agents.policy import Policy
from grpo_agents.ppo import PPO
from grpo_agents.quantised import check_trainable
from grpo_agents.reference import is_copied
from grpo_agents.run_folder import RunFolder
from grpo_agents.run_log import step_seconds
from grpo_gym.errors import CheckpointError, GrpoGymError

SMALL = 10_000_000
"""Parameters below which one CPU thread is the default: such matrices gain little from more threads."""


@dataclass(frozen=True)
class Start:
    """What is about to run.

    Attributes:
        config: What was asked for.
        policy: What `describe` says of the policy.
        folder: The run folder.
        step: Steps already done; above 0 in a resumed run.
    """

    config: TrainConfig
    policy: dict[str, Any]
    folder: Path
    step: int


@dataclass(frozen=True)
class Reporter:
    """Where progress goes; the command line prints it, tests ignore it.

    Attributes:
        begin: Called once with what is about to run.
        phase: Called with a line when something that takes time begins.
        step: Called with each step's metrics.
        stop: Called from the signal handler when Ctrl-C asks the run to end after its step.
    """

    begin: Callable[[Start], None] = lambda start: None
    phase: Callable[[str], None] = lambda text: None
    step: Callable[[Metrics], None] = lambda metrics: None
    stop: Callable[[], None] = lambda: None


@dataclass(frozen=True)
class Result:
    """What a run came to.

    Attributes:
        folder: The run folder.
        finished: False when Ctrl-C ended it early; it can be resumed.
        summary: What summary.json holds; empty for a run that has not finished.
        example: One test problem with its answers before and after.
    """

    folder: Path
    finished: bool
    summary: dict[str, Any]
    example: dict[str, Any]


def train(config: TrainConfig, reporter: Reporter | None = None) -> Result:
    """Run a config from the start.

    Raises:
        CheckpointError: Its folder already holds a run, is in use, or cannot be written.
    """
    folder = RunFolder(config.out or Path("runs") / time.strftime("%Y%m%d-%H%M%S"))
    folder.check_free()
    check_writable(folder.path)
    EnvChoice.of(config).vector(config.group_size, config.group_size).close()  # typos end here
    policy = load_policy(config)
    check_trainable(policy.model)
    with in_use(folder.path):
        folder.create(to_dict(config) | {"policy": describe(policy)})
        return _run(config, policy, folder, reporter or Reporter(), resumed=False)


def resume(path: str | Path, reporter: Reporter | None = None) -> Result:
    """Continue a run from its newest checkpoint, or from its start when it has none yet.

    Raises:
        CheckpointError: No run is there, it is damaged, or another process has it.
    """
    folder = RunFolder(path)
    config = folder.train_config()
    with in_use(folder.path):
        if not folder.steps():
            folder.forget_after(0)
            return _run(config, load_policy(config), folder, reporter or Reporter(), resumed=False)
        policy = load_policy(config, folder.checkpoint())
        return _run(config, policy, folder, reporter or Reporter(), resumed=True)


def agent_class(config: TrainConfig) -> type[GRPO]:
    """Return the agent that a config asks for."""
    return PPO if config.algo == "ppo" else GRPO


def load_policy(config: TrainConfig, source: Path | None = None) -> Policy:
    """Return the policy that a config names, or the one in `source` read in the same way; also sets the CPU threads.

    With `lora.rank` the config's model gets a fresh adapter, and if it is an adapter itself, that is folded in before.
    Without, an adapter goes on learning; a KL term then pulls to the model below it. A checkpoint brings its own.

    Raises:
        ModelError: The model, or an adapter's base, is not there or cannot be used.
        CheckpointError: `source` has another rank than the config.
    """
    policy = Policy.load(
        source or config.model,
        device=config.device,
        dtype=None if config.dtype == "auto" else getattr(torch, config.dtype),
        prompt_style=config.prompt_style,
        system_prompt=config.system_prompt or None,
    )
    if config.lora.rank and source is None:
        policy = policy.merged()
        policy.name = config.model
        policy = policy.adapted(config.lora, config.seed)
    elif config.lora.rank and adapter_rank(policy.model) != config.lora.rank:
        raise CheckpointError(
            f"{source} holds an adapter of rank {adapter_rank(policy.model)}, and the run's config says lora.rank "
            f"{config.lora.rank}: they are not of one run"
        )
    use_threads(policy, config.threads)
    return policy


def use_threads(policy: Policy, asked: int) -> None:
    """Set PyTorch's CPU threads: as asked, or when 0 was, one for a small policy and PyTorch's choice for others."""
    if asked or parameter_count(policy) < SMALL:
        torch.set_num_threads(asked or 1)


def parameter_count(policy: Policy) -> int:
    """Return the number of weights, an adapter's among them."""
    return sum(p.numel() for p in policy.model.parameters())


def trained_count(policy: Policy) -> int:
    """Return the number of weights that learn: with an adapter, the adapter's."""
    return sum(p.numel() for p in policy.model.parameters() if p.requires_grad)


def describe(policy: Policy) -> dict[str, Any]:
    """Return how the policy reads and where it runs: what a later evaluation must repeat."""
    return {
        "parameters": parameter_count(policy),
        "trained_parameters": trained_count(policy),
        "adapter_rank": adapter_rank(policy.model),
        "device": str(policy.device),
        "dtype": str(policy.model.dtype).removeprefix("torch."),
        "threads": torch.get_num_threads(),
        "prompt_style": policy.prompting.style,
        "template_hash": policy.prompting.template_hash,
        "template_rewrites": policy.prompting.rewrites or None,
        "system_prompt": policy.prompting.system_prompt,
        "torch": str(torch.__version__),
    }


def _run(config: TrainConfig, policy: Policy, folder: RunFolder, reporter: Reporter, resumed: bool) -> Result:
    before = _read_before(folder)
    if resumed and before is None:
        raise CheckpointError(f"{folder.path} has checkpoints but no before.json: its first scores are lost")
    torch.manual_seed(config.seed)
    choice = EnvChoice.of(config)
    needed = resumed and config.objective.kl_coef > 0 and is_copied(policy, config.reference)
    start = load_policy(config) if needed else None
    agent = agent_class(config)(
        policy, config=config, reference=start, folder=folder, on_step=reporter.step, on_stop=reporter.stop
    )
    if resumed:
        agent.resume()
    reporter.begin(Start(config, describe(policy), folder.path, agent.step))
    test_seeds = distinct_seeds(choice, "test", config.seed, config.evaluation.test_problems)
    if before is None:
        reporter.phase(f"testing the start on {len(test_seeds)} problems of {config.env}")
        before = _test(policy, choice, test_seeds, config)
        write_json(folder.path / "before.json", before)
    missing = left_out(before)
    judged = f"{before['n']:,} judged problems, {missing}" if missing else "them"
    reporter.phase(
        f"the start is right on {before['pass@1']:.1%} of {judged} ({before['greedy']:.1%} greedy); training for "
        f"{config.steps - agent.step} steps of {config.prompts} x {config.group_size} completions"
    )
    finished = agent.learn()
    if not finished:
        return Result(folder.path, False, {}, {})
    if agent.failures and len(agent.failures) >= agent.step:
        raise GrpoGymError(f"none of the {agent.step} steps taught anything, the last: {agent.failures[-1]}")
    reporter.phase("testing the result on the same problems")
    after = _test(policy, choice, test_seeds, config)
    metrics = list(folder.read("metrics.jsonl"))
    title = f"{config.model} on {config.env}, seed {config.seed}"
    draw_curves(metrics, before, after, folder.path / "curves.png", title)
    summary = _summary(config, choice, agent.step, metrics, before, after)
    write_json(folder.path / "summary.json", summary)
    return Result(folder.path, True, summary, _example(before["answers"], after["answers"]))


def _summary(
    config: TrainConfig,
    choice: EnvChoice,
    steps: int,
    metrics: list[dict[str, Any]],
    before: dict[str, Any],
    after: dict[str, Any],
) -> dict[str, Any]:
    """Return what summary.json holds."""
    kept = ("pass@1", "low", "high", "greedy", "length", "n", "greedy_n", *LEFT_OUT)
    return {
        "seed": config.seed,
        "seconds": round(before["seconds"] + after["seconds"] + sum(map(step_seconds, metrics)), 1),
        "completions": sum(int(record["rows"]) for record in metrics),
        "steps": steps,
        "env": config.env,
        "model": config.model,
        "held_out": {
            "n": before["n"],
            "content_checked": choice.ours,
            "before": {key: before[key] for key in kept},
            "after": {key: after[key] for key in kept},
        },
        "by_task": {"before": before["by_task"], "after": after["by_task"]},
        "version": grpo_gym.__version__,
    }


def _test(policy: Policy, choice: EnvChoice, seeds: list[int], config: TrainConfig) -> dict[str, Any]:
    """Return sampled and greedy test scores, and the sampled answers."""
    began = time.perf_counter()
    sampled = evaluate(policy, choice, "test", seeds, config.sampling, seed=config.seed)
    greedy = evaluate(policy, choice, "test", seeds, config.sampling, greedy=True, seed=config.seed)
    figures = sampled.to_json()
    figures["greedy"] = greedy.pass_at_1
    figures["greedy_n"] = greedy.n
    figures["greedy_interval"] = list(greedy.interval)
    figures["answers"] = _answers(sampled)
    figures["seconds"] = time.perf_counter() - began
    return figures


def _answers(score: Score, most: int = 64) -> list[dict[str, Any]]:
    """Return the first answers; the reward is None where the answer was not judged."""
    judged = [(e, e.reward if e.valid else None) for e in score.episodes[:most]]
    return [{"prompt": e.prompt, "texts": e.texts, "reward": reward} for e, reward in judged]


def _example(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a problem that went from wrong to right, else the first one that was judged, else the first."""
    pairs = list(zip(before, after, strict=True))
    judged = next((pair for pair in pairs if None not in (pair[0]["reward"], pair[1]["reward"])), pairs[0])
    chosen = next((pair for pair in pairs if _right(pair[1]) and not _right(pair[0])), judged)
    return {"prompt": chosen[0]["prompt"], "before": chosen[0], "after": chosen[1]}


def _right(answer: dict[str, Any]) -> bool:
    return (answer["reward"] or 0.0) >= 1.0  # None where it was not judged


def _read_before(folder: RunFolder) -> dict[str, Any] | None:
    path = folder.path / "before.json"
    if not path.exists():
        return None
    try:
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path} is damaged: {error}") from error
    record.setdefault("greedy_n", record.get("n"))  # folders from before these two were kept
    record.setdefault("out_of_time", 0)
    return {key: math.nan if value is None else value for key, value in record.items()}  # as `files.plain` wrote it
