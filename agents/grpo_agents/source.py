"""What a user names to be used: a run (one of its checkpoints), a checkpoint, an exported folder, any model.

A run is read as it was trained. Of its checkpoints the newest is taken, which is the one that the run's last test and
`grpo-gym eval` are about; the best by validation was chosen on a few problems, partly by luck, and is taken when asked.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from grpo_agents.config import Sampling, TrainConfig
from grpo_agents.policy import Policy
from grpo_agents.run_folder import STATE, RunFolder
from grpo_agents.run_log import METRICS
from grpo_gym.errors import CheckpointError

Step: TypeAlias = int | Literal["best"] | None


@dataclass(frozen=True)
class Source:
    """Where a policy comes from.

    Attributes:
        config: How it is read; a run's own, else the defaults with the model's name.
        folder: The checkpoint to load; None for what `config.model` names.
        run: The run folder, for a run or one of its checkpoints.
        step: The checkpoint's step.
        best: The run's best step by validation score so far, where there is one.
    """

    config: TrainConfig
    folder: Path | None = None
    run: Path | None = None
    step: int | None = None
    best: int | None = None


def find_source(what: str, step: Step = None) -> Source:
    """Return what a name stands for.

    Args:
        what: A run folder, a checkpoint in one, a model's folder, a Hugging Face name, or "embedded".
        step: Which checkpoint of a run; None for the newest.

    Raises:
        CheckpointError: The run has no such checkpoint, or a step is asked of what is no run.
    """
    path = Path(what)
    if (path / STATE).is_file() and (path.parent.parent / "config.yaml").is_file() and step is None:
        return _of_run(path.parent.parent, path)
    if (path / "config.yaml").is_file():
        folder = RunFolder(path)
        return _of_run(path, folder.checkpoint(_best(folder) if step == "best" else step))
    if step is not None:
        raise CheckpointError(f"--step names a checkpoint of a run, and {what} is not a run folder")
    return Source(TrainConfig(model=what))


def sampling_of(source: Source, policy: Policy) -> Sampling:
    """Return how answers are drawn: as in the run; for a model by the temperature and length its own files name."""
    sampling = source.config.sampling
    if source.run is not None:
        return sampling
    named = policy.model.generation_config
    temperature = getattr(named, "temperature", None) or sampling.temperature
    length = getattr(named, "max_new_tokens", None) or sampling.max_tokens
    return dataclasses.replace(sampling, temperature=float(temperature), max_tokens=int(length))


def validation_score(run: Path, step: int) -> float | None:
    """Return the validation score that a run's log holds for a step."""
    for record in RunFolder(run).read(METRICS):
        if record["step"] == step and record.get("val/pass@1") is not None:
            return float(record["val/pass@1"])
    return None


def _of_run(run: Path, checkpoint: Path) -> Source:
    folder = RunFolder(run)
    state = _state(checkpoint)
    return Source(folder.train_config(), checkpoint, run, int(state["step"]), _best_of(_state(folder.checkpoint())))


def _best(folder: RunFolder) -> int:
    """Return the step of the best checkpoint. Raises CheckpointError when nothing was validated."""
    best = _best_of(_state(folder.checkpoint()))
    if best is None:
        raise CheckpointError(f"{folder.path} has no best checkpoint, for it was never validated: leave out --step")
    return best


def _best_of(state: dict[str, Any]) -> int | None:
    best = state.get("best")
    return int(best[0]) if isinstance(best, list) else None


def _state(checkpoint: Path) -> dict[str, Any]:
    try:
        state: dict[str, Any] = json.loads((checkpoint / STATE).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CheckpointError(f"checkpoint {checkpoint} is damaged: {error}") from error
    return state
