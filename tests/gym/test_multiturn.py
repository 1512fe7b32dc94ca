"""Interactive episodes: an oracle that reads the transcript solves them, and only the new message is an observation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gymnasium
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grpo_envs.logic.guess_number import MAX_TURNS, WIDTH, guess_number, read_guess
from grpo_gym import Problem, Procedural, Reason, Task, TextEnv, Turn, Verdict
from grpo_gym.scoring import score_one
from grpo_gym.stream import Drawn

GUESSING = "grpo/Logic.GuessNumber-v0"


def play(env: Any, of: Task) -> tuple[int, float, dict[str, Any]]:
    """Let the oracle play; returns turns, total reward and the last info."""
    inner = env.unwrapped
    turns, total, done, info = 0, 0.0, False, {}
    while not done:
        action = of.right_answer(inner.problem, inner._episode.transcript)
        _, reward, terminated, truncated, info = env.step(action)
        turns, total, done = turns + 1, total + reward, terminated or truncated
    return turns, total, info


@pytest.mark.parametrize("tier", guess_number.tiers)
def test_the_oracle_finds_the_number_in_every_tier_by_halving(tier):
    env = gymnasium.make(GUESSING, tier=tier)
    most = WIDTH[tier].bit_length()
    assert most <= MAX_TURNS
    taken = []
    for seed in range(30):
        env.reset(seed=seed)
        turns, total, info = play(env, guess_number)
        assert (total, info["reason"]) == (1.0, "correct")
        taken.append(turns)
    assert max(taken) <= most
    assert max(taken) >= most - 2


def test_an_observation_is_only_the_new_message():
    env = gymnasium.make(GUESSING, tier=0)
    prompt, _ = env.reset(seed=1)
    heard = [env.step(action)[0] for action in ("0", "999999999", "none", "0")]
    assert heard == ["Higher.", "Lower.", "Say one whole number.", "Higher."]
    assert prompt.count("\n") == 1
    inner: Any = env.unwrapped
    assert [text for role, text in inner._episode.transcript if role == "environment"] == [prompt, *heard]


def test_turns_that_run_out_truncate_and_tell_the_number():
    env = gymnasium.make(GUESSING)
    env.reset(seed=1)
    for _ in range(MAX_TURNS - 1):
        _, reward, terminated, truncated, info = env.step("nothing to say")
        assert (reward, terminated, truncated) == (0.0, False, False)
    _, reward, terminated, truncated, info = env.step("still nothing")
    assert (reward, terminated, truncated) == (0.0, False, True)
    secret = env.unwrapped.problem.reference  # type: ignore[attr-defined]
    assert info["feedback"] == f"the number was {secret}"


def test_the_right_guess_in_the_last_turn_still_counts():
    env = gymnasium.make(GUESSING)
    env.reset(seed=1)
    for _ in range(MAX_TURNS - 1):
        env.step("?")
    _, reward, terminated, truncated, _ = env.step(env.unwrapped.problem.reference)  # type: ignore[attr-defined]
    assert (reward, terminated, truncated) == (1.0, True, False)


def test_the_same_prompt_hides_different_numbers_of_different_content():
    hidden = [Problem("I think of a number.", n, variant=n) for n in ("1", "2")]
    assert hidden[0].content != hidden[1].content
    drawn = [guess_number.problem(0, "train", seed, 0) for seed in range(40)]
    assert {problem.variant for problem in drawn} == {problem.reference for problem in drawn}


@settings(max_examples=200)
@given(st.text())
def test_no_text_breaks_an_episode(text):
    env = gymnasium.make(GUESSING)
    env.reset(seed=1)
    observation, reward, _, _, info = env.step(text)
    assert observation in ("Higher.", "Lower.", "Right.", "Say one whole number.")
    assert isinstance(reward, float)
    assert info["abstain"] == 0.0


@pytest.mark.parametrize(
    ("text", "guess"),
    [
        ("42", 42),
        ("I say 42!", 42),
        ("-7", -7),
        ("4 or 5", None),
        ("none", None),
        ("", None),
        ("1e5", None),
        ("٤", None),
    ],
)
def test_a_guess_is_exactly_one_number(text, guess):
    assert read_guess(text) == guess


def test_a_list_of_all_numbers_is_no_guess_and_a_long_text_is_read_quickly():
    assert read_guess(" ".join(map(str, range(1000)))) is None
    assert read_guess("x" * 10_000 + "42") is None
    assert read_guess("9" * 1_000_000) is None


def test_a_lone_guess_is_judged_without_an_episode():
    problem = Problem("?", "42", meta={"low": 40, "high": 43}, task="logic.guess_number")
    verdicts = [score_one(guess_number.reward, text, Drawn(guess_number, problem)) for text in ("42", "41", "41 or 42")]
    assert [verdict.reason for verdict in verdicts] == [Reason.CORRECT, Reason.WRONG, Reason.NO_ANSWER]


def test_rewards_of_turns_add_to_the_verdict():
    class Steps:
        def __init__(self, problem: Problem) -> None:
            self.left = 2

        def reply(self, action: str) -> Turn:
            self.left -= 1
            return Turn("on", reward=0.25) if self.left else Turn("done", Verdict(1.0, Reason.CORRECT), reward=0.5)

        def give_up(self) -> Verdict:
            return Verdict(0.0, Reason.WRONG)

    env = TextEnv(
        Task(
            "test.steps",
            Procedural(lambda rng, tier: Problem(str(rng.integer(0, 10**9)), "")),
            guess_number.reward,
            dialogue=Steps,
            max_turns=5,
        )
    )
    env.reset(seed=1)
    assert [env.step("go")[:4] for _ in range(2)] == [("on", 0.25, False, False), ("done", 1.5, True, False)]


INTERACTIVE = (GUESSING, "grpo/Logic.Mastermind-v0", "grpo/Logic.TwentyQuestions-v0", "grpo/MathTool.Linear-v0")


class TestHints:
    """With `expose_answer`, infos tell the oracle's next action and the weak solver's, turn by turn."""

    @pytest.mark.parametrize("identifier", INTERACTIVE)
    def test_the_solution_of_each_info_is_the_next_action_that_wins(self, identifier):
        env = gymnasium.make(identifier, expose_answer=True)
        inner: Any = env.unwrapped
        for seed in range(5):
            _, info = env.reset(seed=seed)
            done, total = False, 0.0
            while not done:
                of = inner.stream.tasks[inner.problem.task]
                assert info["solution"] == of.right_answer(inner.problem, inner._episode.transcript)
                _, reward, terminated, truncated, info = env.step(info["solution"])
                done, total = terminated or truncated, total + float(reward)
            assert total == 1.0
            assert not {"solution", "guess", "answer"} & set(info)

    def test_the_guess_is_another_in_every_turn_and_the_same_in_every_episode_of_a_problem(self):
        heard: list[list[Any]] = []
        for words in (["?"] * MAX_TURNS, ["1"] * MAX_TURNS):
            env = gymnasium.make(GUESSING, expose_answer=True, tier=5)
            info = env.reset(seed=3)[1]
            heard.append([])
            for word in words:
                heard[-1].append(info.get("guess"))
                info = env.step(word)[4]

        assert heard[0] == heard[1]
        assert len(set(heard[0])) > MAX_TURNS // 2
        assert heard[0][0] == guess_number.hasty_answer(env.unwrapped.problem)  # type: ignore[attr-defined]

    def test_rows_of_a_vector_hear_what_single_environments_hear(self):
        envs: Any = gymnasium.make_vec(GUESSING, num_envs=4, group_size=2, expose_answer=True)
        alone = [gymnasium.make(GUESSING, expose_answer=True) for _ in range(4)]
        infos = envs.reset(seed=5)[1]
        rows = [env.reset(seed=5 + row // 2)[1] for row, env in enumerate(alone)]
        for action in ("7", "nothing", "?"):
            for key in ("solution", "guess"):
                assert list(infos[key]) == [info[key] for info in rows]
            infos = envs.step([action] * 4)[4]
            rows = [env.step(action)[4] for env in alone]

    def test_they_are_for_those_alone_who_ask(self):
        env = gymnasium.make(GUESSING)
        infos = [env.reset(seed=1)[1], env.step("?")[4]]
        envs: Any = gymnasium.make_vec(GUESSING, num_envs=2)
        infos += [envs.reset(seed=1)[1], envs.step(["?", "?"])[4]]

        assert not any({"solution", "guess", "answer"} & set(info) for info in infos)

    @pytest.mark.parametrize("fault", [pytest.param(lambda: 1 / 0, id="raises"), pytest.param(lambda: 7, id="no text")])
    def test_a_player_that_breaks_an_oracle_breaks_no_step(self, fault):
        """What the oracle cannot follow leaves `solution` out, and the episode goes on."""

        def oracle(problem: Problem, transcript: Any) -> Any:
            return "1" if len(transcript) == 1 or transcript[-2][1] != "boo" else fault()

        env: Any = TextEnv(replace(guess_number, oracle=oracle), expose_answer=True)
        assert env.reset(seed=1)[1]["solution"] == "1"
        observation, _, terminated, _, info = env.step("boo")

        assert (observation, terminated) == ("Say one whole number.", False)
        assert "solution" not in info
        assert "guess" in info
        assert env.step("2")[4]["solution"] == "1"

    def test_a_single_turn_shows_its_worked_solution_as_ever(self):
        env: Any = gymnasium.make("grpo/Math.Linear-v0", expose_answer=True)
        _, info = env.reset(seed=1)

        assert info["solution"] == env.unwrapped.problem.solution
        assert info["answer"] == f"\\boxed{{{env.unwrapped.problem.reference}}}"
        assert "solution" not in env.step(info["solution"])[4]
