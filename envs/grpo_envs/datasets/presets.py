"""The table of well-known maths data sets: where they are, which column holds what, and how the answer is read.

A row of the table is matched by its short name ("gsm8k") or by any of its hub ids ("openai/gsm8k"). Columns are listed
with their alternatives, since copies of one data set differ in them; the first that a row has is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from grpo_envs.datasets.catalogue import Catalogue
from grpo_gym.problem import Split

Reader = Literal["text", "hashes", "boxed", "listed"]
"""How an answer stands in its column: as it is; behind `####`; in the last box of a solution; in a list of answers."""


@dataclass(frozen=True)
class Preset:
    r"""How the rows of one data set become problems.

    Attributes:
        task: What its task is called, e.g. "gsm8k" in "math.gsm8k".
        names: Short names; the first is the one that is shown.
        hubs: Hub id -> its subsets; the first id is what the short names load.
        prompt: Columns with the question.
        reference: Columns with the answer, each with how it is read.
        solution: Columns with a worked solution.
        annotated: Whether solutions hold calculations as `<<2+3=5>>`.
        tier: Columns with a level: 3 or "Level 3" is tier 3.
        tiers: The tiers that occur.
        meta: Name in the problem's meta -> columns.
        only: The split that all rows are of: "test" for sets that are made to measure with.
    """

    task: str
    names: tuple[str, ...] = ()
    hubs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    prompt: tuple[str, ...] = ("problem", "question")
    reference: tuple[tuple[str, Reader], ...] = (("answer", "text"),)
    solution: tuple[str, ...] = ()
    annotated: bool = False
    tier: tuple[str, ...] = ()
    tiers: tuple[int, ...] = (0,)
    meta: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    only: Split | None = None


SUBJECTS = (
    "algebra",
    "counting_and_probability",
    "geometry",
    "intermediate_algebra",
    "number_theory",
    "prealgebra",
    "precalculus",
)
LEVELS = (1, 2, 3, 4, 5)

PRESETS = (
    Preset(
        "gsm8k",
        names=("gsm8k",),
        hubs={"openai/gsm8k": ("main",)},
        prompt=("question",),
        reference=(("answer", "hashes"),),
        solution=("answer",),
        annotated=True,
    ),
    Preset(
        "hendrycks",
        names=("math", "hendrycks-math", "competition-math"),
        hubs={
            "EleutherAI/hendrycks_math": SUBJECTS,
            "DigitalLearningGmbH/MATH-lighteval": ("default",),
            "nlile/hendrycks-MATH-benchmark": (),
            "hendrycks/competition_math": (),
        },
        prompt=("problem",),
        reference=(("answer", "text"), ("solution", "boxed")),
        solution=("solution",),
        tier=("level",),
        tiers=LEVELS,
        meta={"subject": ("type", "subject")},
    ),
    Preset(
        "math500",
        names=("math-500",),
        hubs={"HuggingFaceH4/MATH-500": (), "math-ai/math500": ()},
        prompt=("problem",),
        solution=("solution",),
        tier=("level", "difficulty"),
        tiers=LEVELS,
        meta={"subject": ("subject",), "id": ("unique_id",)},
        only="test",
    ),
    Preset(
        "aime2024",
        names=("aime-2024", "aime24"),
        hubs={"HuggingFaceH4/aime_2024": (), "math-ai/aime24": (), "Maxwell-Jia/AIME_2024": ()},
        prompt=("problem", "Problem"),
        reference=(("answer", "text"), ("Answer", "text"), ("solution", "boxed")),
        solution=("solution", "Solution"),
        meta={"id": ("id", "ID")},
        only="test",
    ),
    Preset(
        "aime2025",
        names=("aime-2025", "aime25"),
        hubs={
            "math-ai/aime25": (),
            "opencompass/AIME2025": ("AIME2025-I", "AIME2025-II"),
            "yentinglin/aime_2025": (),
            "MathArena/aime_2025": (),
        },
        meta={"id": ("id", "problem_idx")},
        only="test",
    ),
    Preset("amc23", names=("amc23", "amc-2023"), hubs={"math-ai/amc23": ()}, meta={"id": ("id",)}, only="test"),
    Preset(
        "minerva",
        names=("minerva", "minerva-math"),
        hubs={"math-ai/minervamath": ()},
        solution=("solution",),
        only="test",
    ),
    Preset(
        "olympiadbench",
        names=("olympiadbench",),
        hubs={"Hothan/OlympiadBench": ("OE_TO_maths_en_COMP",), "math-ai/olympiadbench": ()},
        reference=(("final_answer", "listed"), ("answer", "listed")),
        meta={"subject": ("subfield",), "unit": ("unit",), "id": ("id",)},
        only="test",
    ),
)
"""GSM8K (Cobbe et al. 2021), MATH (Hendrycks et al. 2021), MATH-500 (Lightman et al. 2023), AIME, AMC, the problems of
Minerva (Lewkowycz et al. 2022), OlympiadBench (He et al. 2024: its English maths questions without pictures)."""

_CATALOGUE = Catalogue(PRESETS, lambda preset: preset.hubs)
find, named, known_names = _CATALOGUE.find, _CATALOGUE.named, _CATALOGUE.known_names
