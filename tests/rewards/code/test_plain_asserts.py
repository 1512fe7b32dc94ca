"""Which assert texts are made into calls, and that those give the verdict which the text itself gives."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grpo_rewards.code import CodeJudge, Job
from grpo_rewards.code.plain_asserts import implied_entry_point, plain_asserts

CHECK = "METADATA = {'a': 1}\n\ndef check(candidate):\n    '''Words.'''\n    assert True\n"
CHECK += "    assert candidate(1) == 2, 'first'\n    assert not candidate(-1)\n\ncheck(f)\n"


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("assert f(1) == 2", ["f"]),
        ("assert f([1, (2,)], {'a': {3}}) != None\nassert g()\nassert not g('x')", ["f", "g", "g"]),
        ("assert f(1) is True\nassert f(-1.5) is not None", ["f", "f"]),
        (CHECK, ["f", "f"]),
    ],
)
def test_asserts_of_calls_with_literals_are_plain(source: str, names: list[str]) -> None:
    found = plain_asserts(source)
    assert found is not None
    assert [one.name for one in found] == names


@pytest.mark.parametrize(
    "source",
    [
        "", "x = 1\nassert f(x) == 2", "assert f(1) == g(2)", "assert abs(f(1) - 2) < 1", "assert f(1) == 2 == f(2)",
        "assert f(x=1) == 2", "assert f(*[1]) == 2", "assert f(1) is 2", "assert f(1) < 2", "for i in [1]: assert f(i)",
        "f = 3\nassert f(1) == 2", "def f(x): return 2\nassert f(1) == 2", "import f\nassert f(1) == 2",
        "assert len([1]) == 1", "assert o.f(1) == 2", "assert f(1) == 2, g(1)", "assert f(1)() == 2", "f(1)",
        CHECK.replace("check(f)", "check(f)\ncheck(g)"), CHECK.replace("check(f)", "check(f(1))"),
        CHECK.replace("assert True", "candidate = 3"), CHECK.replace("assert True", "return"),
        "@twice\n" + CHECK[CHECK.index("def") :], "assert candidate(1) == 2\n" + CHECK,
        CHECK.replace("check(candidate)", "check(candidate, more=[])"), "assert f(1) == 2\nassert f(",
    ],
)  # fmt: skip
def test_everything_else_is_run_as_it_stands(source: str) -> None:
    assert plain_asserts(source) is None


def test_names_of_the_prompt_and_of_python_are_not_the_solutions() -> None:
    assert plain_asserts("assert f(1) == 2", given="def f(x): return 2") is None
    assert plain_asserts("assert sum([1]) == 1") is None
    assert plain_asserts("assert sum([1]) == 1", entry_point="sum") is not None
    assert implied_entry_point("assert sum(10, 15) == 6") == "sum"
    assert implied_entry_point("assert sum(f(1)) == 6") is None
    assert implied_entry_point("assert sum(max(1)) == 6") is None


@pytest.fixture(scope="module")
def court() -> Iterator[CodeJudge]:
    with CodeJudge(workers=1) as court:
        yield court


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.0, 1.0, 2.5, float(10**20), "", "a", "é{"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.tuples(inner) | st.dictionaries(st.integers(0, 3), inner, max_size=2)
    ),
    max_leaves=5,
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(returned=VALUES, expected=VALUES, same=st.booleans(), form=st.sampled_from(["== {}", "!= {}", "", "is None"]))
def test_a_plain_assert_gets_the_verdict_of_the_text(
    court: CodeJudge, returned: object, expected: object, same: bool, form: str
) -> None:
    solution = f"def f(x):\n    return {returned!r}\n"
    source = f"assert f({expected!r}) {form.format(repr(returned if same else expected))}"
    assert plain_asserts(source) is not None
    fast, full = court.judge_all([Job(solution, source), Job(solution, f"if 1:\n    {source}")])
    assert (fast.value, fast.reason) == (full.value, full.reason), (source, fast, full)
