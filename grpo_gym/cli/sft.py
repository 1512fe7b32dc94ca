"""`grpo-gym sft`: imitate an environment's worked solutions, as a warm start for `train` or from nothing at all.

`--model new` makes a small policy with a tokenizer of its own from the environment's texts; the sizes are those of the
shipped one. What comes out is an ordinary policy folder, with sft.json beside the weights.
"""

from __future__ import annotations

import dataclasses
import shlex
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from grpo_agents.config import EMBEDDED, Sampling, SFTConfig, TrainConfig, to_dict
from grpo_agents.files import check_writable
from grpo_gym.cli.live import device_line, program
from grpo_gym.cli.options import key_values, parse
from grpo_gym.cli.terminal import plain, terminal, warnings_on_stderr
from grpo_gym.cli.train import check
from grpo_gym.errors import CheckpointError, InvalidValueError

if TYPE_CHECKING:
    from grpo_agents.environments import EnvChoice
    from grpo_agents.evaluate import Score
    from grpo_agents.policy import Policy

NEW = "new"
LINES = 20
"""Lines of progress in a whole run."""
SMALLEST_VOCABULARY = 259
"""The 256 bytes and three special tokens."""
TOKENIZER_BATCHES = 300
"""Batches of demonstrations that a new policy's tokenizer is made from."""


@dataclass(frozen=True)
class Options:
    """Teach a policy an environment's worked solutions. The folder is what `grpo-gym train --model` takes."""

    out: str
    """Folder of the finished policy; it must not hold anything yet."""
    run: Annotated[SFTConfig, tyro.conf.arg(name="")] = field(default_factory=SFTConfig)
    model: str = EMBEDDED
    """Where to start: "embedded", a folder, a Hugging Face name, or "new" for a small untrained policy."""
    context: int = 512
    """Tokens that a new policy can hold: an episode of several turns must fit."""
    vocabulary: int = 512
    """Tokens of a new policy's tokenizer at most; with more of them, texts are shorter."""
    env_args: tuple[str, ...] = ()
    """KEY=VALUE ...: further keyword arguments of `gym.make`."""
    val_problems: int = 512
    """Validation problems of the score at the end."""
    max_tokens: int = Sampling().max_tokens
    """Tokens per turn at most in the score at the end."""
    device: str = "auto"
    """auto (CUDA when there is one), cpu, cuda, cuda:1 ..."""
    threads: int = 0
    """CPU threads; 0 takes one for policies under 10 M parameters and PyTorch's choice for others."""


def run(arguments: list[str]) -> int:
    """Teach, score on the validation split, and write the policy."""
    options = parse(Options, "sft", arguments)
    config = dataclasses.replace(options.run, env_args=key_values(options.env_args, "--env-args"))
    least = {"val_problems": 1, "max_tokens": 1, "context": 1, "vocabulary": SMALLEST_VOCABULARY}
    for name, lowest in least.items():
        if (value := getattr(options, name)) < lowest:
            raise InvalidValueError(f"--{name.replace('_', '-')} is {value}, must be at least {lowest}")
    out = Path(options.out)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise CheckpointError(f"{out} already holds something: choose a new folder with --out")
    check_writable(out.parent if out.exists() else out)  # told before the work, not after it
    check(config.env, EMBEDDED if options.model == NEW else options.model, "sft")
    with warnings_on_stderr():
        _teach(options, config, out)
    return 0


def _teach(options: Options, config: SFTConfig, out: Path) -> None:
    from grpo_agents.environments import EnvChoice
    from grpo_agents.evaluate import check_finite
    from grpo_agents.files import write_json, writing
    from grpo_agents.sft import sft
    from grpo_agents.train import describe

    began = time.perf_counter()
    settings = TrainConfig(
        model=options.model,
        env=config.env,
        tier=config.tier,
        env_args=config.env_args,
        device=options.device,
        threads=options.threads,
    )
    choice = EnvChoice.of(settings)
    choice.vector(1).close()  # a wrong tier is told before the model is read
    screen = terminal()
    policy = _start(settings, options, config, choice)
    facts = describe(policy)
    screen.print(plain(f"policy      {options.model}, {facts['parameters']:,} parameters"))
    screen.print(plain(f"device      {device_line(facts, options.device)}"))
    screen.print(plain(f"environment {config.env}, {config.steps} steps of {config.batch} demonstrations"))
    check_finite(policy)
    sft(policy, config, lambda step, loss: _tell(step, loss, config.steps))
    sampled, greedy = _score(policy, choice, options, config.seed)
    from grpo_gym.cli.report import print_scores

    print_scores(sampled, greedy, f"{sampled.n:,} val problems of {config.env}", choice.ours)
    record = {
        "model": options.model,
        "config": to_dict(config),
        "seconds": round(time.perf_counter() - began, 1),
        "val": {"sampled": sampled.to_json(), "greedy": greedy.to_json(), "max_tokens": options.max_tokens},
        "policy": facts,
    }
    with writing(out):
        policy.save(out)
    write_json(out / "sft.json", record)
    train_it = f"{program()} train --model {shlex.quote(str(out))} --env {shlex.quote(config.env)}"
    screen.print(plain(f"policy folder: {out}\nto train it: {train_it}"))


def _start(settings: TrainConfig, options: Options, config: SFTConfig, choice: EnvChoice) -> Policy:
    """Return the policy to teach: a new one, or the one that is named."""
    if settings.model != NEW:
        from grpo_agents.train import load_policy

        return load_policy(settings)
    from grpo_agents.embedded.recipe import Recipe, untrained
    from grpo_agents.loading import find_device
    from grpo_agents.train import use_threads

    terminal().print(plain(f"making a new policy, its tokenizer from texts of {settings.env}"))
    tier = config.tier or ((0, 5) if choice.ours else ())  # no tier named: whatever it will meet later
    texts_of = dataclasses.replace(config, tier=tier, steps=TOKENIZER_BATCHES, careful=1.0, seed=config.seed + 1)
    recipe = Recipe(seed=config.seed, context=options.context, vocabulary=options.vocabulary)
    policy = untrained(recipe, texts_of)
    use_threads(policy, settings.threads)
    policy.model.to(find_device(settings.device))  # type: ignore[arg-type]  # transformers annotates `to` by a decorator
    return policy


def _tell(step: int, loss: float, steps: int) -> None:
    if step == 1 or step == steps or step % max(1, steps // LINES) == 0:
        terminal().print(plain(f"step {step:>{len(str(steps))}}/{steps}  loss {loss:.4f}"))


def _score(policy: Policy, choice: EnvChoice, options: Options, seed: int) -> tuple[Score, Score]:
    """Return sampled and greedy scores on the validation split."""
    from grpo_agents.environments import distinct_seeds
    from grpo_agents.evaluate import evaluate

    sampling = Sampling(max_tokens=options.max_tokens)
    seeds = distinct_seeds(choice, "val", seed, options.val_problems)
    sampled = evaluate(policy, choice, "val", seeds, sampling, seed=seed)
    greedy = evaluate(policy, choice, "val", seeds, sampling, greedy=True, seed=seed)
    return sampled, greedy
