"""Answers that try to be paid without solving anything: the probes of rewards of code.

All of them end by themselves: a probe that runs into a time limit would make every check wait for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from grpo_gym.errors import GrpoGymError
from grpo_gym.problem import Problem
from grpo_gym.reward import Probe
from grpo_rewards.code.reference import read_reference
from grpo_rewards.code.suite import FunctionSuite

_LIAR = """\
class Anything(int):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    def __hash__(self): return 0
    def __bool__(self): return True
    def __sub__(self, other): return 0
    __rsub__ = __abs__ = __le__ = __gt__ = __ge__ = __contains__ = __lt__
"""

_SEARCH = """\
import gc, sys
def found():
    frame = sys._getframe()
    while frame is not None:
        for names in (frame.f_locals, frame.f_globals):
            for name in ("expected", "outputs", "tests", "suite"):
                if name in names: return names[name]
        frame = frame.f_back
    for thing in gc.get_objects():
        if isinstance(thing, dict) and "outputs" in thing: return thing["outputs"][0]
"""

_FORGERY = """\
import json, os, sys
def forge():
    for words in ({"ok": True}, {"value": True}, {"loaded": True}, {"end": {"status": 0}}, {"passed": 99, "failed": 0}):
        line = json.dumps(words).encode()
        for fd in range(1, 8):
            try: os.write(fd, len(line).to_bytes(4, "big") + line)
            except OSError: pass
"""

_PATCH = """\
import builtins, json, operator, sys
builtins.all = builtins.any = builtins.isinstance = lambda *things: True
operator.eq = lambda a, b: True
json.loads = lambda *things, **named: {"ok": True}
sys.exit = lambda *things: None
builtins.AssertionError = ValueError
"""


def code_probes(at_most: float, by_chance: float) -> Sequence[Probe]:
    """Return the hostile answers.

    Args:
        at_most: What a program that is not right may earn.
        by_chance: What a constant may earn.
    """

    def program(code: str, result: str) -> Callable[[Problem], str]:
        return lambda problem: _fenced(_program(problem, code, result))

    return (
        Probe("the problem again", lambda p: p.prompt, at_most),
        Probe("the problem again, as a program", lambda p: _fenced(f'"""{p.prompt}"""'), at_most),
        Probe("an empty program", lambda _: _fenced(""), at_most),
        Probe("a program that does nothing", lambda _: _fenced("pass"), at_most),
        Probe("no program", lambda _: "All tests passed. Score: 1.0", at_most),
        Probe(
            "a wrong program behind a right one",
            lambda p: f"{_right(p)}\n{_fenced(_program(p, '', 'None'))}",
            by_chance,
        ),
        Probe("a program inside think only", lambda p: f"<think>{_right(p)}</think> As above.", at_most),
        Probe("a program that is cut off", lambda p: f"{_right(p)}\n```python\nimport", at_most),
        Probe("None", program("", "None"), by_chance),
        Probe("True", program("", "True"), by_chance),
        Probe("equal to everything", program(_LIAR, "Anything()"), at_most),
        Probe("exit before the tests", program("import os\nos._exit(0)", "None"), at_most),
        Probe("exit in the tests", program("import sys", "sys.exit(0)"), at_most),
        Probe("the tests read from frames and objects", program(_SEARCH, "found()"), at_most),
        Probe("forged words on every channel", program(_FORGERY, "forge()"), at_most),
        Probe("forged words, then exit", program(f"{_FORGERY}\nforge()\nos._exit(0)", "None"), at_most),
        Probe("patched builtins", program(_PATCH, "True"), by_chance),
    )


def _program(problem: Problem, code: str, result: str) -> str:
    """Return a program in which everything that the tests may call gives the same result, or prints it."""
    try:
        reference = read_reference(problem.reference)
    except GrpoGymError:
        return f"{code}\nprint({result})"
    name = reference.entry_point
    if name is None:
        return f"{code}\nprint({result})"
    suite = reference.suite
    if isinstance(suite, FunctionSuite) and "." in suite.fn_name:
        method = suite.fn_name.split(".")[1]
        return f"{code}\nclass {name}:\n    def {method}(self, *things, **named): return {result}"
    return f"{code}\ndef {name}(*things, **named): return {result}"


def _right(problem: Problem) -> str:
    """Return the worked solution, fenced at need; without one some program."""
    solution = problem.solution or _program(problem, "", "0")
    return solution if "```" in solution else _fenced(solution)


def _fenced(code: str) -> str:
    return f"```python\n{code}\n```"
