"""Fixtures of the agent's tests: a machine without network or model cache, and one saved model."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest
import torch
from huggingface_hub import constants

from grpo_agents.policy import Policy
from tests.agents.tiny_models import BYTE_VOCAB, byte_tokenizer, fresh_model


@pytest.fixture
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


@pytest.fixture(params=["cpu", "cuda"])
def device(request) -> torch.device:
    """Each device that half precision has to be right on."""
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    return torch.device(request.param)


@pytest.fixture(scope="session")
def saved(tmp_path_factory) -> Path:
    folder: Path = tmp_path_factory.mktemp("saved") / "model"
    Policy(fresh_model("llama", BYTE_VOCAB), byte_tokenizer()).save(folder)
    return folder
