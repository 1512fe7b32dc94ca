"""Problems are a pure function of their key, in every process; splits are disjoint; seeds have nothing in common."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_gym import Problem, Procedural, Rng, Task, task
from grpo_gym.errors import DataError, GeneratorError, GrpoGymError, InvalidValueError, UnknownNameError
from grpo_gym.problem import SPLITS, Split, split_of
from grpo_gym.registration import tasks_of
from grpo_gym.stream import ProblemStream, as_tier, tiers_of
from tests.gym.golden import fingerprints, stored
from tests.shared import product_ids

ROOT = Path(__file__).resolve().parents[2]
TASKS = {t.name: t for identifier in product_ids() for t in tasks_of(identifier)}
TIERS = [
    pytest.param(
        t,
        tier,
        id=f"{t.name}-{tier}",
        marks=pytest.mark.long if t.name.startswith("code") or tier not in t.default_tiers else (),
    )
    for t in TASKS.values()
    for tier in t.tiers
]
"""In `make test` the tiers that a task uses by default; problems of code tasks come with tests for programs, and take
longer to make than it has time."""
ENOUGH = 2_000
FEW, MOST_REPEATS = 400, 20
"""Among so many draws from ENOUGH problems, 40 repeat an earlier one on average: half as many, and there are more."""


def _many(of: Task, tier: int, usual: int) -> int:
    """How many problems to look at: fewer where one takes longer to make, as with tests for a program."""
    return usual // 4 if of.name.startswith("code") else usual // 2 if tier == 5 else usual


def _content(of: Task, rng: Rng, tier: int) -> str:
    """What is drawn, without the tests of a program where those are made later."""
    source: Any = of.source
    return str(source.draft(rng, tier).prompt if hasattr(source, "draft") else source.generate(rng, tier).content)


# --- the same everywhere


def test_the_first_problems_are_those_of_the_golden_file():
    golden, found = stored(), fingerprints()
    assert set(found) <= set(golden), "new environments: run python -m tests.gym.golden"
    for identifier, by_stream in found.items():
        assert by_stream == golden[identifier], f"problems of {identifier} have changed: raise its version"


@pytest.mark.parametrize("hash_seed", ["1", pytest.param("4242", marks=pytest.mark.long)])
def test_another_process_and_hash_seed_make_the_same_problems(hash_seed):
    program = "import json; from tests.gym.golden import fingerprints; print(json.dumps(fingerprints()))"
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, check=True, capture_output=True, text=True, timeout=120
    )
    assert json.loads(done.stdout) == fingerprints()


def test_threads_make_the_same_problems():
    keys = [(t, tier, seed) for t in TASKS.values() for tier in t.tiers for seed in range(3)]
    with ThreadPoolExecutor(8) as threads:
        made = list(threads.map(lambda key: key[0].problem(key[1], "train", key[2], 5), keys))
    assert made == [t.problem(tier, "train", seed, 5) for t, tier, seed in keys]


# --- splits and seeds


@pytest.mark.parametrize(("of", "tier"), TIERS)
def test_no_problem_of_one_split_occurs_in_another(of, tier):
    first: dict[Split, list[Problem]] = {
        split: [of.problem(tier, split, 1, k) for k in range(_many(of, tier, 60))] for split in SPLITS
    }
    for split, problems in first.items():
        for problem in problems:
            assert problem.split == split == split_of(problem.content)
            assert problem.tier == tier
            assert problem.task == of.name
            assert problem.problem_id.startswith(f"{of.name}-t{tier}-")
    contents = {split: {problem.content for problem in problems} for split, problems in first.items()}
    assert not contents["train"] & contents["val"]
    assert not (contents["train"] | contents["val"]) & contents["test"]


@pytest.mark.parametrize(("of", "tier"), TIERS)
def test_neighbouring_seeds_have_nothing_in_common(of, tier):
    """reasoning-gym's seeds 42 and 43 share 496 of 500 problems, shifted by one."""
    many = _many(of, tier, 100)
    one, two = ([of.problem(tier, "train", seed, k).content for k in range(many)] for seed in (42, 43))
    for shift in (-1, 0, 1):
        pairs = zip(one[1 + shift : many - 10 + shift], two[1 : many - 10], strict=True)
        assert sum(a == b for a, b in pairs) <= 3
    assert len(set(one)) >= 0.8 * many or tier in of.small_tiers


@pytest.mark.parametrize(("of", "tier"), TIERS)
def test_a_tier_has_enough_distinct_problems_or_says_so(of, tier):
    if not isinstance(of.source, Procedural):
        pytest.skip("a data set has the rows it has")
    rng, seen, draws = Rng("distinct", of.name, tier), set[str](), FEW
    seen.update(_content(of, rng, tier) for _ in range(draws))
    if draws - len(seen) <= MOST_REPEATS:
        assert tier not in of.small_tiers
        return
    while len(seen) < ENOUGH and draws < 20 * ENOUGH:
        seen.add(_content(of, rng, tier))
        draws += 1
    assert (len(seen) < ENOUGH) == (tier in of.small_tiers), f"{len(seen)} distinct problems in {draws} draws"


@pytest.mark.parametrize(("of", "tier"), TIERS)
def test_a_problem_survives_json(of, tier):
    problem = of.problem(tier, "val", 3, 3)
    assert Problem.from_json(json.loads(json.dumps(problem.to_json()))) == problem


def test_the_split_goes_by_content_and_not_by_its_spacing():
    assert split_of(Problem("a  b\n c", "1").content) == split_of(Problem("a b c ", "2").content)
    assert Problem("a", "1", variant="x").content != Problem("a", "1").content
    shares = [split_of(f"content {n}") for n in range(10_000)]
    assert [abs(shares.count(split) - share) < 150 for split, share in zip(SPLITS, (8000, 1000, 1000), strict=True)]


# --- what a generator or a caller may do wrong


def made_by(generate: Any, **fields: Any) -> Task:
    return task("test.broken", reward=lambda response, problem: 0.0, **fields)(generate)


@pytest.mark.parametrize(
    ("generate", "message"),
    [
        (lambda rng, tier: 1 // 0, r"the generator failed at Key\(.*ZeroDivisionError"),
        (lambda rng, tier: "text", r"the generator of grpo/test.broken returned str, not a Problem"),
        (
            lambda rng, tier: Problem("constant", "1"),
            r"no (val|train|test) problem in 2000 draws .* too little distinct",
        ),
    ],
)
def test_a_broken_generator_is_named(generate, message):
    other = next(split for split in SPLITS if split != split_of("constant"))
    with pytest.raises(GeneratorError, match=message):
        made_by(generate).problem(0, other, 0, 0)


def test_an_error_of_ours_passes_through_a_generator():
    def generate(rng: Rng, tier: int) -> Problem:
        raise DataError("the word list is missing")

    with pytest.raises(DataError, match="the word list is missing"):
        made_by(generate).problem(0, "train", 0, 0)


@pytest.mark.parametrize(
    "name", ["Math.chain", "chain", "math.", "math.chain_", "math.a_1", "math.a__b", "ma th.x", ""]
)
def test_a_task_name_that_makes_no_id_is_refused(name):
    with pytest.raises(InvalidValueError, match=r"use family.task in lower case, e.g. 'math.mini_sudoku'"):
        Task(name, Procedural(lambda rng, tier: Problem("", "")), lambda response, problem: 0.0)  # type: ignore[arg-type]


def test_tiers_out_of_range_are_refused():
    with pytest.raises(InvalidValueError, match=r"tiers are among \[0, 1, 2, 3, 4, 5\], got \[6\]"):
        made_by(lambda rng, tier: Problem("", ""), tiers=(6,))
    with pytest.raises(InvalidValueError, match=r"default_tiers \(2,\) are not among its tiers"):
        made_by(lambda rng, tier: Problem("", ""), tiers=(0, 1), default_tiers=(2,))
    with pytest.raises(InvalidValueError, match="max_turns is 0, must be at least 1"):
        made_by(lambda rng, tier: Problem("", ""), max_turns=0)


@given(low=st.integers(0, 5), high=st.integers(0, 5))
def test_a_range_of_tiers_may_be_a_tuple_or_a_list(low, high):
    for pair in ((low, high), [low, high]):
        if low <= high:
            assert list(tiers_of(pair)) == list(range(low, high + 1))
        else:
            with pytest.raises(InvalidValueError):
                tiers_of(pair)
    assert list(tiers_of(low)) == [low]


@pytest.mark.parametrize("tier", [-1, 6, 1.5, True, "1", "12", [1], [1, 2, 3], (None, 2), None])
def test_anything_else_is_no_tier(tier):
    with pytest.raises(InvalidValueError, match="give one of"):
        tiers_of(tier)


def test_a_stream_mixes_its_tasks_and_tiers_evenly():
    tasks = tasks_of("grpo/Math-v0")
    drawn = [ProblemStream("grpo/mix", tasks, (0, 2)).at(seed, 0).problem for seed in range(2400)]
    names = [problem.task for problem in drawn]
    assert all(names.count(task.name) > 2400 / len(tasks) / 3 for task in tasks)
    assert all([problem.tier for problem in drawn].count(tier) > 480 for tier in (0, 1, 2))
    with pytest.raises(InvalidValueError, match="at least one task"):
        ProblemStream("grpo/none", [])


def test_a_stream_says_which_tiers_its_tasks_have():
    few = made_by(lambda rng, tier: Problem(str(rng.integer(0, 10**9)), "1"), tiers=(1, 2))
    with pytest.raises(InvalidValueError, match=r"no task of x has tier 0; the tiers here are \[1, 2\]"):
        ProblemStream("x", [few], 0)
    assert {ProblemStream("x", [few], (0, 1)).at(seed, 0).problem.tier for seed in range(10)} == {1}


@pytest.mark.parametrize(
    ("record", "error", "message"),
    [
        ({"prompt": "?"}, DataError, r"a text 'prompt' and a 'reference', got the keys \['prompt'\]"),
        ({"prompt": 4, "reference": "4"}, DataError, "a text 'prompt'"),
        ({"prompt": "?", "reference": "4", "solutoin": ""}, UnknownNameError, "did you mean 'solution'"),
    ],
)
def test_a_record_that_is_no_problem_is_refused(record, error, message):
    with pytest.raises(error, match=message) as caught:
        Problem.from_json(record)
    assert isinstance(caught.value, GrpoGymError)


@pytest.mark.parametrize("value", [float("nan"), {1, 2}, object()])
def test_a_reference_that_is_no_json_value_is_refused_where_it_is_written(value):
    with pytest.raises(DataError, match=r"problem 'what\?' is not JSON"):
        Problem("what?", value).to_json()


@pytest.mark.parametrize(("numbers", "tier"), [((), None), ((2,), 2), ((1, 3), [1, 3])])
def test_an_option_list_is_a_tier_a_range_or_the_default(numbers, tier):
    assert as_tier(numbers) == tier
