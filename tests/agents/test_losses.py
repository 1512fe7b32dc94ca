"""The policy losses against numbers worked out by hand, TRL's own, and a slow oracle with hand-derived gradients."""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass, fields
from functools import reduce
from pathlib import Path
from typing import Any, get_args

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from grpo_agents.kl import k3, k3_corrected
from grpo_agents.losses import DIVISORS, LossTerms, LossType, policy_loss, token_weights

SHARED = Path(os.environ.get("GRPO_GYM_SHARED", Path(__file__).parents[3] / "shared"))
CLIP: dict[str, Any] = {"clip_low": 0.2, "clip_high": 0.28}


@pytest.fixture(scope="module")
def golden() -> dict[str, Any]:
    path = SHARED / "cases" / "losses.json"
    if not path.is_file():
        pytest.skip(f"the shared golden cases are not here: {path} (set GRPO_GYM_SHARED)")
    cases: dict[str, Any] = json.loads(path.read_text())
    return cases


@dataclass(frozen=True)
class Batch:
    """One batch as tensors: float64 [B, T], mask bool [B, T], advantages [B]."""

    mask: Tensor
    new: Tensor
    old: Tensor
    ref: Tensor
    advantages: Tensor


def float64(values: Any) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def run(
    batch: Batch,
    loss_type: LossType,
    *,
    pieces: list[list[int]] | None = None,
    kl_coef: float = 0.0,
    corrected: bool = False,
    max_length: int | None = None,
    **clip: float,
) -> tuple[LossTerms, Tensor]:
    """The loss as a trainer computes it, piece by piece (lists of rows; None: all at once), and its gradient."""
    new = batch.new.clone().requires_grad_()
    weights = token_weights(batch.mask, loss_type, max_length or batch.mask.shape[1])
    parts = []
    for rows in pieces or [list(range(len(new)))]:
        logprobs, old, ref, mask = new[rows], batch.old[rows], batch.ref[rows], batch.mask[rows]
        kl = k3_corrected(logprobs, old, ref, mask) if corrected else k3(logprobs, ref, mask)
        advantages = batch.advantages[rows, None].expand_as(logprobs)
        terms = policy_loss(
            logprobs, old, advantages, weights[rows], kl=kl if kl_coef else None, kl_coef=kl_coef, **(clip or CLIP)
        )
        torch.autograd.backward(terms.loss)
        parts.append(terms)
    assert new.grad is not None
    return reduce(LossTerms.__add__, parts), new.grad


# --- numbers worked out by hand ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loss_type", "weights"),
    [
        ("dapo", [[0.25, 0, 0], [0.25, 0.25, 0.25], [0, 0, 0]]),
        ("grpo", [[1 / 3, 0, 0], [1 / 9, 1 / 9, 1 / 9], [0, 0, 0]]),
        ("dr_grpo", [[1 / 15, 0, 0], [1 / 15, 1 / 15, 1 / 15], [0, 0, 0]]),
    ],
)
def test_weights_of_one_short_one_long_and_one_fully_masked_row(loss_type, weights):
    mask = torch.tensor([[1, 0, 0], [1, 1, 1], [0, 0, 0]], dtype=torch.bool)

    torch.testing.assert_close(token_weights(mask, loss_type, 5), float64(weights), rtol=0, atol=1e-15)


@pytest.mark.parametrize(("loss_type", "loss"), [("dapo", 0.5), ("grpo", 0.0), ("dr_grpo", 0.25)])
def test_on_policy_loss_of_a_good_short_and_a_bad_long_row(loss_type, loss):
    mask = torch.tensor([[1, 0, 0, 0], [1, 1, 1, 0]], dtype=torch.bool)
    zero = torch.zeros(2, 4, dtype=torch.float64)

    terms, _ = run(Batch(mask, zero, zero, zero, float64([1.0, -1.0])), loss_type)

    assert terms.loss.item() == pytest.approx(loss, abs=1e-15)


@pytest.mark.parametrize(
    ("ratio", "advantage", "loss", "slope"),
    [
        (1.5, 1.0, -1.28, 0.0),  # a good token has risen enough
        (1.5, -1.0, 1.5, 1.5),  # a bad token has risen: push it down, however far
        (0.5, -1.0, 0.8, 0.0),  # a bad token has fallen enough
        (0.5, 1.0, -0.5, -0.5),  # a good token has fallen: push it up, however far
        (1.25, 2.0, -2.5, -2.5),  # within 1.28, but not within 1.2: the upper bound is the wider one
        (0.75, -2.0, 1.6, 0.0),  # within 0.72, but not within 0.8: the lower bound is the narrower one
        (1.0, 2.0, -2.0, -2.0),
    ],
)
def test_clipped_surrogate_and_its_gradient(ratio, advantage, loss, slope):
    logprobs = float64([math.log(ratio) - 1.0]).requires_grad_()

    terms = policy_loss(logprobs, float64([-1.0]), float64([advantage]), float64([1.0]), **CLIP)
    (got,) = torch.autograd.grad(terms.loss, logprobs)

    assert terms.loss.item() == pytest.approx(loss, abs=1e-12)
    assert got.item() == pytest.approx(slope, abs=1e-12)


def test_metrics_count_clipped_and_masked_tokens():
    ratios = float64([1.5, 1.5, 0.5, 0.5, 1.0, 9.0])
    advantages = float64([1.0, -1.0, 1.0, -1.0, 1.0, 1.0])
    weights = float64([0.2] * 5 + [0.0])

    kl = float64([0.1, 0.2, 0.3, 0.4, 0.5, 9.0])
    terms = policy_loss(ratios.log(), torch.zeros_like(ratios), advantages, weights, kl=kl, kl_coef=2.0, **CLIP)

    assert terms.metrics() == pytest.approx(
        {
            "loss": 0.2 * (-1.28 + 1.5 - 0.5 + 0.8 - 1.0) + 2.0 * 0.2 * 1.5,
            "policy_loss": 0.2 * (-1.28 + 1.5 - 0.5 + 0.8 - 1.0),
            "kl": 0.3,
            "clip_low": 0.2,
            "clip_high": 0.2,
            "ratio_max": 1.5,
            "tokens": 5,
            "masked_tokens": 1,
        }
    )


# --- a slow oracle: the papers' formulas, loop by loop, with gradients derived by hand ------------------------------


def slow(
    batch: Batch, loss_type: str, max_length: int, clip_low: float, clip_high: float, kl_coef: float, corrected: bool
) -> tuple[float, list[list[float]]]:
    rows, length = batch.mask.shape
    counted = [[t for t in range(length) if batch.mask[i, t]] for i in range(rows)]
    loss = 0.0
    gradient = [[0.0] * length for _ in range(rows)]
    for i in range(rows):
        for t in counted[i]:
            new, old, ref = (float(x[i, t]) for x in (batch.new, batch.old, batch.ref))
            a, r = float(batch.advantages[i]), math.exp(new - old)
            if a > 0 and r > 1 + clip_high:
                value, slope = -(1 + clip_high) * a, 0.0
            elif a < 0 and r < 1 - clip_low:
                value, slope = -(1 - clip_low) * a, 0.0
            else:
                value, slope = -r * a, -r * a
            x = ref - new
            kl, kl_slope = math.exp(x) - x - 1, 1 - math.exp(x)
            if corrected:
                kl, kl_slope = r * kl, r * kl + r * kl_slope
            if loss_type == "dapo":
                divisor = sum(len(c) for c in counted)
            elif loss_type == "grpo":
                divisor = len(counted[i]) * rows
            else:
                divisor = rows * max_length
            loss += (value + kl_coef * kl) / divisor
            gradient[i][t] = (slope + kl_coef * kl_slope) / divisor
    return loss, gradient


@st.composite
def batches(draw: st.DrawFn) -> Batch:
    """Ragged masks (holes and empty rows too), log-probs up to 3 nats apart, advantages of both signs and zero."""
    rows, length = draw(st.integers(1, 6)), draw(st.integers(1, 5))

    def table(values: st.SearchStrategy[Any]) -> list[list[Any]]:
        return draw(st.lists(st.lists(values, min_size=length, max_size=length), min_size=rows, max_size=rows))

    new = float64(table(st.floats(-6.0, 0.0)))
    old, ref = (new + float64(table(st.floats(-3.0, 3.0))) for _ in range(2))
    mask = torch.tensor(table(st.booleans()), dtype=torch.bool)
    advantages = draw(st.lists(st.floats(-3.0, 3.0), min_size=rows, max_size=rows))
    return Batch(mask, new, old, ref, float64(advantages))


OPTIONS = {
    "loss_type": st.sampled_from(sorted(DIVISORS)),
    "clip_low": st.sampled_from([0.1, 0.2, 0.5]),
    "clip_high": st.sampled_from([0.1, 0.28, 2.0]),
    "kl_coef": st.sampled_from([0.0, 0.04, 1.0]),
    "corrected": st.booleans(),
}


@settings(max_examples=200)
@given(batch=batches(), extra_length=st.integers(0, 3), options=st.fixed_dictionaries(OPTIONS))
def test_loss_and_gradient_equal_the_slow_oracle(batch, extra_length, options):
    max_length = batch.mask.shape[1] + extra_length
    loss, gradient = slow(batch, max_length=max_length, **options)

    terms, got = run(batch, max_length=max_length, **options)

    assert terms.loss.item() == pytest.approx(loss, rel=1e-9, abs=1e-11)
    torch.testing.assert_close(got, float64(gradient), rtol=1e-9, atol=1e-11)


# --- accumulation, order, packing ----------------------------------------------------------------------------------


def assert_same(got: tuple[LossTerms, Tensor], whole: tuple[LossTerms, Tensor]) -> None:
    torch.testing.assert_close(got[1], whole[1], rtol=0, atol=0)
    for field in fields(LossTerms):
        a, b = (getattr(terms, field.name).double() for terms in (got[0], whole[0]))
        torch.testing.assert_close(a, b, rtol=0, atol=1e-12)


def random_batch(rows: int = 8, length: int = 7) -> Batch:
    generator = torch.Generator().manual_seed(3)
    new, old, ref = (-3 * torch.rand(rows, length, generator=generator, dtype=torch.float64) for _ in range(3))
    lengths = torch.randint(0, length + 1, (rows, 1), generator=generator)
    lengths[2] = 0  # one row fully masked
    advantages = torch.randn(rows, generator=generator, dtype=torch.float64)
    return Batch(torch.arange(length) < lengths, new, old, ref, advantages)


SPLITS = {
    "two halves": [[0, 1, 2, 3], [4, 5, 6, 7]],
    "four": [[0, 1], [2, 3], [4, 5], [6, 7]],
    "uneven": [[0], [1, 2, 3, 4, 5], [6, 7]],
    "a masked row alone": [[2], [0, 1, 3, 4, 5, 6, 7]],
    "one by one, backwards": [[7], [6], [5], [4], [3], [2], [1], [0]],
    "shuffled": [[5, 0, 7], [2, 6], [3, 1, 4]],
}


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("loss_type", DIVISORS)
def test_any_split_into_microbatches_gives_the_loss_gradient_and_metrics_of_the_whole(loss_type, split):
    batch = random_batch()
    options: dict[str, Any] = {"kl_coef": 0.1, "corrected": True, "max_length": 9}

    assert_same(run(batch, loss_type, pieces=SPLITS[split], **options), run(batch, loss_type, **options))


@settings(max_examples=50)
@given(batch=batches(), data=st.data(), loss_type=st.sampled_from(sorted(DIVISORS)))
def test_random_splits_of_random_batches_change_nothing(batch, data, loss_type):
    order = data.draw(st.permutations(range(len(batch.mask))))
    cuts = sorted(data.draw(st.sets(st.integers(1, len(order)))) | {len(order)})
    pieces = [order[a:b] for a, b in zip([0, *cuts], cuts, strict=False)]

    got, whole = (run(batch, loss_type, pieces=p, kl_coef=0.04) for p in (pieces, None))

    torch.testing.assert_close(got[1], whole[1], rtol=0, atol=0)
    assert got[0].loss.item() == pytest.approx(whole[0].loss.item(), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("loss_type", DIVISORS)
def test_float32_log_probs_give_bit_equal_gradients_for_any_split(loss_type):
    batch = random_batch()
    half = Batch(batch.mask, *(x.float() for x in (batch.new, batch.old, batch.ref, batch.advantages)))

    assert_same(run(half, loss_type, pieces=SPLITS["uneven"]), run(half, loss_type))


@pytest.mark.parametrize("loss_type", DIVISORS)
def test_packed_tokens_give_the_loss_of_the_padded_batch(loss_type):
    batch = random_batch()
    new = batch.new.clone().requires_grad_()
    weights = token_weights(batch.mask, loss_type, 9)
    advantages = batch.advantages[:, None].expand_as(new)

    flat = policy_loss(*(x[batch.mask] for x in (new, batch.old, advantages, weights)), **CLIP)
    torch.autograd.backward(flat.loss)
    padded, gradient = run(batch, loss_type, max_length=9)

    assert flat.loss.item() == pytest.approx(padded.loss.item(), abs=1e-12)
    assert new.grad is not None
    torch.testing.assert_close(new.grad, gradient, rtol=0, atol=0)


# --- masks ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("garbage", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("loss_type", DIVISORS)
def test_garbage_at_masked_positions_changes_no_bit(loss_type, garbage):
    batch = random_batch()
    new, old, ref = (x.masked_fill(~batch.mask, garbage) for x in (batch.new, batch.old, batch.ref))
    advantages = batch.advantages.clone()
    advantages[2] = garbage  # the fully masked row
    dirty = Batch(batch.mask, new, old, ref, advantages)

    for corrected in (False, True):
        got, whole = (run(b, loss_type, kl_coef=0.1, corrected=corrected) for b in (dirty, batch))

        assert got[0].loss.item() == whole[0].loss.item()
        assert got[0].metrics() == whole[0].metrics()
        assert (got[1][~batch.mask] == 0).all()
        assert torch.equal(got[1], whole[1])


@pytest.mark.parametrize("loss_type", DIVISORS)
def test_a_batch_without_any_token_has_loss_and_gradient_zero(loss_type):
    batch = random_batch()

    terms, gradient = run(
        Batch(torch.zeros_like(batch.mask), batch.new, batch.old, batch.ref, batch.advantages), loss_type, kl_coef=1.0
    )

    assert set(terms.metrics().values()) == {0.0, float(batch.mask.numel())}
    assert (gradient == 0).all()


def test_an_empty_piece_adds_nothing():
    empty = torch.zeros(0, requires_grad=True)

    terms = policy_loss(empty, empty, empty, empty, **CLIP)

    assert set(terms.metrics().values()) == {0.0}


def test_only_the_trained_log_probs_get_a_gradient():
    logprobs, old, advantages = (float64([-1.0, -2.0]).requires_grad_() for _ in range(3))

    terms = policy_loss(logprobs, old, advantages, float64([0.5, 0.5]), **CLIP)
    torch.autograd.backward(terms.loss)

    assert logprobs.grad is not None
    assert old.grad is None
    assert advantages.grad is None
    assert [f.name for f in fields(terms) if getattr(terms, f.name).requires_grad] == ["loss"]


# --- signs: what one step does to a policy --------------------------------------------------------------------------

ANSWERS = 4


def step(logits: Tensor, reference: Tensor, advantages: list[float], kl_coef: float) -> Tensor:
    """One step of plain gradient descent on a policy over four answers of one token, each drawn once."""
    logits = logits.clone().requires_grad_()
    logprobs = logits.log_softmax(0)
    weights = token_weights(torch.ones(ANSWERS, 1, dtype=torch.bool), "dapo", 1)[:, 0]
    kl = k3(logprobs, reference, weights != 0)
    terms = policy_loss(logprobs, logprobs.detach(), float64(advantages), weights, kl=kl, kl_coef=kl_coef, **CLIP)
    (gradient,) = torch.autograd.grad(terms.loss, logits)
    return (logits - 0.1 * gradient).detach().log_softmax(0)


def test_one_step_raises_the_best_completion_and_lowers_the_worst():
    start = torch.zeros(ANSWERS, dtype=torch.float64)

    change = step(start, start.log_softmax(0), [1.5, 0.5, -0.5, -1.5], kl_coef=0.0) - start.log_softmax(0)

    assert change[0] > change[1] > 0
    assert change[3] < change[2] < 0


def test_a_higher_kl_coef_pulls_harder_to_the_reference():
    start = float64([1.0, 0.0, -1.0, 0.5])
    reference = float64([-0.5, 0.5, 0.0, 0.0]).log_softmax(0)

    def distance(logprobs: Tensor) -> float:
        return float((logprobs.exp() * (logprobs - reference)).sum())

    steps = [distance(step(start, reference, [1.0, -0.5, -0.5, 0.0], kl_coef)) for kl_coef in (0.0, 0.1, 1.0, 4.0)]

    assert steps == sorted(steps, reverse=True)
    assert len(set(steps)) == 4
    assert steps[-1] < distance(start.log_softmax(0))


# --- errors --------------------------------------------------------------------------------------------------------


def test_the_type_names_exactly_what_the_table_holds():
    assert get_args(LossType) == tuple(DIVISORS)


@pytest.mark.parametrize(
    ("mask", "loss_type", "max_length", "message"),
    [
        (torch.ones(1, 1, dtype=torch.bool), "bnpo", 1, r"loss_type must be one of dapo, grpo, dr_grpo; got 'bnpo'"),
        (torch.ones(1, 1), "dapo", 1, r"mask must be bool of shape \[B, T\]; got torch.float32 of shape \[1, 1\]"),
        (torch.ones(3, dtype=torch.bool), "dapo", 1, r"mask must be bool of shape \[B, T\]; .* of shape \[3\]"),
        (torch.ones(1, 1, dtype=torch.bool), "dr_grpo", 0, r"max_length must be at least 1 token; got 0"),
    ],
    ids=["name", "float mask", "flat mask", "length"],
)
def test_weights_refuse_what_does_not_fit(mask, loss_type, max_length, message):
    with pytest.raises(ValueError, match=message):
        token_weights(mask, loss_type, max_length)


@pytest.mark.parametrize("wrong", ["clip_low", "clip_high", "kl_coef"])
def test_negative_settings_are_refused(wrong):
    one = torch.ones(1)

    with pytest.raises(ValueError, match=r"clip_low, clip_high and kl_coef must not be negative; got .*-0\.1"):
        policy_loss(one, one, one, one, **{**CLIP, wrong: -0.1})


@pytest.mark.parametrize("wrong", range(5))
def test_shapes_that_differ_are_refused_instead_of_broadcast(wrong):
    tensors = [torch.zeros(2, 2) if i != wrong else torch.zeros(2) for i in range(5)]

    with pytest.raises(ValueError, match=r"logprobs, old_logprobs, advantages, weights and kl must have one shape"):
        policy_loss(*tensors[:4], kl=tensors[4], **CLIP)


# --- TRL's own numbers ---------------------------------------------------------------------------------------------

TRL_LOSSES = 28
TRL_ACCUMULATIONS = 2
KNOWN = {"loss_type", "beta", "epsilon", "epsilon_high", "use_bias_correction_kl", "scale_rewards", "old_logprobs"}


def trl_losses(golden: dict[str, Any]) -> list[dict[str, Any]]:
    """Entries whose options are all among ours: token-level ratio, one of our losses, plain k3."""
    return [
        entry
        for entry in golden["losses"]
        if entry["trainer"] == "GRPOTrainer"
        and entry["options"]["loss_type"] in DIVISORS
        and entry["options"]["importance_sampling_level"] == "token"
        and set(entry["options"]) <= KNOWN | {"importance_sampling_level"}
    ]


def trl_accumulations(golden: dict[str, Any]) -> list[dict[str, Any]]:
    return [entry for entry in golden["gradient_accumulation"] if entry["options"]["loss_type"] in DIVISORS]


def run_trl(golden: dict[str, Any], entry: dict[str, Any], microbatches: int = 1) -> tuple[LossTerms, Tensor]:
    case, options = golden["cases"][entry["case"]], entry["options"]
    old = case["new"] if options.get("old_logprobs") == "new.detach()" else case["old"]
    batch = Batch(
        mask=torch.tensor(case["mask"], dtype=torch.bool),
        new=float64(case["new"]),
        old=float64(old),
        ref=float64(case["ref"]),
        advantages=float64(entry["advantages"]),
    )
    size = len(batch.mask) // microbatches
    return run(
        batch,
        options["loss_type"],
        pieces=[list(range(k * size, (k + 1) * size)) for k in range(microbatches)],
        kl_coef=options["beta"],
        corrected=options.get("use_bias_correction_kl", False),
        clip_low=options["epsilon"],
        clip_high=options.get("epsilon_high", options["epsilon"]),
    )


def test_trl_cases_are_all_selected(golden):
    assert len(trl_losses(golden)) == TRL_LOSSES
    assert {entry["options"]["loss_type"] for entry in trl_losses(golden)} == set(DIVISORS)
    assert len(trl_accumulations(golden)) == TRL_ACCUMULATIONS


@pytest.mark.parametrize("number", range(TRL_LOSSES))
def test_loss_and_gradient_equal_trl(golden, number):
    entry = trl_losses(golden)[number]

    terms, gradient = run_trl(golden, entry)

    assert terms.loss.item() == pytest.approx(entry["loss"], abs=1e-6), entry
    torch.testing.assert_close(gradient, float64(entry["grad_new_logprobs"]), rtol=0, atol=1e-6)


@pytest.mark.parametrize("number", range(TRL_LOSSES))
def test_clip_shares_and_kl_equal_what_trl_logs(golden, number):
    entry = trl_losses(golden)[number]
    logged = entry["logged"]

    metrics = run_trl(golden, entry)[0].metrics()

    assert metrics["clip_low"] == pytest.approx(logged["clip_ratio/low_mean"], abs=1e-6), entry
    assert metrics["clip_high"] == pytest.approx(logged["clip_ratio/high_mean"], abs=1e-6), entry
    assert metrics["kl"] == pytest.approx(logged.get("kl", 0.0), abs=1e-6), entry


@pytest.mark.parametrize("number", range(TRL_ACCUMULATIONS))
def test_accumulated_loss_and_gradient_equal_trl(golden, number):
    entry = trl_accumulations(golden)[number]

    terms, gradient = run_trl(golden, entry, entry["microbatches"])

    assert terms.loss.item() == pytest.approx(entry["summed_loss"], abs=1e-6), entry
    torch.testing.assert_close(gradient, float64(entry["grad_new_logprobs"]), rtol=0, atol=1e-6)
