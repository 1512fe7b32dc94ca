"""Circuits, orders, clauses, syllogisms, entailments: prompt, reference, rules and working say the same."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from grpo_envs.logic.circuit import circuit
from grpo_envs.logic.ordering import ordering
from grpo_envs.logic.propositional import propositional, soundness
from grpo_envs.logic.satisfiability import satisfiability
from grpo_envs.logic.solvers.formulas import Reader
from grpo_envs.logic.syllogism import syllogism
from grpo_gym import Problem, Rng, Task
from grpo_rewards.logic import PuzzleReward
from tests.envs import formal_working as working
from tests.envs import second_formal as second

TASKS = {task.name.split(".")[1]: task for task in (circuit, ordering, satisfiability, syllogism, propositional)}
EVERY = [pytest.param(task, tier, id=f"{name}-{tier}") for name, task in TASKS.items() for tier in range(6)]


def problems(task: Task, tier: int, many: int) -> list[Problem]:
    return [task.problem(tier, "train", seed, 7) for seed in range(many)]


def solutions(task: Task, problem: Problem) -> list[str]:
    return list(task.solver(problem)) if task.solver else []


def spellings(task: Task, problem: Problem) -> list[str]:
    assert task.equivalents is not None
    return list(task.equivalents(problem))


def score(task: Task, problem: Problem, answer: str) -> float:
    return float(task.reward.score(f"\\boxed{{{answer}}}", problem))


# --- what is asked for is what decides


@pytest.mark.parametrize("tier", range(6))
def test_a_circuit_asks_for_what_it_computes(tier: int) -> None:
    for problem in problems(circuit, tier, 12 if tier < 4 else 3):
        answers = second.circuit_answers(problem.prompt)
        paid = [", ".join(f"{wire} = {int(bit)}" for wire, bit in answer.items()) for answer in answers]

        assert problem.reference in paid
        assert [score(circuit, problem, answer) for answer in paid] == [1.0] * len(paid)
        assert len(paid) == len(list(solutions(circuit, problem)))
        flipped = {
            ", ".join(f"{wire} = {int(bit) ^ (wire == other)}" for wire, bit in answers[0].items())
            for other in answers[0]
        }
        assert not any(score(circuit, problem, answer) for answer in flipped - set(paid))


@pytest.mark.parametrize("tier", range(6))
def test_exactly_one_order_fits_the_clues(tier: int) -> None:
    for problem in problems(ordering, tier, (12, 12, 8, 8, 3, 1)[tier]):
        [names] = second.orders(problem.prompt)

        assert problem.reference == " > ".join(names)
        for place in range(len(names) - 1):
            other = [*names[:place], names[place + 1], names[place], *names[place + 2 :]]
            assert score(ordering, problem, " > ".join(other)) == 0.0


def test_no_clue_of_an_order_is_left_over() -> None:
    for problem in [p for tier in range(4) for p in problems(ordering, tier, 4)]:
        lines = problem.prompt.splitlines()
        for number in range(1, len(lines) - 1):
            assert len(second.orders("\n".join(lines[:number] + lines[number + 1 :]))) > 1


@pytest.mark.parametrize("tier", range(6))
def test_clauses_have_an_assignment_or_a_core(tier: int) -> None:
    contradictory = 0
    for problem in problems(satisfiability, tier, 14):
        of, reference = second.clauses(problem.prompt), str(problem.reference)
        fitting = list(second.assignments(of))
        assert bool(fitting) != reference.startswith("unsat")
        for values in fitting[:4]:
            written = ", ".join(f"{letter} = {str(sign).lower()}" for letter, sign in values.items())
            if len(values) == len(problem.meta["names"]):
                assert score(satisfiability, problem, written) == 1.0
        if not fitting:
            contradictory += 1
            assert working.is_core(problem, [int(number) for number in re.findall(r"\d+", reference)])
    assert 2 <= contradictory <= 12


def test_any_core_is_right_and_nothing_that_is_none() -> None:
    rng, right, wrong = Rng("cores"), 0, 0
    for problem in [p for tier in (0, 1, 2) for p in problems(satisfiability, tier, 25)]:
        numbers = sorted(second.clauses(problem.prompt))
        core = [int(number) for number in re.findall(r"\d+", str(problem.reference))]
        if not str(problem.reference).startswith("unsat"):
            assert score(satisfiability, problem, f"unsat: {', '.join(map(str, numbers))}") == 0.0
            continue
        tried = [numbers, core[1:], [*core, next(k for k in numbers if k not in core)]]
        tried += [sorted(rng.sample(numbers, rng.integer(2, len(core) + 1))) for _ in range(6)]
        for named in tried:
            is_core = working.is_core(problem, named)
            assert score(satisfiability, problem, f"unsat: {', '.join(map(str, named))}") == float(is_core)
            right, wrong = right + is_core, wrong + (not is_core)
        assert score(satisfiability, problem, f"unsat: {core[0]}, {', '.join(map(str, core))}") == 0.0
    assert wrong > 100


@pytest.mark.parametrize("tier", range(6))
def test_exactly_the_conclusions_that_hold_in_every_small_world_follow(tier: int) -> None:
    for problem in problems(syllogism, tier, (15, 15, 15, 8, 3, 1)[tier]):
        assert problem.reference == second.following(problem.prompt)
        letters = problem.reference.split(", ")
        assert not score(syllogism, problem, ", ".join(letters[1:]) or "none")
        assert not score(syllogism, problem, ", ".join([*letters, next(k for k in "ABCDE" if k not in letters)]))


@pytest.mark.parametrize("tier", range(6))
def test_a_letter_is_decided_when_all_rows_agree(tier: int) -> None:
    for problem in problems(propositional, tier, (20, 20, 12, 8, 5, 3)[tier]):
        known = second.entailed(problem.prompt)

        assert problem.reference == ", ".join(f"{letter}: {said}" for letter, said in known.items())
        assert set(known.values()) != {"open"}
        for letter in known:
            for said in {"true", "false", "open"} - {known[letter]}:
                other = ", ".join(f"{k}: {v}" for k, v in {**known, letter: said}.items())
                assert score(propositional, problem, other) == 0.0


# --- worked solutions


WORKED: dict[str, Callable[[Problem], None]] = {
    "ordering": working.deduce_order,
    "satisfiability": working.refute_or_fulfil,
    "syllogism": working.argue,
    "propositional": working.both_ways,
}


@pytest.mark.parametrize(("task", "tier"), EVERY)
def test_every_line_of_a_worked_solution_follows(task: Task, tier: int) -> None:
    name = task.name.split(".")[1]
    follow = WORKED.get(name) or (working.backwards if tier > 2 else working.forwards)
    for problem in problems(task, tier, 12):
        follow(problem)
        assert len(str(problem.solution)) < 3_000
        assert float(task.reward.score(str(problem.solution), problem)) == 1.0


def test_the_checks_of_worked_solutions_can_fail() -> None:
    """Each line with something in it changed is refused nearly always; a solution may survive a harmless change."""
    for name, follow in (*WORKED.items(), ("circuit", working.backwards)):
        task, caught, tried = TASKS[name], 0, 0
        for problem in problems(task, 4, 4):
            lines = str(problem.solution).splitlines()
            for k, line in enumerate(lines[:-1]):
                changed = _changed(name, line)
                if changed != line:
                    tried += 1
                    solution = "\n".join([*lines[:k], changed, *lines[k + 1 :]])
                    caught += _refused(follow, Problem(problem.prompt, problem.reference, solution))
        assert tried >= 4
        assert caught >= 0.8 * tried, f"{name}: {caught} of {tried}"


def _changed(name: str, line: str) -> str:
    if name == "circuit":
        return line[:-1] + {"0": "1", "1": "0"}.get(line[-1], line[-1])
    if name == "satisfiability":
        return re.sub(r"true|false", lambda m: {"true": "false", "false": "true"}[m[0]], line)
    if name == "propositional":
        return line.replace("(not ", "(")
    if name == "ordering":
        return re.sub(r"(\d)\.$", lambda m: f"{int(m[1]) % 7 + 1}.", line)
    line = re.sub(r": no, .*", ": no, there may be just (poets).", line)
    return re.sub(r"\((\d+)\)", lambda m: f"({int(m[1]) % 9 + 1})", line)


def _refused(follow: Callable[[Problem], None], problem: Problem) -> bool:
    try:
        follow(problem)
    except (AssertionError, ValueError, KeyError, AttributeError, IndexError):
        return True
    return False


@pytest.mark.parametrize("tier", range(6))
def test_the_deductions_of_an_entailment_are_sound_and_a_denied_one_is_not(tier: int) -> None:
    caught = tried = 0
    for problem in problems(propositional, tier, 12):
        solution = str(problem.solution)
        found = soundness(solution, problem)
        stated = [line for line in solution.splitlines() if "From " in line and "contradiction" not in line]
        assert not found.unsound
        assert found.checked >= bool(stated)
        for line in stated:
            if not line.startswith(" "):
                tried += 1
                head, claim = line.removesuffix(".").split(": ")
                first, *rest = claim.split(", ")
                denied = ", ".join([first.removeprefix("not ") if first.startswith("not ") else f"not {first}", *rest])
                caught += bool(soundness(solution.replace(line, f"{head}: {denied}."), problem).unsound)
    assert caught == tried > 0


def test_false_deductions_make_a_right_answer_worth_less() -> None:
    assert isinstance(propositional.reward, PuzzleReward)
    careful = propositional.reward.crediting(steps=0.5)
    problem = propositional.problem(0, "train", 5, 7)
    letter, said = next((k, v) for k, v in second.entailed(problem.prompt).items() if v != "open")
    false = f"not {letter}" if said == "true" else letter

    assert float(careful.score(str(problem.solution), problem)) == 1.0
    assert float(careful.score(f"From 1: {false}.\n{problem.solution}", problem)) == 0.5


# --- answers that must earn nothing, and never raise


HOSTILE = (
    "",
    "x" * 100_000,
    "(" * 100_000,
    "not " * 50_000 + "p",
    "unsat: " + ", ".join(map(str, range(1, 2_000))),
    "unsat: 1, 99999999999999999999",
    "unsat: -1, 0",
    "unsat",
    "g1 = 1, g1 = 0",
    "A, A, B",
    "A or B",
    "__import__('os').system('true')",
    "p: true, p: false",
    "> > >",
    ", ".join("ABCDE"),
    "\x00\ud800",
)


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_hostile_answers_earn_nothing(task: Task) -> None:
    for problem in [task.problem(tier, "val", 3, 1) for tier in (0, 2, 5)]:
        for text in HOSTILE:
            for response in (text, f"\\boxed{{{text}}}", f"\\boxed{{{problem.reference} or {text}}}"):
                assert float(task.reward.score(response, problem)) == 0.0
        for other in (task.problem(0, "val", seed, 2) for seed in range(9)):
            pairs, others = (set(one.reference.split(", ")) for one in (problem, other))
            said_twice = ":" in other.reference and others <= pairs
            if other.prompt != problem.prompt and other.reference != problem.reference and not said_twice:
                both = f"\\boxed{{{problem.reference}, {other.reference}}}"
                assert float(task.reward.score(both, problem)) == 0.0


@pytest.mark.parametrize(("task", "tier"), EVERY)
def test_other_spellings_and_solutions_are_right(task: Task, tier: int) -> None:
    for problem in problems(task, tier, 5):
        for other in [*spellings(task, problem), *solutions(task, problem)]:
            assert float(task.reward.score(other, problem)) == 1.0, other


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_a_hasty_answer_is_often_wrong_and_ever_more_so(task: Task) -> None:
    shares = []
    for tier in (0, 2, 5):
        asked = problems(task, tier, 80 if tier < 5 else 25)
        shares.append(sum(float(task.reward.score(task.hasty_answer(p) or "", p)) for p in asked) / len(asked))

    assert 0.3 <= shares[0] <= 0.8
    assert shares[0] > shares[1] + 0.1
    assert shares[2] <= 0.16


# --- the language of formulas


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("not p or q", "(not p) or q"),
        ("p or q and r", "p or (q and r)"),
        ("p implies q implies r", "p implies (q implies r)"),
        ("p iff q or r", "p iff (q or r)"),
        ("~p -> q & r", "not p implies (q and r)"),
        ("\u00acp \u2228 q \u2194 r", "(not p or q) iff r"),
        ("(p or q) is false", "not p and not q"),
        ("P must be true", "p"),
        ("q: false", "not q"),
        (r"\neg p \land q", "q and not p"),
        ("not not p", "p"),
    ],
)
def test_formulas_are_read_as_they_are_meant(text: str, same: str) -> None:
    read = Reader("pqr")

    rows = [dict(zip("pqr", (bool(k & 1), bool(k & 2), bool(k & 4)), strict=True)) for k in range(8)]

    assert read(text) == read(same) == sum(1 << k for k, row in enumerate(rows) if second.value(same, row))


@pytest.mark.parametrize(
    "text",
    ["", "p q", "p or", "(p", "p)", "s", "p or or q", "not", "2", "p is", "()", "p is maybe", "(" * 99 + "p" + ")" * 99,
     "not " * 49 + "p", "p or q" * 100],
)  # fmt: skip
def test_what_is_no_formula_is_not_read(text: str) -> None:
    assert Reader("pqr")(text) is None
