"""Every combination of loss, average, ratio, clip, KL, correction, selection and bonus against the slow oracle.

And the house's principle: no split, order, packing or number of ranks changes a loss.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from grpo_agents.config import Objective
from grpo_agents.losses import FORMS, LossTerms, Totals, policy_loss, token_weights
from tests.agents.loss_oracle import (
    OWN_RATIO,
    PARTS,
    Batch,
    Options,
    batches,
    float64,
    options_for,
    random_batch,
    run,
    slow,
)

LEVELS = ("auto", "token", "sequence", "product")


def test_the_oracle_knows_every_loss():
    assert {name: (form.ratio, form.average) for name, form in FORMS.items()} == PARTS


@pytest.mark.parametrize("loss", FORMS)
@settings(max_examples=40)
@given(batch=batches(), data=st.data())
def test_loss_and_gradient_equal_the_slow_oracle(loss, batch, data):
    options = data.draw(options_for(batch, loss))
    loss, gradient = slow(batch, options)

    terms, got = run(batch, options)

    assert terms.loss.item() == pytest.approx(loss, rel=1e-9, abs=1e-10)
    torch.testing.assert_close(got, float64(gradient), rtol=1e-9, atol=1e-10)


# --- accumulation, order, packing, ranks ----------------------------------------------------------------------------


def assert_same(got: tuple[LossTerms, Tensor], whole: tuple[LossTerms, Tensor]) -> None:
    torch.testing.assert_close(got[1], whole[1], rtol=0, atol=0)
    for field in fields(LossTerms):
        a, b = (getattr(terms, field.name).double() for terms in (got[0], whole[0]))
        torch.testing.assert_close(a, b, rtol=0, atol=1e-12, msg=field.name)


SPLITS = {
    "two halves": [[0, 1, 2, 3], [4, 5, 6, 7]],
    "uneven": [[0], [1, 2, 3, 4, 5], [6, 7]],
    "a masked row alone": [[2], [0, 1, 3, 4, 5, 6, 7]],
    "one by one, backwards": [[7], [6], [5], [4], [3], [2], [1], [0]],
    "shuffled": [[5, 0, 7], [2, 6], [3, 1, 4]],
}


def full(loss: Any, ratio: Any = "auto", batch: Batch | None = None) -> Options:
    """Options with everything switched on."""
    shape = (random_batch() if batch is None else batch).mask.shape
    generator = torch.Generator().manual_seed(5)
    return Options(
        Objective(loss=loss, ratio=ratio, entropy_coef=0.01, correction="token_truncate"),
        kl_coef=0.1,
        corrected=True,
        clip_high=torch.tensor([0.1, 0.5] * (shape[0] // 2), dtype=torch.float64)[:, None].expand(shape),
        factor=0.5 + torch.rand(shape, generator=generator, dtype=torch.float64),
        keep=torch.rand(shape, generator=generator) > 0.2,
        entropies=torch.rand(shape, generator=generator, dtype=torch.float64),
    )


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("loss", FORMS)
def test_any_split_into_microbatches_gives_the_loss_gradient_and_metrics_of_the_whole(loss, split):
    for ratio in LEVELS if loss not in OWN_RATIO else ("auto",):
        options = full(loss, ratio)

        assert_same(run(random_batch(), options, SPLITS[split]), run(random_batch(), options))


@pytest.mark.parametrize("loss", FORMS)
def test_packed_tokens_in_any_split_give_the_loss_of_the_padded_batch(loss):
    batch = random_batch()
    terms, gradient = run(batch, full(loss), SPLITS["shuffled"], packed=True)
    padded, whole = run(batch, full(loss))

    masked = (~batch.mask).sum()
    assert_same((replace(terms, masked=masked), gradient), (padded, whole))
    assert terms.masked == 0


@settings(max_examples=60)
@given(batch=batches(), data=st.data(), loss=st.sampled_from(sorted(FORMS)))
def test_random_splits_of_random_batches_change_nothing(batch, data, loss):
    options = data.draw(options_for(batch, loss))
    order = data.draw(st.permutations(range(len(batch.mask))))
    cuts = sorted(data.draw(st.sets(st.integers(1, len(order)))) | {len(order)})
    pieces = [order[a:b] for a, b in zip([0, *cuts], cuts, strict=False)]

    got, whole = run(batch, options, pieces), run(batch, options)

    torch.testing.assert_close(got[1], whole[1], rtol=0, atol=0)
    assert got[0].loss.item() == pytest.approx(whole[0].loss.item(), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("loss", FORMS)
def test_float32_log_probs_give_bit_equal_gradients_for_any_split(loss):
    batch = random_batch()
    half = Batch(batch.mask, *(x.float() for x in (batch.new, batch.old, batch.ref, batch.advantages)))

    assert_same(run(half, full(loss), SPLITS["uneven"]), run(half, full(loss)))


@pytest.mark.parametrize("loss", FORMS)
def test_tokens_of_a_completion_need_not_stand_together(loss):
    batch = random_batch()
    order = torch.randperm(int(batch.mask.sum()), generator=torch.Generator().manual_seed(1))
    options = full(loss)
    rows = torch.arange(8)[:, None].expand_as(batch.new)[batch.mask]
    straight, _ = run(batch, options, packed=True)

    tensors = (batch.new, batch.old, batch.advantages[:, None].expand_as(batch.new))
    logprobs, old, advantages = (x[batch.mask][order] for x in tensors)
    weights = token_weights(batch.mask, loss, 9)[batch.mask][order]
    assert options.factor is not None
    assert options.keep is not None
    assert options.clip_high is not None
    mixed = policy_loss(
        logprobs.requires_grad_(),
        old,
        advantages,
        weights,
        objective=replace(options.objective, entropy_coef=0.0),
        rows=rows[order],
        clip_high=options.clip_high[batch.mask][order],
        factor=options.factor[batch.mask][order],
        keep=options.keep[batch.mask][order],
    )

    assert mixed.policy.item() == pytest.approx(straight.policy.item(), abs=1e-12)
    assert mixed.gradient_l1.item() == pytest.approx(straight.gradient_l1.item(), abs=1e-12)


@pytest.mark.parametrize("loss", FORMS)
def test_two_ranks_with_the_totals_of_both_give_the_gradient_of_the_whole(loss):
    batch = random_batch()
    totals = Totals(rows=8, tokens=int(batch.mask.sum()))
    whole = run(batch, full(loss))
    ranks = []
    for part in ([0, 3, 6], [1, 2, 4, 5, 7]):
        options = full(loss)
        cut: Any = {f.name: v[part] for f in fields(options) if isinstance(v := getattr(options, f.name), Tensor)}
        piece = Batch(*(getattr(batch, f.name)[part] for f in fields(Batch)))
        ranks.append((part, run(piece, replace(options, totals=totals, **cut))))

    gradient = torch.zeros_like(batch.new)
    for part, (_, piece_gradient) in ranks:
        gradient[part] = piece_gradient

    assert_same((ranks[0][1][0] + ranks[1][1][0], gradient), whole)


def test_minibatches_with_shares_of_the_totals_average_to_the_step_on_all():
    batch, options = random_batch(), Options(Objective(loss="dapo"))
    shares = replace(options, totals=Totals(rows=8 / 2, tokens=int(batch.mask.sum()) / 2))
    halves = [[0, 1, 2, 3], [4, 5, 6, 7]]

    gradients = [run(Batch(*(getattr(batch, f.name)[half] for f in fields(Batch))), shares)[1] for half in halves]

    torch.testing.assert_close(torch.cat(gradients) / 2, run(batch, options)[1], rtol=1e-12, atol=0)
