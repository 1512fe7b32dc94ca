"""Loading: what is wrong with a folder is said in one sentence, at once, and without the network."""

from __future__ import annotations

import json
import shutil
import socket
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from huggingface_hub import constants
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from grpo_agents import hub
from grpo_agents.hub import find_folder, within
from grpo_agents.loading import find_device, load, load_tokenizer
from grpo_agents.policy import Policy
from grpo_gym.errors import ModelError
from tests.agents.tiny_models import BYTE_VOCAB, byte_tokenizer, fresh_model, wrap

WORDS = ["<pad>", "<eos>", "<unk>", "seven", "plus", "is"]


@pytest.fixture(autouse=True)
def no_network(monkeypatch, tmp_path):
    """Whatever leaves this machine fails the test; the model cache is empty."""

    def refuse(self: socket.socket, address: Any) -> None:
        if address[0] != "127.0.0.1":
            raise AssertionError(f"the test reached for the network: {address}")
        return connect(self, address)

    def look_up(host: Any, *args: Any, **kwargs: Any) -> Any:
        if host != "127.0.0.1":
            raise AssertionError(f"the test looked up {host}")
        return getaddrinfo(host, *args, **kwargs)

    connect, getaddrinfo = socket.socket.connect, socket.getaddrinfo
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> Path:
    folder: Path = tmp_path_factory.mktemp("saved") / "model"
    Policy(fresh_model("llama", BYTE_VOCAB), byte_tokenizer()).save(folder)
    return folder


@pytest.fixture
def folder(saved, tmp_path) -> Path:
    """A model folder that the test may damage."""
    return Path(shutil.copytree(saved, tmp_path / "model"))


def message_of(call: Any, *args: Any, **kwargs: Any) -> str:
    """Return the text of the ModelError that the call raises; it must be one line."""
    with pytest.raises(ModelError) as caught:
        call(*args, **kwargs)
    text = str(caught.value)
    assert "\n" not in text
    return text


def word_tokenizer(words: list[str], unknown: str | None = "<unk>") -> PreTrainedTokenizerFast:
    vocabulary = {word: place for place, word in enumerate(words)}
    backend = Tokenizer(models.WordLevel(vocabulary, unk_token=unknown or "<none>"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    special = {"pad_token": "<pad>", "eos_token": "<eos>", "unk_token": unknown}
    return wrap(backend, **special)


class TestTokenizer:
    def test_qwen2_config_beside_a_word_tokenizer_is_read_plainly(self, tmp_path, caplog):
        """The trap: transformers takes the class from the model's config, and that class drops words silently."""
        policy = Policy(fresh_model("qwen2"), word_tokenizer(WORDS))
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

        assert "cannot be loaded" in message_of(load_tokenizer, folder) or "is no tokenizer file" in message_of(
            load_tokenizer, folder
        )


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


class TestFinding:
    @pytest.mark.parametrize("name", ["/nowhere/at/all", "./runs/best", "a/b/c", "~/no such folder"])
    def test_a_missing_folder_is_one_line_at_once(self, name):
        start = time.perf_counter()

        text = message_of(Policy.load, name)

        assert text == (
            f"no model folder at '{name}': "
            "give the folder of a model (config.json, *.safetensors, tokenizer), or download it first"
        )
        assert time.perf_counter() - start < 1

    def test_a_missing_path_object_never_means_the_hub(self):
        assert message_of(find_folder, Path("org/model")).startswith("no model folder at 'org/model':")

    @pytest.mark.parametrize("switch", ["HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"])
    def test_offline_switches_are_respected(self, switch, monkeypatch):
        monkeypatch.setenv(switch, "1")

        assert message_of(Policy.load, "org/model").startswith(
            "'org/model' is no folder, not in the local cache, and the hub is switched off: give the folder"
        )

    def test_the_local_cache_is_read_without_the_network(self, saved, tmp_path):
        root = tmp_path / "cache" / "models--org--model"
        (root / "refs").mkdir(parents=True)
        (root / "refs" / "main").write_text("abc")
        shutil.copytree(saved, root / "snapshots" / "abc")

        assert find_folder("org/model") == root / "snapshots" / "abc"
        assert Policy.load("org/model", device="cpu").context == 64

    def test_a_hub_that_refuses_is_one_line_and_announced(self, monkeypatch, caplog):
        with socket.socket() as server:
            server.bind(("127.0.0.1", 0))
            endpoint = f"http://127.0.0.1:{server.getsockname()[1]}"
        monkeypatch.setattr(constants, "ENDPOINT", endpoint)

        text = message_of(Policy.load, "org/model")

        assert text.startswith("'org/model' is no folder, and the hub did not give it (")
        assert caplog.messages[0] == (
            f"'org/model' is no folder and not in the local cache: asking the hub at {endpoint}"
        )

    def test_a_hub_that_never_answers_is_given_up_soon(self, monkeypatch):
        monkeypatch.setattr(hub, "HUB_WAIT_S", 0.3)
        start = time.perf_counter()
        with socket.socket() as server:
            server.bind(("127.0.0.1", 0))
            server.listen()
            monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{server.getsockname()[1]}")

            text = message_of(Policy.load, "org/model")

        assert time.perf_counter() - start < 5
        assert "give the folder of a model" in text


def test_within_returns_raises_and_gives_up():
    assert within(5.0, lambda: 3) == 3
    with pytest.raises(ZeroDivisionError):
        within(5.0, lambda: 1 / 0)
    with pytest.raises(TimeoutError, match=r"no answer within 0\.05 s"):
        within(0.05, lambda: time.sleep(0.5))
