"""The policy losses by hand: weights, surrogates and their slopes, metrics, masks, signs and refusals."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import Any, get_args

import pytest
import torch
from torch import Tensor

from grpo_agents.config import Objective
from grpo_agents.config.objective import Average, LossName
from grpo_agents.kl import k3
from grpo_agents.losses import AVERAGES, FORMS, Totals, importance_ratio, policy_loss, token_weights
from tests.agents.loss_oracle import Batch, Options, float64, random_batch, run

DAPO = Objective()
ONE = float64([1.0])


def test_the_tables_hold_exactly_what_the_config_names():
    assert get_args(LossName) == tuple(FORMS)
    assert get_args(Average) == ("auto", *AVERAGES)


# --- weights -------------------------------------------------------------------------------------------------------

RAGGED = torch.tensor([[1, 0, 0], [1, 1, 1], [0, 0, 0]], dtype=torch.bool)


@pytest.mark.parametrize(
    ("average", "weights"),
    [
        ("token", [[1 / 4, 0, 0], [1 / 4, 1 / 4, 1 / 4], [0, 0, 0]]),
        ("minibatch_token", [[1 / 4, 0, 0], [1 / 4, 1 / 4, 1 / 4], [0, 0, 0]]),
        ("sequence", [[1 / 3, 0, 0], [1 / 9, 1 / 9, 1 / 9], [0, 0, 0]]),
        ("constant", [[1 / 15, 0, 0], [1 / 15, 1 / 15, 1 / 15], [0, 0, 0]]),
        ("sequence_sum", [[1 / 3, 0, 0], [1 / 3, 1 / 3, 1 / 3], [0, 0, 0]]),
    ],
)
def test_weights_of_one_short_one_long_and_one_fully_masked_row(average, weights):
    own = next(loss for loss, form in FORMS.items() if form.average == average)

    for got in (token_weights(RAGGED, "dapo", 5, average=average), token_weights(RAGGED, own, 5)):
        torch.testing.assert_close(got, float64(weights), rtol=0, atol=1e-15)


@pytest.mark.parametrize(
    ("average", "short", "long"),
    [
        ("token", 1 / 40, 1 / 40),
        ("minibatch_token", 1 / 40, 1 / 40),
        ("sequence", 1 / 10, 1 / 30),
        ("constant", 1 / 50, 1 / 50),
        ("sequence_sum", 1 / 10, 1 / 10),
    ],
)
def test_totals_take_the_place_of_what_the_mask_shows(average, short, long):
    got = token_weights(RAGGED, "dapo", 5, average=average, totals=Totals(rows=10, tokens=40))

    torch.testing.assert_close(got[:2, 0], float64([short, long]), rtol=0, atol=1e-15)


def test_a_rank_without_tokens_gets_zeros():
    nothing = torch.zeros(2, 3, dtype=torch.bool)

    assert (token_weights(nothing, "grpo", 5, totals=Totals(0, 0)) == 0).all()
    assert (token_weights(nothing, "dapo", 5) == 0).all()
    assert token_weights(nothing[:0], "gspo", 5).shape == (0, 3)


@pytest.mark.parametrize(("loss", "expected"), [("dapo", 0.5), ("grpo", 0.0), ("dr_grpo", 2 / 18), ("luspo", 1.0)])
def test_on_policy_loss_of_a_good_short_and_a_bad_long_row(loss, expected):
    mask = torch.tensor([[1, 0, 0, 0], [1, 1, 1, 0]], dtype=torch.bool)
    zero = torch.zeros(2, 4, dtype=torch.float64)

    terms, _ = run(Batch(mask, zero, zero, zero, float64([1.0, -1.0])), Options(Objective(loss=loss)))

    assert terms.loss.item() == pytest.approx(expected, abs=1e-15)


# --- surrogates: value and slope in the log-prob, of one token --------------------------------------------------------


def one_token(objective: Objective, ratio: float, advantage: float, **more: Any) -> tuple[float, float]:
    logprobs = float64([math.log(ratio) - 1.0]).requires_grad_()
    terms = policy_loss(logprobs, -ONE, float64([advantage]), ONE, objective=objective, rows=torch.tensor([4]), **more)
    (slope,) = torch.autograd.grad(terms.loss, logprobs)
    assert terms.gradient_l1.item() == abs(slope.item())
    return terms.loss.item(), slope.item()


@pytest.mark.parametrize("loss", ["dapo", "gspo", "luspo"])
@pytest.mark.parametrize(
    ("ratio", "advantage", "value", "slope"),
    [
        (1.5, 1.0, -1.28, 0.0),  # a good token has risen enough
        (1.5, -1.0, 1.5, 1.5),  # a bad token has risen: push it down, however far
        (0.5, -1.0, 0.8, 0.0),  # a bad token has fallen enough
        (0.5, 1.0, -0.5, -0.5),  # a good token has fallen: push it up, however far
        (1.25, 2.0, -2.5, -2.5),  # within 1.28, but not within 1.2: the upper bound is the wider one
        (0.75, -2.0, 1.6, 0.0),  # within 0.72, but not within 0.8: the lower bound is the narrower one
        (1.0, 2.0, -2.0, -2.0),
        (1.2801, 1.0, -1.28, 0.0),  # the bounds are where they say
        (1.2799, 1.0, -1.2799, -1.2799),
        (0.7999, -1.0, 0.8, 0.0),
        (0.8001, -1.0, 0.8001, 0.8001),
    ],
)
def test_clipped_surrogate_and_its_slope(loss, ratio, advantage, value, slope):
    assert one_token(Objective(loss=loss), ratio, advantage) == pytest.approx((value, slope), abs=1e-12)


LOG3 = math.log(3)


@pytest.mark.parametrize(
    ("options", "ratio", "advantage", "value", "slope"),
    [
        ({"clip_dual": 3.0}, 5.0, -2.0, 6.0, 0.0),  # no harder than 3 times
        ({"clip_dual": 3.0}, 2.5, -2.0, 5.0, 5.0),
        ({"clip_dual": 3.0}, 5.0, 2.0, -2.56, 0.0),  # a good token has its own bound
        ({"loss": "cispo"}, 3.0, 1.0, -1.28 * (LOG3 - 1), -1.28),  # the weight is cut, the gradient is not
        ({"loss": "cispo"}, 3.0, -1.0, 1.28 * (LOG3 - 1), 1.28),
        ({"loss": "cispo"}, 1 / 3, -1.0, (-LOG3 - 1) / 3, 1 / 3),
        ({"loss": "sapo"}, 1.0, 1.0, -2.0, -1.0),  # at ratio 1 the gate is half open, and its slope that of r * A
        ({"loss": "sapo"}, 1.0, -1.0, 2 / 1.05, 1.0),
        ({"loss": "sapo"}, 3.0, 1.0, -4 / (1 + math.exp(-2)), -12 * math.exp(-2) / (1 + math.exp(-2)) ** 2),
        ({"loss": "gmpo"}, 3.0, 1.0, -math.exp(0.28), 0.0),  # bounds are of the log ratio
        ({"loss": "gmpo"}, 3.0, -1.0, 3.0, 3.0),
        ({"loss": "gmpo"}, 0.5, -1.0, math.exp(-0.2), 0.0),
        ({"loss": "vespo"}, 1.0, 1.0, 1.0, -1.0),  # phi(1) = 1
        ({"loss": "vespo"}, 3.0, 1.0, 9 * math.exp(-6) * (1 - LOG3), -9 * math.exp(-6)),
        ({"loss": "vespo"}, 3.0, -1.0, 27 * math.exp(-4) * (LOG3 - 1), 27 * math.exp(-4)),
        ({"loss": "reinforce"}, 3.0, 2.0, -2.0 * (LOG3 - 1), -2.0),
    ],
)
def test_the_other_surrogates_and_their_slopes(options, ratio, advantage, value, slope):
    assert one_token(Objective(**options), ratio, advantage) == pytest.approx((value, slope), abs=1e-12)


def test_bounds_of_a_token_override_those_of_the_objective():
    ratios, advantages = float64([1.5, 1.5, 0.5, 0.5]), float64([1.0, 1.0, -1.0, -1.0])
    low, high = float64([0.2, 0.2, 0.1, 0.6]), float64([0.6, 0.1, 0.2, 0.2])
    logprobs = ratios.log().requires_grad_()

    terms = policy_loss(logprobs, 0 * ratios, advantages, 1 + 0 * ratios, objective=DAPO, clip_low=low, clip_high=high)
    (slopes,) = torch.autograd.grad(terms.loss, logprobs)

    assert slopes.tolist() == pytest.approx([-1.5, 0.0, 0.0, 0.5])
    assert terms.loss.item() == pytest.approx(-1.5 - 1.1 + 0.9 + 0.5)
    assert (terms.clipped_low.item(), terms.clipped_high.item()) == (1, 1)


@pytest.mark.parametrize("loss", FORMS)
def test_a_ratio_too_large_for_a_float_gives_no_nan(loss):
    logprobs, old = float64([-1.0, -1.0, -1.0]), float64([-2000.0, -2000.0, -1.0])
    logprobs.requires_grad_()

    terms = policy_loss(
        logprobs, old, float64([1.0, 0.0, 1.0]), 1 + 0 * old, objective=Objective(loss=loss), rows=torch.arange(3)
    )
    (slopes,) = torch.autograd.grad(terms.loss, logprobs)

    assert terms.loss.isfinite()
    assert slopes.isfinite().all()
    assert slopes[1] == 0


# --- metrics -------------------------------------------------------------------------------------------------------


def test_metrics_count_clipped_kept_and_masked_tokens():
    ratios = float64([1.5, 1.5, 0.5, 0.5, 1.0, 9.0])
    advantages = float64([1.0, -1.0, 1.0, -1.0, 1.0, 1.0])
    weights = float64([0.2] * 5 + [0.0])
    kl = float64([0.1, 0.2, 0.3, 0.4, 0.5, 9.0])
    keep = torch.tensor([True, True, True, True, False, False])
    logs = ratios.log().requires_grad_()

    terms = policy_loss(
        logs, 0 * ratios, advantages, weights, objective=DAPO, kl=kl, kl_coef=2.0, keep=keep, entropies=10 * kl
    )

    policy = 0.2 * (-1.28 + 1.5 - 0.5 + 0.8)
    assert terms.metrics() == pytest.approx(
        {
            "loss": policy + 2.0 * 0.2 * 1.5,
            "policy_loss": policy,
            "gradient_l1": 0.2 * (1.5 + 0.5),
            "kl": 0.3,
            "kl_to_old": (2 * math.log(1.5) ** 2 + 2 * math.log(2) ** 2) / 2 / 5,
            "entropy": 3.0,
            "clip_low": 0.2,
            "clip_high": 0.2,
            "clip_dual": 0.0,
            "ratio_min": 0.5,
            "ratio_max": 1.5,
            "tokens": 5,
            "kept_tokens": 4,
            "masked_tokens": 1,
        }
    )


def test_one_ratio_per_completion_is_one_thing_that_is_clipped_or_not():
    rows = torch.tensor([7, 7, 7, 2])  # the long completion has risen by 1.5 on geometric mean, the short one not
    logs = float64([3 * math.log(1.5), 0.0, 0.0, 0.0])

    terms = policy_loss(logs, 0 * logs, 1 + 0 * logs, 1 + 0 * logs, objective=Objective(loss="gspo"), rows=rows)

    assert (terms.units.item(), terms.clipped_high.item()) == pytest.approx((2, 1))
    assert terms.metrics()["clip_high"] == pytest.approx(0.5)
    assert terms.metrics()["ratio_max"] == pytest.approx(1.5)


def test_a_bad_completion_beyond_the_dual_bound_is_counted():
    terms = policy_loss(ONE * 2, 0 * ONE, -ONE, ONE, objective=Objective(clip_dual=3.0))

    assert terms.metrics()["clip_dual"] == 1.0
    assert terms.metrics()["clip_low"] == terms.metrics()["clip_high"] == 0.0


@pytest.mark.parametrize("loss", FORMS)
def test_on_the_first_pass_the_ratio_is_1_and_nothing_is_clipped(loss):
    batch = random_batch()
    terms, gradient = run(replace(batch, old=batch.new), Options(Objective(loss=loss)))
    plain, _ = run(replace(batch, old=batch.new), Options(Objective(loss="reinforce", average=FORMS[loss].average)))

    metrics = terms.metrics()
    assert metrics["ratio_min"] == metrics["ratio_max"] == 1.0
    assert metrics["clip_low"] == metrics["clip_high"] == metrics["clip_dual"] == metrics["kl_to_old"] == 0.0
    assert gradient.abs().sum() > 0
    assert metrics["gradient_l1"] == pytest.approx(plain.metrics()["gradient_l1"], rel=1e-12)


# --- masks ---------------------------------------------------------------------------------------------------------


def everything(loss: Any) -> Options:
    shape = random_batch().mask.shape
    return Options(
        Objective(loss=loss, entropy_coef=0.1, correction="token_truncate"),
        kl_coef=0.1,
        corrected=True,
        factor=torch.full(shape, 0.7, dtype=torch.float64),
        keep=torch.ones(shape, dtype=torch.bool),
        entropies=torch.full(shape, 0.9, dtype=torch.float64),
        clip_low=torch.full(shape, 0.2, dtype=torch.float64),
        clip_high=torch.full(shape, 0.3, dtype=torch.float64),
    )


@pytest.mark.parametrize("garbage", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("loss", FORMS)
def test_garbage_at_masked_positions_changes_no_bit(loss, garbage):
    batch, options = random_batch(), everything(loss)
    new, old, ref = (x.masked_fill(~batch.mask, garbage) for x in (batch.new, batch.old, batch.ref))
    advantages = batch.advantages.clone()
    advantages[2] = garbage  # the fully masked row
    names = ("factor", "entropies", "clip_low", "clip_high")
    spoilt = {name: getattr(options, name).masked_fill(~batch.mask, garbage) for name in names}

    got = run(Batch(batch.mask, new, old, ref, advantages), replace(options, **spoilt))
    whole = run(batch, options)

    assert got[0].metrics() == whole[0].metrics()
    assert (got[1][~batch.mask] == 0).all()
    assert torch.equal(got[1], whole[1])


@pytest.mark.parametrize("loss", FORMS)
def test_a_batch_without_any_token_has_loss_and_gradient_zero(loss):
    batch = random_batch()

    terms, gradient = run(replace(batch, mask=torch.zeros_like(batch.mask)), everything(loss))

    assert set(terms.metrics().values()) == {0.0, float(batch.mask.numel())}
    assert (gradient == 0).all()


@pytest.mark.parametrize("loss", FORMS)
def test_an_empty_piece_adds_nothing(loss):
    empty = torch.zeros(0, requires_grad=True)
    rows = torch.zeros(0, dtype=torch.int64)

    terms = policy_loss(empty, empty, empty, empty, objective=Objective(loss=loss), rows=rows)
    whole = policy_loss(ONE, 0 * ONE, ONE, ONE, objective=Objective(loss=loss), rows=rows.new_zeros(1))

    assert set(terms.metrics().values()) == {0.0}
    assert (terms + whole).metrics() == whole.metrics()


def test_only_the_trained_log_probs_get_a_gradient():
    logprobs, old, advantages, factor = (float64([-1.0, -2.0]).requires_grad_() for _ in range(4))

    terms = policy_loss(logprobs, old, advantages, float64([0.5, 0.5]), objective=DAPO, factor=factor)
    torch.autograd.backward(terms.loss)

    assert logprobs.grad is not None
    assert old.grad is advantages.grad is factor.grad is None
    assert [f.name for f in fields(terms) if getattr(terms, f.name).requires_grad] == ["loss"]


def test_a_masked_sampler_token_leaves_vespos_weight_and_term_alone():
    rows, logs = torch.tensor([0, 0]), float64([0.3, 5.0])
    objective = Objective(loss="vespo", correction="token_mask")

    with_it = policy_loss(
        logs, 0 * logs, 1 + 0 * logs, 1 + 0 * logs, objective=objective, rows=rows, factor=float64([1.0, 0.0])
    )
    alone = policy_loss(logs[:1], 0 * ONE, ONE, ONE, objective=objective, rows=rows[:1])

    assert with_it.policy.item() == alone.policy.item()
    assert with_it.kept == 1


def test_a_completions_factor_enters_vespos_weight_once():
    rows, zero, factor = torch.tensor([0, 0]), float64([0.0, -1.0]), float64([2.0, 2.0])
    phi = 4 * math.exp(-3)

    def policy(correction: Any) -> float:
        objective = Objective(loss="vespo", correction=correction)
        return policy_loss(
            zero, zero, 1 + 0 * zero, 1 + 0 * zero, objective=objective, rows=rows, factor=factor
        ).policy.item()

    assert policy("sequence_truncate") == pytest.approx(phi)
    assert policy("token_truncate") == pytest.approx(16 * math.exp(-9))


# --- signs: what one step does to a policy --------------------------------------------------------------------------


def one_step(loss: Any, logits: Tensor, old: Tensor, advantages: Tensor) -> Tensor:
    """One step of plain gradient descent on a policy over answers of one token, each drawn once."""
    logits = logits.clone().requires_grad_()
    logprobs = logits.log_softmax(0)
    weights = token_weights(torch.ones(len(logits), 1, dtype=torch.bool), loss, 1)[:, 0]
    rows = torch.arange(len(logits))
    terms = policy_loss(logprobs, old, advantages, weights, objective=Objective(loss=loss), rows=rows)
    (gradient,) = torch.autograd.grad(terms.loss, logits)
    return (logits - 0.1 * gradient).detach().log_softmax(0)


@pytest.mark.parametrize("loss", FORMS)
def test_one_step_raises_the_best_completion_and_lowers_the_worst(loss):
    start = torch.zeros(4, dtype=torch.float64)
    old = start.log_softmax(0)
    for drift in (0.0, 0.05):  # on-policy, and a little off
        change = one_step(loss, start, old + drift, float64([1.5, 0.5, -0.5, -1.5])) - old

        assert change[0] > change[1] > 0
        assert change[3] < change[2] < 0


# --- the ratio by itself -------------------------------------------------------------------------------------------


def test_the_ratio_of_a_masked_token_is_1_and_that_of_a_completion_is_one_number():
    new, old = float64([[0.1, 0.3, math.nan]]), float64([[0.0, 0.0, math.inf]])
    weights = float64([[1.0, 1.0, 0.0]])
    expected = {"token": [0.1, 0.3, 0.0], "sequence": [0.2, 0.2, 0.0], "product": [0.4, 0.4, 0.0]}

    for level, logs in expected.items():
        ratio = importance_ratio(new, old, weights, Objective(ratio=level))  # type: ignore[arg-type]

        torch.testing.assert_close(ratio, float64([logs]).exp())
        assert k3(new, old, weights != 0)[0, 2] == 0
