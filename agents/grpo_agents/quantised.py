"""8 bits for a CPU: linear layers whose weights are int8, each output with a scale of its own in float32.

    y = (x w8^T) * s + b        w8 whole numbers in [-127, 127], s = max|w| / 127 per output: symmetric, to nearest

Embeddings, the head and norms stay as they are. Where this machine has an exact int8 product, and the layer is large
enough to gain by it, x is rounded for each token as it comes ("dynamic quantisation") and the sums are whole numbers;
elsewhere the weights are turned to floats and multiplied. x is taken as two int8 digits, x = (x1 + x2 / 254) s_x:
one digit, as in arXiv 2208.07339 without its outliers, costs far more than the weights do where a few inputs are a
thousand times the others (model of 135 M parameters: divergence from float32 0.075 nats against 0.006), and two are
still faster than float32. Against torch's `quantize_dynamic`: deprecated, and its packed weights are no safetensors.

    int8.safetensors   all tensors; a layer's `weight` is int8 [N, K], and `scale` [N] float32 stands beside it

The file has a name of its own, so that a program that knows no such layers finds no weights instead of wrong ones.
"""

from __future__ import annotations

import copy
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn.functional import linear
from transformers import AutoConfig, AutoModelForCausalLM, GenerationConfig, PreTrainedModel
from transformers.initialization import no_init_weights
from transformers.pytorch_utils import Conv1D

from grpo_gym.errors import ModelError

FILE = "int8.safetensors"
LARGEST = 127
LARGE = 2**18
"""Weights from which on the int8 product gains more than rounding its inputs costs (measured: 512 x 512)."""
UNTRAINABLE = "a policy of 8-bit weights cannot be trained: train the policy it was exported from, and export again"
_auto_model: Any = AutoModelForCausalLM


class Int8Linear(nn.Module):
    """A linear layer of int8 weights.

    Args:
        weight: [N, K] int8.
        scale: [N] float32: a weight's value is `weight * scale`.
        bias: [N], or None.
    """

    def __init__(self, weight: Tensor, scale: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight, requires_grad=False)
        self.scale = nn.Parameter(scale, requires_grad=False)
        self.bias = None if bias is None else nn.Parameter(bias, requires_grad=False)

    @classmethod
    def of(cls, weight: Tensor, bias: Tensor | None) -> Int8Linear:
        """Return the layer nearest to a float one, of weight [N, K]. Raises ModelError for weights not finite."""
        if not weight.isfinite().all():
            raise ModelError("weights that are not finite (NaN or infinite) cannot be rounded to 8 bits")
        rounded, scale = rounded_rows(weight.detach().float())
        whole = rounded.to(torch.int8).contiguous()
        return cls(whole, scale[:, 0].contiguous(), None if bias is None else bias.detach().clone())

    def forward(self, x: Tensor) -> Tensor:
        """Return x [..., K] times the weights as [..., N], in x's type."""
        if x.requires_grad and torch.is_grad_enabled():
            raise ModelError(UNTRAINABLE)
        rows = x.reshape(-1, x.shape[-1]).float()
        whole = x.device.type == "cpu" and self.weight.numel() >= LARGE and exact_product()
        y = (whole_product(rows, self.weight) if whole else linear(rows, self.weight.float())) * self.scale
        if self.bias is not None:
            y += self.bias
        return y.to(x.dtype).view(*x.shape[:-1], len(self.scale))


def rounded_rows(rows: Tensor) -> tuple[Tensor, Tensor]:
    """Return each row [K] as whole numbers in [-127, 127], and what they are multiples of, [rows, 1]; float32."""
    sizes = _sizes(rows)
    return (rows / sizes).round_(), sizes


def whole_product(rows: Tensor, weight: Tensor) -> Tensor:
    """Return rows [M, K] times weight [N, K] int8 as [M, N] float32, rows rounded to two digits each of 8 bits."""
    sizes = _sizes(rows)
    rest = rows / sizes
    first = rest.round()
    second = rest.sub_(first).mul_(2 * LARGEST).round_()
    product: Tensor = torch._int_mm(first.to(torch.int8), weight.t()).float()
    product.add_(torch._int_mm(second.to(torch.int8), weight.t()), alpha=1 / (2 * LARGEST))
    return product.mul_(sizes)


def _sizes(rows: Tensor) -> Tensor:
    """Return a 127th of each row's largest entry, [rows, 1]; never 0, so that a row of zeros stays one."""
    sizes: Tensor = torch.linalg.vector_norm(rows, float("inf"), dim=-1, keepdim=True) / LARGEST
    return sizes.clamp_(min=torch.finfo(torch.float32).tiny)


@cache
def exact_product() -> bool:
    """Whether torch's int8 product can be used on this CPU: it is there, fast and exact.

    On processors without VNNI instructions it adds pairs in 16 bits, which overflow: silently wrong. So it is tried.
    """
    if not (hasattr(torch, "_int_mm") and torch.backends.mkldnn.is_available()):  # else a plain loop in its place
        return False
    generator = torch.Generator().manual_seed(0)
    weight = torch.randint(-LARGEST, LARGEST + 1, (64, 256), generator=generator).to(torch.int8)
    weight[0] = LARGEST
    for rows in (1, 4, 16, 64):
        x = torch.randint(-LARGEST, LARGEST + 1, (rows, 256), generator=generator).to(torch.int8)
        x[0] = LARGEST
        if not torch.equal(torch._int_mm(x, weight.t()).double(), x.double() @ weight.double().t()):
            return False
    return True


def quantise(model: PreTrainedModel) -> PreTrainedModel:
    """Return a copy of a model with its linear layers in 8 bits; what stays as it is is shared with the model.

    Only plain linear layers are replaced (`nn.Linear`, GPT-2's `Conv1D`), never the head.

    Raises:
        ModelError: It has no such layer, or weights that are not finite.
    """
    shared = {id(tensor): tensor for tensor in chain(model.parameters(), model.buffers())}
    copied: PreTrainedModel = copy.deepcopy(model, shared)
    untyped: Any = copied
    head = untyped.get_output_embeddings()
    made: dict[nn.Module, Int8Linear] = {}
    for parent in list(copied.modules()):
        for name, layer in list(parent.named_children()):
            if layer is not head and type(layer) in (nn.Linear, Conv1D):
                if layer not in made:
                    made[layer] = _of_layer(layer)
                setattr(parent, name, made[layer])
    if not made:
        raise ModelError(f"{type(model).__name__} has no plain linear layers that could be kept in 8 bits")
    return copied


def _of_layer(layer: Any) -> Int8Linear:
    return Int8Linear.of(layer.weight.t() if isinstance(layer, Conv1D) else layer.weight, layer.bias)


def is_quantised(model: nn.Module) -> bool:
    """Whether a model has 8-bit layers."""
    return any(isinstance(layer, Int8Linear) for layer in model.modules())


def check_trainable(model: nn.Module) -> None:
    """Raise ModelError for a model of 8-bit layers: rounding has no gradient."""
    if is_quantised(model):
        raise ModelError(UNTRAINABLE)


def write(model: PreTrainedModel, folder: Path) -> None:
    """Write a quantised model's tensors and configs into a folder; tensors that several names share, once."""
    save_file({name: tensor.contiguous() for name, tensor in _tensors(model).items()}, folder / FILE)
    model.config.architectures = [type(model).__name__]
    model.config.save_pretrained(folder)
    if model.generation_config is not None:
        model.generation_config.save_pretrained(folder)


def read(folder: Path, dtype: torch.dtype, *, trust_remote_code: bool = False) -> PreTrainedModel:
    """Return the model that `write` wrote; `dtype` is that of what is not in 8 bits.

    Raises:
        ModelError: Tensors are missing, left over, or of another shape.
    """
    tensors = load_file(folder / FILE)
    config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=trust_remote_code)
    with no_init_weights():
        model = _auto_model.from_config(config, dtype=torch.float32, trust_remote_code=trust_remote_code)
    for key, scale in tensors.items():
        name = key.removesuffix(".scale")
        weight = tensors.get(f"{name}.weight")
        if name != key and weight is not None and weight.dtype is torch.int8:
            parent, _, last = name.rpartition(".")
            setattr(model.get_submodule(parent), last, Int8Linear(weight, scale, tensors.get(f"{name}.bias")))
    model.load_state_dict(tensors, strict=False, assign=True)
    model.tie_weights()
    if odd := sorted(_tensors(model).keys() ^ tensors.keys()):
        raise ModelError(f"{FILE} in '{folder}' does not fit the model: {len(odd)} tensors differ (first: {odd[0]})")
    model.requires_grad_(False)
    for layer in model.modules():
        if not isinstance(layer, Int8Linear):
            for parameter in layer.parameters(recurse=False):
                parameter.data = parameter.data.to(dtype)
    if (folder / "generation_config.json").is_file():
        model.generation_config = GenerationConfig.from_pretrained(folder, local_files_only=True)
    model.train(False)
    loaded: PreTrainedModel = model
    return loaded


def _tensors(model: nn.Module) -> dict[str, Tensor]:
    """Return parameters and kept buffers by name; of names that share a tensor, the first."""
    parameters = dict(model.named_parameters())
    names = {name for name, _ in model.named_parameters(remove_duplicate=False)}
    buffers = {name: tensor for name, tensor in model.state_dict().items() if name not in names}
    return {name: tensor.detach() for name, tensor in (parameters | buffers).items()}
