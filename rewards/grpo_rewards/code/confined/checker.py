"""Runs a task's own checker over plain data: `check(input, output, expected)`, where only True itself passes."""

from __future__ import annotations

from typing import Any

from grpo_rewards.code.confined.codec import Malformed, decode
from grpo_rewards.code.confined.faults import describe
from grpo_rewards.code.confined.program import LoadError, compiled, new_module

FILE = "checker.py"


def check_all(source: str, cases: list[Any]) -> list[dict[str, Any]]:
    """Check every case.

    Args:
        source: Text that defines `check`.
        cases: Trees of input, output and expected value; the output may be hostile.

    Returns:
        For each case "ok", and "error" where it could not be checked.
    """
    module = new_module("__main__")
    try:
        exec(compiled(source, FILE), module.__dict__)
        check = module.__dict__["check"]
    except LoadError as error:
        return [{"ok": False, "error": error.fault["message"]} for _ in cases]
    except BaseException as error:  # the checker's own code
        return [{"ok": False, "error": _told(error)} for _ in cases]
    return [_checked(check, case) for case in cases]


def _checked(check: Any, case: Any) -> dict[str, Any]:
    try:
        given, output, expected = (decode(part) for part in case)
    except (Malformed, MemoryError) as error:
        return {"ok": False, "error": str(error) or type(error).__name__}
    try:
        return {"ok": check(given, output, expected) is True}
    except BaseException as error:  # a checker that fails on an output does not accept it
        return {"ok": False, "error": _told(error)}


def _told(error: BaseException) -> str:
    fault = describe(error, file=FILE)
    return f"{fault['type']}: {fault['message']} (line {fault['line']} of the checker)"
