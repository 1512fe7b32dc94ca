"""`grpo-gym train`: GRPO and PPO from the command line. All of TrainConfig is an option; a YAML file may give the rest.

What is certain to fail (an environment or model that is not there) is found before the learning libraries are imported.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from grpo_agents.config import EMBEDDED, TrainConfig
from grpo_agents.config.reading import overlaid, yaml_record
from grpo_agents.presets import with_preset
from grpo_gym.cli.environments import find
from grpo_gym.cli.live import Live, resume_line, stopping
from grpo_gym.cli.options import key_values, need_agents, parse
from grpo_gym.cli.terminal import plain, terminal, warnings_on_stderr
from grpo_gym.errors import InvalidValueError

if TYPE_CHECKING:
    from grpo_agents.train import Reporter, Result


@dataclass(frozen=True)
class Options:
    """Train a policy with GRPO or PPO. It is tested on held-out problems before and after, and leaves a run folder."""

    run: Annotated[TrainConfig, tyro.conf.arg(name="")] = field(default_factory=TrainConfig)
    config: str = ""
    """YAML file with any of these options; the command line overrides it."""
    published_scale: bool = False
    """With --preset: also the batch, group size, lengths and learning rate that its authors ran."""
    resume: str = ""
    """Run folder to continue, with the options it began with."""
    env_args: tuple[str, ...] = ()
    """KEY=VALUE ...: further keyword arguments of `gym.make`."""


def run(arguments: list[str]) -> int:
    """Start or resume a run."""
    options = parse(Options, "train", arguments, Options(run=_before_options(arguments)))
    if options.resume:
        return _resume(Path(options.resume), arguments)
    args = {**options.run.env_args, **key_values(options.env_args, "--env-args")}
    folder = Path(options.run.out or Path("runs") / time.strftime("%Y%m%d-%H%M%S"))
    config = dataclasses.replace(options.run, env_args=args, out=str(folder))
    check(config.env, config.model, "train")
    from grpo_agents.train import train

    return _watched(folder, lambda reporter: train(config, reporter))


def check(env: str, model: str, command: str) -> None:
    """Raise what is wrong with environment or model, in the order of what is quickest to see."""
    find(env)
    need_agents(command)
    if model == EMBEDDED:
        return
    from grpo_agents.hub import find_folder

    with warnings_on_stderr():
        find_folder(model)


def _before_options(arguments: list[str]) -> TrainConfig:
    """Return what holds where no other option says otherwise.

    That is the defaults, under the file's preset, under the file. A preset that is named here takes the place of the
    file's and overrides its fields, so that a run is what it is called.
    """
    path, preset = _word_after(arguments, "--config"), _word_after(arguments, "--preset")
    record = yaml_record(path) if path else {}
    published = any(word.replace("_", "-") == "--published-scale" for word in arguments)
    of_file = "" if preset else str(record.get("preset", ""))
    if published and not (preset or of_file):
        raise InvalidValueError("--published-scale goes with --preset: name the method whose scale it is")
    config = with_preset(TrainConfig(), of_file, published) if of_file else TrainConfig()
    config = overlaid(config, record)
    return with_preset(config, preset, published) if preset else config


def _word_after(arguments: list[str], option: str) -> str:
    """Return an option's value, read before all others so that these can override it; "" where it is not given."""
    value = ""
    for place, word in enumerate(arguments):
        if word == option:
            value = "".join(arguments[place + 1 : place + 2])
        elif word.startswith(f"{option}="):
            value = word.removeprefix(f"{option}=")
    return value


def _resume(folder: Path, arguments: list[str]) -> int:
    others = [word for word in arguments if word.startswith("-") and not word.startswith("--resume")]
    if others:
        raise InvalidValueError(f"--resume continues a run with the options it began with: leave out {others[0]}")
    need_agents("train")
    from grpo_agents.run_folder import RunFolder
    from grpo_agents.train import resume

    find(RunFolder(folder).train_config().env)
    return _watched(folder, lambda reporter: resume(folder, reporter))


def _watched(folder: Path, job: Callable[[Reporter], Result]) -> int:
    """Run a job with its progress on the screen, and tell its end: finished, or stopped and how to go on."""
    from grpo_agents.train import Reporter

    live = Live()
    reporter = Reporter(begin=live.begin, phase=live.phase, step=live.step, stop=stopping(folder))
    screen = terminal()
    try:
        with warnings_on_stderr():
            result = job(reporter)
    except KeyboardInterrupt:
        begun = (folder / "config.yaml").exists()
        hint = f"to resume from the last checkpoint: {resume_line(folder)}" if begun else "nothing was written yet"
        screen.print(plain(f"stopped at once; {hint}"))
        return 130
    if not result.finished:
        screen.print(plain(f"stopped; to resume: {resume_line(folder)}"))
        return 130
    from grpo_gym.cli.report import print_result

    print_result(result)
    return 0
