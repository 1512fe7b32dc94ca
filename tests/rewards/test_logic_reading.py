"""Answers to puzzles are read in any dress, as a whole or not at all, in linear time; `PuzzleReward` pays by rules."""

from __future__ import annotations

import contextlib
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_gym import Problem
from grpo_gym.checks.texts import LONG_JUNK, SHORT_JUNK, WRAPS
from grpo_gym.errors import InvalidValueError
from grpo_gym.verdict import Reason
from grpo_rewards.logic import Findings, PuzzleReward, UnreadError
from grpo_rewards.logic.reading import answer_text, assignments, grid, numbers, one_of, order, plain
from grpo_rewards.soundness import Soundness

PEOPLE = ["Alice", "Bob"]
ROLES = ["knight", "knave"]
ROWS = [list("1234"), list("3412")]

SPELLED = [
    r"\boxed{Alice is a knight, Bob is a knave}",
    r"\boxed{Bob: knave, Alice: knight}",
    r"\boxed{\text{Alice: knight; Bob: knave}}",
    r"\boxed{\text{Alice is a knight and Bob is a knave.}}",
    r"\boxed{\mathrm{Alice} = \mathrm{knight},\ \mathrm{Bob} = \mathrm{knave}}",
    r"\boxed{alice -> KNIGHT, bob → knave}",
    r"\boxed{Alice knight, Bob knave}",
    r"\boxed{(Alice: knight, Bob: knave)}",
    r"\boxed{Alice: knight, Bob: knave, Alice: knight}",
    "So the answer is Alice is a knight and Bob is a knave.",
    "The answer is: Alice: knight, Bob: knave",
    "<answer>Alice=knight, Bob=knave</answer>",
    "Thinking.\nAnswer:\n- Alice: knight\n- Bob: knave",
    "Hm.\n```\nAlice: knight\nBob: knave\n```",
    "**Answer:**\n1. Alice is a knight.\n2. Bob is a knave.\n",
    "Answer: Alice: knight, Bob: knave\r\n",
    "The answer is that Alice is a knight and Bob is a knave.",
    "So:\n```\nAlice: knight, Bob: knave\n```",
    "So: ```Alice: knight, Bob: knave```",
    "```\nAlice: knight\nBob: knave\n```\nBoth statements hold.",
    "Answer:\n| Person | Role |\n| :--- | :--- |\n| Alice | a knight |\n| **Bob** | knave |",
    r"\boxed{\begin{array}{c|c} Alice & knight \\ \hline Bob & knave \end{array}}",
    r"\boxed{Alice \rightarrow knight, Bob \rightarrow knave}",
    r"\boxed{\left(Alice: knight, Bob: knave\right)}",
    r"\boxed{Alice (knight), Bob (knave)}",
    r"\boxed{\{(Alice, knight), (Bob, knave)\}}",
    "<answer>Alice: knight, Bob: spy</answer> wait, that is wrong <answer>Alice: knight, Bob: knave</answer>",
    "<answer>Alice: knight, Bob: knave</answer><answer>Alice: knight, Bob: knave</answer>",
]


@pytest.mark.parametrize("response", SPELLED)
def test_who_is_what_may_be_said_in_many_ways(response):
    assert assignments(answer_text(response), PEOPLE, ROLES) == {"Alice": "knight", "Bob": "knave"}


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("Alice: knight", Reason.UNPARSEABLE),
        ("Alice: knight, Bob: knave, Carol: knave", Reason.UNPARSEABLE),
        ("Alice: knight, Bob: spy", Reason.UNPARSEABLE),
        ("Alice: knight, Bob: knave or knight", Reason.UNPARSEABLE),
        ("Alice: knight, Bob: not knave", Reason.UNPARSEABLE),
        ("not Alice: knight, Bob: knave", Reason.UNPARSEABLE),
        ("Alice: knight, Bob: knave, Bob: knight", Reason.HEDGED),
        ("Alice: knight, Bob: knave, or so", Reason.UNPARSEABLE),
        ("Alice: knight: knave, Bob: knave", Reason.UNPARSEABLE),
        ("Alice, Bob: knight", Reason.UNPARSEABLE),
        ("Alice (knight), Bob (not knave)", Reason.UNPARSEABLE),
        ("(Alice, knight), (Bob, knave), (Bob, knight)", Reason.HEDGED),
        ("(Alice, knight), (Bob, knave or knight)", Reason.UNPARSEABLE),
        ("(Alice, knight, Bob, knave)", Reason.UNPARSEABLE),
        ("| Alice | knight |\n| Bob | knave or knight |", Reason.UNPARSEABLE),
        ("| Alice | knave |\n|---|---|\n| Alice | knight |\n| Bob | knave |", Reason.HEDGED),
        ("| Bob | spy |\n|---|---|\n| Alice | knight |\n| Bob | knave |", Reason.UNPARSEABLE),
        ("| wrong | is |\n|---|---|\n| Alice | knight |\n| Bob | knave |", Reason.UNPARSEABLE),
        ("| Carol | knave |\n| Alice | knight |\n| Bob | knave |", Reason.UNPARSEABLE),
        ("| Alice | knight | knave |\n| Bob | knave | knave |", Reason.UNPARSEABLE),
        (r"\begin{array}{cc} Alice & Bob \\ knight & knave \\ knave & knave \end{array}", Reason.UNPARSEABLE),
    ],
)
def test_what_is_left_over_or_missing_is_no_answer(answer, reason):
    with pytest.raises(UnreadError) as refused:
        assignments(answer_text(f"\\boxed{{{answer}}}"), PEOPLE, ROLES)

    assert refused.value.reason is reason


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        ("", Reason.NO_ANSWER),
        ("Alice is a knight, I think.\nBob as well, perhaps.\n", Reason.NO_ANSWER),
        (r"\boxed{Alice: knight, Bob: knave} or \boxed{Alice: knave, Bob: knave}", Reason.HEDGED),
        ("<answer>Alice: knave, Bob: knave</answer><answer>Alice: knight, Bob: knave</answer>", Reason.HEDGED),
        ("<answer>Alice: knave</answer> or <answer>Alice: knight, Bob: knave", Reason.HEDGED),
        ("```\nAlice: knave\n```\nor\n```\nAlice: knight\n```", Reason.HEDGED),
        ("```\nAlice: knight\nBob: knave\n```\nOr Bob is a knight.", Reason.NO_ANSWER),
        ("```\nAlice: knight\nBob: knave\n```\nThis is wrong.", Reason.NO_ANSWER),
        ("```\nAlice: knight\nBob: knave\n```\nBob: knight", Reason.NO_ANSWER),
        (r"\boxed{}", Reason.NO_ANSWER),
        (r"<think>\boxed{Alice: knight, Bob: knave}</think>", Reason.NO_ANSWER),
        (r"\boxed{" + "x" * 5000 + "}", Reason.TOO_BIG),
    ],
)
def test_a_response_without_one_final_answer_is_refused_with_its_reason(response, reason):
    with pytest.raises(UnreadError) as refused:
        answer_text(response)

    assert refused.value.reason is reason


@pytest.mark.parametrize(
    "response",
    [
        r"\boxed{12 34 / 34 12}",
        r"\boxed{1234/3412}",
        r"\boxed{12343412}",
        r"\boxed{1 2 3 4 \\ 3 4 1 2}",
        r"\boxed{\begin{bmatrix} 1 & 2 & 3 & 4 \\ 3 & 4 & 1 & 2 \end{bmatrix}}",
        r"\boxed{\begin{array}{|c|c|} \hline 1 & 2 & 3 & 4 \\ \hline 3 & 4 & 1 & 2 \end{array}}",
        "\\boxed{1 2 3 4\n3 4 1 2}",
        "[[1, 2, 3, 4], [3, 4, 1, 2]]",
        "1 2 3 4\n3 4 1 2",
        "Answer:\n1 2 3 4\n3 4 1 2",
        "```\n1 2 3 4\n3 4 1 2\n```",
        "Answer:\n| 1 | 2 | 3 | 4 |\n|---|---|---|---|\n| 3 | 4 | 1 | 2 |",
        "<answer>\n1,2,3,4\n3,4,1,2\n</answer>",
        r"\boxed{\left[\begin{matrix} 1 & 2 & 3 & 4 \\ 3 & 4 & 1 & 2 \end{matrix}\right]}",
        "```\n1 2 3 4\n3 4 1 2\n```\nEach row holds all digits.",
        "Answer:\nRow 1: 1 2 3 4\nRow 2: 3 4 1 2",
        "Answer:\n- **Row 1:** 1 2 3 4\n- **Row 2:** 3 4 1 2",
        r"\boxed{Row 1: 1234, Row 2: 3412}",
        "Answer:\n| Row 1 | 1 | 2 | 3 | 4 |\n| Row 2 | 3 | 4 | 1 | 2 |",
    ],
)
def test_a_grid_may_be_drawn_in_many_ways(response):
    assert grid(answer_text(response), 2, 4, "1234") == ROWS


@pytest.mark.parametrize(
    "text",
    [
        "1234",
        "1234/341",
        "Row 2: 1234, Row 1: 3412",
        "Row 1: 1234, 3412",
        "or Row 1: 1234, Row 2: 3412",
        "1234/3412/1234",
        "1234/3415",
        "1234/34.2",
        "1234/341٢",
        "",
    ],
)
def test_a_grid_of_another_shape_or_with_other_signs_is_refused(text):
    with pytest.raises(UnreadError):
        grid(text, 2, 4, "1234")


@pytest.mark.parametrize("text", ["3, 1, 4", "[3 1 4]", "(3,1,4)", "3 and 1 and 4", "3, 1, +4", "3; 1; 4", "3\n1\n4"])
def test_a_list_of_numbers_may_be_written_in_many_ways(text):
    assert numbers(text) == [3, 1, 4]


@pytest.mark.parametrize("text", ["", "3, x", "3+1", "3.5", "1e3", "²", "٣", "9" * 30])
def test_what_is_no_whole_number_is_refused(text):
    with pytest.raises(UnreadError):
        numbers(text)


def test_a_minus_sign_is_a_minus():
    assert numbers("3, \u22121") == [3, -1]


def test_arrows_are_no_brackets_that_grow():
    assert plain(r"\left( A \rightarrow B \leftrightarrow C \right)") == r"( A \rightarrow B \leftrightarrow C )"


@pytest.mark.parametrize(
    "text",
    [
        "B > A > C",
        "B, A, C",
        "B, then A, then C",
        "B -> A -> C",
        "(B, A, and C)",
        "1. B, 2. A, 3. C",
        "A (2), B (1), C (3)",
        "b a c",
    ],
)
def test_an_order_may_be_written_in_many_ways(text):
    if text == "b a c":
        with pytest.raises(UnreadError):
            order(text, ["A", "B", "C"])
    else:
        assert order(text, ["A", "B", "C"]) == ["B", "A", "C"]


@pytest.mark.parametrize(
    "text", ["B > A", "B > A > C > B", "B > A > D", "B > A > A", "1. B, 1. A, 2. C", "B (1), A (2), C (2)", ""]
)
def test_an_order_names_everybody_once(text):
    with pytest.raises(UnreadError):
        order(text, ["A", "B", "C"])


def test_one_word_is_one_of_those_that_exist():
    assert one_of("It", {"it": "yes"}) == "yes"
    with pytest.raises(UnreadError, match="none of yes, no"):
        one_of("yes or no", ["yes", "no"])


@given(st.text(alphabet="Alice:Bob knight,ve{}()[]/\\\n|&-=.123and or", max_size=80))
def test_readers_give_the_whole_answer_or_refuse_it_and_never_raise_otherwise(text):
    with contextlib.suppress(UnreadError):
        assert set(assignments(answer_text(text), PEOPLE, ROLES)) == set(PEOPLE)
    with contextlib.suppress(UnreadError):
        assert [len(row) for row in grid(answer_text(text), 2, 4, "1234")] == [4, 4]
    with contextlib.suppress(UnreadError):
        assert all(isinstance(number, int) for number in numbers(answer_text(text)))
    with contextlib.suppress(UnreadError):
        assert sorted(order(answer_text(text), PEOPLE)) == sorted(PEOPLE)


@given(st.permutations(["Ann: 1", "Ben: 2", "Cy: 1"]), st.sampled_from([", ", "; ", "\n", " and "]))
def test_the_order_of_names_does_not_matter(pieces, joint):
    read = assignments(joint.join(pieces), ["Ann", "Ben", "Cy"], ["1", "2"])

    assert read == {"Ann": "1", "Ben": "2", "Cy": "1"}


# --- the reward


def read_numbers(text, problem):
    return numbers(text)


def rules(answer, problem):
    if answer == problem.reference:
        return Findings()
    share = sum(a == b for a, b in zip(answer, problem.reference, strict=False)) / len(problem.reference)
    return Findings([f"{answer} is not the list"], share, luck=0.5)


def stated(response, problem):
    return Soundness(4, ("so 2 > 3",)) if "so" in response else Soundness(0)


PROBLEM = Problem("Which list?", [1, 2, 3, 4])
REWARD = PuzzleReward(read_numbers, rules, soundness=stated)


def test_rules_decide_and_say_what_is_broken():
    assert REWARD.score(r"\boxed{1, 2, 3, 4}", PROBLEM)
    wrong = REWARD.score(r"\boxed{1, 2, 3, 5}", PROBLEM)
    assert (float(wrong), wrong.reason, wrong.feedback) == (0.0, Reason.WRONG, "[1, 2, 3, 5] is not the list")
    assert REWARD.score("nothing", PROBLEM).reason is Reason.UNPARSEABLE


def test_partial_credit_is_off_by_default_and_paid_above_luck_only():
    credited = REWARD.crediting(partial=0.4)

    assert [float(credited.score(f"\\boxed{{{text}}}", PROBLEM)) for text in ("9 9 9 9", "1 2 9 9", "1 2 3 9")] == [
        0.0,
        0.0,
        pytest.approx(0.4 * 0.5),
    ]
    assert float(credited.score(r"\boxed{1 2 3 4}", PROBLEM)) == 1.0
    assert float(REWARD.score(r"\boxed{1 2 3 9}", PROBLEM)) == 0.0


def test_a_right_answer_over_false_deductions_is_worth_less():
    strict = REWARD.crediting(steps=0.4)
    sound, unsound = (strict.score(f"{text} \\boxed{{1 2 3 4}}", PROBLEM) for text in ("clearly", "so"))

    assert [float(sound), float(unsound)] == pytest.approx([1.0, 0.9])
    assert unsound.components == {"answer": 1.0, "steps": 0.75}
    assert "so 2 > 3" in unsound.feedback
    assert float(strict.score(r"so \boxed{9}", PROBLEM)) == 0.0


@pytest.mark.parametrize("wrong", [{"partial": 1.0}, {"partial": -0.1}, {"steps": 1.0}])
def test_credit_outside_its_range_is_refused(wrong):
    with pytest.raises(InvalidValueError):
        REWARD.crediting(**wrong)


def test_steps_need_a_language_for_deductions():
    with pytest.raises(InvalidValueError, match="no language"):
        PuzzleReward(read_numbers, rules, steps=0.2)


def test_a_puzzle_reward_travels_to_workers():
    again = pickle.loads(pickle.dumps(REWARD.crediting(partial=0.2)))

    assert again.partial == 0.2
    assert again.score(r"\boxed{1 2 3 4}", PROBLEM)


def test_junk_is_refused_in_every_dress():
    for text in {**SHORT_JUNK, **LONG_JUNK}.values():
        for wrap in WRAPS.values():
            assert float(REWARD.score(wrap(text), PROBLEM)) == 0.0
