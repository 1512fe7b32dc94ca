"""HumanEval and MBPP by the judge: canonical solutions pass, and what differs from them is refused.

Whether a mutant still passes is decided independently: by the plain interpreter, tests and solution together. CI
tries a few mutants of each program; in full: `GRPO_GYM_LONG=1 python -m pytest tests/rewards/code/test_canonical.py`.
"""

from __future__ import annotations

import ast
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from grpo_rewards.code import CodeJudge, Job
from grpo_rewards.code.suite import AssertSuite
from tests.shared import SHARED

LONG = os.environ.get("GRPO_GYM_LONG", "") not in ("", "0")
PROGRAMS, MUTANTS = 50, 1000 if LONG else 2

HUMANEVAL, MBPP = SHARED / "data" / "humaneval.jsonl", SHARED / "data" / "mbpp_sanitized.json"

needs_data = pytest.mark.skipif(not HUMANEVAL.exists() or not MBPP.exists(), reason="the data sets are not here")


def humaneval() -> Iterator[tuple[str, Job]]:
    for line in HUMANEVAL.read_text().splitlines():
        row = json.loads(line)
        body = ast.parse(row["prompt"] + "    pass\n").body
        given = [node for node in body if getattr(node, "name", "") != row["entry_point"]]
        yield (
            row["task_id"],
            Job(
                row["prompt"] + row["canonical_solution"],
                f"{row['test']}\ncheck({row['entry_point']})\n",
                given="\n".join(map(ast.unparse, given)),
                time_s=20.0,
            ),
        )


def mbpp() -> Iterator[tuple[str, Job]]:
    for row in json.loads(MBPP.read_text()):
        yield f"MBPP/{row['task_id']}", Job(row["code"], "\n".join(row["test_imports"] + row["test_list"]), time_s=20.0)


@needs_data
@pytest.mark.slow
def test_every_canonical_solution_passes() -> None:
    jobs = [*humaneval(), *mbpp()]
    assert len(jobs) == 164 + 427
    with CodeJudge(workers=2) as court:
        verdicts = court.judge_all([job for _, job in jobs])
    assert not [(name, verdict) for (name, _), verdict in zip(jobs, verdicts, strict=True) if not verdict]


@needs_data
@pytest.mark.long
def test_every_single_line_mutant_that_changes_a_result_is_refused() -> None:
    dice = random.Random(5)
    chosen = dice.sample([*humaneval(), *mbpp()], PROGRAMS)
    jobs: list[tuple[str, Job]] = []
    for name, job in chosen:
        mutants = mutated(job.solution)
        some = dice.sample(mutants, min(MUTANTS, len(mutants)))
        jobs += [(name, Job(code, job.tests, given=job.given, time_s=2.0)) for code in some]
    assert len(jobs) >= PROGRAMS
    with ThreadPoolExecutor(2) as pool:
        passes = list(pool.map(lambda named: passes_plainly(named[1]), jobs))
    assert 0 < sum(passes) < len(jobs) / 2  # some mutants are equivalent on these tests, most are not
    with CodeJudge(workers=2) as court:
        verdicts = court.judge_all([job for _, job in jobs])
    differ = [
        (name, job.solution, passed, verdict)
        for (name, job), passed, verdict in zip(jobs, passes, verdicts, strict=True)
        if bool(verdict) != passed
    ]
    assert not differ, differ[:3]


def passes_plainly(job: Job) -> bool:
    """Whether a solution passes its asserts in one process with them; one that needs too long does not."""
    assert isinstance(job.tests, AssertSuite)
    program = f"{job.given}\n{job.solution}\n{job.tests.source}"
    command = [sys.executable, "-I", "-S", "-c", program]
    try:
        return subprocess.run(command, capture_output=True, timeout=5, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        return False


_PAIRS = (
    (ast.Add, ast.Sub), (ast.Mult, ast.FloorDiv), (ast.Div, ast.Mult), (ast.Mod, ast.FloorDiv), (ast.Lt, ast.LtE),
    (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.And, ast.Or), (ast.In, ast.NotIn), (ast.Is, ast.IsNot),
)  # fmt: skip
SWAPS: dict[type[ast.AST], type[ast.AST]] = {b: a for a, b in _PAIRS} | dict(_PAIRS)


def mutated(code: str) -> list[str]:
    """Return the programs that differ from a program by one operator, one number, one truth value or one statement."""
    count = sum(1 for _ in ast.walk(ast.parse(code)))
    found = []
    for place in range(count):
        tree = ast.parse(code)
        node = list(ast.walk(tree))[place]
        if _mutate(node):
            found.append(ast.unparse(ast.fix_missing_locations(tree)))
    return sorted(set(found) - {ast.unparse(ast.parse(code))})


def _mutate(node: ast.AST) -> bool:
    for name, value in ast.iter_fields(node):
        if type(value) in SWAPS:
            setattr(node, name, SWAPS[type(value)]())
            return True
    if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
        node.ops[0] = SWAPS[type(node.ops[0])]()  # type: ignore[call-overload]
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        node.value = not node.value
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        node.value += 1
    elif isinstance(node, (ast.For, ast.While, ast.If)) and len(node.body) > 1:
        node.body = node.body[:-1]
    elif isinstance(node, ast.Return) and node.value is not None:
        node.value = None
    else:
        return False
    return True
