"""Physics, solved from the numbers of a prompt by other means: floats, bisection, node voltages."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable

import numpy as np

from grpo_gym import Problem
from tests.numeric import close
from tests.physics_prompts import answer, numbers
from tests.quantum import commutator, hydrogen, oscillator, quantum_box, spins

G = 10.0


# --- mechanics: small steps in time, or energies


def fly(v: float, degrees: float, height: float) -> tuple[float, float, float]:
    """Return time, way and speed on landing of a throw."""
    up, along = v * math.sin(math.radians(degrees)), v * math.cos(math.radians(degrees))
    time = (up + math.sqrt(up * up + 2 * G * height)) / G
    return time, along * time, math.hypot(along, up - G * time)


def motion(p: str) -> float:  # noqa: C901  # one branch for each question
    n = numbers(p)
    if p.startswith("A car moves"):
        return n[0] / 3.6 * n[1] if "How far" in p else n[1] / (n[0] / 3.6)
    if p.startswith("A cyclist"):
        return (n[0] * n[1] + n[2] * n[3]) / (n[1] + n[3])
    if p.startswith("A tram"):
        v, late, w = n
        return w * next(t for t in [v * late / (w - v)] if abs(w * t - v * (t + late)) < 1e-6)
    if p.startswith("A train"):
        v, a, t = n[:3]
        way = sum(v + a * t * (k + 0.5) / 1000 for k in range(1000)) * t / 1000
        return way / t if "mean speed" in p else way
    if p.startswith("A driver"):
        v, reaction, a = n
        return v * reaction + v * v / a - a * (v / a) ** 2 / 2
    if p.startswith("A ball is thrown straight up"):
        return fly(n[0], 90, n[1])[2]
    if p.startswith("A stone falls"):
        last, way = (n[0], n[1]) if len(n) == 2 else (1.0, n[0])
        low, high = last, 1e4
        for _ in range(200):  # the way in the last seconds grows with the time of the fall
            time = (low + high) / 2
            low, high = (time, high) if G / 2 * (time**2 - (time - last) ** 2) < way else (low, time)
        return G / 2 * low**2
    if p.startswith("A stone is thrown level"):
        return math.hypot(fly(n[0], 0, n[1])[1], n[1])
    v, degrees = n[:2]
    if "How far away" in p:
        return fly(v, degrees, 0)[1]
    return v * math.sin(math.radians(degrees)) * n[2] - G / 2 * n[2] ** 2


def pulled(m: float, k: float, forward: float, back: float) -> tuple[float, float]:
    """Solve forward - tension = m a and tension - back = k a for the acceleration and the tension."""
    a, tension = np.linalg.solve(np.array([[m, 1.0], [k, -1.0]]), np.array([forward, -back]))
    return float(a), float(tension)


def forces(p: str) -> float:
    n = numbers(p)
    if p.startswith("A body") and "to the left" in p:
        return (n[1] - n[2]) / n[0]
    if p.startswith("A crate"):
        m, mu, third = n
        return m * (third + mu * G) if "What level force" in p else third / m - mu * G
    if p.startswith("A block"):
        m, k, *rest = n
        mu, force = rest if len(rest) == 2 else (0.0, rest[0])
        return pulled(m, k, force - mu * m * G, mu * k * G)[1]
    if p.startswith("A hanging body") and "incline" not in p:
        m, k, mu = n
        return pulled(m, k, m * G, mu * k * G)["tension" in p]
    if p.startswith("A hanging body"):
        m, k, degrees, mu = n
        back = k * G * (math.sin(math.radians(degrees)) + mu * math.cos(math.radians(degrees)))
        return pulled(m, k, m * G, back)["tension" in p]
    m, degrees, mu = n
    along, across = m * G * math.sin(math.radians(degrees)), m * G * math.cos(math.radians(degrees))
    return along + mu * across if "pulls it up" in p else along - mu * across


def energy(p: str) -> float:
    n = numbers(p)
    if p.startswith("Find the kinetic"):
        return n[0] * n[1] ** 2 / 2
    if p.startswith("Find the work"):
        return n[0] * G * n[1]
    if p.startswith("A motor"):
        m, h, t, percent = n
        return m * G * h / t / (percent / 100)
    if p.startswith("A sledge"):
        m, h, lost = n
        return math.sqrt(2 * (G * h - lost / m))
    if p.startswith("A spring"):
        k, cm, m, *mu = n
        stored = k * (cm / 100) ** 2 / 2
        return stored / (mu[0] * m * G) if mu else math.sqrt(2 * stored / m)
    if p.startswith("A bullet"):
        grams, kg, v = n[0], n[2], n[1]
        return (grams / 1000 * v / (grams / 1000 + kg)) ** 2 / (2 * G)
    m, v, k, *more = n
    other = (more[0] if "the same way" in p else -more[0]) if more else 0.0
    common = (m * v + k * other) / (m + k)
    if "stick" in p:
        return m * v * v / 2 + k * other * other / 2 - (m + k) * common * common / 2
    # elastic: momentum and relative speed are kept
    after = np.linalg.solve(np.array([[m, k], [1.0, -1.0]]), np.array([m * v + k * other, other - v]))
    return float(k * (after[1] ** 2 - other**2) / 2)


# --- circuits: node voltages from Kirchhoff's rules


def nodes(size: int, resistors: list[tuple[int, int, float]], fixed: dict[int, float]) -> np.ndarray:
    """Return the voltages of all nodes."""
    matrix, right = np.zeros((size, size)), np.zeros(size)
    for a, b, r in resistors:
        for x, y in ((a, b), (b, a)):
            matrix[x, x] += 1 / r
            matrix[x, y] -= 1 / r
    for node, voltage in fixed.items():
        matrix[node] = 0
        matrix[node, node], right[node] = 1, voltage
    return np.asarray(np.linalg.solve(matrix, right))


def circuits(p: str) -> float:
    n = numbers(p)
    r = [float(x) for x in re.findall(r"R\d = (\d+) ohm", p)]
    if p.startswith("Resistors"):
        v = nodes(3, [(2, 1, n[0]), (1, 0, n[1])], {0: 0, 2: n[2]})
        return float(v[1] / n[1])
    if p.startswith("Find the total resistance"):
        return 1 / sum(1 / x for x in r)
    u = float(re.search(r"battery of (\d+) V", p)[1])  # type: ignore[index]
    if p.startswith("R1 is in series"):
        v = nodes(3, [(2, 1, r[0]), (1, 0, r[1]), (1, 0, r[2])], {0: 0, 2: u})
        return float((u - v[1]) / r[0])
    if p.startswith("R3 and R4"):
        v = nodes(4, [(3, 2, r[0]), (2, 0, r[1]), (2, 1, r[2]), (1, 0, r[3])], {0: 0, 3: u})
        return float(v[2] if "voltage" in p else (v[2] - v[1]) / r[2])
    if p.startswith("R4 and R5"):
        v = nodes(4, [(3, 0, r[0]), (3, 2, r[1]), (2, 0, r[2]), (2, 1, r[3]), (1, 0, r[4])], {0: 0, 3: u})
        return float(v[1] / r[4])
    other = float(re.findall(r"battery of (\d+) V", p)[1])
    v = nodes(4, [(2, 1, r[0]), (3, 1, r[1]), (1, 0, r[2])], {0: 0, 2: u, 3: other})
    current = float((u - v[1]) / r[0])
    return current if "current" in p.split(". ")[-1] else current * u


# --- heat


def balance(parts: list[tuple[float, float]]) -> float:
    """Return the temperature at which heat capacities at temperatures give off as much as they take, by bisection."""
    low, high = min(t for _, t in parts), max(t for _, t in parts)
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(c * (t - middle) for c, t in parts) > 0 else (low, middle)
    return low


def heat(p: str) -> float:
    n = numbers(p)
    if p.startswith("The specific heat"):
        c, m, low, high = n
        return c * m * (high - low)
    if p.startswith("Portions"):
        return balance(list(zip(n[::2], n[1::2], strict=True)))
    if p.startswith("A gas"):
        pressure, volume, t, a, b = n
        amount = pressure * volume / t
        return amount * b / a if "its pressure" in p else a * b / amount
    if "copper vessel" in p:
        m, hot, k, vessel, cold, c, water, copper = n
        return balance([(m * c, hot), (k * water, cold), (vessel * copper, cold)])
    if "ice" in p.lower():
        if "How much ice" in p:
            _, m, warm, melting, water, t = n
            return water * m * (warm - t) / (melting + water * t)
        ice, _, m, warm, melting, water = n
        return balance([(m * water, warm - ice * melting / (m * water)), (ice * water, 0.0)])
    pressure, volume, high, large = n[0], n[1], n[2], n[3]
    corners = [(pressure, volume), (high, volume), (high, large), (pressure, large)]
    work, taken = 0.0, 0.0
    for (a, x), (b, y) in itertools.pairwise([*corners, corners[0]]):
        done = (a + b) / 2 * (y - x)
        exchanged = 1.5 * (b * y - a * x) + done
        work, taken = work + done, taken + max(exchanged, 0)
    return taken - work if "give off" in p else work / taken


def by_prompt(solve: Callable[[str], complex]) -> Callable[[Problem], None]:
    def check(problem: Problem) -> None:
        found = solve(problem.prompt)
        assert close(found, answer(problem)[0], 1e-6), (problem.prompt, problem.reference, found)

    return check


SOLVERS: dict[str, Callable[[Problem], None]] = {
    "physics.motion": by_prompt(motion),
    "physics.forces": by_prompt(forces),
    "physics.energy": by_prompt(energy),
    "physics.circuits": by_prompt(circuits),
    "physics.heat": by_prompt(heat),
    "physics.quantum_box": by_prompt(quantum_box),
    "physics.oscillator": by_prompt(oscillator),
    "physics.hydrogen": by_prompt(hydrogen),
    "physics.spin": spins,
    "physics.commutator": commutator,
}
