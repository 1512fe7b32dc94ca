"""`check_reward` on purpose-broken tasks: exactly the line that names the fault fails; and on sound ones none does."""

from __future__ import annotations

import importlib

import pytest

from grpo_gym.checks import QUESTIONS, Report, Status, check_reward, laboratory
from tests.gym import sound_tasks
from tests.gym.broken_kit import CASES, Case

for name in ("answers", "blind", "comparisons", "hacks", "junk", "problems", "sameness"):
    importlib.import_module(f"tests.gym.broken_{name}")

N = 16
ADVICE = {question.key: question.advice for question in QUESTIONS}

NAMED = {
    "fails_rarely": "ZeroDivisionError",
    "reference_is_a_set": "not JSON",
    "never_the_maximum": "earns 0.9",
    "exactly_this_text": "blanks around",
    "no_separators": "thousands",
    "evaluates": "was executed",
    "converts": "ValueError",
    "abstains_on_malformed": "it abstains",
    "native_library": "SIGSEGV",
    "gives_up": "exit code 3",
    "catastrophic_pattern": "CPU time",
    "waits": "no answer within",
    "nan_is_equal": "nan",
    "box_is_enough": "boxed",
    "KnowsItsWeakness": "Roman numerals",
    "relevance": "the prompt, boxed",
    "forgets_the_sign": "the other sign",
    "rounds": "a decimal behind",
    "any_of_a_list": "right, wrong",
    "mostly_zero": "\\\\boxed{0}",
    "LastNamed": "name",
    "cells_of_the_grid": "blanks filled with",
    "order_of_a_set": "another problem",
    "moves_elsewhere": "scoring changes the working directory",
    "draws_and_drops": "generation changes the state of `random`",
    "lifts_the_digit_limit": "the limit on digits",
    "keeps_a_log": "answers.log",
    "AsksAServer": "127.0.0.1",
    "SeedPlusIndex": "moved by",
    "OneListForAll": "train are in val",
    "the_last_tier_fails": "tier 5",
    "easier_at_the_end": "it falls at tier 5",
    "NamedByItsAnswer": "problem_id",
    "unparsed_is_nan": "nan",
    "component_is_none": "None",
    "forgotten_part": "the parts make 1.2, the reward is 1",
    "undeclared_penalty": "-0.5",
}
"""What the report has to say of some of them."""


@pytest.fixture
def short_limits(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts that hang are found sooner; only the one that sleeps needs the clock."""
    monkeypatch.setattr(laboratory, "CPU_LIMIT", 0.5)
    if "waits" in request.node.name:
        monkeypatch.setattr(laboratory, "WALL_LIMIT", 2.0)


@pytest.mark.slow
@pytest.mark.usefixtures("short_limits")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.subject.partition(":")[2])
def test_a_broken_task_fails_its_line_and_no_other(case: Case) -> None:
    report = check_reward(case.subject, N)

    assert {line.key for line in report.failed} == case.lines, str(report)
    assert not report.ok
    assert all(line.found and line.advice == ADVICE[line.key] for line in report.failed)
    named = NAMED.get(case.subject.partition(":")[2], "")
    assert any(named in line.found for line in report.failed), str(report)


@pytest.mark.slow
@pytest.mark.parametrize("name", sound_tasks.SOUND)
def test_a_sound_task_fails_no_line(name: str) -> None:
    report = check_reward(f"tests.gym.sound_tasks:{name}", N)

    assert report.ok, str(report)
    assert _keys(report) == list(ADVICE)
    assert not any(line.advice for line in report.lines)
    assert all(line.found for line in report.lines)


def test_every_question_has_a_broken_task() -> None:
    asked = {key for case in CASES for key in case.lines}

    assert asked == set(ADVICE)


def test_what_the_broken_tests_name_exists() -> None:
    assert set(NAMED) <= {case.subject.partition(":")[2] for case in CASES}


@pytest.mark.slow
def test_questions_that_do_not_arise_are_skipped_with_a_reason() -> None:
    report = check_reward("tests.gym.sound_tasks:episodes", 8)

    assert report.ok
    assert report.line("hedge").status is Status.SKIP
    assert report.line("hedge").found == "an episode in turns has no single final answer"
    assert report.line("junk pays").status is Status.PASS
    assert report.line("spellings").status is Status.PASS


@pytest.mark.slow
def test_every_question_of_a_puzzle_is_asked() -> None:
    report = check_reward("tests.gym.sound_tasks:grid_puzzle", N)

    asked = {line.key for line in report.lines if line.status is Status.PASS}
    assert {"second solver", "filled blanks", "near miss", "hedge", "constant answer"} <= asked
    assert "16 of 16 problems have one solution" in report.line("second solver").found


@pytest.mark.slow
def test_a_later_line_says_why_it_is_not_asked() -> None:
    report = check_reward("tests.gym.broken_sameness:another_each_time", 8)

    assert report.line("hash seeds").status is Status.SKIP
    assert "`repeatable`" in report.line("hash seeds").found


def _keys(report: Report) -> list[str]:
    return [line.key for line in report.lines]
