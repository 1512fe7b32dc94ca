"""A run's lines: one per step with what was measured, warnings only for what persists, hostile answers as text."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from grpo_agents.config import Sampling, TrainConfig
from grpo_gym.cli.live import PERSISTS, Live, device_line, program, resume_line, step_line
from grpo_gym.cli.report import HASTY, print_example, print_result

HOSTILE = "[/bold]\x1b[31m\u202egnorw"
QUIET: dict[str, Any] = {
    "step": 7,
    "reward": 0.25,
    "length": 12.5,
    "groups/signal": 0.625,
    "groups/all_right": 1,
    "groups/all_wrong": 2,
    "grad_norm": 0.5,
    "ended": 1.0,
    "rows": 64,
    "rows/abstained": 0,
    "update/skipped": "",
    "seconds/rollout": 1.0,
    "seconds/update": 0.5,
}


def test_a_step_is_one_line() -> None:
    line = step_line(QUIET, 30)

    assert line == "step  7/30  reward 0.250  length  12.5  signal  62.5 %  grad 0.5      1.5 s"


def test_a_step_says_validation_abstentions_and_why_nothing_was_learned() -> None:
    why = "no group had a spread of rewards"
    line = step_line(QUIET | {"val/pass@1": 0.5, "rows/abstained": 3, "rows/skipped": 4, "update/skipped": why}, 30)

    assert line.endswith(f"  val pass@1 50.0 %  3 not judged  4 left out  no update: {why}")


def test_a_lost_step_says_why() -> None:
    lost = QUIET | {"rows": 0, "reward": float("nan"), "update/skipped": "the environment raised OSError: gone"}

    assert step_line(lost, 30) == "step  7/30  lost: the environment raised OSError: gone"


def live(config: TrainConfig) -> Live:
    from grpo_agents.train import Start

    made = Live()
    made.begin(Start(config, {"parameters": 5, "dtype": "float32", "device": "cpu", "threads": 2}, Path("r"), 0))
    return made


@pytest.mark.parametrize(
    ("changes", "warning"),
    [
        (
            {"groups/signal": 0.0, "groups/all_wrong": 7, "groups/all_right": 1},
            "warning: 100.0 % of the groups carry no signal (87.5 % are all wrong, 12.5 % all right): choose an easier",
        ),
        (
            {"groups/signal": 0.0, "groups/all_wrong": 0, "groups/all_right": 8},
            "warning: 100.0 % of the groups carry no signal (0.0 % are all wrong, 100.0 % all right): choose a harder",
        ),
        ({"ended": 0.25}, "warning: 75.0 % of the answers were cut at --sampling.max-tokens 256: raise it"),
        ({"rows/abstained": 32}, "warning: 32 of 64 answers could not be judged and teach nothing"),
    ],
)
def test_a_warning_comes_once_and_only_when_it_persists(
    capsys: pytest.CaptureFixture[str], changes: dict[str, Any], warning: str
) -> None:
    screen = live(TrainConfig(prompts=8))
    for _ in range(PERSISTS - 1):
        screen.step(QUIET | changes)
    screen.step(QUIET)
    assert "warning" not in capsys.readouterr().out
    for _ in range(3 * PERSISTS):
        screen.step(QUIET | changes)

    out = capsys.readouterr().out
    assert out.count("warning") == 1
    assert warning in out


def test_the_beginning_names_tiers_and_device(capsys: pytest.CaptureFixture[str]) -> None:
    live(TrainConfig(tier=(1, 3), sampling=Sampling(max_tokens=4)))
    out = capsys.readouterr().out

    assert "grpo/Arithmetic-v0, tiers 1 to 3" in out
    assert "cpu (no CUDA device found), 2 threads" in out
    assert device_line({"device": "cuda:0", "threads": 2}, "auto") == "cuda:0"
    assert device_line({"device": "cpu", "threads": 1}, "cpu") == "cpu, 1 thread"


def test_the_resume_line_can_be_pasted() -> None:
    assert resume_line(Path("runs/a b")) == "grpo-gym train --resume 'runs/a b'"


@pytest.mark.parametrize(
    ("called", "told"),
    [
        ("/some/where/pytest", "grpo-gym"),
        (f"{os.getcwd()}/some where/bin/grpo-gym", "'some where/bin/grpo-gym'"),
        (f"{os.getcwd()}/grpo-gym", "./grpo-gym"),
        ("/bin/grpo-gym", "/bin/grpo-gym"),
        (f"{os.getcwd()}/grpo_gym/__main__.py", "elsewhere/python -m grpo_gym"),
    ],
)
def test_a_command_is_told_as_the_user_can_run_it(monkeypatch: pytest.MonkeyPatch, called: str, told: str) -> None:
    monkeypatch.setattr("sys.argv", [called])
    monkeypatch.setattr("sys.executable", f"{os.getcwd()}/elsewhere/python")
    monkeypatch.setenv("PATH", "/nowhere")

    assert program() == told


def test_a_command_on_the_path_is_told_by_its_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "grpo-gym").touch(mode=0o755)
    monkeypatch.setattr("sys.argv", [str(tmp_path / "grpo-gym")])
    monkeypatch.setenv("PATH", str(tmp_path))

    assert program() == "grpo-gym"


def test_an_answer_that_was_not_judged_has_no_reward_to_show(capsys: pytest.CaptureFixture[str]) -> None:
    answers = {when: {"texts": ["1"], "reward": reward} for when, reward in (("before", None), ("after", 1.0))}
    print_example({"prompt": "?", **answers})

    assert "before, not judged:" in capsys.readouterr().out


def test_hostile_completions_are_printed_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    answer = {"texts": [HOSTILE, ""], "reward": 0.0}
    print_example({"prompt": HOSTILE, "before": answer, "after": answer})
    out = capsys.readouterr().out

    assert out.count("[/bold]\\x1b[31m\\u202egnorw") == 3
    assert "\x1b" not in out
    assert out.count("(nothing)") == 2


def test_a_long_answer_is_cut(capsys: pytest.CaptureFixture[str]) -> None:
    answer = {"texts": ["x" * 5000], "reward": 1.0}
    print_example({"prompt": "?", "before": answer, "after": answer})

    assert "x ... (5000 characters)" in capsys.readouterr().out


def test_the_shipped_policys_result_says_what_it_does_not_show(capsys: pytest.CaptureFixture[str]) -> None:
    from grpo_agents.train import Result

    end = {"pass@1": 0.25, "low": 0.2, "high": 0.3, "greedy": 0.5, "length": 10.0, "n": 2048, "greedy_n": 2048}
    summary = {
        "model": "embedded",
        "env": "grpo/Arithmetic-v0",
        "steps": 30,
        "completions": 7680,
        "seconds": 100.4,
        "held_out": {"n": 2048, "content_checked": True, "before": end, "after": end},
    }
    answer = {"texts": ["1"], "reward": 0.0}
    print_result(Result(Path("r"), True, summary, {"prompt": "?", "before": answer, "after": answer}))
    out = capsys.readouterr().out

    assert HASTY in out
    assert "hastily on purpose" in HASTY
    assert "does not teach arithmetic" in HASTY
    assert "25.0 %  [20.0, 30.0]" in out
    assert "50.0 %  [47.8, 52.2]" in out
    assert "2,048 test problems of grpo/Arithmetic-v0" in out


@pytest.mark.parametrize(
    ("model", "env", "told"),
    [
        ("embedded", "grpo/Math.Gcd-v0", True),
        ("embedded", "other/Parrot-v0", False),
        ("embedded", "grpo/Mathematics-v0", False),
        ("/a/model", "grpo/Arithmetic-v0", False),
    ],
)
def test_that_sentence_is_for_the_shipped_policy_on_its_own_environment(
    capsys: pytest.CaptureFixture[str], model: str, env: str, told: bool
) -> None:
    from grpo_agents.train import Result

    end = {"pass@1": 0.25, "low": 0.2, "high": 0.3, "greedy": 0.5, "length": 10.0, "n": 1, "greedy_n": 1}
    ends = {"before": end | {"too_long": 15, "abstained": 0, "not_finite": 2}, "after": end}
    summary = {"model": model, "env": env, "steps": 3, "completions": 7, "seconds": 1.0}
    answer = {"texts": ["1"], "reward": 0.0}
    held_out = {"n": 1, "content_checked": True, **ends}
    print_result(
        Result(Path("r"), True, summary | {"held_out": held_out}, {"prompt": "?", "before": answer, "after": answer})
    )
    out = capsys.readouterr().out

    assert (HASTY in out) == told
    assert "before: 1 judged, 17 left out (15 too long for the model's context, 2 with a reward that is not fin" in out
    assert "after: " not in out
