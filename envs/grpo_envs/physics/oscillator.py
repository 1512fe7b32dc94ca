r"""Oscillators: energies, periods and speeds on springs; quantum levels, mean energies, matrix elements by ladders."""

from __future__ import annotations

from fractions import Fraction

from grpo_envs.math.angles import add
from grpo_envs.math.exact import Surd, joined, root_of, surd
from grpo_envs.physics.states import amplitudes, mean, norm, superposition
from grpo_envs.physics.style import PHYSICS, Steps, asked, given, operand, over, show
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task


@task("physics.oscillator", **PHYSICS)
def oscillator(rng: Rng, tier: int) -> Problem:
    """Find energies (0), periods (1), speeds (2); of quantum ones mean energies (3), <x> (4) and <x^2> (5)."""
    return (_energy, _period, _speed, _mean_energy, _mean_position, _mean_square)[tier](rng)


def _spring(rng: Rng) -> tuple[Fraction, int, str]:
    m, k = Fraction(rng.integer(1, 40), 10), rng.integer(1, 200)
    return m, k, f"A body of {given(m)} kg hangs on a spring with k = {k} N/m and oscillates"


def _energy(rng: Rng) -> Problem:
    """Ask for the whole energy, or for the kinetic energy on the way."""
    k, a = rng.integer(1, 200), rng.integer(2, 40)
    x, steps = rng.integer(0, a - 1), Steps()
    squares = steps.rational(f"{a}^2 - {x}^2", a * a - x * x) if x else steps.rational(f"{a}^2", a * a)
    e = steps.get(f"{over(1, 2)} * {k} * {over(squares, 100**2)}", k * squares / 20_000)
    prompt = f"A body on a spring with k = {k} N/m oscillates with an amplitude of {a} cm."
    where = f"{x} cm from its resting point" if x else "as it passes its resting point"
    return asked(f"{prompt} Find its kinetic energy in J {where}.", steps, e, "J")


def _period(rng: Rng) -> Problem:
    m, k, scene = _spring(rng)
    steps = Steps()
    ratio = steps.rational(f"{operand(m)} / {k}", m / k)
    root = root_of(ratio.numerator, ratio.denominator)
    period = surd(2 * root.top, root.bottom, root.radicand, pi=True)
    steps.get(f"2\\pi\\sqrt{{{show(ratio)}}}", period)
    return asked(f"{scene}. Find the exact period in s.", steps, period, "s")


def _speed(rng: Rng) -> Problem:
    m, k, scene = _spring(rng)
    a = rng.integer(2, 40)
    x, steps = rng.integer(1, a - 1), Steps()
    ratio = steps.rational(f"{k} / {operand(m)}", k / m)
    squares = steps.rational(f"{a}^2 - {x}^2", a * a - x * x)
    square = steps.rational(f"{operand(ratio)} * {show(squares)}", ratio * squares)
    speed = steps.get(f"\\sqrt{{{show(square)}}}", root_of(square.numerator, square.denominator))
    prompt = f"{scene} with an amplitude of {a} cm. Find its exact speed in cm/s at {x} cm from its resting point."
    return asked(prompt, steps, speed, "cm/s")


def _mean_energy(rng: Rng) -> Problem:
    weights, levels = amplitudes(rng, 4), sorted(rng.sample(range(9), 4))
    e, steps = Fraction(rng.integer(1, 40), 100), Steps()
    value = mean(steps, weights, [Fraction(2 * n + 1, 2) for n in levels])
    result = steps.get(f"{show(value)} * {show(e)}", value * e)
    prompt = (
        f"A quantum oscillator, whose levels n = 0, 1, 2, ... are {given(e)} eV apart, is in the state "
        f"{superposition(weights, levels)}, up to normalisation. Find the expectation value of its energy in eV, the "
        "zero-point energy included."
    )
    return asked(prompt, steps, result, "eV")


STATE = (
    "A quantum oscillator with hbar = m = omega = 1 is in the state {}, up to normalisation, with real and positive "
    "matrix elements of the ladder operators. Find the exact expectation value of {}."
)


def _mean_position(rng: Rng) -> Problem:
    r"""Use <n|x|n+1> = \sqrt{(n+1)/2} for two pairs of neighbours."""
    n = rng.integer(0, 20)
    weights, levels = amplitudes(rng, 3, 5), (n, n + 1, n + 2)
    steps = Steps()
    whole = norm(steps, weights)
    terms: list[Surd] = []
    for k in range(2):
        element = surd(1, 2, 2 * (levels[k] + 1))
        steps.get(f"\\sqrt{{\\frac{{{levels[k]} + 1}}{{2}}}}", element)
        factor = 2 * weights[k] * weights[k + 1] / whole
        steps.get(f"2 * {operand(weights[k])} * {operand(weights[k + 1])} / {show(whole)}", factor)
        terms.append(surd(factor.numerator * element.top, factor.denominator * element.bottom, element.radicand))
        steps.get(f"{operand(factor)} * {element}", terms[-1])
    value = _sum(steps, terms)
    return asked(STATE.format(superposition(weights, levels), "x"), steps, value)


def _sum(steps: Steps, terms: list[Surd]) -> str:
    """Return the sum of terms, those with the same root together."""
    text = joined(map(str, terms))
    value = joined(str(term) for term in add(terms))
    if len(terms) > 1:
        steps.get(text, value)
    return value


def _mean_square(rng: Rng) -> Problem:
    r"""Use <n|x^2|n> = n + 1/2 and <n|x^2|n+2> = \sqrt{(n+1)(n+2)} / 2."""
    n = rng.integer(0, 20)
    weights, levels = amplitudes(rng, 3, 5), (n, n + 2, n + 4)
    steps = Steps()
    diagonal = mean(steps, weights, [Fraction(2 * k + 1, 2) for k in levels])
    whole = sum(c * c for c in weights)
    terms = [surd(diagonal.numerator, diagonal.denominator)]
    for a, b, k in zip(weights, weights[1:], levels, strict=False):
        element = surd(1, 2, (k + 1) * (k + 2))
        steps.get(over(f"\\sqrt{{({k} + 1)({k} + 2)}}", 2), element)
        factor = steps.rational(f"2 * {operand(a)} * {operand(b)} / {whole}", Fraction(2 * a * b, whole))
        terms.append(surd(factor.numerator * element.top, factor.denominator * element.bottom, element.radicand))
        steps.get(f"{operand(factor)} * {element}", terms[-1])
    value = _sum(steps, terms)
    return asked(STATE.format(superposition(weights, levels), "x^2"), steps, value)
