"""Motion: steady, accelerated, braking, falling, thrown level and at an angle."""

from __future__ import annotations

from fractions import Fraction

from grpo_envs.math.angles import add, cosine, sine
from grpo_envs.math.exact import root_of, surd, total
from grpo_envs.physics.style import PHYSICS, Steps, asked, given, operand, over, show
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task

G = 10
GRAVITY = "Take g = 10 m/s^2 and neglect air resistance."


@task("physics.motion", **PHYSICS)
def motion(rng: Rng, tier: int) -> Problem:
    """Find times, speeds and distances: steady (0), two legs (1), accelerated (2), falling (3), thrown (4, 5)."""
    kinds = (
        (_steady,),
        (_two_legs, _chase),
        (_accelerated, _braking),
        (_thrown_up, _fallen),
        (_level_throw,),
        (_range, _height),
    )
    return rng.choice(kinds[tier])(rng)


def _steady(rng: Rng) -> Problem:
    """Convert km/h to m/s on the way to a distance or a time."""
    v, steps = 18 * rng.integer(1, 12), Steps()
    speed = steps.rational(f"{v} * {over(1000, 3600)}", Fraction(v, 18) * 5)
    if rng.chance(1, 2):
        t = rng.integer(2, 300)
        distance = steps.get(f"{show(speed)} * {t}", speed * t)
        return asked(f"A car moves at a steady {v} km/h. How far, in m, does it get in {t} s?", steps, distance, "m")
    s = rng.integer(2, 400) * 10
    time = steps.get(over(s, show(speed)), s / speed)
    return asked(f"A car moves at a steady {v} km/h. How long, in s, does it take for {s} m?", steps, time, "s")


def _two_legs(rng: Rng) -> Problem:
    """Ask for the mean speed over two legs."""
    v, w = rng.sample(range(4, 41), 2)
    t, u = rng.integer(2, 60), rng.integer(2, 60)
    steps = Steps()
    first, second = steps.rational(f"{v} * {t}", v * t), steps.rational(f"{w} * {u}", w * u)
    total = steps.rational(f"{first} + {second}", first + second)
    time = steps.rational(f"{t} + {u}", t + u)
    mean = steps.get(over(total, time), total / time)
    prompt = f"A runner moves at {v} m/s for {t} s and then at {w} m/s for {u} s. Find the mean speed in m/s."
    return asked(prompt.replace("runner", "cyclist"), steps, mean, "m/s")


def _chase(rng: Rng) -> Problem:
    """Ask where one who starts later catches up."""
    v = rng.integer(3, 30)
    w, late = v + rng.integer(1, 20), rng.integer(2, 60)
    steps = Steps()
    lead = steps.rational(f"{v} * {late}", v * late)
    closing = steps.rational(f"{w} - {v}", w - v)
    time = steps.rational(over(lead, closing), lead / closing)
    place = steps.get(f"{w} * {operand(time)}", w * time)
    prompt = (
        f"A tram passes a sign at a steady {v} m/s. A bus passes it {late} s later at a steady {w} m/s, the same way. "
        "How far from the sign, in m, does the bus catch up?"
    )
    return asked(prompt, steps, place, "m")


def _accelerated(rng: Rng) -> Problem:
    """Ask for the distance covered from a speed on, and from it the mean speed."""
    v, a, t = rng.integer(2, 30), Fraction(rng.integer(1, 12), 2), rng.integer(2, 20)
    steps = Steps()
    square = steps.rational(f"{over(1, 2)} * {show(a)} * {t}^2", a * t * t / 2)
    distance = steps.rational(f"{v} * {t} + {show(square)}", v * t + square)
    scene = f"A train moves at {v} m/s and then speeds up by {given(a)} m/s^2 for {t} s."
    if rng.chance(1, 2):
        return asked(f"{scene} How far, in m, does it get in these {t} s?", steps, distance, "m")
    mean = steps.get(over(show(distance), t) if distance.denominator == 1 else f"{show(distance)} / {t}", distance / t)
    return asked(f"{scene} Find its mean speed, in m/s, over these {t} s.", steps, mean, "m/s")


def _braking(rng: Rng) -> Problem:
    """Ask for the way to a halt with a reaction time."""
    v, a, reaction = rng.integer(5, 45), rng.integer(2, 9), Fraction(rng.integer(1, 20), 10)
    steps = Steps()
    before = steps.rational(f"{v} * {show(reaction)}", v * reaction)
    braking = steps.rational(over(f"{v}^2", f"2 * {a}"), Fraction(v * v, 2 * a))
    whole = steps.get(f"{show(before)} + {show(braking)}", before + braking)
    prompt = (
        f"A driver at {v} m/s sees an obstacle, reacts after {given(reaction)} s and then brakes with {a} m/s^2. "
        "How far, in m, does the car get from the moment the obstacle is seen until it stands?"
    )
    return asked(prompt, steps, whole, "m")


def _thrown_up(rng: Rng) -> Problem:
    """Ask for the speed on arrival of a throw from a height, by way of the highest point."""
    v, h = rng.integer(2, 60), rng.integer(1, 60)
    steps = Steps()
    rise = steps.rational(over(f"{v}^2", f"2 * {G}"), Fraction(v * v, 2 * G))
    top = steps.rational(f"{h} + {show(rise)}", h + rise)
    square = steps.rational(f"2 * {G} * {operand(top)}", 2 * G * top)
    speed = steps.get(f"\\sqrt{{{show(square)}}}", root_of(square.numerator, square.denominator))
    scene = f"A ball is thrown straight up at {v} m/s from a point {h} m above the ground. {GRAVITY}"
    return asked(f"{scene} Find its exact speed in m/s when it hits the ground.", steps, speed, "m/s")


def _fallen(rng: Rng) -> Problem:
    """Ask for the height from the way fallen in the last second, or in the last seconds."""
    last, way = rng.integer(1, 4), rng.integer(1, 60)
    way = 5 * last * last + 5 * way
    steps = Steps()
    mean = steps.rational(over(way, last), Fraction(way, last))
    end = steps.rational(f"{show(mean)} + {over(f'{G} * {last}', 2)}", mean + Fraction(G * last, 2))
    height = steps.get(over(f"({show(end)})^2", f"2 * {G}"), end * end / (2 * G))
    scene = f"A stone falls from rest. In the last {f'{last} s' if last > 1 else 'second'} it falls {way} m. {GRAVITY}"
    return asked(f"{scene} From what height, in m, does it fall?", steps, height, "m")


def _level_throw(rng: Rng) -> Problem:
    """Throw level from a height: ask how far from where it was thrown the stone lands."""
    v, h = rng.integer(2, 60), rng.integer(1, 150)
    steps = Steps()
    square = steps.rational(over(f"2 * {h}", G), Fraction(2 * h, G))
    along = steps.rational(f"{v}^2 * {show(square)}", v * v * square)
    whole = steps.rational(f"{show(along)} + {h}^2", along + h * h)
    way = steps.get(f"\\sqrt{{{show(whole)}}}", root_of(whole.numerator, whole.denominator))
    scene = f"A stone is thrown level at {v} m/s from the edge of a cliff {h} m above flat ground. {GRAVITY}"
    asks = "Find the exact straight distance, in m, from the edge to the point where it lands."
    return asked(f"{scene} {asks}", steps, way, "m")


def _range(rng: Rng) -> Problem:
    """Ask for the range over flat ground at a known angle, or for the time in the air."""
    v, m = rng.integer(4, 99), rng.choice((2, 3, 4))
    s, c = sine(m), cosine(m)
    steps = Steps()
    up = surd(v * s.top, s.bottom, s.radicand)
    steps.get(f"\\sin({15 * m}^\\circ)", s)
    steps.get(f"{v} * {s}", up)
    time = surd(2 * up.top, G * up.bottom, up.radicand)
    steps.get(over(f"2 * {up}", G), time)
    along = surd(v * c.top, c.bottom, c.radicand)
    steps.get(f"{v}\\cos({15 * m}^\\circ)", along)
    way = surd(along.top * time.top, along.bottom * time.bottom, along.radicand * time.radicand)
    steps.get(f"{along} * {time}", way)
    scene = f"A ball is kicked from flat ground at {v} m/s and {15 * m} degrees above the ground. {GRAVITY}"
    return asked(f"{scene} How far away, in m, does it land? Give the exact value.", steps, way, "m")


def _height(rng: Rng) -> Problem:
    """Ask how high a ball is after a time within its flight."""
    v, m, t = rng.integer(21, 99), rng.choice((2, 3, 4)), Fraction(rng.integer(1, 8), 4)
    s, steps = sine(m), Steps()
    steps.get(f"\\sin({15 * m}^\\circ)", s)
    up = surd(v * s.top * t.numerator, s.bottom * t.denominator, s.radicand)
    steps.get(f"{v} * {s} * {operand(t)}", up)
    drop = steps.rational(f"{over(G, 2)} * ({show(t)})^2", 5 * t * t)
    height = total(*add([up, surd(-drop.numerator, drop.denominator)]))
    steps.get(f"{up} - {show(drop)}", height)
    scene = f"A ball is kicked from flat ground at {v} m/s and {15 * m} degrees above the ground. {GRAVITY}"
    return asked(f"{scene} How high, in m, is it after {given(t)} s? Give the exact value.", steps, height, "m")
