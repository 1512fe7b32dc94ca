"""A run and its folder: the config and logs of `run_log`, and what needs a learning library.

checkpoints/         step-000010/, ... : weights (of an adapted policy its adapter alone), tokenizer, optimiser state,
                     state.json, tensors.pt (critic, reference)
before.json          test scores of the starting policy
curves.png           reward, validation score and length over steps
summary.json         the figures at the end
.lock                held by the process that runs it
"""

from __future__ import annotations

import errno
import json
import pickle
import re
import shutil
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from grpo_agents.atomic import new_folder
from grpo_agents.files import write_json, write_text, writing
from grpo_agents.policy import Policy
from grpo_agents.run_log import RunLog
from grpo_gym.errors import CheckpointError, InvalidValueError

STATE = "state.json"
OPTIMIZER = "optimizer.pt"
TENSORS = "tensors.pt"
_DAMAGED = (TypeError, KeyError, AttributeError)  # what is raised on values of another kind than was written
ROOM = 2**20
"""Free bytes below which a failed write of megabytes is put down to a full disk."""


class RunFolder(RunLog):
    """Reads and writes one run's folder."""

    def __init__(self, path: str | Path) -> None:
        super().__init__(path)
        self.checkpoints = self.path / "checkpoints"

    def create(self, config: dict[str, Any]) -> None:
        """Make the folder and write config.yaml.

        Raises:
            CheckpointError: A run already lives there.
            InvalidValueError: The config holds what YAML cannot, a function for instance.
        """
        import yaml

        self.check_free()
        try:
            text = yaml.safe_dump(config, sort_keys=False, allow_unicode=True)
        except yaml.YAMLError as error:
            raise InvalidValueError(
                f"config.yaml cannot hold {error.args[-1]!r:.80}: register an environment that brings it, by an id"
            ) from error
        with writing(self.path):
            self.checkpoints.mkdir(parents=True, exist_ok=True)
        write_text(self.path / "config.yaml", text)

    def check_free(self) -> None:
        """Raise CheckpointError when a run already lives in the folder."""
        if (self.path / "config.yaml").exists():
            raise CheckpointError(f"{self.path} already holds a run: choose another folder, or resume it with --resume")

    def save(
        self,
        step: int,
        policy: Policy,
        optimizer: torch.optim.Optimizer,
        state: dict[str, Any],
        tensors: dict[str, dict[str, Tensor]] | None = None,
    ) -> Path:
        """Write a checkpoint; it takes its name only when it is whole.

        Args:
            step: Its number.
            policy: Whose weights it holds.
            optimizer: Whose state it holds.
            state: Whatever else is JSON.
            tensors: Whatever else is tensors: a critic's, a moved reference's.

        Raises:
            CheckpointError: It cannot be written.
        """
        path = self.checkpoints / f"step-{step:06d}"
        steps = self.steps()
        hint = f". The checkpoints before it are whole: --resume goes on behind step {steps[-1]}" if steps else ""
        with writing(path, hint), new_folder(path) as folder:
            policy.write(folder)
            _write_tensors(folder / OPTIMIZER, optimizer.state_dict())
            if tensors:
                _write_tensors(folder / TENSORS, tensors)
            write_json(folder / STATE, {"step": step, **state})
        return path

    def steps(self) -> list[int]:
        """Return the steps that have a whole checkpoint, ascending."""
        found = [(re.fullmatch(r"step-(\d+)", path.name), path) for path in self.checkpoints.glob("step-*")]
        return sorted(int(name.group(1)) for name, path in found if name and (path / STATE).exists())

    def checkpoint(self, step: int | None = None) -> Path:
        """Return a checkpoint's folder, the newest by default. Raises CheckpointError when there is none."""
        steps = self.steps()
        if not steps or (step is not None and step not in steps):
            wanted = "no checkpoint" if step is None else f"no checkpoint of step {step}"
            raise CheckpointError(f"{self.path} has {wanted}" + (f"; there are {steps}" if steps else ""))
        return self.checkpoints / f"step-{steps[-1] if step is None else step:06d}"

    def load_state(self, path: Path, optimizer: torch.optim.Optimizer) -> dict[str, Any]:
        """Load a checkpoint's optimiser state and return its other state. Raises CheckpointError when damaged."""
        try:
            state: dict[str, Any] = json.loads((path / STATE).read_text(encoding="utf-8"))
            optimizer.load_state_dict(torch.load(path / OPTIMIZER, map_location="cpu", weights_only=True))
        except (*_DAMAGED, OSError, ValueError, RuntimeError, EOFError, pickle.UnpicklingError) as error:
            raise CheckpointError(f"checkpoint {path} is damaged: {error}") from error
        return state

    def load_tensors(self, path: Path) -> dict[str, dict[str, Tensor]]:
        """Return a checkpoint's further tensors, {} where it has none. Raises CheckpointError when damaged."""
        if not (path / TENSORS).exists():
            return {}
        try:
            found: dict[str, dict[str, Tensor]] = torch.load(path / TENSORS, map_location="cpu", weights_only=True)
        except (OSError, ValueError, RuntimeError, EOFError, pickle.UnpicklingError) as error:
            raise CheckpointError(f"checkpoint {path} is damaged: {error}") from error
        return found

    def prune(self, keep_last: int, best: int | None) -> None:
        """Remove old checkpoints, and what a kill left half written; the newest `keep_last` and the best stay."""
        steps = self.steps()
        for step in steps[:-keep_last]:
            if step != best:
                shutil.rmtree(self.checkpoints / f"step-{step:06d}", ignore_errors=True)
        for leftover in self.checkpoints.glob(".step-*.tmp"):
            shutil.rmtree(leftover, ignore_errors=True)


def _write_tensors(path: Path, state: dict[str, Any]) -> None:
    """Write nested tensors. Raises OSError: torch itself tells a full disk by a line of its C++ source."""
    try:
        torch.save(state, path)
    except RuntimeError as error:
        full = shutil.disk_usage(path.parent).free < ROOM
        raise OSError(errno.ENOSPC if full else errno.EIO, str(error)) from error
