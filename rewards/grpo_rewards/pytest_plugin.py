"""A pytest plugin for whoever writes tasks or rewards: checks over registered environments as ordinary tests.

    @pytest.mark.grpo_ids("mine/*")
    def test_nothing_but_the_right_answer_is_paid(grpo_id, check_reward):
        check_reward(grpo_id)

Every pytest run where grpo-gym is installed loads this file, so it imports nothing. That is also why it stands here and
not in `grpo_gym`: importing anything below that package imports Gymnasium (0.4 s) and registers environments.
"""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from grpo_gym.checks import Report

MARKER = "grpo_ids"
ARGUMENT = "grpo_id"


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line(
        "markers",
        f"{MARKER}(*patterns): the environment ids that the test's {ARGUMENT} stands for, e.g. 'mine/*'; default: all",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test per environment id of a test that asks for `grpo_id`."""
    marks = list(metafunc.definition.iter_markers(MARKER))
    if ARGUMENT not in metafunc.fixturenames:
        if marks:
            raise pytest.Collector.CollectError(f"a test with the marker {MARKER} takes the argument {ARGUMENT}")
        return
    patterns = [pattern for mark in marks for pattern in mark.args]
    try:
        ids = matching_ids(patterns)
    except LookupError as error:
        raise pytest.Collector.CollectError(str(error)) from None
    metafunc.parametrize(ARGUMENT, ids, indirect=True)


@pytest.fixture
def grpo_id(request: pytest.FixtureRequest) -> str:
    """The id of a registered environment; the test runs once for each that `@pytest.mark.grpo_ids` asks for."""
    identifier: str = request.param
    return identifier


@pytest.fixture
def check_reward() -> Callable[..., Report]:
    """A function that checks a reward as `grpo-gym check` does, and fails the test with the table of what it found."""
    from grpo_gym.checks import check_reward

    def check(subject: Any, **options: Any) -> Report:
        __tracebackhide__ = True
        report = check_reward(subject, **options)
        if not report.ok:
            pytest.fail(str(report), pytrace=False)
        return report

    return check


def matching_ids(patterns: list[str]) -> list[str]:
    """Return the registered ids that match any of the patterns, all of them for none.

    Raises:
        LookupError: A pattern that matches nothing; names the nearest id.
    """
    from grpo_gym import registered_ids
    from grpo_gym.errors import UnknownNameError

    ids = registered_ids()
    for pattern in patterns:
        if not any(fnmatchcase(identifier, pattern) for identifier in ids):
            raise UnknownNameError("environment id or pattern", pattern, ids)
    return [i for i in ids if not patterns or any(fnmatchcase(i, pattern) for pattern in patterns)]
