r"""Circles: lengths and areas with \pi, arcs and sectors, chords, tangents, segments, two circles that meet."""

from __future__ import annotations

from grpo_envs.math.angles import add, cosine, sine
from grpo_envs.math.exact import EXACT, Surd, root_of, solved, step, surd, total
from grpo_gym.problem import Problem
from grpo_gym.rng import Rng
from grpo_gym.task import task

DEGREES = (
    20,
    24,
    30,
    36,
    40,
    45,
    50,
    54,
    60,
    72,
    75,
    80,
    100,
    108,
    120,
    135,
    140,
    144,
    150,
    160,
    200,
    210,
    225,
    240,
    300,
)


@task("math.circle", **EXACT)
def circle(rng: Rng, tier: int) -> Problem:
    """Find circumferences (0), chords (1), arcs and sectors (2), tangents (3), segments (4), shared areas (5)."""
    kinds = (
        (_whole, _backwards, _ring),
        (_chord, _distance),
        (_arc, _sector, _angle),
        (_contact, _contact, _common_tangent, _secant),
        (_segment, _segment, _chord_of_angle, _polygon),
        (_lens, _lens, _common_chord),
    )
    return rng.choice(kinds[tier])(rng)


# --- the whole circle


def _whole(rng: Rng) -> Problem:
    r, area = rng.integer(2, 500), rng.chance(1, 2)
    if rng.chance(1, 2):
        given, lines = f"A circle has diameter {2 * r}.", [f"{2 * r} / 2 = {r}"]
    else:
        given, lines = f"A circle has radius {r}.", []
    value = surd(r * r if area else 2 * r, pi=True)
    lines.append(f"\\pi * {r}^2 = {value}" if area else f"2\\pi * {r} = {value}")
    return solved(f"{given} Find its exact {'area' if area else 'circumference'}.", lines, str(value))


def _backwards(rng: Rng) -> Problem:
    r = rng.integer(2, 60)
    area, length = surd(r * r, pi=True), surd(2 * r, pi=True)
    if rng.chance(1, 2):
        lines = [f"\\pi * {r}^2 = {area}", f"2\\pi * {r} = {length}"]
        return solved(f"A circle has area {area}. Find its exact circumference.", lines, str(length))
    lines = [f"2\\pi * {r} = {length}", f"\\pi * {r}^2 = {area}"]
    return solved(f"A circle has circumference {length}. Find its exact area.", lines, str(area))


def _ring(rng: Rng) -> Problem:
    inner = rng.integer(1, 40)
    outer = inner + rng.integer(1, 20)
    value = surd(outer * outer - inner * inner, pi=True)
    lines = [f"\\pi * {outer}^2 - \\pi * {inner}^2 = {value}"]
    prompt = f"Two circles with the same centre have radii {inner} and {outer}. Find the exact area between them."
    return solved(prompt, lines, str(value))


# --- parts of it


def _arc(rng: Rng) -> Problem:
    r, angle = rng.integer(2, 60), rng.choice(DEGREES)
    value = surd(2 * r * angle, 360, pi=True)
    prompt = f"A circle has radius {r}. Find the exact length of an arc with central angle {angle} degrees."
    return solved(prompt, [f"\\frac{{{angle}}}{{360}} * 2\\pi * {r} = {value}"], str(value))


def _sector(rng: Rng) -> Problem:
    r, angle = rng.integer(2, 60), rng.choice(DEGREES)
    if rng.chance(1, 2):
        value = surd(r * r * angle, 360, pi=True)
        prompt = f"A circle has radius {r}. Find the exact area of a sector with central angle {angle} degrees."
        return solved(prompt, [f"\\frac{{{angle}}}{{360}} * \\pi * {r}^2 = {value}"], str(value))
    arc = surd(2 * r * angle, 360, pi=True)
    perimeter = total(*add([arc, Surd(2 * r)]))
    lines = [f"\\frac{{{angle}}}{{360}} * 2\\pi * {r} = {arc}"]
    prompt = f"A circle has radius {r}. Find the exact perimeter of a sector with central angle {angle} degrees."
    return solved(prompt, [*lines, *step(f"{arc} + 2 * {r}", perimeter)], perimeter)


def _angle(rng: Rng) -> Problem:
    """Ask for the area of a sector from its arc."""
    r, angle = rng.integer(2, 60), rng.choice(DEGREES)
    arc, value = surd(2 * r * angle, 360, pi=True), surd(r * r * angle, 360, pi=True)
    prompt = f"A sector of a circle with radius {r} has an arc of length {arc}. Find its exact area."
    return solved(prompt, [f"\\frac{{1}}{{2}} * {r} * {arc} = {value}"], str(value))


# --- chords and tangents


def _chord(rng: Rng) -> Problem:
    r = rng.integer(3, 70)
    d = rng.integer(1, r - 1)
    square = r * r - d * d
    value = surd(2, 1, square)
    lines = [f"{r}^2 - {d}^2 = {square}", *step(f"2\\sqrt{{{square}}}", value)]
    prompt = (
        f"In a circle of radius {r}, a chord is at distance {d} from the centre. Find the exact length of the chord."
    )
    return solved(prompt, lines, str(value))


def _distance(rng: Rng) -> Problem:
    r = rng.integer(3, 70)
    chord = rng.integer(1, 2 * r - 1)
    square = 4 * r * r - chord * chord
    value = surd(1, 2, square)
    lines = [f"(2 * {r})^2 - {chord}^2 = {square}", *step(f"\\frac{{\\sqrt{{{square}}}}}{{2}}", value)]
    prompt = f"A chord of length {chord} is drawn in a circle of radius {r}. Find its exact distance from the centre."
    return solved(prompt, lines, str(value))


def _contact(rng: Rng) -> Problem:
    """Ask for the chord between the points where two tangents touch."""
    r = rng.integer(2, 40)
    d = r + rng.integer(1, 40)
    square = d * d - r * r
    tangent, value = root_of(square), surd(2 * r, d, square)
    lines = [f"{d}^2 - {r}^2 = {square}", *step(f"\\sqrt{{{square}}}", tangent)]
    lines.append(f"\\frac{{2 * {r} * {tangent}}}{{{d}}} = {value}")
    prompt = f"From a point at distance {d} from the centre of a circle of radius {r}, both tangents are drawn. "
    return solved(prompt + "Find the exact distance between their points of contact.", lines, str(value))


def _common_tangent(rng: Rng) -> Problem:
    """Ask for the part of a common tangent between its points of contact."""
    r, s = rng.integer(1, 20), rng.integer(1, 20)
    d = r + s + rng.integer(1, 25)
    inner = rng.chance(1, 2)
    other = r + s if inner else abs(r - s)
    square = d * d - other * other
    shown = f"{r} + {s}" if inner else f"{max(r, s)} - {min(r, s)}"
    lines = [f"{shown} = {other}", f"{d}^2 - {other}^2 = {square}", *step(f"\\sqrt{{{square}}}", root_of(square))]
    prompt = (
        f"Two circles have radii {r} and {s} and centres at distance {d}. A common {'inner' if inner else 'outer'} "
        "tangent touches both. Find the exact distance between its two points of contact."
    )
    return solved(prompt, lines, str(root_of(square)))


def _secant(rng: Rng) -> Problem:
    """Use the power of a point: near times far is d^2 - r^2."""
    near, chord = rng.integer(1, 40), rng.integer(1, 40)
    r = (chord + 1) // 2 + rng.integer(1, 20)
    power = near * (near + chord)
    square = power + r * r
    lines = [f"{near} + {chord} = {near + chord}", f"{near} * {near + chord} = {power}", f"{power} + {r}^2 = {square}"]
    lines += step(f"\\sqrt{{{square}}}", root_of(square))
    prompt = (
        f"A line from a point outside a circle of radius {r} first meets the circle at distance {near} from the point, "
        f"and the circle cuts a chord of length {chord} out of it. "
        "Find the exact distance of the point from the centre."
    )
    return solved(prompt, lines, str(root_of(square)))


# --- with exact angles


def _segment(rng: Rng) -> Problem:
    """Ask for the area or the perimeter between a chord and its arc."""
    r, m = rng.integer(2, 120), rng.choice((2, 3, 4, 6, 8, 9, 10))
    s = sine(m)
    sector, triangle = surd(r * r * m, 24, pi=True), surd(r * r * s.top, 2 * s.bottom, s.radicand)
    value = total(sector, surd(-triangle.top, triangle.bottom, triangle.radicand))
    lines = [f"\\frac{{{15 * m}}}{{360}} * \\pi * {r}^2 = {sector}", f"\\sin({15 * m}^\\circ) = {s}"]
    lines.append(f"\\frac{{1}}{{2}} * {r}^2 * {s} = {triangle}")
    if rng.chance(1, 2):
        prompt = f"A chord of a circle of radius {r} has a central angle of {15 * m} degrees. "
        return solved(prompt + "Find the exact area of the smaller part that it cuts off.", lines, value)
    whole = surd(r * r, pi=True)
    larger = total(*add([whole, surd(-sector.top, sector.bottom, pi=True), triangle])[::-1])
    lines += [f"\\pi * {r}^2 = {whole}", f"{whole} - ({value}) = {larger}"]
    prompt = f"A chord of a circle of radius {r} has a central angle of {15 * m} degrees. "
    return solved(prompt + "Find the exact area of the larger part that it cuts off.", lines, larger)


def _chord_of_angle(rng: Rng) -> Problem:
    """Ask for the perimeter of the part that a chord cuts off."""
    r, m = rng.integer(2, 120), rng.choice((4, 6, 8))
    c = cosine(m)
    square = 2 * r * r - 2 * r * r * c.top // c.bottom
    chord, arc = root_of(square), surd(r * m, 12, pi=True)
    value = total(arc, chord)
    lines = [f"\\frac{{{15 * m}}}{{360}} * 2\\pi * {r} = {arc}", f"\\cos({15 * m}^\\circ) = {c}"]
    shown = f"({c})" if c.top < 0 else str(c)
    lines += [f"2 * {r}^2 - 2 * {r}^2 * {shown} = {square}", *step(f"\\sqrt{{{square}}}", chord)]
    prompt = f"A chord of a circle of radius {r} has a central angle of {15 * m} degrees. "
    return solved(prompt + "Find the exact perimeter of the smaller part that it cuts off.", lines, value)


def _polygon(rng: Rng) -> Problem:
    """Ask for the area between a circle and a regular polygon inside it."""
    r, n = rng.integer(2, 120), rng.choice((3, 4, 6, 8, 12))
    s = sine(24 // n)
    whole, inside = surd(r * r, pi=True), surd(n * r * r * s.top, 2 * s.bottom, s.radicand)
    value = total(whole, surd(-inside.top, inside.bottom, inside.radicand))
    lines = [f"\\pi * {r}^2 = {whole}", f"\\frac{{360}}{{{n}}} = {360 // n}", f"\\sin({360 // n}^\\circ) = {s}"]
    lines.append(f"\\frac{{{n}}}{{2}} * {r}^2 * {s} = {inside}")
    prompt = f"A regular polygon with {n} sides is inscribed in a circle of radius {r}. "
    return solved(prompt + "Find the exact area inside the circle and outside the polygon.", lines, value)


# --- two circles


def _lens(rng: Rng) -> Problem:
    """Ask for the area that two equal circles share, or cover together, from the distance of their centres."""
    r, m = rng.integer(2, 250), rng.choice((4, 6, 8))
    half, s = cosine(m // 2), sine(m)
    distance = surd(2 * r * half.top, half.bottom, half.radicand)
    sector, triangle = surd(r * r * m, 24, pi=True), surd(r * r * s.top, 2 * s.bottom, s.radicand)
    shared = [surd(2 * sector.top, sector.bottom, pi=True), surd(-2 * triangle.top, triangle.bottom, triangle.radicand)]
    segment = total(sector, surd(-triangle.top, triangle.bottom, triangle.radicand))
    value = total(*shared)
    lines = [f"\\frac{{{distance}}}{{2 * {r}}} = {half}", f"\\cos(\\frac{{{15 * m}^\\circ}}{{2}}) = {half}"]
    lines += [f"\\frac{{{15 * m}}}{{360}} * \\pi * {r}^2 = {sector}", f"\\sin({15 * m}^\\circ) = {s}"]
    lines += [f"\\frac{{1}}{{2}} * {r}^2 * {s} = {triangle}", f"2({segment}) = {value}"]
    asked = "shared by both circles"
    if rng.chance(1, 2):
        asked, both = "covered by at least one of the circles", surd(2 * r * r, pi=True)
        union = total(_less(both, shared[0]), surd(-shared[1].top, shared[1].bottom, shared[1].radicand))
        lines.append(f"{both} - ({value}) = {union}")
        value = union
    prompt = f"Two circles of radius {r} have centres at distance {distance}. Find the exact area {asked}."
    return solved(prompt, lines, value)


def _less(a: Surd, b: Surd) -> Surd:
    """Return a - b for surds with the same root."""
    return surd(a.top * b.bottom - b.top * a.bottom, a.bottom * b.bottom, a.radicand, a.pi)


def _common_chord(rng: Rng) -> Problem:
    """Ask for the common chord: 4d^2 r^2 - (d^2 + r^2 - s^2)^2 is the square of d times its length."""
    while True:
        r, s, d = rng.integer(3, 25), rng.integer(3, 25), rng.integer(2, 40)
        if abs(r - s) < d < r + s:
            break
    part = d * d + r * r - s * s
    square = 4 * d * d * r * r - part * part
    value = surd(1, d, square)
    lines = [f"{d}^2 + {r}^2 - {s}^2 = {part}", f"4 * {d}^2 * {r}^2 - ({part})^2 = {square}"]
    lines += step(f"\\frac{{\\sqrt{{{square}}}}}{{{d}}}", value)
    prompt = f"Two circles have radii {r} and {s}, and their centres are at distance {d}. "
    return solved(prompt + "Find the exact length of their common chord.", lines, str(value))
