"""The page of the real model: a change is told over the same problems, and the same lines make the same files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import smollm2, smollm2_page, smollm2_scan
from benchmarks.arms import kept
from benchmarks.publish import PAGES

FACTS = {"env": "e", "steps": 2, "prompts": 3, "group": 4, "rate": 1e-5, "max_tokens": 20}


def score(right: list[int], calls: int) -> dict[str, Any]:
    share = sum(right) / len(right)
    width = {"n": len(right), "pass@1": share, "low": share - 0.1, "high": share + 0.1}
    answers = [["Compute 1 + 1.", "<calc>1 + 1</calc>", "\\boxed{2}"], ["Compute 2 + 2.", "a | `b`\nc" * 40]]
    return {**width, "length": 9.5, "calls": calls, "turns": 1.5, "right": right, "answers": answers, "cpu": 1.0}


def run(seed: int, before: list[int], after: list[int]) -> dict[str, Any]:
    step = {"pass@1": 0.5, "length": 12.0, "seconds/rollout": 3.0, "seconds/update": 1.0}
    steps = [{**step, "step": place, "tokens/sampled": 150, "tokens/trained": 40} for place in (1, 2)]
    first, last = ({"sampled": score(of, calls), "greedy": score(of[:2], 1)} for of, calls in ((before, 1), (after, 3)))
    return {"key": f"run {seed}", "seed": seed, "before": first, "after": last, "steps": steps, "cpu": 8.0}


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        ([0, 0, 0, 1] * 8, [1, 1, 1, 1] * 8, "higher"),
        ([1, 1, 1, 1] * 8, [0, 0, 0, 1] * 8, "lower"),
        ([0, 1, 0, 1] * 8, [1, 0, 0, 1] * 8, "no difference"),
    ],
)
def test_a_verdict_is_that_of_the_paired_interval(before, after, verdict):
    line, warning = smollm2_page.found([run(0, before, after)])

    assert warning.startswith("One seed only")
    assert len(smollm2_page.found([run(seed, before, after) for seed in (0, 1)])) == 2
    assert line.startswith(f"**{verdict}** after 2 steps, seed 0: pass@1 ")
    assert "asked first in 1 episodes before and in 3 after" in line


def test_the_change_is_taken_problem_by_problem():
    change, low, high = smollm2_page.paired([0, 0, 1, 1], [1, 1, 1, 1])

    assert change == 0.5
    assert (round(low, 3), round(high, 3)) == (-0.419, 1.419)  # t of 3 degrees, 3.182, times 0.577 / 2


def test_cost_counts_tokens_by_the_time_of_their_half():
    table = smollm2_page.speed([run(0, [0, 1], [1, 1])])

    assert table.rows == (("0", "4.0", "75%", "50.0", "40.0"),)  # 300 tokens in 6 s, 80 in 2 s


def test_the_same_lines_make_the_same_page_and_picture(tmp_path):
    looked = {
        "key": "scan a",
        "env": "a",
        "shown": "answer",
        "split": "train",
        "n": 24,
        "sampled": 0.25,
        "chance": 0.04,
    }
    looked["greedy"] = None
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        smollm2_page.write_page(tmp_path / name, [run(0, [0, 1], [1, 1]), looked], FACTS, "You see.")

    for name in ("smollm2.md", "smollm2.svg"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    text = (tmp_path / "one" / "smollm2.md").read_text()
    assert "| a | 3 answers | 24 train | 0.25 |  | 0.04 |" in text
    assert "| Compute 1 + 1. | `<calc>1 + 1</calc>` then `\\boxed{2}` |" in text
    assert "`a \\| 'b' ca \\| 'b' ca" in text  # what a model writes breaks no table


def test_the_published_page_is_that_of_the_kept_lines(tmp_path):
    facts = json.loads(json.dumps(smollm2.FACTS))
    smollm2_page.write_page(tmp_path, list(kept(PAGES / "smollm2.jsonl").values()), facts, smollm2.system_prompt())

    made, published = ((folder / "smollm2.md").read_text() for folder in (tmp_path, PAGES))
    assert _but_the_machine(made) == _but_the_machine(published)


def test_examples_are_turns_of_the_template():
    text = smollm2_scan.as_turns("Lead.", [("user", "a"), ("assistant", "b")])

    assert text == "Lead.<|im_end|>\n<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\nb"
    assert smollm2.system_prompt().count("<calc>") == len(smollm2.SHOWN) == 3


def test_the_examples_are_solved_problems_of_the_training_split():
    text = smollm2_scan.examples(smollm2_scan.Place("grpo/Math.Chain-v0", 0.0, "answer"))

    assert text.count("<|im_start|>user\nCompute ") == text.count("<|im_start|>assistant\n\\boxed{") == 3


def test_a_task_is_looked_at_once(monkeypatch, tmp_path):
    asked: list[smollm2_scan.Place] = []

    def look(policy: None, place: smollm2_scan.Place) -> dict[str, Any]:
        asked.append(place)
        return {"key": place.key}

    place = smollm2_scan.Place("grpo/Math.Chain-v0", 0.0)
    monkeypatch.setattr(smollm2_scan, "_policy", lambda: None)
    monkeypatch.setattr(smollm2_scan, "looked_at", look)

    smollm2_scan.scan(tmp_path / "kept.jsonl", [place])
    smollm2_scan.scan(tmp_path / "kept.jsonl", [place])

    assert asked == [place]


def _but_the_machine(text: str) -> list[str]:
    return [line for line in text.splitlines() if "Made on" not in line]


def test_every_task_of_the_scan_exists():
    import grpo_gym

    assert {place.env for place in smollm2_scan.PLACES} | {smollm2.ENV} <= set(grpo_gym.registered_ids())
    assert len({place.key for place in smollm2_scan.PLACES}) == len(smollm2_scan.PLACES)
    assert all(0 <= place.chance <= 1 for place in smollm2_scan.PLACES)


def test_the_page_lies_where_the_others_do():
    assert Path(PAGES / "smollm2.svg").is_file()
