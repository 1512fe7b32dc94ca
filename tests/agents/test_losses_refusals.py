"""What the losses refuse, and what they say: no option is ignored in silence, no shape is broadcast."""

from __future__ import annotations

import math

import pytest
import torch

from grpo_agents.config import Objective
from grpo_agents.losses import Totals, policy_loss, token_weights

RAGGED = torch.tensor([[1, 0, 0], [1, 1, 1], [0, 0, 0]], dtype=torch.bool)
ONE = torch.ones(1)


@pytest.mark.parametrize(
    ("mask", "loss", "options", "message"),
    [
        (RAGGED, "ppo", {}, r"loss must be one of dapo, .*, reinforce; got 'ppo'"),
        (RAGGED, "dapo", {"average": "mean"}, r"average must be auto or one of token, .*; got 'mean'"),
        (RAGGED.double(), "dapo", {}, r"mask must be bool of shape \[B, T\]; got torch.float64 of shape \[3, 3\]"),
        (RAGGED[0], "dapo", {}, r"mask must be bool of shape \[B, T\]; .* of shape \[3\]"),
        (RAGGED, "dapo", {"totals": Totals(3, 0)}, r"totals must be finite and above 0 .*tokens=0"),
        (RAGGED, "dapo", {"totals": Totals(math.nan, 3)}, r"totals must be finite and above 0 .*rows=nan"),
    ],
)
def test_weights_refuse_what_does_not_fit(mask, loss, options, message):
    with pytest.raises(ValueError, match=message):
        token_weights(mask, loss, 5, **options)
    with pytest.raises(ValueError, match="max_length must be at least 1 token; got 0"):
        token_weights(RAGGED, "dapo", 0)


TWO = torch.zeros(2, 2)


@pytest.mark.parametrize(
    ("objective", "options", "message"),
    [
        ({"clip_low": -0.1}, {}, r"objective.clip_low must not be negative; got -0\.1"),
        ({}, {"clip_high": -0.1}, r"clip_high must not be negative; got -0\.1"),
        ({}, {"clip_high": math.nan}, r"clip_high must not be negative; got nan"),
        ({}, {"kl": TWO, "kl_coef": -0.1}, r"kl_coef must not be negative; got -0\.1"),
        ({"entropy_coef": -0.1}, {}, r"entropy_coef must not be negative; got -0\.1"),
        ({}, {"kl_coef": 0.1}, r"kl_coef is 0\.1 but no kl is given"),
        ({"entropy_coef": 0.1}, {"entropies": TWO}, r"an entropy_coef above 0 needs entropies and entropy_weights"),
        ({}, {"keep": TWO}, r"keep must be bool; got torch\.float32"),
        ({"loss": "vespo"}, {"factor": TWO}, r"vespo takes the factor .* objective\.correction"),
        ({"loss": "ppo"}, {}, r"loss must be one of dapo, .*; got 'ppo'"),
        ({"ratio": "row"}, {}, r"ratio must be auto, token, sequence or product; got 'row'"),
        ({"clip_dual": 0.9}, {}, r"clip_dual must be above 1, or 0 for none; got 0\.9"),
        *(
            ({"loss": n, "ratio": "token"}, {}, f"loss {n} has a ratio of its own")
            for n in ("gmpo", "vespo", "reinforce")
        ),
        *(
            ({"loss": n, "clip_dual": 3.0}, {}, f"clip_dual bounds a clipped ratio, and loss {n} clips none")
            for n in ("cispo", "sapo", "gmpo", "vespo", "reinforce")
        ),
    ],
)
def test_a_loss_refuses_what_does_not_go_together(objective, options, message):
    with pytest.raises(ValueError, match=message):
        policy_loss(TWO, TWO, TWO, TWO, objective=Objective(**objective), **options)


@pytest.mark.parametrize(
    "objective", [{"loss": n} for n in ("gspo", "gmpo", "luspo", "vespo")] + [{"ratio": "product"}]
)
def test_packed_tokens_without_rows_are_refused_where_whole_completions_are_needed(objective):
    with pytest.raises(ValueError, match=r"of whole completions: packed tokens \[n\] need `rows`"):
        policy_loss(ONE, ONE, ONE, ONE, objective=Objective(**objective))


@pytest.mark.parametrize("rows", [torch.zeros(1), torch.zeros(2, dtype=torch.int64)])
def test_rows_that_do_not_fit_are_refused(rows):
    with pytest.raises(ValueError, match=r"rows must be int64, one completion number per token, of shape \[1\]"):
        policy_loss(ONE, ONE, ONE, ONE, objective=Objective(loss="gspo"), rows=rows)


NAMES = ["old_logprobs", "advantages", "weights", "kl", "factor", "keep", "entropies", "entropy_weights", "clip_low"]


@pytest.mark.parametrize("wrong", NAMES)
def test_shapes_that_differ_are_refused_instead_of_broadcast(wrong):
    given = {name: TWO > 0 if name == "keep" else TWO for name in NAMES} | {wrong: torch.zeros(2) > 0}

    with pytest.raises(ValueError, match=rf"{wrong} must have the shape of logprobs, .*; got \[2\] against \[2, 2\]"):
        policy_loss(TWO, **given, objective=Objective())
