"""The calculator and the conversation with it: exact, bounded, and deaf to everything but a final answer."""

from __future__ import annotations

import json
import time
from fractions import Fraction
from typing import Any

import gymnasium
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grpo_envs.index import FAMILIES
from grpo_envs.math_tool.calculator import MAX_LENGTH, answer, calculate, written
from grpo_envs.math_tool.episode import CLOSE, MAX_CALLS, MAX_TURNS, OPEN, REMINDER, split_calls, worked_episode
from grpo_envs.math_tool.exact import CalculatorError
from grpo_envs.math_tool.tasks import as_expression
from grpo_gym import Problem, Task
from grpo_gym.problem import SPLITS
from grpo_gym.registration import load_tasks
from tests.shared import shared_file

TASKS = {name: load_tasks(f"grpo/{name}")[0] for name in FAMILIES["math_tool"]}
CHAIN = "grpo/MathTool.Chain-v0"
TIERS = [pytest.param(task, tier, id=f"{name}-{tier}") for name, task in TASKS.items() for tier in task.tiers]

# --- the calculator


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("12*(3+4)/5", "84/5 = 16.8"),
        ("1/3", "1/3"),
        ("-1/8", "-1/8 = -0.125"),
        ("0.1 + 0.2", "3/10 = 0.3"),
        ("2^3^2", "512"),
        ("-2^2", "-4"),
        ("2^-1", "1/2 = 0.5"),
        ("2 ** 10", "1024"),
        ("7 // 2", "3"),
        ("-7 // 2", "-4"),
        ("17 mod 5", "2"),
        ("17 % 5", "2"),
        ("mod(-17, 5)", "3"),
        ("50%", "1/2 = 0.5"),
        ("15% of 80", "12"),
        ("50% + 1", "3/2 = 1.5"),
        ("5!", "120"),
        ("10!/(8!*2!)", "45"),
        ("factorial(4)", "24"),
        ("binomial(10, 3)", "120"),
        ("binomial(3, 10)", "0"),
        ("gcd(48, 36)", "12"),
        ("lcm(4, 6, 10)", "60"),
        ("max(1,200)", "200"),
        ("min(3, 1/2)", "1/2 = 0.5"),
        ("1,250 * 2", "2500"),
        ("abs(-3)", "3"),
        ("|3-5|", "2"),
        ("floor(-3.5)", "-4"),
        ("ceil(3.2)", "4"),
        ("sqrt(16/9)", "4/3"),
        ("cbrt(-27)", "-3"),
        ("8^(2/3)", "4"),
        ("1.5e3", "1500"),
        ("2 x 3", "6"),
        ("12*7 =", "84"),
        ("$5 * 3", "15"),
        (r"\frac{1}{2} - 0.2", "3/10 = 0.3"),
        (r"\left(2 + 3\right) \times 4", "20"),
        (r"\sqrt{49} \cdot \binom{5}{2}", "70"),
        ("6 \u00d7 7 \u2212 2 \u00f7 4", "83/2 = 41.5"),
        ("\u221a16", "4"),
        ("7^100 mod 13", "9"),
    ],
)
def test_a_calculation_is_exact(expression, value):
    assert answer(expression) == value


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("", "nothing to compute"),
        ("1/0", "division by zero"),
        ("5 mod 0", "division by zero"),
        ("0^0", "0^0 has no value"),
        ("0^-1", "0 to a power that is not positive"),
        ("(1+2", "a bracket is not closed"),
        ("1+2)", "a bracket is closed that was not opened"),
        ("1,2", "a comma outside a function"),
        ("1 +", "a number is missing"),
        ("3(4)", "a sign is missing between two factors"),
        ("10!/(8!2!)", "a sign is missing between two factors"),
        ("12 = 12", "one expression at a time, without ="),
        ("sqrt(2)", "the root is irrational, about 1.414213"),
        ("2^0.5", "the root is irrational, about 1.414213"),
        ("sqrt(-4)", "an even root of a negative number"),
        ("gcd(1/2, 3)", "whole numbers are needed"),
        ("mod(1)", "mod takes 2 arguments"),
        ("floor 2.5", "floor needs brackets"),
        ("__import__('os')", "a character that means nothing here"),
        ("\u0663+\u0664", "a character that means nothing here"),
        ("9^9^9", "the numbers become too big"),
        ("2^2^2^2^2^2", "the numbers become too big"),
        ("binomial(1000000, 500000)", "the numbers become too big"),
        ("401!", "factorials go from 0 to 400"),
        ("400!", "the result has more than 200 digits"),
        ("1" * 201, "a number of more than 200 digits"),
        ("(" * 60 + "1" + ")" * 60, "nested more than 40 deep"),
        ("\u221a" * 390 + "4", "nested more than 40 deep"),
        ("-" * 300 + "1", "more than 40 signs in a row"),
        ("1+" * 300 + "1", f"more than {MAX_LENGTH} characters"),
        ("9" * 1_000_000, f"more than {MAX_LENGTH} characters"),
    ],
)
def test_what_cannot_be_computed_is_a_few_words(expression, why):
    assert answer(expression) == f"error: {why}"


@pytest.mark.parametrize("name", ["ignore", "eval", "assistant", "pi"])
def test_an_error_repeats_nothing_that_was_written(name):
    said = answer(f"{name}(1)")
    assert said.startswith("error: an unknown name; there are sqrt")
    assert name not in said.split()


@settings(max_examples=200)
@given(st.text(alphabet="0123456789+-*/^%!(),.|<>{}\\ emodgcdsqrtx=\u221a", max_size=60))
def test_no_expression_raises_or_takes_long(text):
    began = time.process_time()
    said = answer(text)
    assert time.process_time() - began < 0.2
    assert len(said) < 450
    assert "\n" not in said


@given(st.fractions(max_denominator=1000), st.fractions(max_denominator=1000), st.sampled_from("+-*/"))
def test_arithmetic_agrees_with_fractions(a, b, sign):
    right = {"+": a + b, "-": a - b, "*": a * b, "/": a / b if b else None}[sign]
    if right is not None:
        assert calculate(f"({a}) {sign} ({b})") == right
        assert Fraction(written(right).split(" = ")[-1]) == right


@pytest.mark.parametrize(
    "worst", ["400!*" * 50 + "1", "+".join(["1/997^300"] * 36), "lcm(" + ",".join(["99991"] * 60) + ")"]
)
def test_the_dearest_calculations_are_cheap(worst):
    began = time.process_time()
    answer(worst)
    assert time.process_time() - began < 0.1


# --- the episode


def play(env: Any, task: Task) -> tuple[list[tuple[str, str]], float, dict[str, Any]]:
    """Let the oracle play; returns the transcript, the total reward and the last info."""
    inner, total, done, info = env.unwrapped, 0.0, False, {}
    while not done:
        action = task.right_answer(inner.problem, inner._episode.transcript)
        _, reward, terminated, truncated, info = env.step(action)
        total, done = total + reward, terminated or truncated
    return inner._episode.transcript, total, info


@pytest.mark.parametrize(("task", "tier"), TIERS)
def test_the_oracle_has_everything_computed_and_is_right(task, tier):
    env = gymnasium.make(task.env_id, tier=tier)
    for seed in range(12):
        env.reset(seed=seed)
        transcript, total, info = play(env, task)
        assert (total, info["reason"]) == (1.0, "correct")
        said = [text for role, text in transcript if role == "environment"][1:]
        assert len(said) < MAX_TURNS
        assert said or "\n" not in str(env.unwrapped.problem.solution)  # type: ignore[attr-defined]
        assert not any(text.startswith("error") for text in said)


@pytest.mark.parametrize(("task", "tier"), TIERS)
def test_a_question_that_is_one_calculation_has_the_reference_as_its_value(task, tier):
    for seed in range(20):
        problem = task.problem(tier, SPLITS[seed % 3], seed, 0)
        expression = as_expression(problem)
        if expression is not None:
            assert calculate(expression) == Fraction(problem.reference)
    assert task.name == "math_tool.linear" or expression is not None or task.name == "math_tool.remainder"


def test_a_problem_is_of_the_same_split_with_and_without_a_calculator():
    plain = {t.name: t for t in load_tasks("grpo/math")}
    for name, task in TASKS.items():
        single = plain[name.replace("math_tool", "math")]
        for split in SPLITS:
            assert task.problem(1, split, 3, 0).split == split
            assert task.source is single.source
        assert task.problem(1, "train", 3, 0).problem_id.startswith(f"{name}-t1-")


def turn(*actions: str, reference: str = "84") -> list[tuple[str, float, bool, bool, str]]:
    """What the environment makes of actions to a problem with this reference."""
    env = gymnasium.make(CHAIN).unwrapped
    problem = Problem("What is it?", reference, task="math_tool.chain")
    env.reset(seed=1, options={"problem": problem})
    steps = []
    for action in actions:
        message, reward, terminated, truncated, info = env.step(action)
        steps.append((message, float(reward), terminated, truncated, str(info["reason"])))
    return steps


def call(text: str) -> str:
    return f"{OPEN}{text}{CLOSE}"


RIGHT = ("", 1.0, True, False, "correct")


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (f"I ask: {call('12*7')} please", "84"),
        (f"{call('1+1')} and {call('1/0')} and {call('sqrt(9)')}", "2\nerror: division by zero\n3"),
        (call(call("1+1")), "error: a character that means nothing here"),
        (call(r"\boxed{84}"), "error: a character that means nothing here"),
        (f"Answer: {call('12*7')}", "84"),
        (f"#### {call('12*7')}", "84"),
        (f"<think>\\boxed{{84}}</think> {call('12*7')}", "84"),
        (f"\\boxed{{}} {call('12*7')}", "84"),
        (call("9" * 1_000), f"error: more than {MAX_LENGTH} characters"),
        (call("12*7\n<result>5</result>"), "error: a character that means nothing here"),
        (OPEN + "12*7", REMINDER),
        ("12*7" + CLOSE, REMINDER),
        ("the result is 84, I am sure", REMINDER),
        ("", REMINDER),
        ("84", REMINDER),
        ("so far **84**", REMINDER),
        ("\x1b[2J<|im_end|>", REMINDER),
    ],
)
def test_a_turn_without_a_final_answer_is_answered_and_pays_nothing(action, message):
    assert turn(action) == [(message, 0.0, False, False, "no_answer")]


@pytest.mark.parametrize(
    ("action", "reward", "reason"),
    [
        (r"\boxed{84}", 1.0, "correct"),
        ("Answer: 84", 1.0, "correct"),
        (rf"{call('12*7')} gives \boxed{{84}}", 1.0, "correct"),
        (rf"\boxed{{84}} {call('1+1')}", 1.0, "correct"),
        (call(r"\boxed{84}") + r" \boxed{85}", 0.0, "wrong"),
        (r"\boxed{85}", 0.0, "wrong"),
        ("result: 84\n84\n\\boxed{85}", 0.0, "wrong"),
    ],
)
def test_a_final_answer_ends_the_episode_and_alone_decides(action, reward, reason):
    assert turn(action) == [("", reward, True, False, reason)]


@pytest.mark.parametrize("inside", [call("12*7"), f"84{call('0')}", f"{call('80')}84", f"8{call('')}4"])
def test_a_call_inside_a_box_is_no_number(inside):
    [(message, reward, terminated, _, _)] = turn(rf"\boxed{{{inside}}}")
    assert (message, reward, terminated) == ("", 0.0, True)


def test_a_calculation_is_neither_paid_nor_punished():
    assert turn(call("1/0"), call("1+1"), "", r"\boxed{84}")[-1] == RIGHT
    assert turn(r"\boxed{84}")[-1] == RIGHT
    assert [step[1] for step in turn(*[call("12*7")] * 3)] == [0.0] * 3


def test_turns_that_run_out_truncate():
    steps = turn(*[call("12*7")] * MAX_TURNS)
    assert steps[:-1] == [("84", 0.0, False, False, "no_answer")] * (MAX_TURNS - 1)
    assert steps[-1] == ("84", 0.0, False, True, "no_answer")
    assert turn(*["?"] * (MAX_TURNS - 1), r"\boxed{84}")[-1] == RIGHT


def test_an_endless_turn_ends_the_episode():
    assert turn("x" * 100_001) == [("", 0.0, True, False, "too_big")]


def test_calls_beyond_the_limit_of_a_turn_are_refused_in_one_line():
    [(message, *_)] = turn(call("1+1") * 50)
    assert message.splitlines() == ["2"] * MAX_CALLS + [f"error: more than {MAX_CALLS} calculations in one turn"]


@pytest.mark.parametrize("part", [OPEN, CLOSE, OPEN + CLOSE, "\\boxed{", "{"])
def test_long_texts_of_tags_are_read_in_one_pass(part):
    began = time.process_time()
    split_calls(part * (1_000_000 // len(part)))
    turn(part * (90_000 // len(part)))
    assert time.process_time() - began < 2.0


@settings(max_examples=100, deadline=None)
@given(st.text() | st.text(alphabet="<calc>/\\boxed{}123+", max_size=80))
def test_no_text_breaks_an_episode(text):
    [(_, reward, _, _, reason)] = turn(text, reference="123456789")
    assert reward == 0.0
    assert reason != "scorer_error"


def test_an_instruction_line_shows_a_call_and_the_box():
    for task in TASKS.values():
        assert call("12*(3+4)/5") in task.answer_format
        assert r"\boxed{}" in task.answer_format
        assert task.max_turns == MAX_TURNS


def test_groups_and_specs_know_the_calculator():
    envs: Any = gymnasium.make_vec("grpo/MathTool-v0", num_envs=4, group_size=2, expose_answer=True)
    _, infos = envs.reset(seed=3)
    observations, rewards, terminated, *_ = envs.step([infos["answer"][0], call("2+2"), infos["answer"][2], "?"])
    assert rewards.tolist() == [1.0, 0.0, 1.0, 0.0]
    assert (observations[1], observations[3]) == ("4", REMINDER)
    assert terminated.tolist() == [True, False, True, False]
    spec = gymnasium.make("grpo/MathTool-v0", dataset="gsm8k").spec
    assert spec is not None
    assert json.loads(spec.to_json())["kwargs"]["dataset"] == "gsm8k"


def test_gsm8k_is_worked_with_its_own_annotations():
    path = str(shared_file("data", "gsm8k_test.jsonl"))
    options: dict[str, Any] = {"dataset": {"test": path}, "preset": "gsm8k", "split": "test"}
    env: Any = gymnasium.make("grpo/MathTool-v0", **options).unwrapped
    task = env.stream.tasks["math_tool.gsm8k"]
    asked = 0
    for n in range(150):
        env.reset(seed=5 if n == 0 else None)
        transcript, total, _ = play(env, task)
        assert total == 1.0
        asked += len(transcript) > 2
    assert asked > 130


def test_a_worked_episode_keeps_within_the_turns():
    lines = "\n".join(f"{n} + 1 = {n + 1}" for n in range(20))
    turns = worked_episode(Problem("?", "20", solution=f"x = 3\n{lines}\n\\boxed{{20}}"))
    assert len(turns) == MAX_TURNS
    assert turns[0] == f"x = 3\n{call('0 + 1')}"
    assert turns[-1].endswith("19 + 1 = 20\n\\boxed{20}")
    assert worked_episode(Problem("?", "x^2")) == [r"\boxed{x^2}"]


def test_a_calculator_error_is_an_error_of_values():
    with pytest.raises(CalculatorError, match="division by zero"):
        calculate("1/0")
