"""Rewards of code: what is said of a verdict, the judge itself behind them, and programs that try to be paid."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from grpo_gym import Problem, Reason, Verdict
from grpo_rewards.code.feedback import feedback
from grpo_rewards.code.judge import CodeJudge
from grpo_rewards.code.reward import CodeReward, CodeStyle, Compiles, PassesTests
from grpo_rewards.compose import Gate
from tests.rewards.code.fake_judge import SECRET, FakeJudge, fenced, program

REFERENCE = {"style": "asserts", "tests": f"assert f(1) == {SECRET}"}
PROBLEM = Problem("Write f.", REFERENCE)
BROKEN = "# 0 of 4 syntax_error\ndef f(:\n"


@pytest.mark.parametrize("reason", [reason for reason in Reason if reason not in (Reason.ABSTAIN, Reason.SCORER_ERROR)])
@pytest.mark.parametrize("reward", [CodeReward, PassesTests, CodeStyle])
def test_nothing_of_the_tests_is_told(reward, reason):
    verdict = reward(judge=FakeJudge()).score(fenced(program(1, reason=reason)), PROBLEM)
    assert SECRET not in verdict.feedback
    assert "f(" not in verdict.feedback


@pytest.mark.parametrize(
    ("code", "explain", "words"),
    [
        (program(4), False, ""),
        (program(4), True, ""),
        (program(1), False, "wrong answer: 1 of 4 tests passed"),
        (program(1), True, "wrong answer: 1 of 4 tests passed. Test 2 of 4: f(31337): got 7, expected 31337"),
        (program(0, reason=Reason.RUNTIME_ERROR), False, "the program fails: 0 of 4 tests passed"),
        (
            program(0, reason=Reason.RUNTIME_ERROR),
            True,
            "the program fails: 0 of 4 tests passed. Test 1 of 4: f(31337): NameError: no z (line 3)",
        ),
        (BROKEN, False, "the program does not compile: NameError: no z (line 3)"),
        (program(1, reason=Reason.CPU_LIMIT), False, "the program takes too much time: 1 of 4 tests passed"),
    ],
)
def test_what_is_said(code, explain, words):
    assert CodeReward(judge=FakeJudge(), explain=explain).score(fenced(code), PROBLEM).feedback == words


def failed(reason: Reason, **failure: Any) -> Verdict:
    """A judge's verdict with a failure."""
    return Verdict(0.0, reason, details={"passed": 0, "total": 2, "failure": {"test": 0, **failure}})


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (failed(Reason.WRONG_ANSWER, call="f(1)", got="[1, 2]", expected="[1, 3]", message="at [1]: got 2, expected 3"),
         "f(1): got [1, 2], expected [1, 3] (at [1]: got 2, expected 3)"),
        (failed(Reason.WRONG_ANSWER, input="'3'", got="'4'", expected="''", message="the checker says no"),
         "'3': got '4', and the checker says no"),
        (failed(Reason.WRONG_ANSWER, message="the tests never asked for it"), "the tests never asked for it"),
        (failed(Reason.RUNTIME_ERROR, call="assert f(1)", exception="KeyError", line=3, message="7"),
         "assert f(1): KeyError: 7"),
        (failed(Reason.RUNTIME_ERROR, call="f(1)", exception="KeyError", line=3, message="KeyError: 7"),
         "f(1): KeyError: 7 (line 3)"),
        (failed(Reason.CPU_LIMIT, call="f(1)", line=3, message="the cpu limit was reached"),
         "f(1): the cpu limit was reached"),
        (failed(Reason.WRONG_ANSWER, call="f" * 9_000, got="g" * 9_000, expected="e" * 9_000, message="m" * 9_000),
         f"{'f' * 200}...: got {'g' * 200}..., expected {'e' * 200}..."),
    ],
)  # fmt: skip
def test_the_first_failing_test_is_shown_where_that_is_asked_for(verdict, words):
    assert feedback(verdict, explain=True).endswith(f" 0 of 2 tests passed. Test 1 of 2: {words}")
    assert feedback(verdict, explain=False).endswith(" 0 of 2 tests passed")


# --- with the judge itself

STYLES = [
    REFERENCE,
    {"style": "function", "tests": {"fn_name": "f", "inputs": [[1]], "outputs": [2]}},
    {"style": "function", "tests": {"fn_name": "Solution.go", "inputs": [[1]], "outputs": [2]}},
    {"style": "stdio", "tests": {"inputs": ["1"], "outputs": ["2"]}},
    "unreadable",
]
RIGHT = {
    "asserts": ("assert f([3, 1]) == [1, 3]\nassert f([]) == []", "def f(xs):\n    return sorted(xs)\n"),
    "function": (
        {"fn_name": "f", "inputs": [[[3, 1]], [[]]], "outputs": [[1, 3], []]},
        "def f(xs): return sorted(xs)\n",
    ),
    "stdio": ({"inputs": ["3 1", ""], "outputs": ["1 3", ""]}, "print(*sorted(input().split()))\n"),
}


@pytest.fixture(scope="module")
def judge() -> Iterator[CodeJudge]:
    with CodeJudge(workers=1) as judge:
        yield judge


@pytest.mark.parametrize("style", RIGHT)
def test_right_programs_pass_probes_do_not_and_failures_are_explained(judge, style):
    tests, code = RIGHT[style]
    if style == "stdio":
        code = code.replace("input()", "open(0).read()")
    problem = Problem("Sort.", {"style": style, "tests": tests}, solution=code)
    reward = CodeReward(tests=0.9, style=0.1, explain=True, judge=judge)
    right, wrong = reward.score_batch([(fenced(code), problem), (fenced(code.replace("sorted", "list")), problem)])
    assert right.value is not None
    assert right.value > 0.95
    assert wrong.value == 0.0
    assert wrong.feedback.startswith("wrong answer: 0 of 2 tests passed. Test 1 of 2: ")
    assert "[1, 3]" in wrong.feedback or "'1 3'" in wrong.feedback
    probes = reward.probes()
    verdicts = reward.score_batch([(probe.response(problem), problem) for probe in probes])
    paid = {probe.name: verdict for probe, verdict in zip(probes, verdicts, strict=True) if verdict.value != 0.0}
    assert paid == {}


def test_parts_of_a_combination_with_the_judge_itself(judge):
    tests, code = RIGHT["asserts"]
    problem = Problem("Sort.", {"style": "asserts", "tests": tests})
    parts = {"compiles": Compiles(judge=judge), "tests": PassesTests(judge=judge), "style": CodeStyle(judge=judge)}
    responses = [fenced(code), fenced("def f(:"), fenced(code.replace("sorted", "list"))]
    values = [verdict.value for verdict in Gate(parts).score_batch([(response, problem) for response in responses])]
    assert values[1:] == [0.0, 0.0]
    assert 0.5 < (values[0] or 0) <= 1


# --- probes


@pytest.mark.parametrize("reference", STYLES)
def test_probes_are_programs_for_every_style(reference):
    problem = Problem("Write f.", reference, solution="def f(x): return 2")
    for probe in CodeReward().probes():
        assert probe.response(problem)
        for block in probe.response(problem).split("```python\n")[1:]:
            if block.endswith("```"):
                compile(block.removesuffix("```"), "probe", "exec")


def test_probes_allow_what_the_weights_pay():
    assert {probe.at_most for probe in CodeReward().probes()} == {0.0}
    assert {probe.at_most for probe in CodeReward(compiles=0.1, tests=0.9).probes()} == {0.1}
    assert {probe.at_most for probe in CodeReward(partial=True).probes()} == {0.0, 1.0}
    assert {probe.at_most for probe in PassesTests().probes()} == {0.0}
    assert {probe.at_most for probe in PassesTests(partial=True).probes()} == {0.0, 1.0}
    assert {probe.at_most for probe in CodeStyle().probes()} == {0.0}
    assert list(Compiles().probes()) == []
