"""The sampler's correction: ratios by token and by completion, tokens that cannot be corrected, and the mismatch."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from grpo_agents.config.objective import Correction
from grpo_agents.losses import mismatch, sampler_logprobs, sampler_ratio
from tests.agents.loss_oracle import float64

SHARED = Path(os.environ.get("GRPO_GYM_SHARED", Path(__file__).parents[3] / "shared"))
MODES: tuple[Correction, ...] = ("token_truncate", "token_mask", "sequence_truncate", "sequence_mask")

OLD = float64([[0.0, 0.0, 0.0], [0.0, 0.0, 9.0]])
RATIOS = float64([[0.5, 1.0, 4.0], [3.0, 0.5, 1.0]])
SAMPLER = OLD - RATIOS.log()
MASK = torch.tensor([[True, True, True], [True, True, False]])


@pytest.mark.parametrize(
    ("mode", "factor"),
    [
        ("none", [[1, 1, 1], [1, 1, 1]]),
        ("token_truncate", [[0.6, 1, 2], [2, 0.6, 1]]),
        ("token_mask", [[0, 1, 0], [0, 0, 1]]),
        ("sequence_truncate", [[2, 2, 2], [1.5, 1.5, 1]]),  # products 2 and 1.5
        ("sequence_mask", [[2, 2, 2], [1.5, 1.5, 1]]),
    ],
)
def test_factors_by_hand(mode, factor):
    got = sampler_ratio(OLD, SAMPLER, mode=mode, high=2.0 + 1e-12, low=0.6, mask=MASK)

    torch.testing.assert_close(got, float64(factor))


def test_a_product_beyond_the_bounds_is_cut_or_masked():
    for high, truncated, masked in ((1.75, [1.75, 1.5], [0.0, 1.5]), (1.2, [1.2, 1.2], [0.0, 0.0])):
        cut, gone = (sampler_ratio(OLD, SAMPLER, mode=m, high=high, mask=MASK) for m in MODES[2:])

        assert cut[:, 0].tolist() == pytest.approx(truncated)
        assert gone[:, 0].tolist() == pytest.approx(masked)


@pytest.mark.parametrize("mode", MODES)
def test_packed_tokens_in_any_order_get_the_factors_of_the_padded_batch(mode):
    padded = sampler_ratio(OLD, SAMPLER, mode=mode, high=1.75, mask=MASK)
    order = torch.tensor([3, 0, 4, 2, 1])
    rows = torch.tensor([[5, 5, 5], [-2, -2, -2]])[MASK][order]

    packed = sampler_ratio(OLD[MASK][order], SAMPLER[MASK][order], mode=mode, high=1.75, rows=rows)

    torch.testing.assert_close(packed, padded[MASK][order], rtol=0, atol=1e-15)


@given(logs=st.lists(st.floats(-40, 40), min_size=1, max_size=6), low=st.floats(0, 0.9), above=st.floats(0.1, 5))
def test_every_factor_lies_within_its_bounds_or_is_0(logs, low, above):
    for mode in MODES:
        factor = sampler_ratio(float64([logs]), torch.zeros(1, len(logs)), mode=mode, high=low + above, low=low)

        within = (factor >= low) & (factor <= low + above)
        assert (within if mode.endswith("truncate") else within | (factor == 0)).all()


@pytest.mark.parametrize("missing", [math.nan, math.inf, -math.inf])
def test_what_cannot_be_corrected_is_not_learned_from(missing):
    sampler = SAMPLER.clone()
    sampler[0, 1] = missing

    by_token = sampler_ratio(OLD, sampler, mode="token_truncate", high=2.0, low=0.6, mask=MASK)
    by_completion = sampler_ratio(OLD, sampler, mode="sequence_truncate", high=2.0, low=0.6, mask=MASK)

    torch.testing.assert_close(by_token, float64([[0.6, 0, 2], [2, 0.6, 1]]))
    torch.testing.assert_close(by_completion, float64([[0, 0, 0], [1.5, 1.5, 1]]))
    assert mismatch(OLD, sampler, MASK)["missing"] == 1


def test_a_server_that_gave_none_is_read_as_unknown():
    sampler = sampler_logprobs([-1.0, None, -2.0])

    assert sampler_ratio(sampler.nan_to_num(0.0), sampler, mode="token_mask", high=2.0).tolist() == [1.0, 0.0, 1.0]


@pytest.mark.parametrize("mode", MODES)
def test_masked_tokens_have_factor_1_whatever_they_hold(mode):
    spoilt = SAMPLER.masked_fill(~MASK, math.nan)

    got = sampler_ratio(OLD, spoilt, mode=mode, high=2.0, mask=MASK)

    assert torch.equal(got, sampler_ratio(OLD, SAMPLER, mode=mode, high=2.0, mask=MASK))
    assert (got[~MASK] == 1).all()


def test_the_factor_takes_no_gradient():
    old = OLD.clone().requires_grad_()

    assert not sampler_ratio(old, SAMPLER, mode="sequence_mask", high=2.0, mask=MASK).requires_grad


def test_trls_factors(subtests):
    path = SHARED / "cases" / "losses.json"
    if not path.is_file():
        pytest.skip(f"the shared golden cases are not here: {path} (set GRPO_GYM_SHARED)")
    golden = json.loads(path.read_text())
    entries = [entry for entry in golden["losses"] if "sampler_ratio_applied" in entry]
    assert len(entries) == 5
    for entry in entries:
        case, options = golden["cases"][entry["case"]], entry["options"]
        mode, mask = options["vllm_importance_sampling_mode"], torch.tensor(case["mask"], dtype=torch.bool)
        low, high = options["vllm_importance_sampling_clip_min"], options["vllm_importance_sampling_clip_max"]
        with subtests.test(case=entry["case"], mode=mode):
            got = sampler_ratio(
                float64(case["old"]), float64(case["sampler"]), mode=mode, high=high, low=low or 0.0, mask=mask
            )
            wanted = float64(entry["sampler_ratio_applied"]).expand_as(got)

            torch.testing.assert_close(got[mask], wanted[mask], rtol=0, atol=1e-6)


# --- mismatch ------------------------------------------------------------------------------------------------------


def test_mismatch_by_hand():
    logs = [math.log(r) for r in (0.5, 1.0, 4.0, 3.0, 0.5)]

    assert mismatch(OLD, SAMPLER, MASK) == pytest.approx(
        {
            "abs_mean": sum(map(abs, logs)) / 5,
            "abs_max": math.log(4),
            "kl": -sum(logs) / 5,
            "k3": (9 - 5 - sum(logs)) / 5,
            "ratio_min": 0.5,
            "ratio_mean": 9 / 5,
            "ratio_max": 4.0,
            "effective_share": 81 / (5 * (0.25 + 1 + 16 + 9 + 0.25)),
            "missing": 0,
        }
    )


def test_two_that_agree_have_no_mismatch():
    found = mismatch(OLD, OLD, MASK)

    assert found["abs_max"] == found["kl"] == found["k3"] == 0
    assert found["ratio_min"] == found["ratio_max"] == found["effective_share"] == 1


def test_mismatch_of_nothing_is_not_a_number():
    found = mismatch(OLD, SAMPLER, torch.zeros_like(MASK))

    assert found.pop("missing") == 0
    assert len(found) == 8
    assert all(math.isnan(value) for value in found.values())


# --- errors --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "row_mask"}, r"mode must be one of none, token_truncate, .*; got 'row_mask'"),
        ({"high": 0.5, "low": 0.5}, r"0 <= low < high; got low 0\.5 and high 0\.5"),
        ({"low": -0.1}, r"0 <= low < high; got low -0\.1"),
        ({"high": math.nan}, r"0 <= low < high; .* high nan"),
        ({"mask": MASK.double()}, r"a bool mask must have one shape; got torch.float64"),
        ({"mask": MASK[0]}, r"must have one shape; got torch.bool and shapes .*\[3\]\]"),
    ],
)
def test_what_does_not_fit_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        sampler_ratio(OLD, SAMPLER, **{"mode": "token_mask", "high": 2.0, **options})


@pytest.mark.parametrize("mode", MODES[2:])
def test_a_product_needs_to_know_the_completions(mode):
    flat: Tensor = OLD.flatten()

    with pytest.raises(ValueError, match=f"correction {mode} is of whole completions"):
        sampler_ratio(flat, flat, mode=mode, high=2.0)
