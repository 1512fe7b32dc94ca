"""Tests written in any usual way accept right solutions, and say of wrong ones what went wrong."""

import ast
import json
import os
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.rewards.code.confined import Pair, accepted, programs

SHARED = Path(os.environ.get("GRPO_GYM_SHARED", Path(__file__).parents[4] / "shared")) / "data"
HONEST = programs("honest.txt")


@pytest.fixture(scope="module")
def pair():
    both = Pair()
    yield both
    both.close()


def judged(pair: Pair, row: dict[str, Any]) -> dict[str, Any]:
    job = {key: value for key, value in row.items() if key not in ("solution", "tests")}
    return pair.run(row["solution"], row["tests"], **job)


@pytest.mark.parametrize("name", HONEST)
def test_right_solutions_pass(pair, name):
    reply = judged(pair, HONEST[name])
    assert accepted(reply), [result for result in reply["results"] if not result["ok"]] or reply


def rows(file: str) -> list[dict[str, Any]]:
    path = SHARED / file
    if not path.exists():
        pytest.skip(f"the data set is not here: {path} (set GRPO_GYM_SHARED)")
    text = path.read_text()
    found: list[dict[str, Any]] = json.loads(text if path.suffix == ".json" else f"[{','.join(text.splitlines())}]")
    return found


def refused(pair: Pair, runs: dict[Any, dict[str, Any]]) -> dict[Any, Any]:
    """What the tests say of the solutions that they do not accept; some at a time, since they mostly wait."""
    with ThreadPoolExecutor(4) as pool:
        replies = pool.map(lambda run: pair.run(**run), runs.values())
    return {name: reply for name, reply in zip(runs, replies, strict=True) if not accepted(reply)}


def test_humaneval_solutions_pass(pair):
    runs = {}
    for row in rows("humaneval.jsonl"):
        entry = row["entry_point"]
        helpers = [
            ast.unparse(n) for n in ast.parse(row["prompt"] + "    pass\n").body if getattr(n, "name", "") != entry
        ]
        runs[row["task_id"]] = {
            "code": row["prompt"] + row["canonical_solution"],
            "tests": f"{row['test']}\ncheck({entry})",
            "given": "\n".join(helpers),
            "entry_point": entry,
        }
    assert len(runs) == 164
    assert refused(pair, runs) == {}


def test_mbpp_solutions_pass(pair):
    runs = {}
    for row in rows("mbpp_sanitized.json"):
        tests = "\n".join(row["test_imports"] + row["test_list"])
        called = re.findall(r"\w+(?=\()", tests)
        entry = next((name for name in re.findall(r"^def (\w+)", row["code"], re.MULTILINE) if name in called), None)
        runs[row["task_id"]] = {"code": row["code"], "tests": tests, "entry_point": entry}
    assert len(runs) == 427
    assert refused(pair, runs) == {}


WRONG = "def f(x):\n    if x > 4: raise ValueError('big')\n    return x + 1\n"


def test_a_failure_is_told_with_both_sides_and_ends_the_tests(pair):
    reply = pair.run(WRONG, "assert f(1) == 2\nassert f(2) == 9, 'nine'\nassert f(3) == 4\n")
    assert (reply["passed"], reply["failed"]) == (1, 1)
    assert reply["results"][1] == {
        "ok": False,
        "line": 2,
        "source": "assert f(2) == 9, 'nine'",
        "got": "3",
        "expected": "9",
        "message": "'nine'",
    }


def test_every_test_goes_on_behind_failures_and_exceptions(pair):
    tests = "assert f(1) == 9\nassert f(5) == 6\nx = f(9)\nassert f(2) == 3\nfor i in range(3):\n    assert f(i) == i\n"
    reply = pair.run(WRONG, tests, every_test=True)
    assert [(r["line"], r["ok"]) for r in reply["results"]] == [
        (1, False), (2, False), (3, False), (4, True), (6, False), (6, False), (6, False)
    ]  # fmt: skip
    assert [reply["results"][1]["exception"], reply["results"][2]["message"]] == ["ValueError", "big"]


@pytest.mark.parametrize(
    ("tests", "passed", "failed"),
    [
        ("def check(c):\n    assert c(1) == 2\n    assert c(2) == 9\ncheck(f)", 1, 1),
        ("def test_a():\n    assert f(1) == 9", 0, 1),
        ("def test_a():\n    assert f(1) == 2\ntest_a()", 1, 0),
        ("def test_a():\n    f(9)", 0, 1),
        ("import unittest\nclass T(unittest.TestCase):\n    def test_a(self): self.assertEqual(f(1), 9)", 0, 1),
        ("import unittest\nclass T(unittest.TestCase):\n    def test_a(self): f(9)\nunittest.main()", 0, 1),
        ("import pytest\n@pytest.mark.parametrize('x,y', [(1, 2), (2, 9)])\ndef test_a(x, y): assert f(x) == y", 1, 1),
        ("import pytest\nwith pytest.raises(ValueError): f(1)", 0, 1),
        ("import pytest\nwith pytest.raises(ValueError): assert f(9) == 1\nassert f(1) == 2", 1, 0),
        ("import pytest\nassert f(1) == pytest.approx(2)\nassert f(1) == pytest.approx(2.1)", 1, 1),
        ("try:\n    assert f(1) == 9\nexcept: pass\nassert f(1) == 2", 1, 1),
        ("try:\n    assert f(9) == 9\nexcept Exception: pass\nassert f(1) == 2", 1, 1),
        ("f(1)\nf(2)", 2, 0),
        ("f(1)\nf(9)", 1, 1),
        ("if __name__ == '__main__':\n    assert f(1) == 2", 1, 0),
        ("import sys\nassert f(1) == 2\nsys.exit(0)", 1, 0),
        ("assert nothing(1) == 2", 0, 1),
        ("assert f(1) == 2\nassert 'é' == f(1), 'ü'", 1, 1),
        ("x = 'a\x0cb'\nassert f(1) == 2", 1, 0),
    ],
)
def test_asserts_are_counted_wherever_they_stand(pair, tests, passed, failed):
    reply = pair.run(WRONG, tests)
    assert (reply["passed"], reply["failed"]) == (passed, failed), reply
    assert "error" not in reply


def test_reports_are_bounded(pair):
    tests = "for i in range(3000):\n    assert f(0) == 1\nassert f(1) == list(range(10**6))"
    reply = pair.run(WRONG, tests)
    assert (reply["passed"], reply["failed"], len(reply["results"])) == (3000, 1, 1000)
    reply = pair.run(WRONG, "assert f(1) == 'x' * 10**6")
    assert len(reply["results"][0]["expected"]) <= 500


def test_a_fault_of_the_test_text_is_told_apart(pair):
    assert "error" in pair.run(WRONG, "assert f(1) ==")
    assert "error" in pair.run(WRONG, "assert f(1) == 2", given="1 / 0")
    assert not accepted(pair.run(WRONG, "assert True"))  # nobody was asked


def test_a_solution_that_is_gone_is_told(pair):
    code = "import os\ndef f(x):\n    os._exit(0)\n"
    for tests in ("assert f(1) == 2", "try:\n    assert f(1) == 2\nexcept BaseException: pass\nassert True"):
        reply = pair.run(code, tests)
        assert reply["gone"] is True
        assert not accepted(reply)
    assert pair.run("def f(:", "assert f(1) == 2")["gone"] is True


def test_a_checker_passes_only_what_it_calls_true(pair):
    from tests.rewards.code.confined import Side

    source = "def check(given, output, expected):\n    return output['v'] if given else output == expected\n"
    cases = [[1, {"d": ["v", True]}, 0], [1, {"d": ["v", 1]}, 0], [1, {}, 0], [0, 3, 3], [0, 3, 4], [1, [], 0]]
    side = Side(pair.examiners)
    checks = side.ask({"mode": "checker", "source": source, "cases": cases})["checks"]
    side.close()
    assert [check["ok"] for check in checks] == [True, False, False, True, False, False]
    assert re.search("TypeError.*line 2", checks[5]["error"])
