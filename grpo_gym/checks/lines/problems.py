"""The problems themselves: many, different, split cleanly, harder from tier to tier, and silent about their answers."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable
from itertools import combinations, count, cycle

from grpo_gym.checks.child import Key
from grpo_gym.checks.exam import HELD_OUT, SEED, Exam
from grpo_gym.checks.question import Finding, failed, judged, passed, percent, question, shown, skipped
from grpo_gym.checks.specimen import Specimen
from grpo_gym.problem import SPLITS, Split

PER_SPLIT = 60
"""Problems of each of two seeds that are compared between the splits."""

MOST_DUPLICATES = 0.1
MOST_SHARED = 0.1
GENERATION = 0.2
"""CPU seconds that one problem in twenty may take to make."""

SCORING = 0.1
"""CPU seconds that one right answer in twenty may take to judge."""

MOST_TOLD = 0.05
"""Share of prompts that may hold the answer: by chance, or as one of several things to choose from."""

LABELS = ("task", "tier", "split", "problem_id")
"""Keys of an info that name the problem: they may hold a word of the answer, but not be it."""

FEW = "a tier is declared in `small_tiers`"


@question("generation cost", "make a problem by construction, not by search and rejection; an agent waits for it")
def generation_cost(exam: Exam) -> Finding:
    """Ninety-five in a hundred problems are made quickly."""
    if not exam.sample:
        return skipped("no problem could be made")
    new = count(exam.n * (1 + HELD_OUT))

    def again() -> float:
        made = exam.lab.ask("make", [Key(None, "train", SEED, next(new)) for _ in range(exam.n)])
        return _p95([record["cpu"] for record in made if "cpu" in record])

    return _cost(exam, [s.cpu for s in exam.sample], again, exam.floor("generation cost", GENERATION), "to make")


@question("scoring cost", 'score faster, or declare `cost = "slow"`, so that workers do it with a deadline')
def scoring_cost(exam: Exam) -> Finding:
    """Ninety-five in a hundred right answers are judged quickly."""
    if not exam.answered:
        return skipped("no right answer is known")
    slow = exam.facts.cost == "slow"
    limit = exam.floor("scoring cost", exam.facts.time_limit if slow else SCORING)
    new = cycle(range(0, len(exam.held_out), exam.n))

    def again() -> float:
        start = next(new, 0)
        answered = exam.answers_to(exam.held_out[start : start + exam.n]) or exam.answered
        return _p95([scored.cpu for _, _, scored in answered])

    return _cost(exam, [scored.cpu for _, _, scored in exam.answered], again, limit, "to judge")


@question("duplicates", "widen the generator, or declare the tier in `small_tiers`")
def duplicates(exam: Exam) -> Finding:
    """Few of the first problems come twice."""
    if set(exam.facts.small_tiers) & set(exam.facts.default_tiers):
        return skipped(FEW)
    contents = exam.contents[SEED]
    if not contents:
        return skipped("no problem could be made")
    share = 1 - len(set(contents)) / len(contents)
    text = f"{percent(share)} of {len(contents)} problems have come before"
    return passed(text) if share <= exam.floor("duplicates", MOST_DUPLICATES) else failed(text)


@question("neighbouring seeds", "derive the stream from a hash of the seed and the index, not from seed + index")
def neighbouring_seeds(exam: Exam) -> Finding:
    """Seeds s and s + 1 do not walk through the same problems."""
    if set(exam.facts.small_tiers) & set(exam.facts.default_tiers):
        return skipped(FEW)
    one, two = exam.contents[SEED], exam.contents[SEED + 1]
    length = min(len(one), len(two))  # a slow generator makes as many as there is time for
    one, two = one[:length], two[:length]
    if len(set(one)) < 20:
        return skipped("too few different problems to tell")
    shares = {}
    for shift in range(-3, 4):
        pairs = [(one[k], two[k + shift]) for k in range(3, len(one) - 3)]
        shares[shift] = sum(a == b for a, b in pairs) / len(pairs)
    shift = max(shares, key=lambda k: shares[k])
    text = f"{percent(shares[shift])} of seed s + 1 are those of seed s, moved by {shift}"
    return passed(text) if shares[shift] <= MOST_SHARED else failed(text)


@question("splits", "let the content decide the split (a generator's problems are split so by themselves)")
def splits(exam: Exam) -> Finding:
    """No problem of one split occurs in another."""
    found: dict[Split, set[str]] = {}
    for split in SPLITS:
        keys = [Key(None, split, seed, place) for seed in (0, 1) for place in range(PER_SPLIT)]
        found[split] = {record["content"] for record in exam.lab.ask("content", keys) if "content" in record}
    if not all(found.values()):
        return skipped(f"no problems in {', '.join(name for name, contents in found.items() if not contents)}")
    shared = [
        f"{len(found[one] & found[two])} problems of {one} are in {two}"
        for one, two in combinations(SPLITS, 2)
        if found[one] & found[two]
    ]
    return judged(shared, f"{sum(map(len, found.values()))} problems, none in two splits")


@question("tiers", "let every tier make a problem for every seed", after=("generator",))
def tiers(exam: Exam) -> Finding:
    """No tier raises."""
    made = exam.by_tier
    faults = [(tier, r.get("error") or r.get("fate")) for tier, rows in made.items() for r in rows]
    broken = [f"tier {tier}: {fault}" for tier, fault in faults if fault]
    least = min(map(len, made.values()), default=0)
    return judged(broken, f"{len(made)} tiers, at least {least} problems of each")


@question("effort", "order the tiers by the work that they take, as the task's `effort` measures it")
def effort(exam: Exam) -> Finding:
    """The median effort does not fall from tier to tier."""
    medians: dict[int, float] = {}
    for tier, rows in exam.by_tier.items():
        values = [float(r["effort"]) for r in rows if r.get("effort") is not None]
        if values:
            medians[tier] = statistics.median(values)
    if len(medians) < 2:
        return skipped("the task declares no `effort`" if not medians else "only one tier")
    listed = ", ".join(f"{medians[tier]:g}" for tier in sorted(medians))
    falls = [tier for tier in sorted(medians)[1:] if medians[tier] < medians[max(t for t in medians if t < tier)]]
    return failed(f"it falls at tier {falls[0]}: {listed}") if falls else passed(f"median effort by tier: {listed}")


@question("leaks", "keep the answer out of the prompt and out of infos; `expose_answer=True` shows it to those who ask")
def leaks(exam: Exam) -> Finding:
    """Neither the first message nor a reset's info holds the answer."""
    if not exam.sample:
        return skipped("no problem could be made")
    found = [
        f"info[{name!r}] holds the answer"
        for s in exam.sample
        for name, value in s.info.items()
        if _is_answer(value, s, named=name not in LABELS)
    ]
    told = [s for s in exam.sample if s.told]
    share = len(told) / len(exam.sample)
    if share > exam.floor("leaks", MOST_TOLD):
        example = shown(str(told[0].final or told[0].reference))
        found.append(f"{percent(share)} of the prompts hold the answer, e.g. {example}")
    return judged(found, f"{len(exam.sample)} prompts and infos say nothing of the answer")


def _is_answer(value: object, specimen: Specimen, named: bool) -> bool:
    """Whether a value of an info is the answer, or names it; a small number or single character does so by chance."""
    if isinstance(value, (dict, list)):
        parts = value.values() if isinstance(value, dict) else value
        return any(_is_answer(part, specimen, named) for part in parts)
    text, reference = str(value), str(specimen.reference)
    if text in (specimen.right, specimen.final):
        return True
    if len(reference) <= 2:
        return False
    return text == reference or (named and re.search(rf"(?<!\w){re.escape(reference)}(?!\w)", text) is not None)


def _p95(costs: list[float]) -> float:
    return sorted(costs)[min(len(costs) - 1, int(0.95 * len(costs)))] if costs else float("inf")


def _cost(exam: Exam, costs: list[float], again: Callable[[], float], limit: float, what: str) -> Finding:
    """Judge the cost that nineteen in twenty keep to; one that seems too high on other problems, four times over."""
    p95 = _p95(costs)
    if p95 > limit:
        p95 = exam.steady(again)
    text = f"95 in 100 take at most {1000 * p95:.2f} ms of CPU {what}"
    return passed(text) if p95 <= limit else failed(f"{text} (limit {1000 * limit:g} ms)")
