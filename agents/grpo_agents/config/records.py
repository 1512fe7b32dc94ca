"""Everything a run is configured by: frozen records, each field with its unit and the reason for its default.

Read from YAML here and from the command line by `grpo_gym.cli`. Unknown fields are refused with the nearest right name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from grpo_agents.config import bounds
from grpo_agents.config.consistency import check
from grpo_agents.config.objective import Objective, PresetName

EMBEDDED = "embedded"
"""The name of the policy that ships with the package."""


@dataclass(frozen=True)
class Sampling:
    """How completions are drawn."""

    max_tokens: int = 256
    """Tokens per turn at most; a turn that is cut there has not ended by itself."""
    temperature: float = 1.0
    """Logits are divided by this. 1.0 keeps the sampled policy and the trained policy the same distribution."""
    batch_rows: int = 512
    """Rows decoded at once; bounds memory, does not change results."""
    max_turns: int = 0
    """Turns of an episode at most; one that is cut there keeps the reward it has. 0 leaves it to the environment, up
    to 1,000."""
    max_seconds: float = 0.0
    """Wall seconds for the episodes of one batch; rows that still play then teach nothing, and are counted. 0 for no
    limit: with one, a run no longer repeats bit for bit."""
    special_tokens: Literal["strip", "keep"] = "strip"
    """Whether the environment reads a completion's special tokens; the end token is never part of the text."""


@dataclass(frozen=True)
class Selection:
    """Which prompts and completions the policy learns from."""

    zero_variance: Literal["keep", "drop"] = "keep"
    """Groups whose rewards are all equal: keep counts their tokens in the mean, drop does not. Neither spends compute
    on them where they have no gradient; drop leaves them out of a KL term too."""
    refill_rounds: int = 0
    """Further batches drawn at most until all groups have a spread of rewards (dynamic sampling, arXiv 2503.14476)."""
    retire_at: float = 0.0
    """Pass rate from which on a prompt is retired; 0 retires none. For data sets: made-up problems do not come back."""
    retire_after: int = 2
    """Groups in a row that must reach it."""
    truncated: Literal["keep", "mask"] = "keep"
    """Completions cut at their limit: keep learns from them, mask leaves them out of the loss (arXiv 2503.14476)."""
    overlong_buffer: int = 0
    """Tokens before the limit over which a penalty rises linearly (soft overlong punishment, same paper); 0 for off."""
    overlong_penalty: float = 1.0
    """The penalty at the limit, in units of reward."""
    peek_rounds: int = 4
    """Batches of prompts looked at, at most, to fill shares of strata or to replace retired prompts."""


@dataclass(frozen=True)
class Strata:
    """Sets of prompts: by what they are told apart, and what follows. By the prompt and the past, never the answer."""

    by: tuple[str, ...] = ()
    """task, tier, prompt_tokens, pass_rate (as far as it was seen before); several make finer strata, at most one of
    them a number. Empty for one stratum."""
    boundaries: Literal["quantile", "linear", "fixed", "length_128_256"] = "quantile"
    """Where a number is cut: into equal counts, into equal widths, at `edges`, or at 128 and 256 tokens."""
    edges: tuple[float, ...] = ()
    """The cuts of "fixed"; a number at a cut belongs above it."""
    count: int = 4
    """Strata of a number, 3 to 5 as a rule; "fixed" edges and the preset decide it themselves."""
    grow_every: int = 0
    """Steps after which there is one stratum more, from one up to `count`; 0 has all from the start."""
    refit_every: int = 10
    """Steps between two fits of moving boundaries."""
    hysteresis: float = 0.1
    """A boundary stays unless it moves by more than this share of the numbers' spread."""
    min_count: int = 8
    """Prompts of the last ones seen that a stratum must hold; smaller ones are merged with a neighbour. Fixed
    boundaries stay, so that a name keeps its meaning."""
    weights: dict[str, float] = field(default_factory=dict)
    """Factor on the advantages of a stratum by its name, e.g. hard 1.2."""
    renormalise: bool = False
    """Whether all weights together are scaled to a mean of 1 over the batch."""
    clips: dict[str, tuple[float, float]] = field(default_factory=dict)
    """clip_low and clip_high of a stratum by its name."""
    balance_coef: float = 0.0
    """Weight of the variance between the strata's mean rewards, taken off what is maximised."""
    worst_coef: float = 0.0
    """Strata weigh as exp(-worst_coef * mean reward): the worst most (GDRO, arXiv 2601.19280)."""
    shares: dict[str, float] = field(default_factory=dict)
    """Share of a batch's prompts by stratum; those that are not named share the rest."""


@dataclass(frozen=True)
class Reference:
    """The policy that a KL term pulls to."""

    kind: Literal["auto", "copy", "adapter"] = "auto"
    """A frozen copy of the starting policy, or the policy itself with its adapter off; auto takes the adapter's way
    where there is one."""
    sync_every: int = 0
    """Steps after which the reference moves to the policy (TR-DPO, arXiv 2404.09656); 0 never."""
    sync_mix: float = 0.6
    """How far: 1 makes it the policy."""


@dataclass(frozen=True)
class Lora:
    """An adapter of low rank (arXiv 2106.09685) that learns in the place of the weights. Needs the extra `lora`, and
    about ten times the learning rate that the weights themselves would take.
    """

    rank: int = 0
    """Rank of the matrices; 0 trains the weights themselves. 8 to 32 is common; for RL even 1 can do."""
    alpha: float = 0.0
    """What is learned is scaled by alpha / rank; 0 takes twice the rank."""
    targets: tuple[str, ...] = ()
    """Names of the layers that get one, by their ends (q_proj v_proj); empty for all linear layers but the head."""


@dataclass(frozen=True)
class Critic:
    """PPO's value function; read only with algo ppo."""

    kind: Literal["shared", "separate"] = "shared"
    """A linear head on the policy's own last hidden state, or a model of its own."""
    discount: float = 1.0
    """gamma, per token."""
    gae_lambda: float = 1.0
    """lambda of the advantages; 1 takes the whole return (arXiv 2503.24290)."""
    critic_lambda: float = 1.0
    """lambda of the critic's targets (decoupled, arXiv 2503.01491)."""
    length_adaptive: float = 0.0
    """alpha of lambda = 1 - 1 / (alpha * length) (VAPO, arXiv 2504.05118); 0 takes gae_lambda."""
    value_coef: float = 0.5
    """Weight of the value loss, mean squared error over tokens, beside the policy's."""
    value_clip: float = 0.2
    """How far a value may move from what it was before its error stops counting; 0 for no limit."""
    warmup_steps: int = 0
    """Steps at the start in which only the critic learns."""
    whiten: bool = True
    """Whether advantages get mean 0 and std 1 over the batch's tokens."""
    learning_rate: float = 1e-3
    """AdamW's rate of what belongs to the critic alone: a new head has further to go than the policy. 1e-3 suits hidden
    states of 100 to 500 numbers; real models want 1e-5 to 1e-4."""


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
    """Passes over a sampled batch; with one, and one minibatch, the ratio is 1 and clipping never acts."""
    minibatches: int = 1
    """Optimiser steps per pass, each on its share of the groups."""
    token_budget: int = 1024
    """Padded tokens per microbatch; bounds memory, does not change results."""
    gradient_checkpointing: bool = False
    """Whether each layer is computed again in the backward pass instead of kept: about a third more time, memory by the
    depth of the model less. Does not change results."""


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
    """A training run."""

    algo: Literal["grpo", "ppo"] = "grpo"
    """grpo compares completions of one prompt; ppo learns a value function beside the policy, on the same rollouts."""
    preset: PresetName = ""
    """Method of a paper whose published options take the place of the defaults (docs/presets.md); options that are
    given override it. From Python: `presets.with_preset(TrainConfig(), "dapo")`."""
    model: str = EMBEDDED
    """"embedded", a folder, or a Hugging Face name that is already downloaded."""
    env: str = "grpo/Arithmetic-v0"
    """Any registered Gymnasium id whose observations and actions are texts."""
    tier: tuple[int, ...] = ()
    """One tier, or the lowest and highest; empty for the environment's own default."""
    env_args: dict[str, Any] = field(default_factory=dict)
    """Further keyword arguments of `gym.make`."""
    env_seconds: float = 600.0
    """Wall seconds that the environment may take for a reset or a step; one that takes longer is cut and the step is
    lost. 600 leaves room for judges behind a network. Rows of others' environments have them each, and rewards with a
    time limit of their own add it."""
    seed: int = 0
    """Everything random follows from it; same seed, machine and thread count give the same numbers."""
    steps: int = 30
    """Batches sampled and learned from."""
    prompts: int = 32
    """Prompts per step."""
    group_size: int = 8
    """Completions per prompt; grpo needs 2, for there is nothing to compare in a group of one."""
    out: str = ""
    """Run folder; empty for runs/<time>."""
    device: str = "auto"
    """auto (CUDA when there is one), cpu, cuda, cuda:1 ..."""
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    """Type of the weights in forward passes; auto takes float32 on a CPU and bfloat16 elsewhere. The optimiser moves a
    float32 copy of weights in bfloat16, in which steps of 1e-6 would be lost to rounding."""
    threads: int = 0
    """CPU threads; 0 takes one for policies under 10 M parameters and PyTorch's choice for others."""
    prompt_style: Literal["auto", "chat", "raw"] = "auto"
    """auto uses the tokenizer's chat template when it has one."""
    system_prompt: str = ""
    """Put before every conversation when not empty."""
    sampling: Sampling = field(default_factory=Sampling)
    objective: Objective = field(default_factory=Objective)
    selection: Selection = field(default_factory=Selection)
    strata: Strata = field(default_factory=Strata)
    reference: Reference = field(default_factory=Reference)
    lora: Lora = field(default_factory=Lora)
    critic: Critic = field(default_factory=Critic)
    optimisation: Optimisation = field(default_factory=Optimisation)
    evaluation: Evaluation = field(default_factory=Evaluation)
    keeping: Keeping = field(default_factory=Keeping)

    def __post_init__(self) -> None:
        check(self)


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
        bounds.share(self, "careful")
        bounds.at_least(self, 0, "learning_rate", "matrix_rate", "warmup_steps", "weight_decay")
        bounds.at_least(self, 1, "steps", "batch", "token_budget")
        bounds.above_0(self, "max_grad_norm")
        bounds.tier(self.tier)
