"""From a name to a folder: at once, in one line, and never by the network in silence."""

from __future__ import annotations

import shutil
import socket
import time
from pathlib import Path

import pytest
from huggingface_hub import constants

from grpo_agents import hub
from grpo_agents.hub import find_folder, within
from grpo_agents.policy import Policy
from tests.agents.tiny_models import message_of

pytestmark = pytest.mark.usefixtures("no_network")


@pytest.mark.parametrize("name", ["/nowhere/at/all", "./best", "a/b/c", "~/no such folder", "two--dashes", ""])
def test_a_missing_folder_is_one_line_at_once(name):
    start = time.perf_counter()

    text = message_of(Policy.load, name)

    assert text == (
        f"no model folder at '{name}': "
        "give the folder of a model (config.json, *.safetensors, tokenizer), or download it first"
    )
    assert time.perf_counter() - start < 1


def test_a_missing_path_object_never_means_the_hub():
    assert message_of(find_folder, Path("org/model")).startswith("no model folder at 'org/model':")


@pytest.mark.parametrize("switch", ["HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"])
def test_offline_switches_are_respected(switch, monkeypatch):
    monkeypatch.setenv(switch, "1")

    assert message_of(Policy.load, "org/model").startswith(
        "'org/model' is no folder, not in the local cache, and the hub is switched off: give the folder"
    )


def test_the_local_cache_is_read_without_the_network(saved, tmp_path):
    root = tmp_path / "cache" / "models--org--model"
    (root / "refs").mkdir(parents=True)
    (root / "refs" / "main").write_text("abc")
    shutil.copytree(saved, root / "snapshots" / "abc")

    assert find_folder("org/model") == root / "snapshots" / "abc"
    assert Policy.load("org/model", device="cpu").context == 64


def test_a_hub_that_refuses_is_one_line_and_announced(monkeypatch, caplog):
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{server.getsockname()[1]}"
    monkeypatch.setattr(constants, "ENDPOINT", endpoint)

    text = message_of(Policy.load, "org/model")

    assert text.startswith("'org/model' is no folder, and the hub did not give it (")
    assert caplog.messages[0] == (f"'org/model' is no folder and not in the local cache: asking the hub at {endpoint}")


def test_a_hub_that_never_answers_is_given_up_soon(monkeypatch):
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
