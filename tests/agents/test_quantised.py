"""Eight-bit layers: how far they may be off, that both ways of multiplying agree, and what is written and refused."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import AutoModelForCausalLM
from transformers.pytorch_utils import Conv1D

from grpo_agents import quantised
from grpo_agents.config import SFTConfig, TrainConfig
from grpo_agents.embedded import FOLDER
from grpo_agents.grpo import GRPO
from grpo_agents.policy import Policy
from grpo_agents.quantised import Int8Linear, exact_product, quantise, whole_product
from grpo_agents.sft import sft
from grpo_agents.train import train
from grpo_gym.errors import ModelError
from tests.agents.tiny_models import ARCHITECTURES, BYTE_VOCAB, byte_tokenizer, fresh_model, message_of, random_prompts

ROWS_MOST = 70
UNTRAINABLE = "a policy of 8-bit weights cannot be trained: train the policy it was exported from, and export again"


def random_layer(inputs: int, outputs: int, seed: int, zero_rows: bool) -> tuple[Tensor, Tensor]:
    """Return weight [N, K] of unlike rows, some of them 0, and a bias [N]."""
    generator = torch.Generator().manual_seed(seed)
    weight = torch.randn(outputs, inputs, generator=generator) * 10 ** torch.randint(
        -6, 4, (outputs, 1), generator=generator
    )
    if zero_rows:
        weight[::3] = 0
    return weight, torch.randn(outputs, generator=generator)


def random_input(rows: int, inputs: int, seed: int, outlier: float) -> Tensor:
    """Return x [M, K]: one row of zeros, one tiny, and in each other row one input `outlier` times the others."""
    generator = torch.Generator().manual_seed(seed + 1)
    x = torch.randn(rows, inputs, generator=generator)
    x[:, inputs // 2] *= outlier
    x[0] = 0
    x[-1] *= 1e-30
    return x


def second_weight(weight: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Return whole numbers and scales by numpy: a second way to the same."""
    values = weight.double().numpy()
    scale = np.maximum(np.abs(values).max(1), 127 * np.finfo(np.float32).tiny) / 127
    return np.rint(values / scale[:, None]), scale


def quantised_policy(architecture: str, **changes: object) -> Policy:
    return Policy(quantise(fresh_model(architecture, BYTE_VOCAB + 8, **changes)), byte_tokenizer())


@cache
def embedded() -> Policy:
    return Policy.load(FOLDER, device="cpu")


class TestLayer:
    @settings(max_examples=40)
    @given(
        rows=st.integers(1, ROWS_MOST),
        inputs=st.sampled_from([1, 7, 64, 600]),
        outputs=st.sampled_from([1, 9, 128, 500]),
        outlier=st.sampled_from([1.0, 30.0, 1e4, 1e12]),
        dtype=st.sampled_from([torch.float32, torch.bfloat16]),
        zero_rows=st.booleans(),
        seed=st.integers(0, 9),
    )
    def test_no_output_is_off_by_more_than_rounding_explains(
        self, rows, inputs, outputs, outlier, dtype, zero_rows, seed
    ):
        weight, bias = random_layer(inputs, outputs, seed, zero_rows)
        x = random_input(rows, inputs, seed, outlier).to(dtype)

        y = Int8Linear.of(weight, bias)(x)

        whole, scale = second_weight(weight)
        exact = x.double().numpy() @ weight.double().numpy().T
        of_weights = np.abs(x.double().numpy()).sum(1)[:, None] * scale / 2
        step = np.abs(x.double().numpy()).max(1)[:, None] / 127 / 254 / 2
        of_inputs = step * (np.abs(whole).sum(1) * scale)
        bound = of_weights + of_inputs + 1e-5 * (np.abs(exact) + of_weights)
        rounding = 2.0**-8 if dtype is torch.bfloat16 else 1e-6
        allowed = bound * 1.01 + rounding * (np.abs(exact + bias.numpy()) + bound + np.abs(bias.numpy()))
        assert y.dtype is dtype
        assert (np.abs(y.double().numpy() - exact - bias.double().numpy()) <= allowed).all()

    def test_weights_are_those_of_a_second_implementation(self):
        weight, _ = random_layer(80, 60, 3, zero_rows=True)

        layer = Int8Linear.of(weight, None)

        whole, scale = second_weight(weight)
        assert (
            np.abs(layer.weight.numpy() - whole) <= (np.abs(weight.numpy() / scale[:, None] % 1 - 0.5) < 1e-4)
        ).all()
        np.testing.assert_allclose(layer.scale.numpy(), scale, rtol=1e-6)

    @pytest.mark.skipif(not exact_product(), reason="this processor has no exact int8 product")
    @pytest.mark.parametrize("rows", [1, 2, 17, 64])
    def test_the_int8_product_and_plain_floats_agree(self, rows):
        weight, _ = random_layer(600, 500, 0, zero_rows=False)
        layer, x = Int8Linear.of(weight, None), random_input(rows + 2, 600, 0, 1e4)

        product = whole_product(x, layer.weight)

        exact = x.double() @ layer.weight.double().t()
        step = x.double().abs().amax(1, keepdim=True) / 127 / 254 / 2
        assert ((product - exact).abs() <= 1.01 * step * layer.weight.double().abs().sum(1) + 1e-5 * exact.abs()).all()

    def test_a_processor_whose_int8_product_overflows_does_not_use_it(self):
        """Held to AVX2 the product adds in 16 bits; the layer must then take floats, and be right."""
        code = (
            "import torch; from grpo_agents.quantised import Int8Linear, exact_product\n"
            "torch.manual_seed(0); w, x = torch.randn(600, 600), torch.randn(3, 600)\n"
            "gap = (Int8Linear.of(w, None)(x) - x @ w.t()).abs().max() / (x @ w.t()).abs().max()\n"
            "print(exact_product(), gap.item() < 0.01)"
        )
        held = {**os.environ, "DNNL_MAX_CPU_ISA": "AVX2", "ONEDNN_MAX_CPU_ISA": "AVX2"}
        run = subprocess.run([sys.executable, "-c", code], env=held, capture_output=True, text=True, timeout=120)

        assert run.stdout == "False True\n", run.stderr

    def test_no_rows_give_no_rows(self):
        assert Int8Linear.of(torch.randn(600, 600), None)(torch.zeros(0, 600)).shape == (0, 600)

    def test_what_is_not_finite_stays_so(self):
        layer = Int8Linear.of(torch.randn(600, 600), None)
        x = torch.ones(3, 600)
        x[1, 5] = torch.nan
        y = layer(x)

        assert y[1].isnan().all()
        assert y[[0, 2]].isfinite().all()

    def test_weights_that_are_not_finite_are_refused(self):
        weight = torch.ones(3, 4)
        weight[1, 1] = torch.inf

        assert message_of(Int8Linear.of, weight, None) == (
            "weights that are not finite (NaN or infinite) cannot be rounded to 8 bits"
        )


class TestModel:
    @pytest.mark.parametrize("architecture", ARCHITECTURES)
    def test_what_was_written_loads_bit_for_bit(self, architecture, tmp_path):
        policy = quantised_policy(architecture)
        policy.save(tmp_path / "first")

        loaded = Policy.load(tmp_path / "first", device="cpu")
        loaded.save(tmp_path / "second")

        ids = torch.tensor(random_prompts([20]))
        with torch.no_grad():
            assert torch.equal(policy.model(input_ids=ids).logits, loaded.model(input_ids=ids).logits)
        assert loaded.eos_ids == policy.eos_ids
        first, second = (tmp_path / name / quantised.FILE for name in ("first", "second"))
        assert first.read_bytes() == second.read_bytes()

    @pytest.mark.parametrize("tied", [True, False])
    @pytest.mark.parametrize("architecture", ["llama", "gpt2"])
    def test_head_and_embeddings_stay_and_all_other_linear_layers_go(self, architecture, tied, tmp_path):
        model = fresh_model(architecture, BYTE_VOCAB, tie_word_embeddings=tied)
        small = quantise(model)
        Policy(small, byte_tokenizer()).save(tmp_path / "model")
        loaded = Policy.load(tmp_path / "model", device="cpu").model

        for kept in (small, loaded):
            left = [layer for layer in kept.modules() if type(layer) in (nn.Linear, Conv1D)]
            kept_untyped: Any = kept
            head, embeddings = kept_untyped.get_output_embeddings(), kept_untyped.get_input_embeddings()
            assert left == [head]
            assert (head.weight is embeddings.weight) == tied
            assert torch.equal(embeddings.weight, model.get_input_embeddings().weight)
            assert torch.equal(head.weight, model.get_output_embeddings().weight)

    def test_the_model_it_was_made_of_is_unchanged_and_can_be_trained(self):
        model = fresh_model("llama")
        before = {name: value.clone() for name, value in model.state_dict().items()}

        quantise(model)

        assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
        model(input_ids=torch.tensor([[5, 6]])).logits.sum().backward()
        assert all(parameter.grad is not None for parameter in model.parameters())

    def test_linear_weights_take_a_quarter_of_the_room(self, tmp_path):
        policy = Policy(quantise(embedded().model), embedded().tokenizer)
        policy.save(tmp_path / "model")

        tensors = load_file(tmp_path / "model" / quantised.FILE)
        count = sum(tensor.numel() for tensor in tensors.values() if tensor.dtype is torch.int8)
        others = sum(4 * t.numel() for t in embedded().model.parameters()) - 4 * count
        size = (tmp_path / "model" / quantised.FILE).stat().st_size
        assert count > 500_000
        assert size - others < 0.27 * 4 * count

    def test_bfloat16_is_for_what_is_not_in_8_bits(self, tmp_path):
        quantised_policy("llama").save(tmp_path / "model")

        model = Policy.load(tmp_path / "model", device="cpu", dtype=torch.bfloat16).model

        assert {value.dtype for name, value in model.named_parameters() if not name.endswith("scale")} == {
            torch.int8,
            torch.bfloat16,
        }
        assert {v.dtype for n, v in model.named_parameters() if n.endswith("scale")} == {torch.float32}
        with torch.no_grad():
            assert model(input_ids=torch.tensor([[5, 6]])).logits.dtype is torch.bfloat16

    def test_a_program_that_knows_no_such_layers_finds_no_weights(self, tmp_path):
        quantised_policy("llama").save(tmp_path / "model")

        with pytest.raises(OSError, match=r"no file named model\.safetensors"):
            AutoModelForCausalLM.from_pretrained(tmp_path / "model", local_files_only=True)

    def test_a_model_without_linear_layers_is_refused(self):
        model = fresh_model("llama", num_hidden_layers=0)

        assert message_of(quantise, model) == (
            "LlamaForCausalLM has no plain linear layers that could be kept in 8 bits"
        )

    def test_the_shipped_policy_hardly_changes(self):
        small = quantise(embedded().model)
        ids = torch.tensor([embedded().render([{"role": "user", "content": "Compute 7 + 5 - 3. Then 4 * x = 12."}])])

        with torch.no_grad():
            before, after = (model(input_ids=ids).logits[0].log_softmax(-1) for model in (embedded().model, small))

        divergence = (before.exp() * (before - after)).sum(-1).mean()
        assert 0 < divergence < 2e-3


class TestDamage:
    @pytest.fixture
    def folder(self, tmp_path) -> Path:
        quantised_policy("llama").save(tmp_path / "model")
        return Path(tmp_path / "model")

    @pytest.mark.parametrize("name", ["model.layers.0.mlp.up_proj.weight", "model.norm.weight"])
    def test_a_missing_tensor_is_named(self, folder, name):
        tensors = load_file(folder / quantised.FILE)
        del tensors[name]
        save_file(tensors, folder / quantised.FILE)

        assert "does not fit the model: " in (told := message_of(Policy.load, folder, device="cpu"))
        assert name.removesuffix("weight") in told

    def test_a_file_cut_short_is_one_line(self, folder):
        data = (folder / quantised.FILE).read_bytes()
        (folder / quantised.FILE).write_bytes(data[: len(data) // 2])

        assert message_of(Policy.load, folder, device="cpu").startswith(f"the model in '{folder}' cannot be loaded: ")

    def test_tensors_of_another_size_are_one_line(self, folder, tmp_path):
        quantised_policy("llama", intermediate_size=40, hidden_size=64).save(tmp_path / "other")
        shutil.copy(tmp_path / "other" / quantised.FILE, folder / quantised.FILE)

        assert message_of(Policy.load, folder, device="cpu").startswith(f"the model in '{folder}' cannot be loaded: ")


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> Path:
    folder = Path(tmp_path_factory.mktemp("small") / "model")
    quantised_policy("llama").save(folder)
    return folder


class TestTraining:
    def test_a_run_is_refused_before_it_has_a_folder(self, small, tmp_path):
        config = TrainConfig(model=str(small), out=str(tmp_path / "run"), device="cpu")

        assert message_of(train, config) == UNTRAINABLE
        assert not (tmp_path / "run").exists()

    def test_agent_and_warm_start_are_refused(self, small):
        policy = Policy.load(small, device="cpu")

        assert message_of(GRPO, policy) == UNTRAINABLE
        assert message_of(sft, policy, SFTConfig()) == UNTRAINABLE

    def test_a_gradient_through_rounding_is_refused(self):
        layer = Int8Linear.of(torch.randn(4, 4), None)

        assert message_of(layer, torch.ones(2, 4, requires_grad=True)) == UNTRAINABLE
        with torch.no_grad():
            layer(torch.ones(2, 4, requires_grad=True))

    def test_log_probs_need_no_gradient_switched_off(self, small):
        """A loaded policy's weights take no gradient, so that measuring with it needs no care."""
        policy = Policy.load(small, device="cpu")

        assert not any(parameter.requires_grad for parameter in policy.model.parameters())
        assert policy.model(input_ids=torch.tensor([[5, 6]])).logits.isfinite().all()


def test_the_error_is_the_family_that_the_command_line_prints():
    with pytest.raises(ModelError):
        quantised.check_trainable(Int8Linear.of(torch.ones(2, 2), None))
