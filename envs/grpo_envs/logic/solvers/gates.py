"""Circuits of gates: their values for one input or for all inputs at once, and the search for an input backwards.

A wire's value for all inputs at once is a truth table, so a gate costs one operation whatever the number of inputs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import product

from grpo_envs.logic.solvers.tables import columns, everything

Gate = tuple[str, str, list[str]]
"""Name, kind, names of the arguments."""

NEGATED = {"NAND": "AND", "NOR": "OR", "XNOR": "XOR", "NOT": "BUFFER"}


def output(kind: str, arguments: Sequence[int], ones: int = 1) -> int:
    """Return what a gate makes of its arguments; `ones` has a bit for every row, 1 for a single one."""
    if kind in NEGATED:
        return ones ^ output(NEGATED[kind], arguments, ones)
    first, last = arguments[0], arguments[-1]
    if kind == "AND":
        return first & last
    if kind == "OR":
        return first | last
    if kind == "XOR":
        return first ^ last
    if kind == "BUFFER":
        return first
    raise ValueError(f"no gate is called {kind}")


def evaluated(gates: Iterable[Gate], given: Mapping[str, int], ones: int = 1) -> dict[str, int]:
    """Return the values of all wires. Gates stand behind their arguments."""
    values = dict(given)
    for name, kind, arguments in gates:
        values[name] = output(kind, [values[argument] for argument in arguments], ones)
    return values


def truth_tables(gates: Iterable[Gate], inputs: Sequence[str]) -> dict[str, int]:
    """Return the values of all wires in all 2^n rows; bit k of a row's number is the value of input k."""
    return evaluated(gates, dict(zip(inputs, columns(len(inputs)), strict=True)), everything(len(inputs)))


def cone(gates: Sequence[Gate], asked: Iterable[str]) -> list[Gate]:
    """Return the gates that the asked ones depend on, these included, in their order."""
    needed = set(asked)
    for name, _, arguments in reversed(gates):
        if name in needed:
            needed.update(arguments)
    return [gate for gate in gates if gate[0] in needed]


def written(gate: Gate) -> str:
    """Write a gate as in the prompt: "g3 = AND(x1, g2)"."""
    name, kind, arguments = gate
    return f"{name} = {kind}({', '.join(arguments)})"


@cache
def _forced(kind: str, known: tuple[int | None, ...]) -> tuple[int | None, ...] | None:
    """Return what the wires of one gate must be, arguments first and output last; None when nothing fits."""
    rows = [(*arguments, output(kind, arguments)) for arguments in product((0, 1), repeat=len(known) - 1)]
    fitting = [row for row in rows if all(k in (None, v) for k, v in zip(known, row, strict=True))]
    if not fitting:
        return None
    return tuple(values[0] if len(set(values)) == 1 else None for values in zip(*fitting, strict=True))


def forcing(kind: str, value: int) -> bool:
    """Whether what comes out of a gate says at once what goes in."""
    known = _forced(kind, (None, value) if kind == "NOT" else (None, None, value))
    return known is not None and known[0] is not None


class Backwards:
    """Finds an input from what some wires must be: what follows gate by gate, and suppositions where nothing does.

    Args:
        gates: The circuit.
        demanded: Wires with the values that they must have.
        longest: Lines after which the search is given up.

    Attributes:
        values: What is known of the wires so far.
        lines: What was found, one line a step, indented by how many suppositions it stands below.
    """

    def __init__(self, gates: Sequence[Gate], demanded: Mapping[str, int], longest: int = 1_000) -> None:
        self.longest = longest
        self.values = dict(demanded)
        self.lines: list[str] = []
        self._indent = ""
        self._at: dict[str, list[Gate]] = {}
        for gate in gates:
            for wire in dict.fromkeys((*gate[2], gate[0])):
                self._at.setdefault(wire, []).append(gate)

    def search(self, inputs: Sequence[str], changed: Iterable[str] | None = None) -> bool:
        """Give every input a value and return True, or return False: a contradiction, or too many lines."""
        while self.propagate(self.values if changed is None else changed):
            wire = next((wire for wire in inputs if wire not in self.values), None)
            if wire is None:
                return len(self.lines) <= self.longest
            before, indent = dict(self.values), self._indent
            self._write(f"Suppose {wire} = 1.")
            self.values[wire], self._indent = 1, indent + " "
            if self.search(inputs, [wire]):
                return True
            if len(self.lines) > self.longest:
                return False
            self.values, self._indent = before, indent
            self._write(f"So {wire} = 0.")
            self.values[wire], changed = 0, [wire]
        return False

    def propagate(self, changed: Iterable[str]) -> bool:
        """Draw what follows from each gate alone, beginning at wires that are new; False at a contradiction."""
        waiting = list(changed)
        for wire in waiting:
            for gate in self._at.get(wire, ()):
                wires = [*gate[2], gate[0]]
                known = tuple(self.values.get(wire) for wire in wires)
                forced = _forced(gate[1], known)
                if forced is None:
                    self._write(f"{self._premises(gate)}: contradiction.")
                    return False
                new = {w: v for w, v, k in zip(wires, forced, known, strict=True) if v is not None and k is None}
                if new:
                    self._write(f"{self._premises(gate)}: {stated(new)}")
                    self.values.update(new)
                    waiting.extend(new)
        return True

    def _premises(self, gate: Gate) -> str:
        """Write a gate and what is known of its wires."""
        known = {wire: self.values[wire] for wire in (gate[0], *gate[2]) if wire in self.values}
        return f"{written(gate)}, {stated(known)}"

    def _write(self, line: str) -> None:
        self.lines.append(self._indent + line)


def stated(values: Mapping[str, int]) -> str:
    """Write "x1 = 1, g2 = 0"."""
    return ", ".join(f"{wire} = {value}" for wire, value in values.items())
