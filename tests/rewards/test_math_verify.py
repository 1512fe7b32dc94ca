"""The maths verifier: right in any written form, wrong by one digit, never raised, never slow, never run."""

from __future__ import annotations

import doctest
import json
import time
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import grpo_rewards.math
from grpo_gym import Problem, Reason
from grpo_rewards.math import MathReward, verify
from grpo_rewards.math.extract import final_answer
from grpo_rewards.math.rational import MAX_DIGITS, TooBigError, read_rational
from tests.shared import shared_file

FRACTIONS = st.fractions(min_value=-(10**6), max_value=10**6, max_denominator=10**4)


def judged(response: str, reference: str = "5") -> Reason:
    verdict = verify(response, reference)
    assert verdict.value == (1.0 if verdict.reason is Reason.CORRECT else 0.0)
    return verdict.reason


def box(text: object) -> str:
    return f"\\boxed{{{text}}}"


# --- values


@st.composite
def written(draw: st.DrawFn, value: Fraction) -> str:
    """One of the ways in which people and models write this number."""
    sign, size = ("-" if value < 0 else draw(st.sampled_from(["", "+"]))), abs(value)
    factor = draw(st.integers(1, 60))
    top, bottom = size.numerator * factor, size.denominator * factor
    forms = [f"{sign}{top}/{bottom}", f"{sign}\\frac{{{top}}}{{{bottom}}}", f"\\dfrac{{{sign}{top}}}{{{bottom}}}"]
    forms.append(f"{sign}\\cfrac{{ {top} }} {{ {bottom:,} }}")
    if size.denominator == 1:
        forms += [f"{sign}{size.numerator}", f"{sign}{size.numerator:,}", f"{sign}{size.numerator}.000"]
        forms.append(f"{sign}{size.numerator:,}".replace(",", draw(st.sampled_from(["{,}", "\\,", ",\\!"]))))
    if set(str(size.denominator)) <= set("1250") and 10**8 % size.denominator == 0:
        forms += [f"{sign}{size.numerator * 10**8 // size.denominator / 10**8:.8f}", f"{sign}{float(size * 100)!r}\\%"]
    form = draw(st.sampled_from([f for f in forms if "e" not in f]))
    if draw(st.booleans()):
        form = form.replace("-", draw(st.sampled_from(["\u2212", "\u2013", "- "])))
    return draw(
        st.sampled_from(["{}", " {} ", "${}$", "{}.", "\\text{{{}}}", "{{{}}}", "**{}**", "\\displaystyle {}", "\\${}"])
    ).format(form)


@given(FRACTIONS.flatmap(lambda value: st.tuples(st.just(value), written(value), written(value))))
def test_a_number_is_right_in_every_form(case):
    value, form, other = case
    assert read_rational(form) == value
    assert judged(f"so {box(form)}", other) is Reason.CORRECT


@given(FRACTIONS, FRACTIONS)
def test_another_number_is_wrong(right, other):
    assume(right != other)
    assert judged(box(other), str(right)) is Reason.WRONG


@given(FRACTIONS, st.data())
def test_one_changed_digit_is_wrong(value, data):
    text = str(value)
    place = data.draw(st.sampled_from([i for i, c in enumerate(text) if c.isdigit()]))
    digit = data.draw(st.sampled_from([d for d in "0123456789" if d != text[place]]))
    changed = text[:place] + digit + text[place + 1 :]
    assume(read_rational(changed) != value)
    assert judged(box(changed), text) in (Reason.WRONG, Reason.UNPARSEABLE)


@given(st.integers(1, 10**9), st.sampled_from("0123456789"))
def test_a_digit_added_before_or_behind_is_wrong(value, digit):
    assert judged(box(f"{value}{digit}"), str(value)) is Reason.WRONG
    assert (judged(box(f"{digit}{value}"), str(value)) is Reason.CORRECT) == (digit == "0")


@given(FRACTIONS.filter(lambda value: value != 0))
def test_the_other_sign_is_wrong(value):
    assert judged(box(-value), str(value)) is Reason.WRONG


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("007", 7),
        (".5", Fraction(1, 2)),
        ("-.5", Fraction(-1, 2)),
        ("1/2%", Fraction(1, 200)),
        ("12.5 \\%", Fraction(1, 8)),
        ("3/-4", Fraction(-3, 4)),
        ("\\frac{-3}{-4}", Fraction(3, 4)),
        ("1.5/2", Fraction(3, 4)),
        ("8\\ ", 8),
        ("\\$36", 36),
        ("-0", 0),
    ],
)
def test_forms_that_are_numbers(text, value):
    assert read_rational(text) == value


NO_NUMBERS = [
    *(
        "",
        " ",
        ".",
        "-",
        "/",
        "1/0",
        "\\frac{1}{0}",
        "1/",
        "/2",
        "1/2/3",
        "--5",
        "+-5",
        "1 2",
        "5$6",
        "1\n2",
        "~5",
        "5;",
    ),
    *("1,23", "1,2345", "12,34", "1.2.3", "1e3", "0x10", "1_000", "inf", "nan", "\u221e", "5%%", "%5", "5 cm", "5\x00"),
    *("\u0664", "\u00b2", "\u216b", "2+3", "2*3", "2^3", "5!", "x=5", "5 or 6", "5,6", "(5)", "[5]", "{5}{6}", "not 5"),
    *(
        "\\frac{1}{2}{3}",
        "\\frac12",
        "\\frac{a}{b}",
        "\\text{five}",
        "\\sqrt{4}",
        "5\\neq",
        "{",
        "}",
        "\\",
        "\\boxed{5}",
    ),
]


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_forms_that_are_none(text):
    assert read_rational(text) is None
    assert judged(box(text)) is not Reason.CORRECT


@given(st.text(alphabet="0123456789+-*/.,{}()[]\\$%_^eE frac\u2212\u0664\n", max_size=30))
def test_whatever_is_read_is_a_number_that_python_reads_too(text):
    value = read_rational(text)
    if value is not None:
        assert any(c in "0123456789" for c in text)
        assert set(text) <= set("0123456789+-/.,{}\\$%frac*\u2212 \n")


def test_a_long_numeral_is_refused_before_it_is_converted():
    assert read_rational("9" * MAX_DIGITS) == int("9" * MAX_DIGITS)
    for text in ("9" * (MAX_DIGITS + 1), f"1/{'9' * (MAX_DIGITS + 1)}", "1" * 2_001):
        with pytest.raises(TooBigError):
            read_rational(text)
    assert judged(box("9" * 1_000)) is Reason.TOO_BIG
    assert judged(box("9" * 100_000)) is Reason.TOO_BIG


# --- where the answer is


@pytest.mark.parametrize(
    "response",
    [
        "\\boxed{5}",
        "\\fbox{5}",
        "$\\boxed {5}$.",
        "\\\\boxed{5}",
        "first \\boxed{4}, no, that was wrong: \\boxed{5}",
        "write \\boxed{} around it: \\boxed{5}",
        "never closed \\boxed{ but then \\boxed{5}",
        "} stray \\boxed{5} }",
        "\\{ \\boxed{5} \\}",
        "\\boxed{5} or \\boxed{5}",
        "\\boxed{5}, \\boxed{10/2} and \\boxed{5.0}",
        "the answer is 4\n\\boxed{5}",
        "<think>\\boxed{4}</think> \\boxed{5}",
        "\\boxed{4} </think> \\boxed{5}",
        "<think>a</think>\\boxed{4}<think>b</think> then \\boxed{5}",
        "\\boxed{5} <think> unless \\boxed{4}",
        "Answer: 5",
        "**Answer:** 5",
        "**Answer: 5**",
        "# Final answer = 5.",
        "The final answer is 5.",
        "So, the answer is: $5$",
        "therefore answer: 5\nI hope this helps.",
        "Answer: 4\nAnswer: 5",
        "Answer:\n\n5\n",
        "#### 5",
        "2 + 3 = <<2+3=5>>5\n#### 5",
        "ANSWER IS 5",
    ],
)
def test_the_answer_is_found(response):
    assert judged(response) is Reason.CORRECT


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        ("", Reason.NO_ANSWER),
        ("5", Reason.NO_ANSWER),
        ("2 + 3 = 5", Reason.NO_ANSWER),
        ("it may be 5", Reason.NO_ANSWER),
        ("\\boxed{}", Reason.NO_ANSWER),
        ("\\boxed{5} so \\boxed{}", Reason.NO_ANSWER),
        ("\\boxed{5", Reason.NO_ANSWER),
        ("boxed{5}", Reason.NO_ANSWER),
        ("\\boxed 5", Reason.NO_ANSWER),
        ("<think>\\boxed{5}</think>", Reason.NO_ANSWER),
        ("<think>\\boxed{5}", Reason.NO_ANSWER),
        ("<think>Answer: 5</think> done", Reason.NO_ANSWER),
        ("\\boxed{5}</think>", Reason.NO_ANSWER),
        ("The answer is:", Reason.NO_ANSWER),
        ("##### 5", Reason.NO_ANSWER),
        ("the question asks for the answer, which is 5", Reason.NO_ANSWER),
        ("\\boxed{5} but rather \\boxed{6}", Reason.WRONG),
        ("Answer: 5\nAnswer: 6", Reason.WRONG),
        ("\\boxed{6}\nAnswer: 5", Reason.WRONG),
        ("\\boxed{4} or \\boxed{5}", Reason.HEDGED),
        ("\\boxed{5} or \\boxed{4}", Reason.HEDGED),
        ("\\boxed{5}\\boxed{4}", Reason.HEDGED),
        ("$\\boxed{5}$, $\\boxed{4}$ and perhaps $\\boxed{5}$", Reason.HEDGED),
        ("\\boxed{5}\n\\boxed{x}", Reason.HEDGED),
        ("\\boxed{5 or 6}", Reason.UNPARSEABLE),
        ("Answer: 5 or 6", Reason.UNPARSEABLE),
        ("The answer is not 5", Reason.UNPARSEABLE),
        ("\\boxed{\\boxed{5}", Reason.CORRECT),
    ],
)
def test_what_is_no_answer_and_what_is_a_hedge(response, reason):
    assert judged(response) is reason


def test_a_reference_that_cannot_be_read_abstains():
    for reference in ("x", "", "1/0", "9" * 10_000):
        verdict = verify(box(5), reference)
        assert verdict.abstains
        assert "is not a rational number" in verdict.feedback
    assert verify(box(5), "\\frac{10}{2}")


# --- hostile texts

MANY = 50_000
HOSTILE = {
    "unclosed boxes": "\\boxed{" * MANY,
    "nested boxes": "\\boxed{" * MANY + "}" * MANY,
    "boxes side by side": "\\boxed{1}" * (MANY // 3),
    "boxes with or": "\\boxed{1} or " * (MANY // 4),
    "open braces": "\\boxed{" + "{" * MANY,
    "braces in a box": "\\boxed{" + "{" * MANY + "5" + "}" * MANY + "}",
    "close braces": "}" * MANY,
    "backslashes": "\\" * 3 * MANY,
    "backslashes in a box": "\\boxed{" + "\\" * 3 * MANY + "}",
    "thoughts never closed": "<think>" * (MANY // 2),
    "thoughts only closed": "</think>" * (MANY // 3),
    "thoughts": "<think></think>" * (MANY // 4),
    "blank lines": "\n" * 3 * MANY,
    "blanks": " " * 3 * MANY,
    "hashes": "#" * 3 * MANY,
    "lines of hashes": "####\n" * (MANY // 2),
    "labels": "answer is " * (MANY // 4),
    "lines of labels": "answer is\n" * (MANY // 4),
    "a label and blanks": "answer" + " " * 3 * MANY,
    "the the the": "the " * MANY,
    "so so so": "so, " * MANY,
    "or or or": "\\boxed{1}" + " or" * MANY + "\\boxed{2}",
    "stops": "\\boxed{1}" + "." * 3 * MANY + "\\boxed{2}",
    "a box and blanks": "\\boxed" + " " * 3 * MANY,
    "digits": "\\boxed{" + "1" * 3 * MANY + "}",
    "thousands": "\\boxed{" + "1,000" * MANY + "}",
    "fractions": "\\boxed{" + "\\frac{1}{2}" * (MANY // 4) + "}",
    "slashes": "\\boxed{" + "1/" * MANY + "}",
    "signs": "\\boxed{" + "+" * 3 * MANY + "}",
    "dots and blanks": "\\boxed{5" + ". " * MANY + "}",
    "stars": "Answer: " + "*" * 3 * MANY,
    "beyond the limit": "5" * 1_000_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_are_judged_in_linear_time(name):
    """Quadratic time would take minutes here."""
    began = time.process_time()
    assert verify(HOSTILE[name], "5").value == 0.0
    assert time.process_time() - began < 1.0


@given(st.text())
def test_no_text_raises(text):
    for response in (text, box(text), f"Answer: {text}", f"\\boxed{{{text}", f"<think>{text}</think>{text}"):
        assert verify(response, "5").value in (0.0, 1.0)
        found = final_answer(response)
        assert found.text is None or found.text == found.text.strip()


@given(
    st.lists(st.sampled_from(["\\boxed{", "{", "}", "\\{", "\\}", "5", " or ", "<think>", "</think>", "\n", "Answer:"]))
)
def test_no_mixture_of_marks_raises(parts):
    assert verify("".join(parts), "5").value in (0.0, 1.0)


def test_answer_text_is_never_run(monkeypatch):
    texts = ("__import__('os').getpid()", "2+3", "exec('x=5')", "5 if 1 else 0", "().__class__", "9**9**9")
    ran: list[str] = []
    with monkeypatch.context() as patch:
        for name in ("eval", "exec", "compile"):
            patch.setattr(f"builtins.{name}", lambda *args, **kwargs: ran.append(str(args)))
        reasons = [verify(box(text), "5").reason for text in texts]
    assert ran == []
    assert set(reasons) == {Reason.UNPARSEABLE}


# --- the reward


@given(FRACTIONS)
def test_every_probe_stays_at_its_bound(value):
    reward, problem = MathReward(), Problem("?", str(value))
    for probe in reward.probes():
        assert float(reward.score(probe.response(problem), problem)) <= probe.at_most, probe.name
    assert reward.score(box(value), problem).value == 1.0


def test_the_reward_reads_references_that_are_numbers_too():
    assert MathReward().score(box("3/4"), Problem("?", 0.75)).value == 1.0
    assert MathReward().score(box(4), Problem("?", 4)).value == 1.0
    assert MathReward().score(box(4), Problem("?", None)).abstains
    assert (MathReward.cost, MathReward.range) == ("fast", (0.0, 1.0))


def test_the_example_in_the_docstring_holds():
    assert doctest.testmod(grpo_rewards.math) == (0, 2)


def test_no_shared_case_with_a_rational_answer_is_accepted_wrongly():
    """False positives are rewarded and amplified. One is known: alternatives with words between that we do not know."""
    known = {"adv_hedge-019"}
    wrongly, right, seen = set(), 0, 0
    for line in shared_file("cases", "math.jsonl").read_text().splitlines():
        case = json.loads(line)
        if verify("", case["gold"]).abstains:
            continue
        verdict = verify(case["response"], case["gold"])
        seen += 1
        right += bool(verdict) == case["expected"]
        if verdict and not case["expected"]:
            wrongly.add(case["id"])
    assert wrongly <= known
    assert seen > 100
    assert right / seen > 0.85
