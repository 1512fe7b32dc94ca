"""What programs of every kind earn, and that hostile ones do no harm: in each tier, as this user and as a plain one.

The rows stand in `tests/cases/code_programs.jsonl`. Most hostile ones score themselves: the program is right only where
its attack works, so a reward is a leak. The others try to do harm that `must_not` names, which is looked for then.
"""

import functools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from grpo_rewards.code import NotIsolatedError, isolation
from tests.rewards.code.canary import ENVIRONMENT, SECRET
from tests.rewards.code.run_programs import read_table
from tests.shared import shared_file

REPOSITORY = Path(__file__).parents[3]
TABLE = REPOSITORY / "tests" / "cases" / "code_programs.jsonl"
PLAIN_USER = 61_999
"""A user id that nobody has; root runs programs as it too, since limits and modes bind root less."""

AS_USER = ("processes", "network", "secrets", "files", "persistence")
"""Kinds whose outcome depends on who runs them."""

OPEN = ("secrets", "network")
"""Kinds that may be tried without protection: they read, and knock at doors that the test opened."""


@pytest.mark.parametrize("tier", ["namespaces", pytest.param("landlock", marks=pytest.mark.long)])
def test_programs_earn_what_they_deserve_and_do_no_harm(tier):
    check(TABLE, told(TABLE, tier))


@pytest.mark.parametrize("tier", ["namespaces", "landlock"])
def test_the_same_holds_for_a_plain_user(tier):
    if os.getuid() != 0:
        pytest.skip("only root can become another user; this one is a plain user already")
    check(TABLE, told(TABLE, tier, *AS_USER, user=PLAIN_USER))


@pytest.mark.parametrize("tier", ["namespaces", "landlock"])
def test_shared_programs_earn_what_they_deserve_and_do_no_harm(tier):
    table = shared_file("cases", "code.jsonl")
    check(table, told(table, tier))


def test_leaks_would_be_seen_where_nothing_closes_programs_in():
    """A row whose program is right nowhere would protect nothing; `closed` are those that need more than rights."""
    rows = {row["id"]: row for row in read_table(TABLE)}
    closed = [
        name
        for name, row in told(TABLE, "none", *OPEN)["rows"].items()
        if row["value"] != 1.0 and not rows[name].get("closed")
    ]
    assert closed == []


def test_the_table_is_large_and_names_each_program_once():
    rows = read_table(TABLE)
    assert len({row["id"] for row in rows}) == len(rows) >= 170
    assert sum(row["kind"] == "honest" for row in rows) >= 50
    assert all(row["expected"] == (row["kind"] == "honest") for row in rows)


def check(table: Path, found: dict[str, Any]) -> None:
    """Compare what came of the rows with what should; tell all that is wrong at once."""
    expected = {row["id"]: row["expected"] for row in read_table(table)}
    results = found["rows"]
    assert results
    assert {name: row for name, row in results.items() if row["value"] != expected[name] or row["abstains"]} == {}
    assert {name: row["harm"] for name, row in results.items() if row["harm"]} == {}
    assert {name: row["restarts"] for name, row in results.items() if row["restarts"]} == {}, "it ended the judge"
    texts = {name: row["feedback"].replace("\n", "") for name, row in results.items()}
    assert {name: text for name, text in texts.items() if not text.isprintable()} == {}
    assert found["survivors"] == []
    assert found["descriptors"] == 0
    assert found["left"] == []
    assert found["visits"] == []


@functools.cache
def told(table: Path, tier: Any, *kinds: str, user: int | None = None) -> dict[str, Any]:
    """Run a table of programs in a process of its own, as a user."""
    if user is None and tier != "none":
        try:
            isolation(tier)
        except NotIsolatedError as error:
            pytest.skip(f"this machine lacks the tier: {error}")
    module = ["-m", "tests.rewards.code.run_programs", str(table), tier, str(REPOSITORY), *kinds]
    environment = {**os.environ, ENVIRONMENT: SECRET, "PYTHONDONTWRITEBYTECODE": "1"}
    python, become = sys.executable, dict[str, Any]()
    if user is not None:
        python, become = python_of(user), {"user": user, "group": user, "extra_groups": []}
        environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        [python, *module], cwd=REPOSITORY, env=environment, capture_output=True, text=True, timeout=600, **become
    )
    if user is not None and "NotIsolatedError" in done.stderr:
        pytest.skip(f"a plain user lacks the tier here: {done.stderr.strip().splitlines()[-1][:200]}")
    assert done.returncode == 0, done.stderr[-2000:]
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert user is None or result["user"] == user
    return result


def python_of(user: int) -> str:
    """Return a Python that a plain user may run; this one may lie in root's home."""
    tried = [sys.executable, shutil.which("python3", path="/usr/local/bin:/usr/bin") or sys.executable]
    for python in tried:
        try:
            check = "import sys; sys.exit(sys.version_info[:2] != ({}, {}))".format(*sys.version_info)
            if subprocess.run([python, "-c", check], user=user, group=user, extra_groups=[], cwd="/").returncode == 0:
                return python
        except PermissionError:
            continue
    pytest.skip(f"a plain user may run neither of {', '.join(tried)}")
