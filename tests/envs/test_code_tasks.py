"""The programming tasks: programs and tests agree, tests kill near misses, and nothing but solving a problem helps."""

from __future__ import annotations

import json
import pickle
from collections import Counter
from typing import Any

import pytest

from grpo_envs.code.draft import Draft, Drafts
from grpo_envs.code.examples import grammar, pinned, pool
from grpo_envs.code.hidden import SAME, differs
from grpo_envs.code.mutants import mutants
from grpo_envs.code.near_misses import NearMisses
from grpo_envs.code.running import FAULTS, EndlessError, Program
from grpo_envs.index import FAMILIES
from grpo_gym import Rng, Task
from grpo_gym.problem import SPLITS
from grpo_gym.registration import load_tasks

TASKS = {name: load_tasks(f"grpo/{name}")[0] for name in FAMILIES["code"]}
TIERS = [pytest.param(task, tier, id=f"{name}-{tier}") for name, task in TASKS.items() for tier in task.tiers]
BIG = 3_000_000
"""Steps that a reference may take on the largest inputs."""


def source(task: Task) -> Drafts:
    assert isinstance(task.source, Drafts)
    return task.source


def drafts(task: Task, tier: int, n: int) -> list[Draft]:
    rng = Rng("test", task.name, tier)
    return [source(task).draft(rng, tier) for _ in range(n)]


def outcome(program: Program, args: Any, draft: Draft) -> Any:
    """What a program makes of a call, as JSON tells it; None where it fails."""
    try:
        got = program(draft.render(*args)) if draft.render else program(*args)
        return json.loads(json.dumps(got))
    except (*FAULTS, EndlessError):
        return None


def fails(program: Program, args: Any, output: Any, draft: Draft) -> bool:
    return bool(outcome(program, args, draft) != json.loads(json.dumps(output)))


def sampled(texts: list[str], most: int = 30) -> list[str]:
    return texts[:: 1 + len(texts) // most]


def test_there_are_many_tasks_of_every_tier():
    assert len(TASKS) >= 20
    assert all(sum(tier in task.tiers for task in TASKS.values()) >= 3 for tier in range(6))
    first = [drafts(task, task.tiers[0], 1)[0] for task in TASKS.values()]
    assert sum(draft.render is not None for draft in first) >= 2


@pytest.mark.parametrize(("task", "tier"), TIERS)
def test_the_program_computes_what_the_generator_computes(task, tier):
    for draft in drafts(task, tier, 6):
        program = Program(draft.code, "" if draft.render else draft.name, BIG)
        for args, output in [*draft.examples, *draft.small, *draft.large]:
            assert not fails(program, args, output, draft), (draft.code, args, output)


@pytest.mark.parametrize(("task", "tier"), TIERS)
def test_hidden_tests_are_many_and_different_and_not_shown(task, tier):
    for draft in drafts(task, tier, 12):
        hidden = [*draft.small, *draft.large]
        shown = [repr(args) for args, _ in draft.examples]
        inputs = [repr(args) for args, _ in hidden]
        assert 8 <= len(hidden) <= 45
        assert len(set(inputs)) == len(inputs)
        assert not set(inputs) & set(shown)
        outputs = Counter(repr(output) for _, output in hidden)
        assert max(outputs.values()) * SAME <= len(hidden), "a constant passes too many tests"
        known = {repr(args): output for args, output in draft.examples}
        for constant in [None, *(output for _, output in draft.examples)]:
            by_heart = [known.get(repr(args), constant) == output for args, output in hidden]
            assert sum(by_heart) * SAME <= len(hidden)


@pytest.mark.parametrize(("task", "tier"), TIERS)
def test_a_problem_is_a_function_of_its_program(task, tier):
    """So a rule cannot stand in two splits under another wording or with other examples."""
    made: dict[str, str] = {}
    for draft in drafts(task, tier, 40):
        assert made.setdefault(draft.code, draft.prompt) == draft.prompt
    assert len(set(made.values())) == len(made)


@pytest.mark.parametrize(("task", "tier"), TIERS)
def test_a_prompt_is_plain_and_says_what_is_asked(task, tier):
    for split in SPLITS:
        problem = task.problem(tier, split, 3, 0)
        assert problem.prompt.isascii()
        assert "  " not in problem.prompt.partition("\n\n")[0]
        assert problem.reference["style"] in ("function", "stdio")
        assert problem.solution.startswith("```python\n")
        assert problem.reference["tests"].get("fn_name", "") in problem.prompt
        assert len(problem.prompt) < 3_500
        for shown in problem.reference["public"]["outputs"]:
            assert (shown if isinstance(shown, str) and "\n" in shown else str(shown)) in problem.prompt


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS.keys())
def test_hidden_tests_kill_the_near_misses_of_a_program(task):
    """Of the programs with one small change that differ on 300 random inputs, at least 95 in 100 fail a hidden test."""
    killed, alive = 0, list[str]()
    for tier in task.tiers:
        for draft in drafts(task, tier, 2):
            name = "" if draft.render else draft.name
            for text in sampled(list(mutants(draft.code))):
                try:
                    program = Program(text, name)
                except SyntaxError:
                    continue
                if any(fails(program, *call, draft) for call in draft.small):
                    killed += 1
                    continue
                rng = Rng("inputs", text)
                inputs = [draft.inputs(rng) for _ in range(300)]
                if any(fails(program, args, draft.expected(*args), draft) for args in inputs):
                    alive.append(text)
    assert killed >= 20
    assert killed >= 0.95 * (killed + len(alive)), f"{len(alive)} of {killed + len(alive)} survive, e.g.\n{alive[0]}"


@pytest.mark.parametrize(("task", "tier"), TIERS)
def test_hardly_a_mutant_that_is_often_wrong_passes_the_hidden_tests(task, tier):
    """Of all programs with one small change; forty of them were tried when the tests were chosen."""
    for draft in drafts(task, tier, 1):
        misses = NearMisses(draft.code, "" if draft.render else draft.name)
        alive = list(misses.numbers)
        for args, output in draft.small:
            alive = misses.left(alive, draft.given(args), output)
        assert len(alive) < len(misses.numbers)
        rng, wrong = Rng("fresh", draft.code), Counter[int]()
        for args in [draft.inputs(rng) for _ in range(150 if alive else 0)]:
            wrong.update({*alive} - {*misses.left(alive, draft.given(args), draft.expected(*args))})
        texts = list(mutants(draft.code))
        often = [texts[number - 1] for number, times in wrong.items() if times >= 0.08 * 150]
        assert len(often) <= 0.02 * len(texts), often[0]


def test_the_mutants_of_a_program_behave_in_one_text_as_they_do_alone():
    for name, tier in (("lists", 3), ("records", 3), ("expressions", 4), ("grids", 4), ("networks", 4)):
        [draft] = drafts(TASKS[f"code.{name}"], tier, 1)
        function, calls = "" if draft.render else draft.name, draft.small[:6]
        misses = NearMisses(draft.code, function)
        texts = list(mutants(draft.code))
        assert [*misses.numbers] == [*range(1, len(texts) + 1)]
        for args, output in calls:
            alone = [k for k, t in enumerate(texts, 1) if not fails(Program(t, function), args, output, draft)]
            assert misses.left(misses.numbers, draft.given(args), output) == alone
            assert misses.left([0], draft.given(args), output) == [0]


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS.keys())
def test_typical_mistakes_are_killed_where_random_inputs_show_them(task):
    missed, all_of_them = 0, 0
    for tier in task.tiers:
        for draft in drafts(task, tier, 5):
            for mistake in draft.mistakes:
                rng = Rng("inputs", draft.code)
                inputs = [draft.inputs(rng) for _ in range(60)]
                if any(differs(mistake, args, draft.expected(*args)) for args in inputs):
                    all_of_them += 1
                    missed += not any(differs(mistake, *call) for call in draft.small)
    assert missed <= 0.05 * all_of_them


NAIVE = {
    "code.recurrences": (4, "def solve(n):\n    for i in range(n):\n        pass"),
    "code.calendars": (4, "def solve(n):\n    for i in range(n // 60):\n        pass"),
    "code.robots": (4, "def solve(commands, n):\n    for i in range(n):\n        pass"),
    "code.subarrays": (4, "def solve(xs):\n    for i in xs:\n        for j in xs:\n            pass"),
    "code.alignments": (
        4,
        "def solve(a, b):\n    if a and b:\n        solve(a[1:], b)\n        solve(a, b[1:])\n"
        "        solve(a[1:], b[1:])",
    ),
    "code.knapsacks": (
        5,
        "def solve(items, room):\n    if items:\n        solve(items[1:], room)\n        solve(items[1:], room - 1)\n"
        "        solve(items[1:], room - 2)",
    ),
    "code.games": (4, "def solve(limit):\n    for m in (1, 2):\n        if limit >= m:\n            solve(limit - m)"),
}
"""Task -> the first tier that asks for speed, and what a program without an idea would go through."""


@pytest.mark.parametrize("name", NAIVE)
def test_large_inputs_are_too_much_for_a_program_without_an_idea(name):
    tier, naive = NAIVE[name]
    for draft in drafts(TASKS[name], tier, 2):
        args, output = draft.large[-1]
        assert not fails(Program(draft.code, draft.name, BIG // 10), args, output, draft)
        with pytest.raises(EndlessError):
            Program(naive, "solve", BIG // 10)(*args)


@pytest.mark.parametrize("tier", TASKS["code.examples"].tiers)
def test_examples_single_out_one_rule_of_the_grammar(tier):
    rules = grammar(tier)
    assert len(set(rules.results)) == len(rules.results) >= 3_000
    for which in range(0, len(rules.results), 150):
        places = pinned(rules, which, Rng("test", which))
        agreeing = [r for r in rules.results if all(r[p] == rules.results[which][p] for p in places)]
        assert agreeing == [rules.results[which]]
        assert len(places) <= 12
    assert [] in pool()


def test_a_source_is_pickled_by_name():
    task = TASKS["code.lists"]
    assert pickle.loads(pickle.dumps(task.source)) is task.source


def test_a_program_of_ours_runs_to_its_end_and_not_longer():
    assert Program("def solve(x):\n    x.append(1)\n    return len(x)", "solve")([]) == 1
    assert Program("n = int(input())\nprint(n, n + 1)")("4\n") == "4 5"
    given: list[int] = []
    Program("def solve(x):\n    x.append(1)", "solve")(given)
    assert given == []
    for endless in ("while True: pass", "n = [x for x in range(10**9)]", "def f(): f()\nf()"):
        with pytest.raises((EndlessError, RecursionError)):
            Program(endless)("")
    with pytest.raises(EOFError):
        Program("input()")("")


def test_mutants_are_programs_with_one_change_each():
    code = "def f(a, b):\n    if a < 3 and b:\n        a += 1\n    return [x for x in (a, b) if x]"
    made = list(mutants(code))
    assert len(made) == len(set(made)) >= 12
    assert "    if a <= 3 and b:" in "\n".join(made)
    assert "    return [x for x in (a, b)]" in "\n".join(made)
    assert all(text != code for text in made)
