"""What a stratum may look at: facts of the prompt and past pass rates; everything else is refused by type."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_agents.collect import Episode
from grpo_agents.config import Strata
from grpo_agents.rollout import Completion
from grpo_agents.strata import PassRates, PromptFacts, Stratifier, past
from grpo_agents.strata.averages import Averages, exact_mean
from grpo_agents.strata.keys import CATEGORY_KEYS, NUMBER_KEYS, category, number


def prompt(problem: str = "p", task: str = "sums", tier: int | None = 1, tokens: int = 10) -> PromptFacts:
    return PromptFacts(problem, task, tier, tokens)


@dataclass(frozen=True)
class FactsAndAnswer(PromptFacts):
    """What someone would write to smuggle the answer in."""

    completion: str = ""


ANSWERS = [
    Episode(group=0, prompt="1 + 1 =", trajectory=None, texts=["2"]),
    Completion(ids=[1], logprobs=[0.0], ended=True),
    "the completion",
    {"problem_id": "p", "length": 3},
    FactsAndAnswer("p", "sums", 1, 10, "2"),
]


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: type(answer).__name__)
def test_anything_but_the_facts_of_a_prompt_is_refused_with_the_reason(answer):
    strata = Stratifier(Strata(by=("task", "prompt_tokens")))
    reason = f"not of {type(answer).__name__}: .*makes the baseline depend on the action"

    with pytest.raises(TypeError, match=reason):
        strata.assign([prompt(), answer], step=0)
    with pytest.raises(TypeError, match=reason):
        strata.observe([answer], [1.0], [1.0], step=0)
    with pytest.raises(TypeError, match=reason):
        PassRates().observe([answer], [1.0])
    with pytest.raises(TypeError, match=reason):
        PassRates().estimate(answer)
    for key in CATEGORY_KEYS:
        with pytest.raises(TypeError, match=reason):
            category(key, answer)
    for key in NUMBER_KEYS:
        with pytest.raises(TypeError, match=reason):
            number(key, answer, PassRates())


def test_a_refused_batch_changes_nothing():
    strata = Stratifier(Strata(by=("pass_rate",)))
    strata.observe([prompt("a"), prompt("b")], [0.25, 0.75], [0.25, 0.75], step=0)
    before = strata.state_dict()

    for rates, rewards in [([0.5, 1.5], [1.0, 1.0]), ([0.5, 0.5], [1.0, math.inf]), ([0.5], [1.0, 1.0])]:
        with pytest.raises(ValueError, match=r"must be 0 to 1|infinite|give as many"):
            strata.observe([prompt("a"), prompt("b")], rates, rewards, step=1)

    assert strata.state_dict() == before


def test_keys_of_the_answer_do_not_exist():
    with pytest.raises(ValueError, match=r"no 'completion_length'.*never learned"):
        Stratifier(Strata(by=("completion_length",)))
    with pytest.raises(ValueError, match="at most one number"):
        Stratifier(Strata(by=("pass_rate", "prompt_tokens")))
    with pytest.raises(ValueError, match="each key once"):
        Stratifier(Strata(by=("task", "task")))


def test_a_prompt_has_no_negative_tokens():
    with pytest.raises(ValueError, match="tokens is -1"):
        prompt(tokens=-1)


def test_a_pass_rate_is_one_half_until_something_is_known():
    assert PassRates().estimate(prompt()) == 0.5


def test_estimates_by_hand():
    rates = PassRates()
    rates.observe([prompt("a"), prompt("b")], [1.0, 0.5])

    cell = (2 * 0.75 + 2 * 0.5) / 4
    assert rates.estimate(prompt("new")) == pytest.approx(cell)
    assert rates.estimate(prompt("a")) == pytest.approx((1 * 1.0 + 2 * cell) / 3)
    assert rates.estimate(prompt("b")) == pytest.approx((1 * 0.5 + 2 * cell) / 3)
    assert rates.estimate(prompt("new", tier=2)) == 0.5
    assert rates.estimate(prompt("new", task="words")) == 0.5


def test_a_problems_own_record_counts_more_with_every_visit():
    rates = PassRates()
    gaps = []
    for _ in range(past.PROBLEM_MEMORY):
        rates.observe([prompt("hard"), *(prompt(f"easy {i}") for i in range(9))], [0.0] + [1.0] * 9)
        gaps.append(rates.estimate(prompt("new")) - rates.estimate(prompt("hard")))

    assert gaps == sorted(gaps)
    assert gaps[-1] > 1.5 * gaps[0]


def test_the_past_is_forgotten_as_the_policy_learns():
    rates = PassRates()
    for _ in range(50):
        rates.observe([prompt()], [0.0])
    for _ in range(20):
        rates.observe([prompt()], [1.0])

    own, weight = rates._problems.get(("p",))
    assert weight == past.PROBLEM_MEMORY
    assert own == pytest.approx(1 - (past.PROBLEM_MEMORY / (past.PROBLEM_MEMORY + 1)) ** 20)


def test_a_group_of_which_nothing_was_judged_says_nothing():
    rates = PassRates()

    rates.observe([prompt()], [math.nan])

    assert rates.state_dict() == PassRates().state_dict()


def test_problems_without_a_name_have_only_their_cells_past():
    rates = PassRates()
    rates.observe([prompt(""), prompt("", tier=2)], [1.0, 0.0])

    assert rates.state_dict()["problems"] == []
    assert rates.estimate(prompt("", tier=2)) < 0.5 < rates.estimate(prompt(""))


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([None, 1, 2]), st.floats(0, 1)), min_size=1),
    st.randoms(use_true_random=False),
)
def test_pass_rates_do_not_depend_on_the_order_of_a_batch(rows, random):
    facts = [(prompt(name, tier=tier), rate) for name, tier, rate in rows]
    shuffled = random.sample(facts, len(facts))
    one, other = PassRates(), PassRates()

    one.observe(*zip(*facts, strict=True))
    other.observe(*zip(*shuffled, strict=True))

    assert one.state_dict() == other.state_dict()
    assert all(0 <= one.estimate(fact) <= 1 for fact, _ in facts)


@given(st.floats(0, 1), st.lists(st.integers(1, 7), min_size=1, max_size=20))
def test_a_rate_that_never_changes_stays_bit_for_bit(rate, sizes):
    """Otherwise two cells of one pass rate would be cut apart by rounding."""
    averages = Averages(memory=5, kept=1)
    for size in sizes:
        averages.add({("cell",): [rate] * size})

    assert averages.get(("cell",))[0] == rate


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30))
def test_the_exact_mean_is_a_mean(values):
    assert exact_mean(values) == pytest.approx(math.fsum(values) / len(values), rel=1e-9, abs=1e-9)
    assert exact_mean(values) == exact_mean(values[::-1])


def test_what_was_not_added_to_for_longest_is_forgotten():
    averages = Averages(memory=3, kept=2)
    for name in ("a", "b", "a", "c"):
        averages.add({(name,): [1.0]})

    assert set(averages.means()) == {("a",), ("c",)}
    assert averages.get(("b",)) == (0.0, 0)
    assert len(averages) == 2


@pytest.mark.parametrize(("memory", "kept"), [(0, 1), (1, 0)])
def test_averages_need_a_memory(memory, kept):
    with pytest.raises(ValueError, match="must be at least 1"):
        Averages(memory, kept)


def test_pass_rates_go_through_json_and_go_on_alike():
    first, second = PassRates(), PassRates()
    first.observe([prompt("a"), prompt("b", tier=None)], [1 / 3, 0.1])

    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    for rates in (first, second):
        rates.observe([prompt("b", tier=None), prompt("c")], [0.7, 0.9])

    assert second.state_dict() == first.state_dict()
    assert second.estimate(prompt("a")) == first.estimate(prompt("a"))
