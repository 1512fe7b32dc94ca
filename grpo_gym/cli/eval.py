"""`grpo-gym eval RUN_OR_MODEL`: pass@1 of a run's checkpoint or of any policy, on held-out problems.

A run is read the way it was trained (environment, prompt style, sampling); options may ask for something else. Its
figures are also written into its folder, as eval-<split>.json.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from grpo_agents.config import TrainConfig
from grpo_gym.cli.live import device_line, parameters_line
from grpo_gym.cli.options import Count, EnvArgs, key_values, need_agents, parse
from grpo_gym.cli.terminal import plain, terminal, warnings_on_stderr
from grpo_gym.cli.train import check
from grpo_gym.errors import CheckpointError, InvalidValueError

if TYPE_CHECKING:
    from grpo_agents.evaluate import Score


@dataclass(frozen=True)
class Options:
    """Score a run's checkpoint or a policy on held-out problems: one sampled and one greedy answer to each."""

    what: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN_OR_MODEL")]
    """A run folder, a policy folder, a Hugging Face name, or "embedded"."""
    split: Literal["train", "val", "test"] = "test"
    """Which problems."""
    n: Count = 2048
    """How many distinct problems at most."""
    env: str = ""
    """Environment id; empty: the run's own, for a policy grpo/Arithmetic-v0."""
    env_args: EnvArgs = ()
    """Further keyword arguments of `gym.make`, e.g. dataset=gsm8k; added to the run's own for its environment."""
    tier: tuple[int, ...] = ()
    """One tier, or the lowest and highest; empty: as in the run, else the environment's default."""
    step: int | None = None
    """Which checkpoint of a run; none: the newest."""
    seed: int | None = None
    """Draws problems and answers; none: the run's own, for a policy 0."""
    max_tokens: int | None = None
    """Tokens per turn at most; none: as in the run, for a policy the default of `train`."""
    system_prompt: str | None = None
    """Put before every conversation; none: as in the run, for a policy none."""
    device: str = "auto"
    """auto (CUDA when there is one), cpu, cuda, cuda:1 ..."""
    threads: int = 0
    """CPU threads; 0 takes one for policies under 10 M parameters and PyTorch's choice for others."""


def run(arguments: list[str]) -> int:
    """Evaluate, print, and write the figures into a run's folder."""
    options = parse(Options, "eval", arguments)
    if options.n < 1:
        raise InvalidValueError(f"-n is {options.n}, must be at least 1")
    folder = Path(options.what)
    is_run = (folder / "config.yaml").exists()
    if options.step is not None and not is_run:
        raise CheckpointError(f"--step names a checkpoint of a run, and {options.what} is not a run folder")
    need_agents("eval")
    config = _config(options, folder if is_run else None)
    check(config.env, "embedded" if is_run else config.model, "eval")
    with warnings_on_stderr():
        record, sampled, greedy = _evaluate(config, options, folder if is_run else None)
    from grpo_gym.cli.report import print_scores

    print_scores(
        sampled, greedy, f"{record['n']:,} {options.split} problems of {config.env}", record["content_checked"]
    )
    if not is_run:
        return 0
    from grpo_agents.files import write_json

    path = folder / f"eval-{options.split}.json"
    write_json(path, record)
    terminal().print(plain("written to: ", "bold").append_text(plain(path)))
    return 0


def _config(options: Options, folder: Path | None) -> TrainConfig:
    """Return the run's config, or that of a policy, with what the options ask for instead."""
    if folder is None:
        config = TrainConfig(model=options.what)
    else:
        from grpo_agents.run_folder import RunFolder

        config = RunFolder(folder).train_config()
    changes = environment_changes(config, options.env, options.env_args, options.tier)
    changes |= {"device": options.device, "threads": options.threads}
    if options.seed is not None:
        changes["seed"] = options.seed
    if options.system_prompt is not None:
        changes["system_prompt"] = options.system_prompt
    if options.max_tokens is not None:
        changes["sampling"] = dataclasses.replace(config.sampling, max_tokens=options.max_tokens)
    return dataclasses.replace(config, **changes)


def environment_changes(
    config: TrainConfig, env: str, env_args: tuple[str, ...], tier: tuple[int, ...]
) -> dict[str, Any]:
    """Return what options of an environment change in a config: another one begins with its own defaults."""
    changes: dict[str, Any] = {}
    if env and env != config.env:
        changes = {"env": env, "tier": (), "env_args": {}}
    if env_args:
        changes["env_args"] = {**changes.get("env_args", config.env_args), **key_values(env_args, "--env-args")}
    if tier:
        changes["tier"] = tier
    return changes


def _evaluate(config: TrainConfig, options: Options, folder: Path | None) -> tuple[dict[str, Any], Score, Score]:
    """Return the record for the run's folder and the two scores."""
    from grpo_agents.environments import EnvChoice, distinct_seeds
    from grpo_agents.evaluate import evaluate
    from grpo_agents.run_folder import RunFolder
    from grpo_agents.train import describe, load_policy

    choice = EnvChoice.of(config)
    choice.vector(1).close()  # a wrong tier is told before the model is read
    source = None if folder is None else RunFolder(folder).checkpoint(options.step)
    policy = load_policy(config, source)
    screen = terminal()
    facts = describe(policy)
    screen.print(plain(f"policy      {source or config.model}, {parameters_line(facts)}"))
    screen.print(plain(f"device      {device_line(facts, config.device)}"))
    seeds = distinct_seeds(choice, options.split, config.seed, options.n)
    sampled = evaluate(policy, choice, options.split, seeds, config.sampling, seed=config.seed)
    greedy = evaluate(policy, choice, options.split, seeds, config.sampling, greedy=True, seed=config.seed)
    record = {
        "split": options.split,
        "content_checked": choice.ours,
        "env": config.env,
        "env_args": config.env_args,
        "tier": list(config.tier),
        "checkpoint": str(source or config.model),
        "seed": config.seed,
        "n": sampled.n,
        "max_tokens": config.sampling.max_tokens,
        "temperature": config.sampling.temperature,
        "sampled": sampled.to_json(),
        "greedy": greedy.to_json(),
        "policy": facts,
    }
    return record, sampled, greedy
