"""`train` from start to summary: what it says, what it leaves, how it stops, and that a resumed run is the same run."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli import toy
from tests.cli.conftest import ROOT, Cli, Said, finish, spawn

SMALL = (
    *("--prompts", 4, "--group-size", 4, "--threads", 1, "--sampling.max-tokens", 8, "--seed", 3),
    *("--evaluation.test-problems", 24, "--evaluation.val-problems", 8, "--evaluation.every", 3),
    *("--keeping.checkpoint-every", 2),
)
"""A run of a second."""
LONG = (*SMALL, "--env", toy.LETTERS, "--steps", 8, "--objective.kl-coef", 0.05)
"""The run that is stopped, killed and resumed; the KL term needs the starting policy again after a resume."""


def metrics_of(run: Path) -> list[dict[str, Any]]:
    """The records of metrics.jsonl without what no two runs share."""
    records = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [{key: value for key, value in r.items() if not key.startswith("seconds/")} for r in records]


def weights_of(run: Path, step: int) -> bytes:
    return (run / "checkpoints" / f"step-{step:06d}" / "model.safetensors").read_bytes()


@pytest.fixture(scope="module")
def uninterrupted(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Said]:
    run = tmp_path_factory.mktemp("runs") / "whole"
    return run, finish(spawn("train", "--model", tiny, "--out", run, *LONG))


def test_a_run_says_what_runs_and_what_came_of_it(uninterrupted: tuple[Path, Said], tiny: Path) -> None:
    run, said = uninterrupted
    lines = [line.strip() for line in said.out.splitlines()]

    assert (said.code, said.err) == (0, "")
    assert lines[0].split()[:3] == ["policy", f"{tiny},", "29,792"]
    assert "1 thread" in lines[1]
    assert lines[2].split(maxsplit=1) == ["environment", f"{toy.LETTERS}, default tiers"]
    assert lines[3].split() == ["seed", "3"]
    assert lines[4] == f"run folder  {run}"
    steps = [line for line in lines if line.startswith("step ")]
    assert [line.split()[1] for line in steps] == [f"{step}/8" for step in range(1, 9)]
    assert all(word in line for word in ("reward", "length", "signal", "grad", " s") for line in steps)
    assert [index for index, line in enumerate(steps, 1) if "val pass@1" in line] == [3, 6, 8]
    for row in ("pass@1, sampled", "pass@1, greedy"):
        line = next(line for line in lines if line.startswith(row))
        assert line.count("[") == 2
        assert line.count("%") == 2
    assert any(line.startswith("completion length") and line.count("tokens") == 2 for line in lines)
    assert any(line.startswith("8 steps, 128 completions, ") for line in lines)
    assert any(line.startswith("Say something about ") for line in lines)
    assert any(line.startswith("before, reward ") for line in lines)
    assert any(line.startswith("after, reward ") for line in lines)
    assert lines[-1] == f"run folder: {run}"


def test_the_summary_has_the_agreed_fields(uninterrupted: tuple[Path, Said]) -> None:
    summary = json.loads((uninterrupted[0] / "summary.json").read_text())

    assert {"seed", "seconds", "completions", "held_out"} <= set(summary)
    assert (summary["seed"], summary["completions"]) == (3, 128)
    assert summary["seconds"] > 0
    held_out = summary["held_out"]
    assert {"n", "before", "after"} <= set(held_out)
    assert held_out["n"] == 24
    for end in (held_out["before"], held_out["after"]):
        assert {"pass@1", "low", "high", "greedy", "length", "n", "too_long", "abstained", "not_finite"} <= set(end)
        assert 0 <= end["low"] <= end["pass@1"] <= end["high"] <= 1


def test_the_run_learns_on_an_environment_it_can_learn(uninterrupted: tuple[Path, Said]) -> None:
    metrics = metrics_of(uninterrupted[0])

    assert sum(record["groups/signal"] for record in metrics) > 1
    assert any(record["grad_norm"] > 0 for record in metrics)
    assert len({weights_of(uninterrupted[0], step) for step in (6, 8)}) == 2


def test_ctrl_c_stops_after_the_step_and_resume_is_the_same_run(
    cli: Cli, tiny: Path, tmp_path: Path, uninterrupted: tuple[Path, Said]
) -> None:
    run = tmp_path / "stopped here"
    said = _interrupt(run, tiny, "step 3/8", signal.SIGINT)
    resume = f"{_module()} train --resume '{run}'"

    assert said.code == 130
    assert said.err == f"\nstopping after this step; Ctrl-C again stops at once\nto resume: {resume}\n"
    assert said.out.splitlines()[-1] == f"stopped; to resume: {resume}"
    assert 3 <= len(metrics_of(run)) < 8
    _same_after_resume(cli, run, uninterrupted[0])


def test_a_killed_run_resumes_as_the_same_run(
    cli: Cli, tiny: Path, tmp_path: Path, uninterrupted: tuple[Path, Said]
) -> None:
    run = tmp_path / "killed"
    said = _interrupt(run, tiny, "step 3/8", signal.SIGKILL)

    assert said.code == -signal.SIGKILL
    _same_after_resume(cli, run, uninterrupted[0])


def test_a_second_ctrl_c_stops_at_once_and_the_last_checkpoint_resumes(
    cli: Cli, tiny: Path, tmp_path: Path, uninterrupted: tuple[Path, Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    judged = []

    def twice_at_the_forty_fifth() -> None:
        judged.append(1)
        if len(judged) == 45:
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(toy, "on_judging", twice_at_the_forty_fifth)
    run = tmp_path / "stopped"
    said = cli("train", "--model", tiny, "--out", run, *LONG)

    assert said.code == 130
    assert said.out.endswith(f"stopped at once; to resume from the last checkpoint: grpo-gym train --resume {run}\n")
    assert [path.name for path in (run / "checkpoints").iterdir()] == ["step-000002"]
    _same_after_resume(cli, run, uninterrupted[0])


def test_ctrl_c_before_anything_is_written(cli: Cli, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("grpo_agents.train.train", interrupted)

    assert cli("train", "--model", tiny) == (130, "stopped at once; nothing was written yet\n", "")


def test_resuming_a_finished_run_tells_its_result_again(cli: Cli, uninterrupted: tuple[Path, Said]) -> None:
    _same_after_resume(cli, uninterrupted[0], uninterrupted[0])


def _module() -> str:
    """How the processes of `spawn` are called, as they say it themselves."""
    python = Path(sys.executable)
    if shutil.which(python.name) == str(python):
        return f"{python.name} -m grpo_gym"
    return f"{shlex.quote(min(os.path.relpath(python, ROOT), str(python), key=len))} -m grpo_gym"


def _interrupt(run: Path, tiny: Path, line: str, number: int) -> Said:
    """Start the long run, slowed down, and send it a signal once it has printed `line`."""
    process = spawn("train", "--model", tiny, "--out", run, *LONG, TOY_PAUSE_S="0.02")
    assert process.stdout is not None
    seen = []
    for text in process.stdout:
        seen.append(text)
        if text.startswith(line):
            break
    time.sleep(0.05)
    process.send_signal(number)
    said = finish(process)
    return Said(said.code, "".join(seen) + said.out, said.err)


def _same_after_resume(cli: Cli, run: Path, whole: Path) -> None:
    said = cli("train", "--resume", run)

    assert (said.code, said.err) == (0, "")
    assert "resumed behind step" in said.out
    assert metrics_of(run) == metrics_of(whole)
    assert weights_of(run, 8) == weights_of(whole, 8)
    ends = [json.loads((folder / "summary.json").read_text()) for folder in (run, whole)]
    assert ends[0]["held_out"] == ends[1]["held_out"]
    assert ends[0]["completions"] == ends[1]["completions"]


def test_flags_override_the_yaml_and_env_args_reach_the_environment(cli: Cli, tiny: Path, tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(
        yaml.safe_dump(
            {
                "env": toy.LETTERS,
                "env_args": {"instructions": False},
                "steps": 5,
                "prompts": 2,
                "optimisation": {"learning_rate": 1e-3},
            }
        )
    )
    words = ("train", "--config", config, "--model", tiny, "--out", tmp_path / "run", *SMALL, "--steps", 1)
    said = cli(*words, "--env-args", "tier=1")
    kept = yaml.safe_load((tmp_path / "run" / "config.yaml").read_text())

    assert said.code == 0
    assert "Start with a letter." not in said.out
    assert kept["env_args"] == {"instructions": False, "tier": 1}
    assert (kept["steps"], kept["prompts"], kept["optimisation"]["learning_rate"]) == (1, 4, 1e-3)
    assert kept["policy"]["prompt_style"] == "raw"


def test_another_makers_environment_is_trained_on_and_the_report_says_what_is_not_known(
    cli: Cli, tiny: Path, tmp_path: Path
) -> None:
    said = cli("train", "--model", tiny, "--out", tmp_path / "run", *SMALL, "--env", toy.PARROT, "--steps", 1)

    assert (said.code, said.err) == (0, "")
    assert "held-out seeds, content not checked" in said.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--env", "grpo/Mth-v0"), "error: unknown environment 'grpo/Mth-v0'; did you mean 'grpo/Math-v0'?\n"),
        (("--model", "/no/such/model"), "error: no model folder at '/no/such/model': give the folder of a model"),
        (("--group-size", 1), "error: group_size is 1, must be at least 2\n"),
        (("--tier", 7), "error: tier is 7: give one of [0, 1, 2, 3, 4, 5]"),
        (("--env-args", "expose"), "error: --env-args takes KEY=VALUE, got 'expose'\n"),
        (("--env-args", "instruction=false"), "error: unknown environment option 'instruction'; did you mean 'instr"),
        (("--config", "/no/such.yaml"), "error: cannot read the config /no/such.yaml: No such file or directory\n"),
        (("--resume", "/no/such/run"), "error: /no/such/run is not a run folder: config.yaml cannot be read\n"),
        (("--resume", "x", "--steps", 9), "error: --resume continues a run with the options it began with: leave out"),
    ],
)
def test_mistakes_are_one_line_and_leave_no_folder(
    cli: Cli, tiny: Path, tmp_path: Path, words: tuple[object, ...], message: str
) -> None:
    given = words if "--resume" in words else ("--model", tiny, "--out", tmp_path / "run", *words)
    said = cli("train", *given)

    assert (said.code, said.out) == (2, "")
    assert said.err.startswith(message)
    assert said.err.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_an_unknown_field_of_the_yaml_names_the_nearest(cli: Cli, tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("objective:\n  los: grpo\n")

    assert cli("train", "--config", config).err == (
        "error: unknown config field 'objective.los'; did you mean 'objective.loss'?\n"
    )
    config.write_text("objective:\n  loss: grop\n")
    assert cli("train", f"--config={config}").err == (
        "error: unknown value of objective.loss 'grop'; did you mean 'grpo'?\n"
    )


def test_a_folder_that_holds_a_run_is_not_touched(cli: Cli, tiny: Path, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("steps: 1\n")
    said = cli("train", "--model", tiny, "--out", tmp_path)

    assert said.code == 2
    assert "already holds a run: choose another folder, or resume it with --resume" in said.err
    assert [path.name for path in tmp_path.iterdir()] == ["config.yaml"]


def test_a_missing_model_is_told_before_torch_is_imported() -> None:
    code = (
        "import sys; from grpo_gym.cli.main import main;"
        "sys.exit(f\"{main(['train', '--model', './nowhere'])} {'torch' in sys.modules}\")"
    )
    said = finish(spawn(code=code))

    assert said.err.splitlines()[0].startswith("error: no model folder at './nowhere'")
    assert said.err.splitlines()[1:] == ["2 False"]


@pytest.mark.parametrize(("given", "nearest"), [("dapoo", "dapo"), ("gpro", "grpo")])
def test_a_choice_that_does_not_exist_names_the_nearest(cli: Cli, given: str, nearest: str) -> None:
    told = f"error: unknown value of --objective.loss {given!r}; did you mean {nearest!r}?\n"

    assert cli("train", "--objective.loss", given) == (2, "", told)
    assert cli("train", f"--objective.loss={given}") == (2, "", told)


def test_a_preset_that_is_named_overrides_a_file_and_options_override_both(cli: Cli, tmp_path: Path) -> None:
    """A run that is labelled with a method has that method's options."""
    file, run = tmp_path / "old.yaml", tmp_path / "run"
    file.write_text("preset: dapo\nobjective: {loss: dapo, scale: group, clip_high: 0.24}\n", encoding="utf-8")
    given = ("--config", file, "--preset", "dr_grpo", "--objective.clip-high", 0.3, "--steps", 1)
    code, _, _ = cli("train", *SMALL, "--env", toy.LETTERS, "--out", run, *given)
    config = yaml.safe_load((run / "config.yaml").read_text())

    assert code == 0
    assert config["preset"] == config["objective"]["loss"] == "dr_grpo"
    assert (config["objective"]["scale"], config["objective"]["clip_high"]) == ("none", 0.3)
    assert config["selection"]["refill_rounds"] == 0  # which is dapo's


@pytest.mark.parametrize("spelt", ["--published-scale", "--published_scale"])
def test_the_published_scale_needs_a_preset(cli: Cli, spelt: str) -> None:
    code, _, err = cli("train", spelt)

    assert (code, err) == (2, "error: --published-scale goes with --preset: name the method whose scale it is\n")


def test_problems_left_out_are_told_from_start_to_summary(cli: Cli, tmp_path: Path) -> None:
    from tests.agents.foreign_envs import WORD
    from tests.agents.runs import babbler

    babbler(context=40).save(tmp_path / "model")
    words = ("--model", tmp_path / "model", "--env", WORD, "--env-args", "padding=40", "--steps", 1)
    said = cli("train", *SMALL, *words, "--out", tmp_path / "run")
    held_out = json.loads((tmp_path / "run" / "summary.json").read_text())["held_out"]
    n, out = held_out["n"], held_out["before"]["too_long"]
    told = f"{n} judged, {out} left out ({out} too long for the model's context)"

    assert said.code == 0
    assert 0 < n < n + out == 24
    assert f"of {n} judged problems, {out} left out ({out} too long" in said.out
    assert f"before: {told}" in said.out
    assert f"after: {told}" in said.out
