"""Episodes of several turns: what is paid when, what a turn is credited with, and gradients against a batch by hand."""

from __future__ import annotations

import math
import time
from typing import Any

import gymnasium
import pytest
import torch
from gymnasium.vector import AutoresetMode, VectorEnv
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from grpo_agents.advantages import compute_advantages
from grpo_agents.collect import OUT_OF_TIME, Episode, collect
from grpo_agents.config import Objective, Sampling, Selection, TrainConfig
from grpo_agents.credit import GroupCredit, lively_groups, no_strata, shaped_rewards
from grpo_agents.environments import EnvChoice
from grpo_agents.lesson import Drawn
from grpo_agents.policy import Policy
from grpo_agents.rollout import Completion, Trajectory
from grpo_agents.turn_credit import TurnCredit
from grpo_agents.turns import episode_return, returns_from, turn_returns
from grpo_gym.errors import InvalidValueError
from tests.agents.foreign_envs import Countdown, Word, vector
from tests.agents.lessons import close, gradients_of, strata_of, trajectory_of
from tests.agents.runs import babbler, gradient, learn, short
from tests.agents.scripted import scripted
from tests.agents.tiny_models import alone

GROUP = 3
PAYMENTS = st.lists(st.floats(-5, 5), min_size=1, max_size=6)


def play(policy: Policy, env: VectorEnv[Any, Any, Any], groups: int = 2, **sampling: Any) -> list[Episode]:
    generator = torch.Generator().manual_seed(4)
    try:
        return collect(policy, env, range(groups), GROUP, Sampling(**{"max_tokens": 8, **sampling}), generator)
    finally:
        env.close()


def row(group: int, turns: list[int], paid: list[float]) -> Episode:
    """An episode with so many tokens and so much pay in each turn; two words of the environment in between."""
    trajectory = Trajectory([1, 2])
    for place, length in enumerate(turns):
        if place:
            trajectory.add_message([3, 4])
        trajectory.add_turn(Completion([7] * length, [-1.0] * length, True))
    return Episode(group, "?", trajectory, ["x"] * len(paid), reward=math.fsum(paid), paid=list(paid))


def by_turn(rows: list[Episode], selection: Selection | None = None, **objective: Any) -> list[list[float]]:
    """The advantage of each turn, row by row; each of its tokens must have the same."""
    drawn = Drawn.of(rows)
    of = TurnCredit(Objective(credit="turn", **{"scale": "none", **objective}), selection or Selection(), 8)
    credit = of(rows, drawn, torch.zeros(len(rows)), None, no_strata(len(rows), Objective()))
    found = []
    values = iter(credit.advantages.tolist())
    for number in drawn.rows:
        turns = [[next(values) for _ in range(length)] for length in rows[number].turn_lengths]
        assert all(len(set(turn)) == 1 for turn in turns)
        found.append([turn[0] for turn in turns])
        means = sum(sum(turn) for turn in turns) / rows[number].length
        assert credit.per_row[number] == pytest.approx(means, abs=1e-6)
    return found


class TestReturns:
    @given(PAYMENTS, st.floats(0, 1))
    def test_they_are_the_discounted_sum_of_what_follows(self, paid, discount):
        found = returns_from(paid, discount)
        expected = [sum(paid[k] * discount ** (k - t) for k in range(t, len(paid))) for t in range(len(paid))]

        assert found == pytest.approx(expected, abs=1e-9)

    def test_an_episodes_return_is_its_reward_without_a_discount_and_sooner_is_worth_more_with_one(self):
        soon, late = row(0, [1, 1, 1], [1.0, 0.0, 0.0]), row(0, [1, 1, 1], [0.0, 0.0, 1.0])

        assert [episode_return(e, 1.0) for e in (soon, late)] == [1.0, 1.0]
        assert [episode_return(e, 0.5) for e in (soon, late)] == [1.0, 0.25]
        assert shaped_rewards([soon, late], Selection(), 8, 0.5).tolist() == [1.0, 0.25]

    def test_a_reward_without_payments_came_with_the_last_turn(self):
        episode = row(0, [2, 3], [0.0, 1.0])
        episode.paid = []

        assert turn_returns(episode, 0.5) == [0.5, 1.0]

    def test_what_is_paid_for_silence_counts_for_the_last_turn_that_has_tokens(self):
        assert turn_returns(row(0, [2, 3], [0.0, 1.0, 4.0]), 0.5) == [0.5 + 1.0, 1.0 + 2.0]


class TestTurnCredit:
    def test_a_turn_is_compared_with_the_same_turn_of_its_group(self):
        rows = [row(0, [2, 1], [0.5, 1.0]), row(0, [1, 3], [0.0, 0.0]), row(0, [4], [1.0])]

        # turn 0: returns 1.5, 0, 1, mean 5/6; turn 1: returns 1, 0, mean 1/2
        expected = [[1.5 - 5 / 6, 0.5], [-5 / 6, -0.5], [1 / 6]]
        assert by_turn(rows) == [pytest.approx(turns) for turns in expected]

    def test_what_was_paid_before_a_turn_is_not_to_its_credit(self):
        rows = [row(0, [1, 1], [1.0, 0.0]), row(0, [1, 1], [0.0, 0.0])]

        assert by_turn(rows) == [[0.5, 0.0], [-0.5, 0.0]]
        assert GroupCredit(Objective(scale="none"))(
            rows, Drawn.of(rows), torch.tensor([1.0, 0.0]), None, no_strata(2, Objective())
        ).advantages.tolist() == [0.5, 0.5, -0.5, -0.5]

    def test_a_turn_that_one_row_alone_has_reached_teaches_nothing(self):
        assert by_turn([row(0, [1, 1], [0.0, 1.0]), row(0, [1], [0.0])])[0][1] == 0.0

    def test_a_discount_makes_the_sooner_success_the_better(self):
        rows = [row(0, [1, 1], [0.0, 1.0]), row(0, [1], [1.0])]

        assert by_turn(rows)[0][0] == by_turn(rows)[1][0] == 0.0
        assert by_turn(rows, turn_discount=0.5)[0][0] == -0.25
        assert by_turn(rows, turn_discount=0.5)[1][0] == 0.25

    @pytest.mark.parametrize("scale", ["group", "batch", "whiten", "none"])
    @pytest.mark.parametrize("baseline", ["mean", "leave_one_out"])
    def test_on_single_turns_it_is_the_credit_of_the_episode(self, scale, baseline):
        rows = [row(place // 3, [1 + place], [float(place % 4)]) for place in range(6)]
        expected = compute_advantages(
            torch.tensor([e.reward for e in rows], dtype=torch.float64),
            [e.group for e in rows],
            scale=scale,
            baseline=baseline,
        )

        found = [turns[0] for turns in by_turn(rows, scale=scale, baseline=baseline)]
        assert found == pytest.approx(expected.tolist(), abs=1e-6)

    def test_a_turn_pays_for_its_own_length(self):
        rows = [row(0, [8, 1], [0.0, 1.0]), row(0, [1, 1], [0.0, 1.0])]
        selection = Selection(overlong_buffer=4, overlong_penalty=1.0)

        assert by_turn(rows, selection) == [[-0.5, 0.0], [0.5, 0.0]]
        assert lively_groups(rows, Objective(credit="turn"), selection, 8) == [0]
        assert lively_groups(rows, Objective(credit="turn"), Selection(), 8) == []

    def test_strata_weigh_turns_and_are_compared_turn_by_turn(self):
        rows = [row(group, [1, 1], [0.0, float(group)]) for group in range(3) for _ in range(2)]
        objective = Objective(credit="turn", baseline="stratum", scale="none")
        strata = strata_of(rows, objective, names=dict.fromkeys(range(3), "a"), weights={0: 2.0})
        found = TurnCredit(objective, Selection(), 8)(rows, Drawn.of(rows), torch.zeros(6), None, strata)

        # the other two prompts' mean return, which is the same at both turns
        assert found.advantages.reshape(6, 2)[:, 0].tolist() == [-3.0, -3.0, 0.0, 0.0, 1.5, 1.5]
        assert torch.equal(found.advantages.reshape(6, 2)[:, 0], found.advantages.reshape(6, 2)[:, 1])

    def test_a_kl_in_the_reward_is_charged_to_the_turns_before_it_and_to_its_own(self):
        rows = [row(0, [1, 1], [0.0, 0.0]), row(0, [1, 1], [0.0, 0.0])]
        penalties = torch.tensor([0.0, 0.5, 0.25, 0.0])
        of = TurnCredit(Objective(credit="turn", scale="none"), Selection(), 8)
        found = of(rows, Drawn.of(rows), torch.zeros(2), penalties, no_strata(2, Objective()))

        assert found.advantages.tolist() == pytest.approx([-0.125, -0.25, 0.125, 0.25])

    def test_components_cannot_be_compared_by_turn(self):
        with pytest.raises(InvalidValueError, match="the components of a reward come with the last turn"):
            TrainConfig(objective=Objective(credit="turn", rewards="normalise_then_sum"))

    def test_a_run_with_it_learns_and_says_what_it_saw(self):
        config = short(steps=12, prompts=6, group_size=4, objective={"credit": "turn", "turn_discount": 0.9})
        metrics = learn(babbler(context=512), config, vector(Countdown, 24, AutoresetMode.NEXT_STEP))

        assert all(m["grad_norm"] > 0 for m in metrics)
        assert sum(m["reward"] for m in metrics[-4:]) > sum(m["reward"] for m in metrics[:4])
        assert metrics[0]["turns"] > 1


class TestLimits:
    def test_every_turns_reward_is_kept_and_sums_to_the_episodes(self):
        episodes = play(babbler(context=512), vector(Countdown, 6, AutoresetMode.SAME_STEP))

        assert {len(e.paid) for e in episodes} > {1}
        for episode in episodes:
            assert len(episode.paid) == len(episode.texts) == len(episode.turn_lengths)
            assert sum(episode.paid) == pytest.approx(episode.reward)
            assert sum(episode.turn_lengths) == episode.length

    @pytest.mark.parametrize("mode", list(AutoresetMode))
    def test_a_row_out_of_turns_stops_with_what_it_was_paid(self, mode):
        whole = play(babbler(context=512), vector(Countdown, 6, mode))
        cut = play(babbler(context=512), vector(Countdown, 6, mode), max_turns=2)

        assert max(len(e.texts) for e in whole) > 2 == max(len(e.texts) for e in cut)
        for full, episode in zip(whole, cut, strict=True):
            assert episode.texts == full.texts[:2]
            assert episode.paid == full.paid[:2]
            assert episode.valid
            assert trajectory_of(episode).own[-1]

    def test_an_environment_that_never_ends_an_episode_does_not_hold_up_the_run(self, monkeypatch):
        class Endless(Word):
            def step(self, action: str) -> Any:
                return "more", 0.5, False, False, {}

        monkeypatch.setattr("grpo_agents.collect.MOST_TURNS", 40)
        episodes = play(babbler(context=64), vector(Endless, 3, AutoresetMode.DISABLED), 1)

        assert {len(e.texts) for e in episodes} == {40}
        assert all(e.valid and e.reward == 20.0 and e.texts[-1] == "" for e in episodes)

    def test_a_batch_out_of_time_leaves_out_the_rows_that_still_play(self):
        class Slow(Countdown):
            def step(self, action: str) -> Any:
                time.sleep(0.05)
                return super().step(action)

        episodes = play(babbler(context=512), vector(Slow, 6, AutoresetMode.NEXT_STEP), max_seconds=1e-3)

        done = [e for e in episodes if not e.skipped]
        assert {e.skipped for e in episodes} == {"", OUT_OF_TIME}
        assert all(len(e.texts) == 1 for e in episodes)
        assert all(e.valid for e in done)
        assert not any(e.valid for e in episodes if e.skipped)

    def test_single_turns_are_never_out_of_time(self):
        episodes = play(babbler(), vector(Word, 6, AutoresetMode.NEXT_STEP), max_seconds=1e-9)

        assert all(e.valid and not e.skipped for e in episodes)

    def test_a_run_counts_rows_that_are_out_of_time(self):
        config = short(steps=1, sampling={"max_seconds": 1e-9})
        (metrics,) = learn(babbler(context=512), config, vector(Countdown, 12, AutoresetMode.NEXT_STEP))

        assert metrics[f"skipped/{OUT_OF_TIME}"] == metrics["rows/skipped"] > 0


def tool_user(context: str, place: int) -> str:
    """Calculate a different number of times, by the place in the group, then answer."""
    number = place % GROUP
    if context.count("<calc>") - 1 < number and context.count("error") == 0:  # one stands in the instructions
        return f"<calc>{7 + place} * {'1' * (number + 1)}</calc>"
    return rf"so \boxed{{{place}}}"


def guesser(context: str, place: int) -> str:
    """Rows guess unlike numbers in words of unlike length, so that they end at different turns."""
    low = context.split("from ", 1)[1].split(" ", 1)[0]
    return f"I guess {int(low) + (place + context.count('guess') - 1) % 4}" + "." * place


@pytest.fixture(scope="module", params=[("grpo/MathTool-v0", tool_user), ("grpo/Logic.GuessNumber-v0", guesser)])
def dialogues(request) -> tuple[Policy, list[Episode]]:
    """Episodes of a tool and of a game: two groups, several turns of unequal lengths; double, for gradients."""
    identifier, speak = request.param
    policy = scripted(speak, double=True)
    env = EnvChoice(identifier, {"tier": 0}).vector(2 * GROUP, GROUP)
    episodes = play(policy, env, max_tokens=512)
    for place, episode in enumerate(episodes):  # so that the groups have a spread, whatever was answered
        episode.reward, episode.paid[-1] = float(place % 2), float(place % 2)
    return policy, episodes


class TestDialogues:
    def test_rows_have_several_turns_of_unequal_lengths(self, dialogues):
        _, episodes = dialogues

        assert len({len(e.turn_lengths) for e in episodes}) > 1
        assert max(len(e.turn_lengths) for e in episodes) > 1
        assert len({length for e in episodes for length in e.turn_lengths}) > 2

    def test_log_probs_are_those_of_a_plain_forward_over_the_same_ids(self, dialogues):
        policy, episodes = dialogues
        for episode in episodes:
            trajectory = trajectory_of(episode)
            plain = alone(policy.model, trajectory.prompt, trajectory.tail)[torch.tensor(trajectory.own)]
            (own,) = [policy.logprobs.frozen(Drawn.of([episode]).groups)]
            assert torch.allclose(plain.float(), own, atol=1e-4)
            sampled = [p for p, mine in zip(trajectory.logprobs, trajectory.own, strict=True) if mine]
            assert torch.allclose(plain.float(), torch.tensor(sampled), atol=1e-4)

    def test_what_the_policy_said_stands_in_the_row_token_by_token_and_nothing_else_is_its_own(self, dialogues):
        policy, episodes = dialogues
        for episode in episodes:
            trajectory = trajectory_of(episode)
            own = [token for token, mine in zip(trajectory.tail, trajectory.own, strict=True) if mine]
            turns = [own[sum(episode.turn_lengths[:k]) :][:n] for k, n in enumerate(episode.turn_lengths)]
            assert [policy.decode(turn) for turn in turns] == episode.texts
            others = [token for token, mine in zip(trajectory.tail, trajectory.own, strict=True) if not mine]
            assert not set(others) & policy.eos_ids

    @pytest.mark.parametrize("credit", ["episode", "turn"])
    def test_the_gradient_is_that_of_a_batch_by_hand(self, dialogues, credit):
        """Mean over own tokens of advantage times the slope of the log-prob: at ratio 1 that is all of the loss."""
        policy, episodes = dialogues
        objective = Objective(credit=credit, turn_discount=0.5, scale="none")
        (found,), _, _ = gradients_of(policy, episodes, objective, temperature=1.0, max_tokens=512)

        assert close(found, self.by_hand(policy, episodes, objective))

    def test_it_does_not_know_how_rows_were_cut_into_microbatches(self, dialogues):
        policy, episodes = dialogues
        whole, cut = (
            gradients_of(policy, episodes, Objective(), budget, temperature=1.0, max_tokens=512)[0][0]
            for budget in (10**6, 64)
        )

        assert close(whole, cut)

    @staticmethod
    def by_hand(policy: Policy, episodes: list[Episode], objective: Objective) -> Tensor:
        policy.model.zero_grad()
        total = sum(e.length for e in episodes)
        for episode in episodes:
            trajectory = trajectory_of(episode)
            logits = policy.model(input_ids=torch.tensor([trajectory.context])).logits[0].double()
            own = 0
            for turn, length in enumerate(episode.turn_lengths):
                advantage = TestDialogues.advantage(episodes, episode, turn, objective)
                for place in [at for at, mine in enumerate(trajectory.own) if mine][own : own + length]:
                    at = len(trajectory.prompt) + place
                    loss = -advantage * logits[at - 1].log_softmax(-1)[trajectory.context[at]] / total
                    loss.backward(retain_graph=True)
                own += length
        return gradient(policy)

    @staticmethod
    def advantage(episodes: list[Episode], episode: Episode, turn: int, objective: Objective) -> float:
        group = [other for other in episodes if other.group == episode.group]
        at = turn if objective.credit == "turn" else 0
        present = [other for other in group if len(other.turn_lengths) > at]
        if len(present) < 2:
            return 0.0

        def worth(of: Episode) -> float:
            return sum(of.paid[k] * 0.5 ** (k - at) for k in range(at, len(of.paid)))

        return worth(episode) - sum(map(worth, present)) / len(present)


class TestForeignTexts:
    def test_row_39_special_tokens_reach_the_environment_when_asked(self):
        """Some policies think between special tokens; a reward may want to see them."""
        heard: list[str] = []

        class Listener(Word):
            def step(self, action: str) -> Any:
                heard.append(action)
                return super().step(action)

        def thinker(context: str, place: int) -> str:
            return "<|system|>hm<|user|>4"

        for kind in ("strip", "keep"):
            play(scripted(thinker), vector(Listener, 3, AutoresetMode.NEXT_STEP), 1, special_tokens=kind)
        assert heard == ["hm4"] * 3 + ["<|system|>hm<|user|>4"] * 3

    def test_an_environment_that_says_nothing_between_turns_parts_them_all_the_same(self):
        class Silent(Countdown):
            def step(self, action: str) -> Any:
                _, *rest = super().step(action)
                return ("", *rest)

        episodes = play(babbler(context=512), vector(Silent, 6, AutoresetMode.DISABLED))

        assert max(len(e.turn_lengths) for e in episodes) > 1
        for episode in episodes:
            assert len(episode.turn_lengths) == len(episode.texts)

    def test_gym_make_gives_the_same_dialogue_as_by_hand(self):
        policy = scripted(guesser)
        (first, *_) = play(policy, EnvChoice("grpo/Logic.GuessNumber-v0", {"tier": 0}).vector(GROUP, GROUP), 1)
        env = gymnasium.make("grpo/Logic.GuessNumber-v0", tier=0)
        env.reset(seed=0)
        paid = [float(env.step(text)[1]) for text in first.texts]

        assert paid == first.paid
