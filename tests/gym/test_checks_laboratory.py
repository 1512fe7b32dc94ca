"""The laboratory outlives whatever the subject does to its process, and leaves nothing behind."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from grpo_gym.checks import laboratory
from grpo_gym.checks.child import Key, Right
from grpo_gym.checks.laboratory import NOT_TRIED, Laboratory, SubjectError
from grpo_gym.checks.subjects import Subject

DEEDS = Subject.of("tests.gym.broken_processes:task")
KEY = Key(0, "train", 1, 0)


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch) -> Iterator[Laboratory]:
    monkeypatch.setattr(laboratory, "CPU_LIMIT", 0.5)
    monkeypatch.setattr(laboratory, "WALL_LIMIT", 4.0)
    with Laboratory(DEEDS) as lab:
        yield lab


def test_makes_problems_and_scores_answers(lab: Laboratory) -> None:
    [record] = lab.ask("make", [KEY])
    right, wrong = lab.score([(KEY, record["final"]), (KEY, "7")])

    assert record["problem"]["prompt"] == record["text"].splitlines()[0]
    assert (right.value, right.reason, right.error, right.fate) == (1.0, "correct", "", "")
    assert (wrong.value, wrong.reason) == (0.0, "wrong")
    assert lab.score([(record["problem"], record["final"])])[0].value == 1.0


@pytest.mark.parametrize(
    ("deed", "fate"),
    [
        ("exit 9", "the process ended with exit code 9"),
        ("crash", "the process died of SIGSEGV"),
        ("signal SIGKILL", "the process died of SIGKILL"),
        ("spin", "more than 0.5 s of CPU time"),
        ("sleep 60", "no answer within 4 s"),
    ],
)
def test_a_death_is_told_and_the_rest_is_scored_by_another_process(lab: Laboratory, deed: str, fate: str) -> None:
    before, dead, after = lab.score([(KEY, "7"), (KEY, deed), (KEY, "7")])

    assert dead.fate == fate
    assert dead.value is None
    assert before.fate == after.fate == ""
    assert before.components["pid"] != after.components["pid"]
    assert _is_gone(int(before.components["pid"]))


def test_errors_and_odd_values_are_told(lab: Laboratory) -> None:
    raised, quit_, nan, loop = lab.score([(KEY, deed) for deed in ("raise", "quit", "nan", "loop")])

    assert raised.error == "ValueError: no such answer"
    assert quit_.error == "SystemExit: gone"
    assert (nan.value, nan.number) == ("nan", 0.0)
    assert loop.value == 0.5


def test_what_is_printed_goes_nowhere(lab: Laboratory, capfd: pytest.CaptureFixture[str]) -> None:
    assert lab.score([(KEY, "flood")])[0].value == 0.0
    assert capfd.readouterr() == ("", "")


def test_after_three_deaths_the_rest_is_not_tried(lab: Laboratory) -> None:
    scores = lab.score([(KEY, "exit 1")] * 5)

    assert [scored.fate == NOT_TRIED for scored in scores] == [False, False, False, True, True]
    assert lab.score([(KEY, "7")])[0].value == 0.0


def test_started_processes_end_with_the_laboratory(tmp_path: Path) -> None:
    with Laboratory(DEEDS) as lab:
        assert lab.score([(KEY, f"spawn {tmp_path / 'pid'}")])[0].value == 0.0
        started = int((tmp_path / "pid").read_text())
        assert not _is_gone(started, patience=0.0)
        own = int(lab.score([(KEY, "7")])[0].components["pid"])
        scratch = Path(lab.scratch.name)
        assert scratch.is_dir()

    assert _is_gone(started)
    assert _is_gone(own)
    assert not scratch.exists()


def test_started_processes_end_with_a_child_that_is_late(lab: Laboratory, tmp_path: Path) -> None:
    _, late = lab.score([(KEY, "7"), (KEY, f"linger {tmp_path / 'pid'}")])

    assert late.fate == "no answer within 4 s"
    assert _is_gone(int((tmp_path / "pid").read_text()))


def test_the_child_stands_in_a_folder_of_its_own_under_a_given_hash_seed() -> None:
    hashes = set()
    for seed in (1, 2):
        with Laboratory(Subject.of("tests.gym.broken_processes:where"), seed) as lab:
            [scored] = lab.score([(KEY, "x")])
            hashes.add(scored.components["hash"])
            assert scored.components["inside"] == 1.0
    assert len(hashes) == 2


def test_a_slow_reward_has_its_own_limit() -> None:
    with Laboratory(Subject.of("tests.gym.sound_tasks:slow")) as lab:
        assert (lab.cpu_limit, lab.wall_limit) == (2.0, laboratory.WALL_LIMIT)
    with Laboratory(Subject.of("tests.gym.broken_processes:slower")) as lab:
        assert (lab.cpu_limit, lab.wall_limit) == (30.0, 35.0)


def test_the_first_call_in_every_process_may_take_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(laboratory, "CPU_LIMIT", 0.4)
    with Laboratory(Subject.of("tests.gym.broken_processes:importing")) as lab:
        first, dead, second = lab.score([(KEY, "7"), (KEY, "exit 9"), (KEY, "7")])

    assert first.fate == second.fate == ""
    assert dead.fate == "the process ended with exit code 9"


def test_right_actions_of_an_episode_are_played() -> None:
    with Laboratory(Subject.of("tests.gym.sound_tasks:episodes")) as lab:
        right, wrong = lab.score([(KEY, Right("as it is")), (KEY, "7")])

    assert (right.value, wrong.value) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("grpo/Math.Chian-v0", "did you mean 'grpo/Math.Chain-v0'?"),
        ("tests.gym.sound_tasks:nmbers", "did you mean 'numbers'?"),
        ("tests.gym.no_such_file:task", "cannot import the module of 'tests.gym.no_such_file:task'"),
    ],
)
def test_what_cannot_be_opened_names_the_way_out(spec: str, message: str) -> None:
    with pytest.raises(SubjectError) as caught, Laboratory(Subject.of(spec)):
        pass
    assert message in str(caught.value)
    assert spec in str(caught.value)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("1/0", "ZeroDivisionError: division by zero"),
        ("import sys; sys.exit('no licence')", "no licence"),
        ("import os; os._exit(4)", "importing it ends the process: the process ended with exit code 4"),
        ("def broken(:", "SyntaxError"),
    ],
)
def test_a_module_that_cannot_be_imported_is_an_error_of_the_subject(
    source: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "unimportable.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(SubjectError) as caught, Laboratory(Subject.of("unimportable:task")):
        pass
    assert message in str(caught.value)


def _is_gone(pid: int, patience: float = 5.0) -> bool:
    """Whether a process has ended, or is only waited for by nobody."""
    end = time.monotonic() + patience
    while True:
        try:
            stat = Path(f"/proc/{pid}/stat").read_text() if Path("/proc").is_dir() else _alive(pid)
        except (OSError, ProcessLookupError):
            return True
        if stat.rpartition(")")[2].split()[:1] == ["Z"]:
            return True
        if time.monotonic() > end:
            return False
        time.sleep(0.05)


def _alive(pid: int) -> str:
    os.kill(pid, 0)
    return ") R"
