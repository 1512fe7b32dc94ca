"""Hydrogen and ions with one electron: levels, photons, wavelengths, mean distances."""

from __future__ import annotations

from fractions import Fraction

from grpo_envs.math.exact import root_of
from grpo_envs.physics.style import PHYSICS, Steps, asked, operand, over, show
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task

RYDBERG = Fraction(68, 5)
"""13.6 eV, as the questions give it."""

HC = 1240
"""h times c in eV nm, as the questions give it."""

SCENE = "The ground state energy of hydrogen is -13.6 eV."


@task("physics.hydrogen", **PHYSICS)
def hydrogen(rng: Rng, tier: int) -> Problem:
    """Find levels (0), mean distances (1), photons (2), wavelengths (3), their ratios (4), spreads (5)."""
    return (_level, _mean_distance, _photon, _wavelength, _ratio, _spread)[tier](rng)


def _ion(z: int) -> str:
    return "a hydrogen atom" if z == 1 else f"an ion with nuclear charge Z = {z} and one electron"


def _level(rng: Rng) -> Problem:
    z, n, steps = rng.integer(1, 60), rng.integer(1, 40), Steps()
    e = steps.get(f"-{show(RYDBERG)} * {over(f'{z}^2', f'{n}^2')}", -RYDBERG * z * z / (n * n))
    return asked(f"{SCENE} Find the energy in eV of the level n = {n} of {_ion(z)}.", steps, e, "eV")


def _levels(rng: Rng, largest: int) -> tuple[int, int]:
    """Return a lower and a higher level."""
    m, n = sorted(rng.sample(range(1, largest + 1), 2))
    return m, n


def _factor(steps: Steps, z: int, m: int, n: int) -> Fraction:
    difference = Fraction(1, m * m) - Fraction(1, n * n)
    steps.get(f"{over(1, f'{m}^2')} - {over(1, f'{n}^2')}", difference)
    return steps.rational(f"{z}^2 * {show(difference)}", z * z * difference) if z > 1 else difference


def _photon(rng: Rng) -> Problem:
    z, (m, n), steps = rng.integer(1, 30), _levels(rng, 15), Steps()
    factor = _factor(steps, z, m, n)
    e = steps.get(f"{show(RYDBERG)} * {show(factor)}", RYDBERG * factor)
    prompt = f"{SCENE} Find the energy in eV of the photon that {_ion(z)} emits on the way from n = {n} to n = {m}."
    return asked(prompt, steps, e, "eV")


def _wavelength(rng: Rng) -> Problem:
    z, (m, n), steps = rng.integer(1, 30), _levels(rng, 15), Steps()
    factor = _factor(steps, z, m, n)
    e = steps.rational(f"{show(RYDBERG)} * {show(factor)}", RYDBERG * factor)
    length = steps.get(f"{HC} / {operand(e)}", HC / e)
    prompt = (
        f"{SCENE} Take hc = {HC} eV nm. Find the wavelength in nm of the photon that {_ion(z)} emits on the way from "
        f"n = {n} to n = {m}."
    )
    return asked(prompt, steps, length, "nm")


def _ratio(rng: Rng) -> Problem:
    """Ask for the ratio of the wavelengths of two transitions in two ions."""
    y, z = rng.sample(range(1, 10), 2)
    (m, n), (p, q) = _levels(rng, 9), _levels(rng, 9)
    steps = Steps()
    first, second = _factor(steps, y, m, n), _factor(steps, z, p, q)
    value = steps.get(f"{operand(second)} / {operand(first)}", second / first)
    prompt = (
        f"Photon A is emitted by {_ion(y)} on the way from n = {n} to n = {m}, photon B by {_ion(z)} on the way from "
        f"n = {q} to n = {p}. Find the wavelength of A divided by the wavelength of B."
    )
    return asked(prompt, steps, value)


def _orbital(rng: Rng) -> tuple[int, int, int, str]:
    n = rng.integer(1, 12)
    k, z = rng.below(n), rng.integer(1, 30)
    return n, k, z, f"For {_ion(z)} in the state n = {n}, l = {k}"


def _mean_distance(rng: Rng) -> Problem:
    r"""Use <r> = (3n^2 - l(l + 1)) / (2Z), or the mean of r^2, n^2 (5n^2 + 1 - 3l(l + 1)) / (2Z^2)."""
    n, k, z, scene = _orbital(rng)
    steps = Steps()
    if rng.chance(1, 4):
        top = steps.rational(f"3 * {n}^2 - {k} * ({k} + 1)", 3 * n * n - k * (k + 1))
        value = steps.get(over(top, f"2 * {z}"), top / (2 * z))
        return asked(f"{scene}, find the expectation value of r in Bohr radii.", steps, value)
    inner = steps.rational(f"5 * {n}^2 + 1 - 3 * {k} * ({k} + 1)", 5 * n * n + 1 - 3 * k * (k + 1))
    top = steps.rational(f"{n}^2 * {inner}", n * n * inner)
    bottom = steps.rational(f"2 * {z}^2", 2 * z * z)
    value = steps.get(over(top, bottom), top / bottom)
    return asked(f"{scene}, find the expectation value of r^2 in squared Bohr radii.", steps, value)


def _spread(rng: Rng) -> Problem:
    n, k, z, scene = _orbital(rng)
    steps = Steps()
    top = steps.rational(f"3 * {n}^2 - {k} * ({k} + 1)", 3 * n * n - k * (k + 1))
    mean = steps.rational(over(top, f"2 * {z}"), top / (2 * z))
    inner = steps.rational(f"5 * {n}^2 + 1 - 3 * {k} * ({k} + 1)", 5 * n * n + 1 - 3 * k * (k + 1))
    square = steps.rational(over(f"{n}^2 * {inner}", f"2 * {z}^2"), n * n * inner / (2 * z * z))
    variance = steps.rational(f"{show(square)} - ({show(mean)})^2", square - mean * mean)
    value = steps.get(f"\\sqrt{{{show(variance)}}}", root_of(variance.numerator, variance.denominator))
    return asked(f"{scene}, find the exact standard deviation of r in Bohr radii.", steps, value)
