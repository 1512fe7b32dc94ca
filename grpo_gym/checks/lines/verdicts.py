"""What a verdict is made of: finite numbers, parts that add up, values inside the declared range."""

from __future__ import annotations

import math

from grpo_gym.checks.exam import TOLERANCE, Exam
from grpo_gym.checks.laboratory import Scored
from grpo_gym.checks.question import Finding, failed, judged, question, skipped


@question("finite numbers", "return finite floats, or abstain: NaN and None do not travel through Gymnasium")
def finite_numbers(exam: Exam) -> Finding:
    """Values and components are finite numbers."""
    rows = _all(exam)
    odd = [f"the value {scored.value}" for scored in rows if isinstance(scored.value, str)]
    odd += [
        f"component {name} is {value}"
        for scored in rows
        for name, value in scored.components.items()
        if isinstance(value, (str, bool))
    ]
    return judged(odd, f"the values and components of {len(rows)} verdicts")


@question("parts add up", "let the weighted parts be the reward, or name the parts that are not in it otherwise")
def parts_add_up(exam: Exam) -> Finding:
    """Where `details["sum"]` is True, the parts in `details["leaves"]` times their weights are the reward."""
    rows = [(scored, scored.leaves) for scored in _all(exam) if scored.leaves]
    if not rows:
        return skipped("the reward does not say that it is a weighted sum")
    off = []
    for scored, leaves in rows:
        total = sum(leaf["weight"] * leaf["value"] for leaf in leaves.values() if leaf["value"] is not None)
        if scored.value is not None and abs(total - scored.number) > 1e-6 * max(1.0, abs(total)):
            off.append(f"the parts make {total:.4g}, the reward is {scored.number:.4g}")
    return judged(off, f"the parts of {len(rows)} verdicts add up")


@question("range", "declare the lowest and highest value in the reward's `range`, and keep to it")
def value_range(exam: Exam) -> Finding:
    """Every value lies in the declared range."""
    low, high = exam.facts.range
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        return failed(f"the declared range is [{low:g}, {high:g}]")
    values = [
        float(s.value)
        for s in [*_all(exam), *_repeated(exam)]
        if isinstance(s.value, (int, float)) and math.isfinite(s.value)
    ]
    outside = [f"{value:.4g}" for value in values if not low - TOLERANCE <= value <= high + TOLERANCE]
    return judged(outside, f"{len(values)} values lie in [{low:g}, {high:g}]")


def _repeated(exam: Exam) -> list[Scored]:
    """Return the scores of right answers given five times over: a count of hits shows there."""
    return exam.score([(s, f"{s.final}\n" * 5) for s in exam.finals[:8]])


def _all(exam: Exam) -> list[Scored]:
    return [scored for _, _, scored in exam.answered] + [row.scored for row in exam.junk]
