"""What the tests of the training loop share: a policy that babbles bytes, short runs, and how weights are compared."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from grpo_agents.config import (
    Critic,
    Evaluation,
    Keeping,
    Lora,
    Objective,
    Optimisation,
    Reference,
    Sampling,
    Selection,
    Strata,
    TrainConfig,
    to_dict,
)
from grpo_agents.policy import Policy
from grpo_agents.run_folder import RunFolder
from grpo_agents.train import agent_class
from tests.agents.tiny_models import BYTE_VOCAB, byte_tokenizer, fresh_model

Metrics = dict[str, Any]
RECORDS = (Sampling, Objective, Selection, Strata, Reference, Lora, Critic, Optimisation, Evaluation, Keeping)


def babbler(context: int = 256, architecture: str = "llama", double: bool = False) -> Policy:
    """Return a fresh random policy over bytes, the same each time."""
    key = "n_positions" if architecture == "gpt2" else "max_position_embeddings"
    model = fresh_model(architecture, BYTE_VOCAB, **{key: context})
    return Policy(model.double() if double else model, byte_tokenizer())


def short(**changes: Any) -> TrainConfig:
    """Return a config of a second's run; a nested record is given by its changed fields, as a dict."""
    base: Any = TrainConfig(
        steps=2,
        prompts=3,
        group_size=4,
        sampling=Sampling(max_tokens=8),
        optimisation=Optimisation(learning_rate=1e-3, warmup_steps=0),
        evaluation=Evaluation(every=0, test_problems=8, val_problems=8),
        keeping=Keeping(checkpoint_every=1, keep_last=9),
    )
    nested = {
        name: replace(getattr(base, name), **value)
        for name, value in changes.items()
        if isinstance(getattr(base, name), RECORDS) and isinstance(value, dict)
    }
    base = replace(base, **{**changes, **nested})
    config: TrainConfig = base
    return config


def weights(policy: Policy) -> dict[str, Tensor]:
    """Return a copy of the weights."""
    return {name: value.detach().clone() for name, value in policy.model.state_dict().items()}


def identical(first: dict[str, Tensor], second: dict[str, Tensor]) -> bool:
    """Whether two sets of weights are equal bit for bit."""
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def gradient(policy: Policy) -> Tensor:
    """Return the gradient as one vector [n], float64."""
    parts = [p.grad if p.grad is not None else torch.zeros_like(p) for p in policy.model.parameters()]
    return torch.cat([part.flatten().double() for part in parts])


def learn(
    policy: Policy, config: TrainConfig, env: Any = None, path: Path | None = None, **extra: Any
) -> list[Metrics]:
    """Train by the config's algo, in a run folder when a path is given; return each step's metrics."""
    seen: list[Metrics] = []
    agent_class(config)(policy, env, config, folder=new_run(path, config), on_step=seen.append, **extra).learn()
    return seen


def new_run(path: Path | None, config: TrainConfig) -> RunFolder | None:
    """Return a fresh run folder, or None without a path."""
    if path is None:
        return None
    folder = RunFolder(path)
    folder.create(to_dict(config))
    return folder


def log(path: Path, name: str = "metrics") -> list[Metrics]:
    """Return a run's log without the seconds, refusing what strict JSON does not know."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    lines = (path / f"{name}.jsonl").read_text(encoding="ascii").splitlines()
    records = [json.loads(line, parse_constant=refuse) for line in lines]
    return [timeless(record) for record in records]


def timeless(record: Metrics) -> Metrics:
    """Return metrics without the seconds, which no two runs share."""
    return {key: value for key, value in record.items() if not key.startswith("seconds/")}
