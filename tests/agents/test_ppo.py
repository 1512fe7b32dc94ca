"""PPO on the same loop: the critic's credit by hand, warm-up, groups of one, k1 per token, checkpoints, learning."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from gymnasium.vector import AutoresetMode
from torch import Tensor

from grpo_agents import config as configs
from grpo_agents.advantages import whitened
from grpo_agents.collect import Episode
from grpo_agents.config import Objective, TrainConfig
from grpo_agents.credit import Credit, UnusableBatchError, no_strata
from grpo_agents.critic import make_critic
from grpo_agents.lesson import Drawn
from grpo_agents.policy import Policy
from grpo_agents.ppo import PPO, CriticCredit
from grpo_agents.rollout import Trajectory
from tests.agents.foreign_envs import COUNTDOWN, Word, vector
from tests.agents.lessons import batch, step, strata_of, trajectory_of
from tests.agents.runs import babbler, identical, learn, log, new_run, short, weights

KINDS = ["shared", "separate"]


def ppo(**changes: Any) -> TrainConfig:
    """Return a short PPO config."""
    return short(**{"algo": "ppo", **changes})


def targets(found: Credit) -> Tensor:
    """Return what the critic is to learn."""
    values = found.targets
    assert values is not None
    return values


def credit(policy: Policy, episodes: Any, penalties: Any = None, critic: Any = None, **options: Any) -> Credit:
    config = ppo(critic={"whiten": False, **options})
    of = CriticCredit(critic or make_critic(config.critic.kind, policy), config.critic, config)
    rewards = torch.tensor([e.reward if e.valid else 0.0 for e in episodes], dtype=torch.float64)
    return of(episodes, Drawn.of(episodes), rewards, penalties, no_strata(len(episodes), Objective()))


class Parity(Word):
    """What an answer earns stands in the prompt: its number is even or not."""

    def reset(self, **kwargs: Any) -> tuple[str, dict[str, Any]]:
        text, info = super().reset(**kwargs)
        self.paid = float(int(text.split()[1]) % 2)
        return ("odd " if self.paid else "even ") * 2, info

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        observation, _, terminated, truncated, info = super().step(action)
        return observation, self.paid, terminated, truncated, info


@pytest.fixture(scope="module")
def policy() -> Policy:
    return babbler()


@pytest.fixture(scope="module")
def episodes(policy) -> Any:
    """Rollouts of several turns and of unequal lengths; one row abstains."""
    rows = batch(policy)
    rows[3].valid = False
    return rows


def paid_on(episode: Episode) -> list[float]:
    """What is paid on each own token, by the places where the environment speaks: a turn's reward on its last one."""
    trajectory = trajectory_of(episode)
    tokens: list[float] = []
    rewards = iter(episode.paid)
    for own, following in zip(trajectory.own, [*trajectory.own[1:], False], strict=True):
        if own:
            tokens.append(0.0 if following else next(rewards))
    return tokens


def worth(episodes: list[Episode], discount: float) -> Tensor:
    """Discounted sum of what is paid from each own token on, row by row, by the definition."""
    found = []
    for row in Drawn.of(episodes).rows:
        paid = paid_on(episodes[row])
        found += [
            sum(paid[at] * discount ** (at - place) for at in range(place, len(paid))) for place in range(len(paid))
        ]
    return torch.tensor(found, dtype=torch.float64)


class TestCredit:
    def test_the_first_advantages_are_the_returns(self, policy, episodes):
        """A critic begins at 0 everywhere: with lambda and gamma 1 a token is worth what its row earns from it on."""
        drawn = Drawn.of(episodes)
        found = credit(policy, episodes)
        earned = worth(episodes, 1.0)

        assert len(set(drawn.lengths.tolist())) > 2
        assert any(not all(e.trajectory.own) for e in episodes)
        assert torch.allclose(found.advantages.double(), earned, atol=1e-6)
        assert torch.equal(found.advantages, targets(found))
        assert found.values is not None
        assert not found.values.any()
        means = drawn.per_row(earned) / drawn.lengths
        assert [found.per_row[row] for row in drawn.rows] == pytest.approx(means.tolist())
        assert found.per_row[3] == 0.0

    def test_each_turns_reward_comes_with_its_last_own_token(self, policy, episodes):
        """With gamma 0 a token is worth what is paid on it, and nothing else."""
        found = credit(policy, episodes, discount=0.0)
        paid = torch.tensor([p for row in Drawn.of(episodes).rows for p in paid_on(episodes[row])])

        assert 1 < (paid != 0).sum() < len(paid)
        assert torch.allclose(found.advantages, paid, atol=1e-6)

    def test_a_reward_of_a_turn_without_tokens_and_the_penalty_come_with_the_last_token(self, policy):
        """A row whose context was full goes on saying nothing; the environment may still pay."""
        rows = [Episode(0, "?", Trajectory([1], [5, 6, 7], [True, False, True], [-1.0, 0.0, -1.0]))]
        rows[0].paid, rows[0].reward = [0.5, 0.25, 0.125], 0.875
        shaped = torch.tensor([0.875 - 0.1], dtype=torch.float64)
        config = ppo(critic={"discount": 0.0, "whiten": False})
        of = CriticCredit(make_critic("shared", policy), config.critic, config)
        found = of(rows, Drawn.of(rows), shaped, None, no_strata(1, Objective()))

        assert found.advantages.tolist() == pytest.approx([0.5, 0.275])

    def test_the_environments_tokens_between_two_turns_are_no_steps(self, policy, episodes):
        """At gamma 0.5: half of it one own token before, however much was said between."""
        found = credit(policy, episodes, discount=0.5)

        assert torch.allclose(found.advantages.double(), worth(episodes, 0.5), atol=1e-6)

    def test_k1_is_paid_token_by_token(self, policy, episodes):
        drawn = Drawn.of(episodes)
        penalties = torch.arange(len(drawn.place)) / 100
        plain = credit(policy, episodes, discount=0.0)
        found = credit(policy, episodes, penalties, discount=0.0)

        assert torch.allclose(plain.advantages - found.advantages, penalties, atol=1e-6)

    def test_strata_weigh_advantages_and_whitening_is_over_tokens(self, policy, episodes):
        drawn = Drawn.of(episodes)
        config = ppo()
        strata = strata_of(episodes, Objective(), weights={0: 2.0, 1: 0.0})
        rewards = torch.tensor([e.reward for e in episodes], dtype=torch.float64)
        of = CriticCredit(make_critic("shared", policy), config.critic, config)
        found = of(episodes, drawn, rewards, None, strata)
        expected = whitened(worth(episodes, 1.0)) * drawn.spread(strata.weights)

        assert torch.allclose(found.advantages, expected.float(), atol=1e-5)
        assert torch.allclose(targets(found), worth(episodes, 1.0).float(), atol=1e-6)  # neither whitened nor weighted

    def test_the_lambda_of_advantages_and_that_of_targets_are_two(self, policy, episodes):
        critic = make_critic("shared", policy)
        with torch.no_grad():
            next(critic.parameters()).normal_(generator=torch.Generator().manual_seed(0))
        low = credit(policy, episodes, critic=critic, gae_lambda=0.0)
        high = credit(policy, episodes, critic=critic, gae_lambda=1.0, critic_lambda=0.0)

        assert torch.equal(targets(low), targets(credit(policy, episodes, critic=critic)))
        assert not torch.allclose(low.advantages, high.advantages, atol=0.01)
        assert not torch.allclose(targets(low), targets(high), atol=0.01)
        adaptive = credit(policy, episodes, critic=critic, length_adaptive=1e-3)  # every row is short: lambda 0
        assert torch.allclose(adaptive.advantages, low.advantages)

    def test_a_critic_that_is_not_finite_refuses_the_batch(self, policy, episodes):
        critic = make_critic("shared", policy)
        with torch.no_grad():
            next(critic.parameters()).fill_(math.nan)
        with pytest.raises(UnusableBatchError, match="the critic's values are not finite"):
            credit(policy, episodes, critic=critic)
        config = ppo()
        own = babbler()
        before = weights(own)
        result = step(own, episodes, critic=critic, estimator=CriticCredit(critic, config.critic, config))
        assert (result.refused, result.skipped) == (True, "the critic's values are not finite")
        assert identical(weights(own), before)

    def test_a_batch_without_a_valid_row_is_no_fault(self, policy, episodes):
        rows = batch(policy)
        for episode in rows:
            episode.valid = False
        critic = make_critic("shared", policy)
        result = step(policy, rows, critic=critic, estimator=CriticCredit(critic, configs.Critic(), ppo()))

        assert (result.refused, result.trained_tokens) == (False, 0)


class TestRuns:
    @pytest.mark.parametrize("kind", KINDS)
    def test_it_learns_what_it_is_rewarded_for(self, kind):
        config = ppo(steps=20, prompts=12, group_size=1, optimisation={"learning_rate": 1e-2}, critic={"kind": kind})
        metrics = learn(babbler(), config, vector(Word, 12, AutoresetMode.NEXT_STEP))
        rewards = [m["reward"] for m in metrics]

        assert all(m["update/skipped"] == "" for m in metrics)
        assert sum(rewards[-5:]) / 5 > sum(rewards[:5]) / 5 + 0.15

    @pytest.mark.parametrize("kind", KINDS)
    def test_the_critic_learns_to_explain_the_returns(self, kind):
        config = ppo(steps=40, critic={"kind": kind, "learning_rate": 1e-2, "value_clip": 0.0, "warmup_steps": 39})
        metrics = learn(babbler(), config, vector(Parity, 12, AutoresetMode.SAME_STEP))

        errors = [m["value/error"] for m in metrics]
        assert sum(errors[-5:]) < 0.5 * sum(errors[:5])
        explained = [m["value/explained_variance"] for m in metrics[-8:]]
        assert max(explained) > 0.5
        assert metrics[0]["value/mean"] == 0.0 != metrics[-1]["value/mean"]

    @pytest.mark.parametrize("kind", KINDS)
    def test_in_the_warm_up_the_policys_weights_stay_bit_for_bit(self, kind):
        """Of a shared critic the head alone learns then, and weight decay does not reach what rests."""
        ends = []
        config = ppo(
            steps=3, critic={"kind": kind, "warmup_steps": 2}, optimisation={"weight_decay": 0.5, "warmup_steps": 0}
        )
        agent: PPO
        agent = PPO(
            policy := babbler(),
            vector(Word, 12, AutoresetMode.NEXT_STEP),
            config,
            on_step=lambda m: ends.append(
                (weights(policy), float(next(agent.critic.parameters()).detach().abs().sum()), m)
            ),
        )
        first = next(agent.critic.parameters()).detach().abs().sum()
        agent.learn()

        assert identical(ends[0][0], weights(babbler()))
        assert identical(ends[1][0], weights(babbler()))
        assert not identical(ends[2][0], weights(babbler()))
        assert ends[1][1] != ends[0][1] != float(first)
        assert all(m["grad_norm"] > 0 and m["update/skipped"] == "" for _, _, m in ends)

    def test_every_row_teaches_also_where_all_rewards_are_equal(self):
        metrics = learn(babbler(), ppo(), vector(Word, 12, AutoresetMode.NEXT_STEP, odd_reward=0.0))

        assert all(m["tokens/trained"] == m["tokens/sampled"] for m in metrics)

    def test_a_kl_term_in_the_reward_is_measured_and_k3_in_the_loss_too(self):
        for estimator in ("k1", "k3"):
            config = ppo(steps=3, objective={"kl_coef": 0.1, "kl_estimator": estimator})
            metrics = learn(babbler(), config, vector(Word, 12, AutoresetMode.NEXT_STEP))
            assert metrics[0]["kl"] == pytest.approx(0.0, abs=1e-5)
            assert metrics[-1]["kl"] != metrics[0]["kl"]

    def test_rates_of_policy_and_critic_are_their_own_and_warm_up_together(self):
        config = ppo(steps=1, optimisation={"warmup_steps": 4, "learning_rate": 0.004}, critic={"learning_rate": 0.4})
        agent = PPO(babbler(), vector(Word, 12, AutoresetMode.NEXT_STEP), config)
        agent.learn()

        assert [group["lr"] for group in agent.optimizer.param_groups] == pytest.approx([0.001, 0.1])


class TestResume:
    @pytest.mark.parametrize("kind", KINDS)
    def test_the_critic_is_in_the_checkpoint_and_the_run_goes_on_bit_for_bit(self, kind, tmp_path):
        config = ppo(env=COUNTDOWN, steps=4, critic={"kind": kind, "warmup_steps": 1})
        whole = PPO(policy := babbler(), None, config, folder=new_run(tmp_path / "whole", config))
        whole.learn()
        folder = new_run(tmp_path / "run", config)
        assert folder is not None
        PPO(babbler(), None, ppo(env=COUNTDOWN, steps=2, critic=config.critic), folder=folder).learn()
        again = PPO(Policy.load(folder.checkpoint(), device="cpu"), None, config, folder=folder)
        again.resume()
        again.learn()

        assert identical(weights(again.policy), weights(policy))
        assert identical(again.critic.state_dict(), whole.critic.state_dict())
        assert log(tmp_path / "run") == log(tmp_path / "whole")
        assert float(sum(v.abs().sum() for k, v in again.critic.state_dict().items() if "head" in k)) > 0
