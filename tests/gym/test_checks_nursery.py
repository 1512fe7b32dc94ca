"""Forked processes are as new as started ones: they share nothing with one another, and end with who asked for them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from grpo_gym.checks import nursery as module
from grpo_gym.checks.child import Key
from grpo_gym.checks.laboratory import Laboratory
from grpo_gym.checks.nursery import nursery
from grpo_gym.checks.subjects import Subject

WHERE = Subject.of("tests.gym.broken_processes:where")
DEEDS = Subject.of("tests.gym.broken_processes:task")
KEY = Key(0, "train", 1, 0)

PROGRAM = """
import os, sys, time
from grpo_gym.checks.laboratory import Laboratory
from grpo_gym.checks.child import Key
from grpo_gym.checks.subjects import Subject
with Laboratory(Subject.of("tests.gym.broken_processes:task")) as lab:
    [scored] = lab.score([(Key(0, "train", 1, 0), "7")])
    print(int(scored.components["pid"]), lab._child.nursery._process.pid, flush=True)
    time.sleep(60)
"""


def test_an_interpreter_is_kept_for_the_next_and_another_has_another_hash_seed() -> None:
    assert nursery(1) is nursery(1)
    assert nursery(1) is not nursery(2)


def test_children_draw_different_random_numbers_and_import_for_themselves(tmp_path: Path) -> None:
    draws = set()
    for name in ("one", "two"):
        source = "import numpy, random, sys\nSEEN = [m for m in ('first_one', 'first_two') if m in sys.modules]\n"
        source += "raise ValueError(f'{SEEN} {numpy.random.random()} {random.random()}')"
        (tmp_path / f"first_{name}.py").write_text(source)
        draws.add(_error_of(f"first_{name}", tmp_path))

    assert all(text.startswith(f"['first_{name}']") for text, name in zip(sorted(draws), ("one", "two"), strict=True))
    numbers = [number for text in draws for number in text.split("]")[1].split()]
    assert len(set(numbers)) == 4


def _error_of(name: str, folder: Path) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        with pytest.raises(Exception, match="ValueError") as caught, Laboratory(Subject.of(f"{name}:task")):
            pass
    return str(caught.value).partition("ValueError: ")[2]


def test_another_import_path_or_variable_is_another_interpreter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = nursery(1)
    monkeypatch.setenv("PYTHONWARNINGS", "ignore")
    other = nursery(1)
    assert other is not before
    monkeypatch.syspath_prepend(tmp_path)
    assert nursery(1) is not other


def test_a_laboratory_survives_that_another_interpreter_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    with Laboratory(DEEDS) as lab:
        monkeypatch.setenv("OMP_NUM_THREADS", "1")
        monkeypatch.setenv("PYTHONWARNINGS", "ignore")
        with Laboratory(DEEDS) as second:
            assert second.score([(KEY, "7")])[0].value == 0.0
        assert lab.score([(KEY, "7")])[0].fate == ""


def test_an_interpreter_that_is_gone_is_replaced() -> None:
    with Laboratory(DEEDS) as lab:
        process = nursery(1)._process  # asked for once: the next call may give its successor already
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        ended = lab.score([(KEY, "exit 1"), (KEY, "7")])
    assert ended[0].fate != ""
    assert ended[1].fate == ""


def test_children_end_with_the_process_that_asked_for_them_though_it_is_killed() -> None:
    process = subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    child, interpreter = map(int, process.stdout.readline().split())
    process.kill()
    process.wait()
    process.stdout.close()

    assert _ends(child)
    assert _ends(interpreter)


def test_a_child_that_does_not_end_in_time_has_no_exit_code(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        child = nursery(1).start(theirs.fileno(), str(tmp_path))
    assert child.wait(0.05) is None
    Connection(ours.detach()).close()
    assert child.wait(10.0) == 1  # it was told nothing, which is no way to begin
    assert child.pid not in nursery(1).living


def _ends(pid: int, patience: float = 10.0) -> bool:
    end = time.monotonic() + patience
    while time.monotonic() < end:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.02)
    return False


def test_the_import_path_is_that_of_the_process_that_asks() -> None:
    asked = nursery(1)
    [setup] = [setup for setup, kept in module._kept.items() if kept is asked]
    assert set(filter(None, sys.path)) <= set(setup.path)
