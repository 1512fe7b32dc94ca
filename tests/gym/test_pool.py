"""The worker pool: an answer may hang, die or raise; verdicts come back in order, and nothing is left behind."""

from __future__ import annotations

import gc
import logging
import os
import subprocess
import sys
import textwrap
import threading
import time
import types
from collections.abc import Iterable
from pathlib import Path

import pytest

from grpo_gym import Reason, Reward, Verdict
from grpo_gym.errors import InvalidValueError
from grpo_gym.pool import processes, score_in_pool
from grpo_gym.reward import as_reward
from grpo_gym.scoring import MAX_ANSWER, release_workers, score_all, score_one
from tests.gym.slow_rewards import Hasty, Obedient, drawn

ROOT = Path(__file__).resolve().parents[2]


class Holder:
    """Keeps the pool."""


HOLDER = Holder()


@pytest.fixture(scope="module", autouse=True)
def _one_pool_for_all_tests_here():
    """Starting a worker costs a quarter of a second: the tests of this module share two."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRPO_GYM_WORKERS", "2")
        yield
    release_workers(HOLDER)
    gc.collect()
    assert processes() == []


def scored(answers: list[str], reward: Reward | None = None, reference: str = "right") -> list[Verdict]:
    problem = drawn(reward or Obedient(), reference)
    return score_all(None, [(answer, problem) for answer in answers], HOLDER)


def told(verdicts: Iterable[Verdict]) -> list[tuple[float | None, Reason]]:
    return [(verdict.value, verdict.reason) for verdict in verdicts]


# --- verdicts


def test_verdicts_are_those_of_the_reward_in_the_order_of_the_answers():
    reward = Obedient()
    rows = [(answer, drawn(reward, str(n % 5))) for n, answer in enumerate(map(str, [*range(5), *range(30)]))]
    there = score_in_pool(reward, rows, HOLDER)
    assert told(there) == told(score_one(reward, *row) for row in rows)
    assert len(set(told(there))) == 2
    pids = {verdict.details["pid"] for verdict in there}
    assert os.getpid() not in pids
    assert len(pids) <= 2


def test_components_feedback_and_details_survive_the_way_back():
    odd, loop = scored(["odd", "loop"])
    assert odd == Verdict(0.5, Reason.WRONG, {"part": 0.25}, "as told", {"path": repr(Path("x"))})
    assert loop == Verdict(0.5, Reason.WRONG)


def test_an_answer_that_hangs_scores_zero_and_costs_only_its_own_deadline():
    began = time.monotonic()
    verdicts = scored(["sleep 60", "right", "spin", "wrong"], Hasty())
    assert time.monotonic() - began < 30
    assert told(verdicts) == [
        (0.0, Reason.TIMEOUT),
        (1.0, Reason.CORRECT),
        (0.0, Reason.TIMEOUT),
        (0.0, Reason.WRONG),
    ]
    assert verdicts[0].feedback == "scoring took longer than 0.5 s"


def test_a_stopped_worker_is_a_hanging_one():
    assert told(scored(["signal SIGSTOP", "right"], Hasty())) == [(0.0, Reason.TIMEOUT), (1.0, Reason.CORRECT)]


@pytest.mark.parametrize(
    ("answer", "fate"), [("exit 3", "exit code 3"), ("crash", "SIGSEGV"), ("signal SIGKILL", "SIGKILL")]
)
def test_an_answer_that_kills_its_worker_twice_scores_zero(answer, fate):
    crashed, right = scored([answer, "right"])
    assert (crashed.value, crashed.reason) == (0.0, Reason.CRASHED)
    assert fate in crashed.feedback
    assert right.value == 1.0


def test_a_death_that_does_not_come_again_is_not_the_answers_fault(tmp_path):
    mark = tmp_path / "died"
    first, second = scored([f"die-once {mark}", "right"])
    assert (first.value, second.value) == (1.0, 1.0)
    assert first.details["pid"] != int(mark.read_text())


def test_a_scorer_that_dies_on_the_right_answer_too_abstains():
    verdicts = scored(["exit 1", "exit 2"], reference="exit 0")
    assert told(verdicts) == [(None, Reason.ABSTAIN)] * 2
    assert "exit code 1" in verdicts[0].feedback


@pytest.mark.parametrize("answer", ["raise", "quit", "nan"])
def test_a_scorer_that_fails_on_an_answer_scores_it_zero_and_abstains_when_it_always_fails(answer):
    assert told(scored([answer, "right"])) == [(0.0, Reason.SCORER_ERROR), (1.0, Reason.CORRECT)]
    assert told(scored([answer, f"{answer} again"], reference=answer)) == [(None, Reason.ABSTAIN)] * 2


def test_a_right_answer_that_hangs_clears_the_answer_that_raised():
    assert told(scored(["raise"], Hasty(), reference="sleep 60")) == [(None, Reason.ABSTAIN)]


def test_huge_answers_pass_up_to_the_limit_and_are_refused_beyond():
    big, too_big = scored(["x" * MAX_ANSWER, "x" * (MAX_ANSWER + 1)])
    assert (big.reason, too_big.reason) == (Reason.WRONG, Reason.TOO_BIG)


def test_equal_answers_travel_once():
    one, other, third = scored(["odd", "odd", "right"])
    assert one is other
    assert third.value == 1.0


# --- what cannot travel stays


def test_an_unpicklable_reward_is_scored_here_and_the_log_says_so_once(caplog):
    reward = Obedient()
    reward.score = lambda response, problem: Verdict(1.0, Reason.CORRECT, details={"pid": os.getpid()})  # type: ignore[method-assign]
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            verdict = scored(["right"], reward)[0]
            assert verdict.details["pid"] == os.getpid()
    assert len([r for r in caplog.records if "Obedient cannot be scored in worker processes" in r.message]) == 1


def test_a_reward_that_the_worker_cannot_find_is_scored_here(caplog, monkeypatch):
    module = types.ModuleType("only_in_this_process")
    module.Local = type("Local", (Obedient,), {"__module__": module.__name__})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    known, local = Obedient(), module.Local()
    with caplog.at_level(logging.WARNING):
        assert scored(["right"], known)[0].details["pid"] != os.getpid()
        for verdict in scored(["right", "wrong", "other", "another"], local):
            assert verdict.details["pid"] == os.getpid()
        assert scored(["right"], known)[0].details["pid"] != os.getpid()
    assert len([r for r in caplog.records if "Local cannot be scored in worker processes" in r.message]) == 1


def test_an_unpicklable_problem_is_scored_here_and_its_neighbours_there():
    reward = Obedient()
    odd = drawn(reward)
    odd.problem.meta["key"] = threading.Lock()
    here, there = score_all(None, [("right", odd), ("right", drawn(reward))], HOLDER)
    assert here.details["pid"] == os.getpid() != there.details["pid"]
    assert (here.value, there.value) == (1.0, 1.0)


def test_the_users_script_is_not_run_again_by_workers(tmp_path):
    """No `if __name__ == "__main__"` guard: with multiprocessing's spawn, each worker would start training."""
    script = tmp_path / "train.py"
    script.write_text(
        textwrap.dedent("""
            import sys
            from tests.gym.slow_rewards import Obedient, drawn
            from grpo_gym.scoring import score_all
            print("started")
            class Mine(Obedient):
                pass
            print(*(float(score_all(None, [("right", drawn(reward))])[0]) for reward in (Obedient(), Mine())))
        """)
    )
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, script], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.split() == ["started", "1.0", "1.0"], done.stderr
    assert "Mine cannot be scored in worker processes" in done.stderr


def test_wrong_declarations_are_named():
    reward = Obedient()
    reward.cost = "Slow"  # type: ignore[assignment]
    with pytest.raises(InvalidValueError, match=r"Obedient.cost is 'Slow', must be 'fast' or 'slow'"):
        as_reward(reward)
    reward = Obedient()
    for limit in (0.0, -1.0, float("inf"), float("nan")):
        reward.time_limit = limit
        with pytest.raises(InvalidValueError, match=r"Obedient.time_limit is .*, must be in \(0, 86400\] s"):
            as_reward(reward)
