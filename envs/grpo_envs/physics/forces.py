"""Forces: Newton's law, friction, bodies that pull each other, inclines, pulleys."""

from __future__ import annotations

from fractions import Fraction

from grpo_envs.math.angles import add, cosine, sine
from grpo_envs.math.exact import Surd, surd, total
from grpo_envs.physics.style import PHYSICS, Steps, asked, given, operand, over, show
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task

G = 10
GRAVITY = "Take g = 10 m/s^2."


@task("physics.forces", **PHYSICS)
def forces(rng: Rng, tier: int) -> Problem:
    """Find forces and accelerations: F = ma (0), friction (1), two bodies (2), pulleys (3), inclines (4, 5)."""
    return (_newton, _friction, _coupled, _pulley, _incline, _rough_incline)[tier](rng)


def _newton(rng: Rng) -> Problem:
    """Two forces along a line on one body."""
    m, f = rng.integer(2, 60), rng.integer(20, 400)
    against = rng.integer(1, f - 10)
    steps = Steps()
    net = steps.rational(f"{f} - {against}", f - against)
    a = steps.get(over(net, m), net / m)
    prompt = f"A body of {m} kg is pulled with {f} N to the right and {against} N to the left, without friction."
    return asked(f"{prompt} Find its acceleration in m/s^2.", steps, a, "m/s^2")


def _friction(rng: Rng) -> Problem:
    """Pull a crate over level ground: ask for the acceleration, or for the force."""
    m, tenths = rng.integer(2, 40), rng.integer(1, 9)
    mu, steps = Fraction(tenths, 10), Steps()
    rub = steps.rational(f"{show(mu)} * {m} * {G}", mu * m * G)
    scene = f"A crate of {m} kg slides over level ground with a coefficient of friction of {given(mu)}. {GRAVITY}"
    if rng.chance(1, 2):
        a = Fraction(rng.integer(1, 30), 2)
        need = steps.rational(f"{m} * {show(a)}", m * a)
        force = steps.get(f"{show(need)} + {show(rub)}", need + rub)
        asks = f"What level force, in N, gives it an acceleration of {given(a)} m/s^2?"
        return asked(f"{scene} {asks}", steps, force, "N")
    force = tenths * m + rng.integer(1, 200)
    net = steps.rational(f"{force} - {show(rub)}", force - rub)
    a = steps.rational(over(show(net), m), net / m)
    return asked(f"{scene} It is pulled level with {force} N. Find its acceleration in m/s^2.", steps, a, "m/s^2")


def _coupled(rng: Rng) -> Problem:
    """Two blocks in a row on level ground: ask for the force in the rope between them."""
    m, n, tenths = rng.integer(1, 30), rng.integer(1, 30), rng.choice((0, 0, 0, 1, 2, 3, 4, 5))
    mu = Fraction(tenths, 10)
    force = tenths * (m + n) + rng.integer(1, 300)
    steps = Steps()
    mass = steps.rational(f"{m} + {n}", m + n)
    rub = steps.rational(f"{show(mu)} * {mass} * {G}", mu * mass * G) if tenths else Fraction(0)
    net = steps.rational(f"{force} - {show(rub)}", force - rub) if tenths else Fraction(force)
    a = steps.rational(over(show(net), mass), net / mass)
    own = steps.rational(f"{show(mu)} * {n} * {G}", mu * n * G) if tenths else Fraction(0)
    rope = steps.get(f"{n} * {show(a)} + {show(own)}", n * a + own)
    ground = f"rough level ground with a coefficient of friction of {given(mu)}" if tenths else "smooth level ground"
    prompt = (
        f"A block of {m} kg pulls a block of {n} kg behind it by a light rope, both on {ground}. "
        f"The first block is pulled with {force} N and both move. {GRAVITY} Find the tension of the rope in N."
    )
    return asked(prompt, steps, rope, "N")


def _pulley(rng: Rng) -> Problem:
    """One body hangs and pulls another over level ground: acceleration or tension."""
    n, tenths = rng.integer(1, 30), rng.integer(1, 8)
    m = rng.integer(1, 30) + n * tenths // 10
    mu, steps = Fraction(tenths, 10), Steps()
    weight = steps.rational(f"{m} * {G}", m * G)
    rub = steps.rational(f"{show(mu)} * {n} * {G}", mu * n * G)
    net = steps.rational(f"{weight} - {show(rub)}", weight - rub)
    mass = steps.rational(f"{m} + {n}", m + n)
    a = steps.rational(over(show(net), mass), net / mass)
    scene = (
        f"A hanging body of {m} kg is tied by a light rope over a light pulley to a block of {n} kg, which it pulls "
        f"over a level table with a coefficient of friction of {given(mu)}. {GRAVITY}"
    )
    pull = steps.rational(f"{m} * {show(a)}", m * a)
    tension = steps.get(f"{weight} - {show(pull)}", weight - pull)
    return asked(f"{scene} Find the tension of the rope in N.", steps, tension, "N")


def _incline(rng: Rng) -> Problem:
    """Ask for the force along a rough incline that moves a body up it at a steady speed, or holds it back."""
    k, angle, tenths = rng.integer(2, 120), rng.choice((2, 3, 4)), rng.integer(1, 5)
    mu, weight, steps = Fraction(tenths, 10), k * G, Steps()
    steps.get(f"{k} * {G}", weight)
    along, across = (surd(weight * f.top, f.bottom, f.radicand) for f in (sine(angle), cosine(angle)))
    for f, name, part in ((sine(angle), "sin", along), (cosine(angle), "cos", across)):
        steps.get(f"\\{name}({15 * angle}^\\circ)", f)
        steps.get(f"{weight} * {f}", part)
    rub = surd(across.top * tenths, across.bottom * 10, across.radicand)
    steps.get(f"{show(mu)} * {across}", rub)
    up = rng.chance(1, 2)
    force = total(*add([along, rub if up else surd(-rub.top, rub.bottom, rub.radicand)]))
    steps.get(f"{along} {'+' if up else '-'} {rub}", force)
    does = "pulls it up at a steady speed" if up else "lets it slide down at a steady speed, by holding it back"
    prompt = (
        f"A body of {k} kg lies on an incline of {15 * angle} degrees with a coefficient of friction of {given(mu)}. "
        f"{GRAVITY} What force along the incline, in N, {does}? Give the exact value."
    )
    return asked(prompt, steps, force, "N")


def _rough_incline(rng: Rng) -> Problem:
    """A body on a rough incline is pulled up by a heavier one that hangs: acceleration or tension, with roots."""
    n, angle, tenths = rng.integer(1, 20), rng.choice((2, 3, 4)), rng.integer(1, 5)
    m = 2 * n + rng.integer(1, 20)
    mu, steps = Fraction(tenths, 10), Steps()
    weight, own = m * G, n * G
    steps.get(f"{m} * {G}", weight)
    steps.get(f"{n} * {G}", own)
    along, across = (surd(own * f.top, f.bottom, f.radicand) for f in (sine(angle), cosine(angle)))
    steps.get(f"{own}\\sin({15 * angle}^\\circ)", along)
    steps.get(f"{own}\\cos({15 * angle}^\\circ)", across)
    rub = surd(across.top * tenths, across.bottom * 10, across.radicand)
    steps.get(f"{show(mu)} * {across}", rub)
    minus = [surd(-f.top, f.bottom, f.radicand) for f in (along, rub)]
    net = add([Surd(weight), *minus])
    steps.get(f"{weight} - {along} - {rub}", total(*net))
    mass = steps.rational(f"{m} + {n}", m + n)
    a = [surd(f.top, f.bottom * int(mass), f.radicand) for f in net]
    steps.get(over(total(*net), mass), total(*a))
    value, unit, asks = total(*a), "m/s^2", "acceleration of the bodies in m/s^2"
    if rng.chance(1, 2):
        pull = [surd(-m * f.top, f.bottom, f.radicand) for f in a]
        value, unit, asks = total(*add([Surd(weight), *pull])), "N", "tension of the rope in N"
        steps.get(f"{weight} - {m} * {operand(total(*a))}", value)
    prompt = (
        f"A hanging body of {m} kg pulls a block of {n} kg up an incline of {15 * angle} degrees by a light rope "
        f"over a light pulley. The coefficient of friction is {given(mu)}. {GRAVITY} Find the exact {asks}."
    )
    return asked(prompt, steps, value, unit)
