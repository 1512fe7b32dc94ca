"""A policy as a folder of its own: plain weights, config, tokenizer and template, which load in plain transformers.

Adapters are folded into the weights. What was written is loaded again and compared before the folder takes its name.
Where the weights are rounded (8 bits, bfloat16) the loss is measured: the same held-out problems, with the same random
numbers, answered before and after.

    export.json   where the policy comes from, what was checked and measured, sizes and sha256 of the files
"""

from __future__ import annotations

import copy
import hashlib
import json
import logging
import time
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, Literal, TypeAlias

import torch
import transformers
from torch import Tensor
from transformers import GenerationConfig, PreTrainedModel

import grpo_gym
from grpo_agents import quantised
from grpo_agents.atomic import new_folder
from grpo_agents.chat_template import QUESTIONS, tokenizer_as_read
from grpo_agents.config import Sampling
from grpo_agents.environments import EnvChoice, distinct_seeds
from grpo_agents.evaluate import check_finite, evaluate, paired_change
from grpo_agents.files import write_json, writing
from grpo_agents.loading import no_progress_bars
from grpo_agents.policy import Policy
from grpo_agents.sampler import Sampler
from grpo_agents.source import Source, sampling_of, validation_score
from grpo_gym.errors import CheckpointError, ModelError

Weights: TypeAlias = Literal["float32", "bfloat16", "int8"]
RECORD = "export.json"
TOLERANCE = 1e-4
"""Nats by which log-probs of what was loaded again may differ from what was written."""
TIMES = 3
"""How often speeds are taken, in turns; the best counts, for a machine may be busy."""
TIMED_TOKENS = 64
TIMED_SECONDS = 2.0
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Trial:
    """On what a loss is measured.

    Attributes:
        choice: The environment.
        problems: Validation problems at most.
        seed: Draws problems and answers.
    """

    choice: EnvChoice
    problems: int
    seed: int


def export(source: Source, policy: Policy, out: Path, weights: Weights, trial: Trial | None = None) -> dict[str, Any]:
    """Write a policy into a new folder and return what export.json holds.

    Args:
        source: Where the policy comes from.
        policy: What is written; with float32 weights.
        out: The folder; it must not hold anything yet.
        weights: How they are kept.
        trial: On what a loss by rounding is measured; None measures none.

    Raises:
        CheckpointError: The folder holds something, or cannot be written.
        ModelError: What was written does not load as what it was, or cannot be rounded.
    """
    check_new(out)
    plain = policy.merged()
    check_finite(plain)
    sampling = sampling_of(source, plain)
    rounded = _policy_like(plain, _rounded(plain.model, weights))
    with writing(out), new_folder(out) as folder:
        exact = _write(rounded, folder, _generation(plain, source, sampling))
        loaded = Policy.load(folder, device=str(policy.device), dtype=rounded.model.dtype)
        record = {
            "from": _origin(source, plain),
            "weights": weights,
            "parameters": sum(p.numel() for p in plain.model.parameters()),
            "check": {"largest_gap": _check(rounded, loaded, out), "template_as_read": exact},
            "rounding": None if weights == "float32" else _rounding(plain, loaded, sampling, trial),
            "bytes": {"weights": _weight_bytes(folder), "float32": _float_bytes(plain.model)},
            "sha256": {path.name: _sha256(path) for path in sorted(folder.iterdir())},
            "versions": {"grpo_gym": grpo_gym.__version__, "torch": str(torch.__version__).partition("+")[0]}
            | {"transformers": transformers.__version__},
        }
        write_json(folder / RECORD, record)
    return record


def check_new(out: Path) -> None:
    """Raise CheckpointError when a folder holds something."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise CheckpointError(f"{out} already holds something: choose a new folder with --out")


def tokens_per_second(policy: Policy) -> float:
    """Return how many tokens of one answer are drawn in a second: the first ones, without an end."""
    prompt = policy.render([{"role": "user", "content": QUESTIONS[0]}])
    endless = Sampler(policy.model, (), policy.pad_id, context=policy.context, traits=policy.sampler.traits)
    began, count = time.perf_counter(), 0
    for _ in endless.stream(prompt, max_tokens=TIMED_TOKENS, greedy=True):
        count += 1
        if time.perf_counter() - began > TIMED_SECONDS:
            break
    return count / (time.perf_counter() - began)


def _policy_like(policy: Policy, model: PreTrainedModel) -> Policy:
    """Return a policy of another model that reads as this one does."""
    prompting = policy.prompting
    return Policy(model, policy.tokenizer, prompt_style=prompting.style, system_prompt=prompting.system_prompt)


def _rounded(model: PreTrainedModel, weights: Weights) -> PreTrainedModel:
    """Return the model with its weights as they will be kept; itself where they are so already."""
    if weights == "int8":
        return model if quantised.is_quantised(model) else quantised.quantise(model)
    if quantised.is_quantised(model):
        raise ModelError("weights of 8 bits stay so: leave out --dtype, or export the policy they were made of")
    dtype = getattr(torch, weights)
    if model.dtype == dtype:
        return model
    rounded = copy.deepcopy(model)
    for parameter in rounded.parameters():  # not the buffers: rotary angles stay in float32, as when a model is loaded
        parameter.data = parameter.data.to(dtype)
    return rounded


def _write(policy: Policy, folder: Path, generation: GenerationConfig) -> bool:
    """Write all files but the record; return whether the template renders as the policy reads."""
    tokenizer, exact = tokenizer_as_read(policy)
    if not exact:
        _log.warning("no chat template renders as this policy reads: other programs will ask it in another way")
    policy.write(folder)
    with no_progress_bars():
        tokenizer.save_pretrained(folder)
    generation.save_pretrained(folder)
    for weights in folder.glob("*.safetensors"):  # written for their owner alone
        weights.chmod((folder / "config.json").stat().st_mode)
    return exact


def _generation(policy: Policy, source: Source, sampling: Sampling) -> GenerationConfig:
    """Return how other programs draw by default: a run's policy as it was trained, from the whole distribution."""
    generation: Any = copy.deepcopy(policy.model.generation_config) or GenerationConfig()
    if source.run is not None:
        generation = GenerationConfig(do_sample=True, temperature=sampling.temperature, top_k=0, top_p=1.0)
    generation._from_model_config = False
    generation.eos_token_id = sorted(policy.eos_ids)
    generation.pad_token_id = policy.pad_id
    generation.bos_token_id = policy.tokenizer.bos_token_id
    generation.max_new_tokens = sampling.max_tokens
    made: GenerationConfig = generation
    return made


def _check(written: Policy, loaded: Policy, out: Path) -> float:
    """Return the largest difference of log-probs, in nats. Raises ModelError for what is another policy."""
    gap = max(_gap(written, loaded, text) for text in QUESTIONS)
    if not gap <= TOLERANCE:
        raise ModelError(f"what was written to {out} gives other log-probs, by {gap:.2g} nats: nothing was kept")
    return gap


@torch.no_grad()
def _gap(first: Policy, second: Policy, text: str) -> float:
    """Return the largest difference of log-probs over all tokens behind each token of a question."""
    one, two = _logprobs(first, second, text)
    return float(torch.where(one == two, 0.0, (one - two).abs()).max())  # equal infinities have no difference


@torch.no_grad()
def _divergence(first: Policy, second: Policy) -> float:
    """Return the mean Kullback-Leibler divergence KL(first, second) behind each token of the questions, in nats."""
    pairs = [_logprobs(first, second, text) for text in QUESTIONS]
    parts = [torch.where(one == two, 0.0, one.exp() * (one - two)).sum(-1) for one, two in pairs]
    return float(torch.cat(parts).mean())


def _logprobs(first: Policy, second: Policy, text: str) -> tuple[Tensor, Tensor]:
    """Return both policies' log-probs [T, V] behind each of the T tokens of a question, as the first reads it."""
    ids = torch.tensor([first.render([{"role": "user", "content": text}])[: first.context]], device=first.device)
    one, two = (policy.model(input_ids=ids).logits[0].float().log_softmax(-1) for policy in (first, second))
    return one, two


def _rounding(before: Policy, after: Policy, sampling: Sampling, trial: Trial | None) -> dict[str, Any]:
    """Return what rounding changed: log-probs, speed, and scores where there is something to measure them on."""
    speeds = [(tokens_per_second(before), tokens_per_second(after)) for _ in range(TIMES)]
    record: dict[str, Any] = {
        "divergence": _divergence(before, after),
        "tokens_per_second": {
            "before": max(first for first, _ in speeds),
            "after": max(second for _, second in speeds),
        },
    }
    if trial is None:
        return record
    seeds = distinct_seeds(trial.choice, "val", trial.seed, trial.problems)
    for name, greedy in (("sampled", False), ("greedy", True)):
        scores = [
            evaluate(policy, trial.choice, "val", seeds, sampling, greedy=greedy, seed=trial.seed)
            for policy in (before, after)
        ]
        record[name] = paired_change(*scores)
    return record | {"env": trial.choice.id, "split": "val", "content_checked": trial.choice.ours}


def _origin(source: Source, policy: Policy) -> dict[str, Any]:
    """Return where the policy comes from, without a path of this machine."""
    config = source.config
    record: dict[str, Any] = {
        "model": Path(config.model).name if Path(config.model).is_dir() else _placeless(config.model),
        "prompt_style": policy.prompting.style,
        "system_prompt": policy.prompting.system_prompt,
    }
    if source.run is None or source.step is None:
        return record
    trained = {"algo": config.algo, "loss": config.objective.loss, "env": config.env, "tier": list(config.tier)}
    scores = {"val": validation_score(source.run, source.step), "test": _tested(source.run, source.step)}
    args = {"env_args": _placeless(config.env_args), "seed": config.seed, "step": source.step, "steps": config.steps}
    return record | trained | args | {"scores": scores}


def _tested(run: Path, step: int) -> dict[str, Any] | None:
    """Return a finished run's test scores, where they are those of this step."""
    try:
        summary = json.loads((run / "summary.json").read_text(encoding="utf-8"))
        return dict(summary["held_out"]["after"]) if summary["steps"] == step else None
    except (OSError, ValueError, KeyError, TypeError):  # not finished, or by another version
        return None


def _placeless(value: Any) -> Any:
    """Return a value in which each absolute path is its last part."""
    if isinstance(value, dict):
        return {key: _placeless(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_placeless(item) for item in value]
    if not isinstance(value, str):
        return value
    for kind in (PurePosixPath, PureWindowsPath):
        if kind(value).is_absolute() or value.startswith(("~", "..")):
            return kind(value).name
    return value


def _weight_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("*.safetensors"))


def _float_bytes(model: PreTrainedModel) -> int:
    return sum(4 * p.numel() for p in model.parameters())


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
