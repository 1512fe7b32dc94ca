"""The shipped policy is what its card says, reads any text, and learns from reward."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_agents.config import Evaluation, Sampling, TrainConfig
from grpo_agents.embedded import FOLDER
from grpo_agents.environments import EnvChoice, distinct_seeds
from grpo_agents.evaluate import evaluate
from grpo_agents.policy import Policy
from grpo_agents.train import train

FIGURES = json.loads((FOLDER.parent / "figures.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def policy() -> Policy:
    return Policy.load(FOLDER, device="cpu")


def test_the_card_describes_these_weights(policy: Policy) -> None:
    digest = hashlib.sha256((FOLDER / "model.safetensors").read_bytes()).hexdigest()

    assert FIGURES["sha256"] == digest
    assert FIGURES["parameters"] == sum(p.numel() for p in policy.model.parameters())
    assert digest in (FOLDER.parent / "MODEL_CARD.md").read_text(encoding="utf-8")


def test_careful_working_was_right_often_enough_before_the_mixture() -> None:
    assert FIGURES["after_careful"]["tiers 0-1 sampled"]["pass@1"] >= 0.96


@given(st.text(max_size=80))
def test_its_tokenizer_loses_no_text(text: str) -> None:
    tokenizer = _tokenizer()
    encodable = text.encode("utf-8", "ignore").decode()

    ids = tokenizer(encodable, add_special_tokens=False)["input_ids"]

    assert tokenizer.decode(ids, clean_up_tokenization_spaces=False) == encodable


@pytest.mark.parametrize(("text", "tokens"), [("Compute 12 + 7.", 6), (r"\boxed{31}", 4), ("\n", 1)])
def test_what_tasks_repeat_costs_few_tokens(text: str, tokens: int) -> None:
    assert len(_tokenizer()(text, add_special_tokens=False)["input_ids"]) == tokens


def test_the_start_is_weak_and_short_on_purpose(policy: Policy) -> None:
    choice = EnvChoice("grpo/Arithmetic-v0")
    seeds = distinct_seeds(choice, "val", 1, 256)

    score = evaluate(policy, choice, "val", seeds, Sampling())

    assert 0.2 < score.pass_at_1 < 0.45
    assert score.length < 25


@pytest.mark.slow
def test_a_short_run_learns_and_repeats_itself_bit_for_bit(tmp_path: Path) -> None:
    config = TrainConfig(steps=8, prompts=16, threads=1, evaluation=Evaluation(256, 64, 4))

    runs = [train(replace(config, out=str(tmp_path / name))) for name in ("a", "b")]

    first, second = (run.summary["held_out"] for run in runs)
    assert first["after"]["pass@1"] > first["before"]["pass@1"] + 0.2
    assert first["after"]["length"] > first["before"]["length"]
    assert first == second
    weights = [(run.folder / "checkpoints/step-000008/model.safetensors").read_bytes() for run in runs]
    assert weights[0] == weights[1]


@cache
def _tokenizer():
    return Policy.load(FOLDER, device="cpu").tokenizer
