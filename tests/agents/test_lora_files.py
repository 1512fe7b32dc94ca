"""An adapter's folder: nothing of the base in it, read by peft and from peft, and never put on another base."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from grpo_agents.adapter_files import BASE, CONFIG, WEIGHTS, base_name, is_adapter, sample_of_base
from grpo_agents.config import Lora
from grpo_agents.embedded import FOLDER
from grpo_agents.loading import adapter_chain
from grpo_agents.policy import Policy
from tests.agents.adapters import adapted, learned, plain_policy, said, stirred
from tests.agents.runs import identical, weights
from tests.agents.tiny_models import BYTE_VOCAB, byte_tokenizer, fresh_model, message_of

pytestmark = pytest.mark.usefixtures("no_network")


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """The folder of a plain policy."""
    plain_policy().save(tmp_path / "base")
    return tmp_path / "base"


@pytest.fixture
def policy(base) -> Policy:
    """A policy on it with an adapter that says something."""
    return stirred(Policy.load(base, device="cpu").adapted(Lora(rank=4)))


@pytest.fixture
def folder(policy: Policy, tmp_path: Path) -> Path:
    """The adapter's folder."""
    policy.save(tmp_path / "adapter")
    return tmp_path / "adapter"


def rewrite(folder: Path, **fields: Any) -> None:
    """Change fields of an adapter_config.json."""
    record = json.loads((folder / CONFIG).read_text()) | fields
    (folder / CONFIG).write_text(json.dumps(record))


class TestWritten:
    def test_it_holds_the_adapter_and_the_tokenizer_and_no_weight_of_the_base(self, folder, base, policy):
        tensors = load_file(folder / WEIGHTS)

        assert sorted(path.name for path in folder.iterdir()) == [
            CONFIG,
            WEIGHTS,
            BASE,
            "tokenizer.json",
            "tokenizer_config.json",
        ]
        assert sum(value.numel() for value in tensors.values()) == sum(v.numel() for v in learned(policy).values())
        assert all(".lora_A." in name or ".lora_B." in name for name in tensors)
        assert is_adapter(folder)
        assert not is_adapter(base)

    def test_it_names_its_base_and_no_other_place(self, folder, base, monkeypatch, tmp_path):
        record = json.loads((folder / CONFIG).read_text())
        monkeypatch.chdir(base.parent)
        Policy.load("base", device="cpu").adapted(Lora(rank=4)).save(tmp_path / "named")

        assert record["base_model_name_or_path"] == str(base)
        assert (record["peft_type"], record["task_type"], record["r"], record["lora_alpha"]) == (
            "LORA",
            "CAUSAL_LM",
            4,
            8,
        )
        assert base_name(tmp_path / "named") == "base"
        assert str(base) not in (tmp_path / "named" / CONFIG).read_text()

    def test_the_same_adapter_gives_the_same_bytes(self, folder, policy, tmp_path):
        policy.save(tmp_path / "again")

        for name in (CONFIG, WEIGHTS, BASE):
            assert (folder / name).read_bytes() == (tmp_path / "again" / name).read_bytes()
        targets = json.loads((folder / CONFIG).read_text())["target_modules"]
        assert targets == sorted(targets)

    def test_the_shipped_policy_is_named_and_not_where_it_lies(self, tmp_path):
        names: tuple[str | Path, ...] = ("embedded", FOLDER, str(FOLDER))
        for place, name in enumerate(names):
            Policy.load(name, device="cpu").adapted(Lora(rank=1)).save(tmp_path / str(place))

            assert base_name(tmp_path / str(place)) == "embedded"
            assert Policy.load(tmp_path / str(place), device="cpu").name == str(tmp_path / str(place))

    def test_an_adapter_of_another_kind_is_not_written(self, tmp_path):
        peft: Any = pytest.importorskip("peft")
        settings = peft.IA3Config(target_modules=["q_proj"], feedforward_modules=[])
        with pytest.warns(FutureWarning, match="is_gradient_checkpointing"):
            policy = Policy(peft.get_peft_model(plain_policy().model, settings), byte_tokenizer())

        assert "only LoRA adapters can be saved" in message_of(policy.save, tmp_path / "ia3")
        assert not (tmp_path / "ia3").exists()


class TestRead:
    @pytest.mark.parametrize("name", ["llama tied", "gpt2", "gemma", "phi"])
    def test_it_comes_back_bit_for_bit_and_goes_on_learning(self, name, tmp_path):
        plain_policy(name).save(tmp_path / "base")
        policy = stirred(Policy.load(tmp_path / "base", device="cpu").adapted(Lora(rank=3, alpha=5.0)))
        policy.save(tmp_path / "adapter")
        state = torch.get_rng_state()
        loaded = Policy.load(tmp_path / "adapter", device="cpu")

        assert torch.equal(torch.get_rng_state(), state)
        assert torch.equal(said(loaded), said(policy))
        assert identical(learned(loaded), learned(policy))
        assert identical(weights(loaded), weights(policy))
        assert not any(module.training for module in loaded.model.modules())

    def test_peft_alone_reads_it_the_same(self, folder, base, policy):
        peft: Any = pytest.importorskip("peft")
        with pytest.warns(FutureWarning, match="is_gradient_checkpointing"):
            model = peft.PeftModel.from_pretrained(Policy.load(base, device="cpu").model, folder)

        assert torch.equal(said(Policy(model, byte_tokenizer())), said(policy))

    @pytest.mark.parametrize("variant", [{}, {"use_rslora": True}, {"use_dora": True}, {"lora_dropout": 0.1}])
    def test_one_that_peft_wrote_is_read(self, variant, base, tmp_path):
        peft: Any = pytest.importorskip("peft")
        settings = peft.LoraConfig(r=2, target_modules=["q_proj", "down_proj"], task_type="CAUSAL_LM", **variant)
        with pytest.warns(FutureWarning, match="is_gradient_checkpointing"):
            model = peft.get_peft_model(Policy.load(base, device="cpu").model, settings)
        policy = stirred(Policy(model, byte_tokenizer()))
        model.save_pretrained(tmp_path / "theirs")  # no tokenizer beside it: the base's is taken

        loaded = Policy.load(tmp_path / "theirs", device="cpu")
        assert torch.equal(said(loaded), said(policy))
        assert torch.allclose(said(loaded.merged()), said(policy), atol=1e-4)

    def test_a_bfloat16_base_keeps_the_adapter_in_float32(self, folder, policy):
        loaded = Policy.load(folder, device="cpu", dtype=torch.bfloat16)

        assert loaded.model.dtype == torch.bfloat16
        assert identical(learned(loaded), learned(policy))

    def test_the_base_may_be_in_the_local_cache_under_its_hub_name(self, base, folder, tmp_path):
        root = tmp_path / "cache" / "models--org--model"
        (root / "refs").mkdir(parents=True)
        (root / "refs" / "main").write_text("abc")
        shutil.move(base, root / "snapshots" / "abc")
        rewrite(folder, base_model_name_or_path="org/model")

        assert adapter_chain(folder) == [folder, root / "snapshots" / "abc"]
        assert torch.isfinite(said(Policy.load(folder, device="cpu"))).all()

    def test_an_adapter_in_the_cache_is_found_too(self, folder, policy, tmp_path):
        root = tmp_path / "cache" / "models--org--adapter"
        (root / "refs").mkdir(parents=True)
        (root / "refs" / "main").write_text("abc")
        shutil.copytree(folder, root / "snapshots" / "abc")

        assert torch.equal(said(Policy.load("org/adapter", device="cpu")), said(policy))

    def test_an_adapter_on_an_adapter_stands_on_what_the_first_made_of_the_model(self, folder, policy, tmp_path):
        second = Policy.load(folder, device="cpu").merged()
        second.name = str(folder)
        second = stirred(second.adapted(Lora(rank=2)), seed=7)
        second.save(tmp_path / "second")

        loaded = Policy.load(tmp_path / "second", device="cpu")
        assert len(adapter_chain(tmp_path / "second")) == 3
        assert torch.equal(said(loaded), said(second))
        assert not torch.allclose(said(loaded), said(policy), atol=0.3)


class TestRefusals:
    def test_a_base_that_is_not_here_is_told_and_the_hub_is_not_asked(self, folder, monkeypatch):
        def ask(*args: Any) -> Path:
            raise AssertionError("the hub was asked")

        monkeypatch.setattr("grpo_agents.hub._download", ask)
        rewrite(folder, base_model_name_or_path="org/far-away")

        assert message_of(Policy.load, folder) == (
            f"the adapter in '{folder}' belongs to the model 'org/far-away', which is not here: get it, or write where "
            "it is into base_model_name_or_path of adapter_config.json"
        )

    @pytest.mark.parametrize("name", [None, "", 7, ["a"]])
    def test_one_without_a_base_says_where_to_name_it(self, folder, name):
        rewrite(folder, base_model_name_or_path=name)

        assert "does not say which model its adapter belongs to: write" in message_of(Policy.load, folder)

    def test_a_policy_that_was_not_loaded_has_no_base(self, tmp_path):
        adapted().save(tmp_path / "adapter")

        assert "does not say which model" in message_of(Policy.load, tmp_path / "adapter")

    def test_one_that_is_its_own_base_ends(self, folder, tmp_path):
        shutil.copytree(folder, tmp_path / "other")
        rewrite(folder, base_model_name_or_path=str(tmp_path / "other"))
        rewrite(tmp_path / "other", base_model_name_or_path=str(folder / ".." / folder.name))

        assert "names itself as the model that it belongs to" in message_of(Policy.load, folder)

    def test_a_base_of_other_shapes(self, folder, base):
        Policy(fresh_model("llama", BYTE_VOCAB, intermediate_size=40), byte_tokenizer()).save(base)

        assert message_of(Policy.load, folder, device="cpu").startswith(
            f"the adapter in '{folder}' does not fit its base '{base}' (LlamaForCausalLM): 6 layers have other shapes "
            "(first: base_model.model.model.layers.0.mlp.down_proj.lora_A.weight is (4, 48), not (4, 40))"
        )

    @pytest.mark.parametrize(
        ("layers", "told"), [(1, "14 layers of the file are not in it"), (3, "was trained on other weights than")]
    )
    def test_a_base_with_fewer_or_more_layers(self, folder, base, layers, told):
        Policy(fresh_model("llama", BYTE_VOCAB, num_hidden_layers=layers), byte_tokenizer()).save(base)

        assert told in message_of(Policy.load, folder, device="cpu")

    def test_a_base_with_another_vocabulary(self, folder, base):
        Policy(fresh_model("llama", BYTE_VOCAB + 8), byte_tokenizer()).save(base)

        assert "was trained on other weights than" in message_of(Policy.load, folder, device="cpu")

    def test_a_base_of_the_same_make_that_learned_something_else(self, folder, base):
        other = plain_policy()
        with torch.no_grad():
            for parameter in other.model.parameters():
                parameter.mul_(1.02)
        other.save(base)

        assert message_of(Policy.load, folder, device="cpu") == (
            f"the adapter in '{folder}' was trained on other weights than '{base}' holds now: put back the model that "
            "it began with, or train a new one"
        )

    def test_a_base_that_was_saved_as_bfloat16_is_the_same_base(self, folder, base, policy):
        plain_policy(dtype=torch.bfloat16).save(base)

        assert torch.allclose(said(Policy.load(folder, device="cpu")), said(policy), atol=0.5)

    def test_damaged_weights(self, folder):
        (folder / WEIGHTS).write_bytes(b"\x00" * 40)

        assert message_of(Policy.load, folder, device="cpu").startswith(f"the adapter in '{folder}' cannot be read: ")

    def test_no_weights(self, folder):
        (folder / WEIGHTS).unlink()

        assert message_of(Policy.load, folder, device="cpu").startswith(f"the adapter in '{folder}' cannot be read: ")

    def test_weights_that_lack_a_layer(self, folder):
        tensors = load_file(folder / WEIGHTS)
        tensors.pop(max(tensors))
        save_file(tensors, folder / WEIGHTS)

        assert "1 of its layers are not in the file" in message_of(Policy.load, folder, device="cpu")

    @pytest.mark.parametrize("text", ["{", "[]", "7", '{"parameters": 1}', '{"numbers": "all"}'])
    def test_damaged_words_about_the_base(self, folder, text):
        (folder / BASE).write_text(text)

        assert message_of(Policy.load, folder, device="cpu").startswith(f"the adapter in '{folder}' ")

    @pytest.mark.parametrize("text", ["{", "[]", "null", '"LORA"'])
    def test_damaged_settings(self, folder, text):
        (folder / CONFIG).write_text(text)

        assert str(folder / CONFIG) in message_of(Policy.load, folder)

    @pytest.mark.parametrize("kind", ["IA3", "PROMPT_TUNING", "nonsense", None])
    def test_another_kind_of_adapter(self, folder, kind):
        rewrite(folder, peft_type=kind)

        assert "is no LoRA: merge it into its model first" in message_of(Policy.load, folder, device="cpu")

    @pytest.mark.parametrize("fields", [{"r": 0}, {"r": -3}, {"r": "many"}, {"target_modules": ["nowhere"]}])
    def test_settings_that_peft_refuses(self, folder, fields):
        rewrite(folder, **fields)

        assert message_of(Policy.load, folder, device="cpu")

    def test_settings_import_no_module_by_its_name(self, folder, tmp_path, monkeypatch):
        (tmp_path / "planted.py").write_text("raise SystemExit('imported')")
        monkeypatch.syspath_prepend(str(tmp_path))
        rewrite(folder, megatron_config={"a": 1}, megatron_core="planted")
        Policy.load(folder, device="cpu")

        assert "planted" not in sys.modules


def test_the_sample_of_a_base_does_not_know_the_adapter(policy, folder):
    before = sample_of_base(policy.model)
    stirred(policy, seed=9)
    plain = plain_policy().model

    assert sample_of_base(policy.model) == before
    assert before["parameters"] == sum(p.numel() for p in plain.parameters())
    assert len(before["numbers"]) == sum(p.dim() > 1 for p in plain.parameters())
    assert sample_of_base(plain) == before
