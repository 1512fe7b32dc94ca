"""The front door: help without weight, errors in one line with the nearest right name, tracebacks only on request."""

from __future__ import annotations

import subprocess
import sys

import pytest

import grpo_gym
from grpo_gym.cli import main as front
from grpo_gym.cli.main import COMMANDS
from tests.cli import toy
from tests.cli.conftest import Cli, finish, spawn


@pytest.mark.parametrize("words", [(), ("--help",), ("-h",)])
def test_help_names_every_command(cli: Cli, words: tuple[str, ...]) -> None:
    said = cli(*words)

    assert said.code == 0
    assert all(f"\n  {command}" in said.out for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(cli: Cli, command: str) -> None:
    said = cli(command, "--help")

    assert said.code == 0
    assert said.out.startswith(f"usage: grpo-gym {command}")


def test_help_imports_neither_tyro_nor_rich_nor_torch() -> None:
    code = (
        "import sys; from grpo_gym.cli.main import main; main(['--help']);"
        "sys.exit(str({'torch', 'transformers', 'tyro', 'rich', 'sympy', 'matplotlib'} & set(sys.modules)))"
    )
    assert finish(spawn(code=code)).err == "set()\n"


def test_version(cli: Cli) -> None:
    assert cli("--version").out == f"grpo-gym {grpo_gym.__version__}\n"


def test_unknown_command_names_the_nearest(cli: Cli) -> None:
    said = cli("trian")

    assert said == (2, "", "error: unknown command 'trian'; did you mean 'train'?\n")


@pytest.mark.parametrize(
    ("words", "nearest"),
    [
        (("train", "--stepz", "3"), "--steps"),
        (("train", "--objective.los", "grpo"), "--objective.loss"),
        (("train", "--kl-coef", "0.1"), "--objective.kl-coef"),
        (("train", "--objective.loss", "dapoo"), "'dapo'"),
        (("sample", "grpo/Math-v0", "--splt", "val"), "--split"),
        (("play", "grpo/Math-v0", "--split", "tset"), "'test'"),
        (("eval", "x", "--tieer", "1"), "--tier"),
        (("sft", "--out", "x", "--carefull", "0.3"), "--careful"),
    ],
)
def test_a_mistaken_option_is_told_on_one_screen_with_the_nearest(
    cli: Cli, words: tuple[str, ...], nearest: str
) -> None:
    said = cli(*words)

    assert said.code == 2
    assert nearest in said.err
    assert len(said.err.splitlines()) < 25
    assert said.out == ""


def test_an_error_is_one_line_and_with_debug_a_traceback(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    line = "error: unknown environment 'grpo/Mth-v0'; did you mean 'grpo/Math-v0'?\n"

    assert cli("sample", "grpo/Mth-v0") == (2, "", line)
    with pytest.raises(grpo_gym.errors.UnknownNameError):
        cli("sample", "grpo/Mth-v0", "--debug")
    monkeypatch.setenv("GRPO_GYM_DEBUG", "1")
    with pytest.raises(grpo_gym.errors.UnknownNameError):
        cli("sample", "grpo/Mth-v0")


def test_control_characters_in_an_error_are_escaped(cli: Cli) -> None:
    said = cli("sample", "bad\x1b[31m[/bold]")

    assert said.code == 2
    assert "\x1b" not in said.err
    assert "[/bold]" in said.err


def test_a_mistake_of_the_system_is_one_line_too(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(words: list[str]) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(front, "_dispatch", full)

    assert cli("list") == (2, "", "error: No space left on device\n")


def test_ctrl_c_is_exit_code_130(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(words: list[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(front, "_dispatch", interrupted)

    assert cli("list") == (130, "", "stopped\n")


@pytest.mark.parametrize("kind", [(), ("--jsonl",)])
def test_a_reader_that_leaves_is_told_nothing(kind: tuple[str, ...]) -> None:
    with spawn("sample", "grpo/Math-v0", "-n", "5000", *kind) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        errors = process.stderr.read()

    assert (process.returncode, errors) == (1, "")


def test_list_sample_and_play_work_without_torch_and_train_names_the_extra() -> None:
    code = """
import io, sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"torch", "transformers", "tokenizers", "safetensors", "datasets", "matplotlib"}:
            raise ImportError(f"{name} is blocked")
sys.meta_path.insert(0, Blocker())
sys.stdin = io.StringIO("4\\n")
from grpo_gym.cli.main import main
print([main(words.split()) for words in (
    "list", "sample grpo/Math-v0 -n 1", "play grpo/Math-v0", "train", "eval x", "sft --out x", "train --help")])
"""
    said = finish(spawn(code=code))

    assert said.out.splitlines()[-1] == "[0, 0, 0, 2, 2, 2, 0]"
    assert said.err.splitlines() == [
        f"error: grpo-gym {command} needs the 'agent' extra: pip install 'grpo-gym[agent]'"
        for command in ("train", "eval", "sft")
    ]


def test_no_character_that_the_terminal_lacks_ends_a_command() -> None:
    words = ("sample", toy.LETTERS.replace("toy/", "tö/"))
    said = finish(spawn(*words, PYTHONIOENCODING="ascii"))

    assert said.code == 2
    assert "'t\\xf6/Toy.Letters-v0'" in said.err


def test_the_installed_script_is_the_same_program() -> None:
    script = subprocess.run(
        [f"{sys.prefix}/bin/grpo-gym", "--version"], capture_output=True, text=True, check=True, timeout=30
    )
    assert script.stdout == f"grpo-gym {grpo_gym.__version__}\n"
