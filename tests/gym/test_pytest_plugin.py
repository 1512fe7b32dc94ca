"""The pytest plugin: tests over registered ids for whoever wants them, and no cost for whoever does not."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import entry_points

import pytest

from grpo_gym import registered_ids
from grpo_gym.checks import Report
from tests.shared import product_ids

pytest_plugins = ["pytester"]

STAND_IN = """
import pytest

@pytest.fixture(autouse=True)
def stand_in(monkeypatch):
    class Report:
        def __init__(self, subject):
            self.ok, self.subject = "Gcd" not in subject, subject
        def __str__(self):
            return f"[/bold] the table of {self.subject}"
    def check(subject, **options):
        said.append(options)
        return Report(subject)
    monkeypatch.setattr("grpo_gym.checks.check_reward", check)

said = []
"""
"""A conftest in which the checker says at once that only one environment is bad."""


@pytest.fixture
def suite(pytester: pytest.Pytester) -> pytest.Pytester:
    """A folder of someone else's tests, as strict as ours."""
    pytester.makeini("[pytest]\naddopts = --strict-markers\nfilterwarnings = error\n")
    return pytester


def test_it_is_installed_where_no_part_of_grpo_gym_is_imported() -> None:
    (entry,) = [entry for entry in entry_points(group="pytest11") if entry.name == "grpo_gym"]
    code = (
        f"import sys, pytest; before = set(sys.modules); import {entry.value};"
        "sys.exit(str(sorted(set(sys.modules) - before)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)

    assert done.stderr.strip() == str(["grpo_rewards", entry.value])


def test_a_run_that_does_not_use_it_imports_neither_grpo_gym_nor_gymnasium(suite: pytest.Pytester) -> None:
    suite.makepyfile("import sys\ndef test_it(): assert not {'grpo_gym', 'gymnasium', 'numpy'} & set(sys.modules)")
    result = suite.runpytest_subprocess("-p", "no:hypothesispytest")

    result.assert_outcomes(passed=1)


def test_a_test_runs_once_per_id_that_a_pattern_matches(suite: pytest.Pytester) -> None:
    suite.makepyfile("""
import pytest

@pytest.mark.grpo_ids("grpo/Logic.Guess*", "grpo/Math.Gc*", "grpo/Math.Gcd-v?")
def test_it(grpo_id):
    import gymnasium
    gymnasium.make(grpo_id).reset(seed=0)
""")
    result = suite.runpytest("-v")

    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*test_it[[]grpo/Math.Gcd-v0]*", "*test_it[[]grpo/Logic.GuessNumber-v0]*"])


def test_without_the_marker_it_is_every_id(suite: pytest.Pytester) -> None:
    suite.makepyfile("def test_it(grpo_id): pass")

    suite.runpytest().assert_outcomes(passed=len(registered_ids()))


def test_the_marker_of_a_class_holds_for_its_tests_and_other_parameters_multiply(suite: pytest.Pytester) -> None:
    suite.makepyfile("""
import pytest

@pytest.mark.grpo_ids("grpo/Math.Gcd-*")
class TestIt:
    @pytest.mark.parametrize("n", [1, 2])
    def test_it(self, grpo_id, n): assert grpo_id == "grpo/Math.Gcd-v0"

    @pytest.mark.grpo_ids("grpo/Math.Linear-*")
    def test_both(self, grpo_id): pass
""")
    suite.runpytest().assert_outcomes(passed=4)


def test_a_pattern_that_matches_nothing_is_an_error_and_names_the_nearest(suite: pytest.Pytester) -> None:
    suite.makepyfile("""
import pytest

@pytest.mark.grpo_ids("grpo/Math.*", "grpo/Mth.Gcd-*")
def test_it(grpo_id): pass
""")
    result = suite.runpytest()

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["*unknown environment id or pattern 'grpo/Mth.Gcd-[*]'; did you mean 'grpo/Math.Gcd-v0'*"]
    )


def test_the_marker_on_a_test_that_takes_no_id_is_an_error(suite: pytest.Pytester) -> None:
    suite.makepyfile("import pytest\n@pytest.mark.grpo_ids('grpo/*')\ndef test_it(): pass")
    result = suite.runpytest()

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*a test with the marker grpo_ids takes the argument grpo_id*"])


def test_marker_and_fixtures_are_told(suite: pytest.Pytester) -> None:
    suite.makepyfile("def test_it(): pass")

    suite.runpytest("--markers").stdout.fnmatch_lines(["@pytest.mark.grpo_ids(*patterns): *"])
    suite.runpytest("--fixtures").stdout.fnmatch_lines(["grpo_id*", "check_reward*"])


def test_a_reward_that_can_be_fooled_fails_with_the_table_and_no_traceback(suite: pytest.Pytester) -> None:
    suite.makeconftest(STAND_IN)
    suite.makepyfile("""
import pytest

@pytest.mark.grpo_ids("grpo/Math.*")
def test_it(grpo_id, check_reward):
    from conftest import said
    assert check_reward(grpo_id, n=16).subject == grpo_id
    assert said[-1] == {"n": 16}
""")
    result = suite.runpytest("--tb=long")

    maths = [identifier for identifier in product_ids() if identifier.startswith("grpo/Math.")]
    result.assert_outcomes(passed=len(maths) - 1, failed=1)
    result.stdout.fnmatch_lines(["[[]/bold] the table of grpo/Math.Gcd-v0"])
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*pytest_plugin.py*")


def test_workers_of_xdist_collect_the_same(suite: pytest.Pytester) -> None:
    suite.makepyfile("import pytest\n@pytest.mark.grpo_ids('grpo/*')\ndef test_it(grpo_id): pass")

    suite.runpytest_subprocess("-n", "2").assert_outcomes(passed=len(product_ids()))


def test_a_real_check_of_a_good_reward_passes(check_reward: Callable[..., Report]) -> None:
    assert check_reward("grpo/Math.Gcd-v0", n=8).ok
