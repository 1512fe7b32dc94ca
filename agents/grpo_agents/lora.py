"""Adapters of low rank (LoRA, arXiv 2106.09685): small matrices that learn beside weights that rest.

    model = adapted(model, Lora(rank=8), seed=0)     a layer W x becomes W x + (alpha / rank) B A x; only A and B learn
    with without_adapter(model): ...                 W x again, exactly: the reference of a KL term
    merged(model)                                    a plain model of the layers W + (alpha / rank) B A

B begins at zero, so an adapted model begins as the model it was, bit for bit. There is no dropout: a policy is always
in evaluation mode, or the log-probs that it is trained on would be of another network than the one that was sampled,
and their ratio no longer 1. A and B are float32 beside bfloat16 weights: there, small steps are lost to rounding.

The layers are peft's, which is imported where one is needed. `adapter_files` reads and writes them.
"""

from __future__ import annotations

import contextlib
import copy
import importlib
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import nn
from transformers import PreTrainedModel
from transformers.pytorch_utils import Conv1D

from grpo_agents.config import Lora
from grpo_agents.hub import one_line
from grpo_gym.errors import InvalidValueError, ModelError, UnknownNameError
from grpo_gym.rng import stable_hash

LINEAR = (nn.Linear, Conv1D)
"""Layers that can have an adapter; Conv1D is GPT-2's linear layer, with its weights transposed."""
_FAILURES = (ValueError, TypeError, KeyError, AttributeError, RuntimeError, ImportError)


def peft_library() -> Any:
    """Return peft; imported here, since it costs seconds and only adapters need it. Raises ModelError without it."""
    try:
        return importlib.import_module("peft")
    except ImportError as error:
        raise ModelError(f"LoRA adapters need peft: pip install 'grpo-gym[lora]' ({one_line(error)})") from error


def adapted(model: Any, options: Lora, seed: int = 0, base: str = "") -> Any:
    """Put a fresh adapter on a model.

    Args:
        model: Changed in place: its linear layers are wrapped, its own weights take no gradient any more.
        options: Rank, scale and layers.
        seed: Draws A; torch's global generators are neither read nor moved.
        base: Name of the model, under which a saved adapter finds it again: "embedded", a folder, a hub id.

    Returns:
        A peft model with the layers of `model` inside.

    Raises:
        ModelError: peft is missing or cannot adapt the model, or the model has an adapter already.
        UnknownNameError: A target that no linear layer's name ends with.
        InvalidValueError: A rank below 1, or a target that shares its weights with another layer.
    """
    if options.rank < 1:
        raise InvalidValueError(f"lora.rank is {options.rank}, must be at least 1 for an adapter")
    if has_adapter(model):
        raise ModelError("the model has an adapter already: take merged() of it first")
    settings = peft_library().LoraConfig(
        r=options.rank,
        lora_alpha=_whole(options.alpha or 2.0 * options.rank),
        target_modules=target_layers(model, options.targets),
        lora_dropout=0.0,
        bias="none",
    )
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(stable_hash("lora", seed) % 2**63)
        wrapped = wrap(model, settings)
    adapter_config(wrapped).base_model_name_or_path = base or None
    return wrapped


def wrap(model: Any, settings: Any) -> Any:
    """Return peft's model around a plain one, in evaluation mode. Raises ModelError where peft cannot."""
    peft = peft_library()
    settings.base_model_name_or_path = None  # peft warns when it is not the folder that the model was read from
    settings.task_type = None  # gives the wrapper that passes every argument on as it is
    try:
        with warnings.catch_warnings():
            for told in (".is_gradient_checkpointing. is deprecated", "fan_in_fan_out is set to"):
                warnings.filterwarnings("ignore", message=told)  # what peft asks transformers; what it finds out itself
            wrapped = peft.get_peft_model(model, settings)
    except _FAILURES as error:
        raise ModelError(f"no adapter can be put on {type(model).__name__}: {one_line(error)}") from error
    wrapped.train(False)
    return wrapped


def target_layers(model: PreTrainedModel, targets: Sequence[str] = ()) -> list[str]:
    """Return the full names of the layers that get an adapter.

    Args:
        model: A plain model.
        targets: Ends of names, e.g. q_proj or layers.0.mlp.up_proj; empty for all linear layers but the output head.

    Raises:
        ModelError: A model without linear layers.
        UnknownNameError: A target that no linear layer's name ends with.
        InvalidValueError: A target whose weights are another layer's too.
    """
    linear = {name: module for name, module in model.named_modules() if isinstance(module, LINEAR)}
    head: Any = model.get_output_embeddings()
    if not targets:
        chosen = [name for name, module in linear.items() if module is not head]
        if not chosen:
            raise ModelError(f"{type(model).__name__} has no linear layers that an adapter could be put on")
        return chosen
    for target in targets:
        if not any(_ends_with(name, target) for name in linear):
            raise UnknownNameError("layer in lora.targets", target, {name.rpartition(".")[2] for name in linear})
    chosen = [name for name in linear if any(_ends_with(name, target) for target in targets)]
    for name in chosen:
        if _is_tied(model, linear[name]):
            raise InvalidValueError(
                f"lora.targets name {name}, whose weights are another layer's too (tied embeddings): leave it out"
            )
    return chosen


def has_adapter(model: Any) -> bool:
    """Whether a model has an adapter that can be switched off: a peft model, or one that transformers added it to."""
    return hasattr(model, "disable_adapter") or bool(getattr(model, "_hf_peft_config_loaded", False))


@contextlib.contextmanager
def without_adapter(model: Any) -> Iterator[None]:
    """Switch a model's adapter off for a while; on again also when something is raised."""
    if hasattr(model, "disable_adapter"):  # a peft model
        with model.disable_adapter():
            yield
        return
    model.disable_adapters()
    try:
        yield
    finally:
        model.enable_adapters()


def adapter_config(model: Any) -> Any:
    """Return peft's settings of the adapter that is in use."""
    return model.peft_config[model.active_adapter]


def adapter_rank(model: Any) -> int:
    """Return the rank of a model's adapter; 0 where there is none, or one of another kind."""
    return int(getattr(adapter_config(model), "r", 0)) if hasattr(model, "disable_adapter") else 0


def check_adapter(model: Any, options: Lora) -> None:
    """Raise InvalidValueError when a config asks for an adapter and the model has none: all its weights would learn."""
    if options.rank and not has_adapter(model):
        raise InvalidValueError(
            f"lora.rank is {options.rank} and the policy has no adapter: give policy.adapted(config.lora, config.seed) "
            "or what train.load_policy(config) returns"
        )


def merged(model: Any) -> Any:
    """Return a plain model with the adapter folded into its weights, all of which take a gradient.

    It is a copy, so that the adapted one can go on learning; memory for a second model is needed while both live. The
    sum is taken in float32 and rounded once, to the type of the weights. A model without an adapter is returned as is.

    Raises:
        ModelError: An adapter of a kind that cannot be folded in.
    """
    if not has_adapter(model):
        return model
    try:
        plain = copy.deepcopy(model).merge_and_unload()
    except _FAILURES as error:
        raise ModelError(f"the adapter cannot be folded into the weights: {one_line(error)}") from error
    plain.train(False)
    return plain.requires_grad_(True)


def twin(model: Any) -> Any:
    """Return a copy of a model that shares the weights that rest: of an adapted model only the adapter is copied."""
    return copy.deepcopy(model, {id(weight): weight for weight in model.parameters() if not weight.requires_grad})


def resting(module: nn.Module) -> set[str]:
    """Return the names of the weights that take no gradient; tied ones under each of their names."""
    every = module.named_parameters(remove_duplicate=False)
    return {name for name, weight in every if not weight.requires_grad}


def _ends_with(name: str, target: str) -> bool:
    return name == target or name.endswith(f".{target}")


def _is_tied(model: nn.Module, layer: nn.Module) -> bool:
    owners = [module for module in model.modules() if getattr(module, "weight", None) is layer.weight]
    return len(owners) > 1


def _whole(number: float) -> float:
    """Return an int where the number is one, as peft writes it."""
    return int(number) if number == int(number) else number
