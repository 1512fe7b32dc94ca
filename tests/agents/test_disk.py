"""What a disk refuses is told in a sentence, files respect the umask, and one process has a run folder at a time."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors import SafetensorError

from grpo_agents.files import in_use, write_text, writing
from grpo_agents.optimizers import make_optimizer
from grpo_agents.run_folder import RunFolder
from grpo_agents.train import resume, train
from grpo_gym.errors import CheckpointError
from tests.agents.foreign_envs import WORD
from tests.agents.runs import babbler, learn, short


def test_a_file_may_be_read_by_whom_the_umask_lets(tmp_path):
    kept = os.umask(0o027)
    try:
        write_text(tmp_path / "a.txt", "text")
    finally:
        os.umask(kept)

    assert (tmp_path / "a.txt").stat().st_mode & 0o777 == 0o640


class TestWhatADiskRefuses:
    @pytest.mark.parametrize("place", ["file", "file/below"])
    def test_the_sentence_names_path_and_cause(self, tmp_path, place):
        (tmp_path / "file").touch()
        with pytest.raises(CheckpointError, match=rf"^cannot write {tmp_path / place}: Not a directory; choose anoth"):
            train(short(env=WORD, out=str(tmp_path / place)))

    def test_it_claims_no_checkpoints_that_are_not_there(self, tmp_path, monkeypatch):
        def full(*args: Any, **kwargs: Any) -> None:
            raise RuntimeError("[enforce fail at inline_container.cc:672]")

        monkeypatch.setattr(torch, "save", full)
        monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=4096))
        policy = babbler()
        folder = RunFolder(tmp_path / "run")
        with pytest.raises(CheckpointError, match=r"step-000001: No space left on device; free .* another disk$"):
            folder.save(1, policy, make_optimizer(policy, short()), {"best": None, "failures": []})

    def test_errors_of_safetensors_are_read_and_other_errors_pass(self, tmp_path):
        with pytest.raises(CheckpointError, match="No space left on device"), writing(tmp_path):
            raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")
        with pytest.raises(KeyError), writing(tmp_path):
            raise KeyError("mine")

    def test_a_log_line_that_does_not_fit_is_told(self, tmp_path):
        (tmp_path / "metrics.jsonl").symlink_to("/dev/full")
        with pytest.raises(CheckpointError, match=r"cannot write .*metrics.jsonl: No space left on device"):
            RunFolder(tmp_path).append("metrics.jsonl", [{"step": 1}])


class TestTwoOnOneFolder:
    HOLD = "import sys; from pathlib import Path; from grpo_agents.files import in_use\nwith in_use(Path(sys.argv[1])):"

    def test_the_second_is_told_and_changes_nothing_until_the_first_has_died(self, tmp_path):
        run = tmp_path / "run"
        learn(babbler(), short(env=WORD), path=run)
        code = f"{self.HOLD} print('held', flush=True); sys.stdin.read()"
        pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with subprocess.Popen([sys.executable, "-c", code, str(run)], **pipes) as other:
            assert other.stdout is not None
            assert other.stdout.readline() == b"held\n"
            before = (run / "metrics.jsonl").read_bytes()
            with pytest.raises(CheckpointError, match=rf"^{run} is in use by another process"):
                resume(run)
            with pytest.raises(CheckpointError, match="already holds a run"):
                train(short(env=WORD, out=str(run)))
            assert (run / "metrics.jsonl").read_bytes() == before
            other.kill()
        with in_use(run):
            pass
