"""Finding the final answer: where it stands, what is none, and texts made to be slow or to be run."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_gym import Reason
from grpo_rewards.math import extract, verify
from grpo_rewards.math.extract import final_answer


def box(text: object) -> str:
    return f"\\boxed{{{text}}}"


def judged(response: str) -> Reason:
    return verify(response, "5").reason


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
        "\\boxed{\\boxed{4}} and then \\boxed{5}",
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
        "5",
        "$5$",
        "x = 5",
        "**5**",
        "So there are **5** of them.\n\n**5**",
        "After adding everything the answer is 5.",
        "<think>a</think><answer>5</answer>",
        "<answer>The final answer is \\boxed{5}</answer>",
        "<think>a</think><answer>5",
        "## Final Answer\n\n5",
        "The answer is 5, because 2 + 3 = 5.",
        "The final answer is $5$. I hope it is correct.",
        "the answer is \\boxed{4}. Wait, that is wrong. The answer is 5.",
        "\\boxed{4}. Wrong; I dropped a sign. \\boxed{5}",
        "The first part gives \\boxed{4}. Adding the one that is left over, we get \\boxed{5}.",
    ],
)
def test_the_answer_is_found(response):
    assert judged(response) is Reason.CORRECT


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        ("", Reason.NO_ANSWER),
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
        ("\\boxed{5}, \\boxed{4}", Reason.HEDGED),
        ("Either \\boxed{4} or perhaps \\boxed{5}.", Reason.HEDGED),
        ("If n is odd then \\boxed{4}; if n is even then \\boxed{5}.", Reason.HEDGED),
        ("\\boxed{5}, or maybe 4", Reason.HEDGED),
        ("<answer></answer>", Reason.NO_ANSWER),
        ("3 + 2 = 5</think><answer>8</answer>", Reason.WRONG),
        ("The answer is \\boxed{5", Reason.NO_ANSWER),
        ("$\\boxed{5}$, $\\boxed{4}$ and perhaps $\\boxed{5}$", Reason.HEDGED),
        ("\\boxed{5}\n\\boxed{x}", Reason.HEDGED),
        ("\\boxed{5 or 6}", Reason.HEDGED),
        ("Answer: 5 or 6", Reason.HEDGED),
        ("The answer is not 5", Reason.NO_ANSWER),
        ("\\boxed{\\boxed{5}", Reason.CORRECT),
        ("\\boxed{\\boxed{5}}", Reason.CORRECT),
        ("\\boxed{\\boxed{4}} or \\boxed{5}", Reason.HEDGED),
    ],
)
def test_what_is_no_answer_and_what_is_a_hedge(response, reason):
    assert judged(response) is reason


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
    "an answer and blanks": "The answer is 5" + " " * 19_000 + "x",
    "an answer, commas and blanks": "The answer is 5" + ",   " * 4_000 + "x",
    "an answer and remarks": "The answer is 5" + " (a" * MANY,
    "fillers": "The answer is " + "then " * MANY,
    "fractions in fractions": "Answer: " + "\\frac{1}{" * (MANY // 4) + "}" * (MANY // 4),
    "corrections": "\\boxed{1} " + "wait " * MANY,
    "corrections of labels": "\\boxed{1} wait " + "the answer is \n" * (MANY // 4),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_are_judged_in_linear_time(name):
    """Quadratic time would take minutes here."""
    began = time.process_time()
    assert verify(HOSTILE[name], "5").value == 0.0
    assert time.process_time() - began < 1.0


LABELLED = [
    "answer",
    "Answer is",
    "option:",
    "SOLUTIONS ARE",
    "\u017folution i\u017f",
    "#### ",
    "## answer",
    "**Answer**",
    "for",
]


@given(st.lists(st.sampled_from([*LABELLED, " ", "\n", "5", " for ", " is ", "=", "x" * 9]), max_size=40).map("".join))
def test_the_last_label_is_found_whichever_block_of_lines_it_stands_in(text):
    everywhere = [
        match.end()
        for pattern in (extract._LABEL, extract._HASHES, extract._HEADING)
        for match in pattern.finditer(text)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(extract, "_BLOCK", 8)
        assert extract._label_end(text) == max(everywhere, default=None)


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
    texts = ("__import__('os').getpid()", "exec('x=5')", "5 if 1 else 0", "().__class__", "9**9**9", "{5!r}", "1/0")
    ran: list[str] = []
    with monkeypatch.context() as patch:
        for name in ("eval", "exec", "compile", "open"):
            patch.setattr(f"builtins.{name}", lambda *args, **kwargs: ran.append(str(args)))
        reasons = [verify(box(text), "5").reason for text in texts]
    assert ran == []
    assert Reason.CORRECT not in reasons
