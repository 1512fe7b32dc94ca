"""Properties of the comparison: reflexive, symmetric, the same in any dress; and no text whatever raises."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from grpo_gym import Reason
from grpo_rewards.math import verify
from grpo_rewards.math.compare import Comparison
from grpo_rewards.math.guard import TooBigError, UndecidedError, UnreadableError
from grpo_rewards.math.parser import parse
from grpo_rewards.math.policy import STRICT
from grpo_rewards.math.tree import Node

CASES = [
    json.loads(line)
    for line in (Path(__file__).resolve().parents[1] / "cases" / "math_verify.jsonl").read_text("utf-8").splitlines()
]
WRITTEN = sorted(
    {case["gold"] for case in CASES}
    | {m[1] for c in CASES if (m := re.fullmatch(r"So \\boxed\{(.*)\}\.", c["response"]))}
)


def tree(text: str) -> Node | None:
    try:
        return parse(text)
    except (UnreadableError, TooBigError):
        return None


TREES = {text: node for text in WRITTEN if (node := tree(text)) is not None}


def same(left: Node, right: Node) -> bool | str:
    try:
        return Comparison(STRICT).same(left, right)
    except (UndecidedError, TooBigError) as error:
        return type(error).__name__


def test_every_value_equals_itself():
    assert len(TREES) > 500
    for text, node in TREES.items():
        assert same(node, node) is True, text


def test_equality_is_symmetric():
    for case in CASES:
        match = re.fullmatch(r"So \\boxed\{(.*)\}\.", case["response"])
        left, right = TREES.get(case["gold"]), TREES.get(match[1]) if match else None
        if left is not None and right is not None:
            assert same(left, right) == same(right, left), (case["gold"], match)


@given(st.sampled_from(sorted(TREES)), st.sampled_from(sorted(TREES)))
def test_equality_is_symmetric_between_any_two(one, other):
    assert same(TREES[one], TREES[other]) == same(TREES[other], TREES[one])


DRESSES = [
    ("\\frac", "\\dfrac"),
    ("\\frac", "\\tfrac"),
    ("(", "\\left("),
    ("+", " + "),
    (",", ", "),
    ("\\cdot", "\\times"),
    ("\\le", "\\leq"),
    ("-", "\u2212"),
    ("\\pi", "\u03c0"),
    ("\\sqrt", "\\displaystyle\\sqrt"),
    ("^2", "^{2}"),
]


@given(st.sampled_from([case["gold"] for case in CASES]), st.lists(st.sampled_from(DRESSES), max_size=4), st.booleans())
def test_another_dress_is_the_same_answer(gold, dresses, dollars):
    plain = re.search(r"\\left|\\text|\\mbox|\\begin|\\emptyset|\\lceil|\\leq|\d,\d", gold) is None and gold.isascii()
    assume(plain and "{2}" not in gold)
    answer = gold
    for old, new in dresses:
        if new not in answer and (old != "(" or answer.count("(") == answer.count(")")):
            answer = answer.replace(old, new)
            answer = answer.replace(")", "\\right)") if old == "(" else answer
    assume("\\left(" not in answer or re.search(r"\\right\)", answer))
    assert verify(f"\\boxed{{{'$' * dollars}{answer}{'$' * dollars}}}", gold), answer


NUMBERS = st.integers(1, 10**6).flatmap(
    lambda n: st.sampled_from([f"{n}", f"{n}/7", f"{n}\\sqrt{{2}}", f"x^2+{n}x", f"({n},3)"])
)


@given(NUMBERS, st.data())
def test_a_changed_answer_is_refused(gold, data):
    place = data.draw(st.sampled_from([i for i, c in enumerate(gold) if c.isdigit()]))
    digit = data.draw(st.sampled_from([d for d in "123456789" if d != gold[place]]))
    changed = data.draw(
        st.sampled_from([gold[:place] + digit + gold[place + 1 :], f"-({gold})", f"{gold}+1", f"[{gold}"])
    )
    first, second = TREES.get(gold) or tree(gold), tree(changed)
    assume(first is None or second is None or same(first, second) is not True)
    assert not verify(f"\\boxed{{{changed}}}", gold), changed


FRAGMENTS = r"""
\frac{ \sqrt{ } { ( ) [ ] \{ \} | 1 2 0.5 x y e i + - * / ^ _ ! ' % = < , \pm \cup \infty \text{cm} \sin \log_ \left
\right \begin{pmatrix} & \\ \end{pmatrix} \sum_ \int dx \lim_ \to ^\circ \boxed{ answer: <think> </think> or and :
"""
PIECES = st.sampled_from([*FRAGMENTS.split(), "\u221a"])


def judge(text: str) -> None:
    for response in (text, f"\\boxed{{{text}}}", f"Answer: {text}"):
        for reference in ("5", "x^2+1", "\\{1,2\\}", "(0,1]", "\\text{even}", "B", "5\\text{ cm}", text[:40]):
            verdict = verify(response, reference)
            assert verdict.value in (None, 0.0, 1.0)
            assert verdict.abstains or (verdict.value == 1.0) == (verdict.reason is Reason.CORRECT)


@given(st.text(max_size=60))
@settings(max_examples=150)
def test_no_text_raises(text):
    judge(text)


@given(st.lists(PIECES, max_size=14).map("".join))
@settings(max_examples=150)
def test_no_mixture_of_maths_raises(text):
    judge(text)


def test_members_of_a_set_may_be_complex_without_an_imaginary_part():
    """Hypothesis found it: the number has no order until its imaginary part is left out."""
    assert verify(r"\boxed{\{0i\}}", "(0,1]").value == 0.0
    assert verify(r"\boxed{\{0i\}}", r"\{0\}").value == 1.0


@pytest.mark.slow
@given(st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=14).map("".join)))
@settings(max_examples=10_000)
def test_no_text_raises_in_ten_thousand(text):
    for reference in ("5", "x^2+1", "(0,1]", text[:40]):
        assert verify(f"\\boxed{{{text}}}", reference).value in (None, 0.0, 1.0)
