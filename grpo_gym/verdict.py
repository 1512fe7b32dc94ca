"""The one result type: what a verifier, a judge or any reward says about one answer, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Reason(StrEnum):
    """Why a verdict is what it is. Shared by every reward, so that logs of different tasks can be added up."""

    CORRECT = "correct"
    WRONG = "wrong"
    NO_ANSWER = "no_answer"
    HEDGED = "hedged"
    UNPARSEABLE = "unparseable"
    TOO_BIG = "too_big"
    TIMEOUT = "timeout"
    SCORER_ERROR = "scorer_error"
    SYNTAX_ERROR = "syntax_error"
    RUNTIME_ERROR = "runtime_error"
    WRONG_ANSWER = "wrong_answer"
    CPU_LIMIT = "cpu_limit"
    WALL_LIMIT = "wall_limit"
    MEMORY_LIMIT = "memory_limit"
    OUTPUT_LIMIT = "output_limit"
    CRASHED = "crashed"
    PROTOCOL_VIOLATION = "protocol_violation"
    ABSTAIN = "abstain"


SOLVED = "solved"
"""The component that says how far an answer solves its problem, 0 to 1, where its value does not: where an answer that
is made without skill earns a good part of the reward, too. Curricula go by it."""


@dataclass(frozen=True)
class Verdict:
    """The judgement of one answer.

    Attributes:
        value: The reward, or None when the scorer abstains (a fault that the answer did not cause).
        reason: Why.
        components: Named parts of the value; an abstaining part's key is absent.
        feedback: What a person or a policy could be told, e.g. which step was wrong.
        details: Anything else a caller may want; JSON values.
    """

    value: float | None
    reason: Reason
    components: Mapping[str, float] = field(default_factory=dict)
    feedback: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.value is not None and bool(self.value >= 1.0)

    def __float__(self) -> float:
        return 0.0 if self.value is None else float(self.value)

    @property
    def abstains(self) -> bool:
        """Whether the scorer could not judge, through no fault of the answer."""
        return self.value is None

    @classmethod
    def abstain(cls, feedback: str) -> Verdict:
        """A verdict that says: not judged, leave this row out."""
        return cls(None, Reason.ABSTAIN, feedback=feedback)
