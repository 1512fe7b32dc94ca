"""`grpo-gym check`: a table for people, JSON for programs, an exit code for scripts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from grpo_gym import registered_ids
from grpo_gym.checks import Line, Report, Status
from grpo_gym.cli import check
from tests.cli.conftest import Cli

HOSTILE = "\x1b[2J[red]bold[/red] \u202e answer"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Replace the checks by an answer at once, and tell what was asked."""
    calls: list[tuple[Any, ...]] = []

    def answer(subject: str, n: int, *, style: str, cases: Path | None, args: dict[str, Any]) -> Report:
        calls.append((subject, n, style, cases))
        lines = [Line("oracle", Status.PASS, "all paid"), Line("effort", Status.SKIP, "declares none")]
        if "bad" in subject:
            lines.append(Line("near miss", Status.FAIL, HOSTILE, "compare exactly"))
        return Report(subject, tuple(lines), 0.5, "read as plain" if ":" in subject else "")

    monkeypatch.setattr(check, "check_reward", answer)
    return calls


def test_a_sound_reward_is_a_table_and_exit_code_0(cli: Cli, asked: list[tuple[Any, ...]]) -> None:
    said = cli("check", "ok/A-v0")

    assert said.code == 0
    assert said.err == ""
    assert said.out.splitlines()[0] == "ok/A-v0: 1 passed, 0 failed, 1 skipped in 0.5 s"
    assert "pass   oracle   all paid" in said.out
    assert "skip   effort   declares none" in said.out
    assert asked == [("ok/A-v0", 64, "auto", None)]


def test_a_failing_reward_is_exit_code_1_with_advice(cli: Cli, asked: list[tuple[Any, ...]]) -> None:
    said = cli("check", "bad/A-v0")

    assert said.code == 1
    assert "-> compare exactly" in said.out


def test_hostile_text_is_shown_and_not_obeyed(cli: Cli, asked: list[tuple[Any, ...]]) -> None:
    said = cli("check", "bad/A-v0")

    assert r"\x1b[2J[red]bold[/red] \u202e answer" in said.out
    assert "\x1b" not in said.out
    assert "\u202e" not in said.out


def test_several_subjects_are_checked_in_order(cli: Cli, asked: list[tuple[Any, ...]]) -> None:
    said = cli("check", "ok/A-v0", "bad/B-v0", "ok/C-v0", "-n", 9)

    assert said.code == 1
    assert [call[:2] for call in asked] == [("ok/A-v0", 9), ("bad/B-v0", 9), ("ok/C-v0", 9)]
    assert [line.split(":")[0] for line in said.out.splitlines() if "passed" in line] == [
        "ok/A-v0",
        "bad/B-v0",
        "ok/C-v0",
    ]


def test_what_a_mixture_is_made_of_can_be_said(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []

    def answer(subject: str, n: int, **options: Any) -> Report:
        given.append(options["args"])
        return Report(subject, (), 0.5, "")

    monkeypatch.setattr(check, "check_reward", answer)
    assert cli("check", "grpo/Mix-v0", "--env-args", 'envs={"grpo/Math-v0": 2}', "schedule=exact").code == 0
    assert given == [{"envs": {"grpo/Math-v0": 2}, "schedule": "exact"}]


def test_all_is_every_registered_id(cli: Cli, asked: list[tuple[Any, ...]]) -> None:
    assert cli("check", "all").code == 0
    assert [call[0] for call in asked] == registered_ids()


def test_json_is_one_list_and_nothing_else(cli: Cli, asked: list[tuple[Any, ...]]) -> None:
    said = cli("check", "ok/A-v0", "bad/B-v0", "--json")
    first, second = json.loads(said.out)

    assert said.code == 1
    assert (first["subject"], first["ok"]) == ("ok/A-v0", True)
    assert second["lines"][-1] == {"key": "near miss", "status": "fail", "found": HOSTILE, "advice": "compare exactly"}


def test_only_failures_on_request(cli: Cli, asked: list[tuple[Any, ...]]) -> None:
    said = cli("check", "bad/A-v0", "ok/A-v0", "--failures")

    assert "near miss" in said.out
    assert "oracle" not in said.out


def test_rewards_of_others_are_read_as_asked(cli: Cli, asked: list[tuple[Any, ...]], tmp_path: Path) -> None:
    said = cli("check", "mine:reward", "--style", "trl", "--cases", tmp_path / "cases.jsonl")

    assert asked == [("mine:reward", 64, "trl", tmp_path / "cases.jsonl")]
    assert "read as plain" in said.out


def test_naming_nothing_says_what_to_name(cli: Cli) -> None:
    said = cli("check")

    assert said.code == 2
    assert "name what to check" in said.err


def test_what_does_not_exist_is_exit_code_2_and_the_nearest_name(cli: Cli) -> None:
    said = cli("check", "grpo/Math.Chian-v0")

    assert said.code == 2
    assert said.out == ""
    assert "did you mean 'grpo/Math.Chain-v0'?" in said.err
    assert "Traceback" not in said.err


@pytest.mark.slow
def test_a_real_environment_is_checked(cli: Cli) -> None:
    said = cli("check", "grpo/Math.Remainder-v0", "-n", 16)

    assert said.code == 0
    assert "pass   near miss" in said.out
    assert " 0 failed" in said.out
