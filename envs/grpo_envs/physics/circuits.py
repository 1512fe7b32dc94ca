"""Circuits of batteries and resistors: Ohm's law, rows and branches, ladders, two loops by Kirchhoff's rules."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from grpo_envs.math.writing import in_words
from grpo_envs.physics.style import PHYSICS, Steps, asked, operand, over, show
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task


@task("physics.circuits", **PHYSICS)
def circuits(rng: Rng, tier: int) -> Problem:
    """Find resistances, currents and voltages: Ohm (0), parallel (1), mixed (2, 3), ladders (4), two batteries (5)."""
    return (_ohm, _parallel, _mixed, _branch, _ladder, _two_loops)[tier](rng)


def parallel(steps: Steps, *resistors: Fraction) -> Fraction:
    """Return the resistance of branches side by side, two at a time."""
    total = resistors[0]
    for r in resistors[1:]:
        product = steps.rational(f"{operand(total)} * {operand(r)}", total * r)
        both = steps.rational(f"{show(total)} + {show(r)}", total + r)
        total = steps.rational(f"{operand(product)} / {operand(both)}", product / both)
    return total


def row(steps: Steps, *resistors: Fraction) -> Fraction:
    """Return the resistance of resistors in a row."""
    return steps.rational(" + ".join(map(show, resistors)), sum(resistors, Fraction(0)))


def _values(rng: Rng, count: int, largest: int = 60) -> list[Fraction]:
    return [Fraction(rng.integer(1, largest)) for _ in range(count)]


def _named(resistors: Sequence[Fraction]) -> str:
    return in_words(f"R{k + 1} = {show(r)} ohm" for k, r in enumerate(resistors))


def _ohm(rng: Rng) -> Problem:
    """Two resistors in a row at a battery: the current, or the power."""
    r, s = _values(rng, 2)
    u, steps = rng.integer(2, 60), Steps()
    total = row(steps, r, s)
    current = steps.get(over(u, show(total)), u / total)
    prompt = f"Resistors of {show(r)} ohm and {show(s)} ohm are connected in series to a battery of {u} V."
    return asked(f"{prompt} Find the current in A.", steps, current, "A")


def _parallel(rng: Rng) -> Problem:
    """Two or three resistors side by side."""
    resistors = _values(rng, 3 if rng.chance(1, 3) else 2, 60)
    steps = Steps()
    total = parallel(steps, *resistors)
    prompt = f"Find the total resistance, in ohm, of {_named(resistors)} connected in parallel."
    return asked(prompt, steps, total, "ohm")


def _mixed(rng: Rng) -> Problem:
    """R1 in front of R2 and R3 side by side: the total current."""
    resistors = _values(rng, 3, 40)
    u, steps = rng.integer(2, 60), Steps()
    inner = parallel(steps, *resistors[1:])
    total = row(steps, resistors[0], inner)
    current = steps.get(f"{u} / {operand(total)}", u / total)
    prompt = (
        f"R1 is in series with the parallel pair of R2 and R3, at a battery of {u} V. {_named(resistors)}. "
        "Find the current through R1 in A."
    )
    return asked(prompt, steps, current, "A")


def _branch(rng: Rng) -> Problem:
    """The same, with R3 and R4 in a row in one branch: current or power in a branch."""
    resistors = _values(rng, 4, 30)
    u, steps = rng.integer(2, 60), Steps()
    lower = row(steps, *resistors[2:])
    inner = parallel(steps, resistors[1], lower)
    total = row(steps, resistors[0], inner)
    current = steps.rational(f"{u} / {operand(total)}", u / total)
    voltage = steps.rational(f"{show(current)} * {operand(inner)}", current * inner)
    value, unit, asks = voltage, "V", "voltage across R2 in V"
    if rng.chance(1, 2):
        value, unit, asks = voltage / lower, "A", "current through R3 in A"
        steps.get(f"{operand(voltage)} / {operand(lower)}", value)
    prompt = (
        f"R3 and R4 are in series; R2 is parallel to both; R1 is in series with all that, at a battery of {u} V. "
        f"{_named(resistors)}. Find the {asks}."
    )
    return asked(prompt, steps, value, unit)


def _ladder(rng: Rng) -> Problem:
    """A ladder of five resistors from the far end on: the current in the last rung."""
    resistors = _values(rng, 5, 12)
    u, steps = rng.integer(2, 60), Steps()
    far = row(steps, resistors[3], resistors[4])
    middle = parallel(steps, resistors[2], far)
    near = row(steps, resistors[1], middle)
    current = steps.rational(f"{u} / {operand(near)}", u / near)
    voltage = steps.rational(f"{show(current)} * {operand(middle)}", current * middle)
    value = steps.get(f"{operand(voltage)} / {operand(far)}", voltage / far)
    prompt = (
        f"R4 and R5 are in series; R3 is parallel to both; R2 is in series with all that; R1 is parallel to the whole, "
        f"at a battery of {u} V. {_named(resistors)}. Find the current through R5 in A."
    )
    return asked(prompt, steps, value, "A")


def _two_loops(rng: Rng) -> Problem:
    """Two batteries with a resistor each feed a third one: the voltage across it is the weighted mean of theirs."""
    r, s, t = _values(rng, 3, 20)
    u, v = rng.sample(range(2, 61), 2)
    steps = Steps()
    top = steps.rational(f"{over(u, show(r))} + {over(v, show(s))}", u / r + v / s)
    bottom = steps.rational(f"{over(1, show(r))} + {over(1, show(s))} + {over(1, show(t))}", 1 / r + 1 / s + 1 / t)
    voltage = steps.rational(f"{operand(top)} / {operand(bottom)}", top / bottom)
    kind = rng.below(2)
    drop = steps.rational(f"{u} - {show(voltage)}", u - voltage)
    first = steps.rational(f"{operand(drop)} / {operand(r)}", drop / r)
    if kind == 0:
        value, unit = first, "A"
        asks = "Find the current in A through the first battery, negative if it flows into its positive pole."
    else:
        value, unit = u * first, "W"
        asks = "What power, in W, does the first battery give? It is negative if it is charged."
        steps.get(f"{u} * {operand(first)}", value)
    prompt = (
        f"A battery of {u} V in series with R1 and a battery of {v} V in series with R2, with their positive poles on "
        f"the same side, are both connected in parallel to R3. {_named((r, s, t))}. {asks}"
    )
    return asked(prompt, steps, value, unit)
