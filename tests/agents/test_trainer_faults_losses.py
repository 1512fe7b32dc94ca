"""What users of other trainers suffered from, once more against this one: losses, ratios, KL, samplers, numbers."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any, get_args

import pytest
import torch
from gymnasium.vector import AutoresetMode

from grpo_agents.collect import Episode, collect
from grpo_agents.config import Objective, Optimisation, Sampling
from grpo_agents.config.objective import Correction, LossName
from grpo_agents.credit import no_strata
from grpo_agents.losses import sampler_logprobs
from grpo_agents.metrics import step_metrics
from grpo_agents.packing import Group
from grpo_agents.policy import Policy
from grpo_agents.prepare import prepare
from grpo_agents.reference import FrozenCopy
from grpo_agents.rollouts import Rollout
from tests.agents.foreign_envs import Countdown, vector
from tests.agents.lessons import TEMPERATURE, batch, exact_kl, gradient_of, learner, step, trajectory_of
from tests.agents.runs import babbler, identical, weights
from tests.agents.slow_update import whole_forward

LOSSES = get_args(LossName)
MODES = [mode for mode in get_args(Correction) if mode != "none"]


@pytest.fixture(scope="module")
def policy() -> Policy:
    return babbler(double=True)


@pytest.fixture(scope="module")
def episodes(policy) -> list[Episode]:
    return batch(policy, off_policy=0.3)


@pytest.mark.parametrize("loss", ["grpo", "gspo", "gmpo"])
def test_row_02_a_loss_of_0_says_nothing_and_the_gradient_says_it_all(loss):
    """On-policy, completions weighing alike, the advantages of each group cancel: loss 0, and yet it learns."""
    policy = babbler()
    rows = batch(policy)
    result = step(policy, rows, objective=Objective(loss=loss))
    found = step_metrics(1, Rollout(rows, [*range(16)]), no_strata(16, Objective()), result, 0.1)

    assert abs(found["loss"]) < 1e-6
    assert abs(found["policy_loss"]) < 1e-6
    assert found["grad_norm"] > 0.01
    assert found["gradient_l1"] > 0.01
    assert result.trained_tokens > 0


def test_row_04_the_clip_share_is_0_at_one_update_per_batch_and_not_at_more():
    shares = []
    for passes in (1, 3):
        policy = babbler()
        optimisation = Optimisation(updates_per_batch=passes, max_grad_norm=1e9)
        result = step(policy, batch(policy), optimisation=optimisation)
        assert result.terms is not None
        figures = result.terms.metrics()
        shares.append(figures["clip_low"] + figures["clip_high"])
        assert (abs(figures["ratio_max"] - 1) < 1e-4) == (passes == 1)

    assert shares[0] == 0 < shares[1]


@pytest.mark.parametrize("layout", ["packed", "plain"])
@pytest.mark.parametrize("budget", [1, 64, 10**6])
def test_row_05_at_the_first_update_every_ratio_is_1(layout, budget):
    """The sampler's cache, the packed pass and the plain pass are three code paths to one number."""
    policy = babbler()
    _, terms = gradient_of(policy, batch(policy), Objective(), budget, layout)

    assert float(terms.policy.ratio_min) == pytest.approx(1.0, abs=1e-5)
    assert float(terms.policy.ratio_max) == pytest.approx(1.0, abs=1e-5)
    assert float(terms.policy.old_kl) < 1e-8


def test_row_10_log_probs_in_a_padded_batch_are_those_of_each_row_alone(policy, episodes):
    (lesson,) = prepare(learner(policy, objective=Objective(entropy_coef=1.0)), episodes, 0.0).lessons
    for layout in (policy.logprobs, type(policy.logprobs)(policy.model, policy.pad_id, layout="plain")):
        found = layout.frozen(lesson.drawn.groups, TEMPERATURE, 10**6).split(lesson.drawn.lengths.tolist())
        for row, values in zip(lesson.drawn.rows, found, strict=True):
            trajectory = trajectory_of(episodes[row])
            alone = whole_forward(policy, trajectory)[0][torch.tensor(trajectory.own)]
            assert torch.allclose(values.double(), alone.detach(), atol=1e-5)


@pytest.mark.parametrize("temperature", [0.5, 0.8, 1.0, 1.7])
def test_row_15_the_ratio_is_1_on_policy_at_any_temperature(temperature):
    policy = babbler()
    env = vector(Countdown, 8, AutoresetMode.SAME_STEP)
    rows = collect(policy, env, range(2), 4, Sampling(max_tokens=6, temperature=temperature), generator())
    result = step(policy, rows, temperature=temperature)

    assert result.terms is not None
    assert float(result.terms.policy.ratio_max) == pytest.approx(1.0, abs=2e-5)
    assert float(result.terms.policy.ratio_min) == pytest.approx(1.0, abs=2e-5)


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(3)


@pytest.mark.parametrize("mode", MODES)
def test_row_16_a_sampler_that_is_off_is_measured_and_corrected(mode):
    """Ratios that explode collapsed runs after hundreds of steps: the gap is logged, and its weight has a bound."""
    policy = babbler(double=True)
    rows = batch(policy, off_policy=0.3)
    trajectory = trajectory_of(rows[0])
    trajectory.logprobs[0] -= 8.0  # the sampler thought it 3000 times less likely than it is
    bounds: dict[str, Any] = {"correction_high": 2.0, "correction_low": 0.5}
    found = prepare(learner(policy, objective=Objective(correction=mode, **bounds)), rows, 0.0)
    factor = found.lessons[0].tokens.factor

    assert found.figures["mismatch/abs_max"] == pytest.approx(8.0, abs=1.5)
    assert found.figures["mismatch/ratio_max"] > 500
    assert found.figures["mismatch/effective_share"] < 0.1
    assert factor is not None
    assert float(factor.max()) <= 2.0
    assert {float(x) for x in factor[factor < 0.5]} <= {0.0}
    _, terms = gradient_of(policy, rows, Objective(correction=mode, **bounds))
    assert float(terms.policy.ratio_max) == pytest.approx(1.0, abs=1e-5)  # the clip's ratio is to the trainer's own


@pytest.mark.parametrize("mode", MODES)
def test_row_17_log_probs_that_a_server_did_not_give_are_left_out_and_counted(mode):
    """None and NaN crashed the correction; here a token without a number has factor 0, with its completion if need."""
    policy = babbler(double=True)
    rows = batch(policy)
    before = weights(policy)
    given: list[float | None] = [*trajectory_of(rows[2]).logprobs]
    given[0] = None
    trajectory_of(rows[2]).logprobs = sampler_logprobs(given).tolist()
    trajectory_of(rows[5]).logprobs[0] = math.inf
    objective = Objective(correction=mode)
    (lesson,) = prepare(learner(policy, objective=objective), rows, 0.0).lessons
    assert lesson.tokens.factor is not None
    gone = {
        lesson.drawn.rows[int(place)]
        for place, factor in zip(lesson.tokens.row, lesson.tokens.factor, strict=True)
        if factor == 0
    }
    result = step(policy, rows, objective=objective)

    assert gone == {2, 5}
    first = lesson.tokens.row == lesson.drawn.rows.index(2)
    assert int((lesson.tokens.factor[first] == 0).sum()) == (1 if mode.startswith("token") else rows[2].length)
    assert result.figures["mismatch/missing"] == 2
    assert result.skipped == ""
    assert not identical(weights(policy), before)
    assert all(value.isfinite().all() for value in weights(policy).values())


def test_row_17_without_a_correction_they_refuse_the_batch_and_name_the_row():
    policy = babbler()
    rows = batch(policy)
    before = weights(policy)
    trajectory_of(rows[2]).logprobs[0] = math.nan
    result = step(policy, rows)

    assert (result.refused, result.skipped) == (True, "the sampled log-probs of completions 2 are not finite")
    assert identical(weights(policy), before)


def test_row_17_a_row_that_does_not_count_may_hold_what_it_likes():
    policy, clean = babbler(), babbler()
    rows = batch(policy)
    rows[2].valid = False
    spoiled = copy.deepcopy(rows)
    trajectory_of(spoiled[2]).logprobs = [math.nan] * len(trajectory_of(spoiled[2]).tail)
    step(clean, rows)

    assert step(policy, spoiled).skipped == ""
    assert identical(weights(policy), weights(clean))


@pytest.mark.parametrize("kind", ["k1", "k2", "k3"])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_row_18_a_reference_that_is_not_finite_leaves_the_weights_alone(kind, value):
    policy = babbler()
    reference = babbler()
    with torch.no_grad():
        next(reference.model.parameters()).fill_(value)
    before = weights(policy)
    objective = Objective(kl_coef=0.1, kl_estimator=kind)
    result = step(policy, batch(policy), objective=objective, reference=FrozenCopy(reference))

    assert (result.refused, result.skipped) == (True, "the reference's log-probs are not finite")
    assert identical(weights(policy), before)


def test_row_18_a_kl_term_that_overflows_is_refused_before_the_weights_move():
    """The reference finds what was drawn e^800 times likelier than the policy: k3 is infinite."""
    policy = babbler()
    rows = batch(policy)

    class Far(FrozenCopy):
        def frozen(self, *args: Any, **kwargs: Any) -> torch.Tensor:
            return super().frozen(*args, **kwargs) + 800.0

    before = weights(policy)
    result = step(policy, rows, objective=Objective(kl_coef=0.1), reference=Far(policy))

    assert result.refused
    assert "is not finite" in result.skipped
    assert identical(weights(policy), before)


@pytest.mark.parametrize("estimator", ["k1", "k2", "k3"])
@pytest.mark.parametrize("corrected", [True, False])
def test_row_25_the_kl_term_pulls_to_the_reference_and_not_away(estimator, corrected):
    """Equal rewards, so that nothing else acts. A wrong sign ended in collapse."""
    policy, start = babbler(), babbler()
    with torch.no_grad():
        policy.model.get_output_embeddings().weight.mul_(1.3)
    rows = batch(policy, groups=8, size=8)
    for episode in rows:
        episode.reward = 0.5
    objective = Objective(
        kl_coef=1.0, kl_estimator=estimator, kl_ratio_correction=corrected, scale="none", baseline="leave_one_out"
    )
    before = exact_kl(policy, start, rows)
    optimizer = torch.optim.SGD(policy.model.parameters(), lr=0.01 if estimator != "k1" else 0.003)
    result = step(policy, rows, optimizer=optimizer, objective=objective, reference=FrozenCopy(start))

    assert result.skipped == ""
    assert exact_kl(policy, start, rows) < 0.999 * before


def test_row_25_the_penalty_in_the_reward_lowers_the_advantage_of_what_the_reference_finds_unlikely():
    policy = babbler()
    rows = batch(policy, groups=1, size=4)
    for episode in rows:
        episode.reward = 0.5
    gaps = torch.tensor([0.3, -0.2, 0.1, 0.6])  # log policy - log reference, nats per token of each row

    class Shifted(FrozenCopy):
        def frozen(self, groups: Sequence[Group], temperature: float, token_budget: int) -> torch.Tensor:
            lengths = torch.tensor([sum(own) for group in groups for own in group.own])
            sampled = [p for e in rows for p, own in zip(*logs(e), strict=True) if own]
            return torch.tensor(sampled) - gaps.repeat_interleave(lengths)

    def logs(episode: Episode) -> tuple[list[float], list[bool]]:
        return trajectory_of(episode).logprobs, trajectory_of(episode).own

    objective = Objective(kl_coef=0.1, kl_estimator="k1", scale="none")
    found = prepare(learner(policy, objective=objective, reference=Shifted(policy)), rows, 0.1)
    shaped = torch.tensor([0.5 - 0.1 * float(gap) * e.length for gap, e in zip(gaps, rows, strict=True)])

    assert torch.allclose(found.credit.per_row, shaped - shaped.mean(), atol=1e-5)
    tokens = [e.length for e in rows]
    mean = float((gaps * torch.tensor(tokens)).sum()) / sum(tokens)
    assert found.figures["kl"] == pytest.approx(mean, abs=1e-5)
    assert found.lessons[0].tokens.reference is None  # paid once, in the reward, and not again in the loss


@pytest.mark.parametrize("loss", LOSSES)
def test_row_25_a_good_completion_gains_and_a_bad_one_loses(loss):
    """The sign of every loss, end to end."""
    policy = babbler()
    rows = batch(policy, groups=1, size=2)
    rows[0].reward, rows[1].reward = 1.0, 0.0
    (lesson,) = prepare(learner(policy), rows, 0.0).lessons
    before = lesson.drawn.per_row(policy.logprobs.frozen(lesson.drawn.groups, TEMPERATURE))
    step(policy, rows, objective=Objective(loss=loss), optimisation=Optimisation(max_grad_norm=0.05))
    good, bad = lesson.drawn.per_row(policy.logprobs.frozen(lesson.drawn.groups, TEMPERATURE)) - before

    assert good > 1e-4
    assert bad < -1e-4
