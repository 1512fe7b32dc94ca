"""`grpo-gym export RUN_OR_MODEL --out FOLDER`: a policy as an ordinary model folder, for other programs and for `chat`.

Adapters are folded in. What was written is loaded again and compared. With `--int8` the linear layers are kept in 8
bits, for a CPU; what that costs in score is measured on held-out problems and told.
"""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from grpo_agents.config import EMBEDDED
from grpo_agents.files import check_writable
from grpo_gym.cli.eval import environment_changes
from grpo_gym.cli.live import program
from grpo_gym.cli.options import EnvArgs, need_agents, parse
from grpo_gym.cli.report import UNCHECKED
from grpo_gym.cli.terminal import grid, percent, plain, terminal, warnings_on_stderr
from grpo_gym.cli.train import check
from grpo_gym.errors import CheckpointError, InvalidValueError


@dataclass(frozen=True)
class Options:
    """Write a policy as a model folder: for plain transformers, or with --int8 for `chat` and `eval`."""

    what: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN_OR_MODEL")]
    """A run folder, a policy folder, a Hugging Face name, or "embedded"."""
    out: str
    """The new folder; it must not hold anything yet."""
    step: int | Literal["best"] | None = None
    """Which checkpoint of a run, "best" for that of the best validation score; none: the newest, which eval scores."""
    int8: bool = False
    """Linear layers in 8 bits: about a quarter of their size. Read by `chat`, `eval` and `Policy.load` only."""
    dtype: Literal["float32", "bfloat16"] = "float32"
    """Type of the weights; bfloat16 is half the size."""
    problems: int = 256
    """Validation problems on which the loss by 8 bits or bfloat16 is measured; 0 measures none."""
    env: str = ""
    """Environment to measure on; empty: the run's own, for a policy none."""
    env_args: EnvArgs = ()
    """Further keyword arguments of `gym.make`, e.g. dataset=gsm8k; added to the run's own for its environment."""
    tier: tuple[int, ...] = ()
    """One tier, or the lowest and highest; empty: as in the run, else the environment's default."""
    seed: int | None = None
    """Draws problems and answers; none: the run's own, for a policy 0."""
    device: str = "cpu"
    """Where the policy is loaded, compared and measured: cpu, cuda, cuda:1 ..."""
    threads: int = 0
    """CPU threads; 0 takes one for policies under 10 M parameters and PyTorch's choice for others."""


def run(arguments: list[str]) -> int:
    """Write, check, measure, and tell."""
    options = parse(Options, "export", arguments)
    out = Path(options.out)
    _check(options, out)
    need_agents("export")
    from grpo_agents.environments import EnvChoice
    from grpo_agents.export import Trial, Weights, check_new, export
    from grpo_agents.source import find_source
    from grpo_agents.train import load_policy

    check_new(out)
    check_writable(out.parent if out.exists() else out)
    source = find_source(options.what, options.step)
    config = source.config
    changes = environment_changes(config, options.env, options.env_args, options.tier)
    changes |= {"device": options.device, "dtype": "float32", "threads": options.threads}
    config = dataclasses.replace(config, **changes, seed=config.seed if options.seed is None else options.seed)
    weights: Weights = "int8" if options.int8 else options.dtype
    measured = weights != "float32" and options.problems > 0 and bool(options.env or source.run)
    if measured:
        check(config.env, EMBEDDED if source.run else config.model, "export")
    trial = Trial(EnvChoice.of(config), options.problems, config.seed) if measured else None
    if trial is not None:
        trial.choice.vector(1).close()  # a wrong tier is told before the model is read
    with warnings_on_stderr():
        policy = load_policy(config, source.folder)
        record = export(source, policy, out, weights, trial)
    _tell(record, out)
    return 0


def _check(options: Options, out: Path) -> None:
    """Raise what is wrong with the options by themselves."""
    if options.problems < 0:
        raise InvalidValueError(f"--problems is {options.problems}, must be at least 0")
    if options.int8 and options.dtype != "float32":
        raise InvalidValueError("--int8 and --dtype are two ways to keep the weights: give one of them")
    if Path(options.what).is_dir() and out.resolve() == Path(options.what).resolve():
        raise CheckpointError(f"{out} is what is exported: choose a new folder with --out")


def _tell(record: Mapping[str, Any], out: Path) -> None:
    """Print what was written, what was checked, and what rounding cost."""
    screen, rounding = terminal(), record["rounding"]
    size = f"{_megabytes(record['bytes']['weights'])} of weights"
    if rounding is not None:
        size += f", {_megabytes(record['bytes']['float32'])} in float32"
    screen.print(plain(f"{record['parameters']:,} parameters, {record['weights']}, {size}"))
    gap = record["check"]["largest_gap"]
    screen.print(plain(f"loaded again: log-probs of sample texts differ by at most {gap:.1g} nats"))
    if rounding is not None:
        _tell_rounding(rounding)
    where = shlex.quote(str(out))
    screen.print(plain("folder: ", "bold").append_text(plain(f"{out}\nto try it: {program()} chat {where}")))


def _tell_rounding(rounding: Mapping[str, Any]) -> None:
    screen, speed = terminal(), rounding["tokens_per_second"]
    screen.print(plain(f"divergence from float32 on them: {rounding['divergence']:.2g} nats a token"))
    screen.print(plain(f"one answer: {speed['before']:.1f} tokens a second before, {speed['after']:.1f} after"))
    if "env" not in rounding:
        screen.print(plain("the score was not measured: --env names problems to measure it on", "yellow"))
        return
    title = f"{rounding['sampled']['n']:,} val problems of {rounding['env']}"
    table = grid(("pass@1", "before", "after", "change"), numbers=(1, 2, 3), title=plain(title).plain)
    for name in ("sampled", "greedy"):
        score = rounding[name]
        change = f"{100 * score['change']:+.1f}  [{100 * score['low']:+.1f}, {100 * score['high']:+.1f}]"
        table.add_row(name, percent(score["before"]), percent(score["after"]), change)
    table.caption, table.caption_justify = "in brackets: paired 95 % interval, in points", "left"
    screen.print(table, soft_wrap=False)
    if not rounding["content_checked"]:
        screen.print(plain(UNCHECKED, "yellow"))


def _megabytes(count: int) -> str:
    return f"{count / 1e6:.1f} MB"
