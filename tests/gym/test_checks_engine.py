"""The parts of a check by themselves: spellings, perturbations, hostile texts, the watch."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_gym.checks.forms import DEFAULT_FORMS, FORMS
from grpo_gym.checks.perturb import wrong_references, wrong_sequences
from grpo_gym.checks.texts import LONG_JUNK, SHORT_JUNK, SIZE, STOCK, WRAPS, code_probes, nonsense
from grpo_gym.checks.watch import IMPORTS_CHANGE, TOKEN, changes, global_state

# --- forms ---


@pytest.mark.parametrize(
    ("name", "answer", "spelled"),
    [
        ("as it is", "12", "12"),
        ("blanks around", "12", "  12 \n"),
        ("line ends of Windows", "a\nb", "a\r\nb\r\n"),
        ("full stop", "12", "12."),
        ("boxed", "1/2", r"\boxed{1/2}"),
        ("answer line", "Paris", "The answer is Paris."),
        ("code fence", "1 2\n2 1", "```\n1 2\n2 1\n```"),
        ("thousands", r"\boxed{1234567}", r"\boxed{1,234,567}"),
        ("upper case", "yes", "YES"),
    ],
)
def test_a_form_fits_and_spells(name: str, answer: str, spelled: str) -> None:
    assert FORMS[name].fits(answer)
    assert FORMS[name].spell(answer) == spelled


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("full stop", "1\n2"),
        ("boxed", r"\boxed{1}"),
        ("boxed", "1\n2"),
        ("boxed", '{"a": 1}'),
        ("boxed", "Answer: 3"),
        ("answer line", "<answer>3</answer>"),
        ("answer line", "#### 3"),
        ("code fence", "```\nx\n```"),
        ("thousands", "123"),
        ("thousands", "3.1415"),
        ("thousands", "1,234"),
        ("upper case", "YES"),
        ("upper case", "3 apples"),
        ("upper case", "stra\u00dfe"),
    ],
)
def test_a_form_that_would_change_the_meaning_does_not_fit(name: str, answer: str) -> None:
    assert not FORMS[name].fits(answer)


def test_case_and_emphasis_are_asked_of_those_only_who_declare_them() -> None:
    assert set(FORMS) - set(DEFAULT_FORMS) == {"as it is", "upper case", "bold"}


# --- perturbations ---

_INTEGERS = st.integers(-(10**20), 10**20)
_DECIMALS = st.decimals(-(10**6), 10**6, places=3, allow_nan=False).map(lambda d: f"{d:f}")
_FRACTIONS = st.fractions(min_value=-100, max_value=100, max_denominator=99)
_NUMBERS = st.one_of(_INTEGERS, _INTEGERS.map(str), _DECIMALS, _FRACTIONS.map(str), st.floats(-1e6, 1e6))


def _worth(reference: object) -> Fraction | str:
    """The value by another reader than the code's: Fraction's own, which also knows exponents."""
    try:
        return Fraction(str(reference))
    except (ValueError, ZeroDivisionError):
        return str(reference)


@given(_NUMBERS)
def test_no_wrong_number_has_the_value_of_the_right_one(reference: object) -> None:
    for what, wrong in wrong_references(reference).items():
        assert _worth(wrong) != _worth(reference), what


@given(_INTEGERS)
def test_numbers_are_changed_in_many_ways(reference: int) -> None:
    assert len(wrong_references(str(reference))) >= 10
    assert all(type(wrong) in (int, str) for wrong in wrong_references(reference).values())
    assert int in {type(wrong) for wrong in wrong_references(reference).values()}


@given(st.text(st.characters(categories=["Ll", "Lu"]), min_size=2))
def test_no_wrong_word_is_the_right_one_in_another_case(word: str) -> None:
    for what, wrong in wrong_references(word).items():
        assert str(wrong).casefold() != word.casefold(), what


@pytest.mark.parametrize(
    "reference", ["", "x", "New York", "1 2", "1/0", [1, 2], {"a": 1}, None, True, "9" * 51, "(3, 4)", "1e5"]
)
def test_what_is_neither_a_number_nor_a_word_is_left_alone(reference: object) -> None:
    assert wrong_references(reference) == {}


def test_certain_near_misses_are_among_them() -> None:
    wrong = wrong_references("-125")

    assert {"the other sign": "125", "a digit less": "-12", "the digits reversed": "-521"}.items() <= wrong.items()
    assert {"a small difference": "-125.001", "a superscript": "-12\u2075"}.items() <= wrong.items()
    assert wrong_references(7)["a digit behind"] == 71
    assert wrong_references("no") == {
        "a letter behind": "noq",
        "a letter before": "qno",
        "the word twice": "nono",
        "the word denied": "not no",
        "another word behind": "no qualm",
        "the letters reversed": "on",
    }


@pytest.mark.parametrize(
    ("reference", "wrong"),
    [
        ("3, 14", {"3, 141", "3, 14, 141", "141, 3, 14", "3"}),
        ("[1 2 2]", {"[1 2 21]", "[1 2 2 21]", "[21 1 2 2]"}),
        ("1 2\n2 1", {"1 2\n2 11", "1 2\n2 1 11", "11 1 2\n2 1"}),
        ("7", set()),
        ("a, b", set()),
        ("2024-05-17", set()),
    ],
)
def test_sequences_are_changed_where_that_certainly_changes_them(reference: str, wrong: set[str]) -> None:
    assert {str(text) for text in wrong_sequences(reference).values()} >= wrong
    assert bool(wrong_sequences(reference)) == bool(wrong)


@given(st.lists(st.integers(-999, 999), min_size=2, max_size=9))
def test_a_wrong_sequence_holds_other_numbers_even_as_a_set(numbers: list[int]) -> None:
    for what, wrong in wrong_sequences(", ".join(map(str, numbers))).items():
        assert [int(item) for item in re.findall(r"-?\d+", str(wrong))] != numbers, what
        if what == "a number less":
            assert set(re.findall(r"-?\d+", str(wrong))) != set(map(str, numbers))


# --- texts ---


def test_hostile_texts_are_different_and_of_their_size() -> None:
    assert len(set(SHORT_JUNK.values())) == len(SHORT_JUNK)
    assert all(len(text) < 600 for text in SHORT_JUNK.values())
    assert all(0.8 * SIZE < len(text) < 1.3 * SIZE for text in LONG_JUNK.values())
    assert len(set(STOCK)) == len(STOCK)
    assert not any(TOKEN in text for text in SHORT_JUNK.values())


@pytest.mark.parametrize("name", ["a call", "a list", "arithmetic", "a lambda", "an f-string", "a comparison"])
def test_a_program_leaves_its_mark_when_it_runs(name: str, tmp_path: Path) -> None:
    program = code_probes(tmp_path / "marker")[name]

    subprocess.run([sys.executable, "-c", f"eval({program!r})"], check=True)

    assert TOKEN in program
    assert (tmp_path / "marker").exists()


@given(st.text(max_size=200), st.integers(0, 10**9), st.sampled_from(sorted(WRAPS)))
def test_nonsense_keeps_the_shape_and_nothing_of_the_answer(text: str, right: int, wrap: str) -> None:
    empty = nonsense(f"{text} {right}", str(right))

    assert len(empty) == len(f"{text} {right}")
    assert re.sub(r"\w", "w", empty) == re.sub(r"\w", "w", f"{text} {right}")
    assert WRAPS[wrap]("12") not in nonsense(WRAPS[wrap]("12"), "12")
    if len(set(str(right))) < 10:
        assert not set(str(right)) & set(empty.rpartition(" ")[2])


def test_nonsense_keeps_the_frame_and_tells_two_answers_apart() -> None:
    assert nonsense(r"\boxed{12} or \boxed{34}", "12") == r"\boxed{99} or \boxed{77}"
    assert nonsense("L\u00f6sung: 12", "12", frame="L\u00f6sung: ") == "L\u00f6sung: 99"


# --- watch ---

_WATCHED = """
import json, os, socket, sys
from grpo_gym.checks.watch import Watch
watch = Watch()
deeds = {
    "eval": lambda: eval("0*len('grpo_probe_')"),
    "nested": lambda: exec("def f(): return (1, ('grpo_probe_', 2))"),
    "system": lambda: os.system("true # grpo_probe_"),
    "other eval": lambda: eval("1+1"),
    "compile": lambda: compile("grpo_probe_name", "x", "eval"),
    "format": lambda: "{0}".format("grpo_probe_"),
    "write": lambda: open("made", "w").close(),
    "read": lambda: open("made").close(),
    "low": lambda: os.close(os.open("low", os.O_CREAT | os.O_WRONLY)),
    "mkdir": lambda: os.mkdir("folder"),
    "null": lambda: open(os.devnull, "w").close(),
    "connect": lambda: socket.socket().connect_ex(("127.0.0.1", 9)),
}
seen = {}
for name, deed in deeds.items():
    with watch.look() as found:
        deed()
    seen[name] = [found.executed, found.touched]
open("unwatched", "w").close()
seen["afterwards"] = [watch.executed, watch.touched]
print(json.dumps(seen))
"""


def test_the_watch_sees_executed_answers_files_and_sockets_and_nothing_else(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", _WATCHED], cwd=tmp_path, capture_output=True, text=True, check=True)
    seen = json.loads(done.stdout)

    assert {name for name, (executed, _) in seen.items() if executed} == {"eval", "nested", "system"}
    touched = {name: texts for name, (_, texts) in seen.items() if texts}
    assert set(touched) == {"write", "low", "mkdir", "connect", "afterwards"}
    assert touched["write"] == ["writes 'made'"]
    assert touched["mkdir"] == ["os.mkdir 'folder'"]
    assert touched["connect"] == touched["afterwards"] == ["socket.connect ('127.0.0.1', 9)"]


def test_looking_at_the_global_state_does_not_change_it() -> None:
    assert changes(global_state(), global_state(), first=False, imported=False) == []


def test_what_an_import_may_change_is_judged_where_nothing_was_imported() -> None:
    before = dict.fromkeys([*IMPORTS_CHANGE, "the umask", "the number of threads"], "old")
    after = dict.fromkeys(before, "new")

    assert changes(before, after, first=True, imported=True) == ["the umask"]
    assert changes(before, after, first=True, imported=False) == [*IMPORTS_CHANGE, "the umask"]
    assert changes(before, after, first=False, imported=False) == list(before)
    assert set(IMPORTS_CHANGE) <= set(global_state())
