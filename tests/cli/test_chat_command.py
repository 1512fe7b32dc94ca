"""`chat` answers a prompt, the lines of a pipe, and a person; what the policy writes is shown and never obeyed."""

from __future__ import annotations

import contextlib
import io
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from grpo_agents.chat import Chat
from grpo_agents.policy import Policy
from grpo_gym.printing import visible
from tests.cli.conftest import ROOT, Cli, finish, spawn


class Keyboard(io.StringIO):
    """Standard input that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def person(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that talks to `chat` line by line; an exception class in the place of a line is raised."""

    def talk(words: tuple[object, ...], *lines: str | type[BaseException]) -> Any:
        waiting: Iterator[str | type[BaseException]] = iter([*lines, EOFError])

        def typed(prompt: str) -> str:
            line = next(waiting)
            if isinstance(line, type):
                raise line
            return line

        monkeypatch.setattr("builtins.input", typed)
        monkeypatch.setattr("sys.stdin", Keyboard())
        return cli("chat", *words)

    return talk


def piped(cli: Cli, monkeypatch: pytest.MonkeyPatch, text: str, *words: object) -> Any:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    return cli("chat", *words)


def test_one_prompt_gives_the_answer_that_sampling_draws(cli: Cli, babbling_run: Path) -> None:
    said = cli("chat", babbling_run, "--prompt", "Größe?", "--seed", 5, "--max-tokens", 30)

    policy = Policy.load(babbling_run / "checkpoints" / "step-000002", device="cpu")
    prompt = policy.render([{"role": "user", "content": "Größe?"}])
    (drawn,) = policy.sample([prompt], max_tokens=30, generator=torch.Generator().manual_seed(5))
    assert said.code == 0
    assert said.out == visible(policy.decode(drawn.ids)) + "\n"
    assert not said.err or said.err == "question 1: cut at 30 tokens: --max-tokens allows more\n"


def test_what_a_policy_writes_cannot_steer_the_terminal(cli: Cli, babbling_run: Path) -> None:
    said = cli("chat", babbling_run, "--prompt", "x", "--seed", 0, "--max-tokens", 200)

    assert re.search(r"\\x[01]", said.out)  # random bytes: there are control characters among them
    assert all(letter in "\n\t" or letter.isprintable() for letter in said.out)


def test_escapes_in_an_answer_are_shown(cli: Cli, babbling_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def hostile(self: Chat, text: str) -> Iterator[str]:
        yield "[/bold]\x1b[31"
        yield "m\u202e\r日"

    monkeypatch.setattr(Chat, "say", hostile)

    assert cli("chat", babbling_run, "--prompt", "x").out == "[/bold]\\x1b[31m\\u202e\\r日\n"


def test_each_line_of_a_pipe_is_a_question_of_its_own(
    cli: Cli, babbling_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    greedy = (babbling_run, "--greedy")
    both = piped(cli, monkeypatch, "日本?\n\n   \nWho?", *greedy)
    alone = [piped(cli, monkeypatch, text, *greedy).out for text in ("日本?\n", "Who?\n")]

    assert both.out == "".join(alone)
    assert both.code == 0


def test_a_line_that_does_not_fit_is_told_and_the_next_one_is_answered(
    cli: Cli, babbling_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = piped(cli, monkeypatch, "x" * 100_000 + "\nWho?\n", babbling_run, "--greedy")

    assert said.code == 2
    assert said.err.startswith(
        "error: question 1: a message of 100002 tokens does not fit the model's context of 256 tokens"
    )
    assert said.out == piped(cli, monkeypatch, "Who?\n", babbling_run, "--greedy").out


def test_an_answer_that_fills_the_context_says_so(cli: Cli, babbling_run: Path) -> None:
    said = cli("chat", babbling_run, "--prompt", "x" * 250, "--seed", 3)

    assert said.code == 0
    assert said.err == "question 1: cut: the model's context of 256 tokens is full\n"


@pytest.mark.slow
def test_a_real_pipe_takes_bytes_that_are_no_text_and_ends_where_it_ends(babbling_run: Path) -> None:
    command = [sys.executable, "-m", "grpo_gym", "chat", str(babbling_run), "--greedy", "--max-tokens", "5"]
    settings: Any = {"cwd": ROOT, "capture_output": True, "timeout": 120}
    environment = {**os.environ, "LANG": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    said = subprocess.run(command, input=b"\xff\xfe caf\xc3\xa9\n\x00\x1b[2J\n", env=environment, **settings)

    assert said.returncode == 0, said.stderr
    assert said.stdout.count(b"\n") >= 2
    assert all(byte == 10 or 32 <= byte < 127 for byte in said.stdout)


def test_an_empty_pipe_asks_nothing(cli: Cli, babbling_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert piped(cli, monkeypatch, "", babbling_run) == (0, "", "")


def test_closed_input_is_one_line() -> None:
    said = finish(
        spawn(code="import sys; sys.stdin = None\nfrom grpo_gym.cli.main import main\nsys.exit(main(['chat', 'x']))")
    )

    assert said == (2, "", "error: standard input is closed, so there is no question: give one with --prompt\n")


def test_a_person_sees_who_answers(person: Any, babbling_run: Path) -> None:
    said = person((babbling_run, "--step", 1), "/quit")

    assert said.code == 0
    assert "checkpoint  step 1\n" in said.out
    assert "answers     temperature 1, at most 40 tokens, raw prompts\n" in said.out
    assert "cpu" in said.out
    assert "/new begins a new conversation" in said.out


def test_a_conversation_remembers_until_a_new_one_begins(person: Any, babbling_run: Path) -> None:
    def answers(*lines: str) -> list[str]:
        head = person((babbling_run, "--greedy"), "/quit").out
        said = person((babbling_run, "--greedy"), *lines, "/quit")
        assert said.code == 0
        return str(said.out.removeprefix(head)).splitlines()

    once = answers("a")
    assert answers("a", "/new", "a")[: 2 * len(once)] == [*once, *once]
    assert answers("a", "a")[: 2 * len(once)] != [*once, *once]
    assert answers("", "  ", "a") == once


def test_a_full_context_says_how_to_go_on_and_goes_on(person: Any, babbling_run: Path) -> None:
    said = person((babbling_run, "--greedy"), "x" * 240, "y" * 60, "/new", "x")

    assert said.code == 0
    assert "the model's context of 256 tokens is full" in said.out
    assert "begin a new conversation (/new)" in said.out


def test_ctrl_c_stops_an_answer_and_stays(person: Any, babbling_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, calls = Chat.say, []

    def impatient(self: Chat, text: str) -> Iterator[str]:
        calls.append(text)
        pieces = whole(self, text)
        yield next(pieces)
        if len(calls) == 1:
            pieces.close()
            raise KeyboardInterrupt
        yield from pieces

    monkeypatch.setattr(Chat, "say", impatient)
    said = person((babbling_run, "--seed", 1), "a", KeyboardInterrupt, "b", "/quit")

    assert said.code == 0
    assert calls == ["a", "b"]
    assert "\nstopped\n" in said.out
    assert "/quit or Ctrl-D ends" in said.out


def test_commands_that_do_not_exist_are_told(person: Any, babbling_run: Path) -> None:
    said = person((babbling_run,), "/help", "/system Be brief.", "/system")

    assert "no command /help: /new begins" in said.out
    assert said.code == 0


@pytest.mark.long
def test_in_a_real_terminal_ctrl_c_stays_and_ctrl_d_leaves(babbling_run: Path) -> None:
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "grpo_gym", "chat", str(babbling_run), "--max-tokens", "200"]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
    ) as process:
        os.close(slave)
        try:
            _read_until(master, "> ")
            _read_until(master, "/quit or Ctrl-D ends", press=lambda: process.send_signal(signal.SIGINT))
            os.write(master, b"hello\n")
            assert _left(process, master) == 0
        finally:
            process.kill()
            os.close(master)


def _left(process: subprocess.Popen[bytes], master: int, seconds: float = 60) -> int | None:
    """Press Ctrl-D and read what is written until the process has ended; a key pressed during an answer may be lost."""
    began = time.monotonic()
    with contextlib.suppress(OSError):  # a terminal that its last process has left
        while process.poll() is None and time.monotonic() - began < seconds:
            os.write(master, b"\x04")
            if select.select([master], [], [], 0.5)[0]:
                os.read(master, 4096)
    return process.wait(timeout=10)


def _read_until(master: int, end: str, seconds: float = 60, press: Callable[[], None] = lambda: None) -> None:
    """Read until a text has come; whenever nothing comes for a while, press a key (again)."""
    text, began = "", time.monotonic()
    while end not in text.replace("\r", ""):
        assert time.monotonic() - began < seconds, text
        if select.select([master], [], [], 2)[0]:
            text += os.read(master, 4096).decode("utf-8", "replace")
        else:
            press()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("RUN", "--step", 9), "error: RUN has no checkpoint of step 9; there are [1, 2]\n"),
        (
            ("RUN", "--step", "best"),
            "error: RUN has no best checkpoint, for it was never validated: leave out --step\n",
        ),
        (("embedded", "--step", 1), "error: --step names a checkpoint of a run, and embedded is not a run folder\n"),
        (
            ("RUN", "--temperature", 0),
            "error: --temperature is 0.0, must be above 0; for the likeliest tokens: --greedy\n",
        ),
        (("RUN", "--max-tokens", 0), "error: --max-tokens is 0, must be at least 1\n"),
        (("RUN", "--seed", -1), "error: --seed is -1, must be at least 0\n"),
        (("/no/such/thing",), "error: no model folder at '/no/such/thing': give the folder of a model"),
    ],
)
def test_mistakes_are_one_line(cli: Cli, babbling_run: Path, words: tuple[object, ...], message: str) -> None:
    said = cli("chat", *(babbling_run if word == "RUN" else word for word in words), "--prompt", "x")

    assert (said.code, said.out) == (2, "")
    assert said.err.startswith(message.replace("RUN", str(babbling_run)))
    assert said.err.count("\n") == 1
