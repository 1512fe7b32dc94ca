"""Physics, solved from the numbers of a prompt by other means: floats, bisection, integrals, matrices."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable

import numpy as np

from grpo_gym import Problem
from tests.numeric import close, value

G = 10.0


def numbers(text: str) -> list[float]:
    """Return the numbers of a prompt; those of "m/s^2", "R1" and the like are part of a name."""
    bare = re.sub(r"\^2\b|g = 10 m/s|\bR\d|n = 0, 1, 2|E_?\d|[A-Za-z]_[xyz]", " ", text)
    bare = re.sub(r"\\frac\{(\d+)\}\{(\d+)\}", lambda m: str(int(m[1]) / int(m[2])), bare)
    return [float(n) for n in re.findall(r"-?\d+(?:\.\d+)?", bare)]


def answer(problem: Problem) -> tuple[complex, str]:
    text, _, unit = problem.reference.partition(" \\text{ ")
    return value(text), unit.removesuffix("}")


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


# --- quantum mechanics: integrals of wave functions and matrices


def state(p: str) -> tuple[np.ndarray, list[str]]:
    """Read "2|1> - |3>" as normalised amplitudes and names."""
    found = re.findall(r"(-?) ?(\d*)\|(\w+)>", p.split("state ", 1)[1].split(",", 1)[0].replace("+ ", ""))
    amplitudes = np.array([(-1 if sign else 1) * float(size or 1) for sign, size, _ in found])
    return amplitudes / np.linalg.norm(amplitudes), [name for _, _, name in found]


def wave(n: int, x: np.ndarray) -> np.ndarray:
    return np.asarray(math.sqrt(2) * np.sin(n * np.pi * x))


def quantum_box(p: str) -> float:
    if "Find its energy" in p:
        e, n = numbers(p)
        return e * n * n
    if "photon" in p:
        e, m, n = numbers(p)
        return e * (m * m - n * n)
    if "probability" in p:
        n = int(re.search(r"level n = (\d+)", p)[1])  # type: ignore[index]
        ends = [value(text.replace("L", "1") if text.startswith("L") else text.replace("L", ""))
                for text in re.search(r"between x = (\S+) and x = (\S+)\.$", p).groups()]  # type: ignore[union-attr]  # fmt: skip
        nodes_, weights = np.polynomial.legendre.leggauss(300)
        low, high = (end.real for end in ends)
        x = low + (high - low) * (nodes_ + 1) / 2
        return float(np.sum(weights * wave(n, x) ** 2) * (high - low) / 2)
    amplitudes, names = state(p)
    levels = [int(name) for name in names]
    if "x = 0 to x" in p:
        length = float(re.search(r"to x = (\d+) nm", p)[1])  # type: ignore[index]
        x = (np.arange(20_000) + 0.5) / 20_000
        psi = sum(c * wave(n, x) for c, n in zip(amplitudes, levels, strict=True))
        return float(np.mean(psi**2 * x)) * length
    energies = np.array([n * n for n in levels]) * numbers(p)[0]
    mean = float(amplitudes**2 @ energies)
    return math.sqrt(float(amplitudes**2 @ energies**2) - mean**2) if "standard deviation" in p else mean


SIZE = 80
LOWER = np.diag(np.sqrt(np.arange(1, SIZE)), 1)
RAISE = LOWER.T
X = (LOWER + RAISE) / math.sqrt(2)
P = (LOWER - RAISE) / (1j * math.sqrt(2))


def oscillator(p: str) -> float:
    if p.startswith("A body on a spring"):
        k, amplitude, *off = numbers(p)
        return k / 2 * ((amplitude / 100) ** 2 - ((off[0] if off else 0) / 100) ** 2)
    if p.startswith("A body"):
        m, k, *rest = numbers(p)
        omega = math.sqrt(k / m)
        if "period" in p:
            return 2 * math.pi / omega
        amplitude, x = rest
        return omega * amplitude * math.sin(math.acos(x / amplitude))
    amplitudes, names = state(p)
    vector = np.zeros(SIZE)
    for c, name in zip(amplitudes, names, strict=True):
        vector[int(name)] = c
    if "expectation value of its energy" in p:
        gap = float(re.search(r"are (\S+) eV apart", p)[1])  # type: ignore[index]
        return float(gap * (vector @ ((X @ X + (P @ P).real) / 2)[:, :] @ vector))
    return float(vector @ (X @ X if p.endswith("x^2.") else X) @ vector)


def radial(n: int, k: int, power: int) -> float:
    """Return the mean of r^power in hydrogen, by integrating the square of the radial function."""
    nodes_, weights = np.polynomial.legendre.leggauss(400)
    top = 6.0 * n * n + 60
    r = top * (nodes_ + 1) / 2
    rho = 2 * r / n
    previous, laguerre = np.zeros_like(r), np.ones_like(r)
    for j in range(n - k - 1):
        a = 2 * k + 1
        previous, laguerre = laguerre, ((2 * j + 1 + a - rho) * laguerre - (j + a) * previous) / (j + 1)
    density = (np.exp(-rho / 2) * rho**k * laguerre * r) ** 2 * weights
    return float(np.sum(density * r**power) / np.sum(density))


def hydrogen(p: str) -> float:
    spelled = re.findall(r"hydrogen atom|Z = \d+", p)
    charges = [1.0 if s == "hydrogen atom" else float(s.split()[-1]) for s in spelled]
    levels = [int(n) for n in re.findall(r"n = (\d+)", p)]
    if "r in Bohr" in p or "r^2 in squared" in p:
        n, k, z = levels[0], int(re.search(r"l = (\d+)", p)[1]), charges[0]  # type: ignore[index]
        if "standard deviation" in p:
            return math.sqrt(radial(n, k, 2) - radial(n, k, 1) ** 2) / z
        return radial(n, k, 2) / z**2 if "r^2" in p else radial(n, k, 1) / z
    if "Find the energy in eV of the level" in p:
        return -13.6 * charges[0] ** 2 / levels[0] ** 2

    def photon(z: float, n: int, m: int) -> float:
        return 13.6 * z * z * (1 / m**2 - 1 / n**2)

    if "Photon A" in p:
        return photon(charges[1], *levels[2:]) / photon(charges[0], *levels[:2])
    e = photon(charges[0], *levels)
    return 1240 / e if "wavelength" in p else e


PAULI = {
    "x": np.array([[0, 1], [1, 0]], dtype=complex),
    "y": np.array([[0, -1j], [1j, 0]]),
    "z": np.array([[1, 0], [0, -1]], dtype=complex),
    "1": np.eye(2, dtype=complex),
}


def spin(p: str) -> complex | list[complex]:
    if p.startswith("With the Pauli"):
        product = PAULI["1"]
        for text in re.findall(r"\(([^()]*s_x[^()]*)\)", p):
            terms = re.findall(r"(-?) ?(\d*)s_([xyz])", text.replace("+ ", ""))
            product = product @ sum((-1 if s else 1) * float(c or 1) * PAULI[axis] for s, c, axis in terms)
        parts = [np.trace(PAULI[axis] @ product) / 2 for axis in "1xyz"]
        return [parts[0] / 1j, *parts[1:]]
    if p.startswith("Two spins"):
        amplitudes, names = state(p)
        psi = np.zeros(4, dtype=complex)
        for c, name in zip(amplitudes, names, strict=True):
            psi[("uu", "ud", "du", "dd").index(name)] = c
        first, second = re.findall(r"matrix s_([xyz])", p)
        a, b = np.kron(PAULI[first], PAULI["1"]), np.kron(PAULI["1"], PAULI[second])
        return complex(psi.conj() @ a @ b @ psi - (psi.conj() @ a @ psi) * (psi.conj() @ b @ psi))
    up, down = re.search(r"\((.+?)\)\|up> \+ \((.+?)\)\|down>", p).groups()  # type: ignore[union-attr]
    psi = np.array([value(up), value(down)])
    psi = psi / np.linalg.norm(psi)
    axis = re.search(r"S_([xyz]) in|along ([xyz])\.$", p)
    assert axis is not None
    matrix = PAULI[axis[1] or axis[2]]
    mean = complex(psi.conj() @ matrix @ psi)
    if "expectation" in p:
        return mean / 2
    return (1 + mean) / 2 if "spin up" in p else (1 - mean) / 2


def operator(text: str) -> np.ndarray:
    """Read a polynomial in x and p as a matrix; powers of one letter only, so that order does not matter."""
    total = np.zeros((SIZE, SIZE), dtype=complex)
    terms = re.findall(r"(-?) ?(\d*)([xp]?)(?:\^\{?(\d+)\}?)?(?: |$)", text.replace("+ ", "") + " ")
    for sign, size, letter, exponent in terms:
        if not size and not letter:
            continue
        base = {"x": X, "p": P, "": np.eye(SIZE)}[letter]
        total += (-1 if sign else 1) * float(size or 1) * np.linalg.matrix_power(base, int(exponent or 1))
    return total


KEPT = 30
"""Rows and columns that the cut at SIZE levels does not reach."""


def commutator(problem: Problem) -> None:
    p = problem.prompt
    if p.startswith("With the ladder"):
        ladder(problem)
        return
    first, second = re.search(r"\[([^,\]]+), ([^\]]+)\](?: with|\.)", p).groups()  # type: ignore[union-attr]
    if "with every x" in p:
        ordered(problem, first, second)
        return
    a, b = operator(first), operator(second)
    found = (a @ b - b @ a)[:KEPT, :KEPT]
    expected = np.zeros((SIZE, SIZE), dtype=complex)
    for c, power in read_sum(problem.reference):
        expected += value(c) * power
    size = max(1.0, float(np.abs(found).max()) * 1e-6)
    assert np.allclose(found, expected[:KEPT, :KEPT], rtol=1e-8, atol=1e-5 * size), p


def word(text: str) -> np.ndarray:
    product = np.eye(SIZE)
    for letter in text.split():
        product = product @ (RAISE if letter == "a+" else LOWER)
    return product


def ladder(problem: Problem) -> None:
    """Multiply matrices and read an element off."""
    m, body, n = re.search(r"<(\d+)\|(.+)\|(\d+)>\.$", problem.prompt).groups()  # type: ignore[union-attr]
    if body[0] == "[":
        left, right = map(word, body[1:-1].split(", "))
        matrix = left @ right - right @ left
    else:
        sign, size, inner = re.fullmatch(r"(-?)(\d*)\((.+)\)", body).groups()  # type: ignore[union-attr]
        matrix = (-1 if sign else 1) * float(size or 1) * word(inner)
    assert close(matrix[int(m), int(n)], value(problem.reference), 1e-9), problem.prompt


def ordered(problem: Problem, first: str, second: str) -> None:
    """Move x^m through n operators p, one at a time: p x = x p - i."""
    c, m = re.fullmatch(r"(-?\d*)x\^\{?(\d+)\}?", first).groups()  # type: ignore[union-attr]
    n = int(re.fullmatch(r"p\^\{?(\d+)\}?", second)[1])  # type: ignore[index]
    polynomial = {(int(m), 0): 1 + 0j}
    for _ in range(n):
        moved: dict[tuple[int, int], complex] = {}
        for (j, k), size in polynomial.items():
            moved[j, k + 1] = moved.get((j, k + 1), 0) + size
            if j:
                moved[j - 1, k] = moved.get((j - 1, k), 0) - 1j * j * size
        polynomial = moved
    where = re.search(r"coefficient of (\S+)\?", problem.prompt)
    powers = {"x": 0, "p": 0}
    for letter, exponent in re.findall(r"([xp])(?:\^\{?(\d+)\}?)?", where[1] if where else ""):
        powers[letter] = int(exponent or 1)
    scale = float({"": "1", "-": "-1"}.get(c, c))
    assert close(-scale * polynomial[powers["x"], powers["p"]], value(problem.reference)), problem.prompt


def read_sum(text: str) -> list[tuple[str, np.ndarray]]:
    """Read "12ix^2 - 3i" as coefficients and matrices."""
    found = []
    for term in re.sub(r" ([-+]) ", r" \1", text).split():
        number, letter, exponent = re.fullmatch(r"([-+]?\d*i?)([xp]?)(?:\^\{?(\d+)\}?)?", term).groups()  # type: ignore[union-attr]
        base = {"x": X, "p": P, "": np.eye(SIZE)}[letter]
        found.append((number.removeprefix("+") or "1", np.linalg.matrix_power(base, int(exponent or 1))))
    return found


def by_prompt(solve: Callable[[str], complex]) -> Callable[[Problem], None]:
    def check(problem: Problem) -> None:
        found = solve(problem.prompt)
        assert close(found, answer(problem)[0], 1e-6), (problem.prompt, problem.reference, found)

    return check


def spins(problem: Problem) -> None:
    found = spin(problem.prompt)
    if isinstance(found, list):
        expected = [value(text) for text in problem.reference[1:-1].split(", ")]
        assert all(close(a, b) for a, b in zip(found, expected, strict=True))
    else:
        assert close(found, answer(problem)[0]), problem.prompt


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
