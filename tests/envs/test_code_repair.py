"""Programs in several turns: what is told, what is not, what is paid; with the real judge."""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any

import pytest

from grpo_envs.code.draft import fenced
from grpo_envs.code.lists import lists
from grpo_envs.code_repair.breaking import broken
from grpo_envs.code_repair.episode import AGAIN, MAX_TURNS, Repairing, with_repair
from grpo_envs.code_repair.tasks import FUNCTIONS, PROGRAMS
from grpo_envs.code_repair.tasks import functions as repair_functions
from grpo_envs.code_repair.tasks import programs as repair_programs
from grpo_gym import Problem, Rng, TextEnv
from grpo_gym.errors import InvalidValueError
from grpo_gym.verdict import Reason, Verdict
from grpo_rewards.code.reward import CodeReward

PROBLEM = Problem(
    "Write a Python function `f(x: int) -> int` that returns twice its argument.\n\nExamples:\nf(3) == 6\nf(5) == 10",
    {
        "style": "function",
        "tests": {"fn_name": "f", "inputs": [[70], [-81], [0]], "outputs": [140, -162, 0]},
        "public": {"fn_name": "f", "inputs": [[3], [5]], "outputs": [6, 10]},
        "time_s": 1.0,
    },
    solution=fenced("def f(x):\n    return 2 * x"),
    task="code_repair.lists",
)
RIGHT = PROBLEM.solution or ""
WRONG = fenced("def f(x):\n    return x + 5")
BY_HEART = fenced("def f(x):\n    return {3: 6, 5: 10}.get(x, 1)")


def play(*actions: str, **options: Any) -> list[tuple[str, float, bool, bool, str]]:
    """What the environment makes of actions."""
    env = TextEnv(with_repair(lists, **options))
    env.reset(seed=1, options={"problem": PROBLEM})
    steps = []
    for action in actions:
        message, reward, terminated, truncated, info = env.step(action)
        steps.append((message, float(reward), terminated, truncated, str(info["reason"])))
    return steps


def test_a_right_program_ends_the_episode_whenever_it_comes():
    assert play(RIGHT) == [("", 1.0, True, False, "correct")]
    assert play(WRONG, BY_HEART, RIGHT)[-1] == ("", 1.0, True, False, "correct")


def test_a_later_right_program_is_worth_less_with_a_discount():
    assert play(WRONG, WRONG, RIGHT, discount=0.5)[-1][1] == 0.25
    assert play(RIGHT, discount=0.5)[-1][1] == 1.0


def test_a_failed_example_is_told_with_input_and_outputs():
    [(message, reward, terminated, truncated, _)] = play(WRONG)
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert message.startswith("The examples: wrong answer: 0 of 2 tests passed. Test 1 of 2: f(3): got 8, expected 6")
    assert message.endswith(AGAIN)


def test_an_exception_is_told_with_its_kind():
    [(message, *_)] = play(fenced("def f(x):\n    return [][x]"))
    assert "IndexError" in message


def test_of_a_hidden_test_nothing_is_told_but_that_it_failed():
    """A program that knows the examples by heart must not learn the next case."""
    [(message, *_)] = play(BY_HEART)
    assert message.startswith("The hidden tests: wrong answer")
    for secret in ("70", "140", "-81", "-162", "expected", "got"):
        assert secret not in message


def test_no_program_costs_a_turn_and_the_last_program_counts():
    steps = play("I do not know.", WRONG, WRONG, BY_HEART)
    assert "The examples: " in steps[0][0]
    assert [step[1] for step in steps] == [0.0] * MAX_TURNS
    assert steps[-1][2:] == (False, True, "wrong_answer")
    assert play("?", max_turns=1)[-1][2:] == (False, True, "no_answer")


class Counting(CodeReward):
    calls = 0

    def score(self, response: str, problem: Problem) -> Verdict:
        Counting.calls += 1
        return Verdict(0.0, Reason.WRONG_ANSWER, feedback="wrong answer")


def test_a_program_that_is_sent_again_is_not_judged_again():
    problem = dataclasses.replace(PROBLEM, reference={**PROBLEM.reference, "public": None})
    episode = Repairing(problem, Counting())
    first, second = episode.reply(WRONG), episode.reply(WRONG)
    assert first == second
    assert Counting.calls == 1


def test_a_judge_that_fails_ends_the_episode_and_abstains():
    class Lost(CodeReward):
        def score(self, response: str, problem: Problem) -> Verdict:
            return Verdict.abstain("the judge is gone")

    turn = Repairing(dataclasses.replace(PROBLEM, reference={"tests": ""}), Lost()).reply(RIGHT)
    assert turn.verdict is not None
    assert turn.verdict.abstains


@pytest.mark.parametrize("discount", [-0.1, 1.5])
def test_a_discount_that_is_none_is_refused(discount):
    with pytest.raises(InvalidValueError, match=r"discount is .*, must be in \[0, 1\]"):
        with_repair(lists, discount=discount)


@pytest.mark.parametrize("task", [*FUNCTIONS, *PROGRAMS], ids=lambda task: task.name)
def test_a_broken_program_fails_and_the_complaint_shows_no_hidden_call(task):
    rng = Rng("broken", task.name)
    for tier in task.tiers:
        draft = task.source.draft(rng, tier)
        wrong = broken(draft)
        assert wrong is not None
        assert wrong == broken(draft)
        verdict = task.reward.score(fenced(wrong.code), draft.problem())
        assert verdict.value == 0.0, wrong.code
        calls = [draft.render(*args) if draft.render else ", ".join(map(repr, args)) for args, _ in draft.small]
        assert not any(call in wrong.complaint for call in calls if len(call) > 8)


@pytest.mark.parametrize("task", [repair_functions, repair_programs], ids=lambda task: task.name)
def test_the_broken_program_stands_in_the_prompt_and_the_right_one_is_paid(task):
    env = TextEnv(task)
    for tier in task.tiers:
        text, _ = env.reset(seed=5, options={"tier": tier})
        problem = env.problem
        wrong = "```python\n" + text.split("```python\n")[1].split("```")[0] + "```"
        assert env.step(wrong)[1:4] == (0.0, False, False)
        _, reward, terminated, _, _ = env.step(task.right_answer(problem))
        assert (reward, terminated) == (1.0, True)
    assert pickle.loads(pickle.dumps(repair_functions.dialogue)) is not None
