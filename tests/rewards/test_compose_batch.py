"""Batches: parts get all open rows at once, one bad row does not spoil the others, and workers say the same."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import gymnasium
import pytest
from hypothesis import given
from hypothesis import strategies as st

import grpo_gym  # noqa: F401  # registers the environments
from grpo_gym import GroupVectorEnv, Problem, Procedural, Reason, Rng, Task, TextEnv, Verdict
from grpo_gym.infos import row_info
from grpo_gym.pool import processes
from grpo_gym.scoring import release_workers, score_all
from grpo_gym.stream import Drawn
from grpo_rewards.compose import Gate, Maximum, Minimum, Product, WeightedSum
from grpo_rewards.format import Boxed
from grpo_rewards.math import MathReward
from tests.rewards.leaves import PROBLEM, Leaf, SlowLeaf, says


def rows(*responses: str) -> list[tuple[str, Problem]]:
    return [(response, PROBLEM) for response in responses]


def timeless(verdict: Verdict) -> Any:
    """A verdict as JSON without the times, which no two runs share."""
    leaves = {name: {**leaf, "seconds": 0} for name, leaf in verdict.details["leaves"].items()}
    return json.dumps([verdict.value, verdict.reason, dict(verdict.components), verdict.feedback, leaves])


values = st.sampled_from([0.0, 0.5, 1.0, None, "raise"])
responses = st.fixed_dictionaries({"a": values, "b": values, "c": values}).map(lambda told: says(**told))


@given(responses=st.lists(responses, max_size=6))
def test_a_batch_says_what_one_by_one_says_and_says_it_again(responses):
    reward = WeightedSum(
        {
            "g": Gate({"a": Leaf("a"), "b": Leaf("b"), "c": Leaf("c")}, threshold=0.5),
            "p": (0.5, Product({"a": Leaf("a"), "m": Maximum({"b": Leaf("b"), "c": Leaf("c")})})),
            "n": (-1.0, Minimum({"a": Leaf("a"), "b": Leaf("b")})),
        },
        optional=["p"],
    )
    together = [timeless(verdict) for verdict in reward.score_batch(rows(*responses))]
    assert together == [timeless(reward.score(response, PROBLEM)) for response in responses]
    assert together == [timeless(verdict) for verdict in reward.score_batch(rows(*responses))]


def test_every_part_gets_the_whole_batch_at_once():
    a, b = Leaf("a"), Leaf("b")
    batch = rows(says(a=1), says(b=1), says())
    WeightedSum({"a": a, "s": Product({"b": b})}).score_batch(batch)
    assert a.batches == b.batches == [[response for response, _ in batch]]


def test_behind_a_gate_only_open_rows_are_judged():
    a, b, c = Leaf("a"), Leaf("b"), Leaf("c")
    reward = Gate({"a": a, "b": b, "c": c})
    closed, half, all_open, missing = says(a=0), says(a=1, b=0), says(a=1, b=1, c=1), says(a=None, b=1, c=1)
    verdicts = reward.score_batch(rows(closed, half, all_open, missing))
    assert [verdict.value for verdict in verdicts] == [0.0, 0.0, 1.0, None]
    assert [list(verdict.components) for verdict in verdicts] == [["a"], ["a", "b"], ["a", "b", "c"], ["b", "c"]]
    assert (b.batches, c.batches) == ([[half, all_open, missing]], [[all_open, missing]])


def test_a_part_behind_a_closed_gate_is_not_called():
    behind = Leaf("b")
    assert Gate({"a": Leaf("a"), "s": Product({"b": behind})}).score(says(a=0, b=1), PROBLEM).value == 0.0
    assert behind.batches == []
    assert Product({"a": Leaf("a")}).score_batch([]) == []


class Spoilt(Leaf):
    """Its batches are not what they should be."""

    def __init__(self, batch: Any) -> None:
        super().__init__("a")
        self.batch = batch

    def score_batch(self, rows: Sequence[tuple[str, Problem]]) -> list[Verdict]:
        self.batches.append([response for response, _ in rows])
        verdicts: list[Verdict] = self.batch([self.score(*row) for row in rows])
        return verdicts


SPOILT: dict[str, Any] = {
    "raises": lambda verdicts: 1 // 0,
    "exits": lambda verdicts: exit(1),
    "too few": lambda verdicts: verdicts[1:],
    "none": lambda verdicts: None,
    "one is none": lambda verdicts: [None, *verdicts[1:]],
    "one is nan": lambda verdicts: [*verdicts[:-1], Verdict(float("nan"), Reason.WRONG)],
    "a generator": lambda verdicts: iter(verdicts),
}


@pytest.mark.parametrize("how", SPOILT)
def test_a_part_whose_batch_fails_is_asked_row_by_row(how):
    leaf = Spoilt(SPOILT[how])
    verdicts = Product({"a": leaf}).score_batch(rows(says(a=1), says(a=0.5), says(a=0)))
    assert [verdict.value for verdict in verdicts] == [1.0, 0.5, 0.0]
    assert len(leaf.batches) == 1


def test_one_row_that_raises_costs_one_row():
    verdicts = WeightedSum({"a": Leaf("a")}).score_batch(rows(says(a=1), says(a="raise"), says(a=0.5)))
    assert [(v.value, v.reason) for v in verdicts] == [
        (1.0, Reason.CORRECT),
        (0.0, Reason.SCORER_ERROR),
        (0.5, Reason.WRONG),
    ]


# --- in an environment


def problems(rng: Rng, tier: int) -> Problem:
    return Problem(f"say {rng.integer(0, 10**9)}", "right")


def test_no_time_reaches_an_info_and_components_arrive_by_dotted_name():
    reward = WeightedSum({"a": Leaf("a"), "s": (0.5, Product({"b": Leaf("b")}))})
    env = TextEnv(Task("test.compose", Procedural(problems), reward))
    env.reset(seed=1)
    info = env.step(says(a=1, b=0.5))[4]
    assert info["rewards"] == {"a": 1.0, "s.b": 0.5}
    assert set(info) == {"task", "problem_id", "reason", "feedback", "rewards", "abstain"}
    assert "seconds" not in repr(info)
    env.reset()
    info = env.step(says(a=1, b=None))[4]
    assert (info["rewards"], info["abstain"]) == ({"a": 1.0}, 1.0)


def test_a_vector_environment_tells_an_absent_component_by_its_mask():
    reward = WeightedSum({"a": Leaf("a"), "b": (0.5, Leaf("b"))}, optional=["b"])
    envs = GroupVectorEnv(Task("test.compose", Procedural(problems), reward), num_envs=2, group_size=2)
    envs.reset(seed=1)
    _, rewards, _, _, infos = envs.step([says(a=1, b=1), says(a=1, b=None)])
    assert rewards.tolist() == [1.5, 1.0]
    assert [row_info(infos, row)["rewards"] for row in range(2)] == [{"a": 1.0, "b": 1.0}, {"a": 1.0}]


def test_a_registered_environment_takes_a_combination():
    reward = WeightedSum({"correct": (1.0, MathReward()), "format": (0.1, Boxed())})
    env = gymnasium.make("grpo/Math-v0", tier=0, reward=reward, expose_answer=True)
    _, info = env.reset(seed=3)
    assert env.step(info["answer"])[1] == 1.1


# --- in worker processes


def drawn(reward: Any) -> Drawn:
    return Drawn(Task("test.compose", Procedural(problems), reward), PROBLEM)


def test_closing_a_slow_combination_lets_its_workers_go(monkeypatch):
    released: list[object] = []
    monkeypatch.setattr("grpo_gym.scoring.release_workers", released.append)
    slow, fast = (WeightedSum({"a": leaf}) for leaf in (SlowLeaf("a"), Leaf("a")))
    slow.close()
    fast.close()
    assert slow in released
    assert fast not in released


@pytest.fixture(scope="module")
def workers() -> Iterator[object]:
    class Holder:
        pass

    holder = Holder()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRPO_GYM_WORKERS", "1")
        yield holder
    release_workers(holder)


def test_workers_say_what_this_process_says(workers):
    told = [says(a=1, b=1), says(a=0, b=1), says(a=1, b=None)]
    here = WeightedSum({"g": Gate({"a": Leaf("a"), "b": Leaf("b")}), "a": (0.5, Leaf("a"))})
    slow = WeightedSum({"g": Gate({"a": Leaf("a"), "b": SlowLeaf("b")}), "a": (0.5, Leaf("a"))})
    there = score_all(None, [(response, drawn(slow)) for response in told], workers)
    assert processes()
    assert [timeless(v) for v in there] == [timeless(v) for v in here.score_batch(rows(*told))]


class SlowBroken(SlowLeaf):
    """Fails on every answer."""

    def score(self, response: str, problem: Problem) -> Verdict:
        raise OSError("the judge is unreachable")


def test_in_workers_too_a_right_answer_decides_whose_fault_a_failing_leaf_is(workers):
    answer = says(a=1, b="raise")
    theirs, broken = (WeightedSum({"a": Leaf("a"), "b": leaf}) for leaf in (SlowLeaf("b"), SlowBroken("b")))
    blamed, excused = score_all(None, [(answer, drawn(theirs)), (answer, drawn(broken))], workers)
    assert (blamed.value, blamed.reason) == (0.0, Reason.SCORER_ERROR)
    assert (excused.value, excused.reason) == (None, Reason.ABSTAIN)
    assert blamed.components == excused.components == {"a": 1.0}
    assert blamed.details["leaves"]["b"]["error"] == "ValueError: b fails"
    assert excused.details["leaves"]["b"]["error"] == "OSError: the judge is unreachable"
