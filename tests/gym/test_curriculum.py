"""Curricula as objects: what each does with a learner whose success falls with the tier, and that a state is whole."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grpo_gym.curriculum import (
    KINDS,
    Arm,
    Curriculum,
    Fixed,
    Learnability,
    Linear,
    Recorded,
    ThompsonSampling,
    Threshold,
    make_curriculum,
)
from grpo_gym.errors import InvalidValueError, UnknownNameError
from grpo_gym.rng import Rng

TIERS = [Arm("sums", tier) for tier in range(6)]
ROWS = 8


def success(skill: float, tier: int, steep: float = 2.0) -> float:
    """The learner: success falls with the tier, and is 1/2 where the tier is the skill."""
    return 1 / (1 + math.exp(-steep * (skill - tier)))


def taught(
    curriculum: Curriculum, skill: Callable[[int], float], groups: int, seed: int = 0, steep: float = 2.0
) -> list[tuple[Arm, float]]:
    """Let a curriculum teach a learner; returns each group's arm and the probability that a row was right."""
    seen = []
    for n in range(groups):
        arm = curriculum.choose(Rng("choose", seed, n))
        p = success(skill(n), arm.tier, steep)
        luck = Rng("luck", seed, n)
        curriculum.update(arm, [float(luck.below(10**6) < p * 10**6) for _ in range(ROWS)])
        seen.append((arm, p))
    return seen


def worth(seen: list[tuple[Arm, float]]) -> float:
    """Mean p(1 - p) of what was chosen: the variance that a group has to learn from."""
    return sum(p * (1 - p) for _, p in seen) / len(seen)


def all_kinds(arms: Any = TIERS) -> list[Recorded]:
    return [kind(arms) for kind in KINDS.values()]


# --- fixed and linear


def test_fixed_draws_by_share_whatever_is_earned():
    curriculum = Fixed({("a", 0): 3, ("a", 1): 1, ("b", 0): 4})
    counts = Counter(arm for arm, _ in taught(curriculum, lambda n: 9.0, 4000))
    for arm, share in ((Arm("a", 0), 3 / 8), (Arm("a", 1), 1 / 8), (Arm("b", 0), 1 / 2)):
        assert abs(counts[arm] / 4000 - share) < 0.035


def test_linear_gives_every_tier_its_time_and_reaches_the_last():
    tiers = [arm.tier for arm, _ in taught(Linear(TIERS, over=120), lambda n: 0.0, 150)]
    assert tiers == [min(n // 20, 5) for n in range(150)]


def test_linear_goes_by_groups_seen_and_each_task_has_its_own_tiers():
    curriculum = Linear([("a", 0), ("a", 1), ("a", 2), ("b", 3), ("b", 5)], over=60)
    seen = [arm for arm, _ in taught(curriculum, lambda n: 0.0, 80)]
    assert set(seen[:20]) == {("a", 0), ("b", 3)}
    assert set(seen[30:40]) == {("a", 1), ("b", 5)}
    assert set(seen[60:]) == {("a", 2), ("b", 5)}


# --- threshold


@pytest.mark.parametrize("seed", range(5))
def test_threshold_climbs_with_the_learner_tier_by_tier(seed):
    seen = taught(Threshold(TIERS), lambda n: n / 80, 640, seed)
    tiers = [arm.tier for arm, _ in seen]
    moves = [(a, b) for a, b in itertools.pairwise(tiers) if a != b]
    assert tiers[-1] == 5
    assert all(abs(b - a) == 1 for a, b in moves)
    assert len(moves) <= 7, "five moves up, and hardly one back"
    assert worth(seen[100:560]) > 1.8 * worth(taught(Fixed(TIERS), lambda n: n / 80, 640, seed)[100:560])


@pytest.mark.parametrize("skill", [0.0, 0.5, 1.0, 1.6, 2.3, 4.0])
@pytest.mark.parametrize("steep", [0.7, 1.4])
def test_threshold_comes_to_rest_and_does_not_flap(skill, steep):
    """A learner that stands still is left where its success lies between the bounds."""
    for seed in range(3):
        seen = taught(Threshold(TIERS), lambda n: skill, 700, seed, steep)
        late = [arm.tier for arm, _ in seen[200:]]
        assert sum(a != b for a, b in itertools.pairwise(late)) <= 2
        assert 0.15 < success(skill, late[-1], steep) < 0.85


def test_threshold_goes_down_when_a_tier_is_too_hard_and_stops_at_the_ends():
    curriculum = Threshold(TIERS, window=4)
    for _ in range(40):
        curriculum.update(curriculum.choose(Rng("up")), [1.0])
    assert curriculum.choose(Rng("x")).tier == 5
    for _ in range(40):
        curriculum.update(curriculum.choose(Rng("down")), [0.0])
    assert curriculum.choose(Rng("x")).tier == 0


def test_a_window_is_waited_for_and_groups_of_a_tier_that_was_left_say_nothing():
    curriculum = Threshold(TIERS, window=4)
    for n in range(4):
        assert curriculum.choose(Rng("x")).tier == 0, n
        curriculum.update(Arm("sums", 0), [1.0, 1.0])
    for _ in range(20):  # the rest of the batch, which was drawn before the move
        curriculum.update(Arm("sums", 0), [1.0, 1.0])
    assert curriculum.choose(Rng("x")).tier == 1
    for reward in (1.0, 1.0, 1.0, 0.1):
        curriculum.update(Arm("sums", 1), [reward])
    assert curriculum.choose(Rng("x")).tier == 1, "the mean is 0.775"
    curriculum.update(Arm("sums", 1), [1.0])
    assert curriculum.choose(Rng("x")).tier == 1, "the last four are 1, 1, 0.1, 1"


def test_hard_groups_of_a_tier_that_was_left_push_nobody_down():
    curriculum = Threshold(TIERS, window=2)
    for tier in (0, 0, 1, 1):
        curriculum.update(Arm("sums", tier), [1.0])
    for _ in range(8):
        curriculum.update(Arm("sums", 1), [0.0])
    assert curriculum.now == {"sums": 2}


def test_each_task_has_a_staircase_of_its_own_and_keeps_its_share():
    arms = {Arm(task, tier): share for task, share in (("a", 3.0), ("b", 1.0)) for tier in range(3)}
    curriculum = Threshold(arms, window=4)
    tasks = []
    for n in range(400):
        arm = curriculum.choose(Rng("x", n))
        tasks.append(arm.task)
        curriculum.update(arm, [1.0 if arm.task == "a" else 0.5])
    assert curriculum.now == {"a": 2, "b": 0}
    assert 0.68 < tasks.count("a") / 400 < 0.82


# --- learnability and Thompson sampling


@pytest.mark.parametrize("kind", [Learnability, ThompsonSampling])
@pytest.mark.parametrize("skill", [0.0, 2.5, 4.0])
def test_most_groups_go_where_the_outcome_is_open(kind, skill):
    for seed in range(3):
        seen = taught(kind(TIERS), lambda n: skill, 500, seed)[100:]
        open_arms = [p for _, p in seen if 0.1 < p < 0.9]
        assert len(open_arms) > 0.6 * len(seen)
        assert worth(seen) > 1.5 * worth(taught(Fixed(TIERS), lambda n: skill, 500, seed)[100:])


@pytest.mark.parametrize("kind", [Learnability, ThompsonSampling])
def test_what_was_hopeless_is_found_when_the_learner_can_do_it(kind):
    """A learner that stands still for long and then grows: old evidence must fade, or be tried again."""
    for seed in range(3):
        seen = taught(kind(TIERS), lambda n: 0.0 if n < 400 else min(5.0, (n - 400) / 120), 1100, seed)
        before, after = seen[200:400], seen[900:]
        assert Counter(arm.tier for arm, _ in before)[0] > 80
        counts = Counter(arm.tier for arm, _ in after)
        assert counts[4] + counts[5] > 90
        assert counts[0] < 30
        assert worth(after) > 1.5 * worth([(arm, success(5.0, arm.tier)) for arm in TIERS])


def test_thompson_tries_what_it_is_unsure_of_and_learnability_what_is_left():
    for curriculum in (Learnability(TIERS), ThompsonSampling(TIERS)):
        counts = Counter(arm.tier for arm, _ in taught(curriculum, lambda n: -9.0, 600))
        assert min(counts[tier] for tier in range(6)) > 20, "nothing can be learned anywhere, so all stay in question"


def test_learnability_comes_back_to_what_it_gave_up():
    curriculum = Learnability(TIERS, explore=0.12)
    for _ in range(60):
        for arm in TIERS:
            curriculum.update(arm, [0.0 if arm.tier == 5 else 0.5])
    counts = Counter(curriculum.choose(Rng("x", n)).tier for n in range(4000))
    assert 0.015 < counts[5] / 4000 < 0.04, "a sixth of the part that is explored, and little more"


def test_learnability_weighs_a_task_by_its_share():
    curriculum = Learnability({("a", 0): 3, ("b", 0): 1})
    tasks = [curriculum.choose(Rng("x", n)).task for n in range(2000)]
    assert 0.70 < tasks.count("a") / 2000 < 0.80


def test_a_reward_between_0_and_1_counts_as_a_part_of_a_success():
    curriculum = Learnability(TIERS)
    for _ in range(60):
        curriculum.update(TIERS[2], [0.25, 0.35])
    assert curriculum.probability(TIERS[2]) == pytest.approx(0.3, abs=0.01)


# --- what all have in common


def test_a_choice_is_a_function_of_state_and_seed_and_changes_nothing():
    for curriculum in all_kinds():
        taught(curriculum, lambda n: 2.0, 50)
        before = json.dumps(curriculum.state_dict())
        choices = [curriculum.choose(Rng("x", n)) for n in range(40)]
        assert [curriculum.choose(Rng("x", n)) for n in range(40)] == choices
        assert json.dumps(curriculum.state_dict()) == before


@settings(max_examples=15)
@given(kind=st.sampled_from(sorted(KINDS)), groups=st.integers(0, 80), seed=st.integers(0, 99))
def test_a_state_goes_through_json_and_the_rest_is_the_same(kind, groups, seed):
    arms = {Arm(task, tier): share for task, share in (("a", 1.0), ("b", 2.5)) for tier in (0, 1, 3)}
    first = make_curriculum(kind, arms)
    taught(first, lambda n: n / 20, groups, seed)
    second = make_curriculum(kind, arms)
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    rest = [taught(curriculum, lambda n: 2.0, 60, seed + 1) for curriculum in (first, second)]
    assert rest[0] == rest[1]
    assert first.statistics() == second.statistics()
    assert first.state_dict() == second.state_dict()


def test_a_state_of_another_curriculum_is_refused():
    state = Linear(TIERS).state_dict()
    for other in (Fixed(TIERS), Linear(TIERS[:4])):
        with pytest.raises(InvalidValueError, match=r"state of another curriculum \(Linear, 6 arms\), not of this one"):
            other.load_state_dict(state)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_damaged_state_is_refused_with_a_message(kind):
    """A checkpoint of another version, or one edited by hand, must not end in a KeyError."""
    curriculum = make_curriculum(kind, TIERS)
    no_states: list[Any] = [{}, None, [], 3, {"kind": type(curriculum).__name__}]
    for broken in no_states:
        with pytest.raises(InvalidValueError, match="give what state_dict\\(\\) returned"):
            curriculum.load_state_dict(broken)
    whole = curriculum.state_dict()
    for name in whole:
        without = {key: value for key, value in whole.items() if key != name}
        for broken in (without, {**whole, name: None}, {**whole, name: {}}, {**whole, name: 5}):
            with pytest.raises(InvalidValueError, match=r"state of (this|another|a) curriculum"):
                curriculum.load_state_dict(broken)
    curriculum.load_state_dict(whole)


def test_statistics_tell_groups_mean_and_spread_of_the_arms_seen():
    for curriculum in all_kinds():
        assert curriculum.statistics() == {}
        curriculum.update(TIERS[1], [1.0, 0.0, 0.0, 1.0])
        curriculum.update(TIERS[1], [1.0, 1.0])
        assert curriculum.statistics() == {"sums tier 1": {"groups": 2, "mean": 0.75, "spread": 0.25}}
        with pytest.raises(InvalidValueError, match="sums tier 7 is no arm of this curriculum"):
            curriculum.update(Arm("sums", 7), [1.0])


def test_a_curriculum_of_ones_own_needs_no_more_than_a_choice():
    class Hardest(Recorded):
        def choose(self, rng: Rng) -> Arm:
            return max(self.arms, key=lambda arm: arm.tier)

    own = Hardest(TIERS)
    assert isinstance(own, Curriculum)
    assert make_curriculum(own, TIERS) is own
    assert {arm.tier for arm, _ in taught(own, lambda n: 0.0, 5)} == {5}


WRONG = [
    ("treshold", UnknownNameError, "unknown curriculum 'treshold'; did you mean 'threshold'"),
    ({"kind": "linear", "ovr": 3}, UnknownNameError, "option of the curriculum linear 'ovr'; did you mean 'over'"),
    ({"over": 3}, InvalidValueError, r"curriculum is {'over': 3}: give one of \['fixed', 'linear'"),
    (3, InvalidValueError, "curriculum is 3: give one of"),
    ({"kind": "linear", "over": "3"}, InvalidValueError, "over of the curriculum linear is '3': give a number"),
    ({"kind": ["a"]}, UnknownNameError, r"unknown curriculum \['a'\]; known: fixed"),
    ({"kind": "linear", "over": 0}, InvalidValueError, "over is 0, must be a whole number of groups, at least 1"),
    ({"kind": "linear", "over": 0.5}, InvalidValueError, "over is 0.5, must be a whole number of groups"),
    ({"kind": "threshold", "window": 2.5}, InvalidValueError, "window is 2.5, must be a whole number of groups"),
    ({"kind": "threshold", "up": 0.1}, InvalidValueError, "down is 0.2 and up is 0.1: 0 <= down < up <= 1 is needed"),
    ({"kind": "threshold", "window": 0}, InvalidValueError, "window is 0"),
    ({"kind": "learnability", "explore": 0}, InvalidValueError, "explore is 0, must be above 0 and at most 1"),
    ({"kind": "learnability", "memory": 0}, InvalidValueError, "memory is 0 groups, must be above 0"),
    ({"kind": "thompson", "memory": -1}, InvalidValueError, "memory is -1 groups per arm, must be above 0"),
]


@pytest.mark.parametrize(("wanted", "error", "message"), WRONG)
def test_what_is_wrong_with_a_wish_is_said(wanted, error, message):
    with pytest.raises(error, match=message):
        make_curriculum(wanted, TIERS)


@pytest.mark.parametrize("arms", [[], {}, {("a", 0): 0}])
def test_a_curriculum_without_arms_is_refused(arms):
    with pytest.raises(InvalidValueError, match="a curriculum needs arms with shares above 0"):
        Fixed(arms)
