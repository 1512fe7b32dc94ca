"""Spin 1/2: probabilities and expectation values of states with complex amplitudes, Pauli matrices, two spins."""

from __future__ import annotations

from fractions import Fraction

from grpo_envs.math.answers import tuple_forms
from grpo_envs.math.complex import Gauss, show
from grpo_envs.math.derivative import nonzero
from grpo_envs.math.exact import joined, scaled
from grpo_envs.physics.states import amplitudes, norm, superposition
from grpo_envs.physics.style import PHYSICS, Steps, asked, operand, over, spellings
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task

AXES = "xyz"


def others(problem: Problem) -> list[str]:
    """Return other right answers, boxed: of a tuple, of a number."""
    return tuple_forms(problem) if str(problem.reference)[0] == "(" else spellings(problem)


@task("physics.spin", **{**PHYSICS, "equivalents": others})
def spin(rng: Rng, tier: int) -> Problem:
    """Find probabilities (0, 3), expectation values (1, 2), correlations (4), products of Pauli matrices (5)."""
    return (_probability, _along_z, _across, _probability_across, _two_spins, _pauli)[tier](rng)


def _state(rng: Rng) -> tuple[Gauss, Gauss, str]:
    """Return the amplitudes of up and down along z, and the state in words."""
    a, b = ((nonzero(rng, 6), nonzero(rng, 6)) for _ in range(2))
    return a, b, f"A spin 1/2 is in the state ({show(a)})|up> + ({show(b)})|down> along z, up to normalisation."


def _size(steps: Steps, z: Gauss) -> int:
    square = z[0] ** 2 + z[1] ** 2
    steps.get(f"{abs(z[0])}^2 + {abs(z[1])}^2", square)
    return square


def _sizes(steps: Steps, a: Gauss, b: Gauss) -> tuple[int, int, int]:
    up, down = _size(steps, a), _size(steps, b)
    steps.get(f"{up} + {down}", up + down)
    return up, down, up + down


def _probability(rng: Rng) -> Problem:
    a, b, scene = _state(rng)
    steps = Steps()
    up, down, whole = _sizes(steps, a, b)
    name, part = rng.choice((("up", up), ("down", down)))
    value = steps.get(over(part, whole), Fraction(part, whole))
    return asked(f"{scene} Find the probability to measure spin {name} along z.", steps, value)


def _along_z(rng: Rng) -> Problem:
    a, b, scene = _state(rng)
    steps = Steps()
    up, down, whole = _sizes(steps, a, b)
    difference = steps.rational(f"{up} - {down}", up - down)
    value = steps.get(over(difference, f"2 * {whole}"), difference / (2 * whole))
    return asked(f"{scene} Find the expectation value of S_z in units of hbar.", steps, value)


def _overlap(steps: Steps, a: Gauss, b: Gauss) -> Gauss:
    """Return the conjugate of a times b: its parts are the expectation values of S_x and S_y before normalisation."""
    value = (a[0] * b[0] + a[1] * b[1], a[0] * b[1] - a[1] * b[0])
    steps.get(f"({show((a[0], -a[1]))})({show(b)})", show(value))
    return value


def _across(rng: Rng) -> Problem:
    a, b, scene = _state(rng)
    steps = Steps()
    whole = _sizes(steps, a, b)[2]
    parts = _overlap(steps, a, b)
    axis = rng.below(2)
    value = steps.get(over(parts[axis], whole), Fraction(parts[axis], whole))
    return asked(f"{scene} Find the expectation value of S_{AXES[axis]} in units of hbar.", steps, value)


def _probability_across(rng: Rng) -> Problem:
    a, b, scene = _state(rng)
    steps = Steps()
    whole = _sizes(steps, a, b)[2]
    parts = _overlap(steps, a, b)
    axis, sign, name = rng.below(2), *rng.choice(((1, "up"), (-1, "down")))
    mean = steps.rational(over(parts[axis], whole), Fraction(parts[axis], whole))
    value = steps.get(f"{over(1, 2)} {'+' if sign > 0 else '-'} {operand(mean)}", Fraction(1, 2) + sign * mean)
    return asked(f"{scene} Find the probability to measure spin {name} along {AXES[axis]}.", steps, value)


def _dot(steps: Steps, u: list[int], v: list[int]) -> int:
    value = sum(x * y for x, y in zip(u, v, strict=True))
    steps.get(" + ".join(f"{operand(x)} * {operand(y)}" for x, y in zip(u, v, strict=True)), value)
    return value


def _cross(steps: Steps, u: list[int], v: list[int]) -> list[int]:
    found = []
    for j, k in ((1, 2), (2, 0), (0, 1)):
        found.append(u[j] * v[k] - u[k] * v[j])
        steps.get(f"{operand(u[j])} * {operand(v[k])} - {operand(u[k])} * {operand(v[j])}", found[-1])
    return found


def _pauli(rng: Rng) -> Problem:
    """Multiply three sums of Pauli matrices: u.s v.s w.s = i u.(v x w) + (u (v.w) - v (u.w) + w (u.v)).s."""
    u, v, w = ([nonzero(rng, 5) for _ in range(3)] for _ in range(3))
    steps = Steps()
    volume = _dot(steps, u, _cross(steps, v, w))
    vw, uw, uv = _dot(steps, v, w), _dot(steps, u, w), _dot(steps, u, v)
    parts = []
    for a, b, c in zip(u, v, w, strict=True):
        parts.append(a * vw - b * uw + c * uv)
        text = f"{operand(a)} * {operand(vw)} - {operand(b)} * {operand(uw)} + {operand(c)} * {operand(uv)}"
        steps.get(text, parts[-1])
    answer = f"({', '.join(str(n) for n in (volume, *parts))})"
    factors = (joined(scaled(n, f"s_{axis}") for n, axis in zip(m, AXES, strict=True)) for m in (u, v, w))
    product = "".join(f"({text})" for text in factors)
    prompt = f"With the Pauli matrices s_x, s_y, s_z write {product} as ia + b s_x + c s_y + d s_z. Find (a, b, c, d)."
    return asked(prompt, steps, answer)


def _expectation(steps: Steps, weights: list[int], first: str, second: str) -> int:
    """Return the mean of the product of two Pauli matrices before normalisation; the matrix "1" is the identity."""
    terms, value = [], 0
    for k, c in enumerate(weights):
        sign, target = 1, 0
        for name, bit, place in ((first, k // 2, 2), (second, k % 2, 1)):
            sign *= -1 if name == "z" and bit else 1
            target += place * (1 - bit if name == "x" else bit)
        terms.append(f"{operand(sign * c)} * {operand(weights[target])}")
        value += sign * c * weights[target]
    steps.get(" + ".join(terms), value)
    return value


def _two_spins(rng: Rng) -> Problem:
    """Ask how much the product of two spins is above the product of their means."""
    weights = amplitudes(rng, 4, 5)
    first, second = rng.choice("xz"), rng.choice("xz")
    steps = Steps()
    whole = norm(steps, weights)
    both, left, right = (_expectation(steps, weights, *pair) for pair in ((first, second), (first, "1"), ("1", second)))
    value = Fraction(both, int(whole)) - Fraction(left * right, int(whole) ** 2)
    steps.get(f"{over(both, whole)} - {over(left, whole)} * {operand(over(right, whole))}", value)
    state = superposition(weights, ("uu", "ud", "du", "dd"))
    prompt = (
        f"Two spins 1/2 are in the state {state}, up to normalisation, where u is up and d is down along z. "
        f"Let A be the Pauli matrix s_{first} of the first spin and B the Pauli matrix s_{second} of the second. "
        "Find <AB> - <A><B>."
    )
    return asked(prompt, steps, value)
