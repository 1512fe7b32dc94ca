"""Worked solutions of the formal tasks, read line by line: each has to follow from the prompt and those above it."""

from __future__ import annotations

import itertools
import re
from typing import TypeVar

from grpo_gym import Problem
from tests.envs.second_formal import (
    GATE,
    TRUTH,
    Clue,
    Thing,
    bits,
    categorical,
    clauses,
    holds,
    literal,
    order_clues,
    run,
    satisfiable,
    value,
)

K = TypeVar("K")
V = TypeVar("V")


def lines_of(problem: Problem) -> list[str]:
    """The lines above the box."""
    *lines, last = str(problem.solution).splitlines()
    assert last == f"\\boxed{{{problem.reference}}}"
    return lines


class Scopes(dict[K, V]):
    """What is known, with what is supposed on top; a line that is indented less closes suppositions."""

    def __init__(self, known: dict[K, V]) -> None:
        super().__init__(known)
        self.outer: list[dict[K, V]] = []

    def suppose(self, key: K, meant: V) -> None:
        self.outer.append(dict(self))
        self[key] = meant

    def close(self, depth: int) -> None:
        assert depth < len(self.outer), "nothing is supposed that could be given up"
        self.clear()
        self.update(self.outer[depth])
        del self.outer[depth:]


def parts(pattern: str, text: str) -> tuple[str, ...]:
    """The groups of a pattern that the whole text has to fit."""
    found = re.fullmatch(pattern, text)
    assert found, text
    return found.groups()


def indent(line: str) -> int:
    return len(line) - len(line.lstrip())


# --- circuits


def forwards(problem: Problem) -> None:
    given = bits(problem.prompt.splitlines()[0])
    values = run(problem.prompt, given)
    gates = {name: (kind, arguments.split(", ")) for name, kind, arguments in GATE.findall(problem.prompt)}
    for line in lines_of(problem):
        name, kind, shown, result = parts(r"(g\d+) = ([A-Z]+)\(([01, ]+)\) = ([01])", line)
        assert gates[name][0] == kind
        assert shown == ", ".join(str(int(values[wire])) for wire in gates[name][1])
        assert TRUTH[kind]([bit == "1" for bit in shown.split(", ")]) == (result == "1")


def backwards(problem: Problem) -> None:
    known = Scopes(bits(problem.prompt.splitlines()[-1]))
    lines = lines_of(problem)
    for above, line in itertools.pairwise(["", *lines]):
        text, depth = line.strip(), indent(line)
        if text.startswith("Suppose "):
            assert depth == len(known.outer)
            [(wire, bit)] = bits(text).items()
            known.suppose(wire, bit)
        elif text.startswith("So "):
            assert above.endswith("contradiction.")
            assert indent(above) == depth + 1
            [(wire, bit)] = bits(text).items()
            assert known[wire] != bit
            known.close(depth)
            known[wire] = bit
        else:
            follow_gate(problem.prompt, known, text)
    assert known.items() >= bits(str(problem.reference)).items()


def follow_gate(prompt: str, known: dict[str, bool], text: str) -> None:
    gate, stated, result = parts(r"(g\d+ = [A-Z]+\([^)]*\)), (.+): (.+)", text)
    assert gate in prompt.splitlines()
    name, kind, arguments = parts(GATE.pattern, gate)
    wires = arguments.split(", ")
    premises = bits(stated)
    assert premises.items() <= known.items()
    fitting = []
    for row in itertools.product((False, True), repeat=len(wires)):
        whole = dict(zip(wires, row, strict=True)) | {name: TRUTH[kind](list(row))}
        if premises.items() <= whole.items():
            fitting.append(whole)
    if result == "contradiction.":
        assert not fitting
        return
    assert fitting
    assert all(bits(result).items() <= whole.items() for whole in fitting)
    known.update(bits(result))


# --- orders


def deduce_order(problem: Problem) -> None:
    names, clues = order_clues(problem.prompt)
    left = Scopes({name: frozenset(range(1, len(names) + 1)) for name in names})
    for line in lines_of(problem):
        text, depth = line.strip().removesuffix("."), indent(line)
        if text.startswith("Suppose "):
            [(name, places)] = places_in(text)
            assert places <= left[name]
            assert depth == len(left.outer)
            left.suppose(name, places)
            refuted = False
        elif text.startswith("So "):
            [(name, places)] = places_in(text)
            assert refuted, "no contradiction"
            supposed = left[name]
            left.close(depth)
            assert places == left[name] - supposed
            left[name] = places
        else:
            refuted = follow_places(text, names, clues, left)
    assert [name for name, _ in sorted(left.items(), key=lambda item: min(item[1]))] == problem.reference.split(" > ")
    assert all(len(places) == 1 for places in left.values())


def places_in(text: str) -> list[tuple[str, frozenset[int]]]:
    return [
        (name, frozenset(map(int, places.split()))) for name, places in re.findall(r"(\w+) (?:is|in) ([\d ]+)", text)
    ]


def follow_places(text: str, names: list[str], clues: list[Clue], left: dict[str, frozenset[int]]) -> bool:
    """Follow one line; True when it is a contradiction."""
    if found := re.fullmatch(r"Nobody can be (\d)", text):
        assert not any(int(found[1]) in places for places in left.values())
        return True
    if found := re.fullmatch(r"Only (\w+) can be (\d)", text):
        assert [name for name in names if int(found[2]) in left[name]] == [found[1]]
        left[found[1]] = frozenset([int(found[2])])
        return False
    reason, said = text.split(": ", 1)
    if number := re.fullmatch(r"By (\d+)", reason):
        about, fits = clues[int(number[1]) - 1]
        rows = [dict(zip(about, row, strict=True)) for row in itertools.product(*(left[name] for name in about))]
        rows = [row for row in rows if len(set(row.values())) == len(row) and fits(row)]
        possible = {name: frozenset(row[name] for row in rows) for name in about}
    else:
        [(name, [place])] = places_in(reason)
        assert left[name] == {place}
        possible = {other: left[other] - {place} for other in names if other != name}
    if found := re.fullmatch(r"no place is left for (\w+)", said):
        assert not possible[found[1]]
        return True
    for name, places in places_in(said):
        assert possible[name] == places < left[name]
        left[name] = places
    return False


# --- clauses


def refute_or_fulfil(problem: Problem) -> None:
    of, lines = clauses(problem.prompt), lines_of(problem)
    known = Scopes[str, bool]({})
    unsat = problem.reference.startswith("unsat")
    core = [int(number) for number in re.findall(r"\d+", problem.reference)] if unsat else []
    without = 0
    for line in lines:
        text, depth = line.strip().removesuffix("."), indent(line)
        said = dict(re.findall(r"(\w) = (true|false)", text))
        values = {letter: word == "true" for letter, word in said.items()}
        if text.startswith("Suppose "):
            assert depth == len(known.outer)
            known.suppose(*values.popitem())
        elif text.startswith("Free: "):
            known.update(values)
        elif found := re.match(r"Without (\d+): ", text):
            without += 1
            rest = {number: of[number] for number in core if number != int(found[1])}
            assert all(any(values[letter] == sign for letter, sign in clause) for clause in rest.values())
        else:
            number = int(parts(r"From (\d+): .+", text)[0])
            assert not unsat or number in core
            open_ = [(letter, sign) for letter, sign in of[number] if known.get(letter, sign) == sign]
            if "contradiction" not in text:
                assert open_ == list(values.items())
                assert open_[0][0] not in known
                known.update(values)
                continue
            assert not open_
            if values:
                supposed = dict(known)
                known.close(depth - 1)
                [(letter, sign)] = values.items()
                assert supposed[letter] != sign
                assert letter not in known
                known.update(values)
    if unsat:
        assert without == len(core)
    else:
        assert all(any(known[letter] == sign for letter, sign in clause) for clause in of.values())


def is_core(problem: Problem, core: list[int]) -> bool:
    of = {number: clause for number, clause in clauses(problem.prompt).items() if number in core}
    return not satisfiable(of) and all(satisfiable({k: of[k] for k in core if k != left}) for left in core)


# --- syllogisms


def argue(problem: Problem) -> None:
    statements = categorical(problem.prompt)
    premises = {label: statement for label, statement in statements.items() if label.isdigit()}
    for line in lines_of(problem):
        label, verdict, text = parts(r"([A-E]): (yes|no), (.+)\.", line)
        assert (verdict == "yes") == (label in problem.reference)
        if verdict == "no":
            things = tuple(frozenset(thing.split()) for thing in re.findall(r"\(([a-z ]+)\)", text))
            assert all(holds(premise, things) for premise in premises.values())
            assert not holds(statements[label], things)
            continue
        quantity, one, other = statements[label]
        proved = follow_chains(text, premises)
        assert one in proved or quantity in ("all", "no")
        assert ("not " * ("no" in quantity.split() or "not" in quantity.split()) + other) in proved


def follow_chains(text: str, premises: dict[str, tuple[str, str, str]]) -> set[str]:
    """Follow "poets are bakers (2), not cooks (1)" and return all that is shown of one thing."""
    known: set[str] = set()
    for place, part in enumerate(text.split("; ")):
        beginning, steps = part.split(" are ", 1)
        if place == 0 and beginning == "some":
            first, second, number = parts(r"(\w+) and ((?:not )?\w+) \((\d+)\)", steps)
            assert premises[number] == ("some not" if second.startswith("not ") else "some", first, second.split()[-1])
            known |= {first, second}
            continue
        assert place == 0 or beginning in known
        here = beginning
        known.add(here)
        for there, number in re.findall(r"((?:not )?\w+) \((\d+)\)", steps):
            premise = premises[number]
            assert premise[0] in ("all", "no")
            assert all(not is_of(here, thing) or is_of(there, thing) for thing in things_under(premise))
            known.add(there)
            here = there
    return known


def is_of(said: str, thing: Thing) -> bool:
    return literal(said)[1] == (literal(said)[0] in thing)


def things_under(premise: tuple[str, str, str]) -> list[Thing]:
    sorts = [frozenset(), frozenset([premise[1]]), frozenset([premise[2]]), frozenset(premise[1:])]
    return [sort for sort in sorts if holds(premise, (sort,))]


# --- entailments


def both_ways(problem: Problem) -> None:
    """The rows that show that a letter is open."""
    premises = re.findall(r"^\d+\. (.+)$", problem.prompt, re.MULTILINE)
    shown = []
    for line in lines_of(problem):
        if found := re.fullmatch(r"Open: (\w), as \((.+)\) and \((.+)\) fit\.", line):
            rows = [dict(literal(part) for part in row.split(", ")) for row in found.groups()[1:]]
            assert all(value(premise, row) for premise in premises for row in rows)
            assert [row[found[1]] for row in rows] == [True, False]
            shown.append(found[1])
    assert shown == re.findall(r"(\w): open", str(problem.reference))
