"""A word as the answer: forgiving in form, strict in content."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_gym import Problem, Reason, Verdict
from grpo_rewards.exact import ExactReward
from tests.rewards.hostile import HOSTILE, limited

PROBLEM = Problem("What is the capital of France?", "Paris")


def judged(response: str, reference: Any = "Paris", **options: bool) -> Verdict:
    return ExactReward(**options).score(response, Problem("What is the capital of France?", reference))


@pytest.mark.parametrize(
    "response",
    [
        "Paris",
        " paris.\n",
        "**Paris**",
        '"Paris."',
        "\u201cParis\u201d",
        "`Paris`",
        "the answer is Paris.",
        "So the answer is: paris",
        "Answer: Paris",
        "**Answer: Paris**",
        "**Answer:** Paris.",
        "Answer:\nParis",
        "#### Paris",
        "I first thought of Rome.\nThe final answer is Paris",
        r"\boxed{Paris}",
        r"It is $\boxed{\text{Paris}}$.",
        r"\boxed{\textbf{Paris.}}",
        r"Rome? No: \boxed{paris}",
        "\\boxed{PARIS}",
        "<think>Rome or Paris?</think>Paris",
        "<think>Rome or Paris?</think>\n<answer>Paris</answer>",
        "<answer>\nThe answer is **Paris**.\n</answer>",
        r"<answer>\boxed{Paris}</answer>",
        "\uff30aris",
        "Pa\u00adris",
    ],
)
def test_right_in_any_form(response):
    assert (judged(response).value, judged(response).reason) == (1.0, Reason.CORRECT)


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        ("", Reason.NO_ANSWER),
        ("Rome", Reason.WRONG),
        ("Parisian", Reason.WRONG),
        ("Answer: Parisian", Reason.WRONG),
        ("Not Paris", Reason.WRONG),
        ("I think it is Paris.", Reason.WRONG),
        ("It may be Paris.\nOr not.", Reason.NO_ANSWER),
        ("Paris\nRome", Reason.NO_ANSWER),
        ("Paris or Rome", Reason.HEDGED),
        ("Answer: Rome, Paris", Reason.HEDGED),
        ("Answer: either Paris or Rome", Reason.HEDGED),
        ("Paris/Rome", Reason.HEDGED),
        (r"\boxed{Paris} or \boxed{Rome}", Reason.HEDGED),
        (r"\boxed{Paris or Rome}", Reason.HEDGED),
        (r"\boxed{Paris} \boxed{}", Reason.HEDGED),
        (r"\boxed{}", Reason.NO_ANSWER),
        ("<think>Paris</think>", Reason.NO_ANSWER),
        ("<think>Answer: Paris", Reason.NO_ANSWER),
        ("<answer>Paris</answer><answer>Rome</answer>", Reason.WRONG),
        ("<answer>Rome</answer> Answer: Paris", Reason.WRONG),
        ("Answer: Paris\nAnswer: Rome", Reason.WRONG),
        (r"\boxed{Rome} Answer: Paris", Reason.WRONG),
        ("Paris " * 1000, Reason.NO_ANSWER),
        ("Answer: " + "Paris " * 1000, Reason.WRONG),
        (r"\boxed{" + "1" * 500 + r"} \boxed{" + "2" * 500 + "}", Reason.HEDGED),
    ],
)
def test_anything_else_is_not_the_answer(response, reason):
    verdict = judged(response)
    assert (verdict.value, verdict.reason) == (0.0, reason)
    assert verdict.feedback


def test_yes_is_not_yesterday():
    assert judged("Answer: yesterday", "yes").value == 0.0
    assert judged("Answer: yes", "yesterday").value == 0.0
    assert judged("Yes.", "yes").value == 1.0


def test_a_list_of_accepted_texts_accepts_each_and_no_mixture():
    accepted = ["New York", "NYC"]
    assert [judged(said, accepted).value for said in ("nyc", "new  york", "Answer: New York.")] == [1.0, 1.0, 1.0]
    assert judged("New York, NYC", accepted).reason is Reason.HEDGED
    assert judged("York", accepted).value == 0.0


def test_an_answer_may_itself_name_several_things():
    assert judged("salt and pepper", "salt and pepper").value == 1.0
    assert judged("Answer: salt", "salt and pepper").value == 0.0
    assert judged("Answer: U.S.", "U.S.").value == 1.0
    assert judged("Answer: 5", 5).value == 1.0
    assert judged("true", True).value == 1.0


def test_case_counts_where_that_is_asked():
    assert judged("paris", ignore_case=False).value == 0.0
    assert judged("Paris.", ignore_case=False).value == 1.0


@pytest.mark.parametrize("reference", [None, {}, [], "", " . ", [None], [["Paris"]], {"answer": "Paris"}])
def test_a_reference_that_is_no_text_abstains(reference):
    verdict = judged("Paris", reference)
    assert verdict.abstains
    assert verdict.feedback.startswith("the reference ")


@pytest.mark.parametrize("reference", ["Paris", ["yes", "true"], "salt and pepper", "x", 5])
def test_the_probes_earn_nothing(reference):
    problem = Problem("Is it so?", reference)
    for probe in ExactReward().probes():
        assert ExactReward().score(probe.response(problem), problem).value == 0.0, probe.name


words = st.text(st.characters(categories=["Ll", "Lu", "Nd"]), min_size=1, max_size=20)


@given(word=words)
def test_every_word_is_right_in_every_form(word):
    for response in (word, f"the answer is {word}.", f"\\boxed{{{word}}}", f"<answer>**{word}**</answer>"):
        assert judged(response, word).value == 1.0


@given(word=words, other=words)
def test_a_word_is_right_for_no_other_word(word, other):
    reward = ExactReward()
    expected = float(reward._folded(word) == reward._folded(other))
    assert judged(f"Answer: {word}", other).value == expected
    assert judged(f"Answer: {word}{other}", other).value == 0.0


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_read_in_one_pass_and_is_not_the_answer(name):
    with limited(20):
        assert ExactReward().score(HOSTILE[name], PROBLEM).value == 0.0
