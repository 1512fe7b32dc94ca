"""From a rule to a problem: a statement, examples, hidden tests and a program, all of them functions of the rule.

A task draws a rule and writes it three times: in words, as a program (`code`), and as a function of its own
(`expected`), which makes the outputs of the tests. Everything else (wording, examples, tests) is drawn from a stream
that the program names. So two problems differ only when their programs do, and no rule stands in two splits.

How hidden tests are chosen is in `hidden.py`. The examples in the statement are none of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import Any

from grpo_envs.code.hidden import SAME, Arguments, Call, Hidden, differs
from grpo_gym.errors import GeneratorError, GrpoGymError
from grpo_gym.problem import Problem, split_of
from grpo_gym.rng import Rng
from grpo_gym.sources import MAX_REDRAWS, Key, Procedural, labelled
from grpo_gym.task import Task
from grpo_rewards.code.reward import CodeReward

ANSWER_FORMAT = "Answer with a Python program in one fenced code block."

Wording = str | tuple[str, ...]
"""A sentence, or several that say the same."""

PROBES = 8
"""Inputs that a rule is tried on: one that makes too little of them is drawn again."""

TIME_S = 1.0
"""CPU seconds that one call of a function, or one run of a program, may take; references take a hundredth of it."""

_FRAMES = (
    "Write a Python function `{head}`.",
    "Implement the function `{head}` in Python.",
    "Define a Python function `{head}`.",
    "Your task is a Python function `{head}`.",
)
_PROGRAMS = (
    "Write a Python program that reads from standard input and prints to standard output.",
    "Write a program in Python. It reads standard input and writes to standard output.",
    "Solve this with a Python program that uses standard input and standard output.",
)


@dataclass(frozen=True)
class Draft:
    """A rule, written down.

    Attributes:
        head: Name and signature of the function; "" for a program that reads standard input.
        statement: What it shall do, sentence by sentence, edge cases included.
        code: The reference program.
        expected: Computes the output of a call, by other means than the program.
        inputs: Draws the arguments of one call.
        edges: Calls that are always tested.
        mistakes: What typical wrong programs compute.
        needed: What is computed when one rule is ignored: a draft whose rules make no difference is drawn again.
        rules: How many rules the statement composes.
        heavy: Draws calls that are too big for a slow program.
        shown: The examples, where they are not drawn; with `pinned` tests.
        render: Writes the arguments of a call as standard input.
        time_s: CPU seconds for one call of a function, or one run of a program.
    """

    head: str
    statement: Sequence[Wording]
    code: str
    expected: Callable[..., Any]
    inputs: Callable[[Rng], Arguments]
    edges: Sequence[Arguments] = ()
    mistakes: Sequence[Callable[..., Any]] = ()
    needed: Sequence[Callable[..., Any]] = ()
    rules: int = 1
    heavy: Callable[[Rng], Sequence[Arguments]] | None = None
    shown: Sequence[Arguments] = ()
    render: Callable[..., str] | None = None
    time_s: float = TIME_S

    @property
    def name(self) -> str:
        """The function's name."""
        return self.head.partition("(")[0]

    @cached_property
    def probes(self) -> list[Call]:
        """Calls that the rule is tried on, with their outputs."""
        rng = Rng("code probes", self.code)
        drawn = [self.inputs(rng) for _ in range(PROBES)]
        return [(args, self.expected(*args)) for args in drawn]

    @property
    def is_telling(self) -> bool:
        """Whether no output is too frequent and no rule is idle."""
        outputs = Counter(repr(output) for _, output in self.probes)
        if max(outputs.values()) * SAME > PROBES + 1 or len(self.examples) < (1 if self.render else 2):
            return False
        return all(any(differs(idle, *probe) for probe in self.probes) for idle in self.needed)

    @cached_property
    def examples(self) -> list[Call]:
        """The calls that the statement shows, with their outputs: the first probes that differ in them."""
        if self.shown:
            return [(args, self.expected(*args)) for args in self.shown]
        edges = {repr(args) for args in self.edges}
        chosen: dict[str, Call] = {}
        for args, output in self.probes:
            if repr(args) not in edges:
                chosen.setdefault(repr(output), (args, output))
        return list(chosen.values())[: 1 if self.render else 2]

    @cached_property
    def prompt(self) -> str:
        """The statement with its examples."""
        rng = Rng("code wording", self.code)
        opening = _PROGRAMS if self.render else _FRAMES
        parts = [rng.choice(opening).format(head=self.head)]
        parts += [part if isinstance(part, str) else rng.choice(part) for part in self.statement]
        text = " ".join(part.strip() for part in parts if part)
        if self.render:
            shows = [f"Example input:\n{self.render(*a)}\nExample output:\n{out}" for a, out in self.examples]
        else:
            calls = [f"{self.name}({', '.join(map(repr, args))}) == {out!r}" for args, out in self.examples]
            shows = ["\n".join(["Examples:", *calls])]
        return "\n\n".join([text, *shows])

    @cached_property
    def large(self) -> list[Call]:
        """The hidden calls that are too big for a slow program, with their outputs."""
        return [(args, self.expected(*args)) for args in self.heavy(Rng("code heavy", self.code))] if self.heavy else []

    @cached_property
    def small(self) -> list[Call]:
        """The other hidden calls, with their outputs."""
        return Hidden(self, self.large).calls()

    def given(self, args: Arguments) -> Arguments:
        """Return what the program is called with: the arguments, or the text of its standard input."""
        return (self.render(*args),) if self.render else args

    def problem(self) -> Problem:
        """Return the problem."""
        style = "stdio" if self.render else "function"
        reference = {
            "style": style,
            "tests": self._tests([*self.small, *self.large]),
            "public": self._tests(self.examples),
            "time_s": self.time_s,
        }
        effort = self.rules + (3 if self.heavy else 0)
        return Problem(self.prompt, reference, solution=fenced(self.code), meta={"effort": effort})

    def _tests(self, calls: Sequence[Call]) -> dict[str, Any]:
        outputs = [output for _, output in calls]
        if self.render:
            return {"inputs": [self.render(*args) for args, _ in calls], "outputs": outputs}
        return {"fn_name": self.name, "inputs": [list(args) for args, _ in calls], "outputs": outputs}


DraftGenerator = Callable[[Rng, int], Draft]


class Drafts(Procedural):
    """Problems from drafts. The tests of a problem are made when its split is known to be the one asked for."""

    def __init__(self, draft: DraftGenerator) -> None:
        @wraps(draft)  # named as the draft, so that a pickled source is found again
        def generate(rng: Rng, tier: int) -> Problem:
            return self.draft(rng, tier).problem()

        super().__init__(generate)
        self.write = draft

    def draft(self, rng: Rng, tier: int) -> Draft:
        """Draw a rule that tells inputs apart. Raises GeneratorError when there seems to be none."""
        for _ in range(MAX_REDRAWS):
            draft = self.write(rng, tier)
            if draft.is_telling:
                return draft
        raise GeneratorError(f"no telling rule of tier {tier} in {MAX_REDRAWS} draws")

    def problem(self, key: Key) -> Problem:
        """Return the problem at `key`. Raises GeneratorError when the generator fails or the split stays empty."""
        rng = Rng(key.task, key.version, key.tier, key.split, key.seed, key.index)
        for _ in range(MAX_REDRAWS):
            try:
                draft = self.draft(rng, key.tier)
                if split_of(Problem(draft.prompt, None).content) == key.split:
                    return labelled(draft.problem(), key)
            except GrpoGymError:
                raise
            except Exception as error:
                raise GeneratorError(f"the generator failed at {key}: {type(error).__name__}: {error}") from error
        raise GeneratorError(
            f"no {key.split} problem in {MAX_REDRAWS} draws at {key}: the tier has too little distinct content"
        )


def coding(name: str, tiers: Sequence[int], **fields: Any) -> Callable[[DraftGenerator], Task]:
    """Turn a generator of drafts into a Task; its default tiers are its two lowest. The rest are Task's fields."""

    def decorate(draft: DraftGenerator) -> Task:
        return Task(
            name=name, source=Drafts(draft), tiers=tuple(tiers), default_tiers=tuple(tiers[:2]), **CODE, **fields
        )

    return decorate


def fenced(code: str) -> str:
    """Return a program as an answer."""
    return f"```python\n{code.strip()}\n```"


def as_answer(problem: Problem) -> str:
    """Write a reference as an answer: tests as the program that passes them, any other value as a program itself."""
    if isinstance(problem.reference, dict) and problem.solution is not None:
        return problem.solution
    return fenced(str(problem.reference))


def measured(problem: Problem) -> float:
    """Return how many rules a problem composes; a demand for speed counts as three."""
    return float(problem.meta["effort"])


CODE: dict[str, Any] = {
    "reward": CodeReward(),
    "answer_format": ANSWER_FORMAT,
    "answer": as_answer,
    "effort": measured,
}
"""The Task fields that all generated programming tasks share."""
