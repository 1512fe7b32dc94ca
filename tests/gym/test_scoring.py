"""The rule that decides what a policy can learn: what the answer causes scores 0, any other fault abstains."""

from __future__ import annotations

import logging
import sys
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from grpo_gym import FunctionReward, Problem, Procedural, Reason, Reward, Task, TextEnv, Turn, Verdict
from grpo_gym.errors import GrpoGymError, InvalidValueError
from grpo_gym.reward import Probe
from grpo_gym.scoring import MAX_ANSWER, score_all
from grpo_gym.stream import Drawn


class Scripted(Reward):
    """Returns, or raises, what the answer is mapped to; 1 for the reference."""

    def __init__(self, script: dict[str, Any], batch: Any = None) -> None:
        self.script = {"right": Verdict(1.0, Reason.CORRECT), **script}
        self.batch = batch
        self.asked: list[str] = []

    def score(self, response: str, problem: Problem) -> Any:
        self.asked.append(response)
        told = self.script.get(response, Verdict(0.0, Reason.WRONG))
        if isinstance(told, BaseException):
            raise told
        return told

    def score_batch(self, rows: Any) -> Any:
        return super().score_batch(rows) if self.batch is None else self.batch(rows)


def drawn(reward: Reward, reference: Any = "right", **fields: Any) -> Drawn:
    problem = Problem("say it", reference, task="test.scripted", problem_id="test-1")
    return Drawn(Task("test.scripted", Procedural(lambda rng, tier: problem), reward, **fields), problem)


def one(reward: Reward, answer: str, reference: Any = "right", **fields: Any) -> Verdict:
    return score_all(None, [(answer, drawn(reward, reference, **fields))])[0]


FAULTS: dict[str, Any] = {
    "raises": ValueError("no such answer"),
    "recursion": RecursionError("too deep"),
    "memory": MemoryError(),
    "exits": SystemExit(1),
    "nan": Verdict(float("nan"), Reason.CORRECT),
    "inf": Verdict(float("inf"), Reason.CORRECT),
    "huge": Verdict(10**400, Reason.CORRECT),
    "text": Verdict("1.0", Reason.CORRECT),  # type: ignore[arg-type]
    "nan component": Verdict(1.0, Reason.CORRECT, {"part": float("nan")}),
    "none component": Verdict(1.0, Reason.CORRECT, {"part": None}),  # type: ignore[dict-item]
    "no components": Verdict(1.0, Reason.CORRECT, None),  # type: ignore[arg-type]
    "odd reason": Verdict(1.0, "fine"),  # type: ignore[arg-type]
    "number": 1.0,
    "none": None,
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_on_an_answer_scores_zero_when_the_right_answer_scores(fault):
    verdict = one(Scripted(FAULTS), fault)
    assert (verdict.value, verdict.reason) == (0.0, Reason.SCORER_ERROR)
    assert verdict.feedback
    assert not verdict.abstains


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_on_the_right_answer_too_abstains(fault, caplog):
    with caplog.at_level(logging.DEBUG):
        verdict = one(Scripted(FAULTS), fault, reference="raises")
    assert (verdict.value, verdict.reason) == (None, Reason.ABSTAIN)
    assert "the scorer fails on test-1, right answer included" in caplog.text


def test_a_right_answer_that_the_scorer_abstains_on_does_not_blame_the_answer():
    script = {**FAULTS, "judge is out": Verdict.abstain("judge is out")}
    assert one(Scripted(script), "raises", reference="judge is out").abstains


def test_a_right_answer_that_times_out_does_not_blame_the_answer():
    script = {**FAULTS, "late": Verdict(0.0, Reason.TIMEOUT)}
    assert one(Scripted(script), "raises", reference="late").abstains


def test_a_task_that_cannot_write_its_right_answer_abstains():
    def oracle(problem: Problem, transcript: Any) -> str:
        raise KeyError("solution")

    assert one(Scripted(FAULTS), "raises", oracle=oracle).abstains
    assert one(Scripted(FAULTS), "raises", oracle=lambda problem, transcript: 4).abstains


def test_an_abstention_of_the_reward_itself_stays_one():
    script = {"judge is out": Verdict.abstain("judge is out")}
    verdict = one(Scripted(script), "judge is out")
    assert (verdict.value, verdict.reason, verdict.feedback) == (None, Reason.ABSTAIN, "judge is out")
    assert float(verdict) == 0.0
    assert not verdict


@pytest.mark.parametrize("value", [1, True, 0.5, -2.0, np.float32(0.5), np.int64(1), Fraction(1, 2)])
def test_every_real_number_is_a_value(value):
    verdict = one(Scripted({"odd": Verdict(value, Reason.WRONG)}), "odd")
    assert float(verdict) == float(value)
    assert bool(verdict) == (value >= 1)


# --- plain functions


@pytest.mark.parametrize(
    ("returned", "value", "reason"),
    [
        (1, 1.0, Reason.CORRECT),
        (True, 1.0, Reason.CORRECT),
        (False, 0.0, Reason.WRONG),
        (0.5, 0.5, Reason.WRONG),
        (np.float32(1), 1.0, Reason.CORRECT),
        (Decimal("0.25"), 0.25, Reason.WRONG),
        (None, None, Reason.ABSTAIN),
        (Verdict(0.5, Reason.HEDGED), 0.5, Reason.HEDGED),
    ],
)
def test_a_plain_function_may_return_any_number_none_or_a_verdict(returned, value, reason):
    verdict = one(FunctionReward(lambda response, problem: returned), "any")
    assert (verdict.value, verdict.reason) == (value, reason)


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (float("nan"), "<lambda> returned nan: a reward is a finite number or None"),
        (float("inf"), "<lambda> returned inf: a reward is a finite number or None"),
        ("much", "<lambda> returned 'much', not a number"),
        ([1.0], "not a number"),
        ("1.0", "<lambda> returned '1.0', not a number"),
        pytest.param(10**400, "not a number", id="huge"),
    ],
)
def test_a_plain_function_that_returns_something_else_is_named(returned, message):
    reward = FunctionReward(lambda response, problem: returned)
    with pytest.raises(InvalidValueError) as caught:
        reward.score("any", Problem("?", "4"))
    assert message in str(caught.value)
    assert message in one(reward, "any").feedback


def test_a_task_takes_a_plain_function_and_refuses_anything_else():
    source = Procedural(lambda rng, tier: Problem(f"{rng.integer(0, 10**9)}", "1"))
    env = TextEnv(Task("test.plain", source, lambda response, problem: len(response)))  # type: ignore[arg-type]
    env.reset(seed=1)
    assert env.step("abc")[1] == 3.0
    with pytest.raises(InvalidValueError, match=r"a reward is a Reward or a function \(response, problem\) -> number"):
        Task("test.plain", source, "exact")  # type: ignore[arg-type]


# --- sizes, batches, repeats


@pytest.mark.parametrize("cost", ["fast", "slow"])
def test_an_answer_beyond_the_limit_is_not_read(cost):
    reward = Scripted({})
    reward.cost = cost
    verdict = one(reward, "x" * (MAX_ANSWER + 1))
    assert (verdict.value, verdict.reason) == (0.0, Reason.TOO_BIG)
    assert verdict.feedback == "the answer has more than 1000000 characters"
    assert reward.asked == []
    assert one(reward, "x" * MAX_ANSWER).reason is Reason.WRONG
    reward.close()


def test_equal_answers_to_one_problem_are_judged_once_and_to_two_problems_twice():
    reward = Scripted({})
    first, second = drawn(reward), drawn(reward)
    rows = [("a", first), ("b", first), ("a", first), ("a", second)]
    assert [verdict.value for verdict in score_all(None, rows)] == [0.0] * 4
    assert reward.asked == ["a", "b", "a"]


def test_rows_of_several_rewards_keep_their_order():
    one_, other = Scripted({"x": Verdict(0.1, Reason.WRONG)}), Scripted({"x": Verdict(0.2, Reason.WRONG)})
    rows = [("x", drawn(one_)), ("x", drawn(other)), ("right", drawn(one_)), ("right", drawn(other))]
    assert [verdict.value for verdict in score_all(None, rows)] == [0.1, 0.2, 1.0, 1.0]
    third = Scripted({"x": Verdict(0.3, Reason.WRONG)})
    assert [verdict.value for verdict in score_all(third, rows)] == [0.3, 0.3, 1.0, 1.0]
    assert score_all(None, []) == []


BROKEN_BATCHES: dict[str, Any] = {
    "raises": lambda rows: 1 // 0,
    "exits": lambda rows: sys.exit(1),
    "too few": lambda rows: [],
    "too many": lambda rows: [Verdict(1.0, Reason.CORRECT)] * (len(rows) + 1),
    "nan": lambda rows: [Verdict(float("nan"), Reason.CORRECT)] * len(rows),
    "a generator": lambda rows: (Verdict(1.0, Reason.CORRECT) for _ in rows),
    "none": lambda rows: None,
}


@pytest.mark.parametrize("batch", BROKEN_BATCHES)
def test_a_batch_that_fails_is_scored_one_by_one(batch):
    reward = Scripted(FAULTS, BROKEN_BATCHES[batch])
    rows = [(answer, drawn(reward)) for answer in ("right", "wrong", "raises")]
    assert [(v.value, v.reason) for v in score_all(None, rows)] == [
        (1.0, Reason.CORRECT),
        (0.0, Reason.WRONG),
        (0.0, Reason.SCORER_ERROR),
    ]


def told(**scripts: Verdict) -> Any:
    """A batch that answers from a table, as a reward does that never raises."""
    table = {"right": Verdict(1.0, Reason.CORRECT), **scripts}
    return lambda rows: [table[response] for response, _ in rows]


FAILED = Verdict(0.0, Reason.SCORER_ERROR, {"form": 1.0}, "it broke", {"leaves": {"form": 1.0}})


def test_a_scorer_error_that_a_batch_returns_is_blamed_on_the_answer_when_the_right_one_scores():
    reward = Scripted({"bad": FAILED}, told(bad=FAILED))
    assert score_all(None, [("bad", drawn(reward)), ("right", drawn(reward))]) == [FAILED, Verdict(1.0, Reason.CORRECT)]
    assert reward.asked == ["right"]


@pytest.mark.parametrize("batch", [told(bad=FAILED), None])
def test_a_scorer_error_on_the_right_answer_too_abstains_and_keeps_what_is_known(batch):
    verdict = one(Scripted({**FAULTS, "bad": FAILED}, batch), "bad", reference="raises")
    assert verdict == Verdict(None, Reason.ABSTAIN, FAILED.components, FAILED.feedback, FAILED.details)


def test_many_failing_answers_to_one_problem_need_one_right_answer():
    reward = Scripted({}, lambda rows: [FAILED for _ in rows])
    problem = drawn(reward)
    assert score_all(None, [(str(n), problem) for n in range(20)]) == [FAILED] * 20
    assert reward.asked == ["right"]


def test_a_scorer_error_never_pays_and_may_cost():
    generous = Scripted({"bad": Verdict(0.7, Reason.SCORER_ERROR)})
    strict = Scripted({"bad": Verdict(-0.5, Reason.SCORER_ERROR)})
    assert (one(generous, "bad").value, one(strict, "bad").value) == (0.0, -0.5)
    assert one(Scripted({"bad": Verdict(None, Reason.SCORER_ERROR)}), "bad").abstains


# --- in an episode


@pytest.mark.parametrize("fault", FAULTS)
def test_no_fault_of_a_scorer_leaves_step(fault):
    reward = Scripted(FAULTS)
    problem = {"prompt": "say it", "reference": "right"}
    env = TextEnv(drawn(reward).task)
    env.reset(seed=1, options={"problem": problem})
    _, value, terminated, truncated, info = env.step(fault)
    assert (value, terminated, truncated) == (0.0, True, False)
    assert (info["reason"], info["abstain"]) == ("scorer_error", 0.0)
    env.reset(options={"problem": {**problem, "reference": "raises"}})
    _, value, _, _, info = env.step(fault)
    assert (value, info["reason"], info["abstain"]) == (0.0, "abstain", 1.0)
    assert info["rewards"] == {"score": 0.0}


BROKEN_TURNS: dict[str, Any] = {
    "raises": ValueError("no such turn"),
    "exits": SystemExit(),
    "text": "text",
    "none": None,
    "number as message": Turn(message=4),  # type: ignore[arg-type]
    "nan reward": Turn(reward=float("nan")),
    "nan verdict": Turn(verdict=Verdict(float("nan"), Reason.CORRECT)),
    "text as verdict": Turn(verdict="right"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", BROKEN_TURNS)
def test_a_dialogue_that_fails_on_an_action_ends_with_zero(name):
    told = BROKEN_TURNS[name]

    class Broken:
        def __init__(self, problem: Problem) -> None:
            self.turns = 0

        def reply(self, action: str) -> Any:
            if action != "break":
                return Turn("go on", reward=0.25)
            if isinstance(told, BaseException):
                raise told
            return told

        def give_up(self) -> Verdict:
            raise ValueError("no end")

    env = TextEnv(drawn(Scripted({}), dialogue=Broken, max_turns=3).task)
    env.reset(seed=1, options={"problem": {"prompt": "?", "reference": "4"}})
    assert env.step("go")[:4] == ("go on", 0.25, False, False)
    _, reward, terminated, truncated, info = env.step("break")
    assert (reward, terminated, truncated, info["reason"]) == (0.0, True, False, "scorer_error")
    env.reset(options={"problem": {"prompt": "?", "reference": "4"}})
    for _ in range(2):
        env.step("go")
    _, reward, terminated, truncated, info = env.step("go")
    assert (reward, terminated, truncated, info["reason"]) == (0.25, False, True, "scorer_error")
    env.reset(options={"problem": {"prompt": "?", "reference": "4"}})
    _, reward, terminated, _, info = env.step("x" * (MAX_ANSWER + 1))
    assert (reward, terminated, info["reason"]) == (0.0, True, "too_big")


def test_a_reward_without_probes_has_none_and_a_probe_is_worth_nothing():
    assert Scripted({}).probes() == ()
    assert Probe("empty", lambda problem: "").at_most == 0.0
    assert issubclass(InvalidValueError, GrpoGymError)


def test_a_fault_that_hits_many_rows_is_one_warning(caplog):
    broken = Scripted({"right": OSError("the same fault for all"), "x": OSError("the same fault for all")})

    with caplog.at_level(logging.WARNING):
        verdicts = score_all(None, [("x", drawn(broken)) for _ in range(50)])

    assert all(verdict.abstains for verdict in verdicts)
    assert len(caplog.records) == 1
