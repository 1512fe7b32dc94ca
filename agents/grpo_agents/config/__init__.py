"""A run's options: `records` and `objective` hold them, `consistency` checks them, `reading` takes them from YAML."""

from grpo_agents.config.objective import Objective
from grpo_agents.config.reading import from_dict, read_yaml, to_dict
from grpo_agents.config.records import (
    EMBEDDED,
    Critic,
    Evaluation,
    Keeping,
    Lora,
    Optimisation,
    Reference,
    Sampling,
    Selection,
    SFTConfig,
    Strata,
    TrainConfig,
)

__all__ = [
    "EMBEDDED",
    "Critic",
    "Evaluation",
    "Keeping",
    "Lora",
    "Objective",
    "Optimisation",
    "Reference",
    "SFTConfig",
    "Sampling",
    "Selection",
    "Strata",
    "TrainConfig",
    "from_dict",
    "read_yaml",
    "to_dict",
]
