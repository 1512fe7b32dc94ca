"""`list`, `sample` and `play`: what an environment is, asks and says, whatever characters it is made of."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from grpo_gym import registered_ids
from tests.cli import toy
from tests.cli.conftest import Cli


def test_list_shows_every_id_with_tiers_turns_and_what_it_asks(cli: Cli) -> None:
    said = cli("list")

    assert said.code == 0
    assert all(identifier in said.out for identifier in registered_ids())
    row = next(line for line in said.out.splitlines() if "Logic.GuessNumber" in line)
    assert row.split()[1:4] == ["0-5", "(0-1)", "10"]
    assert "Find a number in an interval" in row


def test_list_filters_and_speaks_json(cli: Cli) -> None:
    rows = json.loads(cli("list", "MATH.GCD", "--json").out)

    assert [row["id"] for row in rows] == ["grpo/Math.Gcd-v0"]
    assert rows[0]["tiers"] == [0, 1, 2, 3, 4, 5]
    assert rows[0]["default_tiers"] == [0, 1]
    assert rows[0]["turns"] == 1
    assert rows[0]["description"].startswith("Greatest common divisor")


def test_list_names_the_nearest_of_a_mistaken_filter(cli: Cli) -> None:
    assert cli("list", "gusse") == (2, "", "error: unknown filter 'gusse'; did you mean 'GuessNumber'?\n")


def test_sample_is_a_function_of_its_seed(cli: Cli) -> None:
    first = cli("sample", "grpo/Math-v0", "-n", 3, "--seed", 7)

    assert first.code == 0
    assert first.out.count("tier") == 3
    assert first == cli("sample", "grpo/Math-v0", "-n", 3, "--seed", 7)
    assert first != cli("sample", "grpo/Math-v0", "-n", 3, "--seed", 8)


def test_sample_hides_answers_until_asked(cli: Cli) -> None:
    hidden = cli("sample", "grpo/Math.Gcd-v0", "-n", 1).out
    shown = cli("sample", "grpo/Math.Gcd-v0", "-n", 1, "--answers").out

    assert "boxed{}" in hidden
    assert "answer:" not in hidden
    assert "answer: \\boxed{" in shown
    assert "solution:" in shown


def test_sample_as_json_lines(cli: Cli) -> None:
    words = ("sample", "grpo/Math-v0", "-n", 2, "--jsonl", "--tier", 1, 2, "--split", "val")
    records = [json.loads(line) for line in cli(*words).out.splitlines()]

    assert [set(record) for record in records] == [{"prompt", "task", "tier", "split", "problem_id"}] * 2
    assert {record["split"] for record in records} == {"val"}
    assert {record["tier"] for record in records} <= {1, 2}
    assert all("answer" in json.loads(line) for line in cli(*words, "--answers").out.splitlines())


def test_hostile_text_is_printed_as_text(cli: Cli) -> None:
    said = cli("sample", toy.LETTERS, "-n", 1, "--answers")

    assert said.code == 0
    assert "\x1b" not in said.out
    assert "a[/bold]\\x1b[31m" in said.out


def test_a_module_in_the_current_folder_is_found(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_own_task.py").write_text(
        "import grpo_gym as g\n"
        "t = g.Task('mine.one', g.Procedural(lambda r, t: g.Problem(f'Say {r.below(99)}.', 'x')), lambda a, p: 1.0,"
        " namespace='me')\n"
        "g.register_task('mine.one', t, namespace='me')\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", list(__import__("sys").path))

    assert "Say " in cli("sample", "my_own_task:me/Mine.One-v0", "-n", 1).out
    assert cli("sample", "no_such_module:me/X-v0").err.startswith("error: cannot import the module of 'no_such_module:")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("sample", "CartPole-v1"), "error: the environment shows ndarray, not text\n"),
        (("sample", "grpo/Math-v0", "-n", 0), "error: -n is 0, must be at least 1\n"),
        (("sample", "grpo/Math-v0", "--tier", 9), "error: tier is 9: give one of [0, 1, 2, 3, 4, 5], or a range"),
        (("play", "grpo/Math-v0", "--tier", 1, 2, 3), "error: --tier is 1 2 3: give one tier, or the lowest and"),
        (("play", toy.PARROT, "--tier", 1), f"error: {toy.PARROT} is not one of grpo-gym's environments: it has no"),
    ],
)
def test_mistakes_are_one_line(cli: Cli, words: tuple[object, ...], message: str) -> None:
    said = cli(*words)

    assert said.code == 2
    assert said.err.startswith(message)
    assert said.err.count("\n") == 1


@pytest.fixture
def keyboard(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What a person types; ends with Ctrl-D."""
    typed = io.StringIO()
    monkeypatch.setattr("sys.stdin", typed)
    return typed


def test_play_tells_verdict_feedback_answer_and_score(cli: Cli, keyboard: io.StringIO) -> None:
    keyboard.write("yes\n7 of them\n\n")
    keyboard.seek(0)
    said = cli("play", toy.LETTERS, "-n", 3, "--seed", 1)

    assert said.code == 0
    assert "correct, reward 1" in said.out
    assert said.out.count("wrong, reward 0") == 2
    assert "it starts with '7'" in said.out
    assert "it starts with ''" in said.out
    assert said.out.count("answer: a") == 3
    assert said.out.endswith("1 of 3 right\n")
    assert "\x1b" not in said.out


def test_play_ends_with_a_score_when_the_person_leaves(cli: Cli, keyboard: io.StringIO) -> None:
    keyboard.write("yes\n")
    keyboard.seek(0)

    assert cli("play", toy.LETTERS).out.endswith("1 of 1 right\n")


def test_play_takes_ctrl_c_as_the_end(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(prompt: str) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("builtins.input", interrupted)
    said = cli("play", toy.LETTERS)

    assert said.code == 0
    assert said.out.endswith("0 of 0 right\n")


def test_play_holds_a_dialogue(cli: Cli, keyboard: io.StringIO) -> None:
    words = ("--tier", 0, "--seed", 3, "-n", 1)
    problem = json.loads(cli("sample", "grpo/Logic.GuessNumber-v0", *words[:4], "-n", 1, "--jsonl", "--answers").out)
    keyboard.write(f"1\n{problem['answer']}\n")
    keyboard.seek(0)
    said = cli("play", "grpo/Logic.GuessNumber-v0", *words)

    assert said.out.index("> Higher.") < said.out.index("> Right.")
    assert said.out.endswith("1 of 1 right\n")


def test_play_reads_several_lines_up_to_a_dot(cli: Cli, keyboard: io.StringIO) -> None:
    keyboard.write("1 one\nb\n.\nok\nc")
    keyboard.seek(0)
    said = cli("play", toy.LETTERS, "--multiline", "-n", 2)

    assert "it starts with '1'" in said.out
    assert "it starts with 'o'" in said.out
    assert said.out.endswith("1 of 2 right\n")


def test_play_works_with_another_makers_environment(cli: Cli, keyboard: io.StringIO) -> None:
    keyboard.write("long enough\n")
    keyboard.seek(0)

    assert cli("play", toy.PARROT, "-n", 1).out.endswith("1 of 1 right\n")
