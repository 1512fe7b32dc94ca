r"""A particle in a one-dimensional box: levels, photons, superpositions, probabilities and mean positions with \pi."""

from __future__ import annotations

from fractions import Fraction

from grpo_envs.math.angles import add, sine
from grpo_envs.math.exact import joined, root_of, scaled, surd, total
from grpo_envs.physics.states import amplitudes, mean, norm, over_pi, superposition
from grpo_envs.physics.style import PHYSICS, Steps, asked, given, operand, over, show
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task

PI = "\\pi"


@task("physics.quantum_box", **PHYSICS)
def quantum_box(rng: Rng, tier: int) -> Problem:
    """Find levels (0), photons (1), mean energies (2), probabilities (3), mean positions (4), spreads (5)."""
    return (_level, _photon, _mean_energy, _probability, _mean_position, _spread)[tier](rng)


def _ground(rng: Rng) -> tuple[Fraction, str]:
    e = Fraction(rng.integer(1, 99), rng.choice((10, 20, 40)))
    return e, f"A particle in a one-dimensional box has the ground state energy {given(e)} eV."


def _level(rng: Rng) -> Problem:
    (e, scene), n, steps = _ground(rng), rng.integer(2, 20), Steps()
    value = steps.get(f"{n}^2 * {show(e)}", n * n * e)
    return asked(f"{scene} Find its energy in eV in the level n = {n}.", steps, value, "eV")


def _photon(rng: Rng) -> Problem:
    (e, scene), (n, m), steps = _ground(rng), sorted(rng.sample(range(1, 16), 2)), Steps()
    difference = steps.rational(f"{m}^2 - {n}^2", m * m - n * n)
    value = steps.get(f"{difference} * {show(e)}", difference * e)
    prompt = f"{scene} Find the energy in eV of the photon that it emits when it falls from n = {m} to n = {n}."
    return asked(prompt, steps, value, "eV")


def _superposition(rng: Rng, count: int) -> tuple[list[int], list[int], str]:
    weights, levels = amplitudes(rng, count), sorted(rng.sample(range(1, 8), count))
    return weights, levels, f"Its state is {superposition(weights, levels)}, up to normalisation."


def _mean_energy(rng: Rng) -> Problem:
    (e, scene), (weights, levels, state), steps = _ground(rng), _superposition(rng, 2), Steps()
    value = mean(steps, weights, [n * n for n in levels])
    result = steps.get(f"{show(value)} * {show(e)}", value * e)
    return asked(f"{scene} {state} Find the expectation value of its energy in eV.", steps, result, "eV")


def _spread(rng: Rng) -> Problem:
    weights, levels, state = _superposition(rng, 3)
    steps = Steps()
    first = mean(steps, weights, [n * n for n in levels])
    second = mean(steps, weights, [n**4 for n in levels])
    variance = steps.rational(f"{show(second)} - ({show(first)})^2", second - first * first)
    value = steps.get(f"\\sqrt{{{show(variance)}}}", root_of(variance.numerator, variance.denominator))
    scene = "A particle is in a one-dimensional box with the ground state energy 1 eV."
    return asked(f"{scene} {state} Find the exact standard deviation of its energy in eV.", steps, value, "eV")


def _probability(rng: Rng) -> Problem:
    r"""Ask for the probability between two twelfths of the box: x - sin(2 \pi n x) / (2 \pi n) between both."""
    n = rng.integer(1, 40)
    low, high = sorted(rng.sample(range(13), 2))
    if high - low == 12:  # somewhere it is for certain
        high = 11
    steps = Steps()
    turns = [(2 * n * twelfths) % 24 for twelfths in (high, low)]
    sines = [sine(m) for m in turns]
    for twelfths, s in zip((high, low), sines, strict=True):
        steps.lines.append(f"\\sin(2\\pi * {n} * {over(twelfths, 12)}) = {s}")
    width = steps.rational(over(high - low, 12), Fraction(high - low, 12))
    rest = add([sines[0], surd(-sines[1].top, sines[1].bottom, sines[1].radicand)])
    wave = [over_pi(surd(-s.top, 2 * n * s.bottom, s.radicand)) for s in rest]
    value = joined([show(width), *wave])
    steps.get(f"{show(width)} - {over(total(*rest), f'{2 * n}{PI}')}", value)
    prompt = (
        f"A particle in a one-dimensional box from x = 0 to x = L is in the level n = {n}. Find the exact probability "
        f"to find it between x = {_part(low)} and x = {_part(high)}."
    )
    return asked(prompt, steps, value)


def _part(twelfths: int) -> str:
    if twelfths in (0, 12):
        return "L" if twelfths else "0"
    share = Fraction(twelfths, 12)
    return f"{scaled(share.numerator, 'L')}/{share.denominator}"


def _mean_position(rng: Rng) -> Problem:
    r"""Use <m|x|n> = -8Lmn / (\pi^2 (m^2 - n^2)^2) for m + n odd, 0 for m + n even and m other than n."""
    m = rng.integer(1, 6)
    n = m + rng.choice((1, 1, 3, 5, 2))
    weights, length = amplitudes(rng, 2), rng.integer(1, 40)
    steps = Steps()
    whole = norm(steps, weights)
    half = steps.rational(over(length, 2), Fraction(length, 2))
    element = Fraction(-8 * length * m * n, (m * m - n * n) ** 2) if (m + n) % 2 else Fraction(0)
    a, b = weights
    factor = steps.rational(f"2 * {a} * {operand(b)} / {show(whole)}", 2 * a * b / whole)
    shift = element * factor
    wave = over_pi(surd(shift.numerator, shift.denominator), 2)
    value = joined([show(half), wave])
    if element:
        shown = over_pi(surd(element.numerator, element.denominator), 2)
        steps.get(over(f"-8 * {length} * {m} * {n}", f"\\pi^2({m}^2 - {n}^2)^2"), shown)
        steps.get(f"{show(half)} + {operand(factor)} * ({shown})", value)
    prompt = (
        f"A particle in a one-dimensional box from x = 0 to x = {length} nm is in the state "
        f"{superposition(weights, (m, n))}, up to normalisation; the wave functions of the levels are real and "
        "positive next to x = 0. Find the exact expectation value of x in nm."
    )
    return asked(prompt, steps, value, "nm")
