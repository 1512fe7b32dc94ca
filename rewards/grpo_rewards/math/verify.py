"""Judge a maths answer: extract it, read it, compare it. Every way out has a reason."""

from __future__ import annotations

import re
from functools import lru_cache

from grpo_gym.verdict import Reason, Verdict
from grpo_rewards.math import guard, slow, words
from grpo_rewards.math.compare import Comparison, needs_calculus
from grpo_rewards.math.extract import Extraction, final_answer
from grpo_rewards.math.fold import fold, trim
from grpo_rewards.math.guard import TooBigError, UndecidedError, UnreadableError
from grpo_rewards.math.parser import parse_folded
from grpo_rewards.math.policy import DEFAULT, Policy
from grpo_rewards.math.shapes import members
from grpo_rewards.math.tree import Items, Node, Set, Tuple
from grpo_rewards.math.vocabulary import FUNCTIONS

_BOX = re.compile(r"\s*\\{1,2}(?:boxed|fbox|framebox)\s*\{")
_SHOWN = 80
_NONE = r"no \boxed{...} and no final-answer line"


def verify(response: str, reference: str, policy: Policy = DEFAULT) -> Verdict:
    r"""Judge whether the response's final answer is the reference.

    Args:
        response: What the policy wrote; its last `\boxed{}` or final-answer line counts.
        reference: The right answer, e.g. "12", "\frac{3}{4}", "x<3", "(1,2)", "\text{even}", "5\text{ cm}", "B".
        policy: What is accepted beyond equality.

    Returns:
        A verdict with value 1.0 or 0.0. It abstains only when the reference itself cannot be read.
    """
    right = _reference(str(reference))
    if len(response) > guard.MAX_RESPONSE:
        return _wrong(Reason.TOO_BIG, f"the response has more than {guard.MAX_RESPONSE} characters")
    found = final_answer(response)
    if not right.is_readable and (found.text is None or trim(fold(_unboxed(found.text))) != right.literal):
        return Verdict.abstain(right.fault)
    if found.hedged:
        return _hedged(found, right, policy)
    if found.text is None:
        return _wrong(Reason.NO_ANSWER, _NONE)
    if found.marked:
        return _judge(_unboxed(found.text), right, policy)
    if right.phrase is None and _is_no_answer(found.text):
        return _wrong(Reason.NO_ANSWER, _NONE)
    verdict = _judge(found.text, right, policy)
    return _wrong(Reason.NO_ANSWER, _NONE) if verdict.reason is Reason.UNPARSEABLE else verdict


class _Reference:
    """A reference, read once: a choice, a phrase or a tree."""

    def __init__(self, text: str) -> None:
        self.literal = trim(fold(_unboxed(text)))
        self.choice = words.choice(self.literal)
        self.phrase = words.phrase(self.literal)
        self.tree: Node | None = None
        self.fault = ""
        try:
            self.tree = parse_folded(words.symbol(self.literal) or self.literal)
        except (UnreadableError, TooBigError, RecursionError) as error:
            self.fault = f"the reference {text[:_SHOWN]!r} cannot be read: {error}"

    @property
    def is_readable(self) -> bool:
        """Whether answers can be compared with it by more than their text."""
        return self.tree is not None or self.choice is not None or self.phrase is not None


@lru_cache(maxsize=512)
def _reference(text: str) -> _Reference:
    return _Reference(text)


def _judge(answer: str, right: _Reference, policy: Policy) -> Verdict:
    literal = trim(fold(answer))
    if not literal:
        return _wrong(Reason.NO_ANSWER, "an empty answer")
    if literal == right.literal:
        return Verdict(1.0, Reason.CORRECT)
    if right.choice is not None and words.is_choice(literal, right.choice):
        return Verdict(1.0, Reason.CORRECT)
    if right.phrase is not None:
        if len(literal) < 4 * len(right.literal) + 200 and words.normal(literal) == right.phrase:
            return Verdict(1.0, Reason.CORRECT)
        stands_for = words.symbol(right.literal) is not None
        if right.tree is None or (words.phrase(literal) is not None and not stands_for):
            return _wrong(Reason.WRONG, f"{answer[:_SHOWN]!r} is not the answer")
    if right.tree is None:
        return Verdict.abstain(right.fault) if right.choice is None else _wrong(Reason.WRONG, "another choice")
    return _compare(literal, right, policy)


def _compare(literal: str, right: _Reference, policy: Policy) -> Verdict:
    assert right.tree is not None
    comparison = Comparison(policy)
    try:
        guard.check(len(literal), guard.MAX_ANSWER, "characters")
        literal = words.symbol(literal) or literal
        answer = parse_folded(literal)
        correct = _decide(comparison, answer, literal, right)
        if not correct and isinstance(right.tree, (Items, Set, Tuple)) and "," in literal:
            answer_again = parse_folded(literal, grouping=False)  # 100,200 may be two numbers where a list is asked
            correct = comparison.right(answer_again, right.tree)
    except UnreadableError as error:
        return _wrong(Reason.UNPARSEABLE, f"{literal[:_SHOWN]!r} cannot be read: {error}")
    except TooBigError as error:
        return _wrong(Reason.TOO_BIG, f"the answer has {error}")
    except RecursionError:
        return _wrong(Reason.TOO_BIG, "the answer is nested too deeply")
    except slow.DeadlineError as error:
        return _wrong(Reason.TIMEOUT, f"{literal[:_SHOWN]!r} cannot be compared in time: {error}")
    except UndecidedError as error:
        return _wrong(Reason.WRONG, f"{literal[:_SHOWN]!r} cannot be compared: {error}")
    if correct:
        return Verdict(1.0, Reason.CORRECT)
    if isinstance(answer, Items) and answer.word == "or" and members(right.tree) is None:
        return _wrong(Reason.HEDGED, f"several answers: {literal[:_SHOWN]}")
    return _wrong(Reason.WRONG, f"{literal[:_SHOWN]} is not the right answer")


def _decide(comparison: Comparison, answer: Node, literal: str, right: _Reference) -> bool:
    """Compare here, or in a worker process where it takes calculus. Raises what either raises."""
    assert right.tree is not None
    try:
        return comparison.right(answer, right.tree)
    except UndecidedError:
        if not needs_calculus(answer) and not needs_calculus(right.tree):
            raise
        return slow.decide(literal, right.literal, comparison.policy)


def _hedged(found: Extraction, right: _Reference, policy: Policy) -> Verdict:
    """Several answers side by side: right when together they are the list asked for, or each says the same."""
    if found.joined and right.tree is not None and members(right.tree) is not None:
        verdict = _judge(", ".join(map(_unboxed, found.parts)), right, policy)
        if verdict:
            return verdict
    if all(_judge(_unboxed(part), right, policy) for part in found.parts):
        return Verdict(1.0, Reason.CORRECT)
    return _wrong(Reason.HEDGED, "several different answers were offered")


def _unboxed(text: str) -> str:
    """Take boxes off that enclose everything, however many, in one pass."""
    start, end = 0, len(text)
    while (box := _BOX.match(text, start, end)) is not None:
        closing = len(text[:end].rstrip()) if text[end - 1 : end].isspace() else end
        if closing <= box.end() or text[closing - 1] != "}":
            break
        start, end = box.end(), closing - 1
    return text[start:end]


def _is_no_answer(text: str) -> bool:
    """Whether a response that is one line is a sentence, or a line of working between numbers, and no answer."""
    found = [word for word in re.findall(r"(?<![\\A-Za-z{])[A-Za-z]{2,}", text) if word not in FUNCTIONS]
    is_working = "=" in text and re.search(r"[A-Za-z]", text) is None
    return len(found) > 1 or is_working or (bool(found) and words.phrase(text) is not None)


def _wrong(reason: Reason, feedback: str) -> Verdict:
    return Verdict(0.0, reason, feedback=feedback)
