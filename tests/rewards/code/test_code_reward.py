"""Rewards of code around a judge: what is asked of it, what its verdicts are worth, and what is said of them."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from grpo_gym import Problem, Reason, Verdict
from grpo_gym.errors import InvalidValueError, UnknownNameError
from grpo_gym.scoring import is_sound
from grpo_rewards.code.judging import Judging
from grpo_rewards.code.reference import read_reference
from grpo_rewards.code.reward import CodeReward, CodeStyle, Compiles, PassesTests
from grpo_rewards.code.style import style_score
from grpo_rewards.compose import Gate, WeightedSum
from tests.rewards.code.fake_judge import SECRET, FakeJudge, fenced, program

REFERENCE = {"style": "asserts", "tests": f"assert f(1) == {SECRET}"}
PROBLEM = Problem("Write f.", REFERENCE)
BROKEN = "# 0 of 4 syntax_error\ndef f(:\n"


def judged(code: str, judge: FakeJudge | None = None, problem: Problem = PROBLEM, **options: Any) -> Verdict:
    return CodeReward(judge=judge or FakeJudge(), **options).score(fenced(code), problem)


# --- values


@pytest.mark.parametrize(
    ("code", "options", "value", "components"),
    [
        (program(4), {}, 1.0, {"compiles": 1.0, "tests": 1.0}),
        (program(3), {}, 0.0, {"compiles": 1.0, "tests": 0.0}),
        (program(3), {"partial": True}, 0.75, {"compiles": 1.0, "tests": 0.75}),
        (program(0), {"partial": True}, 0.0, {"compiles": 1.0, "tests": 0.0}),
        (program(4), {"partial": True}, 1.0, {"compiles": 1.0, "tests": 1.0}),
        (program(3), {"compiles": 0.1, "tests": 0.9}, 0.1, {"compiles": 1.0, "tests": 0.0}),
        (program(3), {"compiles": 0.1, "tests": 0.9, "partial": True}, 0.775, {"compiles": 1.0, "tests": 0.75}),
        (program(4), {"compiles": 0.1, "tests": 0.9}, 1.0, {"compiles": 1.0, "tests": 1.0}),
        (BROKEN, {"compiles": 0.1, "tests": 0.9}, 0.0, {"compiles": 0.0, "tests": 0.0}),
        (program(3), {"tests": 0.8, "style": 0.2}, 0.0, {"compiles": 1.0, "tests": 0.0, "style": 0.0}),
    ],
)
def test_a_program_is_worth_what_its_parts_weigh(code, options, value, components):
    verdict = judged(code, **options)
    assert verdict.value == pytest.approx(value)
    assert verdict.components == components
    assert is_sound(verdict)


def test_style_is_measured_on_right_programs_only_and_only_where_it_counts():
    judge = FakeJudge()
    reward = CodeReward(tests=0.8, style=0.2, judge=judge)
    verdict = reward.score(fenced(program(4)), PROBLEM)
    style, _ = style_score(judge.inspect(program(4))["metrics"])
    assert 0 < style < 1
    assert verdict.value == pytest.approx(0.8 + 0.2 * style)
    assert (verdict.components["style"], verdict.reason) == (style, Reason.CORRECT)
    judge.inspected.clear()
    reward.score(fenced(program(3)), PROBLEM)
    CodeReward(judge=judge).score(fenced(program(4)), PROBLEM)
    assert judge.inspected == []


def test_the_parts_as_rewards_of_their_own():
    judge = FakeJudge()
    tidy = "# 4 of 4 correct\ndef _helper(number): return number\n"
    for reward, code, value, reason in [
        (Compiles(judge=judge), program(0), 1.0, Reason.CORRECT),
        (Compiles(judge=judge), BROKEN, 0.0, Reason.SYNTAX_ERROR),
        (PassesTests(judge=judge), program(4), 1.0, Reason.CORRECT),
        (PassesTests(judge=judge), program(3), 0.0, Reason.WRONG_ANSWER),
        (PassesTests(True, judge), program(3), 0.75, Reason.WRONG_ANSWER),
        (PassesTests(True, judge), program(4), 1.0, Reason.CORRECT),
        (CodeStyle(judge=judge), program(3), 0.0, Reason.WRONG_ANSWER),
        (CodeStyle(judge=judge), tidy, 1.0, Reason.CORRECT),
    ]:
        verdict = reward.score(fenced(code), PROBLEM)
        assert (verdict.value, verdict.reason) == (value, reason)
    assert CodeStyle(judge=judge).score(fenced(program(4)), PROBLEM).reason is Reason.WRONG
    failing = PassesTests(True, judge).score(fenced(program(0, reason=Reason.ABSTAIN)), PROBLEM)
    assert failing.abstains


def test_the_reason_and_details_are_the_judges():
    verdict = judged(program(1, reason=Reason.CPU_LIMIT))
    assert verdict.reason is Reason.CPU_LIMIT
    assert (verdict.details["passed"], verdict.details["total"]) == (1, 4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tests": 0.5}, r"are 0 \+ 0.5 \+ 0, must sum to 1"),
        ({"compiles": 0.5}, "must sum to 1"),
        ({"tests": 1.5, "style": -0.5}, "CodeReward.style is -0.5"),
        ({"tests": float("nan")}, "CodeReward.tests is nan"),
        ({"tests": True}, "CodeReward.tests is True"),
    ],
)
def test_weights_sum_to_one(options, message):
    with pytest.raises(InvalidValueError, match=message):
        CodeReward(**options)


# --- what the judge is asked


def test_a_batch_is_handed_over_before_anything_is_waited_for_and_comes_back_in_order():
    judge = FakeJudge(wanted=4)
    rows = [(fenced(program(passed)), PROBLEM) for passed in (4, 0, 3, 1)]
    rows.insert(2, ("no program", PROBLEM))
    verdicts = CodeReward(partial=True, judge=judge).score_batch(rows)
    assert [verdict.value for verdict in verdicts] == [1.0, 0.0, 0.0, 0.75, 0.25]
    assert verdicts[2].reason is Reason.NO_ANSWER
    assert len(judge.jobs) == 4


def test_the_job_is_what_the_reference_says():
    reference = {
        "style": "function", "tests": {"fn_name": "f", "inputs": [[1]], "outputs": [2]},
        "given": "x = 1", "in_place": True, "time_s": 2.5, "memory_mb": 100, "entry_point": "f",
    }  # fmt: skip
    judge = FakeJudge()
    judged(program(4), judge, Problem("?", reference))
    judged(program(3), judge, partial=True)
    first, second = judge.jobs
    assert (first.style, first.suite) == ("function", read_reference(reference).suite)
    assert (first.given, first.in_place, first.time_s, first.memory_mb, first.entry_point) == (
        "x = 1",
        True,
        2.5,
        100,
        "f",
    )
    assert (first.every_test, second.every_test) == (False, True)
    assert (second.style, second.time_s, second.given) == ("asserts", 5.0, "")
    assert first.solution == program(4)


def test_parts_of_a_combination_judge_an_answer_once():
    judge = FakeJudge()
    reward = Gate(
        {
            "compiles": Compiles(judge=judge),
            "tests": PassesTests(judge=judge),
            "all": WeightedSum({"style": (0.5, CodeStyle(judge=judge)), "again": (0.5, PassesTests(judge=judge))}),
        }
    )
    rows = [(fenced(code), PROBLEM) for code in (program(4), BROKEN, program(3), program(4))]
    values = [verdict.value for verdict in reward.score_batch(rows)]
    assert values[1:3] == [0.0, 0.0]
    assert values[0] == values[3]
    assert 0.5 < (values[0] or 0) < 1
    assert [job.solution for job in judge.jobs] == [program(4), program(3)]
    assert judge.inspected == [program(4), BROKEN, program(3)]


def test_the_same_program_for_another_problem_is_judged_again():
    judge = FakeJudge()
    reward = CodeReward(judge=judge)
    other = Problem("Write f.", dict(REFERENCE))
    reward.score_batch([(fenced(program(4)), PROBLEM), (fenced(program(4)), other), (fenced(program(4)), PROBLEM)])
    assert len(judge.jobs) == 2


def test_the_memory_has_an_end_and_does_not_keep_what_failed(monkeypatch):
    monkeypatch.setattr("grpo_rewards.code.judging.REMEMBERED", 20)
    judge = FakeJudge()
    judging = Judging(judge)
    rows = [(fenced(program(1, name=f"f{number}")), PROBLEM) for number in range(30)]
    judging.judged(rows)
    assert len(judging._verdicts._known) == 20
    for reason in (Reason.ABSTAIN, Reason.SCORER_ERROR):
        judge.jobs.clear()
        for _ in range(2):
            judging.judged([(fenced(program(0, reason=reason)), PROBLEM)])
        assert len(judge.jobs) == 2


# --- what the answer is


def test_the_entry_point_of_the_tests_decides_between_several_programs():
    usage = fenced("# 0 of 4 wrong_answer\nprint(f(1))\n")
    assert CodeReward(judge=FakeJudge()).score(f"{fenced(program(4))}\n{usage}", PROBLEM)
    stdio = Problem("?", {"style": "stdio", "tests": {"inputs": [""], "outputs": ["1"]}})
    assert not CodeReward(judge=FakeJudge()).score(f"{fenced(program(4))}\n{usage}", stdio)


@pytest.mark.parametrize(
    ("reference", "entry_point"),
    [
        (REFERENCE, "f"),
        ({"style": "asserts", "tests": "import math\nassert math.isclose(f(len('a')), 1)"}, "f"),
        ({"style": "asserts", "tests": "def check(candidate):\n    x = 1\n    assert candidate(x)\ncheck(f)"}, "f"),
        ({"style": "asserts", "tests": "assert f(g(1)) == 1", "given": "def g(x): return x"}, "f"),
        ({"style": "asserts", "tests": "assert f(g(1)) == 1"}, None),
        ({"style": "asserts", "tests": "assert f(g(1)) == 1", "entry_point": "g"}, "g"),
        ({"style": "function", "tests": {"fn_name": "Solution.go", "inputs": [[]], "outputs": [1]}}, "Solution"),
        ({"style": "stdio", "tests": {"inputs": [""], "outputs": ["1"]}}, None),
    ],
)
def test_the_entry_point_is_the_one_name_that_the_tests_ask_for(reference, entry_point):
    assert read_reference(reference).entry_point == entry_point


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        ("", Reason.NO_ANSWER),
        ("It is f.", Reason.NO_ANSWER),
        (f"```python\n{program(4)}", Reason.NO_ANSWER),
        (f"<think>{fenced(program(4))}</think>", Reason.NO_ANSWER),
        (fenced("# " + "x" * 200_000 + "\n"), Reason.TOO_BIG),
    ],
)
@pytest.mark.parametrize("reward", [CodeReward, Compiles, PassesTests, CodeStyle])
def test_a_response_without_a_program_is_worth_nothing_and_runs_nothing(reward, response, reason):
    judge = FakeJudge()
    verdict = reward(judge=judge).score(response, PROBLEM)
    assert (verdict.value, verdict.reason) == (0.0, reason)
    assert verdict.feedback
    assert (judge.jobs, judge.inspected) == ([], [])


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("def f(): pass", "a mapping with 'style' and 'tests', got 'def f"),
        ({"style": "asserts"}, "the reference has no 'tests', only 'style'"),
        ({}, "no 'style', only nothing"),
        ({**REFERENCE, "timeout": 3}, "unknown key of a code reference 'timeout'"),
        ({**REFERENCE, "times": 3}, "did you mean 'time_s'"),
        ({**REFERENCE, "style": "assert"}, "did you mean 'asserts'"),
        ({**REFERENCE, "tests": ""}, "no tests"),
        ({**REFERENCE, "public": ""}, "no tests"),
        ({**REFERENCE, "time_s": "3"}, "'time_s' of the reference is '3', must be a float"),
        ({**REFERENCE, "time_s": True}, "'time_s' of the reference is True"),
        ({**REFERENCE, "in_place": 1}, "'in_place' of the reference is 1, must be a bool"),
    ],
)
@pytest.mark.parametrize("reward", [CodeReward, Compiles, PassesTests, CodeStyle])
def test_an_unreadable_reference_makes_the_row_abstain(reward, reference, message):
    judge = FakeJudge()
    verdict = reward(judge=judge).score(fenced(program(4)), Problem("?", reference))
    assert verdict.abstains
    assert message in verdict.feedback
    assert judge.jobs == []
    with pytest.raises((InvalidValueError, UnknownNameError)):
        read_reference(reference)


@pytest.mark.parametrize("reason", [Reason.ABSTAIN, Reason.SCORER_ERROR])
@pytest.mark.parametrize("reward", [CodeReward, PassesTests, CodeStyle])
def test_a_judge_that_fails_is_told_as_it_is(reward, reason):
    judge = FakeJudge()
    verdict = reward(judge=judge).score(fenced(program(0, reason=reason)), PROBLEM)
    assert verdict == judge.verdict(judge.jobs[0])


class Blind(FakeJudge):
    """A judge that cannot look at programs."""

    error: Any = None

    def inspect(self, solution: str) -> dict[str, Any]:
        self.inspected.append(solution)
        return {"ok": False, "error": self.error}


@pytest.mark.parametrize("error", ["the judge failed: OSError", {"kind": "limit", "type": "WorkerLost", "message": ""}])
def test_a_judge_that_cannot_look_at_a_program_abstains(error):
    judge = Blind()
    judge.error = error
    for reward in (CodeReward(tests=0.9, style=0.1, judge=judge), Compiles(judge=judge), CodeStyle(judge=judge)):
        assert reward.score(fenced(program(4)), PROBLEM).abstains
    assert len(judge.inspected) == 3
    assert CodeReward(tests=0.9, style=0.1, judge=judge).score(fenced(program(3)), PROBLEM).value == 0.0


def test_a_program_that_is_too_much_to_look_at_has_no_style_and_does_not_compile():
    judge = Blind()
    judge.error = {"kind": "limit", "type": "LimitReached", "message": "memory_limit"}
    assert CodeReward(tests=0.9, style=0.1, judge=judge).score(fenced(program(4)), PROBLEM).value == pytest.approx(0.9)
    assert CodeStyle(judge=judge).score(fenced(program(4)), PROBLEM).value == 0.0
    verdict = Compiles(judge=judge).score(fenced(program(4)), PROBLEM)
    assert (verdict.value, verdict.reason, verdict.feedback) == (0.0, Reason.SYNTAX_ERROR, "memory_limit")


# --- life


def test_a_judge_that_was_given_is_left_open_and_stays_behind_in_copies():
    judge = FakeJudge()
    reward = CodeReward(tests=0.9, style=0.1, partial=True, explain=True, judge=judge, workers=2)
    reward.close()
    assert judge.closed == 0
    assert reward.score(fenced(program(4)), PROBLEM).reason is Reason.CORRECT
    copied = pickle.loads(pickle.dumps(reward))
    assert copied._own is None
    assert (copied.weights, copied.partial, copied.explain, copied.workers) == (reward.weights, True, True, 2)


def test_rewards_without_a_judge_share_one_until_the_last_is_closed(monkeypatch):
    made: list[FakeJudge] = []

    def make(workers: int | None = None) -> FakeJudge:
        made.append(FakeJudge())
        return made[-1]

    monkeypatch.setattr("grpo_rewards.code.judging.CodeJudge", make)
    monkeypatch.setattr("grpo_rewards.code.judging.shared_judge", make)
    monkeypatch.setattr("grpo_rewards.code.judging._shared", {})
    one, other, wider = CodeReward(), PassesTests(), CodeReward(workers=7)
    assert made == []
    for reward in (one, other, one):
        assert reward.score(fenced(program(4)), PROBLEM)
    assert [len(judge.jobs) for judge in made] == [1]
    assert wider.score(fenced(program(4)), PROBLEM)
    assert len(made) == 2
    one.close()
    assert made[0].closed == 0
    other.close()
    assert [judge.closed for judge in made] == [1, 0]
    assert one.score(fenced(program(4)), PROBLEM)
    assert len(made) == 3
    one.close()
    wider.close()
    wider.close()
    assert [judge.closed for judge in made] == [1, 1, 1]
