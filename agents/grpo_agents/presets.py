"""Methods of papers, as options: what each one published, so that a comparison is with the method and not with a mood.

`options` are the method: estimator, loss, clipping, KL, selection. `scale` is what its authors ran it with (batch,
learning rate, lengths, group size), which a small policy cannot use: it is taken only when asked for. What a paper does
not say stays as it is here. docs/presets.md has the table with sources.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from grpo_agents.config.objective import PresetName
from grpo_agents.config.reading import with_options
from grpo_agents.config.records import TrainConfig
from grpo_gym.errors import UnknownNameError


@dataclass(frozen=True)
class Preset:
    """One method.

    Attributes:
        source: Where it was published.
        options: Dotted config fields and their values.
        scale: The same for the size of the authors' runs.
    """

    source: str
    options: Mapping[str, Any]
    scale: Mapping[str, Any]


def _grpo(loss: str, low: float = 0.2, high: float = 0.2, scale: str = "group", **more: Any) -> dict[str, Any]:
    """Return the options of a group-relative method."""
    return {
        "algo": "grpo",
        "objective.loss": loss,
        "objective.baseline": "mean",
        "objective.scale": scale,
        "objective.clip_low": low,
        "objective.clip_high": high,
        "objective.kl_coef": 0.0,
        **{name.replace("__", "."): value for name, value in more.items()},
    }


PRESETS: dict[PresetName, Preset] = {
    "deepseekmath": Preset(
        "DeepSeekMath, arXiv 2402.03300, sections 4.1 and 4.2",
        _grpo(
            "grpo",
            objective__kl_coef=0.04,
            objective__kl_estimator="k3",
            objective__kl_ratio_correction=False,
            optimisation__updates_per_batch=1,
        ),
        {"group_size": 64, "prompts": 16, "optimisation.learning_rate": 1e-6, "sampling.max_tokens": 1024},
    ),
    "dapo": Preset(
        "DAPO, arXiv 2503.14476, sections 3 and 4.1",
        _grpo("dapo", 0.2, 0.28, selection__zero_variance="drop", selection__refill_rounds=10),
        {
            "group_size": 16,
            "prompts": 512,
            "optimisation.minibatches": 16,
            "optimisation.learning_rate": 1e-6,
            "sampling.max_tokens": 20480,
            "selection.overlong_buffer": 4096,
        },
    ),
    "dr_grpo": Preset(
        "Understanding R1-Zero-like training, arXiv 2503.20783, section 3.2",
        _grpo("dr_grpo", scale="none"),
        {"group_size": 8, "prompts": 16, "optimisation.learning_rate": 1e-6, "sampling.max_tokens": 3000},
    ),
    "gspo": Preset(
        "Group Sequence Policy Optimization, arXiv 2507.18071, sections 4 and 5.1",
        _grpo("gspo", 3e-4, 4e-4, optimisation__minibatches=4),
        {"optimisation.learning_rate": 1e-6},
    ),
    "cispo": Preset(
        "MiniMax-M1, arXiv 2506.13585, section 3.1; the bound of 5 is ScaleRL's, arXiv 2510.13786",
        _grpo("cispo", 0.2, 4.0),
        {"optimisation.learning_rate": 1e-6},
    ),
    "lite_ppo": Preset(
        "Tricks or traps?, arXiv 2508.08221, section 5",
        _grpo("dapo", scale="batch"),
        {"group_size": 8, "prompts": 128, "optimisation.learning_rate": 1e-6},
    ),
    "rloo": Preset(
        "Back to basics, arXiv 2402.14740, section 3.2; the KL weight is the default of TRL's RLOO trainer",
        {
            "algo": "grpo",
            "objective.loss": "reinforce",
            "objective.average": "sequence_sum",
            "objective.baseline": "leave_one_out",
            "objective.scale": "none",
            "objective.kl_coef": 0.05,
            "objective.kl_estimator": "k1",
        },
        {"group_size": 4, "optimisation.learning_rate": 1e-6},
    ),
    "reinforce": Preset(
        "Williams 1992, with the batch's mean reward as reinforcement baseline",
        {
            "algo": "grpo",
            "objective.loss": "reinforce",
            "objective.average": "sequence_sum",
            "objective.baseline": "batch",
            "objective.scale": "none",
            "objective.kl_coef": 0.0,
        },
        {},
    ),
    "orz": Preset(
        "Open-Reasoner-Zero, arXiv 2503.24290, section 2",
        {
            "algo": "ppo",
            "objective.loss": "dapo",
            "objective.clip_low": 0.2,
            "objective.clip_high": 0.2,
            "objective.kl_coef": 0.0,
            "critic.kind": "separate",
            "critic.discount": 1.0,
            "critic.gae_lambda": 1.0,
            "critic.critic_lambda": 1.0,
        },
        {
            "group_size": 64,
            "prompts": 128,
            "optimisation.learning_rate": 1e-6,
            "critic.learning_rate": 5e-6,
            "sampling.max_tokens": 8000,
        },
    ),
    "vapo": Preset(
        "VAPO, arXiv 2504.05118, section 4",
        {
            "algo": "ppo",
            "objective.loss": "dapo",
            "objective.clip_low": 0.2,
            "objective.clip_high": 0.28,
            "objective.kl_coef": 0.0,
            "critic.kind": "separate",
            "critic.discount": 1.0,
            "critic.critic_lambda": 1.0,
            "critic.length_adaptive": 0.05,
        },
        {
            "group_size": 16,
            "prompts": 512,
            "steps": 5000,
            "critic.warmup_steps": 50,
            "optimisation.minibatches": 16,
            "optimisation.learning_rate": 1e-6,
            "critic.learning_rate": 2e-6,
        },
    ),
}
"""Every preset by its name."""


def with_preset(config: TrainConfig, name: str, published_scale: bool = False) -> TrainConfig:
    """Return a config with a preset's options in place of its own.

    Args:
        config: What stays where the preset says nothing.
        name: A key of PRESETS.
        published_scale: Whether also to take the size of the authors' runs.

    Raises:
        UnknownNameError: No such preset, with the nearest name.
    """
    if name not in PRESETS:
        raise UnknownNameError("preset", name, PRESETS)
    preset = PRESETS[name]
    return with_options(config, {"preset": name, **preset.options, **(preset.scale if published_scale else {})})
