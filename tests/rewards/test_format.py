"""Rewards for form pay for the form that was asked, and for no shell of it."""

from __future__ import annotations

import pickle

import pytest

from grpo_gym import Problem, Procedural, Reason, Task, Verdict
from grpo_gym.errors import InvalidValueError
from grpo_gym.scoring import score_all
from grpo_gym.stream import Drawn
from grpo_rewards.format import Boxed, Pattern, Tags
from tests.rewards.hostile import HOSTILE, limited

PROBLEM = Problem("2 + 3 = ?", "5")
TAGS = Tags("think", "answer")
STRICT = Tags("think", "answer", strict=True)


def judged(reward: Tags | Boxed | Pattern, response: str) -> Verdict:
    return reward.score(response, PROBLEM)


# --- tags

GOOD = "<think>2 and 3</think><answer>5</answer>"


@pytest.mark.parametrize(
    "response", [GOOD, f"\n {GOOD}\n", GOOD.replace("</think>", "</think>\n\n"), GOOD.replace("5", "<b>5</b>")]
)
def test_tags_in_order_around_something_pay(response):
    assert (judged(TAGS, response).value, judged(TAGS, response).reason) == (1.0, Reason.CORRECT)
    assert judged(STRICT, response).value == 1.0


@pytest.mark.parametrize("response", [f"Well. {GOOD}", f"{GOOD} Done.", GOOD.replace("</think>", "</think> so ")])
def test_text_outside_the_tags_costs_all_where_that_is_asked(response):
    assert judged(TAGS, response).value == 1.0
    assert judged(STRICT, response).value == 0.0
    assert judged(STRICT, response).feedback == "there is text outside the tags"


@pytest.mark.parametrize(
    "response",
    [
        "",
        "5",
        "<think></think><answer></answer>",
        "<think>2 and 3</think><answer> \n</answer>",
        "<think>2 and 3</think><answer>...</answer>",
        "<think>\u200b\u200b</think><answer>5</answer>",
        GOOD + GOOD,
        "<think>a</think>" + GOOD,
        GOOD + "<answer>6</answer>",
        f"<think>{GOOD}</think>",
        "<think>so <answer>5</answer></think>",
        "<think>2 and 3<answer>5</think></answer>",
        "<answer>5</answer><think>2 and 3</think>",
        "</think>2 and 3<think><answer>5</answer>",
        "<think>2 and 3</think><answer>5",
        "<think>2 and 3<answer>5</answer>",
        "<THINK>2 and 3</THINK><answer>5</answer>",
    ],
)
def test_a_shell_pays_nothing(response):
    verdict = judged(TAGS, response)
    assert (verdict.value, verdict.reason) == (0.0, Reason.UNPARSEABLE)
    assert verdict.feedback


def test_a_tag_must_hold_as_much_as_is_asked():
    reward = Tags("think", at_least=3)
    assert [judged(reward, f"<think>{text}</think>").value for text in ("a-b", "a.b c", "\u7b54\u6848\u662f")] == [
        0,
        1,
        1,
    ]


def test_wrong_tags_are_named():
    for names in ((), ("think", "think"), ("<think>",), ("a|b",), ("",)):
        with pytest.raises(InvalidValueError, match="Tags takes different tag names"):
            Tags(*names)
    with pytest.raises(InvalidValueError, match="an empty tag must not pay"):
        Tags("think", at_least=0)


# --- one box


@pytest.mark.parametrize(
    "response",
    [
        r"\boxed{5}",
        r"so $\boxed{\frac{1}{2}}$.",
        r"\fbox {5}",
        r"\\boxed{5}",
        r"\boxed{\emptyset}",
        r"\boxed{\}}",
        r"<think>\boxed{4}</think> \boxed{5}",
        r"\boxed{\text{yes}}",
        r"\boxed{5}" + "." * 100,
        r"\boxed{-}",
    ],
)
def test_one_box_with_something_in_it_pays(response):
    assert (judged(Boxed(), response).value, judged(Boxed(), response).reason) == (1.0, Reason.CORRECT)


@pytest.mark.parametrize(
    ("response", "reason", "feedback"),
    [
        ("", Reason.NO_ANSWER, r"no \boxed{...}"),
        ("boxed{5}", Reason.NO_ANSWER, r"no \boxed{...}"),
        (r"<think>\boxed{5}</think>", Reason.NO_ANSWER, r"no \boxed{...}"),
        (r"<think>\boxed{5}", Reason.NO_ANSWER, r"no \boxed{...}"),
        (r"\boxed{}", Reason.NO_ANSWER, "the box is empty"),
        (r"\boxed{ \quad\, ~}", Reason.NO_ANSWER, "the box is empty"),
        (r"\boxed{\text{ }}", Reason.NO_ANSWER, "the box is empty"),
        ("\\boxed{\u200b}", Reason.NO_ANSWER, "the box is empty"),
        (r"\boxed{5} and \boxed{5}", Reason.UNPARSEABLE, "2 boxes, expected one"),
        (r"\boxed{\boxed{5}}", Reason.UNPARSEABLE, "2 boxes, expected one"),
        (r"\boxed{5", Reason.UNPARSEABLE, "the box is never closed"),
        (r"\boxed{{5}", Reason.UNPARSEABLE, "the box is never closed"),
        (r"\boxed{5\}", Reason.UNPARSEABLE, "the box is never closed"),
        (r"\boxed{5}" + "." * 101, Reason.UNPARSEABLE, "more than 100 characters follow the box"),
    ],
)
def test_any_other_box_pays_nothing(response, reason, feedback):
    verdict = judged(Boxed(), response)
    assert (verdict.value, verdict.reason, verdict.feedback) == (0.0, reason, feedback)


def test_how_much_may_follow_the_box_is_chosen():
    assert judged(Boxed(tail=0), r"\boxed{5}").value == 1.0
    assert judged(Boxed(tail=0), r"\boxed{5}.").value == 0.0
    with pytest.raises(InvalidValueError, match="tail is -1"):
        Boxed(-1)


# --- a pattern


def test_a_pattern_is_matched_by_the_whole_response():
    reward = Pattern(r"Sum: \d+")
    assert judged(reward, " Sum: 12\n").value == 1.0
    for response in ("Sum: 12, I think", "The Sum: 12", "", "Sum: "):
        verdict = judged(reward, response)
        assert (verdict.value, verdict.reason) == (0.0, Reason.UNPARSEABLE)
        assert r"Sum: \d+" in verdict.feedback
    assert judged(Pattern("a.b"), "a\nb").value == 1.0


def test_a_long_response_is_refused_unread():
    verdict = judged(Pattern("a*", longest=10), "a" * 11)
    assert (verdict.value, verdict.reason) == (0.0, Reason.TOO_BIG)
    assert judged(Pattern("a*", longest=10), " " * 9 + "a" * 10).value == 1.0


def test_wrong_patterns_are_named():
    with pytest.raises(InvalidValueError, match=r"'\(' is not a regular expression"):
        Pattern("(")
    with pytest.raises(InvalidValueError, match="cost is 'fast' or 'slow'"):
        Pattern("a", cost="Slow")  # type: ignore[arg-type]
    with pytest.raises(InvalidValueError, match="time_limit positive"):
        Pattern("a", time_limit=0)


def test_a_pattern_that_would_match_for_ever_is_killed_where_that_is_asked(monkeypatch):
    monkeypatch.setenv("GRPO_GYM_WORKERS", "1")
    reward = Pattern("(a+)+", cost="slow", time_limit=0.5)
    drawn = Drawn(Task("test.pattern", Procedural(lambda rng, tier: PROBLEM), reward), PROBLEM)
    with limited(60):
        verdicts = score_all(None, [("a" * 60 + "b", drawn), ("aaa", drawn)])
    reward.close()
    assert [(v.value, v.reason) for v in verdicts] == [(0.0, Reason.TIMEOUT), (1.0, Reason.CORRECT)]


# --- all of them


@pytest.mark.parametrize("reward", [TAGS, STRICT, Tags("a", at_least=9), Boxed(), Boxed(0), Boxed(5000)])
def test_the_probes_earn_what_they_may_and_survive_a_pickle(reward):
    copied = pickle.loads(pickle.dumps(reward))
    assert reward.probes()
    for probe in reward.probes():
        value = reward.score(probe.response(PROBLEM), PROBLEM).value
        assert value == copied.score(probe.response(PROBLEM), PROBLEM).value
        assert value is not None
        assert value <= probe.at_most, probe.name


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_read_in_one_pass_and_pays_nothing(name):
    with limited(20):
        for reward in (TAGS, STRICT, Boxed(), Pattern("[^a]")):
            assert judged(reward, HOSTILE[name]).value == 0.0
