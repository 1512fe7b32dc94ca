"""An adapter's folder: adapter_config.json and adapter_model.safetensors, as peft has them, and base.json.

The base is found again by the name in adapter_config.json ("embedded", a folder, or a hub id in the local cache), and
never over the network. An adapter on another base than its own would sample nonsense without an error, so base.json
keeps a few of its numbers, which are compared when the adapter is read. peft's own writer is not used: it asks the hub,
writes the path that a model was read from, and a model card.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from grpo_agents.files import write_json
from grpo_agents.hub import one_line
from grpo_agents.lora import adapter_config, peft_library, wrap
from grpo_gym.errors import ModelError

CONFIG = "adapter_config.json"
WEIGHTS = "adapter_model.safetensors"
BASE = "base.json"
SAMPLED = 64
"""Matrices of the base at most that one number is kept of."""
ROUNDING = 2.0**-7
"""Relative difference up to which two numbers count as one: a base may be read as bfloat16 once, then as float32."""
_UNREADABLE = (OSError, ValueError, TypeError, KeyError, AttributeError, RuntimeError, ImportError, SafetensorError)


def is_adapter(folder: Path) -> bool:
    """Whether a folder holds an adapter and no model."""
    return (folder / CONFIG).is_file() and not (folder / "config.json").is_file()


def base_name(folder: Path) -> str:
    """Return the name of the model that a folder's adapter belongs to. Raises ModelError where it has none."""
    name = _record(folder).get("base_model_name_or_path")
    if not name or not isinstance(name, str):
        raise ModelError(
            f"{folder / CONFIG} does not say which model its adapter belongs to: "
            "write that model's folder or name into base_model_name_or_path"
        )
    return name


def write_adapter(model: Any, folder: Path) -> None:
    """Write a peft model's adapter into a folder that is there.

    Raises:
        ModelError: An adapter that is no LoRA.
    """
    peft, settings = peft_library(), adapter_config(model)
    if settings.peft_type != peft.PeftType.LORA:
        raise ModelError(f"only LoRA adapters can be saved, not {settings.peft_type}: take policy.merged()")
    tensors = peft.get_peft_model_state_dict(model, adapter_name=model.active_adapter, save_embedding_layers=False)
    record = settings.to_dict() | {"task_type": "CAUSAL_LM", "inference_mode": True}
    known = {name: sorted(value) if isinstance(value, set) else value for name, value in record.items()}
    plain = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    save_file(plain, folder / WEIGHTS, {"format": "pt"})
    write_json(folder / CONFIG, known)
    write_json(folder / BASE, sample_of_base(model))


def read_adapter(model: Any, folder: Path) -> Any:
    """Return a plain model with the adapter of a folder on it, ready to learn on.

    Args:
        model: The adapter's base, on the CPU; changed in place.
        folder: What `write_adapter` wrote, or peft, which tells nothing of the base.

    Raises:
        ModelError: The files are damaged or of another kind of adapter, or the adapter is of another base.
    """
    peft, name = peft_library(), type(model).__name__
    if _record(folder).get("peft_type") != "LORA":
        raise ModelError(f"the adapter in '{folder}' is no LoRA: merge it into its model first")
    try:
        settings = peft.PeftConfig.from_pretrained(str(folder))
        tensors = load_file(folder / WEIGHTS)
        sample = json.loads((folder / BASE).read_text(encoding="utf-8")) if (folder / BASE).exists() else None
    except _UNREADABLE as error:
        raise ModelError(f"the adapter in '{folder}' cannot be read: {one_line(error)}") from error
    base, settings.inference_mode = settings.base_model_name_or_path, False
    settings.megatron_config = None  # peft would import whatever module the file names beside it
    with torch.random.fork_rng(devices=[]):
        wrapped = wrap(model, settings)
    adapter_config(wrapped).base_model_name_or_path = base
    expected = peft.get_peft_model_state_dict(wrapped, save_embedding_layers=False)
    if wrong := _misfit(expected, tensors):
        raise ModelError(f"the adapter in '{folder}' does not fit its base '{base}' ({name}): {wrong}")
    if sample is not None and not _same_base(sample, sample_of_base(wrapped)):
        raise ModelError(
            f"the adapter in '{folder}' was trained on other weights than '{base}' holds now: "
            "put back the model that it began with, or train a new one"
        )
    peft.set_peft_model_state_dict(wrapped, tensors)
    return wrapped


def sample_of_base(model: Any) -> dict[str, Any]:
    """Return what tells a peft model's base from others: its number of weights, and one each of some matrices."""
    base = [weight for name, weight in model.named_parameters() if ".lora_" not in name and ".modules_to_" not in name]
    matrices = [weight for weight in base if weight.dim() > 1]
    count = min(SAMPLED, len(matrices))
    chosen = [matrices[place * len(matrices) // count] for place in range(count)]
    numbers = [float(weight.detach().reshape(-1)[weight.numel() // 2]) for weight in chosen]
    return {"parameters": sum(weight.numel() for weight in base), "numbers": numbers}


def _record(folder: Path) -> dict[str, Any]:
    """Return a folder's adapter_config.json."""
    try:
        record = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{folder / CONFIG} cannot be read: {one_line(error)}") from error
    if not isinstance(record, dict):
        raise ModelError(f"{folder / CONFIG} holds no adapter's settings")
    return record


def _misfit(expected: dict[str, torch.Tensor], found: dict[str, torch.Tensor]) -> str:
    """Return why tensors are not those of an adapter, or nothing."""
    if lacking := sorted(expected.keys() - found.keys()):
        return f"{len(lacking)} of its layers are not in the file (first: {lacking[0]})"
    if strange := sorted(found.keys() - expected.keys()):
        return f"{len(strange)} layers of the file are not in it (first: {strange[0]})"
    shapes = {name: (tuple(found[name].shape), tuple(value.shape)) for name, value in expected.items()}
    unlike = [f"{name} is {theirs}, not {ours}" for name, (theirs, ours) in sorted(shapes.items()) if theirs != ours]
    return f"{len(unlike)} layers have other shapes (first: {unlike[0]})" if unlike else ""


def _same_base(kept: Any, now: dict[str, Any]) -> bool:
    """Whether two samples are of one base, up to rounding."""
    numbers = kept.get("numbers") if isinstance(kept, dict) else None
    if not isinstance(numbers, list) or kept.get("parameters") != now["parameters"]:
        return False
    pairs = list(zip(numbers, now["numbers"], strict=False))
    return len(numbers) == len(now["numbers"]) and all(abs(a - b) <= ROUNDING * abs(a) + 1e-7 for a, b in pairs)
