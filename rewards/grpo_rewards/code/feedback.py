"""What is said of a judged program: nothing of the tests, or the first failing test where programs are repaired."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from grpo_gym.verdict import Reason, Verdict
from grpo_rewards.code.plain import cut, shown

LONGEST = 800
"""Characters of feedback."""

_WORDS = {
    Reason.CORRECT: "",
    Reason.WRONG_ANSWER: "wrong answer",
    Reason.RUNTIME_ERROR: "the program fails",
    Reason.SYNTAX_ERROR: "the program does not compile",
    Reason.CPU_LIMIT: "the program takes too much time",
    Reason.WALL_LIMIT: "the program waits too long",
    Reason.MEMORY_LIMIT: "the program takes too much memory",
    Reason.OUTPUT_LIMIT: "the program prints too much",
    Reason.CRASHED: "the program ended early",
    Reason.PROTOCOL_VIOLATION: "what the program returned is no plain data",
}


def feedback(verdict: Verdict, explain: bool) -> str:
    """Return what went wrong, "" when nothing did.

    Args:
        verdict: The judge's.
        explain: Whether the first failing test may be shown, with what it expects.
    """
    said = _WORDS.get(verdict.reason, str(verdict.reason))
    details = verdict.details
    failure = details.get("failure")
    if verdict.reason is Reason.SYNTAX_ERROR and isinstance(failure, Mapping):
        return cut(f"{said}: {_message(failure)}", LONGEST)  # nothing of a test is in there
    if not said or not details.get("total"):
        return said
    total = details["total"]
    counted = f"{said}: {details['passed']} of {total} tests passed"
    if not explain or not isinstance(failure, Mapping):
        return counted
    shown_failure = _shown_failure(failure, verdict.reason is Reason.WRONG_ANSWER)
    return cut(f"{counted}. Test {failure.get('test', 0) + 1} of {total}: {shown_failure}", LONGEST)


def _shown_failure(failure: Mapping[str, Any], is_wrong: bool) -> str:
    """Return the failing case: what was asked, then what came and what should have, or what went wrong."""
    message = _message(failure)
    asked = next((_written(failure[key]) for key in ("call", "source", "input") if failure.get(key)), "")
    if is_wrong and "got" in failure and message.startswith("the checker"):
        found = f"got {_written(failure['got'])}, and {message}"
    elif is_wrong and "got" in failure and "expected" in failure:
        found = f"got {_written(failure['got'])}, expected {_written(failure['expected'])}"
        found += f" ({message})" if message.startswith(("at ", "line ")) else ""  # where in a larger value
    else:
        found = message
    return f"{asked}: {found}" if asked else found


def _message(failure: Mapping[str, Any]) -> str:
    """Return what went wrong, with the exception's name, and with the line where it is one of the program's own."""
    message = cut(str(failure.get("message", "")), 300)
    exception = str(failure.get("exception") or "")
    if exception and not message.startswith(exception):
        return f"{exception}: {message}"
    line = failure.get("line") if exception and "line" not in message else None
    return f"{message} (line {line})" if line else message


def _written(value: object) -> str:
    return cut(value, 200) if isinstance(value, str) else shown(value, 200)
