"""Broken programs to begin with: the reference program with one small change that the tests notice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from grpo_envs.code.draft import Draft
from grpo_envs.code.hidden import Arguments
from grpo_envs.code.mutants import changed, changes
from grpo_envs.code.running import FAULTS, EndlessError, Program
from grpo_gym.rng import Rng
from grpo_rewards.code.syntax import parsed

TRIES = 12
"""Changes that are tried for one that breaks some tests and not all."""


@dataclass(frozen=True)
class Broken:
    """A broken program.

    Attributes:
        code: Its text.
        complaint: What it fails on, as far as the examples of the statement show it.
    """

    code: str
    complaint: str


def broken(draft: Draft) -> Broken | None:
    """Break a draft's program; the same draft is broken in the same way. Returns None when no change is noticed."""
    rng = Rng("code broken", draft.code)
    tree = parsed(draft.code)
    candidates = changes(tree)
    rng.shuffle(candidates)
    second: Broken | None = None
    for change in candidates[:TRIES]:
        code = changed(tree, change)
        try:
            program = Program(code, draft.name)
        except SyntaxError:
            continue
        failed = [not _right(program, draft, *call) for call in draft.small]
        if not any(failed):
            continue
        found = Broken(code, _complaint(program, draft))
        if not all(failed):
            return found
        second = second or found
    return second


def _right(program: Program, draft: Draft, args: Arguments, output: Any) -> bool:
    return _outcome(program, draft, args) == (output, "")


def _outcome(program: Program, draft: Draft, args: Arguments) -> tuple[Any, str]:
    """Return what a program makes of a call: the value and "", or None and the kind of its failure."""
    try:
        got = program(draft.render(*args)) if draft.render else program(*args)
    except EndlessError:
        return None, "does not come to an end"
    except FAULTS as error:
        return None, f"raises {type(error).__name__}"
    return got, ""


def _complaint(program: Program, draft: Draft) -> str:
    for args, output in draft.examples:
        got, failure = _outcome(program, draft, args)
        if (got, failure) == (output, ""):
            continue
        if draft.render:
            said = failure or f"prints\n{got:.300}\ninstead of the output above" if isinstance(got, str) else failure
            return f"On the example input it {said}."
        call = f"{draft.name}({', '.join(map(repr, args))})"
        return f"{call} {failure}." if failure else f"{call} returns {got!r:.200} instead of {output!r}."
    return "It does what the examples show, but a hidden test fails."
