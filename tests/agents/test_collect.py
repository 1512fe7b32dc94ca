"""Episodes: the same ones from every kind of Gymnasium vector environment, and tokens exactly as they were drawn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode, VectorEnv

from grpo_agents.collect import NOT_FINITE, TOO_LONG, Episode, collect, none_fits
from grpo_agents.config import Evaluation, Sampling, TrainConfig
from grpo_agents.environments import EnvChoice, EnvironmentRaisedError, check_spaces, distinct_seeds, reset_rows
from grpo_agents.grpo import GRPO
from grpo_agents.policy import Policy
from grpo_agents.rollout import Completion
from grpo_gym.errors import GrpoGymError, InvalidValueError, UnknownNameError
from grpo_gym.verdict import Verdict
from tests.agents.foreign_envs import COUNTDOWN, WORD, Countdown, Liar, Numbers, Word, processes, vector
from tests.agents.runs import babbler

MODES = list(AutoresetMode)
SEEDS = [11, 12, 13]
GROUP = 4
ROWS = len(SEEDS) * GROUP


def play(env: VectorEnv[Any, Any, Any], policy: Policy | None = None, **changes: Any) -> list[Episode]:
    """Collect one batch and close the environment."""
    sampling = Sampling(**{"max_tokens": 6, **changes.pop("sampling", {})})
    given = {"seeds": SEEDS, "group_size": GROUP, "generator": torch.Generator().manual_seed(5), **changes}
    try:
        return collect(policy or babbler(), env, sampling=sampling, **given)
    finally:
        env.close()


def replayed(env: gymnasium.Env[str, str], seed: int, texts: list[str]) -> tuple[str, float, dict[str, Any], bool]:
    """Play one episode of a single environment by hand: prompt, reward, info, and whether the last text ends it."""
    prompt, info = env.reset(seed=seed)
    total, over = 0.0, False
    for text in texts:
        assert not over
        _, reward, terminated, truncated, news = env.step(text)
        total, over = total + float(reward), terminated or truncated
        info = info | news
    return prompt, total, info, over


def seen(episodes: list[Episode]) -> list[tuple[Any, ...]]:
    """All that a batch says, in a form that compares."""
    trajectories = [e.trajectory for e in episodes]
    return [
        (e.group, e.prompt, e.texts, e.reward, e.valid, e.info, t and (t.prompt, t.tail, t.own, t.logprobs, t.ended))
        for e, t in zip(episodes, trajectories, strict=True)
    ]


@pytest.fixture(scope="module")
def batches() -> dict[tuple[str, AutoresetMode], list[Episode]]:
    return {(kind.__name__, mode): play(vector(kind, ROWS, mode)) for kind in (Word, Countdown) for mode in MODES}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", [Word, Countdown])
def test_an_episode_is_what_the_single_environment_gives_for_the_same_texts(kind, mode, batches):
    for row, episode in enumerate(batches[kind.__name__, mode]):
        prompt, reward, info, over = replayed(kind(), SEEDS[row // GROUP], episode.texts)

        assert over
        assert (episode.prompt, episode.info) == (prompt, info)
        assert episode.reward == pytest.approx(reward, abs=1e-12)


@pytest.mark.parametrize("kind", [Word, Countdown])
def test_every_autoreset_mode_gives_the_same_episodes(kind, batches):
    first, *others = [seen(batches[kind.__name__, mode]) for mode in MODES]

    assert all(other == first for other in others)


def test_rows_of_a_group_finish_at_different_turns(batches):
    turns = [len(episode.texts) for episode in batches["Countdown", AutoresetMode.DISABLED]]

    assert len(set(turns[:GROUP])) > 1
    assert {1, 4} <= set(turns)


@pytest.mark.parametrize("mode", MODES)
def test_worker_processes_give_the_same_episodes(mode, batches):
    episodes = play(processes(Countdown, GROUP, mode), seeds=SEEDS[:1])
    here = play(vector(Countdown, GROUP, mode), seeds=SEEDS[:1])

    assert seen(episodes) == seen(here)


@pytest.mark.parametrize(("identifier", "kind"), [(WORD, "Word"), (COUNTDOWN, "Countdown")])
def test_a_registered_id_of_others_gives_the_same_episodes(identifier, kind, batches):
    assert seen(play(EnvChoice(identifier).vector(ROWS, GROUP))) == seen(batches[kind, AutoresetMode.NEXT_STEP])


def test_ours_gives_the_same_episodes_as_gymnasiums_own_vectoring_of_it():
    ours = play(EnvChoice("grpo/Logic.GuessNumber-v0").vector(ROWS, GROUP))
    sync = gymnasium.make_vec("grpo/Logic.GuessNumber-v0", num_envs=ROWS, vectorization_mode="sync")

    assert seen(play(sync)) == seen(ours)


class TestWhatCannotBeTrainedOn:
    def test_equal_seeds_with_different_prompts_are_told(self):
        with pytest.raises(
            GrpoGymError, match="equal seeds gave different prompts, so no group can be formed: the env"
        ):
            play(vector(Word, ROWS, AutoresetMode.NEXT_STEP, seeded=False))

    def test_observations_that_are_no_texts_are_told(self):
        with pytest.raises(GrpoGymError, match="observations must be texts, got int; wrap the environment"):
            play(vector(Liar, ROWS, AutoresetMode.NEXT_STEP))

    def test_later_observations_that_are_no_texts_are_told_as_well(self):
        class Turncoat(Countdown):
            def step(self, action: str) -> Any:
                return (7, *super().step(action)[1:])

        with pytest.raises(GrpoGymError, match="observations must be texts, got int; wrap the environment"):
            play(vector(Turncoat, ROWS, AutoresetMode.NEXT_STEP, enough=2.0))

    def test_rows_are_no_environment_option(self):
        with pytest.raises(InvalidValueError, match="env_args cannot set num_envs"):
            EnvChoice("grpo/Math-v0", {"num_envs": 3}).vector(2)
        with pytest.raises(
            UnknownNameError, match=r"unknown environment option 'foo'; known: (?!.*(num_envs|group_size))"
        ):
            EnvChoice("grpo/Math-v0", {"foo": 3}).vector(2)

    def test_spaces_of_numbers_are_told_before_anything_is_played(self):
        with pytest.raises(InvalidValueError, match=r"observations must be texts, but .* space is a Discrete space"):
            EnvChoice("foreign/Numbers-v0").vector(ROWS)
        with pytest.raises(InvalidValueError, match=r"observations must be texts, but .* space is a Discrete space"):
            check_spaces(vector(Numbers, 2, AutoresetMode.NEXT_STEP))

    @pytest.mark.parametrize(
        ("wrong", "right"),
        [("grpo/Mth-v0", "grpo/Math-v0"), ("foreign/Wrod-v0", "foreign/Word-v0"), ("grpo/Math", "grpo/Math-v0")],
    )
    def test_an_unknown_id_names_the_nearest(self, wrong, right):
        with pytest.raises(UnknownNameError, match=f"unknown environment {wrong!r}; did you mean {right!r}"):
            EnvChoice(wrong).vector(2)

    def test_a_module_that_is_not_there_is_told(self):
        with pytest.raises(InvalidValueError, match="cannot import the module of 'no_such_module:foreign/Word-v0'"):
            EnvChoice("no_such_module:foreign/Word-v0").vector(2)

    def test_an_argument_that_the_environment_does_not_take_is_told(self):
        with pytest.raises(InvalidValueError, match=r"cannot make .*Word-v0: .*'colour'"):
            EnvChoice(WORD, {"colour": 1}).vector(2)

    def test_what_the_environment_raises_is_named_and_chained(self):
        with pytest.raises(EnvironmentRaisedError, match="the environment raised ValueError: no good: ") as caught:
            play(vector(Word, ROWS, AutoresetMode.NEXT_STEP, faults="all"))
        assert isinstance(caught.value.__cause__, ValueError)


class TestRowsThatDoNotTeach:
    @pytest.mark.parametrize("reward", [float("nan"), float("inf"), float("-inf"), None])
    def test_a_reward_that_is_no_finite_number_skips_its_row_only(self, reward):
        episodes = play(vector(Word, ROWS, AutoresetMode.NEXT_STEP, odd_reward=reward))
        even = [len(episode.texts[0]) % 2 == 0 for episode in episodes]

        assert 0 < sum(even) < ROWS
        assert [not episode.valid for episode in episodes] == even
        assert [episode.skipped == NOT_FINITE for episode in episodes] == even

    def test_a_vector_environment_that_returns_none_as_reward_is_survived(self):
        class Careless(gymnasium.vector.VectorWrapper[Any, Any, Any, Any, Any]):
            def step(self, actions: Any) -> Any:
                observations, rewards, *rest = super().step(actions)
                return observations, [None, *rewards[1:]], *rest

        episodes = play(Careless(vector(Word, ROWS, AutoresetMode.NEXT_STEP)))

        assert [episode.skipped for episode in episodes] == [NOT_FINITE] + [""] * (ROWS - 1)

    def test_an_abstaining_scorer_takes_out_its_row_without_a_skip(self):
        def moody(response: str, problem: Any) -> Verdict | float:
            return Verdict.abstain("tired") if len(response) % 2 else 1.0

        episodes = play(EnvChoice("grpo/Math.Linear-v0", {"reward": moody}).vector(ROWS, GROUP))
        odd = [len(episode.texts[0]) % 2 == 1 for episode in episodes]

        assert 0 < sum(odd) < ROWS
        assert [not episode.valid for episode in episodes] == odd
        assert not any(episode.skipped for episode in episodes)

    def test_a_group_whose_prompt_is_longer_than_the_context_sits_out(self):
        policy = babbler(context=40)
        episodes = play(vector(Word, ROWS, AutoresetMode.DISABLED, padding=40), policy)
        longer = [len(episode.prompt) > 40 for episode in episodes]

        assert 0 < sum(longer) < ROWS
        for episode, outside in zip(episodes, longer, strict=True):
            assert (episode.skipped == TOO_LONG, episode.trajectory is None, episode.texts == []) == (outside,) * 3
            assert episode.valid is not outside
        assert none_fits(policy, episodes) == ""

    @pytest.mark.parametrize(("context", "fits"), [(12, True), (11, False)])
    def test_a_prompt_fits_when_one_token_of_answer_fits_behind_it(self, context, fits):
        episodes = play(vector(Word, GROUP, AutoresetMode.DISABLED), babbler(context=context), seeds=[11])

        assert episodes[0].prompt == "word 1338"  # 11 tokens with BOS and newline
        assert [episode.length for episode in episodes] == [1] * GROUP if fits else [0] * GROUP

    def test_no_prompt_that_fits_is_told_with_the_numbers(self):
        policy = babbler(context=8)
        episodes = play(vector(Word, ROWS, AutoresetMode.DISABLED), policy)

        assert none_fits(policy, episodes) == (
            "none of the prompts fits the model's context of 8 tokens with room for an answer; the shortest has 11: "
            "shorten the prompts or take a model with a longer context"
        )


class TestTokens:
    @pytest.fixture
    def turns(self) -> tuple[list[list[list[int]]], list[list[Completion]], list[Episode]]:
        """A multi-turn batch, with what the policy read and drew at each turn."""
        policy = babbler(context=512)
        read: list[list[list[int]]] = []
        drawn: list[list[Completion]] = []
        sample = policy.sample

        def spy(prompts: Any, group_size: int = 1, **options: Any) -> list[Completion]:
            completions = sample(prompts, group_size, **options)
            read.append([list(prompt) for prompt in prompts for _ in range(group_size)])
            drawn.append(completions)
            return completions

        policy.sample = spy  # type: ignore[method-assign]  # a test's spy
        return read, drawn, play(EnvChoice("grpo/Logic.GuessNumber-v0").vector(ROWS, GROUP), policy)

    def test_a_later_turn_reads_the_exact_tokens_of_the_earlier_ones(self, turns):
        read, drawn, _ = turns

        assert len(read) == 10
        assert all(len(rows) == ROWS for rows in read)
        for turn in range(1, len(read)):
            for before, said, now in zip(read[turn - 1], drawn[turn - 1], read[turn], strict=True):
                assert now[: len(before) + len(said.ids)] == before + said.ids
                assert len(now) > len(before) + len(said.ids)

    def test_a_trajectory_marks_what_was_drawn_and_ends_with_it(self, turns):
        _, drawn, episodes = turns

        for row, episode in enumerate(episodes):
            trajectory = episode.trajectory
            assert trajectory is not None
            own = [token for token, mine in zip(trajectory.tail, trajectory.own, strict=True) if mine]
            assert own == [token for turn in drawn for token in turn[row].ids]
            assert trajectory.own[-1]
            assert all(mine or p == 0.0 for mine, p in zip(trajectory.own, trajectory.logprobs, strict=True))

    def test_texts_are_the_decoded_tokens(self, turns):
        _, drawn, episodes = turns
        policy = babbler()

        for row, episode in enumerate(episodes):
            assert episode.texts == [policy.decode(turn[row].ids) for turn in drawn]

    @pytest.mark.parametrize("architecture", ["llama", "gpt2"])
    def test_a_full_context_silences_a_row_and_never_overflows(self, architecture):
        policy = babbler(context=40, architecture=architecture)
        episodes = play(vector(Countdown, ROWS, AutoresetMode.DISABLED, enough=99), policy)

        for episode in episodes:
            assert episode.trajectory is not None
            assert len(episode.texts) == 4
            assert len(episode.trajectory.context) <= 40
            assert episode.trajectory.own[-1]
            assert episode.texts[-1] == ""


def test_how_many_rows_are_decoded_at_once_changes_nothing():
    wide, narrow = (
        play(vector(Countdown, ROWS, AutoresetMode.NEXT_STEP), sampling={"batch_rows": rows}) for rows in (512, 5)
    )

    assert [episode.texts for episode in narrow] == [episode.texts for episode in wide]


def test_greedy_rows_of_a_group_say_the_same():
    episodes = play(vector(Word, ROWS, AutoresetMode.NEXT_STEP), greedy=True)

    for first in range(0, ROWS, GROUP):
        assert len({episode.texts[0] for episode in episodes[first : first + GROUP]}) == 1


def test_finished_rows_are_handed_a_text_that_was_taken_before():
    handed: list[tuple[str, ...]] = []

    class Recorded(gymnasium.vector.VectorWrapper[Any, Any, Any, Any, Any]):
        def step(self, actions: Any) -> Any:
            handed.append(actions)
            return super().step(actions)

    episodes = play(Recorded(vector(Countdown, ROWS, AutoresetMode.NEXT_STEP)))

    for row, episode in enumerate(episodes):
        assert [step[row] for step in handed[len(episode.texts) :]] == [episode.texts[-1]] * (4 - len(episode.texts))


def test_held_out_seeds_are_distinct_problems_and_repeat():
    choice = EnvChoice("grpo/Math-v0")
    seeds = distinct_seeds(choice, "val", 3, 20)
    env = choice.vector(20, split="val")
    _, infos = reset_rows(env, seeds)

    assert seeds == distinct_seeds(choice, "val", 3, 20, rows=7)
    assert len(set(infos["problem_id"])) == 20
    assert set(infos["split"]) == {"val"}
    assert seeds != distinct_seeds(choice, "val", 4, 20)


def test_a_small_split_is_exhausted_and_no_more():
    class Few(Word):
        def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
            super().reset(seed=seed)
            return f"word {int(np.random.default_rng(seed).integers(3))}", {}

    gymnasium.register("foreign/Few-v0", entry_point=lambda **kwargs: Few(**kwargs))
    try:
        seeds = distinct_seeds(EnvChoice("foreign/Few-v0"), "test", 0, 10)
    finally:
        del gymnasium.registry["foreign/Few-v0"]

    assert len(seeds) == 3


class TestRowsOfOthersThatRaise:
    def test_cost_only_themselves(self):
        """By id, one answer that makes an environment of others raise leaves out its own row; the batch goes on."""
        episodes = play(EnvChoice(WORD, {"faults": "some"}).vector(ROWS, GROUP))

        raised = [len(e.texts[0]) % 2 == 0 for e in episodes]
        assert 0 < sum(raised) < ROWS
        assert [e.valid for e in episodes] == [not faulty for faulty in raised]
        for episode, faulty in zip(episodes, raised, strict=True):
            assert episode.info.get("feedback", "").startswith("the environment raised ValueError: no good") == faulty
            assert episode.skipped == ""

    def test_end_the_run_when_no_row_is_ever_judged(self):
        config = TrainConfig(env=WORD, env_args={"faults": "all"}, steps=5, prompts=2, group_size=2)

        with pytest.raises(GrpoGymError, match=r"3 steps in a row failed.*none of the 4 completions .* no good"):
            GRPO(babbler(), config=replace(config, evaluation=Evaluation(every=0))).learn()
