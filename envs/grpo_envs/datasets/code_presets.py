"""The table of well-known data sets of programming problems: where they are, and in which form their rows stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from grpo_envs.datasets.catalogue import Catalogue
from grpo_gym.problem import Split

Form = Literal["plain", "humaneval", "mbpp"]
"""How a row holds its problem: in columns of their own; as a function to be completed; as a sentence with asserts."""


@dataclass(frozen=True)
class CodePreset:
    """How the rows of one data set become problems.

    Attributes:
        task: What its task is called, e.g. "humaneval" in "code.humaneval".
        names: Short names; the first is the one that is shown.
        hub: Its id on the hub, which means the first preset that has it.
        subset: Its configuration there.
        form: How a row holds its problem.
        prompt: Column with the question, in the plain form.
        tests: Column with the tests, in the plain form.
        solution: Column with a right program, in the plain form; rows may lack it.
        tier: Column with a tier, in the plain form; "" for none.
        meta: Columns that are kept.
        only: The split that all rows are of: "test" for sets that are made to measure with.
    """

    task: str
    names: tuple[str, ...] = ()
    hub: str = ""
    subset: str | None = None
    form: Form = "plain"
    prompt: str = "prompt"
    tests: str = "tests"
    solution: str = "solution"
    tier: str = ""
    meta: tuple[str, ...] = ()
    only: Split | None = None


PRESETS = (
    CodePreset(
        "humaneval",
        names=("humaneval", "openai_humaneval"),
        hub="openai/openai_humaneval",
        form="humaneval",
        meta=("task_id",),
        only="test",
    ),
    CodePreset(
        "humaneval_plus",
        names=("humaneval+", "humanevalplus"),
        hub="evalplus/humanevalplus",
        form="humaneval",
        meta=("task_id",),
        only="test",
    ),
    CodePreset(
        "mbpp",
        names=("mbpp",),
        hub="google-research-datasets/mbpp",
        subset="full",
        form="mbpp",
        meta=("task_id",),
    ),
    CodePreset(
        "mbpp_sanitized",
        names=("mbpp-sanitized", "sanitized-mbpp"),
        hub="google-research-datasets/mbpp",
        subset="sanitized",
        form="mbpp",
        meta=("task_id",),
    ),
    CodePreset(
        "mbpp_plus",
        names=("mbpp+", "mbppplus"),
        hub="evalplus/mbppplus",
        form="mbpp",
        meta=("task_id",),
        only="test",
    ),
)
"""HumanEval (Chen et al. 2021), MBPP (Austin et al. 2021) whole and sanitized, both with the tests of EvalPlus (Liu et
al. 2023)."""

_CATALOGUE = Catalogue(PRESETS, lambda preset: (preset.hub,))
find, named, known_names = _CATALOGUE.find, _CATALOGUE.named, _CATALOGUE.known_names
