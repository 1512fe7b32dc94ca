r"""Rewards for the form of an answer: tags in order, one box at the end, a pattern. Right or wrong they do not know.

    WeightedSum({"correct": (1.0, MathReward()), "format": (0.1, Tags("think", "answer"))})

A policy finds the cheapest text that a format reward pays for, so none pays for a shell: empty or invisible content,
repeated tags, tags inside the thought and several boxes earn nothing. Well-formed nonsense is all that is left to earn;
a small weight or a `Gate` in front of the verifier keeps that from paying.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from grpo_gym.errors import InvalidValueError
from grpo_gym.problem import Problem
from grpo_gym.reward import LONGEST_LIMIT, Probe, Reward
from grpo_gym.verdict import Reason, Verdict
from grpo_rewards.text import is_blank, letters_and_digits, outside_thoughts

_BOX = re.compile(r"\\{1,2}(?:boxed|fbox)\s*\{")
_BRACE = re.compile(r"\\[\\{}]|([{}])")
"""A brace, in group 1 unless it is escaped."""


class Tags(Reward):
    """1 when each tag is opened and closed exactly once, in the given order, around some content; else 0.

    Args:
        names: Tag names in order, "think" for `<think>...</think>`.
        at_least: Letters and digits that each tag must hold.
        strict: Whether only blanks may stand outside the tags.
    """

    def __init__(self, *names: str, at_least: int = 1, strict: bool = False) -> None:
        if not names or len(set(names)) < len(names) or not all(re.fullmatch(r"[A-Za-z][\w-]*", n) for n in names):
            raise InvalidValueError(f"Tags takes different tag names, e.g. Tags('think', 'answer'), got {names!r:.80}")
        if at_least < 1:
            raise InvalidValueError(f"at_least is {at_least}, must be at least 1: an empty tag must not pay")
        self.names = names
        self.at_least = at_least
        self.strict = strict
        self._expected = [tag for name in names for tag in (f"<{name}>", f"</{name}>")]
        self._tag = re.compile(f"</?(?:{'|'.join(map(re.escape, names))})>")

    def score(self, response: str, problem: Problem) -> Verdict:
        """Judge one response."""
        tags = list(self._tag.finditer(response))
        if [tag[0] for tag in tags[: len(self._expected) + 1]] != self._expected:
            return _broken(f"expected exactly {' '.join(self._expected)}, in this order")
        for name, opening, closing in zip(self.names, tags[::2], tags[1::2], strict=True):
            if letters_and_digits(response[opening.end() : closing.start()]) < self.at_least:
                return _broken(f"<{name}> holds fewer than {self.at_least} letters or digits")
        edges = [0, *(end for tag in tags for end in tag.span()), len(response)]
        outside = (response[start:end] for start, end in zip(edges[::4], edges[1::4], strict=True))
        if self.strict and any(map(str.strip, outside)):
            return _broken("there is text outside the tags")
        return Verdict(1.0, Reason.CORRECT)

    def probes(self) -> Sequence[Probe]:
        """Shells without content, and tags where they do not belong."""

        def wrapped(contents: Sequence[str]) -> str:
            return "".join(f"<{name}>{content}</{name}>" for name, content in zip(self.names, contents, strict=True))

        count, first = len(self.names), self.names[0]
        good = wrapped(["1" * self.at_least] * count)
        swapped = "".join(f"</{name}>word<{name}>" for name in self.names)
        found = [
            Probe("empty tags", lambda p: wrapped([""] * count)),
            Probe("invisible content", lambda p: wrapped([" \u200b\n"] * count)),
            Probe("dots as content", lambda p: wrapped(["..."] * count)),
            Probe("all of it twice", lambda p: good + good),
            Probe("one tag again inside the first", lambda p: good.replace(f"<{first}>", f"<{first}><{first}>", 1)),
            Probe("all of it inside the first tag", lambda p: f"<{first}>{good}</{first}>"),
            Probe("closing before opening", lambda p: swapped),
            Probe("never closed", lambda p: good.rsplit("</", 1)[0]),
        ]
        if count > 1:
            found.append(Probe("the other order", lambda p: "".join(f"<{n}>word</{n}>" for n in reversed(self.names))))
        return found


class Boxed(Reward):
    r"""1 when there is exactly one `\boxed{...}`, balanced, not empty, near the end; else 0. Thoughts do not count.

    Args:
        tail: Characters, blanks included, that may follow the box.
    """

    def __init__(self, tail: int = 100) -> None:
        if tail < 0:
            raise InvalidValueError(f"tail is {tail}, must be at least 0")
        self.tail = tail

    def score(self, response: str, problem: Problem) -> Verdict:
        """Judge one response."""
        visible = outside_thoughts(response)
        boxes = list(_BOX.finditer(visible))
        if not boxes:
            return Verdict(0.0, Reason.NO_ANSWER, feedback=r"no \boxed{...}")
        if len(boxes) > 1:
            return _broken(f"{len(boxes)} boxes, expected one")
        start = boxes[0].end()
        end = next(_ends(visible, start), None)
        if end is None:
            return _broken("the box is never closed")
        if is_blank(visible[start:end]):
            return Verdict(0.0, Reason.NO_ANSWER, feedback="the box is empty")
        if len(visible) - (end + 1) > self.tail:
            return _broken(f"more than {self.tail} characters follow the box")
        return Verdict(1.0, Reason.CORRECT)

    def probes(self) -> Sequence[Probe]:
        """Empty, repeated, hidden and early boxes."""
        return (
            Probe("an empty box", lambda p: r"\boxed{}"),
            Probe("a box of blanks", lambda p: r"\boxed{\text{ } \quad ~\,}"),
            Probe("two boxes", lambda p: r"\boxed{1} \boxed{2}"),
            Probe("a box inside a box", lambda p: r"\boxed{\boxed{1}}"),
            Probe("a box that is never closed", lambda p: r"\boxed{1"),
            Probe("a box inside the thought only", lambda p: r"<think>\boxed{1}</think> done"),
            Probe("a box, then anything", lambda p: r"\boxed{1}" + " and so on" * (self.tail // 10 + 1)),
        )


class Pattern(Reward):
    r"""1 when the whole response, blanks around it dropped, matches a regular expression; else 0.

    A pattern can take time that grows exponentially with the response (`(a+)+$`), and Python cannot interrupt it. Two
    things protect: a response longer than `longest` is refused unread, which bounds patterns of quadratic cost; and
    with `cost="slow"` the match runs in a worker process that is killed after `time_limit`, which bounds all others.

    Args:
        regex: The pattern, as text or compiled; text is compiled with re.DOTALL, a dot is any character.
        longest: Characters of a response that are matched.
        cost: "slow" for a pattern that you did not write, or with nested repetitions.
        time_limit: Seconds a match may take in a worker.
    """

    def __init__(
        self,
        regex: str | re.Pattern[str],
        *,
        longest: int = 20_000,
        cost: Literal["fast", "slow"] = "fast",
        time_limit: float = 1.0,
    ) -> None:
        try:
            self.pattern = re.compile(regex, re.DOTALL) if isinstance(regex, str) else regex
        except re.error as error:
            raise InvalidValueError(f"{regex!r:.80} is not a regular expression: {error}") from None
        if cost not in ("fast", "slow") or not 0 < time_limit <= LONGEST_LIMIT:
            raise InvalidValueError(f"cost is 'fast' or 'slow' and time_limit positive, got {cost!r} and {time_limit}")
        self.longest = longest
        self.cost = cost
        self.time_limit = time_limit

    def score(self, response: str, problem: Problem) -> Verdict:
        """Judge one response."""
        text = response.strip()
        if len(text) > self.longest:
            return Verdict(0.0, Reason.TOO_BIG, feedback=f"the response has more than {self.longest} characters")
        if self.pattern.fullmatch(text) is None:
            return _broken(f"the response does not match {self.pattern.pattern:.80}")
        return Verdict(1.0, Reason.CORRECT)


def _broken(feedback: str) -> Verdict:
    return Verdict(0.0, Reason.UNPARSEABLE, feedback=feedback)


def _ends(text: str, start: int) -> Iterator[int]:
    """Yield where the brace that was opened just before `start` is closed; nothing when it is not."""
    depth = 1
    for brace in _BRACE.finditer(text, start):
        if brace[1] is not None:
            depth += 1 if brace[1] == "{" else -1
            if depth == 0:
                yield brace.start()
                return
