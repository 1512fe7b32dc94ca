"""Tables of right verdicts: our own, the shared cases of every kind, and the answers of real data sets."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grpo_gym import Problem
from grpo_rewards.math import MathReward, verify
from tests.shared import shared_file

OURS = Path(__file__).resolve().parents[1] / "cases" / "math_verify.jsonl"


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


CASES = lines(OURS)


@pytest.mark.parametrize("kind", sorted({case["kind"] for case in CASES}))
def test_our_own_cases_are_judged_as_written(kind):
    for case in (case for case in CASES if case["kind"] == kind):
        verdict = verify(case["response"], case["gold"])
        assert bool(verdict) == case["expected"], (case, verdict)
        assert not verdict.abstains, case


def test_the_table_is_large_and_balanced():
    right = sum(case["expected"] for case in CASES)
    assert len(CASES) >= 300
    assert 0.3 < right / len(CASES) < 0.7
    assert len({(case["gold"], case["response"]) for case in CASES}) == len(CASES)


def test_the_shared_cases_are_judged_right_and_wrong_ones_not_accepted():
    cases = [case for case in lines(shared_file("cases", "math.jsonl")) if case["kind"] != "resource"]
    verdicts = [(case, verify(case["response"], case["gold"])) for case in cases]
    accepted = [case["id"] for case, verdict in verdicts if verdict and not case["expected"]]
    right = sum(bool(verdict) == case["expected"] for case, verdict in verdicts)
    assert len(accepted) <= 2, accepted
    assert right >= 0.97 * len(cases)
    assert not any(verdict.abstains for _, verdict in verdicts)


def test_every_attack_on_time_and_memory_ends_soon_with_the_right_verdict():
    for case in lines(shared_file("cases", "math.jsonl")):
        if case["kind"] == "resource":
            began = time.process_time()
            verdict = verify(case["response"], case["gold"])
            assert bool(verdict) == case["expected"], (case["id"], verdict)
            assert time.process_time() - began < 2.0, case["id"]


def golds() -> Iterator[str]:
    yield from sorted({row["answer"].strip() for row in lines(shared_file("cases", "math_golds.jsonl"))})


def test_every_answer_of_real_data_sets_is_right_against_itself_in_any_dress():
    for gold in golds():
        restyled = (
            gold.replace("\\left(", "(")
            .replace("\\right)", ")")
            .replace("\\frac", "\\dfrac")
            .replace("\\ddfrac", "\\dfrac")
        )
        for answer in (gold, f"\\displaystyle {restyled}\\,", f" {gold} ", f"${gold}$"):
            assert verify(f"so $\\boxed{{{answer}}}$", gold), (gold, answer)


def test_the_probes_stay_at_their_bounds_for_answers_of_every_kind():
    reward = MathReward()
    for gold in sorted({case["gold"] for case in CASES}):
        problem = Problem("What is it?", gold)
        for probe in reward.probes():
            assert float(reward.score(probe.response(problem), problem)) <= probe.at_most, (probe.name, gold)


def test_gsm8k_is_right_against_itself_and_wrong_against_its_neighbour():
    rows = lines(shared_file("data", "gsm8k_test.jsonl"))
    answers = [row["answer"].split("####")[1].strip() for row in rows]
    assert all(verify(row["answer"], answer) for row, answer in zip(rows, answers, strict=True))
    for row, answer, following in zip(rows, answers, [*answers[1:], answers[0]], strict=True):
        assert bool(verify(row["answer"], following)) == (answer.replace(",", "") == following.replace(",", ""))
