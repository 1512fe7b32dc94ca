"""Second solvers of circuits, orders, clauses, syllogisms and entailments: they read the prompt and try every case."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from functools import partial

# --- circuits

GATE = re.compile(r"^(g\d+) = ([A-Z]+)\(([^)]*)\)$", re.MULTILINE)
TRUTH: dict[str, Callable[[list[bool]], bool]] = {
    "AND": all,
    "OR": any,
    "NOT": lambda bits: not bits[0],
    "XOR": lambda bits: bits[0] != bits[1],
    "NAND": lambda bits: not all(bits),
    "NOR": lambda bits: not any(bits),
    "XNOR": lambda bits: bits[0] == bits[1],
}


def bits(text: str) -> dict[str, bool]:
    return {wire: bit == "1" for wire, bit in re.findall(r"([xg]\d+) = ([01])\b", text)}


def run(prompt: str, inputs: dict[str, bool]) -> dict[str, bool]:
    values = dict(inputs)
    for name, kind, arguments in GATE.findall(prompt):
        values[name] = TRUTH[kind]([values[wire] for wire in arguments.split(", ")])
    return values


def circuit_answers(prompt: str) -> list[dict[str, bool]]:
    """Every right answer, as values of the wires that are asked for."""
    head, tail = prompt.splitlines()[0], prompt.splitlines()[-1]
    if tail.startswith("What are"):
        values = run(prompt, bits(head))
        return [{wire: values[wire] for wire in re.findall(r"g\d+", tail)}]
    wires, demanded = re.findall(r"x\d+", head), bits(tail)
    tried = (dict(zip(wires, row, strict=True)) for row in itertools.product((False, True), repeat=len(wires)))
    return [inputs for inputs in tried if demanded.items() <= run(prompt, inputs).items()]


# --- orders

PLACE = r"(\d)(?:st|nd|rd|th)"
CLUES: dict[str, Callable[..., bool]] = {
    rf"(\w+) did not finish {PLACE}": lambda at, a, k: at[a] != int(k),
    r"(\w+) finished before (\w+)": lambda at, a, b: at[a] < at[b],
    r"(\w+) finished after (\w+)": lambda at, a, b: at[b] < at[a],
    r"(\w+) finished directly before (\w+)": lambda at, a, b: at[b] - at[a] == 1,
    r"(\w+) finished directly after (\w+)": lambda at, a, b: at[a] - at[b] == 1,
    r"(\w+) finished exactly (\d) places ahead of (\w+)": lambda at, a, k, b: at[b] - at[a] == int(k),
    r"(\w+) finished exactly (\d) places behind (\w+)": lambda at, a, k, b: at[a] - at[b] == int(k),
    r"(\w+) and (\w+) finished exactly (\d) places apart": lambda at, a, b, k: abs(at[a] - at[b]) == int(k),
    r"(\w+) and (\w+) finished next to each other": lambda at, a, b: abs(at[a] - at[b]) == 1,
    r"(\w+) and (\w+) did not finish next to each other": lambda at, a, b: abs(at[a] - at[b]) != 1,
    r"(\w+) finished somewhere between (\w+) and (\w+)": lambda at, a, b, c: sorted((at[a], at[b], at[c]))[1] == at[a],
    r"(\w+) did not finish between (\w+) and (\w+)": lambda at, a, b, c: sorted((at[a], at[b], at[c]))[1] != at[a],
    r"(\w+) finished before at least one of (\w+) and (\w+)": lambda at, a, b, c: at[a] < at[b] or at[a] < at[c],
    r"(\w+) finished after at least one of (\w+) and (\w+)": lambda at, a, b, c: at[a] > at[b] or at[a] > at[c],
}
Clue = tuple[list[str], Callable[[dict[str, int]], bool]]


def order_clues(prompt: str) -> tuple[list[str], list[Clue]]:
    head, *lines = prompt.splitlines()
    names = re.findall(r"\b[A-Z]\w+", head.split(" ran a race")[0])
    return names, [order_clue(line.split(". ")[1].removesuffix("."), names) for line in lines if line[0].isdigit()]


def order_clue(text: str, names: list[str]) -> Clue:
    for pattern, holds in CLUES.items():
        found = re.fullmatch(pattern, text)
        if found:
            return [group for group in found.groups() if group in names], partial(_apply, holds, found.groups())
    raise AssertionError(f"no clue is written so: {text}")


def _apply(holds: Callable[..., bool], groups: tuple[str, ...], at: dict[str, int]) -> bool:
    return holds(at, *groups)


def orders(prompt: str) -> list[list[str]]:
    names, clues = order_clues(prompt)
    clues.sort(key=lambda clue: len(clue[0]))
    return [
        list(row)
        for row in itertools.permutations(names)
        if (at := {name: place for place, name in enumerate(row, 1)}) and all(holds(at) for _, holds in clues)
    ]


# --- clauses

Clauses = dict[int, list[tuple[str, bool]]]


def clauses(prompt: str) -> Clauses:
    found = re.findall(r"^(\d+)\. (.+)$", prompt, re.MULTILINE)
    return {int(number): [literal(part) for part in text.split(" or ")] for number, text in found}


def literal(text: str) -> tuple[str, bool]:
    return text.removeprefix("not "), not text.startswith("not ")


def assignments(of: Clauses) -> Iterator[dict[str, bool]]:
    """Every assignment to the letters of some clauses that makes all of them true."""
    letters = sorted({letter for clause in of.values() for letter, _ in clause})
    for row in itertools.product((False, True), repeat=len(letters)):
        values = dict(zip(letters, row, strict=True))
        if all(any(values[letter] == sign for letter, sign in clause) for clause in of.values()):
            yield values


def satisfiable(of: Clauses) -> bool:
    return next(assignments(of), None) is not None


# --- categorical statements

Thing = frozenset[str]
STATEMENT = re.compile(r"^(\w+)\. (All|No|Some) (\w+) are (not )?(\w+)\.$", re.MULTILINE)


def categorical(prompt: str) -> dict[str, tuple[str, str, str]]:
    """Label -> quantity, kind, other kind; numbers for premises, letters for conclusions."""
    return {
        label: (quantity.lower() + (" not" if negated else ""), one, other)
        for label, quantity, one, negated, other in STATEMENT.findall(prompt)
    }


def holds(statement: tuple[str, str, str], things: tuple[Thing, ...]) -> bool:
    quantity, one, other = statement
    of_one = [thing for thing in things if one in thing]
    if quantity == "all":
        return all(other in thing for thing in of_one)
    if quantity == "no":
        return not any(other in thing for thing in of_one)
    return any((other in thing) == (quantity == "some") for thing in of_one)


def models(premises: list[tuple[str, str, str]]) -> Iterator[tuple[Thing, ...]]:
    """Every world of so few things that each "some" has its own and one more is left to break a conclusion."""
    kinds = sorted({kind for _, *pair in premises for kind in pair})
    sorts = [
        frozenset(k for k, b in zip(kinds, row, strict=True) if b)
        for row in itertools.product((0, 1), repeat=len(kinds))
    ]
    general = [p for p in premises if not p[0].startswith("some")]
    sorts = [sort for sort in sorts if sort and all(holds(p, (sort,)) for p in general)]
    existing = [p for p in premises if p[0].startswith("some")]
    for size in range(len(existing) + 2):
        for things in itertools.combinations(sorts, size):
            if all(holds(p, things) for p in existing):
                yield things


def following(prompt: str) -> str:
    statements = categorical(prompt)
    left = {label: statement for label, statement in statements.items() if label.isalpha()}
    for things in models([s for label, s in statements.items() if label.isdigit()]):
        left = {label: statement for label, statement in left.items() if holds(statement, things)}
    return ", ".join(sorted(left))


# --- formulas


def value(formula: str, row: dict[str, bool]) -> bool:
    """Evaluate a formula as it is written: at most one connective outside brackets."""
    depth, place = 0, 0
    while place < len(formula):
        depth += (formula[place] == "(") - (formula[place] == ")")
        sign = re.match(r" (and|or|implies|iff) ", formula[place:])
        if sign and depth == 0:
            left, right = value(formula[:place], row), value(formula[place + sign.end() :], row)
            return {"and": left and right, "or": left or right, "implies": right or not left, "iff": left == right}[
                sign[1]
            ]
        place += 1
    if formula.startswith("not "):
        return not value(formula[4:], row)
    return value(formula[1:-1], row) if formula.startswith("(") else row[formula]


def entailed(prompt: str) -> dict[str, str]:
    *premises, question = re.findall(r"^(?:\d+\. )?(.+)$", prompt, re.MULTILINE)[1:]
    letters = re.findall(r"\b[p-w]\b", question)
    rows = [dict(zip(letters, row, strict=True)) for row in itertools.product((True, False), repeat=len(letters))]
    rows = [row for row in rows if all(value(premise, row) for premise in premises)]
    seen = {letter: {row[letter] for row in rows} for letter in letters}
    return {k: "open" if len(v) == 2 else "true" if True in v else "false" for k, v in seen.items()}
