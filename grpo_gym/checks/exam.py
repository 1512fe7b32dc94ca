"""What the lines of a check share: the sample of problems, their right answers, and the junk, scored once."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from grpo_gym.checks.child import Item, Key, Record, Right
from grpo_gym.checks.forms import FORMS
from grpo_gym.checks.laboratory import NOT_TRIED, Laboratory, Scored
from grpo_gym.checks.nursery import nursery
from grpo_gym.checks.pace import STANDARD, in_standard_seconds
from grpo_gym.checks.specimen import Hostile, Others, Specimen, specimens
from grpo_gym.checks.subjects import Subject
from grpo_gym.checks.target import Facts
from grpo_gym.checks.texts import COMPUTATIONS, LONG_JUNK, SHORT_JUNK, WRAPS, code_probes

T = TypeVar("T")

SEED = 20_26
"""Seed of the sample: any other would do."""

TOLERANCE = 1e-9
"""Two rewards that differ by less are the same."""

OTHER_HASH_SEED = 2
BUDGET = 30.0
"""Seconds of scoring that one set of texts may take; a slow reward is tried on an even choice of them."""

DRAWS = 200
"""Problems of one seed that are compared, and that each tier must make without raising."""

ROUND = 20
PATIENCE = 3.0
"""Seconds that making such a set of problems may take; what is left out is said."""

TIER_SEED = 7
HELD_OUT = 4
"""How many times the sample the held-out problems are: a mean over them is what a strategy is judged by."""


@dataclass(frozen=True)
class Elsewhere:
    """Another process.

    Attributes:
        lab: The process.
        fresh: What it made of the right answers, before it had made a problem.
        state: What making and scoring have changed of its global state.
    """

    lab: Laboratory
    fresh: list[Scored]
    state: Record


class Exam:
    """One subject under examination. Use it with `with`.

    Args:
        subject: What is examined.
        lab: The process with the subject in it.
        n: Problems in the sample.

    Attributes:
        facts: What the subject says of itself.
        top: The highest reward.
        nothing: What an answer is worth that deserves nothing: 0, or the lowest reward where that is above 0 or where
            all rewards are penalties.
        failed: Keys of the questions that failed so far: a later one judges what earlier ones let pass.
        levels: Question -> the mean reward that its best kind of wrong answer earned.
        paid_kinds: Kinds of wrong answers that were paid.
    """

    def __init__(self, subject: Subject, lab: Laboratory, n: int) -> None:
        self.subject = subject
        self.lab = lab
        self.n = n
        self.facts: Facts = lab.facts
        low, self.top = self.facts.range
        self.nothing = max(0.0, low) if self.top > 0 else low
        self.failed: set[str] = set()
        self.levels: dict[str, float] = {}
        self.paid_kinds: set[str] = set()
        self._labs = ExitStack()

    def __enter__(self) -> Exam:
        nursery(OTHER_HASH_SEED)  # it imports while the first process works
        return self

    def __exit__(self, *_: object) -> None:
        self._labs.close()

    @property
    def hostile_rows(self) -> bool:
        """Whether texts that are code may be handed over: to registered code, and to others' in isolation."""
        return not self.facts.foreign or (self.lab.isolation is not None and self.lab.isolation[0])

    def floor(self, line: str, default: float) -> float:
        """Return the level that the subject declares for a line, else the default."""
        return float(self.facts.floors.get(line, default))

    def share(self, reward: float) -> float:
        """Return a reward as the share of the way from nothing to the maximum."""
        return (reward - self.nothing) / ((self.top - self.nothing) or 1.0)

    @cached_property
    def elsewhere(self) -> Elsewhere:
        """A process under another hash seed, and what came of scoring and making there.

        First come right answers to problems that it did not make. Its global state is compared with what it was before
        anything happened: a change that is made once and for all at the first call cannot be seen later.
        """
        items = self.mixed(4) + [(row.specimen.key, row.text) for row in self.junk[:60] if not row.scored.fate]
        lab = self._labs.enter_context(Laboratory(self.subject, OTHER_HASH_SEED))
        fresh = lab.score([(s.problem, text) for s, text, _ in self.paid])
        return Elsewhere(lab, fresh, lab.once("state", self.keys[:16], items))

    @cached_property
    def by_tier(self) -> dict[int, list[Record]]:
        """Up to DRAWS problems of each tier, made in rounds until the time is up."""
        made: dict[int, list[Record]] = {tier: [] for tier in self.facts.tiers}
        end = time.monotonic() + PATIENCE
        for start in range(0, DRAWS, ROUND):
            for tier, rows in made.items():
                rows += self.lab.ask("content", [Key(tier, "train", TIER_SEED, k) for k in range(start, start + ROUND)])
            if time.monotonic() > end:
                break
        return made

    @cached_property
    def contents(self) -> dict[int, list[str]]:
        """The contents of up to DRAWS problems of two neighbouring seeds."""
        found: dict[int, list[str]] = {SEED: [], SEED + 1: []}
        end = time.monotonic() + PATIENCE
        for start in range(0, DRAWS, ROUND):
            for seed, contents in found.items():
                keys = [Key(None, "train", seed, k) for k in range(start, start + ROUND)]
                contents += [r["content"] for r in self.lab.ask("content", keys) if "content" in r]
            if time.monotonic() > end:
                break
        return found

    @cached_property
    def keys(self) -> list[Key]:
        """The keys of the sample."""
        return [Key(None, "train", SEED, index) for index in range(self.n)]

    @cached_property
    def made(self) -> list[Record]:
        """What came of making the sample's problems."""
        return self.lab.ask("make", self.keys)

    @cached_property
    def sample(self) -> list[Specimen]:
        """The problems that could be made."""
        return specimens(self.keys, self.made)

    @cached_property
    def held_out(self) -> list[Specimen]:
        """Other problems: a strategy that was chosen on the sample is measured on these."""
        keys = [Key(None, "train", SEED, self.n + index) for index in range(HELD_OUT * self.n)]
        return specimens(keys, self.lab.ask("make", keys))

    @cached_property
    def answered(self) -> list[tuple[Specimen, str | Right, Scored]]:
        """Every known right answer of the sample with its score; of an episode in turns, the oracle's play."""
        return self.answers_to(self.sample)

    @cached_property
    def paid(self) -> list[tuple[Specimen, str | Right, Scored]]:
        """The right answers that earn the maximum: what other lines compare with."""
        return [row for row in self.answered if self.is_full(row[2])]

    @cached_property
    def finals(self) -> list[Specimen]:
        """Specimens whose final answer, written alone, earns the maximum."""
        return [specimen for specimen, text, _ in self.paid if text == specimen.final]

    @cached_property
    def junk(self) -> list[Hostile]:
        """Nonsense and oversized texts, bare and where an answer is looked for, each on a few problems."""
        rows = [(n, s, t) for s in self.sample[:2] for n, t in self._wrapped(s, SHORT_JUNK)]
        rows += [(n, s, t) for s in self.sample[:1] for n, t in self._wrapped(s, LONG_JUNK, ("boxed",))]
        return self._hostile(rows)

    @cached_property
    def code(self) -> list[Hostile]:
        """Texts that are programs: first those that show when they run, then those that only cost when they run."""
        few = self.sample[:2]
        kinds = (code_probes(self.marker), COMPUTATIONS)
        return self._hostile([(n, s, t) for probes in kinds for s in few for n, t in self._wrapped(s, probes)])

    @property
    def marker(self) -> Path:
        """The file that exists once a program in an answer has run."""
        return Path(self.lab.scratch.name) / "marker"

    @cached_property
    def others(self) -> list[tuple[Specimen, Others]]:
        """Other right answers and own probes, by the subject's word, of a few problems."""
        few = self.sample[:16]
        return [
            (s, Others(record)) for s, record in zip(few, self.lab.ask("others", [s.key for s in few]), strict=True)
        ]

    @property
    def hostile(self) -> list[Hostile]:
        """All texts that deserve nothing, as far as they may be tried."""
        return [*self.junk, *(self.code if self.hostile_rows else [])]

    def answers_to(self, specimens: Sequence[Specimen]) -> list[tuple[Specimen, str | Right, Scored]]:
        """Score every known right answer to problems."""
        rows: list[tuple[Specimen, str | Right]] = []
        for specimen in specimens:
            if self.facts.interactive:
                rows += [(specimen, Right("as it is"))] if specimen.right is not None else []
            else:
                rows += [(specimen, text) for text in specimen.answers]
        return [(s, text, scored) for (s, text), scored in zip(rows, self.score(rows), strict=True)]

    def steady(self, measure: Callable[[], float]) -> float:
        """Measure a cost that seems too high again, in CPU seconds that do not depend on how busy the machine is."""
        return in_standard_seconds(measure, lambda: float(self.lab.once("pace").get("seconds", STANDARD)))

    def score(self, rows: Sequence[tuple[Specimen, str | Right]]) -> list[Scored]:
        """Score answers to problems of the sample."""
        return self.lab.score([(specimen.key, text) for specimen, text in rows])

    def write(self, rows: Sequence[tuple[Specimen, object]]) -> list[str | None]:
        """Write references, right or wrong, as final answers."""
        return [r.get("text") for r in self.lab.ask("write", [(s.key, reference) for s, reference in rows])]

    def thinned(self, rows: Sequence[T], most: float = BUDGET) -> list[T]:
        """Return as many rows, evenly chosen, as can be scored within a time."""
        seconds = sorted(scored.seconds for _, _, scored in self.answered) or [0.0]
        affordable = int(most / max(1e-6, seconds[len(seconds) // 2]))
        step = max(1, -(-len(rows) // max(1, affordable)))
        return list(rows[::step])

    def beyond_looks(self, rows: Sequence[tuple[Specimen, str]]) -> list[float]:
        """Return the rewards of texts; where senseless texts are paid, without what such a text of that shape earns."""
        values = [scored.number for scored in self.score(rows)]
        if "junk pays" in self.failed:
            paid = [k for k, value in enumerate(values) if value > self.nothing + TOLERANCE]
            empty = [(rows[k][0], rows[k][0].emptied(rows[k][1])) for k in paid]
            for k, scored in zip(paid, self.score(empty), strict=True):
                values[k] = self.nothing + max(0.0, values[k] - max(scored.number, self.nothing))
        return values

    def is_full(self, scored: Scored) -> bool:
        """Whether it earns the maximum."""
        return isinstance(scored.value, (int, float)) and scored.value >= self.top - TOLERANCE

    def is_right(self, specimen: Specimen, text: str) -> bool:
        """Whether a text is a right answer by chance: the reference itself, or what the subject calls right."""
        known = {str(specimen.reference), *specimen.answers}
        folded = {_folded(answer) for answer in known}
        return _folded(text) in folded

    def mixed(self, count: int) -> list[Item]:
        """Return a mixture of right, wrong and senseless answers, for lines that score the same thing twice."""
        specimens = self.sample[:count]
        items: list[Item] = []
        for place, specimen in enumerate(specimens):
            other = specimens[(place + 1) % len(specimens)]
            items += [(specimen.key, text) for text in self.right_replies(specimen)]
            items += [(specimen.key, text) for text in other.answers if not self.facts.interactive]
            items += [(specimen.key, text) for text in ("", "nan", specimen.text)]
        return items

    def right_replies(self, specimen: Specimen, form: str = "as it is") -> list[str | Right]:
        """Return the right answers to a problem in a form that fits them."""
        if self.facts.interactive:
            return [Right(form)] if specimen.right is not None else []
        return [FORMS[form].spell(text) for text in specimen.answers if FORMS[form].fits(text)]

    def _wrapped(
        self, specimen: Specimen, texts: Mapping[str, str], wraps: Sequence[str] = tuple(WRAPS)
    ) -> list[tuple[str, str]]:
        """Return the texts bare, and where an answer is looked for: in the subject's own format, in a box, in tags."""
        texts = {name: text for name, text in texts.items() if not self.is_right(specimen, text)}
        rows = list(texts.items())
        small = {name: text for name, text in texts.items() if text.strip()}
        own = self.write([(specimen, text) for text in small.values()])
        rows += [(f"{name}, as the answer", text) for name, text in zip(small, own, strict=True) if text is not None]
        for wrap in wraps:
            rows += [(f"{name}, {wrap}", WRAPS[wrap](text)) for name, text in small.items()]
        return rows

    def _hostile(self, rows: list[tuple[str, Specimen, str]]) -> list[Hostile]:
        unique = self.thinned(list({(s.key, _digest(t)): (n, s, t) for n, s, t in rows}.values()))
        scores = self.score([(s, t) for _, s, t in unique])
        rows_scored = zip(unique, scores, strict=True)
        return [Hostile(n, s, t, scored) for (n, s, t), scored in rows_scored if scored.fate != NOT_TRIED]


def _folded(text: str) -> str:
    return "".join(text.split()).casefold()


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
