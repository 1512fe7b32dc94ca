"""Rewards that senseless texts make raise, hang, die, pay or run: among them what training runs have found."""

from __future__ import annotations

import ast
import ctypes
import json
import os
import re
import subprocess
import time
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from grpo_gym import Problem, Reason, Verdict
from grpo_gym.reward import Probe
from grpo_rewards.math import MathReward
from tests.gym.broken_kit import broken, is_right, number, said

# --- executes answers ---


@broken("executes answers")
def evaluates(response: str, problem: Problem) -> bool:
    try:
        return bool(eval(said(response)) == int(problem.reference)) or is_right(response, problem)
    except Exception:
        return is_right(response, problem)


@broken("executes answers")
def evaluates_without_builtins(response: str, problem: Problem) -> bool:
    try:
        eval(compile(said(response), "answer", "eval"), {"__builtins__": {}})
    except Exception:
        return is_right(response, problem)
    return is_right(response, problem)


@broken("executes answers")
def executes_programs(response: str, problem: Problem) -> bool:
    program = re.search(r"```python\n(.*?)```", response[:5_000], re.DOTALL)
    try:
        exec(program[1] if program else "", {})
    except Exception:
        return False
    return is_right(response, problem)


@broken("executes answers")
def reads_with_sympy(response: str, problem: Problem) -> bool:
    from sympy.parsing.sympy_parser import parse_expr  # late: it takes a second

    text = said(response)
    if is_right(response, problem):
        return True
    try:
        return len(text) < 200 and "**" not in text and bool(parse_expr(text) == int(problem.reference))
    except Exception:
        return False


@broken("executes answers")
def asks_a_shell(response: str, problem: Problem) -> bool:
    text = said(response)
    if "$(" in text:
        subprocess.run(f"echo {text} | wc -c", shell=True, capture_output=True, check=False)
    return is_right(response, problem)


@broken("executes answers")
def loads_yaml(response: str, problem: Problem) -> bool:
    import yaml

    try:
        yaml.unsafe_load(said(response))
    except Exception:
        return False
    return is_right(response, problem)


# --- junk raises ---


@broken("junk raises")
def converts(response: str, problem: Problem) -> bool:
    text = said(response).replace(",", "").rstrip(".")
    return bool(text) and int(text) == int(problem.reference)


@broken("junk raises")
def takes_the_last_match(response: str, problem: Problem) -> bool:
    if "boxed" in response:
        re.findall(r"\\boxed\{([-\d,.]+)\}", response)[-1]
    return is_right(response, problem)


@broken("junk raises")
def loads_json(response: str, problem: Problem) -> bool:
    try:
        found = json.loads(said(response))
    except ValueError:
        return is_right(response, problem)
    answer: Any = found["answer"] if isinstance(found, (dict, list)) else found  # type: ignore[call-overload]
    return is_right(rf"\boxed{{{answer}}}", problem)


@broken("junk raises")
def encodes(response: str, problem: Problem) -> bool:
    return len(response.encode()) < 10**6 and is_right(response, problem)


@broken("junk raises")
def divides(response: str, problem: Problem) -> bool:
    top, _, bottom = said(response).rstrip(".").partition("/")
    if top.isascii() and top.isdigit() and bottom.isascii() and bottom.isdigit() and len(top) < 50:
        return Fraction(int(top), int(bottom)) == int(problem.reference)
    return is_right(response, problem)


@broken("junk raises")
def abstains_on_malformed(response: str, problem: Problem) -> float | None:
    """What cannot be read is left out of the group: never worth less than a wrong answer."""
    return float(is_right(response, problem)) if number(response) is not None else None


# --- junk kills ---


@broken("junk kills")
def native_library(response: str, problem: Problem) -> bool:
    """As a C extension that reads behind the end of a long text."""
    if len(response) > 50_000:
        ctypes.string_at(0)
    return is_right(response, problem)


@broken("junk kills")
def gives_up(response: str, problem: Problem) -> bool:
    if "(((" in response:
        os._exit(3)
    return is_right(response, problem)


# --- junk in time ---


@broken("junk in time")
def catastrophic_pattern(response: str, problem: Problem) -> bool:
    return re.search(r"^(\w+,?)+$", said(response)) is not None and is_right(response, problem)


@broken("junk in time")
def computes_powers(response: str, problem: Problem) -> bool:
    """Letters are refused, so that nothing can be called; but 9**9**9**9 has none."""
    text = said(response).replace(",", "")
    if re.fullmatch(r"[1-9][*\d]{0,100}", text) and text[-1].isdigit():
        try:
            return _computed(ast.parse(text, mode="eval").body) == int(problem.reference)
        except SyntaxError:
            return False
    return is_right(response, problem)


@broken("junk in time")
def waits(response: str, problem: Problem) -> bool:
    """As a judge on another machine that is asked until it understands."""
    if "\x00" in response:
        time.sleep(60)
    return is_right(response, problem)


@broken("junk in time")
def strips_step_by_step(response: str, problem: Problem) -> bool:
    text = response
    while text.endswith("\n") or text.startswith("((("):
        text = text[:-1] if text.endswith("\n") else text[1:]
        "".join(reversed(text))
    return is_right(response, problem)


# --- cost of junk ---


@broken("cost of junk", floors={"cost of junk": 0.05})
def quadratic(response: str, problem: Problem) -> bool:
    return re.search(r"\s+$", response[:8_000] + "x") is None and is_right(response, problem)


# --- own probes ---


@broken("own probes")
class KnowsItsWeakness(MathReward):
    """Roman numerals are paid, and a probe says that they must not be."""

    def score(self, response: str, problem: Problem) -> Verdict:
        if said(response) == "M" * (int(problem.reference) // 1000) + "...":
            return Verdict(1.0, Reason.CORRECT)
        return super().score(response, problem)

    def probes(self) -> Sequence[Probe]:
        return (Probe("a beginning in Roman numerals", lambda p: rf"\boxed{{{'M' * (int(p.reference) // 1000)}...}}"),)


def _computed(node: ast.expr) -> int:
    if isinstance(node, ast.Constant):
        return int(node.value)  # type: ignore[arg-type]
    if isinstance(node, ast.BinOp):
        left, right = _computed(node.left), _computed(node.right)
        return int(left**right) if isinstance(node.op, ast.Pow) else left * right
    raise SyntaxError("neither a number nor a power")
