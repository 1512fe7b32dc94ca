"""The maths verifier: a number is right in any written form and wrong by one digit; the reward built on it."""

from __future__ import annotations

import doctest
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import grpo_rewards.math
from grpo_gym import Problem, Reason
from grpo_rewards.math import MathReward, verify
from grpo_rewards.math.guard import MAX_DIGITS, TooBigError, UnreadableError
from grpo_rewards.math.parser import parse
from grpo_rewards.math.rational import rational
from grpo_rewards.math.shapes import quantity

FRACTIONS = st.fractions(min_value=-(10**6), max_value=10**6, max_denominator=10**4)


def judged(response: str, reference: str = "5") -> Reason:
    verdict = verify(response, reference)
    assert verdict.value == (1.0 if verdict.reason is Reason.CORRECT else 0.0)
    return verdict.reason


def read_rational(text: str) -> Fraction | None:
    """The exact value of a written number; None when it is anything else."""
    try:
        tree = parse(text)
        exact = rational(tree)  # a percentage is a number, a sum of dollars a quantity
        return rational(quantity(tree)[0]) if exact is None else exact
    except UnreadableError:
        return None


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


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1/1000000000001", "1/1000000000000"),
        (f"0.{'0' * 30}1", f"0.{'0' * 30}2"),
        ("0.3333333333333333", "1/3"),
        ("0.9999999999999999999999", "1"),
        (f"{10**60 + 1}", f"{10**60}"),
    ],
)
def test_equal_is_equal_and_not_nearly_equal(one, other):
    """Others take 1.39e-10 and 3.3e-10 for equal."""
    assert judged(box(one), other) is Reason.WRONG
    assert judged(box(other), one) is Reason.WRONG


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
        ("-0", 0),
    ],
)
def test_forms_that_are_numbers(text, value):
    assert read_rational(text) == value


NO_NUMBERS = r"""
. - / 1/0 \frac{1}{0} 1/ /2 5; 1.2.3 0x10 1_000 inf nan 5%% %5 x=5=6 5,6 (5,6) {5}{6} \frac{1}{2}{3} \frac{a}{b}
\text{five} 5\neq { } \ 1,23 12,34 5+ 5* =5 5= 5) (5 5^ ^5 5_ 5' \sqrt{} \frac5 5\ldots \ne5 \neg5 >5
"""
OTHERS = ["", " ", "1 2", "1\n2", "5 or 6", "not 5", "5\x00", "\u221e", "\u0664", "\u216b"]


@pytest.mark.parametrize("text", [*OTHERS, *NO_NUMBERS.split()])
def test_forms_that_are_none(text):
    for reference in ("5", "56", "12", "1", "2", "0", "1/2"):
        assert judged(box(text), reference) is not Reason.CORRECT, reference


def test_a_long_numeral_is_refused_before_it_is_converted():
    assert read_rational("9" * MAX_DIGITS) == 10**MAX_DIGITS - 1
    for text in ("9" * (MAX_DIGITS + 1), f"1/{'9' * (MAX_DIGITS + 1)}"):
        with pytest.raises(TooBigError):
            read_rational(text)
    assert judged(box("9" * 1_000)) is Reason.WRONG
    assert judged(box("9" * 100_000)) is Reason.TOO_BIG
    assert judged(box("9" * 100_000), "9" * 100_000) is Reason.CORRECT
    assert judged(box("9" * 5_000), f"{'9' * 4_999}8") is Reason.WRONG


def test_a_reference_that_cannot_be_read_abstains():
    for reference in ("", "\\frac{1}{", "9" * 20_000, "\\unknown{x}"):
        verdict = verify(box(5), reference)
        assert verdict.abstains
        assert "cannot be read" in verdict.feedback
        assert verify("no answer", reference).abstains
    assert verify(box(5), "\\frac{10}{2}")
    assert verify(box("\\unknown{x}"), "\\unknown{x}"), "the same text is right, read or not"


# --- the reward


def test_the_reward_reads_references_that_are_numbers_too():
    assert MathReward().score(box("3/4"), Problem("?", 0.75)).value == 1.0
    assert MathReward().score(box(4), Problem("?", 4)).value == 1.0
    assert MathReward().score(box(4), Problem("?", "")).abstains
    assert (MathReward.cost, MathReward.range) == ("fast", (0.0, 1.0))


def test_the_example_in_the_docstring_holds():
    assert doctest.testmod(grpo_rewards.math) == (0, 2)


@pytest.mark.parametrize(
    ("written", "reference"),
    [
        ("x = 5", "5"),
        ("y=-3/4", "-3/4"),
        (r"\frac34", "3/4"),
        ("(5)", "5"),
        (r"\left(5\right)", "5"),
        (r"1\frac{1}{2}", "3/2"),
        (r"-1\frac12", "-3/2"),
        ("2 3/4", "11/4"),
    ],
)
def test_ordinary_ways_to_write_an_answer_are_read(written, reference):
    assert verify(rf"\boxed{{{written}}}", reference)
    assert verify(f"**Answer**: {written}", reference)


@pytest.mark.parametrize("written", ["x = 5 = 6", "(5, 5)", r"\frac512", "1 5/4", "5 5", "= 5", "2x = 10"])
def test_what_only_resembles_them_is_not(written):
    assert not verify(rf"\boxed{{{written}}}", "5")
    assert not verify(rf"\boxed{{{written}}}", "9/4")
