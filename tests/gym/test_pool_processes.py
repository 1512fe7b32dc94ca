"""The pool's processes: shared by threads, replaced when they die, released with their last user, never orphaned."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from grpo_gym import FunctionReward, GroupVectorEnv, Reason, Reward, TextEnv, Verdict
from grpo_gym.pool import processes, worker_count
from grpo_gym.scoring import score_all
from tests.gym.slow_rewards import Closing, Obedient, drawn, task

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _two_workers_and_nothing_left(monkeypatch):
    monkeypatch.setenv("GRPO_GYM_WORKERS", "2")
    yield
    gc.collect()  # rewards and environments that a test did not close
    assert processes() == []


def scored(answers: list[str], reward: Reward | None = None, reference: str = "right") -> list[Verdict]:
    problem = drawn(reward or Obedient(), reference)
    return score_all(None, [(answer, problem) for answer in answers])


def told(verdicts: Iterable[Verdict]) -> list[tuple[float | None, Reason]]:
    return [(verdict.value, verdict.reason) for verdict in verdicts]


# --- threads and death


def test_threads_share_the_workers():
    reward = Obedient()
    problems = [drawn(reward, str(n)) for n in range(6)]

    def work(thread: int) -> list[Verdict]:
        return score_all(None, [(str(n), problem) for n, problem in enumerate(problems)] + [("no", problems[thread])])

    with ThreadPoolExecutor(6) as threads:
        for verdicts in threads.map(work, range(6), timeout=60):
            assert [verdict.value for verdict in verdicts] == [1.0] * 6 + [0.0]
    assert len(processes()) <= 2


def test_a_worker_killed_while_idle_is_replaced():
    reward = Obedient()
    for round_ in range(4):
        verdicts = scored(["right", "wrong", str(round_)], reward)
        assert [verdict.value for verdict in verdicts] == [1.0, 0.0, 0.0]
        os.kill(processes()[-1], signal.SIGKILL)


def test_a_worker_killed_from_outside_in_the_middle_of_an_answer_is_replaced(tmp_path):
    mark = tmp_path / "pid"

    def kill() -> None:
        while not (mark.exists() and mark.read_text()):
            time.sleep(0.01)
        os.kill(int(mark.read_text()), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    assert [verdict.value for verdict in scored([f"wait-once {mark}", "right"])] == [1.0, 1.0]
    killer.join()


def test_workers_that_cannot_start_are_an_abstention_not_a_hang(monkeypatch, caplog):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert told(scored(["right", "wrong"])) == [(None, Reason.ABSTAIN)] * 2
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert told(scored(["right"])) == [(None, Reason.ABSTAIN)]
    assert "died while it started (exit code 1)" in caplog.text


def test_file_descriptors_stay_constant_over_200_batches():
    reward = Obedient()
    scored(["right", "wrong"], reward)
    before = len(os.listdir("/proc/self/fd"))
    for n in range(200):
        scored([str(n), "exit 1"] if n % 100 == 0 else [str(n), "right"], reward)
    assert len(os.listdir("/proc/self/fd")) == before


# --- releasing


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"


def wait_until_gone(pids: list[int], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not all(map(gone, pids)):
        assert time.monotonic() < end, f"still there: {[pid for pid in pids if not gone(pid)]}"
        time.sleep(0.05)


def stepped(env: TextEnv | GroupVectorEnv) -> list[int]:
    env.reset(seed=1)
    if isinstance(env, GroupVectorEnv):
        env.step(["no"] * env.num_envs)
    else:
        env.step("no")
    return processes()


def test_closing_the_last_environment_ends_the_processes():
    reward = Obedient()
    single, vector = TextEnv(task(reward)), GroupVectorEnv(task(reward), num_envs=4, group_size=2)
    assert processes() == []
    pids = stepped(single)
    assert len(pids) == 1
    assert set(pids) < set(stepped(vector))
    single.close()
    assert set(pids) < set(processes())
    vector.close()
    assert processes() == []
    assert all(map(gone, pids))
    assert len(stepped(single)) == 1  # a closed environment may be used again
    single.close()
    single.close()


def test_closing_a_reward_ends_what_it_held_itself():
    reward = Obedient()
    scored(["right"], reward)
    assert len(processes()) == 1
    reward.close()
    assert processes() == []


def test_an_environment_that_is_forgotten_ends_the_processes():
    env = TextEnv(task(Obedient()))
    assert stepped(env)
    del env
    gc.collect()
    assert processes() == []


def test_a_fast_reward_starts_no_process():
    env = TextEnv(task(FunctionReward(lambda response, problem: 1.0)))
    assert stepped(env) == []


def test_a_reward_is_closed_in_its_worker_too(tmp_path):
    mark = tmp_path / "closed"
    reward = Closing(mark)
    pid = scored(["right"], reward)[0].details["pid"]
    Obedient.close(reward)  # only the share in the pool
    assert mark.read_text() == str(pid)


def run_parent(program: str) -> subprocess.Popen[str]:
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    preamble = """
        import os, sys, threading, time
        from grpo_gym.pool import processes
        from grpo_gym.scoring import score_all
        from tests.gym.slow_rewards import Hasty, Obedient, drawn, task
        from grpo_gym import TextEnv
    """
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(preamble) + textwrap.dedent(program)],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_no_worker_outlives_a_parent_that_is_killed():
    """Idle, sleeping, or hung in C with the interpreter lock held: the watchdog needs no lock."""
    parent = run_parent("""
        problem = drawn(Hasty())
        score_all(None, [("right", problem), ("wrong", problem)])
        threading.Thread(target=score_all, args=(None, [("spin", problem)])).start()
        time.sleep(0.2)
        print(*processes(), flush=True)
        time.sleep(0.1)
        os.kill(os.getpid(), 9)
    """)
    with parent:
        assert parent.stdout is not None
        pids = [int(pid) for pid in parent.stdout.readline().split()]
    assert pids
    wait_until_gone(pids, 30)


def test_the_pool_ends_with_the_interpreter():
    with run_parent("""
        env = TextEnv(task(Obedient())); env.reset(seed=1); env.step("no")
        print(*processes())
    """) as parent:
        out, _ = parent.communicate(timeout=60)
    assert parent.returncode == 0
    wait_until_gone([int(pid) for pid in out.split()], 10)


def test_a_forked_child_starts_a_pool_of_its_own():
    """AsyncVectorEnv forks by default: a child must not read its parent's replies."""
    with run_parent("""
        reward, problem = Obedient(), drawn(Obedient())
        theirs = score_all(None, [("right", problem)])[0].details["pid"]
        busy = threading.Thread(target=score_all, args=(None, [("sleep 2", problem)]))
        busy.start()
        time.sleep(0.2)  # the other thread's call is under way, and its count must not be the child's
        child = os.fork()
        if child == 0:
            mine = score_all(None, [("right", problem)])[0].details["pid"]
            print(mine != theirs, processes() == [mine], flush=True)
            problem.task.reward.close()
            print(processes() == [], flush=True)
            os._exit(0)
        busy.join()
        os.waitpid(child, 0)
        print(score_all(None, [("right", problem)])[0].details["pid"] == theirs)
    """) as parent:
        out, _ = parent.communicate(timeout=60)
    assert out.split() == ["True"] * 4


def test_the_number_of_workers_can_be_chosen(monkeypatch, caplog):
    assert worker_count() == 2
    monkeypatch.setenv("GRPO_GYM_WORKERS", "many")
    assert 1 <= worker_count() <= 8
    assert "GRPO_GYM_WORKERS is 'many', not a positive whole number" in caplog.text
