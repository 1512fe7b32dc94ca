"""Circuits of gates: what comes out of some gates (tiers 0 to 2), or which input makes them what they shall be (3 on).

An answer gives every asked wire its value. Forwards there is one right answer; backwards every input is right that
makes the demanded gates what they shall be, and the truth table says how many there are.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from grpo_envs.boxed import boxed
from grpo_envs.logic.solvers.gates import Backwards, Gate, cone, evaluated, forcing, stated, truth_tables, written
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task
from grpo_rewards.logic import Findings, PuzzleReward
from grpo_rewards.logic.reading import assignments

BITS = {"0": "0", "1": "1", "false": "0", "true": "1"}


class Size(NamedTuple):
    """What a tier looks like: inputs, gates, kinds of gates, and how many wires are asked for.

    Backwards, `most` inputs of the 2^inputs may be right at the most, and `asked` is not looked at.
    """

    inputs: int
    gates: int
    kinds: tuple[str, ...]
    asked: int = 0
    most: int = 0


SIMPLE = ("AND", "OR", "NOT")
MORE = ("AND", "OR", "XOR", "NAND", "NOT")
ALL = ("AND", "OR", "XOR", "NAND", "NOR", "XNOR")
KNOTTED = (*ALL, "XOR", "XNOR")
"""More of the gates through which nothing follows backwards as long as one argument is open."""

SIZES = (
    Size(3, 5, SIMPLE, asked=3),
    Size(4, 9, MORE, asked=4),
    Size(6, 18, ALL, asked=6),
    Size(6, 20, KNOTTED, most=2),
    Size(8, 26, KNOTTED, most=3),
    Size(10, 34, KNOTTED, most=3),
)

LONGEST = 56
"""Lines of a worked solution; circuits whose search takes more are not asked about."""

MEANING = {
    "XOR": "XOR is 1 when its arguments differ",
    "NAND": "NAND is NOT of AND",
    "NOR": "NOR is NOT of OR",
    "XNOR": "XNOR is NOT of XOR",
}


def read(text: str, problem: Problem) -> dict[str, int]:
    """Read the value of every asked wire."""
    return {wire: int(bit) for wire, bit in assignments(text, _asked(problem), BITS).items()}


def check(values: dict[str, int], problem: Problem) -> Findings:
    """Run the circuit: on the given input, or on the one that was answered."""
    meta = problem.meta
    if "given" in meta:
        found = evaluated(meta["gates"], meta["given"])
        wrong = [f"{wire} is not {value}" for wire, value in values.items() if found[wire] != value]
        ones = sum(found[wire] for wire in values) / len(values)
        return Findings(wrong, 1 - len(wrong) / len(values), max(ones, 1 - ones))
    found = evaluated(meta["gates"], values)
    return Findings([f"{w} becomes {found[w]}, not {v}" for w, v in meta["demanded"].items() if found[w] != v])


def others(problem: Problem) -> list[str]:
    """Return other spellings of the right answer."""
    pairs = [pair.split(" = ") for pair in str(problem.reference).split(", ")]
    return [
        f"\\boxed{{{', '.join(f'{wire}={bit}' for wire, bit in reversed(pairs))}}}",
        f"\\boxed{{{'; '.join(f'{wire}: {bit}' for wire, bit in pairs)}}}",
        "Answer:\n" + "\n".join(f"{wire.upper()} is {'true' if bit == '1' else 'false'}" for wire, bit in pairs),
    ]


def every_input(problem: Problem) -> Iterable[str]:
    """Return every right answer: forwards the only one, backwards all rows of the truth table that are right."""
    meta = problem.meta
    if "given" in meta:
        return [boxed(problem)]
    tables = truth_tables(meta["gates"], meta["inputs"])
    fitting = _fitting(tables, meta["demanded"], 1 << len(meta["inputs"]))
    rows = [row for row in range(1 << len(meta["inputs"])) if fitting >> row & 1]
    return [f"\\boxed{{{stated({x: row >> k & 1 for k, x in enumerate(meta['inputs'])})}}}" for row in rows]


def lines_of_working(problem: Problem) -> int:
    """Return the effort: steps of the worked solution."""
    return str(problem.solution).count("\n")


def hasty(problem: Problem, rng: Rng) -> str:
    """Answer from the gates close to the inputs, or from what the demands force at once; toss a coin for others."""
    meta = problem.meta
    if "given" in meta:
        values, near = evaluated(meta["gates"], meta["given"]), dict.fromkeys(meta["given"], 0)
        for gate, _, arguments in meta["gates"]:
            if all(argument in near for argument in arguments) and (depth := 1 + max(near[a] for a in arguments)) < 3:
                near[gate] = depth
        known = {gate: values[gate] for gate in near}
    else:
        search = Backwards(meta["gates"], meta["demanded"])
        search.propagate(meta["demanded"])
        known = search.values
    return f"\\boxed{{{stated({wire: known.get(wire, rng.below(2)) for wire in _asked(problem)})}}}"


@task(
    "logic.circuit",
    reward=PuzzleReward(read, check),
    answer_format=r"Answer with every value, like \boxed{a = 0, b = 1}.",
    answer=boxed,
    default_tiers=(0, 1),
    equivalents=others,
    solver=every_input,
    effort=lines_of_working,
    guess=hasty,
)
def circuit(rng: Rng, tier: int) -> Problem:
    """Evaluate a circuit of 5 (0), 9 (1), 18 gates (2); find an input of 6 (3), 8 (4), 10 bits (5) for its outputs."""
    size = SIZES[tier]
    return _backwards(rng, size) if size.most else _forwards(rng, size)


def _asked(problem: Problem) -> list[str]:
    wires: list[str] = problem.meta["asked"]
    return wires


def _fitting(tables: dict[str, int], demanded: dict[str, int], rows: int) -> int:
    """Return the rows in which every wire is what it shall be."""
    ones = (1 << rows) - 1
    fitting = ones
    for wire, value in demanded.items():
        fitting &= tables[wire] if value else ones ^ tables[wire]
    return fitting


def _draw(rng: Rng, size: Size) -> tuple[list[str], list[Gate]]:
    """Draw a circuit: every gate takes a wire that fewest have taken, and any other one.

    Backwards the second half of the gates are outputs, which nothing is connected to.
    """
    inputs = [f"x{k}" for k in range(1, size.inputs + 1)]
    taken, gates = dict.fromkeys(inputs, 0), list[Gate]()
    for number in range(1, size.gates + 1):
        kind, fewest = rng.choice(size.kinds), min(taken.values())
        arguments = [rng.choice([wire for wire, times in taken.items() if times == fewest])]
        if kind != "NOT":
            arguments.append(rng.choice([wire for wire in taken if wire != arguments[0]]))
            rng.shuffle(arguments)
        for wire in arguments:
            taken[wire] += 1
        name = f"g{number}"
        gates.append((name, kind, arguments))
        if not size.most or 2 * number <= size.gates:
            taken[name] = 0
    return inputs, gates


def _described(gates: list[Gate]) -> str:
    """Return the lines of the circuit, and what its less common gates mean."""
    kinds = {kind for _, kind, _ in gates}
    meaning = ". ".join(said for kind, said in MEANING.items() if kind in kinds)
    return "\n".join(written(gate) for gate in gates) + (f"\n{meaning}." if meaning else "")


def _forwards(rng: Rng, size: Size) -> Problem:
    inputs, gates = _draw(rng, size)
    given = {wire: rng.below(2) for wire in inputs}
    asked = sorted(rng.sample([gate[0] for gate in gates[-size.asked - 1 :]], size.asked), key=lambda g: int(g[1:]))
    gates = cone(gates, asked)
    values = evaluated(gates, given)
    prompt = (
        f"A circuit has the inputs {stated(given)} and the gates\n{_described(gates)}\n"
        f"What are the values of {', '.join(asked[:-1])} and {asked[-1]}?"
    )
    lines = [
        f"{name} = {kind}({', '.join(str(values[a]) for a in arguments)}) = {values[name]}"
        for name, kind, arguments in gates
    ]
    answer = stated({wire: values[wire] for wire in asked})
    meta = {"gates": [list(gate) for gate in gates], "given": given, "asked": asked}
    return Problem(prompt, answer, "\n".join([*lines, f"\\boxed{{{answer}}}"]), meta)


def _backwards(rng: Rng, size: Size) -> Problem:
    while True:
        inputs, gates = _draw(rng, size)
        tables, rows = truth_tables(gates, inputs), 1 << size.inputs
        demanded, fitting = _demands(rng, gates, tables, rows, size.most)
        if fitting.bit_count() > size.most:
            continue
        gates = cone(gates, demanded)
        search = Backwards(gates, demanded, LONGEST)
        if search.search(inputs):
            break
    answer = stated({wire: search.values[wire] for wire in inputs})
    prompt = (
        f"A circuit has the inputs {', '.join(inputs)}, each 0 or 1, and the gates\n{_described(gates)}\n"
        f"Give an input that makes {stated(demanded)}."
    )
    meta = {"gates": [list(gate) for gate in gates], "demanded": demanded, "inputs": inputs, "asked": inputs}
    return Problem(prompt, answer, "\n".join([*search.lines, f"\\boxed{{{answer}}}"]), meta)


def _demands(rng: Rng, gates: list[Gate], tables: dict[str, int], rows: int, most: int) -> tuple[dict[str, int], int]:
    """Demand of outputs what some input makes of them, where that leaves fewer inputs, until `most` are left."""
    row, ones = rng.below(rows), (1 << rows) - 1
    fitting, demanded = ones, dict[str, int]()
    for name, kind, _ in reversed(gates[len(gates) // 2 :]):
        value = tables[name] >> row & 1
        fewer = fitting & (tables[name] if value else ones ^ tables[name])
        if fewer != fitting and not forcing(kind, value):
            fitting, demanded[name] = fewer, value
        if fitting.bit_count() <= most:
            break
    return dict(sorted(demanded.items(), key=lambda item: int(item[0][1:]))), fitting
