"""A leaf without a value, abstaining or failing: the whole has one exactly when the missing one could not change it."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grpo_gym import FunctionReward, Procedural, Reason, Reward, Task
from grpo_gym.scoring import score_all
from grpo_gym.stream import Drawn
from grpo_rewards.compose import Composite, Gate, Maximum, Minimum, Product, WeightedSum
from tests.rewards.leaves import PROBLEM, Leaf, says, score

P = {"a": Leaf("a"), "b": Leaf("b")}


# --- the rule, by hand


@pytest.mark.parametrize(
    ("reward", "values", "value"),
    [
        (WeightedSum(P), {"a": 1, "b": None}, None),
        (WeightedSum({"a": P["a"], "b": (0, P["b"])}), {"a": 1, "b": None}, 1.0),
        (WeightedSum({"a": P["a"], "b": Leaf("b", (0.5, 0.5))}), {"a": 1, "b": None}, 1.5),
        (WeightedSum(P, optional=["b"]), {"a": 1, "b": None}, 1.0),
        (WeightedSum(P, optional="b"), {"a": None, "b": 1}, None),
        (WeightedSum(P, optional=["a", "b"]), {"a": None, "b": None}, None),
        (WeightedSum({"a": P["a"], "p": Product(P)}, optional=["p"]), {"a": 1, "b": None}, 1.0),
        (Product(P), {"a": 0, "b": None}, 0.0),
        (Product(P), {"a": 0.5, "b": None}, None),
        (Minimum(P), {"a": 0, "b": None}, 0.0),
        (Minimum(P), {"a": 0.5, "b": None}, None),
        (Minimum({"a": P["a"], "b": Leaf("b", (0.5, 1))}), {"a": 0.5, "b": None}, 0.5),
        (Maximum(P), {"a": 1, "b": None}, 1.0),
        (Maximum(P), {"a": 0.5, "b": None}, None),
        (Gate(P), {"a": 0.5, "b": None}, 0.0),
        (Gate(P), {"a": 1, "b": None}, None),
        (Gate(P), {"a": None, "b": 1}, None),
        (Gate(P), {"a": None, "b": 0}, 0.0),
        (Gate(P, threshold=0), {"a": None, "b": 1}, 1.0),
        (Minimum({"s": WeightedSum(P), "c": Leaf("c")}), {"a": 0.5, "b": None, "c": 0.25}, 0.25),
        (Minimum({"s": WeightedSum(P), "c": Leaf("c")}), {"a": 0.5, "b": None, "c": 0.75}, None),
    ],
)  # fmt: skip
def test_the_whole_abstains_exactly_when_the_missing_value_could_change_it(reward, values, value):
    verdict = score(reward, **values)
    assert verdict.value == value
    assert (verdict.reason is Reason.ABSTAIN) == (value is None)
    assert all(values[name.split(".")[-1]] is not None for name in verdict.components)


def test_an_abstention_says_who_is_missing():
    verdict = score(WeightedSum(P), a=1, b=None)
    assert verdict.feedback == "b: b is out"
    assert verdict.components == {"a": 1.0}
    assert verdict.details["leaves"]["b"]["value"] is None


# --- the rule, against a brute force over the missing values


RANGES = [(0.0, 1.0), (-1.0, 0.0), (0.5, 0.5), (-1.0, 1.0)]
WEIGHTS = [1.0, 0.0, -2.0, 0.5]
THRESHOLDS = [0.0, 0.5, 1.0]


@st.composite
def trees(draw: Any, depth: int = 2) -> Any:
    """A tree as plain data: ("leaf", range, value or None), or (kind, children, weights, optional, threshold)."""
    kind = draw(st.sampled_from(["leaf", "sum", "product", "minimum", "maximum", "gate"] if depth else ["leaf"]))
    if kind == "leaf":
        low, high = draw(st.sampled_from(RANGES))
        return (kind, (low, high), draw(st.sampled_from([None, low, (low + high) / 2, high])))
    children = draw(st.lists(trees(depth=depth - 1), min_size=2, max_size=3))
    weights = [draw(st.sampled_from(WEIGHTS)) for _ in children]
    optional = [draw(st.booleans()) for _ in children]
    return (kind, children, weights, optional, draw(st.sampled_from(THRESHOLDS)))


def build(tree: Any, path: str, values: dict[str, float | None]) -> Reward:
    """The reward that a tree describes; fills in what each of its leaves is to say."""
    if tree[0] == "leaf":
        values[path] = tree[2]
        return Leaf(path, tree[1])
    kind, children, weights, optional, threshold = tree
    parts = {f"p{i}": build(child, f"{path}{i}", values) for i, child in enumerate(children)}
    if kind == "sum":
        weighted = {name: (weight, parts[name]) for name, weight in zip(parts, weights, strict=True)}
        return WeightedSum(weighted, optional=[name for name, o in zip(parts, optional, strict=True) if o])
    if kind == "gate":
        lowest = min(part.range[1] for part in parts.values())
        return Gate(parts, threshold=min(threshold, lowest))
    kinds: dict[str, type[Product | Minimum | Maximum]] = {"product": Product, "minimum": Minimum, "maximum": Maximum}
    return kinds[kind](parts)


def possible(reward: Reward, path: str, values: dict[str, float | None]) -> set[float]:
    """Every value that a reward can have when its missing leaves may say the ends or the middle of their ranges."""
    if not isinstance(reward, Composite):
        value, (low, high) = values[path], reward.range
        return {low, (low + high) / 2, high} if value is None else {value}
    sets = [possible(part.reward, f"{path}{i}", values) for i, part in enumerate(reward.parts.values())]
    if isinstance(reward, WeightedSum):
        left = [
            (s, p.weight) for s, p in zip(sets, reward.parts.values(), strict=True) if not p.optional or len(s) == 1
        ]
        if not left:
            return set(reward.range)
        return {sum(w * v for (_, w), v in zip(left, c, strict=True)) for c in itertools.product(*(s for s, _ in left))}
    combine: Any = {Product: product, Minimum: min, Maximum: max}.get(type(reward))
    if isinstance(reward, Gate):
        combine = lambda chosen: chosen[-1] if all(v >= reward.threshold for v in chosen[:-1]) else reward.closed  # noqa: E731
    return {combine(chosen) for chosen in itertools.product(*sets)}


def product(factors: tuple[float, ...]) -> float:
    result = 1.0
    for factor in factors:
        result *= factor
    return result


@given(tree=trees())
@settings(max_examples=600)
def test_abstention_agrees_with_trying_every_missing_value(tree):
    values: dict[str, float | None] = {}
    reward = Product({"root": build(tree, "r0", values)})
    found = reward.score(says(**values), PROBLEM).value
    results = possible(reward, "r", values)
    assert found == (results.pop() if len(results) == 1 else None)


# --- a leaf that raises


@pytest.mark.parametrize(
    ("reward", "values", "value", "reason"),
    [
        (WeightedSum(P), {"a": 1, "b": "raise"}, 0.0, Reason.SCORER_ERROR),
        (WeightedSum(P, optional=["b"]), {"a": 1, "b": "raise"}, 0.0, Reason.SCORER_ERROR),
        (WeightedSum({"a": P["a"], "b": (0, P["b"])}), {"a": 1, "b": "raise"}, 1.0, Reason.CORRECT),
        (WeightedSum({"a": P["a"], "b": (0, P["b"])}), {"a": None, "b": "raise"}, None, Reason.ABSTAIN),
        (WeightedSum(P), {"a": None, "b": "raise"}, 0.0, Reason.SCORER_ERROR),
        (Product(P), {"a": 0, "b": "raise"}, 0.0, Reason.WRONG),
        (Gate(P), {"a": 0, "b": "raise"}, 0.0, Reason.WRONG),
        (Gate(P), {"a": "raise", "b": 1}, 0.0, Reason.SCORER_ERROR),
        (Maximum(P), {"a": 1, "b": "raise"}, 1.0, Reason.CORRECT),
        (Minimum({"g": Gate(P), "c": Leaf("c")}), {"a": 1, "b": "raise", "c": 1}, 0.0, Reason.SCORER_ERROR),
        (WeightedSum({"a": P["a"], "x": Leaf("x", (-1, 0))}), {"a": "raise", "x": -1}, -1.0, Reason.SCORER_ERROR),
        (WeightedSum({"a": P["a"], "c": Leaf("c")}), {"a": "raise", "c": 1}, 0.0, Reason.SCORER_ERROR),
    ],
)
def test_a_leaf_that_raises_is_an_error_of_the_whole_unless_it_could_change_nothing(reward, values, value, reason):
    verdict = score(reward, **values)
    assert (verdict.value, verdict.reason) == (value, reason)


def test_an_error_keeps_what_the_other_leaves_said():
    verdict = score(WeightedSum({"a": P["a"], "s": Product(P)}), a=0.5, b="raise")
    assert verdict.components == {"a": 0.5, "s.a": 0.5}
    assert verdict.feedback == "s.b: ValueError: b fails"
    failed = verdict.details["leaves"]["s.b"]
    assert (failed["value"], failed["error"], failed["reason"]) == (None, "ValueError: b fails", "scorer_error")


@pytest.mark.parametrize("returned", ["much", float("nan"), 10**400])
def test_a_leaf_that_returns_nonsense_fails(returned):
    reward = Product({"f": FunctionReward(lambda response, problem: returned), "a": P["a"]})
    assert score(reward, a=1).reason is Reason.SCORER_ERROR


def drawn(reward: Reward) -> Drawn:
    return Drawn(Task("test.compose", Procedural(lambda rng, tier: PROBLEM), reward), PROBLEM)


def test_an_answer_that_makes_a_leaf_raise_scores_zero_and_keeps_the_leaves():
    verdict = score_all(None, [(says(a=1, b="raise"), drawn(WeightedSum(P)))])[0]
    assert (verdict.value, verdict.reason) == (0.0, Reason.SCORER_ERROR)
    assert verdict.components == {"a": 1.0}
    assert verdict.details["leaves"]["b"]["error"] == "ValueError: b fails"


class Broken(Leaf):
    """Fails on every answer."""

    def score(self, response: str, problem: Any) -> Any:
        raise OSError("the judge is unreachable")


def test_a_leaf_that_raises_on_the_right_answer_too_makes_the_row_abstain_and_keeps_the_leaves():
    verdict = score_all(None, [(says(a=1), drawn(WeightedSum({"a": P["a"], "b": Broken("b")})))])[0]
    assert (verdict.value, verdict.reason) == (None, Reason.ABSTAIN)
    assert verdict.components == {"a": 1.0}
    assert verdict.feedback == "b: OSError: the judge is unreachable"
    assert json.loads(json.dumps(dict(verdict.details)))["leaves"]["b"]["error"] == "OSError: the judge is unreachable"
