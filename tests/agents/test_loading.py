"""Loading: what is wrong with a folder is said in one sentence, at once, and without the network."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from grpo_agents.loading import find_device, load, load_tokenizer
from grpo_agents.policy import Policy
from tests.agents.tiny_models import BYTE_VOCAB, byte_tokenizer, fresh_model, message_of, wrap

pytestmark = pytest.mark.usefixtures("no_network")
WORDS = ["<pad>", "<eos>", "<unk>", "seven", "plus", "is"]


@pytest.fixture
def folder(saved, tmp_path) -> Path:
    """A model folder that the test may damage."""
    return Path(shutil.copytree(saved, tmp_path / "model"))


def word_tokenizer(words: list[str], unknown: str | None = "<unk>") -> PreTrainedTokenizerFast:
    vocabulary = {word: place for place, word in enumerate(words)}
    backend = Tokenizer(models.WordLevel(vocabulary, unk_token=unknown or "<none>"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    special = {"pad_token": "<pad>", "eos_token": "<eos>", "unk_token": unknown}
    return wrap(backend, **special)


class TestTokenizer:
    @pytest.mark.parametrize("unknown", ["<unk>", None])
    def test_qwen2_config_beside_a_word_tokenizer_is_read_plainly(self, unknown, tmp_path, caplog):
        """The trap: transformers takes the class from the model's config, and that class drops words silently."""
        policy = Policy(fresh_model("qwen2"), word_tokenizer(WORDS, unknown))
        policy.save(tmp_path / "trap")
        text = "seven plus seven is"
        trapped = AutoTokenizer.from_pretrained(tmp_path / "trap", local_files_only=True)
        assert trapped(text)["input_ids"] != [3, 4, 3, 5]

        loaded = Policy.load(tmp_path / "trap", device="cpu")

        assert loaded.tokenizer(text)["input_ids"] == [3, 4, 3, 5]
        assert caplog.messages == [
            f"Qwen2Tokenizer disagrees with tokenizer.json in '{tmp_path / 'trap'}': read plainly"
        ]

    @pytest.mark.parametrize("architecture", ["llama", "qwen2", "qwen3", "gpt2", "gemma", "mistral"])
    def test_a_byte_tokenizer_survives_beside_any_config(self, architecture, tmp_path):
        policy = Policy(fresh_model(architecture, BYTE_VOCAB), byte_tokenizer())
        policy.save(tmp_path / "model")
        text = "Größe,  x\n\t日本 "

        loaded = load_tokenizer(tmp_path / "model")

        assert loaded(text, add_special_tokens=False) == policy.tokenizer(text, add_special_tokens=False)
        assert loaded.decode(loaded(text, add_special_tokens=False)["input_ids"]) == text

    def test_one_that_no_class_reads_as_the_file_says_is_refused(self, folder, monkeypatch):
        other = byte_tokenizer()
        other.backend_tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
        monkeypatch.setattr(AutoTokenizer, "from_pretrained", lambda *a, **k: other)
        monkeypatch.setattr(PreTrainedTokenizerFast, "from_pretrained", lambda *a, **k: other)

        assert message_of(load_tokenizer, folder) == (
            f"the tokenizer in '{folder}' encodes otherwise than its tokenizer.json: save it again"
        )

    def test_one_that_encodes_everything_to_nothing_is_refused(self, folder):
        word_tokenizer(["<pad>", "<eos>"], unknown=None).save_pretrained(folder)

        assert "encodes every sample text to nothing: its files do not fit" in message_of(load_tokenizer, folder)

    def test_none_at_all_is_refused(self, folder):
        (folder / "tokenizer.json").unlink()
        (folder / "tokenizer_config.json").unlink()

        assert f"the tokenizer in '{folder}' cannot be loaded:" in message_of(load_tokenizer, folder)

    def test_a_damaged_file_is_refused(self, folder):
        (folder / "tokenizer.json").write_text("{")

        assert f"the tokenizer in '{folder}' cannot be loaded:" in message_of(load_tokenizer, folder)


class TestModel:
    def test_dtype_and_device_on_the_cpu(self, folder):
        model, _ = load(folder, device="cpu")

        assert model.dtype == torch.float32
        assert model.device.type == "cpu"
        assert load(folder, device="cpu", dtype=torch.bfloat16)[0].dtype == torch.bfloat16

    def test_auto_device_is_cuda_where_there_is_one(self):
        assert find_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")

    def test_an_unknown_device_is_refused(self):
        assert "device 'warp' cannot be used" in message_of(find_device, "warp")
        assert message_of(find_device, "warp").endswith("try 'auto' or 'cpu'")

    def test_missing_weights_are_refused_rather_than_drawn_at_random(self, folder):
        weights = load_file(folder / "model.safetensors")
        del weights["model.layers.1.mlp.up_proj.weight"]
        save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})

        text = message_of(load, folder, device="cpu")

        assert "lack 1 weights of the model (first: model.layers.1.mlp.up_proj.weight), which would be random" in text

    def test_weights_of_another_size_are_refused(self, folder):
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | {"intermediate_size": 40}))

        assert f"the model in '{folder}' cannot be loaded:" in message_of(load, folder, device="cpu")

    def test_a_damaged_file_is_refused(self, folder):
        (folder / "model.safetensors").write_bytes(b"not safetensors")

        assert f"the model in '{folder}' cannot be loaded:" in message_of(load, folder, device="cpu")

    def test_no_weights(self, folder):
        (folder / "model.safetensors").unlink()

        assert message_of(load, folder) == (
            f"'{folder}' has no *.safetensors weights: save the model with save_pretrained first"
        )

    def test_no_config(self, folder):
        (folder / "config.json").unlink()

        assert message_of(load, folder) == f"'{folder}' is no model folder: it has no config.json"

    def test_the_models_own_code_does_not_run_unasked(self, folder):
        (folder / "own.py").write_text("raise SystemExit('the code ran')")
        config = json.loads((folder / "config.json").read_text())
        own = {"model_type": "own", "auto_map": {"AutoConfig": "own.C", "AutoModelForCausalLM": "own.M"}}
        (folder / "config.json").write_text(json.dumps(config | own))

        assert "trust_remote_code" in message_of(load, folder, device="cpu")
