"""Heat: warming, mixing, melting, ideal gases, engines. Constants are given in the question."""

from __future__ import annotations

from fractions import Fraction

from grpo_envs.physics.style import PHYSICS, Steps, asked, given, operand, over, show
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task

METALS = {"copper": Fraction(2, 5), "iron": Fraction(9, 20), "aluminium": Fraction(9, 10), "lead": Fraction(13, 100)}
"""Specific heat in kJ/(kg K), rounded, as the questions give it."""

WATER = Fraction(21, 5)
MELTING = 330


@task("physics.heat", **PHYSICS)
def heat(rng: Rng, tier: int) -> Problem:
    """Find heat and temperatures: warming (0), mixing (1), gas laws (2), a cycle (3), ice (4), a calorimeter (5)."""
    return (_warm, _mix, _gas, _cycle, _ice, _metal)[tier](rng)


def _warm(rng: Rng) -> Problem:
    """Ask for the heat that warms water or a metal."""
    name, c = rng.choice((*METALS.items(), ("water", WATER)))
    m, low = rng.integer(1, 40), rng.integer(5, 40)
    high, steps = low + rng.integer(5, 55), Steps()
    rise = steps.rational(f"{high} - {low}", high - low)
    q = steps.get(f"{show(c)} * {m} * {rise}", c * m * rise)
    prompt = f"The specific heat of {name} is {given(c)} kJ/(kg K). Find the heat, in kJ, that warms {m} kg of it"
    return asked(f"{prompt} from {low} to {high} degrees Celsius.", steps, q, "kJ")


def _mix(rng: Rng) -> Problem:
    """Ask for the temperature of two or three portions of water together."""
    count = rng.integer(2, 3)
    portions = [(rng.integer(1, 20), rng.integer(5, 95)) for _ in range(count)]
    steps = Steps()
    products = [steps.rational(f"{m} * {t}", m * t) for m, t in portions]
    total = steps.rational(" + ".join(map(show, products)), sum(products, Fraction(0)))
    mass = steps.rational(" + ".join(str(m) for m, _ in portions), sum(m for m, _ in portions))
    t = steps.get(over(total, mass), total / mass)
    listed = [f"{m} kg at {t} degrees" for m, t in portions]
    prompt = f"Portions of water are mixed without loss of heat: {', '.join(listed[:-1])} and {listed[-1]} Celsius."
    return asked(f"{prompt} Find the final temperature in degrees Celsius.", steps, t)


def _gas(rng: Rng) -> Problem:
    """Ask for a pressure, volume or temperature from two states of an amount of gas."""
    p, v, t = rng.integer(2, 40) * 10, rng.integer(2, 60), rng.integer(25, 60) * 10
    w, u = rng.integer(2, 60), rng.integer(25, 60) * 10
    steps = Steps()
    ratio = steps.rational(over(f"{p} * {v}", t), Fraction(p * v, t))
    state = f"A gas has pressure {p} kPa and volume {v} L at temperature {t} K."
    if rng.chance(1, 2):
        q = steps.get(f"{operand(ratio)} * {u} / {w}", ratio * u / w)
        return asked(f"{state} Find its pressure, in kPa, at volume {w} L and temperature {u} K.", steps, q, "kPa")
    q = rng.integer(2, 40) * 10
    warmth = steps.get(f"{q} * {w} / {operand(ratio)}", q * w / ratio)
    return asked(f"{state} Find its temperature, in K, at pressure {q} kPa and volume {w} L.", steps, warmth, "K")


def _metal(rng: Rng) -> Problem:
    """Ask for the temperature of a metal in water in a vessel of copper."""
    name = rng.choice(("iron", "aluminium", "lead"))
    c, m, hot = METALS[name], rng.integer(1, 9), rng.integer(60, 300)
    n, vessel, cold = rng.integer(3, 20), rng.integer(1, 6), rng.integer(5, 30)
    copper = METALS["copper"]
    steps = Steps()
    one = steps.rational(f"{show(c)} * {m}", c * m)
    two = steps.rational(f"{show(WATER)} * {n}", WATER * n)
    three = steps.rational(f"{show(copper)} * {vessel}", copper * vessel)
    kept = steps.rational(f"{show(two)} + {show(three)}", two + three)
    total = steps.rational(f"{operand(one)} * {hot} + {operand(kept)} * {cold}", one * hot + kept * cold)
    both = steps.rational(f"{show(one)} + {show(kept)}", one + kept)
    t = steps.get(f"{operand(total)} / {operand(both)}", total / both)
    prompt = (
        f"{m} kg of {name} at {hot} degrees Celsius is put into {n} kg of water in a copper vessel of {vessel} kg, "
        f"both at {cold} degrees. The specific heats in kJ/(kg K) are {given(c)} for {name}, {given(WATER)} for water "
        f"and {given(copper)} for copper. Without loss of heat, find the final temperature in degrees Celsius."
    )
    return asked(prompt, steps, t)


def _ice(rng: Rng) -> Problem:
    """Ice melts in warm water: ask for the final temperature, or for the mass of ice that cools it so far."""
    m, warm = rng.integer(2, 30), rng.integer(30, 95)
    limit = WATER * m * warm / MELTING
    ice = Fraction(rng.integer(1, max(1, int(limit * 10) - 1)), 10)
    if ice >= limit:
        return _ice(rng)
    steps = Steps()
    scene = f"Ice at 0 degrees Celsius is put into {m} kg of water at {warm} degrees Celsius, without loss of heat."
    constants = f"Melting takes {MELTING} kJ/kg, the specific heat of water is {given(WATER)} kJ/(kg K)."
    heat_there = steps.rational(f"{show(WATER)} * {m} * {warm}", WATER * m * warm)
    if rng.chance(1, 2):
        taken = steps.rational(f"{MELTING} * {operand(ice)}", MELTING * ice)
        left = steps.rational(f"{show(heat_there)} - {show(taken)}", heat_there - taken)
        mass = steps.rational(f"{m} + {show(ice)}", m + ice)
        t = steps.get(f"{operand(left)} / ({show(WATER)} * {operand(mass)})", left / (WATER * mass))
        prompt = scene.replace("Ice", f"{given(ice)} kg of ice", 1)
        return asked(f"{prompt} {constants} Find the final temperature in degrees Celsius.", steps, t)
    target = rng.integer(1, warm - 1)
    kept = steps.rational(f"{show(WATER)} * {m} * {target}", WATER * m * target)
    given_off = steps.rational(f"{show(heat_there)} - {show(kept)}", heat_there - kept)
    need = steps.rational(f"{MELTING} + {show(WATER)} * {target}", MELTING + WATER * target)
    melted = steps.get(f"{operand(given_off)} / {operand(need)}", given_off / need)
    asks = f"How much ice, in kg, brings it to {target} degrees Celsius?"
    return asked(f"{scene} {constants} {asks}", steps, melted, "kg")


def _cycle(rng: Rng) -> Problem:
    """A rectangular cycle of a monatomic gas in the diagram of pressure and volume: its efficiency or its heat."""
    p, v = rng.integer(1, 20) * 10, rng.integer(1, 20)
    q, w = p + rng.integer(1, 20) * 10, v + rng.integer(1, 20)
    steps = Steps()
    work = steps.rational(f"({q} - {p}) * ({w} - {v})", (q - p) * (w - v))
    first = steps.rational(f"{over(3, 2)} * ({q} - {p}) * {v}", Fraction(3 * (q - p) * v, 2))
    second = steps.rational(f"{over(5, 2)} * {q} * ({w} - {v})", Fraction(5 * q * (w - v), 2))
    taken = steps.rational(f"{show(first)} + {show(second)}", first + second)
    scene = (
        f"A monatomic ideal gas at {p} kPa and {v} L is heated at constant volume to {q} kPa, expands at constant "
        f"pressure to {w} L, is cooled at constant volume to {p} kPa and pressed at constant pressure back to {v} L."
    )
    if rng.chance(1, 2):
        given_off = steps.get(f"{show(taken)} - {work}", taken - work)
        return asked(f"{scene} How much heat, in J, does it give off in one cycle?", steps, given_off, "J")
    efficiency = steps.get(f"{work} / {operand(taken)}", work / taken)
    return asked(f"{scene} Find the efficiency of the cycle as a fraction.", steps, efficiency)
