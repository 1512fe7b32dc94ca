"""Everything a run is configured by: frozen records, each field with its unit and the reason for its default.

Read from YAML here and from the command line by `grpo_gym.cli`. Unknown fields are refused with the nearest right name.
"""

from __future__ import annotations

import dataclasses
import math
import typing
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal, TypeVar

from grpo_gym.errors import InvalidValueError, UnknownNameError

EMBEDDED = "embedded"
"""The name of the policy that ships with the package."""

C = TypeVar("C")


@dataclass(frozen=True)
class Sampling:
    """How completions are drawn."""

    max_tokens: int = 256
    """Tokens per turn at most; a turn that is cut there has not ended by itself."""
    temperature: float = 1.0
    """Logits are divided by this. 1.0 keeps the sampled policy and the trained policy the same distribution."""
    batch_rows: int = 512
    """Rows decoded at once; bounds memory, does not change results."""


@dataclass(frozen=True)
class Objective:
    """What is maximised."""

    loss: Literal["dapo", "grpo", "dr_grpo"] = "dapo"
    """How tokens are averaged; dapo weighs every token of the batch alike (arXiv 2503.14476)."""
    scale: Literal["group", "batch", "none"] = "batch"
    """What centred rewards are divided by; batch is the most robust in the comparison of arXiv 2508.08221."""
    baseline: Literal["mean", "leave_one_out"] = "mean"
    """What is subtracted: the group's mean, or the mean of the group's other completions (RLOO, arXiv 2402.14740)."""
    clip_low: float = 0.2
    """The ratio is clipped below 1 - clip_low (PPO's value)."""
    clip_high: float = 0.28
    """The ratio is clipped above 1 + clip_high; wider than below, so that rare tokens can grow (arXiv 2503.14476)."""
    kl_coef: float = 0.0
    """Weight of the KL term to the starting policy; 0 loads no reference (DAPO, Dr. GRPO).

    Above 0, weights move also at steps whose rewards say nothing."""
    kl_ratio_correction: bool = True
    """Whether the k3 estimate is weighted by the importance ratio."""


@dataclass(frozen=True)
class Optimisation:
    """How the weights move."""

    learning_rate: float = 3e-4
    """AdamW's rate after warm-up. 1e-4 to 3e-4 suits policies of 0.1-1 M parameters; real models want 1e-6 to 1e-5."""
    warmup_steps: int = 5
    """Steps over which the rate rises linearly to its value; 0 starts at the full rate."""
    weight_decay: float = 0.0
    """Off: with decay the weights move although no reward says so."""
    beta1: float = 0.9
    """AdamW's decay of the mean gradient."""
    beta2: float = 0.95
    """AdamW's decay of the squared gradient; shorter than 0.999, since runs are short."""
    max_grad_norm: float = 1.0
    """The gradient is scaled down to this norm."""
    updates_per_batch: int = 1
    """Optimiser steps per sampled batch; with 1 the ratio is 1 and clipping never acts."""
    token_budget: int = 1024
    """Padded tokens per microbatch; bounds memory, does not change results."""


@dataclass(frozen=True)
class Evaluation:
    """How held-out scores are measured."""

    test_problems: int = 2048
    """Distinct test problems, read once before and once after training."""
    val_problems: int = 256
    """Validation problems of the live curve and the best checkpoint."""
    every: int = 5
    """Steps between validation scores; 0 switches them off."""


@dataclass(frozen=True)
class Keeping:
    """What is kept of a run."""

    checkpoint_every: int = 10
    """Steps between checkpoints; the last step always has one."""
    keep_last: int = 2
    """Newest checkpoints that stay; the best by validation score stays as well."""


@dataclass(frozen=True)
class TrainConfig:
    """A GRPO run."""

    model: str = EMBEDDED
    """"embedded", a folder, or a Hugging Face name that is already downloaded."""
    env: str = "grpo/Arithmetic-v0"
    """Any registered Gymnasium id whose observations and actions are texts."""
    tier: tuple[int, ...] = ()
    """One tier, or the lowest and highest; empty for the environment's own default."""
    env_args: dict[str, Any] = field(default_factory=dict)
    """Further keyword arguments of `gym.make`."""
    seed: int = 0
    """Everything random follows from it; same seed, machine and thread count give the same numbers."""
    steps: int = 30
    """Batches sampled and learned from."""
    prompts: int = 32
    """Prompts per step."""
    group_size: int = 8
    """Completions per prompt; at least 2, for there is nothing to compare in a group of one."""
    out: str = ""
    """Run folder; empty for runs/<time>."""
    device: str = "auto"
    """auto (CUDA when there is one), cpu, cuda, cuda:1 ..."""
    threads: int = 0
    """CPU threads; 0 takes one for policies under 10 M parameters and PyTorch's choice for others."""
    prompt_style: Literal["auto", "chat", "raw"] = "auto"
    """auto uses the tokenizer's chat template when it has one."""
    system_prompt: str = ""
    """Put before every conversation when not empty."""
    sampling: Sampling = field(default_factory=Sampling)
    objective: Objective = field(default_factory=Objective)
    optimisation: Optimisation = field(default_factory=Optimisation)
    evaluation: Evaluation = field(default_factory=Evaluation)
    keeping: Keeping = field(default_factory=Keeping)

    def __post_init__(self) -> None:
        _at_least(self, 0, "steps", "threads", "sampling.temperature", "evaluation.every")
        _at_least(self, 0, "objective.clip_low", "objective.clip_high", "objective.kl_coef")
        _at_least(self, 0, "optimisation.learning_rate", "optimisation.warmup_steps", "optimisation.weight_decay")
        _at_least(self, 0, "optimisation.beta1", "optimisation.beta2")
        _at_least(self, 1, "prompts", "sampling.max_tokens", "sampling.batch_rows")
        _at_least(self, 1, "optimisation.updates_per_batch", "optimisation.token_budget")
        _at_least(self, 1, "evaluation.test_problems", "evaluation.val_problems")
        _at_least(self, 1, "keeping.checkpoint_every", "keeping.keep_last")
        _at_least(self, 2, "group_size")
        _above_0(self, "sampling.temperature", "optimisation.max_grad_norm")
        _below_1(self, "optimisation.beta1", "optimisation.beta2")
        _check_tier(self.tier)


@dataclass(frozen=True)
class SFTConfig:
    """A supervised run."""

    env: str = "grpo/Arithmetic-v0"
    """Environment id whose worked solutions are imitated."""
    tier: tuple[int, ...] = ()
    """One tier, or the lowest and highest; empty for the environment's default."""
    env_args: dict[str, Any] = field(default_factory=dict)
    """Further keyword arguments of `gym.make`."""
    steps: int = 300
    """Optimiser steps."""
    batch: int = 64
    """Demonstrations per step."""
    careful: float = 1.0
    """Share of demonstrations that show the working; the others answer at once, mostly wrong."""
    optimizer: Literal["adamw", "muon"] = "adamw"
    """muon (orthogonalised momentum on matrices, AdamW on the rest) learns small models from scratch 2-4x faster."""
    learning_rate: float = 3e-4
    """AdamW's rate at its highest."""
    matrix_rate: float = 0.02
    """Muon's rate at its highest."""
    warmup_steps: int = 50
    """Steps of linear warm-up; afterwards a linear fall to a hundredth."""
    weight_decay: float = 0.01
    """Decay of matrices under Muon, of all weights under AdamW."""
    max_grad_norm: float = 1.0
    """The gradient is scaled down to this norm."""
    token_budget: int = 4096
    """Padded tokens per microbatch."""
    seed: int = 0
    """Decides which problems are drawn and which demonstrations are hasty."""

    def __post_init__(self) -> None:
        if not 0 <= self.careful <= 1:
            raise InvalidValueError(f"careful is {self.careful}, must be a share from 0 to 1")
        _at_least(self, 0, "learning_rate", "matrix_rate", "warmup_steps", "weight_decay")
        _at_least(self, 1, "steps", "batch", "token_budget")
        _above_0(self, "max_grad_norm")
        _check_tier(self.tier)


def _at_least(config: Any, bound: int, *names: str) -> None:
    """Raise InvalidValueError for a field below its bound, NaN or infinite; a dot leads into a nested record."""
    for name in names:
        value = attrgetter(name)(config)
        if not bound <= value < math.inf:
            finite = " and finite" if value == math.inf else ""
            raise InvalidValueError(f"{name} is {value}, must be at least {bound}{finite}")


def _above_0(config: Any, *names: str) -> None:
    for name in names:
        if not attrgetter(name)(config) > 0:
            raise InvalidValueError(f"{name} is {attrgetter(name)(config)}, must be above 0")


def _below_1(config: Any, *names: str) -> None:
    for name in names:
        if not attrgetter(name)(config) < 1:
            raise InvalidValueError(f"{name} is {attrgetter(name)(config)}, must be below 1")


def _check_tier(tier: tuple[int, ...]) -> None:
    if len(tier) > 2:
        raise InvalidValueError(f"tier is {tier}: give one tier, or the lowest and the highest")


def to_dict(config: Any) -> dict[str, Any]:
    """Return a config as plain nested values, for YAML and JSON."""
    record = dataclasses.asdict(config)
    return {key: list(value) if isinstance(value, tuple) else value for key, value in record.items()}


def from_dict(cls: type[C], record: dict[str, Any], where: str = "") -> C:
    """Build a config record from nested plain values.

    Raises:
        UnknownNameError: A field that does not exist, with the nearest right name.
        InvalidValueError: A value of the wrong type or out of bounds.
    """
    hints = typing.get_type_hints(cls)
    values = {}
    for name, value in record.items():
        if name not in hints:
            raise UnknownNameError("config field", f"{where}{name}", [where + known for known in hints])
        values[name] = _convert(hints[name], value, where + name)
    return cls(**values)


def read_yaml(cls: type[C], path: str | Path) -> C:
    """Read a config file. Raises InvalidValueError when it is missing or not a mapping."""
    import yaml

    try:
        record = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidValueError(f"cannot read the config {path}: {getattr(error, 'strerror', 'not UTF-8')}") from error
    except yaml.YAMLError as error:
        raise InvalidValueError(f"{path} is not YAML: {str(error).splitlines()[0]}") from error
    if not isinstance(record, dict):
        raise InvalidValueError(f"{path} must hold a mapping of config fields, got {type(record).__name__}")
    record.pop("policy", None)  # a run's own config.yaml also says what was found about its policy
    return from_dict(cls, record)


def _convert(hint: Any, value: Any, where: str) -> Any:
    """Return the value as the field's type; int passes as float, a list as tuple, nothing else is bent."""
    origin = typing.get_origin(hint)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        if not isinstance(value, dict):
            raise InvalidValueError(f"{where} must be a mapping, got {value!r:.60}")
        return from_dict(hint, value, where + ".")
    if origin is Literal:
        choices = typing.get_args(hint)
        if value not in choices:
            raise UnknownNameError(f"value of {where}", value, map(str, choices))
        return value
    if origin is tuple:
        return _whole_numbers(value, where)
    if hint is float:
        return _number(value, where)
    expected = origin if isinstance(origin, type) else hint
    if not isinstance(value, expected) or (isinstance(value, bool) and expected is not bool):
        raise InvalidValueError(f"{where} must be {expected.__name__}, got {value!r:.60}")
    return value


def _whole_numbers(value: Any, where: str) -> tuple[int, ...]:
    items = value if isinstance(value, (list, tuple)) else [value]
    if not all(isinstance(item, int) and not isinstance(item, bool) for item in items):
        raise InvalidValueError(f"{where} must be whole numbers, got {value!r:.60}")
    return tuple(items)


def _number(value: Any, where: str) -> float:
    """Return a float; a text too, for YAML 1.1 reads 3e-4 as one."""
    try:
        if isinstance(value, (int, float, str)) and not isinstance(value, bool):
            return float(value)
    except ValueError:
        pass
    raise InvalidValueError(f"{where} must be a number, got {value!r:.60}")
