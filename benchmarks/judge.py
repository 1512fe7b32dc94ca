"""What does a verdict on a program cost? Ours, fully isolated, beside a fresh interpreter and beside human-eval's way.

Paired rounds: in each round every way runs for a moment, one after another, and is compared with `python -c` of the
same round, so that a busy machine slows all of them. "human-eval's way" is a process with a manager per program, tests
and solution in one namespace, without isolation: what its `execution.py` does, written anew for this comparison.
"""

from __future__ import annotations

import importlib.util
import multiprocessing
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.rows import OURS, Report, Row
from grpo_rewards.code import CodeJudge

SOLUTION = "def solve(a, b):\n    return a * b + a - b\n"
WRONG = "def solve(a, b):\n    return a * b\n"
CASES = ((2, 3, 5), (5, 7, 33), (10, 4, 46), (0, 9, -9))
ASSERTS = "".join(f"assert solve({a}, {b}) == {c}\n" for a, b, c in CASES)
LOOP = f"for a, b, c in {CASES!r}:\n    assert solve(a, b) == c\n"
CALLS = {"fn_name": "solve", "inputs": [[a, b] for a, b, _ in CASES], "outputs": [c for _, _, c in CASES]}
NUMPY = "import numpy as np\n\n" + SOLUTION.replace("a * b + a - b", "int(np.array([a * b, a, -b]).sum())")
BASE = "python -c"

Judge = Callable[[str], bool]
"""Says whether a solution passes."""


def run(quick: bool) -> Report:
    """Measure one and two runs at a time, plain and with numpy."""
    rounds, seconds = (5, 0.4) if quick else (15, 1.0)
    rows: list[Row] = []
    for workers in (1, 2):
        with CodeJudge(workers=workers) as judge:
            ways = _ways(judge)
            rows += measure(ways, SOLUTION, f"{workers} at a time", workers, rounds, seconds)
            if importlib.util.find_spec("numpy") is not None:
                few = {who: ways[who] for who in (BASE, f"{OURS}: asserts")}
                rows += measure(few, NUMPY, f"{workers} at a time, numpy", workers, rounds, seconds)
    return Report(rows)


def measure(
    ways: Mapping[str, Judge], solution: str, subject: str, workers: int, rounds: int, seconds: float
) -> list[Row]:
    """Return verdicts per second of each way, and how many times those of `python -c` they are in each round.

    Raises:
        AssertionError: A way judges wrongly.
    """
    for who, way in ways.items():
        assert [way(solution), way(WRONG), way(solution)] == [True, False, True], who
    rates: dict[str, list[float]] = {who: [] for who in ways}
    for _ in range(rounds):
        for who, way in ways.items():
            rates[who].append(_rate(way, solution, workers, seconds))
    rows = []
    for who, found in rates.items():
        ratios = [rate / base for rate, base in zip(found, rates[BASE], strict=True)]
        rows.append(Row("judge", subject, "verdicts", statistics.median(found), "/s", min(found), max(found), who=who))
        if who != BASE:
            ratio = statistics.median(ratios)
            rows.append(Row("judge", subject, f"times {BASE}", ratio, "x", min(ratios), max(ratios), who=who))
    return rows


def _rate(way: Judge, solution: str, workers: int, seconds: float) -> float:
    """Return verdicts per second of a way that so many threads use at a time."""
    done = [0] * workers
    end = time.perf_counter() + seconds

    def work(number: int) -> None:
        while time.perf_counter() < end:
            way(solution)
            done[number] += 1

    began = time.perf_counter()
    threads = [threading.Thread(target=work, args=(number,)) for number in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(done) / (time.perf_counter() - began)


def _ways(judge: CodeJudge) -> dict[str, Judge]:
    def ours(tests: Any, style: Any) -> Judge:
        return lambda solution: bool(judge.judge(solution, tests, style))

    return {
        BASE: _fresh_interpreter,
        "human-eval's way": _process_and_manager,
        f"{OURS}: asserts": ours(ASSERTS, "asserts"),
        f"{OURS}: function": ours(CALLS, "function"),
        f"{OURS}: any test text": ours(LOOP, "asserts"),
    }


def _fresh_interpreter(solution: str) -> bool:
    command = [sys.executable, "-c", solution + ASSERTS]
    return subprocess.run(command, capture_output=True, timeout=60, check=False).returncode == 0


def _process_and_manager(solution: str) -> bool:
    """Do as human-eval does: a manager's list for the result, a forked process that runs program and tests together."""
    context = multiprocessing.get_context("fork")
    with context.Manager() as manager:
        result = manager.list()
        process = context.Process(target=_execute, args=(solution + ASSERTS, result))
        process.start()
        process.join(timeout=60)
        if process.is_alive():
            process.kill()
        return list(result) == ["passed"]


def _execute(program: str, result: Any) -> None:
    try:
        exec(program, {})
        result.append("passed")
    except BaseException as error:
        result.append(f"failed: {error}")
