"""What a run has put down: its config and its logs. Reading them needs no learning library; `run_folder` adds the rest.

config.yaml          what was asked for, and how the policy reads (template hash)
metrics.jsonl        one line per step
completions.jsonl    every completion with prompt, reward and reason
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from grpo_agents.config import TrainConfig, from_dict
from grpo_agents.files import plain, write_text, writing
from grpo_gym.errors import CheckpointError

METRICS = "metrics.jsonl"
COMPLETIONS = "completions.jsonl"
PARTS_OF_ROLLOUT = ("seconds/sampling", "seconds/scoring")
"""What `seconds/rollout` is made of: the policy's part, and the environment's (its problems made, answers judged)."""


class RunLog:
    """Reads and writes the config and the logs of one run's folder."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def read_config(self) -> dict[str, Any]:
        """Return config.yaml. Raises CheckpointError when the folder holds no run."""
        import yaml

        try:
            record = yaml.safe_load((self.path / "config.yaml").read_text(encoding="utf-8"))
        except OSError as error:
            raise CheckpointError(f"{self.path} is not a run folder: config.yaml cannot be read") from error
        except (ValueError, yaml.YAMLError) as error:
            raise CheckpointError(f"{self.path / 'config.yaml'} is damaged") from error
        if not isinstance(record, dict):
            raise CheckpointError(f"{self.path / 'config.yaml'} is damaged")
        return record

    def train_config(self) -> TrainConfig:
        """Return what was asked for in config.yaml, without what was found about the policy."""
        record = self.read_config()
        record.pop("policy", None)
        return from_dict(TrainConfig, record)

    def append(self, name: str, records: Sequence[dict[str, Any]]) -> None:
        """Add JSON lines to a log in one write. Raises CheckpointError when the disk refuses."""
        text = "".join(json.dumps(plain(record), allow_nan=False) + "\n" for record in records)
        with writing(self.path / name), (self.path / name).open("a", encoding="utf-8") as file:
            file.write(text)

    def read(self, name: str) -> Iterator[dict[str, Any]]:
        """Yield the records of a log; a last line that a kill cut short is left out. Raises CheckpointError."""
        path = self.path / name
        if not path.exists():
            return
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.endswith("\n"):
                    try:
                        yield json.loads(line)
                    except ValueError as error:
                        raise CheckpointError(f"line {number} of {path} is damaged: {error}") from error

    def forget_after(self, step: int) -> None:
        """Drop log lines of steps after `step`: a resumed run plays them again."""
        for name in (METRICS, COMPLETIONS):
            if (self.path / name).exists():
                kept = [json.dumps(record) + "\n" for record in self.read(name) if record["step"] <= step]
                write_text(self.path / name, "".join(kept))


def step_seconds(metrics: Mapping[str, Any]) -> float:
    """Return a step's wall seconds: rollout, update and validation."""
    whole = (key for key in metrics if key.startswith("seconds/") and key not in PARTS_OF_ROLLOUT)
    return float(sum(metrics[key] for key in whole))
