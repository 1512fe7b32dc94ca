"""Knights, zebra and truth chain, solved a second time from their prompts alone; every deduction of theirs is sound."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from functools import cache
from typing import Any

import pytest

from grpo_gym import Problem, Reason, Rng, Task
from grpo_gym.registration import load_tasks
from grpo_rewards.logic import PuzzleReward
from tests.envs.second_puzzles import House, arrangements, grid, parsed, solutions_of, statements, worlds

NAMES = ("logic.knights", "logic.zebra", "logic.truth_chain")
TASKS = {name: load_tasks(f"grpo/{name}")[0] for name in NAMES}
KNIGHTS, ZEBRA, CHAIN = TASKS.values()
TIERS = [pytest.param(task, tier, id=f"{name}-{tier}") for name, task in TASKS.items() for tier in task.tiers]


@cache
def problems(name: str, tier: int, count: int) -> list[Problem]:
    rng = Rng("tests", name, tier)
    source: Any = TASKS[name].source
    return [source.generate(rng, tier) for _ in range(count)]


def sample(task: Task, tier: int) -> list[Problem]:
    """Fewer of the large grids, which take longer to make."""
    return problems(task.name, tier, 6 if (task is ZEBRA and tier == 5) else 12)


def working(problem: Problem) -> list[str]:
    """The lines of the worked solution, without the answer."""
    assert problem.solution is not None
    return problem.solution.splitlines()[:-1]


def value(task: Task, answer: str, problem: Problem) -> float:
    return float(task.reward.score(answer, problem))


# --- one answer, by brute force


@pytest.mark.parametrize("tier", KNIGHTS.tiers)
def test_knights_have_one_answer_found_by_trying_all_worlds(tier):
    for problem in sample(KNIGHTS, tier):
        (world,) = solutions_of(problem)
        written = ", ".join(f"{name}: {'knight' if honest else 'knave'}" for name, honest in world.items())
        assert value(KNIGHTS, f"\\boxed{{{written}}}", problem) == 1.0
        assert written == problem.reference
        for other in worlds(problem.meta["names"]) if tier < 4 else ():
            said = " and ".join(f"{n} is a {'knight' if honest else 'knave'}" for n, honest in other.items())
            assert value(KNIGHTS, f"The answer is {said}.", problem) == (other == world)


def test_no_statement_of_knights_repeats_what_follows_from_those_before():
    for tier in KNIGHTS.tiers[:5]:
        for problem in sample(KNIGHTS, tier):
            rules, left = statements(problem.prompt), list(worlds(problem.meta["names"]))
            for rule in rules:
                fewer = [world for world in left if rule(world)]
                assert 0 < len(fewer) < len(left)
                assert (len(fewer) == 1) == (rule is rules[-1])
                left = fewer


def test_all_worlds_of_knights_are_equally_frequent():
    """A constant answer earns what chance earns: with three people, an eighth."""
    rng = Rng("balance")
    source: Any = KNIGHTS.source
    found = Counter(
        tuple(part.split(": ")[1] for part in source.generate(rng, 1).reference.split(", ")) for _ in range(1600)
    )
    assert len(found) == 8
    assert all(0.65 * 200 < count < 1.35 * 200 for count in found.values())


@pytest.mark.parametrize("tier", CHAIN.tiers[:4])
def test_truth_chains_have_one_answer_found_by_trying_all_worlds(tier):
    for problem in sample(CHAIN, tier)[: 12 if tier < 3 else 3]:
        (world,) = solutions_of(problem)
        asked = re.findall(r"[A-Z]\w+", problem.prompt.splitlines()[-1].removeprefix("For each of "))
        written = ", ".join(f"{name}: {'truth' if world[name] else 'lies'}" for name in asked)
        assert written == problem.reference
        said = "; ".join(f"{name} {'tells the truth' if world[name] else 'lies'}" for name in reversed(asked))
        assert value(CHAIN, f"\\boxed{{{said}}}", problem) == 1.0


@pytest.mark.parametrize(
    "tier", [0, 1, 2, pytest.param(3, marks=pytest.mark.long), pytest.param(4, marks=pytest.mark.long)]
)
def test_zebra_has_one_answer_and_no_clue_too_many(tier):
    for problem in sample(ZEBRA, tier)[: 12 if tier < 2 else 4]:
        n, attributes, clues = parsed(problem.prompt)
        (only,) = arrangements(n, attributes, clues)
        assert grid(only, n) == problem.reference
        for left_out in range(len(clues)):
            fewer = clues[:left_out] + clues[left_out + 1 :]
            assert len(list(itertools.islice(arrangements(n, attributes, fewer), 2))) == 2


def test_every_arrangement_of_a_small_zebra_is_judged_by_the_clues():
    for problem in sample(ZEBRA, 0):
        n, attributes, clues = parsed(problem.prompt)
        (only,) = arrangements(n, attributes, clues)
        for at in arrangements(n, attributes, []):
            verdict = ZEBRA.reward.score(f"\\boxed{{{grid(at, n)}}}", problem)
            assert (verdict.value == 1.0) == (at == only)
            broken = [number for number, (_, rule) in enumerate(clues, 1) if not rule(at)]
            assert not broken or f"clue {broken[0]} does not hold" in verdict.feedback


def test_all_kinds_of_clues_occur():
    kinds = Counter(kind for tier in (2, 3, 4) for p in sample(ZEBRA, tier) for kind, _, _ in p.meta["clues"])
    assert set(kinds) == {"in", "is", "not", "left", "next", "before", "apart", "between", "either"}


# --- answers


@pytest.mark.parametrize(("task", "tier"), TIERS)
def test_references_and_workings_are_right_and_near_misses_are_not(task, tier):
    for problem in sample(task, tier):
        assert value(task, task.answer(problem), problem) == 1.0
        assert value(task, task.right_answer(problem), problem) == 1.0
        assert len(task.right_answer(problem)) < 6_000
        for missed in near_misses(problem.reference):
            assert value(task, f"\\boxed{{{missed}}}", problem) == 0.0


def near_misses(reference: str) -> list[str]:
    """One person is taken for the opposite, or two values of neighbouring houses are exchanged."""
    pairs = reference.split(", ")
    if "; " not in reference:
        other = {"knight": "knave", "knave": "knight", "truth": "lies", "lies": "truth"}
        flipped = [f"{name}: {other[kind]}" for name, kind in (pair.split(": ") for pair in pairs)]
        return [", ".join([*pairs[:k], flipped[k], *pairs[k + 1 :]]) for k in range(len(pairs))]
    one, two, *rest = (row[3:].split(", ") for row in reference.split("; "))
    found = []
    for k in range(len(one)):
        rows = [one[:k] + two[k : k + 1] + one[k + 1 :], two[:k] + one[k : k + 1] + two[k + 1 :], *rest]
        found.append("; ".join(f"{house}: {', '.join(row)}" for house, row in enumerate(rows, 1)))
    return found


@pytest.mark.parametrize("task", TASKS.values(), ids=NAMES)
def test_other_spellings_of_a_right_answer_are_right(task):
    for problem in sample(task, 1):
        if task is ZEBRA:
            rows = problem.reference.split("; ")
            spelled = [
                "; ".join(reversed(rows)),
                "\\\\".join(f"House {row}" for row in rows),
                ". ".join(f"{row[:3]}{', '.join(reversed(row[3:].split(', ')))}" for row in rows).replace(". ", "; "),
                "; ".join(row.replace(", ", ", the ") for row in rows),
            ]
        else:
            pairs = problem.reference.split(", ")
            spelled = [", ".join(reversed(pairs)), " and ".join(pairs).replace(":", " ="), problem.reference.upper()]
        for text in spelled:
            assert value(task, f"\\boxed{{{text}}}", problem) == 1.0, text


@pytest.mark.parametrize("task", TASKS.values(), ids=NAMES)
def test_hostile_answers_earn_nothing(task):
    problem = sample(task, 2)[0]
    right = problem.reference
    for text in (
        "",
        "x" * 100_000,
        f"{right}, {right.replace('knight', 'knave').replace('truth', 'lies').replace('1:', '2:')}",
        f"{right} or not",
        "__import__('os').abort()",
        "; ".join(f"1: {word}" for word in re.findall(r"[A-Za-z]+", right)),
        ", ".join(f"{word}: knight, {word}: knave" for word in re.findall(r"[A-Z][a-z]+", right)),
        "9" * 5_000 + ": Ada",
        problem.prompt,
        right[: len(right) // 2],
    ):
        assert value(task, f"\\boxed{{{text}}}", problem) == 0.0, text[:80]


def test_partial_credit_pays_no_echo_and_no_constant():
    reward = ZEBRA.reward
    assert isinstance(reward, PuzzleReward)
    for problem in sample(ZEBRA, 2):
        n, attributes, _ = parsed(problem.prompt)
        for shift in range(n):
            rows = [f"{(k + shift) % n + 1}: {', '.join(values[k] for values in attributes)}" for k in range(n)]
            verdict = reward.crediting(partial=0.5).score(f"\\boxed{{{'; '.join(rows)}}}", problem)
            assert verdict.value == 0.0
            assert verdict.reason is Reason.WRONG


@pytest.mark.parametrize("task", [KNIGHTS, CHAIN], ids=["knights", "truth_chain"])
def test_partial_credit_pays_nobody_who_takes_all_for_the_same(task):
    for problem in sample(task, 3):
        for kind in ("knight", "knave") if task is KNIGHTS else ("truth", "lies"):
            same = re.sub(r": \w+", f": {kind}", problem.reference)
            verdict = task.reward.crediting(partial=0.5).score(f"\\boxed{{{same}}}", problem)
            assert verdict.value == (1.0 if same == problem.reference else 0.0)


# --- workings


@pytest.mark.parametrize(("task", "tier"), TIERS)
def test_every_deduction_of_a_working_is_sound(task, tier):
    for problem in sample(task, tier):
        found = task.reward.soundness(problem.solution, problem)
        stated = [line for line in working(problem) if not line.startswith("Suppose")]
        assert found.unsound == ()
        assert found.checked >= len(stated)


OPPOSITES = {
    " is a knight": " is a knave",
    " is a knave": " is a knight",
    " tells the truth": " lies",
    " lies": " tells the truth",
    " in house ": " not in house ",
    " not in house ": " in house ",
}


def negated(line: str) -> str:
    """Deny the last claim of a line."""
    found = max(
        OPPOSITES, key=lambda phrase: (line.rfind(phrase) + len(phrase), len(phrase)) if phrase in line else (-1, 0)
    )
    return OPPOSITES[found].join(line.rsplit(found, 1))


@pytest.mark.parametrize(("task", "tier"), [(task, tier) for task in TASKS.values() for tier in range(5)])
def test_a_denied_claim_is_caught_in_every_line(task, tier):
    """Where all claims so far can be true together, a denied one cannot follow; inside a supposition they need not."""
    tried = caught = 0
    for problem in sample(task, tier)[:6]:
        lines = working(problem)
        for place, line in enumerate(lines):
            if not line.startswith("Suppose"):
                changed = "\n".join([*lines[:place], negated(line), *lines[place + 1 :]])
                tried += 1
                caught += bool(task.reward.soundness(changed, problem).unsound)
    assert tried >= 10
    assert caught == tried


@pytest.mark.parametrize(("task", "tier"), [(task, tier) for task in TASKS.values() for tier in (1, 2)])
def test_a_wrong_citation_is_caught_unless_the_claim_follows_from_that_too(task, tier):
    tried = caught = 0
    for problem in sample(task, tier):
        lines = working(problem)
        count = len(re.findall(r"^\d+\. ", problem.prompt, re.MULTILINE))
        for place, line in enumerate(lines):
            cited = re.match(r"From (\d+)", line)
            if cited:
                for other in (int(cited[1]) % count + 1, count + 1):
                    changed = "\n".join([*lines[:place], line.replace(cited[1], str(other), 1), *lines[place + 1 :]])
                    found = task.reward.soundness(changed, problem)
                    assert other <= count or found.unsound
                    tried += other <= count
                    caught += bool(found.unsound) and other <= count
    assert caught >= 0.8 * tried


def test_each_line_about_knights_follows_by_trying_all_worlds():
    """The same judgement as the checker's, by another way: worlds that are left are listed line by line."""
    for tier in KNIGHTS.tiers[:5]:
        for problem in sample(KNIGHTS, tier):
            rules, names = statements(problem.prompt), problem.meta["names"]
            scopes = [list(worlds(names))]
            for line in working(problem):
                claims = [(name, kind == "knight") for name, kind in re.findall(r"(\w+) is a (\w+)", line)]
                if line.startswith("Suppose"):
                    scopes.append([w for w in scopes[-1] if all(w[n] == k for n, k in claims)])
                    continue
                rule = rules[int(re.findall(r"From (\d+)", line)[0]) - 1]
                left = [w for w in scopes[-1] if rule(w)]
                if "contradiction" in line:
                    assert not left
                    scopes.pop()
                else:
                    assert left
                    assert all(w[n] == k for w in left for n, k in claims)
                scopes[-1] = [w for w in scopes[-1] if all(w[n] == k for n, k in claims)]
            assert len(scopes[-1]) == 1


def test_each_line_about_houses_follows_by_trying_all_arrangements():
    for problem in [*sample(ZEBRA, 0), *sample(ZEBRA, 1)]:
        n, attributes, clues = parsed(problem.prompt)
        scopes = [list(arrangements(n, attributes, []))]
        for line in working(problem):
            claims = re.findall(r"(\w+) (not )?in house ([\d/]+)", line)

            def claimed(at: House, claims: list[Any] = claims) -> bool:
                return all((str(at[who]) in houses.split("/")) != bool(denied) for who, denied, houses in claims)

            if line.startswith("Suppose"):
                scopes.append([at for at in scopes[-1] if claimed(at)])
                continue
            cited = re.match(r"From (\d+)", line)
            left = [at for at in scopes[-1] if cited is None or clues[int(cited[1]) - 1][1](at)]
            if "contradiction" in line:
                assert not left
                scopes.pop()
            else:
                assert left
                assert all(claimed(at) for at in left)
            scopes[-1] = [at for at in scopes[-1] if claimed(at)]
        assert [grid(at, n) for at in scopes[-1]] == [problem.reference]


# --- weak solvers


@pytest.mark.parametrize("task", TASKS.values(), ids=NAMES)
def test_the_weak_solver_succeeds_less_from_tier_to_tier(task):
    tiers = task.tiers[:3] if task is ZEBRA else task.tiers
    shares = []
    for tier in tiers:
        made = problems(task.name, tier, 100)
        answers = [(task.guess(problem, Rng("guess", k)), problem) for k, problem in enumerate(made)]
        assert all(task.reward.score(text, p).reason in (Reason.CORRECT, Reason.WRONG) for text, p in answers)
        shares.append(sum(value(task, text, p) for text, p in answers) / len(made))
    assert 0.3 <= shares[0] <= 0.8
    assert all(harder <= easier + 0.06 for easier, harder in itertools.pairwise(shares))
    assert shares[-1] <= 0.2
