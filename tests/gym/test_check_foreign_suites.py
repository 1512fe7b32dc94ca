"""Suites of others under check: reasoning-gym's data sets, Gymnasium environments, and the table of peers."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from benchmarks import check_peers
from grpo_gym.checks import check_reward
from grpo_gym.checks.foreign.environments import EnvTarget
from grpo_gym.checks.target import TaskTarget
from grpo_gym.errors import GeneratorError, InvalidValueError, MissingExtraError, UnknownNameError
from grpo_gym.problem import SPLITS
from tests.gym import foreign_envs

assert foreign_envs, "its ids are registered now"

# --- reasoning-gym


def test_without_reasoning_gym_the_extra_is_named(monkeypatch):
    from grpo_gym.checks.foreign.reasoning_gym import task_of_dataset

    monkeypatch.setitem(sys.modules, "reasoning_gym", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'grpo-gym\[bench\]'"):
        task_of_dataset("chain_sum")


class TestReasoningGym:
    @pytest.fixture(autouse=True)
    def _installed(self):
        self.library = pytest.importorskip("reasoning_gym", reason="reasoning-gym is not installed (extra 'bench')")

    def open(self, name: str) -> TaskTarget:
        from grpo_gym.checks.foreign.reasoning_gym import target_of_dataset

        return target_of_dataset(name)

    def test_items_are_those_that_a_user_draws(self):
        target = self.open("chain_sum")
        theirs = self.library.create_dataset("chain_sum", seed=42, size=10)
        for index in range(5):
            ours = target.problem(None, "train", 42, index)
            assert (ours.prompt, ours.reference) == (theirs[index]["question"], theirs[index]["answer"])

    def test_neighbouring_seeds_are_theirs_too(self):
        target = self.open("chain_sum")
        assert target.problem(None, "train", 7, 3).prompt == target.problem(None, "train", 8, 2).prompt
        assert target.problem(None, "train", 7, 3).prompt != target.problem(None, "val", 7, 3).prompt

    def test_the_verdict_is_theirs(self):
        target = self.open("chain_sum")
        problem = target.problem(None, "train", 1, 0)
        data = self.library.create_dataset("chain_sum", seed=1, size=10)
        for answer in (problem.reference, f"1{problem.reference}", "nothing"):
            assert target.score(answer, problem).value == data.score_answer(answer, data[0])
            assert self.open("chain_sum").score(answer, problem).value == data.score_answer(answer, data[0])

    def test_where_an_entry_has_no_answer_none_is_known(self):
        target = self.open("graph_color")
        problem = target.problem(None, "train", 1, 0)
        assert target.right_answer(problem) is None
        assert target.final_answer(problem, problem.reference) is None

    def test_every_data_set_is_a_task(self):
        from grpo_gym.checks.foreign.reasoning_gym import dataset_names

        assert len(dataset_names()) == 105
        for name in dataset_names():
            assert self.open(name).facts.not_applicable["splits"]

    def test_a_mistyped_data_set_is_told_the_nearest(self):
        with pytest.raises(UnknownNameError, match="did you mean 'chain_sum'"):
            self.open("chain_sums")

    @pytest.mark.slow
    def test_known_faults_are_found(self):
        report = check_reward("reasoning_gym:chain_sum", n=16)
        assert {"near miss", "neighbouring seeds"} <= {line.key for line in report.failed}


# --- environments


def test_an_answer_in_a_resets_info_is_used_and_kept_out_of_what_is_shown():
    target = EnvTarget("outside/Info-v0")
    problem = target.problem(None, "train", 3, 4)
    right = target.right_answer(problem)
    assert right == f"\\boxed{{{problem.reference}}}"
    assert target.score(right, problem).value == 1
    assert target.score(right, problem).components == {"right": 1}
    assert target.opening(problem) == (problem.prompt, {"note": "kept"})


@pytest.mark.parametrize(("identifier", "most"), [("outside/Attribute-v0", 5), ("outside/Half-v0", 0.5)])
def test_an_answer_told_by_an_attribute_and_another_maximum(identifier, most):
    target = EnvTarget(identifier)
    problem = target.problem(None, "train", 0, 9)
    assert target.facts.range == (0, most)
    right = target.right_answer(problem)
    assert right is not None
    assert (target.score(right, problem).value, target.score(right, problem).reason) == (most, "correct")
    assert target.score("no", problem).reason == "wrong"


def test_an_environment_that_tells_nothing_has_no_right_answer():
    target = EnvTarget("outside/Nowhere-v0")
    problem = target.problem(None, "train", 0, 0)
    assert problem.reference is None
    assert target.right_answer(problem) is None
    assert "range" in target.facts.not_applicable
    assert "it tells no answer" in target.facts.note


def test_several_turns_are_added_up_and_an_endless_episode_is_cut():
    target = EnvTarget("outside/Turns-v0")
    problem = target.problem(None, "train", 0, 0)
    assert target.score(f"\\boxed{{{problem.reference}}}", problem).value == 1
    endless = EnvTarget("outside/Talking-v0")
    assert endless.score("hello", endless.problem(None, "train", 0, 0)).value == 50


def test_two_resets_with_one_seed_must_show_the_same():
    with pytest.raises(GeneratorError, match=r"two resets with seed 0 show '1 \+ 1 = \?' and '2 \+ 1 = \?'"):
        EnvTarget("outside/Unseeded-v0")


def test_an_environment_of_numbers_is_refused():
    with pytest.raises(GeneratorError, match="shows int, not text"):
        EnvTarget("outside/Numbers-v0")


def test_a_step_that_pays_a_text_is_an_error_and_an_abstention_is_one():
    target = EnvTarget("outside/Texts-v0")
    with pytest.raises(InvalidValueError, match=r"a step paid '1\.0', not a number"):
        target.score("x", target.problem(None, "train", 0, 0))
    target = EnvTarget("outside/Abstaining-v0")
    assert target.score("x", target.problem(None, "train", 0, 0)).abstains


def test_problems_of_splits_and_seeds_have_seeds_of_their_own():
    target = EnvTarget("outside/Info-v0")
    keys = [(split, seed, index) for split in SPLITS for seed in (0, 1) for index in (0, 1)]
    seeds = {target.problem(None, split, seed, index).meta["seed"] for split, seed, index in keys}
    assert len(seeds) == len(keys)


def test_an_id_that_cannot_be_made_says_why():
    with pytest.raises(InvalidValueError, match="cannot make outside/None-v0"):
        EnvTarget("outside/None-v0")


@pytest.mark.slow
def test_an_environment_of_others_is_checked_by_its_id():
    report = check_reward("tests.gym.foreign_envs:outside/Info-v0", n=8)
    assert report.line("oracle").status == "pass"
    assert report.line("executes answers").status == "pass"
    assert report.line("splits").status == "skip"


# --- the table of peers


def record(**found: str) -> dict[str, Any]:
    lines = [{"key": key.replace("_", " "), "status": status, "found": "a | b"} for key, status in found.items()]
    return {"lines": lines, "seconds": 1.0}


def test_the_table_tells_faults_and_whether_the_known_ones_were_found():
    records = {
        "chain_sum": record(near_miss="fail", neighbouring_seeds="pass", oracle="pass"),
        "rush_hour": record(oracle="skip"),
        "ab": {"error": "no report within 5 s"},
    }
    known = check_peers.known_faults(records)
    assert known == {"rush_hour: oracle": True, "chain_sum: near miss": True, "chain_sum: neighbouring seeds": False}
    table = check_peers.markdown(records, "0.1.25")
    assert "| chain_sum | **near miss**: a \\| b |" in table
    assert "| rush_hour | none |" in table
    assert "| ab | no report within 5 s |" in table
    assert "2 of 3 found; not found: chain_sum: neighbouring seeds" in table


def test_a_check_that_takes_too_long_or_fails_is_a_row_and_not_the_end():
    assert check_peers.check("no.such/Thing-v0", 8, 60.0)["error"].count("unknown environment")
    assert check_peers.check("tests.gym.foreign_rewards:plain_boxed", 64, 0.01) == {"error": "no report within 0.01 s"}
