"""Shares of letters by script, by hand; what is no prose counts for nothing."""

from __future__ import annotations

import pytest

from grpo_gym import Problem, Reason
from grpo_gym.errors import UnknownNameError
from grpo_rewards.language import SCRIPTS, LanguageConsistency, letters_by_script
from tests.rewards.hostile import HOSTILE, limited

PROBLEM = Problem("?", "5")


def share(script: str, response: str) -> float | None:
    return LanguageConsistency(script).score(response, PROBLEM).value


@pytest.mark.parametrize(
    ("script", "response", "expected"),
    [
        ("latin", "The sum is five.", 1.0),
        ("latin", "Sch\u00f6n, \u00e7a va, \u0111\u01b0\u1ee3c", 1.0),
        ("latin", "\uff26\uff35\uff2c\uff2c width", 1.0),
        ("latin", "ab\u7b54\u6848", 0.5),
        ("han", "ab\u7b54\u6848", 0.5),
        ("han", "\u7b54\u6848\u662f 5\u3002", 1.0),
        ("han", "\u4eba\u3005", 1.0),
        ("han", "\u7b54\u3048", 0.5),
        ("japanese", "\u7b54\u3048\u306f\u30b3\u30fc\u30c9\u3001\uff76\uff85", 1.0),
        ("hangul", "\ub2f5\uc740 \uc624", 1.0),
        ("cyrillic", "\u041e\u0442\u0432\u0435\u0442: five", 5 / 9),
        ("greek", "\u03bb\u03cc\u03b3\u03bf\u03c2", 1.0),
        ("arabic", "\u0627\u0644\u062c\u0648\u0627\u0628 5", 1.0),
        ("devanagari", "\u0909\u0924\u094d\u0924\u0930", 1.0),
        ("thai", "\u0e04\u0e33\u0e15\u0e2d\u0e1a", 1.0),
        ("hebrew", "\u05ea\u05e9\u05d5\u05d1\u05d4", 1.0),
    ],
)
def test_shares_by_hand(script, response, expected):
    assert share(script, response) == pytest.approx(expected)


@pytest.mark.parametrize(
    "extra",
    [
        r"\frac{1}{2} \boxed{5} \sin",
        r"\begin{aligned}5\end{aligned}",
        "```python\nprint('long foreign text')\n```",
        "`print`",
        "<think></think><answer>",
        "x + y = 12, 3x, n_1",
        "\u03b1 = \u03b2",
        "1234567890 !?;:()[]",
        "\U0001f600",
    ],
)
def test_what_is_no_prose_counts_for_nothing(extra):
    assert share("han", f"\u7b54\u6848 {extra} \u7b54\u6848") == 1.0
    assert letters_by_script(f"\u7b54\u6848 {extra} \u7b54\u6848").total() == 4


def test_a_letter_between_accented_ones_is_no_variable():
    assert letters_by_script("\u00e9t t\u00e9").total() == 4


def test_the_text_inside_latex_counts():
    assert share("han", "\u7b54\u6848 \\text{ab}") == 0.5


@pytest.mark.parametrize("response", ["", "42", "```\ncode\n```", r"\boxed{x}", " \n"])
def test_a_response_without_letters_earns_nothing(response):
    verdict = LanguageConsistency("latin").score(response, PROBLEM)
    assert (verdict.value, verdict.reason) == (0.0, Reason.NO_ANSWER)


def test_an_endless_foreign_word_is_not_one_word():
    assert share("han", "\u7b54\u6848" + "a" * 98) == 0.02


def test_it_says_how_much():
    verdict = LanguageConsistency("han").score("ab\u7b54\u6848", PROBLEM)
    assert (verdict.reason, verdict.feedback) == (Reason.WRONG, "50% of the letters are han")
    assert LanguageConsistency("han").score("\u7b54", PROBLEM).reason is Reason.CORRECT


def test_an_unknown_script_is_named_with_the_nearest():
    with pytest.raises(UnknownNameError, match="unknown script 'chinese'"):
        LanguageConsistency("chinese")
    with pytest.raises(UnknownNameError, match="did you mean 'cyrillic'"):
        LanguageConsistency("Cyrilic")
    assert list(SCRIPTS) == sorted(SCRIPTS)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_read_in_one_pass(name):
    with limited(20):
        value = share("latin", HOSTILE[name])
    assert value is not None
    assert 0.0 <= value <= 1.0
