"""Programs as answers: whether they compile, pass the tests, and are well written.

The reference of a problem holds the tests (`grpo_rewards.code.reference`); the program is cut out of the response
(`grpo_rewards.code.extract`), runs in a process that never sees the tests, and is judged on what it returns.

`CodeReward` adds up all three. The same three as rewards of their own are for combinations, and judge an answer once:

    Gate({"compiles": Compiles(), "tests": PassesTests(), "style": CodeStyle()})
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from grpo_gym.errors import InvalidValueError
from grpo_gym.problem import Problem
from grpo_gym.reward import Probe, Reward
from grpo_gym.scoring import is_finite
from grpo_gym.verdict import Reason, Verdict
from grpo_rewards.code.feedback import feedback
from grpo_rewards.code.judging import Judge, Judged, Judging, borrow, give_back, judging_of
from grpo_rewards.code.probes import code_probes
from grpo_rewards.code.style import style_score


class _OfCode(Reward):
    """What rewards of code share: a judge that is lent, and stays behind when the reward is copied or sent elsewhere.

    Args:
        judge: Who judges; None shares one judge per process among all such rewards.
        workers: Programs that the shared judge runs at a time; None lets it choose.
    """

    def __init__(self, judge: Judge | None = None, workers: int | None = None) -> None:
        self.workers = workers
        self._own = None if judge is None else judging_of(judge)

    def score(self, response: str, problem: Problem) -> Verdict:
        """Judge one response."""
        return self.score_batch([(response, problem)])[0]

    @abstractmethod
    def score_batch(self, rows: Sequence[tuple[str, Problem]]) -> list[Verdict]:
        """Judge several responses at a time."""

    def close(self) -> None:
        """Give up the share of the common judge; a judge that was given is left to whoever made it."""
        give_back(self)
        super().close()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_own": None}

    @property
    def _judging(self) -> Judging:
        return self._own or borrow(self, self.workers)


class CodeReward(_OfCode):
    """1 when the program of a response passes all tests, else 0; parts of that for compiling and for style where asked.

    The weights sum to 1. A right program is worth `compiles + tests + style * its style`, one that only compiles
    `compiles`. Style is paid to right programs only.

    Args:
        compiles: The weight of being a program at all. Any program earns it, the empty one included.
        tests: The weight of the tests.
        style: The weight of the form (`grpo_rewards.code.style`).
        partial: Pay the share of tests passed instead of all or nothing. A constant answer earns it where some test
            expects that constant.
        explain: Whether the feedback may show the first failing test with what was expected, for an environment in
            which programs are repaired. Else it never holds anything of the tests.
        judge: Who judges; None shares one judge per process among all such rewards.
        workers: Programs that the shared judge runs at a time; None lets it choose.
    """

    def __init__(
        self,
        *,
        compiles: float = 0.0,
        tests: float = 1.0,
        style: float = 0.0,
        partial: bool = False,
        explain: bool = False,
        judge: Judge | None = None,
        workers: int | None = None,
    ) -> None:
        super().__init__(judge, workers)
        weights = {"compiles": compiles, "tests": tests, "style": style}
        for name, weight in weights.items():
            if isinstance(weight, bool) or not is_finite(weight) or weight < 0:
                raise InvalidValueError(f"CodeReward.{name} is {weight!r:.80}, must be a number in [0, 1]")
        if not math.isclose(math.fsum(weights.values()), 1.0):
            shown = " + ".join(f"{weight:g}" for weight in weights.values())
            raise InvalidValueError(f"the weights of CodeReward (compiles, tests, style) are {shown}, must sum to 1")
        self.weights = weights
        self.partial = partial
        self.explain = explain

    def score_batch(self, rows: Sequence[tuple[str, Problem]]) -> list[Verdict]:
        """Judge several responses: the judge's workers have all of them before the first verdict is waited for."""
        judging = self._judging
        return [self._weighed(judging, found) for found in judging.judged(rows, every_test=self.partial)]

    def probes(self) -> Sequence[Probe]:
        """Answers that try to be paid without being right."""
        wrong = self.weights["compiles"]
        return code_probes(at_most=wrong, by_chance=wrong + self.weights["tests"] * self.partial)

    def _weighed(self, judging: Judging, found: Judged) -> Verdict:
        verdict = _told(found, self.explain)
        if found.code is None or _is_no_judgement(verdict):
            return verdict
        components = {
            "compiles": float(verdict.reason is not Reason.SYNTAX_ERROR),
            "tests": float(verdict.details.get("share", verdict)) if self.partial else float(bool(verdict)),
        }
        if self.weights["style"]:
            style = _style(judging, found.code) if verdict else (0.0, {})
            if isinstance(style, Verdict):
                return style
            components["style"] = style[0]
        value = math.fsum(self.weights[name] * component for name, component in components.items())
        return replace(verdict, value=min(1.0, value), components=components)


class Compiles(_OfCode):
    """1 when the response holds a program that compiles, else 0; nothing is run. For gates: any program earns it."""

    def score_batch(self, rows: Sequence[tuple[str, Problem]]) -> list[Verdict]:
        """Judge several responses."""
        judging = self._judging
        return [self._looked_at(judging, program) for program in judging.programs(rows)]

    def _looked_at(self, judging: Judging, code: str | Verdict) -> Verdict:
        if isinstance(code, Verdict):
            return code
        report = judging.report(code)
        if isinstance(report, Verdict):
            return report
        if report["ok"]:
            return Verdict(1.0, Reason.CORRECT)
        return Verdict(0.0, Reason.SYNTAX_ERROR, feedback=str(report["error"].get("message", ""))[:200])


class PassesTests(_OfCode):
    """1 when the program of a response passes all tests, else 0.

    Args:
        partial: Pay the share of tests passed instead. A constant answer earns it where some test expects it.
        judge: Who judges; None shares one judge per process among all such rewards.
        workers: Programs that the shared judge runs at a time; None lets it choose.
    """

    def __init__(self, partial: bool = False, judge: Judge | None = None, workers: int | None = None) -> None:
        super().__init__(judge, workers)
        self.partial = partial

    def score_batch(self, rows: Sequence[tuple[str, Problem]]) -> list[Verdict]:
        """Judge several responses: the judge's workers have all of them before the first verdict is waited for."""
        verdicts = [_told(found) for found in self._judging.judged(rows, every_test=self.partial)]
        return [_in_part(verdict) for verdict in verdicts] if self.partial else verdicts

    def probes(self) -> Sequence[Probe]:
        """Answers that try to be paid without being right."""
        return code_probes(at_most=0.0, by_chance=float(self.partial))


class CodeStyle(_OfCode):
    """The style of a program in [0, 1] (`grpo_rewards.code.style`); 0 when it fails a test, else wrong ones earn it."""

    def score_batch(self, rows: Sequence[tuple[str, Problem]]) -> list[Verdict]:
        """Judge several responses."""
        judging = self._judging
        return [self._measured(judging, found) for found in judging.judged(rows)]

    def probes(self) -> Sequence[Probe]:
        """Answers that try to be paid without being right."""
        return code_probes(at_most=0.0, by_chance=0.0)

    def _measured(self, judging: Judging, found: Judged) -> Verdict:
        verdict = _told(found)
        if found.code is None or not verdict:
            return verdict
        style = _style(judging, found.code)
        if isinstance(style, Verdict):
            return style
        score, parts = style
        return Verdict(score, Reason.CORRECT if score >= 1 else Reason.WRONG, components=parts)


def _style(judging: Judging, code: str) -> tuple[float, dict[str, float]] | Verdict:
    """Return the style of a program that passed its tests; one that is too large or deep to be measured has none."""
    report = judging.report(code)
    if isinstance(report, Verdict):
        return report
    return style_score(report["metrics"]) if report["ok"] else (0.0, {})


def _told(found: Judged, explain: bool = False) -> Verdict:
    """Return the judge's verdict with words for whoever may see them."""
    if found.code is None or _is_no_judgement(found.verdict):
        return found.verdict
    return replace(found.verdict, feedback=feedback(found.verdict, explain))


def _in_part(verdict: Verdict) -> Verdict:
    share = verdict.details.get("share")
    return verdict if verdict.value is None or share is None else replace(verdict, value=float(share))


def _is_no_judgement(verdict: Verdict) -> bool:
    """Whether the judge failed: whose fault that is, is found out by whoever scores."""
    return verdict.abstains or verdict.reason is Reason.SCORER_ERROR
