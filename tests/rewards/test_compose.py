"""Combinations of rewards: values worked out by hand, declarations that follow from the parts, names and weights."""

from __future__ import annotations

import math
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_gym import FunctionReward, Problem, Reason
from grpo_gym.errors import InvalidValueError, UnknownNameError
from grpo_gym.reward import LONGEST_LIMIT
from grpo_rewards.compose import Composite, Gate, Maximum, Minimum, Product, WeightedSum
from grpo_rewards.format import Boxed
from grpo_rewards.length import SoftOverlong
from grpo_rewards.math import MathReward
from tests.rewards.leaves import PROBLEM, Leaf, SlowLeaf, says, score

numbers = st.floats(-10, 10, allow_subnormal=False)


def a_and_b() -> dict[str, Leaf]:
    return {"a": Leaf("a"), "b": Leaf("b")}


# --- values


@pytest.mark.parametrize(
    ("reward", "value"),
    [
        (WeightedSum({"a": (2.0, Leaf("a")), "b": (-0.5, Leaf("b"))}), 0.75),
        (WeightedSum({"a": Leaf("a"), "b": (0, Leaf("b"))}), 0.5),
        (Product(a_and_b()), 0.25),
        (Minimum({"a": Leaf("a"), "b": Leaf("b"), "c": Leaf("c")}), 0.0),
        (Maximum({"a": Leaf("a"), "b": Leaf("b"), "c": Leaf("c")}), 0.5),
        (Gate(a_and_b(), threshold=0.5), 0.5),
        (Gate(a_and_b(), threshold=0.6), 0.0),
        (Gate(a_and_b(), threshold=0.6, closed=-1), -1.0),
        (Gate({"c": Leaf("c"), "a": Leaf("a"), "b": Leaf("b")}, threshold=0.5), 0.0),
        (WeightedSum({"p": (0.5, Product(a_and_b())), "m": (2.0, Maximum(a_and_b()))}), 1.125),
    ],
)
def test_values_by_hand(reward, value):
    assert score(reward, a=0.5, b=0.5).value == value


def test_a_maths_answer_in_good_form_earns_both_and_an_empty_one_neither():
    reward = WeightedSum({"correct": (1.0, MathReward()), "format": (0.1, Boxed())})
    problem = Problem("2 + 3 = ?", "5")
    assert reward.score(r"\boxed{5}", problem).value == 1.1
    assert reward.score("Answer: 5", problem).value == 1.0
    assert reward.score(r"\boxed{6}", problem).value == 0.1
    assert reward.score("no idea", problem).value == 0.0


def test_plain_functions_are_leaves():
    reward = WeightedSum(
        {"short": (0.5, lambda response, problem: 1 / len(response)), "right": lambda r, p: r == "right"}
    )
    verdict = reward.score("right", PROBLEM)
    assert verdict.components == {"short": 0.2, "right": 1.0}
    assert verdict.value == 1.1


def test_minus_zero_is_zero():
    reward = Product({"a": Leaf("a"), "b": Leaf("b", (-1.0, 0.0))})
    assert str(score(reward, a=0.0, b=-1.0).value) == "0.0"


@given(w=numbers, v=numbers, a=numbers, b=numbers)
def test_a_weighted_sum_is_linear_in_its_weights(w, v, a, b):
    def value(weight: float) -> float:
        return float(score(WeightedSum({"a": (weight, Leaf("a", (-10, 10))), "b": Leaf("b", (-10, 10))}), a=a, b=b))

    assert value(w) == pytest.approx(w * a + b, abs=1e-9)
    assert value(w) + value(v) == pytest.approx(value(w + v) + value(0), abs=1e-9)


@given(a=numbers, b=numbers, c=numbers)
def test_the_minimum_is_below_each_part_and_the_maximum_above(a, b, c):
    parts = {name: Leaf(name, (-10, 10)) for name in "abc"}
    assert float(score(Minimum(parts), a=a, b=b, c=c)) == min(a, b, c)
    assert float(score(Maximum(parts), a=a, b=b, c=c)) == max(a, b, c)


@given(a=numbers, b=numbers)
def test_a_value_stays_in_the_declared_range(a, b):
    parts = {"a": Leaf("a", (-10, 10)), "b": Leaf("b", (-10, 10))}
    for reward in (
        WeightedSum({"a": (-2, parts["a"]), "b": (3, parts["b"])}),
        Product(parts),
        Gate(parts, threshold=0, closed=-11),
        Minimum({"p": Product(parts), "m": Maximum(parts)}),
    ):
        low, high = reward.range
        assert low <= float(score(reward, a=a, b=b)) <= high


# --- declarations


def test_ranges_follow_from_the_parts():
    penalty = SoftOverlong(100, 50)
    assert WeightedSum({"a": (2.0, Leaf("a")), "long": (0.5, penalty)}).range == (-0.5, 2.0)
    assert WeightedSum({"a": (-2.0, Leaf("a"))}).range == (-2.0, 0.0)
    assert Product({"a": Leaf("a"), "long": penalty}).range == (-1.0, 0.0)
    assert Product({"x": Leaf("x", (-2, 1)), "y": Leaf("y", (-3, 1))}).range == (-3.0, 6.0)
    assert Minimum({"a": Leaf("a"), "long": penalty}).range == (-1.0, 0.0)
    assert Maximum({"a": Leaf("a"), "long": penalty}).range == (0.0, 1.0)
    assert Gate({"a": Leaf("a"), "x": Leaf("x", (0.5, 1))}).range == (0.0, 1.0)
    assert Gate({"sure": Leaf("sure", (1, 1)), "x": Leaf("x", (0.5, 1))}).range == (0.5, 1.0)
    assert Gate({"a": Leaf("a"), "long": penalty}, closed=-2).range == (-2.0, 0.0)
    style = WeightedSum({"x": Leaf("x", (0.5, 1)), "y": Leaf("y")}, optional=["x"])
    assert style.range == (0.0, 2.0)


def test_one_slow_part_makes_the_whole_slow_and_the_time_limits_of_slow_parts_add_up():
    fast = WeightedSum({"a": Leaf("a")})
    assert (fast.cost, fast.time_limit) == ("fast", 10.0)
    slow = Gate({"a": Leaf("a"), "b": WeightedSum({"x": SlowLeaf("x"), "y": SlowLeaf("y")}), "c": SlowLeaf("c")})
    assert (slow.cost, slow.time_limit) == ("slow", 60.0)
    endless = SlowLeaf("x")
    endless.time_limit = LONGEST_LIMIT
    assert Minimum({"x": endless, "y": SlowLeaf("y")}).time_limit == LONGEST_LIMIT


def test_closing_closes_every_leaf_and_scoring_goes_on():
    a, b = Leaf("a"), SlowLeaf("b")
    reward = Product({"a": a, "s": WeightedSum({"b": b})})
    reward.close()
    assert (a.closed, b.closed) == (1, 1)
    assert score(reward, a=1, b=1).value == 1.0


def test_a_bound_on_a_part_becomes_the_right_bound_on_the_whole():
    probes = {p.name: p for p in WeightedSum({"a": Leaf("a"), "s": (0.1, Minimum({"b": Leaf("b")}))}).probes()}
    assert {name: probe.at_most for name, probe in probes.items()} == {"a: nothing": 0.1, "s: b: nothing": 1.0}
    assert Maximum(a_and_b()).probes() == []
    assert [p.at_most for p in Product(a_and_b()).probes()] == [0.0, 0.0]
    assert [p.at_most for p in Gate(a_and_b(), closed=0.25).probes()] == [0.25, 0.25]
    assert WeightedSum({"a": (-1.0, Leaf("a"))}).probes() == []
    loose = WeightedSum({"x": Leaf("x", (-1, 1)), "y": Leaf("y")}, optional={"x"})
    assert [p.at_most for p in loose.probes()] == [1.0, 1.0]


def test_the_probes_of_real_parts_hold_for_the_whole():
    problem = Problem("2 + 3 = ?", "5")
    for reward in (
        WeightedSum({"correct": MathReward(), "format": (0.1, Boxed()), "long": (0.5, SoftOverlong(40, 20))}),
        Gate({"format": Boxed(), "correct": MathReward()}),
        Minimum({"format": Boxed(), "correct": MathReward()}),
    ):
        probes = reward.probes()
        assert len(probes) >= len(MathReward().probes())
        for probe in probes:
            assert float(reward.score(probe.response(problem), problem)) <= probe.at_most


# --- what a verdict says


def test_a_verdict_tells_every_leaf_by_its_dotted_name():
    reward = WeightedSum({"a": (2.0, Leaf("a")), "style": (0.5, WeightedSum({"b": (3.0, Leaf("b")), "c": Leaf("c")}))})
    verdict = score(reward, a=1.0, b=0.5, c=None)
    assert verdict.components == {"a": 1.0, "style.b": 0.5}
    leaves = verdict.details["leaves"]
    assert {name: leaf.pop("weight") for name, leaf in leaves.items()} == {"a": 2.0, "style.b": 1.5, "style.c": 0.5}
    assert all(leaf.pop("seconds") >= 0 for leaf in leaves.values())
    empty = {"error": "", "components": {}, "details": {}}
    assert leaves == {
        "a": {"value": 1.0, "reason": "correct", "feedback": "1", **empty},
        "style.b": {"value": 0.5, "reason": "wrong", "feedback": "0.5", **empty},
        "style.c": {"value": None, "reason": "abstain", "feedback": "c is out", **empty},
    }


def test_feedback_names_who_said_it():
    assert score(WeightedSum({"a": Leaf("a"), "s": Product({"b": Leaf("b")})}), a=1, b=0.5).feedback == "a: 1; s.b: 0.5"


def reasoned(name: str, reason: Reason) -> Leaf:
    return Leaf(name, reason=reason)


PARTS = {"a": reasoned("a", Reason.HEDGED), "b": reasoned("b", Reason.TOO_BIG)}


@pytest.mark.parametrize(
    ("reward", "values", "reason"),
    [
        (WeightedSum(PARTS), {"a": 1, "b": 1}, Reason.CORRECT),
        (WeightedSum(PARTS), {"a": 0, "b": 0}, Reason.HEDGED),
        (WeightedSum(PARTS), {"a": 1, "b": 0.9}, Reason.TOO_BIG),
        (WeightedSum({"a": (0.1, PARTS["a"]), "b": (1.0, PARTS["b"])}), {"a": 0, "b": 0.5}, Reason.TOO_BIG),
        (WeightedSum({"a": (-1, PARTS["a"])}), {"a": 1}, Reason.WRONG),
        (WeightedSum({"a": (-1, PARTS["a"])}), {"a": 0.5}, Reason.HEDGED),
        (Product(PARTS), {"a": 0.5, "b": 0}, Reason.TOO_BIG),
        (Minimum(PARTS), {"a": 0.5, "b": 0.25}, Reason.TOO_BIG),
        (Maximum(PARTS), {"a": 0.5, "b": 0.25}, Reason.HEDGED),
        (Maximum(PARTS), {"a": 0.25, "b": 0.5}, Reason.TOO_BIG),
        (Maximum(PARTS), {"a": 0.5, "b": 1}, Reason.CORRECT),
        (Gate(PARTS), {"a": 0.5, "b": 1}, Reason.HEDGED),
        (Gate(PARTS), {"a": 1, "b": 0.5}, Reason.TOO_BIG),
        (Minimum({"s": WeightedSum(PARTS), "c": Leaf("c", (0, 9))}), {"a": 1, "b": 0, "c": 9}, Reason.TOO_BIG),
        (Product(PARTS), {"a": None, "b": 0}, Reason.TOO_BIG),
        (Gate(PARTS), {"a": None, "b": 0}, Reason.TOO_BIG),
        (WeightedSum({"a": (0, PARTS["a"]), "b": PARTS["b"]}), {"a": None, "b": 0}, Reason.TOO_BIG),
    ],
)
def test_the_reason_is_that_of_the_leaf_that_cost_the_most(reward, values, reason):
    assert score(reward, **values).reason is reason


# --- names and weights


@pytest.mark.parametrize("name", ["", "a.b", "_a", "a b", 3, "1a"])
def test_a_name_that_could_not_be_told_apart_is_refused(name):
    with pytest.raises(InvalidValueError, match="cannot name a part of Product"):
        Product({name: Leaf("a")})


@pytest.mark.parametrize("parts", [{}, [Leaf("a")], None, Leaf("a")])
def test_parts_come_by_name(parts):
    with pytest.raises(InvalidValueError, match=r"Minimum takes its parts by name, Minimum\(\{'correct': ...\}\)"):
        Minimum(parts)


@pytest.mark.parametrize("weight", [float("nan"), float("inf"), "1", None, True, 10**400, 1j])
def test_a_weight_is_a_finite_number(weight):
    with pytest.raises(InvalidValueError, match=r"the weight of 'a' is .*, must be a finite number"):
        WeightedSum({"a": (weight, Leaf("a"))})
    with pytest.raises(InvalidValueError, match=r"the weight of 'a' is .*, must be a finite number"):
        WeightedSum({"a": Leaf("a")}).with_weights(a=weight)


def test_other_mistakes_are_named():
    with pytest.raises(InvalidValueError, match=r"the part 'a' is .*: give \(weight, reward\)"):
        WeightedSum({"a": (1.0, 2.0, Leaf("a"))})  # type: ignore[dict-item]
    with pytest.raises(InvalidValueError, match="a reward is a Reward or a function"):
        Product({"a": "exact"})  # type: ignore[dict-item]
    with pytest.raises(UnknownNameError, match="unknown part 'stile'; did you mean 'style'"):
        WeightedSum({"style": Leaf("a")}, optional=["stile"])
    assert WeightedSum({"style": Leaf("a")}, optional="style").parts["style"].optional
    with pytest.raises(InvalidValueError, match="needs finite ends"):
        Product({"a": FunctionReward(lambda r, p: 0.0, range=(0, math.inf))})
    with pytest.raises(InvalidValueError, match="use smaller weights"):
        WeightedSum({"a": (1e308, Leaf("a", (0, 100)))})
    with pytest.raises(InvalidValueError, match="at least two parts"):
        Gate({"a": Leaf("a")})
    with pytest.raises(InvalidValueError, match=r"the gate 'a' never opens: its range \(0.0, 1.0\) ends below"):
        Gate(a_and_b(), threshold=1.5)
    with pytest.raises(InvalidValueError, match="threshold is nan, must be a finite number"):
        Gate(a_and_b(), threshold=math.nan)


def nested() -> WeightedSum:
    return WeightedSum(
        {"a": (1.0, Leaf("a")), "g": (0.5, Gate({"b": Leaf("b"), "s": WeightedSum({"c": (2.0, Leaf("c"))})}))},
        optional=["g"],
    )


def test_weights_are_told_and_replaced_by_dotted_name():
    reward = nested()
    assert reward.weights == {"a": 1.0, "g": 0.5, "g.s.c": 2.0}
    other = reward.with_weights({"g.s.c": 4.0}, a=3)
    assert isinstance(other, WeightedSum)
    assert other.weights == {"a": 3.0, "g": 0.5, "g.s.c": 4.0}
    assert reward.weights == {"a": 1.0, "g": 0.5, "g.s.c": 2.0}
    assert (reward.range, other.range) == ((0.0, 2.0), (0.0, 5.0))
    assert (score(reward, a=1, b=1, c=0.5).value, score(other, a=1, b=1, c=0.5).value) == (1.5, 4.0)
    assert score(other, a=1, b=1, c=0.5).details["leaves"]["g.s.c"]["weight"] == 2.0
    assert score(other, a=1, b=1, c=None).value == 3.0


@given(weights=st.dictionaries(st.sampled_from(["a", "g", "g.s.c"]), numbers.filter(lambda w: abs(w) < 9)))
def test_weights_there_and_back_change_nothing(weights):
    reward = WeightedSum({"a": Leaf("a"), "g": Product({"s": WeightedSum({"c": Leaf("c")})})})
    known = {name: weight for name, weight in weights.items() if name in reward.weights}
    there = reward.with_weights(known)
    assert there.weights == reward.weights | known
    back = there.with_weights(reward.weights)
    assert (back.weights, back.range) == (reward.weights, reward.range)
    assert score(back, a=0.25, c=0.5).value == score(reward, a=0.25, c=0.5).value


def test_an_unknown_weight_is_named_with_the_nearest():
    with pytest.raises(UnknownNameError, match=r"unknown weight 'g.s.x'; did you mean 'g.s.c'"):
        nested().with_weights({"g.s.x": 1.0})
    with pytest.raises(UnknownNameError, match=r"unknown weight 'g\.b'"):
        nested().with_weights({"g.b": 1.0})


def test_a_pickled_combination_scores_the_same():
    reward = WeightedSum({"a": (0.5, Leaf("a")), "g": Gate({"b": Leaf("b"), "c": Minimum(a_and_b())})})
    copied: Composite = pickle.loads(pickle.dumps(reward))
    assert (copied.weights, copied.range, copied.cost) == (reward.weights, reward.range, reward.cost)
    response = says(a=0.5, b=1, c=0.25)
    assert copied.score(response, PROBLEM).value == reward.score(response, PROBLEM).value == 0.75
