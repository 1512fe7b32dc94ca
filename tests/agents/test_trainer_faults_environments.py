"""What users of other trainers suffered from, once more against this one: environments, rewards, data, logs.

Numbers are the rows of the list in the design notes.
"""

from __future__ import annotations

import json
import math
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from grpo_agents.config import Sampling, TrainConfig
from grpo_agents.environments import EnvChoice, distinct_seeds
from grpo_agents.evaluate import evaluate
from grpo_agents.grpo import GRPO
from grpo_gym.errors import CheckpointError, GrpoGymError
from grpo_rewards.math import verify
from tests.agents.foreign_envs import COUNTDOWN, Word, vector
from tests.agents.runs import babbler, learn, log, new_run, short

ROWS = [{"question": f"{n} + 1?", "answer": str(n + 1)} for n in range(40)]
COLUMNS = {"prompt": "question", "reference": "answer"}


def contains(response: str, problem: Any) -> float:
    return float(len(response) % 2)


class TestRow07AnotherDataSet:
    """Elsewhere a data position was restored into another data set, or ignored."""

    def run(self, path: Path, rows: list[dict[str, str]], resume: bool = False) -> None:
        config = short(steps=4 if resume else 2, prompts=2, group_size=3)
        folder = new_run(path, config) if not resume else None
        from grpo_agents.run_folder import RunFolder

        agent = GRPO(babbler(), (rows, contains, COLUMNS), config, folder=folder or RunFolder(path))
        if resume:
            agent.resume()
        agent.learn()

    def test_row_07_the_same_rows_go_on(self, tmp_path):
        self.run(tmp_path, ROWS)
        self.run(tmp_path, [dict(row) for row in ROWS], resume=True)

        assert [m["step"] for m in log(tmp_path)] == [1, 2, 3, 4]

    @pytest.mark.parametrize(
        ("rows", "said"),
        [
            (ROWS[:-1], "had 40 rows and has 39 now"),
            ([*ROWS[:-1], {"question": "new?", "answer": "1"}], "has other rows than it had"),
            (ROWS[::-1], "in another order"),
        ],
    )
    def test_row_07_others_are_refused_with_what_changed(self, rows, said, tmp_path):
        self.run(tmp_path, ROWS)
        with pytest.raises(CheckpointError, match=said):
            self.run(tmp_path, rows, resume=True)

    def test_row_07_a_file_that_changed_is_refused_on_the_command_line_too(self, tmp_path):
        from grpo_gym.cli.main import main

        data = tmp_path / "rows.jsonl"
        write(data, 200)
        out = str(tmp_path / "run")
        words = ["train", "--env", "grpo/Math-v0", "--env-args", f"dataset={data}", "--out", out, "--steps", "1"]
        sizes = ["--prompts", "2", "--group-size", "2", "--sampling.max-tokens", "4", "--evaluation.every", "0"]
        assert main([*words, *sizes, "--evaluation.test-problems", "4"]) == 0
        write(data, 150)
        (tmp_path / "run" / "summary.json").unlink()
        assert main(["train", "--resume", out]) == 2


def write(path: Path, rows: int) -> None:
    lines = [json.dumps({"prompt": f"What is {n} + 1?", "reference": str(n + 1)}) for n in range(rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.mark.slow
def test_row_26_a_verifier_in_worker_threads_ends_in_its_limit_and_the_worker_comes_back():
    """Alarms cannot ring off the main thread: elsewhere a hung check crashed there, or tied the worker up for good."""
    hostile = r"\boxed{\int_0^1 " + "x^{x^{x^{x}}} \\sin(" * 30 + "x" + ")" * 30 + " dx}"
    found: list[bool] = []

    def check() -> None:
        found.append(bool(verify(hostile, r"\int_0^1 x^2 dx")))
        found.append(bool(verify(r"\boxed{1/2}", "0.5")))

    threads = [threading.Thread(target=check) for _ in range(2)]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
    assert time.monotonic() - began < 100
    assert sorted(found) == [False, False, True, True]


class Raising(Word):
    """Raises in the rows whose answer has an even length."""

    def step(self, action: str) -> Any:
        if len(action) % 2 == 0:
            raise RuntimeError("boom")
        return super().step(action)


def test_row_28_a_reward_that_raises_on_one_of_64_answers_goes_on_and_is_counted():
    """What an answer causes scores 0, or a policy learns to crash its judge; a fault that passes is asked again."""
    asked: list[str] = []

    def touchy(response: str, problem: Any) -> float:
        asked.append(response)
        if len(asked) > 9 and response == asked[9]:
            raise RuntimeError("boom")
        return float(len(response) % 2)

    (metrics,) = learn(babbler(), short(steps=1, prompts=8, group_size=8), (ROWS, touchy, COLUMNS))

    assert metrics["rows"] == 64
    assert metrics["update/skipped"] == ""
    assert metrics["grad_norm"] > 0
    assert metrics["rows/error_rate"] == pytest.approx(1 / 64)


def test_row_28_raising_steps_are_masked_and_the_rate_is_logged(tmp_path):
    (metrics,) = learn(babbler(), short(steps=1, prompts=4, group_size=4), Raising, path=tmp_path)
    records = log(tmp_path, "completions")

    raised = [r for r in records if len(r["completion"]) % 2 == 0]
    assert 0 < len(raised) < 16
    assert metrics["rows/raised"] == len(raised)
    assert metrics["rows/error_rate"] == len(raised) / 16
    assert all(not r["valid"] and r["advantage"] == 0 for r in raised)
    assert metrics["grad_norm"] > 0


@pytest.mark.parametrize("make", [lambda kind: kind, lambda kind: SyncVectorEnv([kind] * 6)], ids=["rows", "vector"])
def test_row_30_an_environment_that_hangs_is_cut_and_the_run_ends_with_the_cause(make):
    class Hanging(Word):
        def step(self, action: str) -> Any:
            time.sleep(60)

    began = time.monotonic()
    with pytest.raises(GrpoGymError, match=r"3 steps in a row failed.*no answer within 0\.3 s and was cut"):
        learn(babbler(), short(steps=9, prompts=2, group_size=3, env_seconds=0.3), make(Hanging))
    assert time.monotonic() - began < 30


def test_row_31_no_two_rows_steps_or_seeds_share_their_luck(tmp_path):
    """Elsewhere every process sampled the same completions, for all began with one seed."""
    texts: dict[tuple[int, int], list[str]] = {}
    for seed in (0, 1):
        learn(babbler(), short(seed=seed), vector(Word, 12, AutoresetMode.NEXT_STEP), path=tmp_path / str(seed))
        for record in log(tmp_path / str(seed), "completions"):
            texts.setdefault((seed, record["step"]), []).append(record["completion"])

    assert len(texts) == 4
    every = [text for of in texts.values() for text in of]
    assert len(set(every)) == len(every) == 48


@pytest.mark.parametrize(("prompts", "group"), [(1, 2), (3, 5), (7, 3)])
def test_row_32_a_batch_is_prompts_times_group_size_and_nothing_must_divide_anything(prompts, group):
    config = short(steps=1, prompts=prompts, group_size=group, optimisation={"minibatches": 2, "token_budget": 17})
    (metrics,) = learn(babbler(), config, Word)

    assert metrics["rows"] == prompts * group
    assert metrics["update/skipped"] == ""


def test_row_33_what_sampling_and_scoring_take_is_logged():
    class Slow(Word):
        def step(self, action: str) -> Any:
            time.sleep(0.02)
            return super().step(action)

    (metrics,) = learn(babbler(), short(steps=1, prompts=2, group_size=3), Slow)

    assert metrics["seconds/scoring"] >= 0.1
    assert metrics["seconds/sampling"] > 0
    assert metrics["seconds/sampling"] + metrics["seconds/scoring"] <= metrics["seconds/rollout"] + 0.05


def test_row_36_every_completion_of_every_step_is_kept_with_its_prompt(tmp_path):
    config = short(steps=3, selection={"refill_rounds": 1}, optimisation={"minibatches": 2, "updates_per_batch": 2})
    metrics = learn(babbler(), config, vector(Word, 12, AutoresetMode.NEXT_STEP), path=tmp_path)
    records = log(tmp_path, "completions")

    assert {r["step"] for r in records} == {1, 2, 3}
    assert len(records) == sum(m["rows"] for m in metrics)
    assert len({r["completion_id"] for r in records}) == len(records)
    assert all(r["prompt"].startswith("word") and r["completion"] is not None for r in records)


def test_row_37_an_evaluation_asks_each_problem_once():
    choice = EnvChoice("grpo/Math.Chain-v0", {"tier": 0})
    seeds = distinct_seeds(choice, "val", 0, 20)
    score = evaluate(babbler(), choice, "val", seeds, Sampling(max_tokens=4))

    ids = [episode.info["problem_id"] for episode in score.episodes]
    assert len(ids) == len(set(ids)) == 20


class TestRow38WhoDidIt:
    """Elsewhere a failing environment gave no logs at all."""

    def test_row_38_a_step_that_raises_names_environment_row_and_seed(self, tmp_path):
        learn(babbler(), short(steps=1, prompts=4, group_size=4), Raising, path=tmp_path)
        raised = [r for r in log(tmp_path, "completions") if not r["valid"]]

        for record in raised:
            said = json.dumps(record)
            assert "RuntimeError: boom" in said
            assert "Raising" in said
            assert str(record["seed"]) in said

    def test_row_38_a_reset_that_raises_names_them_too(self):
        class Lost(Word):
            def reset(self, **given: Any) -> Any:
                raise OSError("no file")

        with pytest.raises(GrpoGymError, match=r"OSError: no file \[Lost, row 0, seed \d+\]"):
            learn(babbler(), short(steps=4), Lost)


def test_a_run_by_id_resumes_where_nothing_changed(tmp_path):
    config = short(env=COUNTDOWN, steps=2)
    folder = new_run(tmp_path, config)
    assert folder is not None
    GRPO(babbler(), None, config, folder=folder).learn()
    agent = GRPO(babbler(), None, TrainConfig(**{**vars(config), "steps": 3}), folder=folder)
    agent.resume()
    agent.learn()

    assert [m["step"] for m in log(tmp_path)] == [1, 2, 3]
    assert all(math.isfinite(m["reward"]) for m in log(tmp_path))
    assert torch.is_tensor(next(agent.policy.model.parameters()))
