"""The strata of a run: names, boundaries that move and settle, weights, exact resume."""

from __future__ import annotations

import json
import logging
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grpo_agents.config import Strata
from grpo_agents.strata import PromptFacts, Stratifier
from grpo_agents.strata.cuts import WINDOW, Cuts
from grpo_agents.strata.stratifier import PATIENCE


def of_tokens(tokens: Iterable[float]) -> list[PromptFacts]:
    return [PromptFacts(f"p{i}", "sums", 1, int(count)) for i, count in enumerate(tokens)]


def see(strata: Stratifier, facts: list[PromptFacts], step: int, rate: float = 0.5) -> None:
    strata.observe(facts, [rate] * len(facts), [rate] * len(facts), step)


def edges_of(strata: Stratifier) -> list[float]:
    figures = strata.figures()
    return [figures[f"strata/edge/{i}"] for i in range(int(figures["strata/count"]) - 1)]


def test_names_by_category():
    facts = [PromptFacts("a", "sums", 2, 9), PromptFacts("b", "words", None, 9)]

    assert Stratifier(Strata()).assign(facts, 0) == ["all", "all"]
    assert Stratifier(Strata(by=("task",))).assign(facts, 0) == ["sums", "words"]
    assert Stratifier(Strata(by=("tier", "task"))).assign(facts, 0) == ["tier 2 / sums", "no tier / words"]


def test_the_seed_articles_preset():
    strata = Stratifier(Strata(by=("prompt_tokens", "task"), boundaries="length_128_256"))

    names = strata.assign(of_tokens([127, 128, 255, 256]), 0)

    assert names == ["sums / easy", "sums / medium", "sums / medium", "sums / hard"]


def test_fixed_edges_stay_and_come_one_by_one():
    strata = Stratifier(Strata(by=("prompt_tokens",), boundaries="fixed", edges=(10, 20, 30), grow_every=2))
    facts = of_tokens([5, 10, 20, 30])
    seen = []
    for step in range(7):
        seen.append(strata.assign(facts, step))
        see(strata, facts, step)

    assert seen[0] == seen[1] == ["all"] * 4
    assert seen[2] == seen[3] == ["easy", "easy", "hard", "hard"]
    assert seen[4] == seen[5] == ["easy", "medium", "medium", "hard"]
    assert seen[6] == ["easy", "medium", "hard", "hardest"]
    assert edges_of(strata) == [10.0, 20.0, 30.0]  # min_count is 8, yet none was merged away


def test_moving_boundaries_start_with_one_stratum_and_then_cut_into_quarters():
    strata = Stratifier(Strata(by=("prompt_tokens",)))
    facts = of_tokens(range(100, 132))

    assert set(strata.assign(facts, 0)) == {"all"}
    see(strata, facts, 0)

    assert Counter(strata.assign(facts, 1)) == {"easy": 8, "medium": 8, "hard": 8, "hardest": 8}
    assert strata.assign(of_tokens([1, 999]), 1) == ["easy", "hardest"]
    assert edges_of(strata) == [108.0, 116.0, 124.0]


def test_high_pass_rates_are_easy():
    strata = Stratifier(Strata(by=("pass_rate",), count=2, min_count=2))
    facts = [PromptFacts(f"p{i}", "sums", i % 2, 9) for i in range(8)]
    for step in range(2):
        rates = [1.0 if fact.tier == 0 else 0.0 for fact in facts]
        strata.observe(facts, rates, rates, step)

    new = [PromptFacts("new", "sums", tier, 9) for tier in (0, 1)]
    assert strata.assign(new, 2) == ["easy", "hard"]


def test_linear_boundaries_cut_into_equal_widths():
    strata = Stratifier(Strata(by=("prompt_tokens",), boundaries="linear", count=2, min_count=1))
    see(strata, of_tokens([0, 1, 2, 100]), 0)

    assert edges_of(strata) == [50.0]


def test_boundaries_are_refitted_when_due_and_not_before():
    strata = Stratifier(Strata(by=("prompt_tokens",), count=2, refit_every=5))
    edges = []
    for step in range(11):
        see(strata, of_tokens(np.arange(64) + 1000 * step), step)
        edges.append(edges_of(strata)[0])

    assert edges[0] == 32.0
    assert edges[:5] == [edges[0]] * 5
    assert edges[5] > edges[0]
    assert edges[5:10] == [edges[5]] * 5
    assert edges[10] > edges[5]


def test_a_small_drift_keeps_the_boundaries_and_a_shift_moves_them():
    random = np.random.default_rng(0)
    strata = Stratifier(Strata(by=("prompt_tokens",), refit_every=1, hysteresis=0.5))
    see(strata, of_tokens(random.normal(1000, 100, WINDOW)), 0)
    start = edges_of(strata)
    for step in range(1, 10):
        see(strata, of_tokens(random.normal(1000 + step, 100, WINDOW)), step)
    assert edges_of(strata) == start

    see(strata, of_tokens(random.normal(1500, 100, WINDOW)), 10)

    assert all(after > before + 300 for before, after in zip(start, edges_of(strata), strict=True))


@pytest.mark.parametrize("drift", [-1.0, 1.0])
def test_shifting_difficulty_keeps_every_stratum_well_filled(drift):
    """One standard deviation in 40 steps; fixed quarters of the start would hold nearly everything in one stratum."""
    random = np.random.default_rng(1)
    strata = Stratifier(Strata(by=("prompt_tokens",)))
    held: Counter[str] = Counter()
    for step in range(200):
        facts = of_tokens(random.normal(500 + drift * step, 40, 64))
        if step >= 20:
            held.update(strata.assign(facts, step))
        see(strata, facts, step)

    shares = {name: count / held.total() for name, count in held.items()}
    assert len(shares) == 4
    assert min(shares.values()) > 0.12
    assert max(shares.values()) < 0.45


def test_small_strata_are_merged_and_named_anew():
    strata = Stratifier(Strata(by=("prompt_tokens",), boundaries="linear", min_count=8))
    see(strata, of_tokens([*range(16), 100, *range(200, 216)]), 0)

    assert strata.assign(of_tokens([0, 100, 205]), 1) == ["easy", "easy", "hard"]


def test_strata_grow_from_one_to_all():
    strata = Stratifier(Strata(by=("prompt_tokens",), grow_every=2))
    seen = []
    for step in range(9):
        facts = of_tokens(range(64))
        seen.append(len(set(strata.assign(facts, step))))
        see(strata, facts, step)

    assert seen == [1, 1, 2, 2, 3, 3, 4, 4, 4]


def test_the_window_forgets_whole_batches():
    cuts = Cuts(Strata(by=("prompt_tokens",), count=2, refit_every=1, hysteresis=0.0))
    cuts.observe([0.0] * WINDOW, 0)
    cuts.observe([float(value) for value in range(100, 100 + WINDOW)], 1)

    assert sum(map(len, cuts.state_dict()["window"])) == WINDOW
    assert cuts.at(2) == (100 + WINDOW / 2,)


def test_the_window_keeps_enough_for_a_fit():
    cuts, size = Cuts(Strata(by=("prompt_tokens",))), WINDOW // 2 + 1
    for step in range(4):
        cuts.observe([float(step)] * size, step)

    assert cuts.state_dict()["window"] == [[2.0] * size, [3.0] * size]


def test_weights_come_from_past_batches_and_unseen_strata_weigh_one():
    strata = Stratifier(Strata(by=("task",), weights={"sums": 1.5}, balance_coef=0.5))
    facts = [PromptFacts("a", "sums", 1, 9), PromptFacts("b", "words", 1, 9)]

    assert strata.weights(["sums", "words", "other"]).tolist() == [1.5, 1.0, 1.0]
    strata.observe(facts, [1.0, 0.0], [1.0, 0.0], 0)

    assert strata.weights(["sums", "words", "other"]).tolist() == pytest.approx([1.5 * 0.5, 1.5, 1.0])


def test_all_weights_multiply_and_can_be_scaled_to_one():
    options = Strata(by=("task",), weights={"sums": 2.0}, balance_coef=0.25, worst_coef=math.log(3))
    facts = [PromptFacts("a", "sums", 1, 9), PromptFacts("b", "words", 1, 9)]
    plain, scaled = Stratifier(options), Stratifier(replace(options, renormalise=True))
    for strata in (plain, scaled):
        strata.observe(facts, [1.0, 0.0], [1.0, 0.0], 0)
    rows = ["sums", "words", "words"]
    expected = [2 * 0.75 * 0.5, 1.25 * 1.5, 1.25 * 1.5]

    assert plain.weights(rows).tolist() == pytest.approx(expected)
    assert scaled.weights(rows).tolist() == pytest.approx([3 * weight / sum(expected) for weight in expected])


def test_a_stratum_counts_once_a_batch_and_means_forget():
    strata = Stratifier(Strata(by=("task",)))
    facts = [PromptFacts(str(i), "sums", 1, 9) for i in range(4)]
    strata.observe(facts, [math.nan] * 4, [1.0, 1.0, 1.0, math.nan], 0)
    strata.observe(facts[:1], [0.0], [0.0], 1)
    assert strata.means() == {"sums": pytest.approx(0.5)}

    for step in range(2, 60):
        strata.observe(facts, [0.0] * 4, [-1.0] * 4, step)

    assert strata.means()["sums"] == pytest.approx(-1.0, abs=0.02)


def test_means_start_anew_when_names_change_their_meaning():
    strata = Stratifier(Strata(by=("prompt_tokens",), grow_every=2, worst_coef=1.0))
    see(strata, of_tokens(range(64)), 0)
    assert strata.means() == {"all": 0.5}

    see(strata, of_tokens(range(64)), 1)

    assert strata.means() == {}
    assert strata.weights(["easy", "hard"]).tolist() == [1.0, 1.0]


def test_clips_by_name():
    strata = Stratifier(Strata(by=("task",), clips={"sums": (0.1, 0.4)}))

    low, high = strata.clips(["words", "sums"], 0.2, 0.28)

    assert low.tolist() == [0.2, 0.1]
    assert high.tolist() == [0.28, 0.4]
    assert [part.shape for part in strata.clips([], 0.2, 0.28)] == [(0,), (0,)]


def test_figures_hold_edges_and_means():
    strata = Stratifier(Strata(by=("task", "prompt_tokens"), boundaries="length_128_256"))
    see(strata, of_tokens([1, 300]), 0, rate=0.25)

    assert strata.figures() == {
        "strata/edge/0": 128.0,
        "strata/edge/1": 256.0,
        "strata/count": 3.0,
        "strata/sums / easy/mean": 0.25,
        "strata/sums / hard/mean": 0.25,
    }
    assert Stratifier(Strata(by=("task",))).figures() == {}


def test_a_name_that_never_comes_up_is_told_once(caplog):
    strata = Stratifier(Strata(by=("prompt_tokens",), boundaries="length_128_256", weights={"hart": 1.2, "easy": 1.0}))
    with caplog.at_level(logging.WARNING):
        for step in range(PATIENCE - 1):
            see(strata, of_tokens([1, 300]), step)
        assert not caplog.records
        for step in range(PATIENCE - 1, 3 * PATIENCE):
            see(strata, of_tokens([1, 300]), step)

    assert [record.getMessage() for record in caplog.records] == [
        "no prompt was in the strata hart; there were: easy, hard"
    ]


def test_names_of_strata_yet_to_come_are_waited_for(caplog):
    strata = Stratifier(Strata(by=("prompt_tokens",), grow_every=30, shares={"hardest": 0.2, "medium": 0.1}))
    with caplog.at_level(logging.WARNING):
        for step in range(150):
            see(strata, of_tokens(range(64)), step)

    assert not caplog.records


Rows: TypeAlias = list[tuple[int, int, int, float]]
BATCHES = st.lists(
    st.lists(
        st.tuples(st.integers(0, 20), st.integers(1, 3), st.integers(1, 300), st.floats(0, 1)), min_size=1, max_size=24
    ),
    min_size=1,
    max_size=8,
)


def batch(rows: Rows) -> tuple[list[PromptFacts], list[float], list[float]]:
    facts = [PromptFacts(f"p{name}", f"task {name % 2}", tier, tokens) for name, tier, tokens, _ in rows]
    return facts, [row[3] for row in rows], [2 * row[3] - 1 for row in rows]


@settings(max_examples=60)
@given(BATCHES, st.sampled_from(["prompt_tokens", "pass_rate"]), st.sampled_from([0, 2]), st.data())
def test_a_resumed_run_goes_on_bit_for_bit(batches, number, grow_every, data):
    options = Strata(
        by=("task", number), refit_every=2, min_count=2, grow_every=grow_every, balance_coef=0.5, worst_coef=1.0
    )
    cut = data.draw(st.integers(0, len(batches)))
    whole, resumed = Stratifier(options), Stratifier(options)
    for step, rows in enumerate(batches):
        if step == cut:
            resumed.load_state_dict(json.loads(json.dumps(whole.state_dict(), allow_nan=False)))
        facts, rates, rewards = batch(rows)
        names = whole.assign(facts, step)
        if step >= cut:
            assert resumed.assign(facts, step) == names
            assert resumed.weights(names).tolist() == whole.weights(names).tolist()
            resumed.observe(facts, rates, rewards, step)
        whole.observe(facts, rates, rewards, step)

    if cut < len(batches):
        assert resumed.state_dict() == whole.state_dict()
        assert resumed.figures() == whole.figures()


@settings(max_examples=60)
@given(BATCHES, st.sampled_from(["prompt_tokens", "pass_rate"]), st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_no_bit(batches, number, random):
    options = Strata(by=("tier", number), refit_every=1, min_count=2, boundaries="quantile")
    one, other = Stratifier(options), Stratifier(options)
    for step, rows in enumerate(batches):
        one.observe(*batch(rows), step)
        other.observe(*batch(random.sample(rows, len(rows))), step)

    assert json.dumps(other.state_dict()) == json.dumps(one.state_dict())


def test_the_order_of_rewards_changes_no_mean():
    facts = [PromptFacts(str(i), "sums", 1, 9) for i in range(3)]
    for rewards in ([1e16, 1.0, -1e16], [1e16, -1e16, 1.0]):
        strata = Stratifier(Strata(by=("task",)))
        strata.observe(facts, [0.0] * 3, rewards, 0)
        assert strata.means() == {"sums": 1 / 3}


def test_assigning_changes_nothing():
    strata = Stratifier(Strata(by=("pass_rate",)))
    see(strata, of_tokens(range(40)), 0)
    before = json.dumps(strata.state_dict())

    strata.assign(of_tokens(range(40)), 1)
    strata.weights(["easy"])
    strata.figures()

    assert json.dumps(strata.state_dict()) == before


def test_a_state_of_other_strata_is_refused():
    state = Stratifier(Strata(by=("task",))).state_dict()

    with pytest.raises(ValueError, match=r"state is of strata by \['task'\].*not of \['tier'\]"):
        Stratifier(Strata(by=("tier",))).load_state_dict(state)
