"""What a training run says while it runs: one line per step, on a terminal and in a log file alike, and rare warnings.

A line per step, and no bar: a bar is gone when the run is over, and floods a log.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grpo_gym.cli.terminal import percent, plain, terminal

if TYPE_CHECKING:
    from grpo_agents.config import TrainConfig
    from grpo_agents.train import Start

PERSISTS = 5
"""Steps in a row that something must be so before it is worth a warning."""
NO_SIGNAL = 0.9
"""Share of groups without signal that counts as too many."""


def step_line(metrics: Mapping[str, Any], steps: int) -> str:
    """Return a step in one line; validation where it was measured, and why when the weights did not move."""
    step = f"step {metrics['step']:>{len(str(steps))}}/{steps}"
    if not metrics["rows"]:
        return f"{step}  lost: {metrics['update/skipped']}"
    from grpo_agents.run_log import step_seconds

    seconds = step_seconds(metrics)
    parts = [
        step,
        f"reward {metrics['reward']:.3f}",
        f"length {metrics['length']:5.1f}",
        f"signal {percent(metrics['groups/signal']):>7}",
        f"grad {metrics['grad_norm']:<7.2g}",
        f"{seconds:.1f} s",
    ]
    if metrics.get("val/pass@1") is not None:
        parts.append(f"val pass@1 {percent(metrics['val/pass@1'])}")
    if metrics.get("rows/abstained"):
        parts.append(f"{metrics['rows/abstained']} not judged")
    if metrics.get("rows/skipped"):
        parts.append(f"{metrics['rows/skipped']} left out")
    if metrics.get("update/skipped"):
        parts.append(f"no update: {metrics['update/skipped']}")
    return "  ".join(parts)


@dataclass
class Watch:
    """Warns once when a condition has held for PERSISTS steps in a row, and again only after it ceased.

    Attributes:
        holds: Whether a step is one of those.
        say: The warning, from the last of them.
        streak: Steps in a row so far.
    """

    holds: Callable[[Mapping[str, Any]], bool]
    say: Callable[[Mapping[str, Any]], str]
    streak: int = 0

    def look(self, metrics: Mapping[str, Any]) -> str | None:
        """Return the warning when it is due at this step."""
        self.streak = self.streak + 1 if self.holds(metrics) else 0
        return self.say(metrics) if self.streak == PERSISTS else None


def watches(config: TrainConfig) -> list[Watch]:
    """Return what is watched for: no signal, answers cut short, a scorer that abstains."""
    cut = f"of the answers were cut at --sampling.max-tokens {config.sampling.max_tokens}: raise it"
    return [
        Watch(lambda m: m["groups/signal"] <= 1 - NO_SIGNAL, lambda m: _no_signal(m, config.prompts)),
        Watch(lambda m: m["rows"] > 0 and m["ended"] < 0.5, lambda m: f"{percent(1 - m['ended'])} {cut}"),
        Watch(
            lambda m: m["rows/abstained"] > 0.1 * m["rows"],
            lambda m: f"{m['rows/abstained']} of {m['rows']} answers could not be judged and teach nothing",
        ),
    ]


def _no_signal(metrics: Mapping[str, Any], groups: int) -> str:
    right, wrong = metrics["groups/all_right"], metrics["groups/all_wrong"]
    shares = f"{percent(wrong / groups)} are all wrong, {percent(right / groups)} all right"
    easier = "choose an easier --tier, or warm-start the policy with `grpo-gym sft`"
    advice = easier if wrong >= right else "choose a harder --tier"
    return f"{percent(1 - metrics['groups/signal'])} of the groups carry no signal ({shares}): {advice}"


class Live:
    """Prints a run as it goes. Its methods are what `grpo_agents.train.Reporter` calls."""

    def __init__(self) -> None:
        self.screen = terminal()
        self.steps = 0
        self.watches: list[Watch] = []

    def begin(self, start: Start) -> None:
        """Say what runs on what, and where it is kept."""
        config, policy = start.config, start.policy
        self.steps = config.steps
        self.watches = watches(config)
        tiers = "default tiers" if not config.tier else "tiers " + " to ".join(map(str, config.tier))
        lines = (
            ("policy", f"{config.model}, {parameters_line(policy)}, {policy['dtype']}"),
            ("device", device_line(policy, config.device)),
            ("environment", f"{config.env}, {tiers}"),
            ("seed", str(config.seed)),
            ("run folder", str(start.folder) + (f", resumed behind step {start.step}" if start.step else "")),
        )
        for name, value in lines:
            self.screen.print(plain(f"{name:<12}", "dim").append_text(plain(value)))

    def phase(self, text: str) -> None:
        """Say what takes time now."""
        self.screen.print(plain(text, "bold"))

    def step(self, metrics: Mapping[str, Any]) -> None:
        """Print a step's line, and a warning when one is due."""
        self.screen.print(plain(step_line(metrics, self.steps)))
        sys.stdout.flush()
        for watch in self.watches:
            warning = watch.look(metrics)
            if warning is not None:
                self.screen.print(plain(f"warning: {warning}", "yellow"))


def parameters_line(policy: Mapping[str, Any]) -> str:
    """Return how many weights a policy has, by its description, and how many of them learn in an adapter."""
    if not policy.get("adapter_rank"):
        return f"{policy['parameters']:,} parameters"
    share = f"{policy['trained_parameters']:,} of {policy['parameters']:,} parameters"
    return f"{share} in an adapter of rank {policy['adapter_rank']}"


def device_line(policy: Mapping[str, Any], asked: str) -> str:
    """Return the device in words; on a CPU with the threads, and that there is no CUDA when it was looked for."""
    if policy["device"] != "cpu":
        return str(policy["device"])
    found = " (no CUDA device found)" if asked == "auto" else ""
    return f"cpu{found}, {policy['threads']} thread{'s' if policy['threads'] != 1 else ''}"


def stopping(folder: Path) -> Callable[[], None]:
    """Return what is said at the first Ctrl-C. It runs in a signal handler, hence the bare write."""
    text = f"\nstopping after this step; Ctrl-C again stops at once\nto resume: {resume_line(folder)}\n"

    def say() -> None:
        os.write(2, text.encode("utf-8", "replace"))

    return say


def resume_line(folder: Path) -> str:
    """Return the command that resumes a run."""
    return f"{program()} train --resume {shlex.quote(str(folder))}"


def program() -> str:
    """Return how this program was called, for the commands that users are told to run next."""
    start = Path(sys.argv[0])
    if start.name == "__main__.py" and start.parent.name == "grpo_gym":
        return f"{_as_typed(Path(sys.executable))} -m grpo_gym"
    return _as_typed(start) if start.stem == "grpo-gym" else "grpo-gym"


def _as_typed(file: Path) -> str:
    """Return the shortest word that runs a program from here: its name when PATH has it, else a path."""
    found = shutil.which(file.name)
    if found and os.path.abspath(found) == os.path.abspath(file):
        return file.name
    relative = os.path.relpath(file)
    if os.sep not in relative:
        relative = os.path.join(os.curdir, relative)
    return shlex.quote(min(relative, str(file.absolute()), key=len))
