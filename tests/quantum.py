"""Quantum systems, solved from the numbers of a prompt by integrals of wave functions and by matrices."""

from __future__ import annotations

import math
import re

import numpy as np

from grpo_gym import Problem
from tests.numeric import close, value
from tests.physics_prompts import answer, numbers

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


def spins(problem: Problem) -> None:
    found = spin(problem.prompt)
    if isinstance(found, list):
        expected = [value(text) for text in problem.reference[1:-1].split(", ")]
        assert all(close(a, b) for a, b in zip(found, expected, strict=True))
    else:
        assert close(found, answer(problem)[0]), problem.prompt
