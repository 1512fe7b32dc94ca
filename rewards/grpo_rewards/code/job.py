"""One thing to judge: a solution, its tests, and what it may use."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from grpo_gym.errors import InvalidValueError
from grpo_gym.scoring import is_finite
from grpo_rewards.code.sandbox import Allowance
from grpo_rewards.code.suite import Style, Suite, read_suite

LONGEST_SOLUTION = 1_000_000
"""Characters of a solution that is run."""


@dataclass(frozen=True)
class Job:
    """A solution with its tests.

    Attributes:
        solution: Python code. It is hostile until shown otherwise.
        tests: Text of asserts, a mapping of inputs and outputs, or a suite (see `suite.read_suite`).
        style: "asserts", "function" or "stdio".
        time_s: Seconds of CPU for one run: a call of style "function", a program of style "stdio", all asserts. A run
            may sleep as long, or one second; a busy machine takes nothing away.
        memory_mb: Megabytes beyond what the interpreter itself takes.
        given: Code that the prompt defines. It runs before the solution, and on the side of the tests, where its names
            go before the solution's.
        in_place: Whether asserts see what the solution does to its arguments; else it gets copies.
        entry_point: The function that was asked for; needed only where it has the name of a built-in one.
        every_test: Whether tests go on after the first failure; without it the share of passed tests means little.
        output_mb: Megabytes that one run may print.
    """

    solution: str
    tests: str | Mapping[str, Any] | Suite
    style: Style = "asserts"
    time_s: float = 5.0
    memory_mb: int = 512
    given: str = ""
    in_place: bool = False
    entry_point: str | None = None
    every_test: bool = False
    output_mb: float = 16.0

    def __post_init__(self) -> None:
        if not isinstance(self.solution, str):
            raise InvalidValueError(f"a solution is text, got {type(self.solution).__name__}")
        object.__setattr__(self, "tests", read_suite(self.tests, self.style))
        for name in ("time_s", "memory_mb", "output_mb"):
            value = getattr(self, name)
            if isinstance(value, bool) or not is_finite(value) or value <= 0:
                raise InvalidValueError(f"{name} is {value!r:.80}, must be a number above 0")
        if self.time_s > 86_400 or self.memory_mb > 1 << 20:
            raise InvalidValueError("time_s may be a day and memory_mb a terabyte at most")

    @property
    def suite(self) -> Suite:
        """The tests, read."""
        assert not isinstance(self.tests, (str, Mapping))
        return self.tests

    def allowance(self, runs: int = 1) -> Allowance:
        """Return what the kernel lets one child use, which runs so many tests."""
        return Allowance(cpu_s=math.ceil(self.time_s * (runs + 1)) + 1, memory=int(self.memory_mb) << 20)

    @property
    def output(self) -> int:
        """Bytes that one child may print."""
        return int(self.output_mb * (1 << 20))

    def task(self, mode: str) -> dict[str, Any]:
        """Return what the solution's child is told."""
        return {"mode": mode, "code": self.solution, "given": self.given}

    def mentions(self, packages: tuple[str, ...]) -> bool:
        """Whether solution, prompt or tests name one of these packages."""
        texts = [self.solution, self.given]
        texts += [str(getattr(self.suite, name, "")) for name in ("source", "checker")]
        return bool(packages) and any(re.search(rf"\b(?:{'|'.join(map(re.escape, packages))})\b", t) for t in texts)
