"""The judge as a whole: what it says of a solution, in every style, and how it deals with many of them."""

from __future__ import annotations

import gc
import multiprocessing
import os
import resource
import threading
import time
from collections.abc import Iterator

import pytest

from grpo_gym.errors import InvalidValueError, UnknownNameError
from grpo_gym.verdict import Reason
from grpo_rewards.code import CodeJudge, Job, judge

DOUBLE = "def double(n):\n    return 2 * n\n"
ASSERTS = "assert double(4) == 8\nassert double(0) == 0\nassert double(-1) == -2\n"
LOOP = "for n in range(3):\n    assert double(n) == n + n\n"
CALLS = {"fn_name": "double", "inputs": [[4], [0], [-1]], "outputs": [8, 0, -2]}
ADD = "a, b = map(int, input().split())\nprint(a + b)\n"
RUNS = {"inputs": ["1 2\n", "5 -7\n"], "outputs": ["3\n", "-2\n"]}


@pytest.fixture(scope="module")
def court() -> Iterator[CodeJudge]:
    with CodeJudge(workers=2) as court:
        yield court


RIGHT = [(DOUBLE, ASSERTS, "asserts"), (DOUBLE, LOOP, "asserts"), (DOUBLE, CALLS, "function"), (ADD, RUNS, "stdio")]


@pytest.mark.parametrize(("solution", "tests", "style"), RIGHT)
def test_a_right_solution_passes_every_test(court: CodeJudge, solution: str, tests: object, style: str) -> None:
    verdict = court.judge(solution, tests, style)  # type: ignore[arg-type]
    assert verdict, verdict
    assert verdict.reason is Reason.CORRECT
    assert verdict.details["share"] == 1.0
    assert verdict.details["passed"] == verdict.details["total"] >= 2
    assert verdict.details["failure"] is None
    assert verdict.details["cpu_s"] > 0


WRONG = [
    ("def double(n):\n    return n + 4\n", ASSERTS, "asserts", Reason.WRONG_ANSWER, "got 4, expected 0"),
    ("def double(n):\n    return n + 4\n", LOOP, "asserts", Reason.WRONG_ANSWER, ""),
    ("def double(n):\n    return n + 4\n", CALLS, "function", Reason.WRONG_ANSWER, "got 4, expected 0"),
    ("print(3)", RUNS, "stdio", Reason.WRONG_ANSWER, "got '3', expected '-2'"),
    ("def double(n)\n    return n", CALLS, "function", Reason.SYNTAX_ERROR, "SyntaxError"),
    ("def double(n):\n    return n / 0\n", CALLS, "function", Reason.RUNTIME_ERROR, "ZeroDivisionError"),
    ("def double(n):\n    return n / 0\n", LOOP, "asserts", Reason.RUNTIME_ERROR, "ZeroDivisionError"),
    ("", ASSERTS, "asserts", Reason.RUNTIME_ERROR, "NameError"),
    ("", LOOP, "asserts", Reason.RUNTIME_ERROR, "NameError"),
    ("import os\nos._exit(0)", CALLS, "function", Reason.RUNTIME_ERROR, "exit code 0"),
    ("import os\nos._exit(0)", LOOP, "asserts", Reason.RUNTIME_ERROR, "exit code 0"),
    ("print(3)\nraise SystemExit(1)", RUNS, "stdio", Reason.RUNTIME_ERROR, "SystemExit"),
    ("def double(n):\n    while True:\n        pass\n", CALLS, "function", Reason.CPU_LIMIT, "cpu limit"),
    ("def double(n):\n    while True:\n        pass\n", LOOP, "asserts", Reason.CPU_LIMIT, "cpu limit"),
    ("while True:\n    pass", RUNS, "stdio", Reason.CPU_LIMIT, "cpu limit"),
    ("import time\ntime.sleep(600)", CALLS, "function", Reason.WALL_LIMIT, "wall limit"),
    ("x = bytearray(2 << 30)", CALLS, "function", Reason.MEMORY_LIMIT, "MemoryError"),
    ("while True:\n    print('x' * 1000)", RUNS, "stdio", Reason.OUTPUT_LIMIT, "output limit"),
    ("import ctypes\nctypes.string_at(0)", CALLS, "function", Reason.CRASHED, "SIGSEGV"),
    ("def double(n):\n    return object()\n", CALLS, "function", Reason.PROTOCOL_VIOLATION, "no plain data"),
    ("import os\nos.write(3, b'\\0\\0\\0\\2{}{}')", CALLS, "function", Reason.PROTOCOL_VIOLATION, "plain data"),
]


@pytest.mark.parametrize(("solution", "tests", "style", "reason", "said"), WRONG)
def test_every_failure_is_told_by_its_reason(
    court: CodeJudge, solution: str, tests: object, style: str, reason: Reason, said: str
) -> None:
    verdict = court.judge(solution, tests, style, time_s=0.2, memory_mb=256, output_mb=1)  # type: ignore[arg-type]
    assert (verdict.value, verdict.reason) == (0.0, reason), verdict
    assert said in verdict.feedback
    assert verdict.details["failure"]["message"] == verdict.feedback


def test_the_first_failing_case_is_told_and_the_rest_only_on_request(court: CodeJudge) -> None:
    solution = "def double(n):\n    return {4: 8, -1: -2}.get(n)\n"
    verdict = court.judge(solution, CALLS, "function")
    assert verdict.details["failure"] == {
        "test": 1, "message": verdict.feedback, "call": "double(0)", "expected": "0", "got": "None",
    }  # fmt: skip
    assert [test["ok"] for test in verdict.details["tests"]] == [True, False]
    for tests, style in ((CALLS, "function"), (ASSERTS, "asserts")):
        every = court.judge(solution, tests, style, every_test=True)  # type: ignore[arg-type]
        assert [test["ok"] for test in every.details["tests"]] == [True, False, True]
        assert every.value == 0.0
        assert every.details["share"] == pytest.approx(2 / 3)


def test_a_checker_decides_in_the_place_of_a_comparison(court: CodeJudge) -> None:
    text = "def check(input, output, expected):\n    return sorted(output) == sorted(input[0])\n"
    tests = {"fn_name": "f", "inputs": [[[1, 2]], [[3]]], "checker": text}
    assert court.judge("def f(xs): return xs[::-1]", tests, "function")
    assert not court.judge("def f(xs): return xs + xs", tests, "function")
    runs = {"inputs": ["a"], "checker": lambda given, printed, expected: printed.strip() == given * 3}
    assert court.judge("print(input() * 3)", runs, "stdio")
    assert not court.judge("print(input() * 2)", runs, "stdio")


@pytest.mark.parametrize(
    "body", ["raise ValueError", "return 1", "return 'yes'", "while True: pass", "import os; os._exit(0)"]
)
def test_a_checker_that_fails_or_says_anything_but_true_is_a_no(court: CodeJudge, body: str) -> None:
    tests = {"inputs": ["a"], "outputs": ["a"], "checker": f"def check(input, output, expected):\n    {body}\n"}
    verdict = court.judge("print('a')", tests, "stdio", time_s=0.2)
    assert verdict.value == 0.0, verdict
    if "ValueError" in body:
        assert "ValueError" in verdict.details["checker_error"]


def test_what_a_solution_prints_is_kept_for_people_and_bounded(court: CodeJudge) -> None:
    verdict = court.judge("print('start')\n" + DOUBLE + "print('é' * 5000)\n", CALLS, "function")
    assert verdict
    assert verdict.details["stdout"].endswith("é\n")
    assert len(verdict.details["stdout"]) <= 2000


def test_builtin_functions_are_the_tests_own_unless_the_solution_was_asked_for_one(court: CodeJudge) -> None:
    forged = "def f(x):\n    return 7\ndef abs(x):\n    return 0\n"
    assert not court.judge(forged, "assert abs(f(2) - 5) < 1e-6")
    assert court.judge("def sum(a, b):\n    return a + b\n", "assert sum(1, 2) == 3\nassert sum(0, 0) == 0")
    assert not court.judge("", "assert sum([1, 2]) == 3", entry_point="sum")


def test_verdicts_come_in_the_order_of_the_jobs(court: CodeJudge) -> None:
    jobs = [Job(f"import time\ntime.sleep({0.1 * (n == 0)})\ndef double(x): return {n}", f"assert double(1) == {n % 3}")
            for n in range(12)]  # fmt: skip
    assert [bool(verdict) for verdict in court.judge_all(jobs)] == [n < 3 for n in range(12)]


def test_a_batch_ends_at_its_deadline_and_what_is_not_done_abstains() -> None:
    slow = Job("import time\ntime.sleep(30)", CALLS, "function", time_s=2)
    with CodeJudge(workers=1) as court:
        assert court.judge(DOUBLE, CALLS, "function")
        began = time.monotonic()
        verdicts = court.judge_all([Job(DOUBLE, CALLS, "function"), slow, slow], deadline_s=1.5)
        assert time.monotonic() - began < 10
        assert [verdict.abstains for verdict in verdicts] == [False, True, True]


def test_submit_returns_before_the_verdict_is_there_and_loses_nothing(court: CodeJudge) -> None:
    futures = [court.submit(Job(DOUBLE, CALLS, "function")) for _ in range(40)]
    assert all(future.result(timeout=60) for future in futures)


def test_a_judge_can_be_used_after_close_and_a_forgotten_one_leaves_nothing() -> None:
    court = CodeJudge(workers=1)
    assert court.judge(DOUBLE, CALLS, "function")
    first = court.process_ids
    court.close()
    assert first
    assert not any(_lives(process) for process in first)
    assert court.judge(DOUBLE, CALLS, "function")
    second = court.process_ids
    del court
    gc.collect()
    assert second
    assert not any(_lives(process) for process in second)


def _judge_in_child(court: CodeJudge, found: multiprocessing.SimpleQueue[bool]) -> None:
    found.put(bool(court.judge(DOUBLE, CALLS, "function")))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_gets_workers_of_its_own(court: CodeJudge) -> None:
    assert court.judge(DOUBLE, CALLS, "function")
    context = multiprocessing.get_context("fork")
    found: multiprocessing.SimpleQueue[bool] = context.SimpleQueue()
    child = context.Process(target=_judge_in_child, args=(court, found))
    child.start()
    child.join(60)
    assert child.exitcode == 0
    assert found.get() is True
    assert court.judge(DOUBLE, CALLS, "function")


def test_the_function_leaves_no_process_behind() -> None:
    before = _children()
    assert judge(DOUBLE, ASSERTS)
    assert _children() - before
    deadline = time.monotonic() + 20
    while _children() - before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _children() - before


def test_what_is_wrong_with_a_job_is_said_before_anything_runs() -> None:
    with pytest.raises(InvalidValueError, match="time_s is 0"):
        Job(DOUBLE, ASSERTS, time_s=0)
    with pytest.raises(InvalidValueError, match="a solution is text"):
        Job(b"x", ASSERTS)  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="asserts"):
        Job(DOUBLE, ASSERTS, "assert")  # type: ignore[arg-type]
    with pytest.raises(InvalidValueError, match=r"inputs\[0\] holds"):
        Job(DOUBLE, {"fn_name": "double", "inputs": [[object()]], "outputs": [1]}, "function")
    with pytest.raises(InvalidValueError, match="'nowhere_to_be_found' cannot be found"):
        CodeJudge(packages=["nowhere_to_be_found"])
    with pytest.raises(InvalidValueError, match="workers is 0"):
        CodeJudge(workers=0)
    with pytest.raises(UnknownNameError, match="namespaces"):
        CodeJudge(isolation="namespace")  # type: ignore[arg-type]


ITERATORS = ["yield from range(n)", "return map(int, range(n))", "return iter([0, 1, 2])", "return reversed([2, 1, 0])"]


@pytest.mark.parametrize("body", ITERATORS)
def test_asserts_take_what_comes_as_python_does_and_calls_read_it_to_its_end(court: CodeJudge, body: str) -> None:
    solution = f"def f(n):\n    {body}\n"
    for text in ("assert f(3) == [0, 1, 2]", "x = 3\nassert f(x) == [0, 1, 2]"):
        assert not court.judge(solution, text)
    assert court.judge(solution, "assert list(f(3)) == [0, 1, 2]")
    assert court.judge(solution, {"fn_name": "f", "inputs": [[3]], "outputs": [[0, 1, 2]]}, "function")


def test_a_text_of_asserts_has_its_time_as_a_whole_and_calls_have_it_each(court: CodeJudge) -> None:
    solution = "import time\ndef f(n):\n    end = time.process_time() + 0.15\n    while time.process_time() < end:\n"
    solution += "        pass\n    return n\n"
    text = "".join(f"assert f({n}) == {n}\n" for n in range(4))
    assert court.judge(solution, text, time_s=0.4).reason is Reason.CPU_LIMIT
    assert court.judge(
        solution, {"fn_name": "f", "inputs": [[0], [1], [2], [3]], "outputs": [0, 1, 2, 3]}, "function", time_s=0.4
    )


def test_what_a_checker_decides_about_is_bounded_in_all(court: CodeJudge) -> None:
    bomb = "def f(n):\n    return [[] for _ in range(1_000_000)]\n"
    no = "def check(input, output, expected):\n    return False\n"
    tests = {"fn_name": "f", "inputs": [[n] for n in range(8)], "checker": no}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    verdict = court.judge(bomb, tests, "function", every_test=True)
    assert verdict.reason is Reason.PROTOCOL_VIOLATION
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # KiB


def test_a_solution_that_ends_itself_by_its_own_limit_is_not_tried_for_ever(court: CodeJudge) -> None:
    solution = "import resource\nresource.setrlimit(resource.RLIMIT_CPU, (1, 1))\nwhile True:\n    pass\n"
    began = time.monotonic()
    assert not court.judge(solution, CALLS, "function", time_s=1.5)
    assert time.monotonic() - began < 30  # a dozen tries took longer, busy machine or not


def test_names_that_a_text_forgot_to_import_are_pythons_own(court: CodeJudge) -> None:
    forged = "class Counter:\n    def __init__(self, x): pass\n    def __eq__(self, other): return True\n"
    forged += "def f(n): return [0]\n"
    assert not court.judge(forged, "assert Counter(f(3)) == Counter([9])")
    assert court.judge("from collections import Counter\ndef f(n): return [9]", "assert Counter(f(3)) == Counter([9])")


def test_a_prompt_that_defines_the_tested_function_is_told_from_a_wrong_solution(court: CodeJudge) -> None:
    right, stub = "def f(n):\n    return n\n", "def f(n):\n    'Words.'\n"
    verdict = court.judge(right, "assert f(1) == 1", given=stub)
    assert verdict.reason is Reason.SCORER_ERROR
    assert "entry_point" in verdict.feedback
    assert court.judge(right, "assert f(1) == 1", given=stub, entry_point="f")


def test_a_full_queue_does_not_hold_up_a_batch_with_a_deadline() -> None:
    slow = Job("import time\ntime.sleep(2)", CALLS, "function", time_s=3)
    with CodeJudge(workers=1) as court:
        assert court.judge(DOUBLE, CALLS, "function")
        began = time.monotonic()
        verdicts = court.judge_all([slow] * 40, deadline_s=0.5)
        assert time.monotonic() - began < 2
        assert len(verdicts) == 40
        assert all(verdict.abstains for verdict in verdicts)


def test_judging_beside_a_close_loses_nothing() -> None:
    court = CodeJudge(workers=2)
    found: list[bool] = []

    def judge_some() -> None:
        for _ in range(15):
            found.append(bool(court.judge(DOUBLE, CALLS, "function")))
            found.append(bool(court.submit(Job(DOUBLE, CALLS, "function")).result(timeout=60)))

    threads = [threading.Thread(target=judge_some) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(6):
        court.close()
    for thread in threads:
        thread.join(120)
    court.close()
    assert found == [True] * 90


def test_a_solution_that_is_too_long_is_not_run(court: CodeJudge) -> None:
    verdict = court.judge("#" * 1_000_001, CALLS, "function")
    assert verdict.value == 0.0
    assert verdict.reason is Reason.TOO_BIG


def test_the_same_solution_gets_the_same_verdict_and_the_same_dice(court: CodeJudge) -> None:
    solution = "import random\nprint(random.random(), sorted({'b', 'a', 'c'}), list({'x', 'y', 'z'}))"
    said = {court.judge(solution, {"inputs": [""], "outputs": [""]}, "stdio").details["stdout"] for _ in range(3)}
    assert len(said) == 1


def test_nothing_is_left_for_the_next_run(court: CodeJudge) -> None:
    plant = "import builtins, os, math\nopen('plant', 'w').write('x')\nos.mkdir('deep', 0)\nmath.pi = 3\n"
    plant += "builtins.plant = 1\n"
    look = "import builtins, os, math\nprint(os.listdir('.'), math.pi > 3.1, hasattr(builtins, 'plant'))"
    court.judge(plant, {"inputs": [""], "outputs": [""]}, "stdio")
    for _ in range(4):  # every sandbox of the two workers has its turn
        found = court.judge(look, {"inputs": [""], "outputs": ["[] True False\n"]}, "stdio")
        assert found, found


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def _children() -> set[str]:
    """The judge's processes below this one."""
    found = set()
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat") as file:
                    parent = int(file.read().rpartition(")")[2].split()[1])
                with open(f"/proc/{name}/cmdline") as file:
                    if parent == os.getpid() and "confined.zygote" in file.read():
                        found.add(name)
            except (OSError, ValueError):
                continue
    return found
