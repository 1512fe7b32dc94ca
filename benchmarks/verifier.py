"""Does the maths verifier judge rightly, and what does a verdict cost? Beside math-verify where that is installed.

The cases are the project's own (tests/cases/math_verify.jsonl); `measure` takes any other table of gold, response and
expected. A peer is called as its documentation says, with the gold in a box; its own time limits are left on.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.rows import OURS, Report, Row
from grpo_rewards.math import verify

CASES = Path(__file__).resolve().parents[1] / "tests" / "cases" / "math_verify.jsonl"
SLOW_KINDS = ("resource",)
"""Attacks on time and memory: a peer without a guard would take minutes; they are asked of ours alone."""

Grader = Callable[[str, str], bool]
Case = dict[str, Any]


def run(quick: bool) -> Report:
    """Measure ours and, where it is installed, math-verify on the same cases in the same process."""
    cases = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
    ordinary = [case for case in cases if case["kind"] not in SLOW_KINDS]
    rows = measure(OURS, lambda response, gold: bool(verify(response, gold)), cases)
    if importlib.util.find_spec("math_verify") is not None:
        name = f"math-verify {importlib.metadata.version('math-verify')}"
        rows += measure(name, math_verify(), ordinary[:: 4 if quick else 1])
    return Report(rows)


def measure(who: str, grader: Grader, cases: Sequence[Case]) -> list[Row]:
    """Return a grader's figures on cases: verdicts, and CPU time per case."""
    accepted_wrong = refused_right = 0
    costs = []
    for case in cases:
        began = time.process_time()
        verdict = grader(case["response"], case["gold"])
        costs.append(time.process_time() - began)
        accepted_wrong += verdict and not case["expected"]
        refused_right += case["expected"] and not verdict
    right = len(cases) - accepted_wrong - refused_right
    subject = f"{len(cases)} cases"

    def row(figure: str, value: float, unit: str) -> Row:
        return Row("verifier", subject, figure, value, unit, who=who)

    return [
        row("judged rightly", 100 * right / len(cases), "%"),
        row("wrong answers accepted", accepted_wrong, ""),
        row("right answers refused", refused_right, ""),
        row("CPU per case, median", 1000 * statistics.median(costs), "ms"),
        row("CPU per case, mean", 1000 * statistics.mean(costs), "ms"),
    ]


def math_verify() -> Grader:
    """Return math-verify as a grader."""
    from math_verify import parse
    from math_verify import verify as equal

    return lambda response, gold: bool(equal(parse(f"\\boxed{{{gold}}}"), parse(response)))
