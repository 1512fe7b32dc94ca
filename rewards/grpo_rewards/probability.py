"""Forecasts: probabilities as answers, paid by a proper scoring rule, so that honest probabilities are the best ones.

A scoring rule S(p, outcome) is strictly proper when its expectation under the true probability q is largest at p = q
and nowhere else. Two are offered, the Brier score (1950) and the logarithmic one (Good, 1952). Where q is known, the
expectation itself can be paid instead of the score of one drawn outcome: the same optimum without the noise. What a
report p falls short of the best expectation is the rule's divergence:

    Brier  E S(q) - E S(p) = (p - q)^2
    log    E S(q) - E S(p) = q ln(q / p) + (1 - q) ln((1 - q) / (1 - p))

The reward is 1 - (mean divergence over the questions) / scale, and 0 below that: affine in the expected score, so the
order of reports and the optimum stay. The scale is what earns nothing: a report that is off by 0.1 in root mean square.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from typing import Literal

from grpo_gym.errors import InvalidValueError
from grpo_gym.problem import Problem
from grpo_gym.reward import Probe, Reward
from grpo_gym.verdict import Reason, Verdict
from grpo_rewards.logic.pairs import as_lines
from grpo_rewards.logic.reading import UnreadError, answer_text, items

RuleName = Literal["brier", "log"]

SCALES: dict[str, float] = {"brier": 0.01, "log": 0.02}
"""Mean divergence that earns nothing. A squared error of 0.01 makes a logarithmic divergence of 0.02 at least, by
Pinsker's inequality: what earns nothing by the first earns nothing by the second."""

TOLERANCE = 0.005
"""An error that rounding to two decimals makes; it costs nothing."""

_SAID = re.compile(
    r"(?:P\(\s*(\w+)\s*\)|(\w+))\s*"
    r"(?:[:=\u2248\u2243]|->|\\approx(?![a-z])|\\simeq(?![a-z])|\bis(?: (?:about|approximately))?\b|\s)"
    r"\s*(\S+(?:\s?\\?%)?)",
    re.IGNORECASE,
)
_SHARE = re.compile(r"[01]?\.\d{1,15}|[01]", re.ASCII)
_ALONE = re.compile(r"[\d.]{1,20}(?:\s?\\?%)?", re.ASCII)
_PERCENT = re.compile(r"(\d{1,3}(?:\.\d{1,15})?)\s?\\?%", re.ASCII)


def score(rule: RuleName, report: float, happened: bool) -> float:
    """Return what a rule gives a reported probability after the outcome; more is better, 0 the most."""
    if rule == "brier":
        return -((report - happened) ** 2)
    chance = report if happened else 1 - report
    return math.log(chance) if chance > 0 else -math.inf


def expected_score(rule: RuleName, report: float, truth: float) -> float:
    """Return the mean score of a report when the outcome happens with probability `truth`."""
    outcomes = ((truth, True), (1 - truth, False))
    return sum(weight * score(rule, report, happened) for weight, happened in outcomes if weight > 0)


def divergence(rule: RuleName, report: float, truth: float) -> float:
    """Return by how much a report's expected score falls short of the honest one's; 0 for the truth alone."""
    if rule == "brier":
        return (report - truth) ** 2
    return expected_score(rule, truth, truth) - expected_score(rule, report, truth)


class ForecastReward(Reward):
    r"""Probabilities of several things, `\boxed{A: 0.12, B: 0.80}`, against the exact ones in `meta["posterior"]`.

    Args:
        rule: "brier" or "log".
        scale: Mean divergence that earns nothing; default: the rule's in SCALES.
    """

    def __init__(self, rule: RuleName = "brier", *, scale: float | None = None) -> None:
        if rule not in SCALES:
            raise InvalidValueError(f"rule is {rule!r}, must be one of {', '.join(SCALES)}")
        if scale is not None and not 0 < scale < math.inf:
            raise InvalidValueError(f"scale is {scale}, must be a positive number")
        self.rule: RuleName = rule
        self.scale = SCALES[rule] if scale is None else scale

    def score(self, response: str, problem: Problem) -> Verdict:
        """Judge one response."""
        truth: dict[str, float] = problem.meta["posterior"]
        try:
            reports = probabilities(answer_text(response), truth)
        except UnreadError as error:
            return Verdict(0.0, error.reason, feedback=str(error))
        errors = {name: abs(reports[name] - q) for name, q in truth.items()}
        short = {
            name: divergence(self.rule, reports[name], q) if errors[name] > TOLERANCE + 1e-9 else 0.0
            for name, q in truth.items()
        }
        details = {"divergence": sum(short.values()) / len(short)} if math.inf not in short.values() else {}
        if not any(short.values()):
            return Verdict(1.0, Reason.CORRECT, details=details)
        value = max(0.0, 1 - sum(short.values()) / len(short) / self.scale)
        worst = max(short, key=lambda name: short[name])
        return Verdict(value, Reason.WRONG, feedback=f"{worst} is off by {errors[worst]:.2f}", details=details)

    def probes(self) -> Sequence[Probe]:
        """Answers that try to be paid without being a forecast."""

        def box(text: str) -> str:
            return f"\\boxed{{{text}}}"

        def each(problem: Problem, text: str) -> str:
            return box(", ".join(f"{name}: {text}" for name in problem.meta["posterior"]))

        def twice(problem: Problem) -> str:
            return box(f"{problem.reference}, {', '.join(f'{name}: 0.999' for name in problem.meta['posterior'])}")

        return (
            Probe("the question, boxed", lambda p: box(p.prompt)),
            Probe("the right answer in the thoughts alone", lambda p: f"<think>{box(str(p.reference))}</think>"),
            Probe("an empty box at the end", lambda p: f"{box(str(p.reference))} so {box('')}"),
            Probe("more behind the answer", lambda p: box(f"{p.reference} or qq")),
            Probe("two forecasts", twice),
            Probe("no numbers", lambda p: each(p, "nan")),
            Probe("numbers beyond 1", lambda p: each(p, "1.5")),
            Probe("numbers below 0", lambda p: each(p, "-0.1")),
            Probe("a range", lambda p: each(p, "0-1")),
            Probe("names alone", lambda p: box(", ".join(p.meta["posterior"]))),
        )


def probabilities(text: str, names: Collection[str]) -> dict[str, float]:
    """Read one probability for each name, as a number from 0 to 1 or in per cent. Raises UnreadError.

    Where there is one name, its probability may stand alone.
    """
    known = {name.casefold(): name for name in names}
    found: dict[str, float] = {}
    for piece in items(as_lines(text, known, ()) if "|" in text or "&" in text or "(" in text else text):
        if len(known) == 1 and _ALONE.fullmatch(piece):
            piece = f"{next(iter(names))}: {piece}"
        said = _SAID.fullmatch(piece)
        name = known.get((said[1] or said[2]).casefold()) if said is not None else None
        if said is None or name is None:
            raise UnreadError(f"{piece[:60]!r} does not give one of the names a probability")
        value = _share(said[3])
        if found.setdefault(name, value) != value:
            raise UnreadError(f"{name} is given two probabilities", Reason.HEDGED)
    if missing := [name for name in names if name not in found]:
        raise UnreadError(f"nothing is said about {missing[0]}")
    return found


def _share(text: str) -> float:
    if (percent := _PERCENT.fullmatch(text)) is not None:
        value = float(percent[1]) / 100
    elif _SHARE.fullmatch(text) is not None:
        value = float(text)
    else:
        raise UnreadError(f"{text[:60]!r} is no probability")
    if value > 1:
        raise UnreadError(f"{text[:60]!r} is more than 1")
    return value
