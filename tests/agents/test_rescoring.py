"""Completions scored again: the problem is found from the seed alone, and what cannot be scored is counted by cause."""

from __future__ import annotations

import gc
import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from gymnasium.vector import AutoresetMode
from hypothesis import given
from hypothesis import strategies as st

from grpo_agents import rescore as module
from grpo_agents.comparison import LARGEST, SPANS, compare
from grpo_agents.config import TrainConfig, to_dict
from grpo_agents.environments import seeds_for
from grpo_agents.rescore import NOT_OVER, NOTHING_SAID, OTHER_PROBLEM, SEVERAL_TURNS, Rescored, Rescoring, rescore
from grpo_agents.run_log import COMPLETIONS, RunLog
from grpo_gym import FunctionReward, Problem, Reward, Verdict
from grpo_gym.errors import CheckpointError, InvalidValueError, UnknownNameError
from grpo_gym.pool import processes
from grpo_gym.verdict import Reason
from tests.agents.foreign_envs import COUNTDOWN, WORD, Word, vector
from tests.agents.runs import babbler, learn, short
from tests.cli.toy import LETTERS
from tests.gym.slow_rewards import Obedient

GUESS = "grpo/Logic.GuessNumber-v0"


def trained(path: Path, **changes: Any) -> RunLog:
    """A run of two steps of 12 completions by a policy that babbles."""
    config = short(**changes)
    learn(babbler(), config, path=path)
    return RunLog(path)


def lines_of(log: RunLog) -> list[dict[str, Any]]:
    return list(log.read(COMPLETIONS))


def rewrite(log: RunLog, *changes: dict[str, Any]) -> None:
    """Change the first completions of a log."""
    records = [{**record, **(changes[k] if k < len(changes) else {})} for k, record in enumerate(lines_of(log))]
    (log.path / COMPLETIONS).write_text("".join(json.dumps(record) + "\n" for record in records))


def guessed(path: Path, games: int = 3) -> RunLog:
    """A run of one step whose dialogues were played by the task's own oracle; every second one a guess too short."""
    path.mkdir()
    config = TrainConfig(env=GUESS, prompts=games, seed=5)
    (path / "config.yaml").write_text(json.dumps(to_dict(config)))
    log, records = RunLog(path), []
    env: Any = gymnasium.make(GUESS).unwrapped
    for group, seed in enumerate(seeds_for("train", 5, 1, games)):
        prompt, info = env.reset(seed=seed)
        told, texts, reward, over = [("environment", prompt)], [], 0.0, False
        (of,) = env.stream.tasks.values()
        while not over:
            texts.append(of.right_answer(env.problem, told))
            text, value, over, _, last = env.step(texts[-1])
            told += [("policy", texts[-1]), ("environment", text)]
            reward += value
        said: Any = texts if len(texts) > 1 else texts[0]
        records.append({**info, **last, "step": 1, "group": group, "prompt": prompt, "completion": said})
        records[-1] |= {"reward": reward, "completion_id": f"1-{group}"}
    log.append(COMPLETIONS, records)
    return log


@pytest.fixture
def letters(tmp_path: Path) -> RunLog:
    return trained(tmp_path / "run", env=LETTERS)


class TestFindingTheProblemAgain:
    @pytest.mark.parametrize(
        "changes",
        [
            {"env": LETTERS},
            {"env": LETTERS, "tier": (0, 1), "seed": 3, "env_args": {"instructions": False}},
            {"env": "grpo/Arithmetic-v0", "tier": (0, 5)},
            {"env": GUESS},
            {"env": WORD},
            {"env": WORD, "env_args": {"faults": "some"}},
            {"env": COUNTDOWN},
        ],
        ids=str,
    )
    def test_a_run_scored_again_by_its_own_environment_gives_what_it_gave(self, tmp_path, changes):
        log = trained(tmp_path / "run", **changes)
        found = rescore(log)

        assert not found.left_out
        assert [row.completion_id for row in found.rows] == [record["completion_id"] for record in lines_of(log)]
        for row, record in zip(found.rows, lines_of(log), strict=True):
            assert (row.new, row.old) == ((record["reward"],) * 2 if record["valid"] else (None, None))
            assert (row.reason, row.parts) == (record["reason"], record["rewards"])
        if changes["env"] in (LETTERS, WORD, COUNTDOWN):
            assert len({row.new for row in found.rows}) > 1

    def test_another_reward_is_asked_about_the_problem_that_the_policy_saw(self, letters):
        seen: list[tuple[str, str]] = []

        def note(response: str, problem: Problem) -> float:
            seen.append((response, problem.prompt))
            return 0.25

        found = rescore(letters, FunctionReward(note))

        assert [row.new for row in found.rows] == [0.25] * 24
        shown = {(record["completion"], record["prompt"].splitlines()[0]) for record in lines_of(letters)}
        assert set(seen) == shown

    def test_a_completion_of_another_problem_is_left_out_and_the_others_are_not(self, letters):
        rewrite(letters, {"problem_id": "toy.letters-t0-0123456789abcdef"}, {}, {"group": 3, "seed": 4711})
        found = rescore(letters)

        assert found.left_out == {OTHER_PROBLEM: 2}
        assert [row.completion_id for row in found.rows][:3] == ["1-1", "1-3", "1-4"]

    @pytest.mark.parametrize("env", [LETTERS, WORD, GUESS])
    def test_under_another_seed_nothing_is_scored(self, tmp_path, env):
        """Logs from before completions kept their seed: it follows from the config's."""
        log = trained(tmp_path / "run", env=env)
        rewrite(log, *[{"seed": None}] * 24)
        text = (log.path / "config.yaml").read_text()
        (log.path / "config.yaml").write_text(text.replace("\nseed: 0\n", "\nseed: 1\n"))

        assert rescore(log) == Rescoring([], left_out={OTHER_PROBLEM: 24})  # type: ignore[arg-type]

    def test_refilled_groups_have_problems_of_their_own(self, tmp_path):
        """More groups than prompts, whose seeds do not follow from their number."""
        log = trained(tmp_path / "run", env=GUESS, selection={"refill_rounds": 2}, prompts=2, steps=1)
        found = rescore(log)

        assert max(record["group"] for record in lines_of(log)) >= 2
        assert not found.left_out
        assert all(row.new == row.old for row in found.rows)

    def test_a_run_on_an_environment_that_was_given_is_not_taken_for_one_of_its_config(self, tmp_path):
        learn(babbler(), short(), vector(Word, 12, AutoresetMode.NEXT_STEP), path=tmp_path / "run")

        assert rescore(RunLog(tmp_path / "run")).left_out == {OTHER_PROBLEM: 24}

    def test_a_prompt_that_the_policy_could_not_read_has_no_completion(self, tmp_path):
        config = short(env=WORD, env_args={"padding": 400})
        learn(babbler(), config, path=tmp_path / "run")
        log = RunLog(tmp_path / "run")
        empty = sum(record["completion"] == [] for record in lines_of(log))
        found = rescore(log)

        assert empty
        assert found.left_out == {NOTHING_SAID: empty}
        assert len(found.rows) == 24 - empty

    def test_only_the_steps_asked_for_are_scored(self, letters):
        assert {row.step for row in rescore(letters, steps=range(2, 10)).rows} == {2}

    def test_an_environment_that_is_gone_is_told(self, letters):
        text = (letters.path / "config.yaml").read_text()
        (letters.path / "config.yaml").write_text(text.replace("Toy.Letters", "Toy.Leters"))
        with pytest.raises(UnknownNameError, match=r"did you mean 'toy/Toy\.Letters-v0'"):
            rescore(letters)

    @pytest.mark.parametrize(
        "line", ["[]", "{}", '{"step": 1, "group": "x", "completion": ""}', '{"step": 1, "group": 0}']
    )
    def test_a_line_that_is_no_completion_is_told(self, letters, line):
        (letters.path / COMPLETIONS).write_text(line + "\n")
        with pytest.raises(CheckpointError, match=r"completions\.jsonl is damaged: .* is no completion"):
            rescore(letters)


class TestSeveralTurns:
    def test_a_dialogue_is_played_again(self, tmp_path):
        log = guessed(tmp_path / "run", games=6)
        found = rescore(log)

        assert [row.new for row in found.rows] == [1.0] * 6
        assert max(len(record["completion"]) for record in lines_of(log)) > 1

    def test_another_last_guess_is_judged_as_what_it_is_now(self, tmp_path):
        log = guessed(tmp_path / "run")
        texts = lines_of(log)[0]["completion"]
        rewrite(log, {"completion": [*texts[:-1], *["0"] * 12], "reward": 1.0})
        row = rescore(log).rows[0]

        assert (row.old, row.new, row.reason) == (1.0, 0.0, "wrong")
        assert row.feedback.startswith("the number was ")

    def test_an_episode_that_goes_on_now_is_left_out(self, tmp_path):
        log = guessed(tmp_path / "run")
        rewrite(log, {"completion": ["0"]})

        assert rescore(log).left_out == {NOT_OVER: 1}

    def test_no_reward_replaces_a_dialogue(self, tmp_path):
        log = guessed(tmp_path / "run")

        assert rescore(log, FunctionReward(lambda response, problem: 1.0)).left_out == {SEVERAL_TURNS: 3}

    @pytest.mark.parametrize("env", [WORD, COUNTDOWN])
    def test_a_reward_for_an_environment_of_others_is_refused(self, tmp_path, env):
        log = trained(tmp_path / "run", env=env)
        with pytest.raises(InvalidValueError, match=r"foreign/.*-v0 is not one of grpo-gym's environments"):
            rescore(log, FunctionReward(lambda response, problem: 1.0))


class TestFaults:
    def test_what_an_answer_causes_scores_0_and_what_the_scorer_causes_abstains(self, letters):
        def picky(response: str, problem: Problem) -> float:
            if not response.isascii() or response[:1].isdigit():
                raise ValueError("bad answer")
            return 1.0

        rewrite(letters, {"completion": "7 is bad"}, {"completion": "good"})
        first, second = rescore(letters, FunctionReward(picky)).rows[:2]

        assert (first.new, first.reason, first.feedback) == (0.0, "scorer_error", "ValueError: bad answer")
        assert second.new == 1.0
        assert {row.new for row in rescore(letters, FunctionReward(lambda response, problem: 1 / 0)).rows} == {None}

    def test_a_completion_that_was_not_judged_then_has_no_old_reward(self, letters):
        rewrite(letters, {"valid": False}, {"reward": None, "valid": False})

        assert [row.old for row in rescore(letters).rows[:2]] == [None, None]

    def test_rewards_of_others_that_are_no_numbers_are_not_judged(self, tmp_path):
        log = trained(tmp_path / "run", env=WORD, env_args={"odd_reward": float("nan")})
        rows = rescore(log).rows

        assert 0 < sum(row.new is None for row in rows) < 24
        assert all((row.new is None) == (row.old is None) for row in rows)

    def test_slow_rewards_have_their_workers_and_leave_none(self, letters, monkeypatch):
        monkeypatch.setenv("GRPO_GYM_WORKERS", "1")
        reward = Obedient()
        rewrite(letters, {"completion": "raise"}, {"completion": "a"})
        rows = rescore(letters, reward).rows
        gc.collect()

        assert [row.new for row in rows[:2]] == [0.0, 1.0]
        assert processes() == []

    def test_the_environment_is_closed_when_scoring_ends_in_an_error(self, letters, monkeypatch):
        closed: list[object] = []
        monkeypatch.setattr(module._Scorer, "close", lambda self: closed.append(self))
        (letters.path / COMPLETIONS).write_text("{}\n")
        with pytest.raises(CheckpointError):
            rescore(letters)

        assert len(closed) == 1


class Parts(Reward):
    """As a composite reward tells it: two leaves, one of which may fail."""

    def score(self, response: str, problem: Problem) -> Verdict:
        failed = response.startswith("x")
        leaves = {
            "right": {"value": 1.0, "weight": 2.0, "seconds": 0.25, "error": ""},
            "short": {"value": None, "weight": -0.5, "seconds": 0.5, "error": "oh" if failed else ""},
        }
        return Verdict(1.0, Reason.CORRECT, {"right": 1.0}, details={"leaves": leaves})


def row(old: float | None, new: float | None, step: int = 1, **fields: Any) -> Rescored:
    given: dict[str, Any] = {"task": "t", "old_parts": {}, "parts": {}, "reason": "wrong", **fields}
    return Rescored(f"{step}-0", step, old=old, new=new, **given)


class TestFigures:
    def test_means_ups_and_downs_are_those_of_what_was_judged_both_times(self):
        rows = [row(0.0, 1.0), row(0.0, 0.5), row(1.0, 0.0), row(0.5, 0.5), row(None, 1.0), row(1.0, None)]
        found = compare(Rescoring(rows))["all"]

        assert (found["n"], found["compared"]) == (6, 4)
        assert (found["old"], found["new"]) == (0.375, 0.5)
        assert (found["up"], found["up_by"], found["down"], found["down_by"]) == (2, 0.75, 1, -1.0)
        assert (found["abstained"], found["abstained_then"], found["errors"]) == (1, 1, 0)

    @given(st.lists(st.tuples(*[st.none() | st.floats(-1, 1)] * 2), max_size=30))
    def test_ups_and_downs_explain_the_difference_of_the_means(self, pairs):
        found = compare(Rescoring([row(old, new) for old, new in pairs]))["all"]
        if found["compared"]:
            moved = found["up"] * (found["up_by"] or 0) + found["down"] * (found["down_by"] or 0)
            assert found["new"] - found["old"] == pytest.approx(moved / found["compared"], abs=1e-8)
        assert found["n"] == len(pairs) >= found["compared"] >= found["up"] + found["down"]

    @given(st.lists(st.integers(1, 200), min_size=1))
    def test_steps_are_cut_into_few_ranges_without_gap_or_overlap(self, steps):
        spans = compare(Rescoring([row(0.0, 0.0, step) for step in steps]))["by_steps"]
        bounds = sorted([int(part) for part in (span.split("-") * 2)[:2]] for span in spans)

        assert len(spans) <= SPANS
        assert sum(figures["n"] for figures in spans.values()) == len(steps)
        assert all(before[1] < after[0] for before, after in itertools.pairwise(bounds))
        assert (bounds[0][0], bounds[-1][1]) == (min(steps), max(steps))

    def test_the_largest_changes_come_first_and_none_that_is_no_change(self):
        rows = [row(0.0, k / 10, step=k) for k in range(9)] + [row(0.5, 0.5, 99), row(None, 1.0, 98)]
        found = compare(Rescoring(rows))["changes"]

        assert [change["completion_id"] for change in found] == [f"{k}-0" for k in (8, 7, 6, 5, 4)][:LARGEST]
        assert compare(Rescoring(rows[-2:]))["changes"] == []

    def test_faults_are_counted_and_named(self):
        rows = [row(0.0, None, reason="abstain", feedback="down")] * 2 + [
            row(0.0, 0.0, reason="timeout", feedback="slow")
        ]
        found = compare(Rescoring(rows))

        assert found["faults"] == {"down": 2, "slow": 1}
        assert (found["all"]["abstained"], found["all"]["errors"]) == (2, 1)

    def test_leaves_of_a_composite_are_added_up_once_per_verdict(self, letters):
        rewrite(letters, *[{"completion": text} for text in ("x", "x", "x", "y")])
        rows = rescore(letters, Parts(), range(1, 2)).rows[:4]
        parts = compare(Rescoring(rows))["parts"]

        assert parts["right"] == {"old": None, "new": 1.0, "weight": 2.0, "seconds": 0.5, "errors": 0}
        assert parts["short"] == {"old": None, "new": None, "weight": -0.5, "seconds": 1.0, "errors": 3}
        assert parts["score"]["new"] is None
        assert parts["score"]["old"] == pytest.approx(sum(r.old or 0.0 for r in rows) / 4)

    def test_parts_are_means_over_the_completions_that_have_them(self):
        rows = [
            row(1.0, 1.0, old_parts={"a": 1.0}, parts={"a": 0.5, "b": 1.0}),
            row(1.0, 1.0, old_parts={"a": 0.0, "c": None}, parts={"b": 0.0}),
        ]

        assert compare(Rescoring(rows))["parts"] == {
            "a": {"old": 0.5, "new": 0.5},
            "b": {"old": None, "new": 0.5},
            "c": {"old": None, "new": None},
        }

    def test_tasks_have_their_own_lines_and_an_environment_without_tasks_has_none(self):
        rows = [row(0.0, 1.0), replace(row(0.0, 0.0), task="u")]

        assert {task: f["new"] for task, f in compare(Rescoring(rows))["by_task"].items()} == {"t": 1.0, "u": 0.0}
        assert compare(Rescoring([replace(row(0.0, 1.0), task="")]))["by_task"] == {}
