"""Adapters on a model: they begin at nothing, stand where they should, learn alone, and fold into plain weights."""

from __future__ import annotations

import math
import sys
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from transformers import AutoModelForCausalLM

from grpo_agents.config import Lora
from grpo_agents.lora import adapter_rank, check_adapter, has_adapter, merged, resting, target_layers, twin
from grpo_agents.policy import Policy
from grpo_gym.errors import InvalidValueError, UnknownNameError
from tests.agents.adapters import GROUPS, MODELS, adapted, learned, plain_policy, said, stirred
from tests.agents.runs import identical, weights
from tests.agents.tiny_models import fresh_model, message_of, tiny_model

EVERY: dict[str, tuple[str, ...]] = {
    "llama": ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
}
EVERY |= {"gpt2": ("attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj")}
EVERY |= {"phi": ("q_proj", "k_proj", "v_proj", "dense", "fc1", "fc2")}


class TestStart:
    @pytest.mark.parametrize("name", MODELS)
    def test_a_fresh_adapter_changes_no_bit(self, name):
        assert torch.equal(said(adapted(name)), said(plain_policy(name)))

    def test_a_fresh_adapter_changes_no_bit_of_a_bfloat16_policy_either(self):
        assert torch.equal(said(adapted(dtype=torch.bfloat16)), said(plain_policy(dtype=torch.bfloat16)))

    def test_the_seed_decides_and_nothing_else(self):
        first = learned(plain_policy().adapted(Lora(rank=4), seed=1))
        torch.manual_seed(99)
        state = torch.get_rng_state()
        second = learned(plain_policy().adapted(Lora(rank=4), seed=1))
        other = learned(plain_policy().adapted(Lora(rank=4), seed=2))

        assert torch.equal(torch.get_rng_state(), state)
        assert identical(first, second)
        assert not identical(first, other)
        assert all(bool(value.any()) == ("lora_A" in name) for name, value in first.items())

    def test_only_the_adapter_learns_and_in_float32(self):
        policy = adapted(dtype=torch.bfloat16)
        found = learned(policy)

        assert len(found) == 2 * 2 * 7
        assert all("lora_" in name and value.dtype == torch.float32 for name, value in found.items())
        assert policy.model.dtype == torch.bfloat16
        assert not any(module.training for module in policy.model.modules())
        assert not any(isinstance(module, nn.Dropout) and module.p for module in policy.model.modules())


class TestScale:
    @settings(max_examples=10, deadline=None)
    @given(rank=st.integers(1, 40), alpha=st.sampled_from([0.0, 1.0, 7.5, 32.0]))
    def test_a_layer_adds_alpha_by_rank_times_b_a_x(self, rank, alpha):
        policy = stirred(plain_policy().adapted(Lora(rank=rank, alpha=alpha)))
        layer: Any = policy.model.get_submodule("base_model.model.model.layers.0.mlp.up_proj")
        a, b = layer.lora_A["default"].weight, layer.lora_B["default"].weight
        x = torch.randn(3, 32, generator=torch.Generator().manual_seed(rank))
        expected = x @ layer.base_layer.weight.T + (alpha or 2 * rank) / rank * (x @ a.T) @ b.T

        assert (tuple(a.shape), tuple(b.shape)) == ((rank, 32), (48, rank))
        assert adapter_rank(policy.model) == rank
        assert torch.allclose(layer(x), expected, atol=1e-4)


class TestTargets:
    @pytest.mark.parametrize("name", ["llama", "gpt2", "phi"])
    def test_all_linear_layers_but_the_head(self, name):
        policy = adapted(name)
        wrapped = {key.partition(".lora_A")[0] for key in learned(policy) if "lora_A" in key}

        assert len(wrapped) == 2 * len(EVERY[name])
        assert all(key.endswith(EVERY[name]) for key in wrapped)

    @pytest.mark.parametrize("name", MODELS)
    def test_they_are_those_that_peft_calls_all_linear(self, name):
        peft: Any = pytest.importorskip("peft")
        policy = plain_policy(name)
        ours = set(target_layers(policy.model))
        wrapper = peft.tuners.lora.LoraModel
        settings = peft.LoraConfig(target_modules="all-linear", fan_in_fan_out=name == "gpt2")
        model = wrapper(policy.model, settings, "default")
        theirs = {key for key, module in model.model.named_modules() if hasattr(module, "lora_A")}

        assert theirs == ours

    def test_named_ones_alone_by_the_end_of_their_names(self):
        model = tiny_model("llama")

        assert target_layers(model, ["q_proj"]) == [f"model.layers.{n}.self_attn.q_proj" for n in (0, 1)]
        assert target_layers(model, ["1.self_attn.q_proj", "0.mlp.up_proj"]) == [
            "model.layers.0.mlp.up_proj",
            "model.layers.1.self_attn.q_proj",
        ]
        assert target_layers(model, ["lm_head"]) == ["lm_head"]

    @pytest.mark.parametrize(
        ("target", "told"),
        [
            ("q_prj", "unknown layer in lora.targets 'q_prj'; did you mean 'q_proj'?"),
            ("proj", "unknown layer in lora.targets 'proj'; did you mean"),
            ("mlp", "unknown layer in lora.targets 'mlp'; known: down_proj, gate_proj, k_proj, lm_head"),
            ("", "unknown layer in lora.targets ''; known: down_proj"),
            ("embed_tokens", "unknown layer in lora.targets 'embed_tokens'"),
            (".*", "unknown layer in lora.targets '.*'; known"),
        ],
    )
    def test_one_that_does_not_exist_is_told_with_some_that_do(self, target, told):
        with pytest.raises(UnknownNameError) as caught:
            target_layers(tiny_model("llama"), ["q_proj", target])

        assert str(caught.value).startswith(told)

    def test_a_head_that_is_the_embedding_is_refused(self):
        """Folding it in would change what the model reads, too."""
        with pytest.raises(InvalidValueError, match="name lm_head, whose weights are another layer's too"):
            target_layers(plain_policy("llama tied").model, ["lm_head"])

    def test_a_model_without_linear_layers_is_refused(self, monkeypatch):
        monkeypatch.setattr("grpo_agents.lora.LINEAR", (nn.Bilinear,))

        assert message_of(target_layers, tiny_model("llama")).startswith("LlamaForCausalLM has no linear layers")


class TestRefusals:
    def test_without_peft_the_way_out_is_told(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "peft", None)

        assert message_of(plain_policy().adapted, Lora(rank=4)).startswith(
            "LoRA adapters need peft: pip install 'grpo-gym[lora]'"
        )

    def test_no_second_adapter(self):
        assert message_of(adapted().adapted, Lora(rank=4)) == (
            "the model has an adapter already: take merged() of it first"
        )

    def test_no_adapter_of_rank_0(self):
        with pytest.raises(InvalidValueError, match=r"lora.rank is 0, must be at least 1 for an adapter"):
            plain_policy().adapted(Lora())

    def test_what_peft_refuses_is_one_line(self, monkeypatch):
        peft: Any = pytest.importorskip("peft")

        def refuse(*args: Any, **kwargs: Any) -> None:
            raise ValueError("this\nwill not do")

        monkeypatch.setattr(peft, "get_peft_model", refuse)

        assert message_of(plain_policy().adapted, Lora(rank=4)) == (
            "no adapter can be put on LlamaForCausalLM: this will not do"
        )

    def test_a_config_that_asks_for_one_needs_a_policy_with_one(self):
        check_adapter(adapted().model, Lora(rank=4))
        check_adapter(plain_policy().model, Lora())
        with pytest.raises(InvalidValueError, match=r"lora\.rank is 4 and the policy has no adapter: give"):
            check_adapter(plain_policy().model, Lora(rank=4))


class TestMerged:
    @pytest.mark.parametrize("name", MODELS)
    def test_it_says_what_the_adapted_policy_says(self, name):
        policy = adapted(name, size=0.1)
        before, start = said(policy), said(plain_policy(name))
        kept = weights(policy)
        plain = policy.merged()

        assert not torch.allclose(before, start, atol=0.3)
        assert torch.allclose(said(plain), before, atol=1e-4)
        assert type(plain.model) is type(plain_policy(name).model)
        assert weights(plain).keys() == weights(plain_policy(name)).keys()
        assert not has_adapter(plain.model)
        assert identical(weights(policy), kept)
        assert torch.equal(said(policy), before)

    def test_its_weights_are_its_own_and_all_learn(self):
        policy = adapted(size=0.1)
        plain = policy.merged()
        before = said(policy)
        with torch.no_grad():
            for parameter in plain.model.parameters():
                parameter.zero_()

        assert torch.equal(said(policy), before)
        assert not resting(plain.model)
        assert all("lora_" in name for name, p in policy.model.named_parameters() if p.requires_grad)

    def test_a_tied_head_stays_tied(self):
        model = adapted("llama tied", size=0.1).merged().model

        assert model.get_output_embeddings().weight is model.get_input_embeddings().weight

    @pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
    def test_the_sum_is_rounded_once(self, dtype):
        """Elsewhere the product was rounded before it was added."""
        policy = adapted(size=0.1, dtype=dtype)
        layer: Any = policy.model.get_submodule("base_model.model.model.layers.1.mlp.up_proj")
        change = 2.0 * layer.lora_B["default"].weight @ layer.lora_A["default"].weight
        exact = (layer.base_layer.weight.double() + change.double()).to(dtype)
        twice = layer.base_layer.weight + change.to(dtype)
        found = policy.merged().model.get_submodule("model.layers.1.mlp.up_proj").weight

        assert found.dtype == dtype
        assert (found != exact).float().mean() < 1e-3  # a float32 sum may lie on the other side of a tie
        assert (twice != exact).float().mean() > 0.05

    def test_without_an_adapter_it_is_the_policy_itself(self):
        policy = plain_policy()

        assert policy.merged() is policy
        assert merged(policy.model) is policy.model

    def test_style_and_system_prompt_stay(self):
        policy = Policy(adapted().model, plain_policy().tokenizer, prompt_style="raw", system_prompt="Be brief.")
        plain = policy.merged()

        assert plain.render([{"role": "user", "content": "Hi"}]) == policy.render([{"role": "user", "content": "Hi"}])
        assert plain.prompting.system_prompt == "Be brief."

    @pytest.mark.parametrize("name", ["qwen2", "llama tied", "gpt2"])
    def test_its_folder_is_one_that_transformers_alone_reads(self, name, tmp_path):
        policy = adapted(name, size=0.1)
        policy.merged().save(tmp_path / "plain")
        auto: Any = AutoModelForCausalLM
        model = auto.from_pretrained(tmp_path / "plain", local_files_only=True)
        loaded = Policy(model, policy.tokenizer)

        assert not (tmp_path / "plain" / "adapter_config.json").exists()
        assert identical(weights(loaded), weights(policy.merged()))
        assert torch.allclose(said(loaded), said(policy), atol=1e-4)


class TestTwin:
    def test_it_shares_what_rests_and_copies_what_learns(self):
        policy = adapted(size=0.1)
        mine, other = dict(policy.model.named_parameters()), dict(twin(policy.model).named_parameters())

        assert mine.keys() == other.keys()
        assert all((mine[name] is other[name]) == (not mine[name].requires_grad) for name in mine)
        assert all(torch.equal(mine[name], other[name]) for name in mine)

    def test_of_a_plain_model_it_shares_nothing(self):
        model = fresh_model("gpt2")
        other = twin(model)

        assert not {id(p) for p in model.parameters()} & {id(p) for p in other.parameters()}
        assert other.get_output_embeddings().weight is other.get_input_embeddings().weight

    def test_it_is_a_policy_of_its_own(self):
        policy = adapted(size=0.1)
        other = Policy(twin(policy.model), policy.tokenizer)
        before = said(other)
        stirred(policy, seed=5)

        assert torch.equal(said(other), before)
        assert not torch.allclose(said(policy), before, atol=0.3)


def test_a_sampled_answer_has_the_log_probs_that_training_sees():
    policy = adapted("gpt2", size=0.1)
    drawn = policy.sample([GROUPS[0].prompt], 4, max_tokens=6, generator=torch.Generator().manual_seed(0))
    group = type(GROUPS[0])(GROUPS[0].prompt, [c.ids for c in drawn], [[True] * len(c.ids) for c in drawn])
    sampled = torch.tensor([value for c in drawn for value in c.logprobs])

    assert torch.allclose(policy.logprobs([group]), sampled, atol=1e-5)
    assert math.isfinite(float(sampled.sum()))
