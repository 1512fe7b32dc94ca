"""Rows of small broken functions, for `grpo/CodeRepair-v0`: what a policy of 0.7 M parameters can read and mend.

    Write a Python function `f(x: int) -> int` that returns 3 times x, plus 7.

    This program is wrong:
    def f(x):
        return 3 * x + 5
    f(2) returns 11 instead of 13.

A row has the columns of a file of one's own: `prompt`, `tests`, `public` (the shown case) and `solution`. It is a
function of its number alone; as everywhere, content decides the split.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from grpo_envs.code.draft import fenced
from grpo_gym.rng import Rng

FILE = Path("runs") / "small-repairs.jsonl"
ROWS = 6000
TESTED = (-40, -7, -1, 0, 1, 2, 5, 8, 13, 30, 77)
"""Arguments of hidden tests, beside those near a number of the statement."""

Rule = tuple[str, str, Callable[[int], int]]
"""What shall be returned, in words, as an expression, and as a function."""
Numbers = tuple[int, int]
Kind = Callable[[int, int], Rule]

KINDS: tuple[Kind, ...] = (
    lambda a, b: (f"{a} times x, plus {b}", f"{a} * x + {b}", lambda x: a * x + b),
    lambda a, b: (f"{a} times x, minus {b}", f"{a} * x - {b}", lambda x: a * x - b),
    lambda a, b: (f"the remainder of x divided by {a}, plus {b}", f"x % {a} + {b}", lambda x: x % a + b),
    lambda a, b: (f"the larger of x and {a}, plus {b}", f"max(x, {a}) + {b}", lambda x: max(x, a) + b),
    lambda a, b: (f"the smaller of x and {a}, plus {b}", f"min(x, {a}) + {b}", lambda x: min(x, a) + b),
    lambda a, b: (f"x less {a}, times {b}", f"(x - {a}) * {b}", lambda x: (x - a) * b),
)


def row(number: int) -> dict[str, Any]:
    """Return a row: a rule of two numbers, and a program for the same kind of rule with one of them wrong, or both."""
    rng = Rng("small repairs", number)
    kind = rng.choice(KINDS)
    a, b = rng.integer(2, 30), rng.integer(2, 99)
    words, code, right = kind(a, b)
    tests = sorted({*TESTED, a - 1, a, a + 1})
    _, wrong_code, wrong = kind(*_slip(a, b, rng))
    shown = next(x for x in rng.sample(tests, len(tests)) if wrong(x) != right(x))
    return {
        "prompt": f"Write a Python function `f(x: int) -> int` that returns {words}.\n\nThis program is wrong:\n"
        f"{_program(wrong_code)}\nf({shown}) returns {wrong(shown)} instead of {right(shown)}.",
        "tests": _tests([x for x in tests if x != shown], right),
        "public": _tests([shown], right),
        "solution": _program(code),
    }


def write(path: Path = FILE, rows: int = ROWS) -> Path:
    """Write the rows unless they are there, and return where."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        text = "".join(json.dumps(row(number)) + "\n" for number in range(rows))
        path.write_text(text, encoding="utf-8")
    return path


def _slip(a: int, b: int, rng: Rng) -> Numbers:
    which = rng.below(3)
    return (a + rng.integer(1, 9) if which != 1 else a), (b + rng.integer(1, 9) if which != 0 else b)


def _program(expression: str) -> str:
    return fenced(f"def f(x):\n    return {expression}")


def _tests(inputs: list[int], right: Callable[[int], int]) -> dict[str, Any]:
    return {"fn_name": "f", "inputs": [[x] for x in inputs], "outputs": [right(x) for x in inputs]}
