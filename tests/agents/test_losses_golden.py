"""Losses and gradients against TRL 1.16's own numbers (shared/cases/losses.json), all of them."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from grpo_agents.config import Objective
from grpo_agents.losses import LossTerms, high_entropy, on_policy_enough, policy_loss, sampler_ratio, token_weights
from tests.agents.loss_oracle import Batch, Options, float64, run

SHARED = Path(os.environ.get("GRPO_GYM_SHARED", Path(__file__).parents[3] / "shared"))
LOSSES = 73
ACCUMULATIONS = 8
ELSEWHERE = {"scale_rewards", "normalize_advantages", "sampler_correction"}
"""Options that are in the advantages already, or repeat another."""

READ = {
    "loss_type",
    "loss",
    "importance_sampling_level",
    "beta",
    "epsilon",
    "epsilon_high",
    "delta",
    "use_bias_correction_kl",
    "old_logprobs",
    "top_entropy_quantile",
    "off_policy_mask_threshold",
    "entropy_coef",
    "sapo_temperature_pos",
    "sapo_temperature_neg",
    "vespo_k_pos",
    "vespo_k_neg",
    "vespo_lambda_pos",
    "vespo_lambda_neg",
    "vllm_importance_sampling_mode",
    "vllm_importance_sampling_clip_max",
    "vllm_importance_sampling_clip_min",
}


@cache
def read() -> dict[str, Any] | None:
    path = SHARED / "cases" / "losses.json"
    return json.loads(path.read_text()) if path.is_file() else None


@pytest.fixture(scope="module")
def golden() -> dict[str, Any]:
    cases = read()
    if cases is None:
        pytest.skip(f"the shared golden cases are not in {SHARED} (set GRPO_GYM_SHARED)")
    return cases


def batch_of(golden: dict[str, Any], entry: dict[str, Any]) -> Batch:
    case = golden["cases"][entry["case"]]
    old = case["new"] if entry["options"].get("old_logprobs") == "new.detach()" else case["old"]
    return Batch(
        mask=torch.tensor(case["mask"], dtype=torch.bool),
        new=float64(case["new"]),
        old=float64(old),
        ref=float64(case["ref"]),
        advantages=float64(entry["advantages"]),
    )


def objective_of(given: dict[str, Any]) -> Objective:
    name: Any = given.get("loss_type", given.get("loss"))
    high = given.get("epsilon_high", given.get("epsilon", 0.0))
    return Objective(
        loss="grpo" if name == "rloo" else name,
        ratio="product"
        if name == "rloo"
        else "sequence"
        if given.get("importance_sampling_level") == "sequence"
        else "auto",
        clip_low=given.get("epsilon", 0.0),
        clip_high=max(high - 1, 0.0) if name == "cispo" else high,  # TRL's is the bound itself there
        clip_dual=given.get("delta", 0.0),
        sapo_temperature_positive=given.get("sapo_temperature_pos", 1.0),
        sapo_temperature_negative=given.get("sapo_temperature_neg", 1.05),
        vespo_shape=(given.get("vespo_k_pos", 2.0), given.get("vespo_k_neg", 3.0)),
        vespo_decay=(given.get("vespo_lambda_pos", 3.0), given.get("vespo_lambda_neg", 2.0)),
        entropy_coef=given.get("entropy_coef", 0.0),
    )


def options_of(golden: dict[str, Any], entry: dict[str, Any], batch: Batch) -> Options:
    given, case = entry["options"], golden["cases"][entry["case"]]
    assert set(given) <= READ | ELSEWHERE, "an option that this test does not read"
    factor = keep = None
    if mode := given.get("vllm_importance_sampling_mode"):
        low, high = given["vllm_importance_sampling_clip_min"] or 0.0, given["vllm_importance_sampling_clip_max"]
        factor = sampler_ratio(batch.old, float64(case["sampler"]), mode=mode, high=high, low=low, mask=batch.mask)
    if share := given.get("top_entropy_quantile"):
        entropies = float64(case["entropy"])
        # The cases hold float64 entropies, TRL's threshold is float32: a token at the threshold itself may miss it.
        rounded = torch.quantile(entropies[batch.mask].float(), 1 - share).double()
        keep = high_entropy(entropies, batch.mask, share) & (entropies >= rounded)
    if threshold := given.get("off_policy_mask_threshold"):
        advantages = batch.advantages[:, None].expand_as(batch.new)
        keep = on_policy_enough(batch.new, batch.old, advantages, threshold, mask=batch.mask)
    return Options(
        objective=objective_of(given),
        kl_coef=given["beta"],
        corrected=given.get("use_bias_correction_kl", True),
        max_length=batch.mask.shape[1],
        factor=factor,
        keep=keep,
        entropies=float64(case["entropy"]),
    )


def learn(golden: dict[str, Any], number: int) -> tuple[dict[str, Any], Batch, LossTerms, Tensor]:
    entry = golden["losses"][number]
    batch = batch_of(golden, entry)
    terms, gradient = run(batch, options_of(golden, entry, batch))
    return entry, batch, terms, gradient


def test_every_entry_is_used(golden):
    assert len(golden["losses"]) == LOSSES
    assert len(golden["gradient_accumulation"]) == ACCUMULATIONS


@pytest.mark.parametrize("number", range(LOSSES))
def test_loss_and_gradient_equal_trl(golden, number):
    entry, batch, terms, gradient = learn(golden, number)
    # TRL's RLOO gives a completion without tokens the ratio 1: a constant -A / B, which moves nothing. We give it 0.
    empty = ~batch.mask.any(dim=1)
    constant = float(-batch.advantages[empty].sum() / len(empty)) if entry["options"].get("loss") == "rloo" else 0.0

    assert terms.loss.item() + constant == pytest.approx(entry["loss"], abs=1e-6), entry
    torch.testing.assert_close(gradient, float64(entry["grad_new_logprobs"]), rtol=0, atol=1e-6)
    assert (gradient[~batch.mask] == 0).all()
    assert terms.gradient_l1.item() > 0 or not batch.advantages.any()


@pytest.mark.parametrize("number", range(LOSSES))
def test_what_trl_logs_is_what_the_terms_say(golden, number):
    entry, batch, terms, _ = learn(golden, number)
    logged, metrics = entry.get("logged", {}), terms.metrics()
    # TRL's mean over completions counts one without tokens as not clipped; ours does not count it.
    sequence = entry["options"].get("importance_sampling_level") == "sequence"
    share = float(batch.mask.any(dim=1).double().mean()) if sequence else 1.0

    if "clip_ratio/low_mean" in logged:
        assert metrics["clip_low"] * share == pytest.approx(logged["clip_ratio/low_mean"], abs=1e-6), entry
        assert metrics["clip_high"] * share == pytest.approx(logged["clip_ratio/high_mean"], abs=1e-6), entry
    if "kl" in logged:
        assert metrics["kl"] == pytest.approx(logged["kl"], abs=1e-6), entry
    if "entropy" in logged:
        assert metrics["entropy"] == pytest.approx(logged["entropy"], abs=1e-6), entry
    if "policy_loss" in logged:
        assert metrics["policy_loss"] == pytest.approx(logged["policy_loss"], abs=1e-6), entry
    assert logged or entry["trainer"] == "RLOOTrainer" or "gmpo" in entry["trainer"], "nothing was compared"


def test_the_entropy_bonus_has_trls_gradient(golden):
    entries = [entry for entry in golden["losses"] if "grad_entropy" in entry]
    assert len(entries) == 2
    for entry in entries:
        batch = batch_of(golden, entry)
        entropies = float64(golden["cases"][entry["case"]]["entropy"]).requires_grad_()
        weights = token_weights(batch.mask, "dapo", 1)

        terms = policy_loss(
            batch.new,
            batch.old,
            batch.advantages[:, None].expand_as(batch.new),
            weights,
            objective=objective_of(entry["options"]),
            entropies=entropies,
            entropy_weights=weights,
        )
        torch.autograd.backward(terms.loss)

        assert terms.loss.item() == pytest.approx(entry["loss"], abs=1e-6)
        assert entropies.grad is not None
        torch.testing.assert_close(entropies.grad, float64(entry["grad_entropy"]), rtol=0, atol=1e-9)


@pytest.mark.parametrize("number", range(ACCUMULATIONS))
def test_accumulated_loss_and_gradient_equal_trl(golden, number):
    entry = golden["gradient_accumulation"][number]
    batch, options = batch_of(golden, entry), Options(objective_of(entry["options"]), max_length=6)
    if entry["options"]["loss_type"] == "cispo":  # made with a weight of at most 0.2, which is no clip_high of ours
        options = Options(options.objective, clip_high=torch.full_like(batch.new, -0.8))
    count = entry["microbatches"]
    size = len(batch.mask) // count
    pieces = [list(range(k * size, (k + 1) * size)) for k in range(count)]

    if entry["options"]["loss_type"] == "bnpo":  # TRL takes each microbatch for a minibatch of its own, and their mean
        parts = [run(Batch(*(getattr(batch, n)[p] for n in batch.__dataclass_fields__)), options) for p in pieces]
        loss, gradient = sum(t.loss.item() for t, _ in parts) / count, torch.cat([g for _, g in parts]) / count
    else:
        terms, gradient = run(batch, options, pieces)
        loss = terms.loss.item()

    assert loss == pytest.approx(entry["summed_loss"], abs=1e-6), entry
    torch.testing.assert_close(gradient, float64(entry["grad_new_logprobs"]), rtol=0, atol=1e-6)
