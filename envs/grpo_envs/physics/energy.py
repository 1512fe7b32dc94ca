"""Energy and momentum: work, power, heights and speeds, springs, collisions."""

from __future__ import annotations

from fractions import Fraction

from grpo_envs.math.exact import root_of
from grpo_envs.physics.style import PHYSICS, Steps, asked, given, operand, over, show
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task

G = 10
GRAVITY = "Take g = 10 m/s^2."


@task("physics.energy", **PHYSICS)
def energy(rng: Rng, tier: int) -> Problem:
    """Find energies and speeds: kinetic, potential (0), power (1), slides (2), springs (3), collisions (4, 5)."""
    kinds = ((_kinetic, _lift), (_power,), (_slide,), (_spring,), (_sticking,), (_elastic, _pendulum))
    return rng.choice(kinds[tier])(rng)


def _kinetic(rng: Rng) -> Problem:
    m, v, steps = rng.integer(1, 80), rng.integer(2, 40), Steps()
    e = steps.get(f"{over(1, 2)} * {m} * {v}^2", Fraction(m * v * v, 2))
    return asked(f"Find the kinetic energy, in J, of a body of {m} kg that moves at {v} m/s.", steps, e, "J")


def _lift(rng: Rng) -> Problem:
    m, h, steps = rng.integer(1, 80), Fraction(rng.integer(1, 60), 2), Steps()
    e = steps.get(f"{m} * {G} * {show(h)}", m * G * h)
    prompt = f"Find the work, in J, that lifts a body of {m} kg by {given(h)} m. {GRAVITY}"
    return asked(prompt, steps, e, "J")


def _power(rng: Rng) -> Problem:
    """A motor lifts a load; part of its power is lost."""
    m, h, t, percent = rng.integer(5, 99), rng.integer(2, 40), rng.integer(2, 60), 5 * rng.integer(8, 19)
    steps = Steps()
    work = steps.rational(f"{m} * {G} * {h}", m * G * h)
    useful = steps.rational(over(work, t), work / t)
    power = steps.get(f"{operand(useful)} / {over(percent, 100)}", useful * 100 / percent)
    prompt = (
        f"A motor lifts {m} kg by {h} m in {t} s at a steady speed. Its efficiency is {percent} percent. {GRAVITY} "
        "What power, in W, does it take in?"
    )
    return asked(prompt, steps, power, "W")


def _slide(rng: Rng) -> Problem:
    """A sledge slides down a hill; friction takes part of the energy."""
    m, h = rng.integer(2, 90), rng.integer(2, 60)
    steps = Steps()
    potential = steps.rational(f"{m} * {G} * {h}", m * G * h)
    lost = rng.integer(1, int(potential) - 1)
    left = steps.rational(f"{potential} - {lost}", potential - lost)
    square = steps.rational(over(f"2 * {operand(left)}", m), 2 * left / m)
    speed = steps.get(f"\\sqrt{{{show(square)}}}", root_of(square.numerator, square.denominator))
    prompt = (
        f"A sledge of {m} kg starts from rest at the top of a hill {h} m high and loses {lost} J to friction on the "
        f"way down. {GRAVITY} Find its exact speed in m/s at the bottom."
    )
    return asked(prompt, steps, speed, "m/s")


def _spring(rng: Rng) -> Problem:
    """A spring throws a ball up, or over a table with friction."""
    k, x, m = 10 * rng.integer(5, 200), rng.integer(5, 40), Fraction(rng.integer(1, 20), 10)
    stretch, steps = Fraction(x, 100), Steps()
    e = steps.rational(f"{over(1, 2)} * {k} * ({show(stretch)})^2", k * stretch * stretch / 2)
    scene = f"A spring with k = {k} N/m is pressed together by {x} cm and pushes a body of {given(m)} kg away."
    if rng.chance(1, 2):
        square = steps.rational(f"2 * {operand(e)} / {operand(m)}", 2 * e / m)
        speed = steps.get(f"\\sqrt{{{show(square)}}}", root_of(square.numerator, square.denominator))
        return asked(f"{scene} There is no friction. Find the exact speed of the body in m/s.", steps, speed, "m/s")
    mu = Fraction(rng.integer(1, 9), 10)
    rub = steps.rational(f"{show(mu)} * {operand(m)} * {G}", mu * m * G)
    way = steps.get(f"{operand(e)} / {operand(rub)}", e / rub)
    prompt = f"{scene} It slides over level ground with a coefficient of friction of {given(mu)}. {GRAVITY}"
    return asked(f"{prompt} How far, in m, does it slide from where it was let go?", steps, way, "m")


def _two_bodies(rng: Rng) -> tuple[int, int, int, int]:
    """Return masses and velocities; the first body is the faster one."""
    m, n, v = rng.integer(1, 30), rng.integer(1, 30), rng.integer(2, 20)
    return m, n, v, rng.integer(-12, v - 1)


def _moving(n: int, w: int) -> str:
    if w == 0:
        return f"a body of {n} kg at rest"
    return f"a body of {n} kg that moves at {abs(w)} m/s {'the same way' if w > 0 else 'towards it'}"


def _common(steps: Steps, m: int, n: int, v: int, w: int) -> Fraction:
    """Return the velocity of the centre of mass."""
    momentum = steps.rational(f"{m} * {v} + {n} * {operand(w)}", m * v + n * w)
    mass = steps.rational(f"{m} + {n}", m + n)
    return steps.rational(over(momentum, mass), momentum / mass)


def _sticking(rng: Rng) -> Problem:
    """They stick together: ask for the energy that is lost."""
    m, n, v, w = _two_bodies(rng)
    steps = Steps()
    u = _common(steps, m, n, v, w)
    before = steps.rational(f"{over(1, 2)} * {m} * {v}^2 + {over(1, 2)} * {n} * {operand(w)}^2",
                            Fraction(m * v * v + n * w * w, 2))  # fmt: skip
    after = steps.rational(f"{over(1, 2)} * {m + n} * ({show(u)})^2", (m + n) * u * u / 2)
    lost = steps.get(f"{show(before)} - {show(after)}", before - after)
    prompt = f"A body of {m} kg moves at {v} m/s and hits {_moving(n, w)}. They stick together."
    return asked(f"{prompt} How much kinetic energy, in J, is lost?", steps, lost, "J")


def _elastic(rng: Rng) -> Problem:
    """They bounce: a velocity afterwards is twice the common one minus the old one."""
    m, n, v, w = _two_bodies(rng)
    steps = Steps()
    u = _common(steps, m, n, v, w)
    new = steps.rational(f"2 * {operand(u)} - {operand(w)}", 2 * u - w)
    before = steps.rational(f"{over(1, 2)} * {n} * {operand(w)}^2", Fraction(n * w * w, 2))
    after = steps.rational(f"{over(1, 2)} * {n} * ({show(new)})^2", n * new * new / 2)
    e = steps.get(f"{show(after)} - {show(before)}", after - before)
    prompt = f"A body of {m} kg moves at {v} m/s and hits {_moving(n, w)}. The collision is elastic."
    return asked(f"{prompt} By how much, in J, does the kinetic energy of the second body change?", steps, e, "J")


def _pendulum(rng: Rng) -> Problem:
    """A ballistic pendulum: from the height back to the speed, or on to the height."""
    grams, kg, v = rng.integer(2, 40), rng.integer(1, 12), rng.integer(50, 600)
    steps = Steps()
    m = steps.rational(over(grams, 1000), Fraction(grams, 1000))
    momentum = steps.rational(f"{operand(m)} * {v}", m * v)
    mass = steps.rational(f"{operand(m)} + {kg}", m + kg)
    u = steps.rational(f"{operand(momentum)} / {operand(mass)}", momentum / mass)
    height = steps.get(over(f"({show(u)})^2", f"2 * {G}"), u * u / (2 * G))
    prompt = (
        f"A bullet of {grams} g at {v} m/s hits a block of {kg} kg that hangs at rest on strings and sticks in it. "
        f"{GRAVITY} How high, in m, does the block swing? Give the exact value."
    )
    return asked(prompt, steps, height, "m")
