"""Deductions in the wordings that people and models use: what is read when it is true is caught when it is false."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from grpo_gym import Problem, Rng, Task
from grpo_gym.registration import load_tasks
from grpo_rewards.logic import PuzzleReward
from grpo_rewards.soundness import Soundness

TASKS = {name: load_tasks(f"grpo/logic.{name}")[0] for name in ("knights", "truth_chain", "zebra", "propositional")}
KNIGHTS, CHAIN, ZEBRA, FORMULAS = TASKS.values()


@cache
def problem(name: str, tier: int, number: int) -> Problem:
    source: Any = TASKS[name].source
    drawn: Problem = source.generate(Rng("wordings", name, tier, number), tier)
    return drawn


def checked(task: Task, text: str, puzzle: Problem) -> Soundness:
    assert isinstance(task.reward, PuzzleReward)
    assert task.reward.soundness is not None
    return task.reward.soundness(text, puzzle)


def judged(task: Task, text: str, puzzle: Problem) -> str:
    """What the check says: it follows, it does not, or nothing was read."""
    found = checked(task, text, puzzle)
    return "unsound" if found.unsound else "sound" if found.checked else "unread"


def assert_twins(task: Task, puzzle: Problem, true: str, false: str) -> None:
    assert judged(task, true, puzzle) == "sound", true
    assert judged(task, false, puzzle) == "unsound", false


# --- what stands around a claim


FRAMES = (
    "{}.",
    "Clearly, {}.",
    "We deduce that {}.",
    "We can conclude {}.",
    "Conclusion: {}.",
    "Therefore, we know that {}.",
    "It follows that {}.",
    "We have shown that {}.",
    "\u2234 {}.",
    "$\\therefore$ {}.",
    "In the end, {}.",
    "Note that {}.",
    "This means {}.",
    "From {all} {}.",
    "Then by {all} {}.",
    "By clues {all}, we get that {}.",
    "{} (from {all}).",
    "{all} => {}.",
    "- **{}**",
    "So {}, contradiction.",
    "{}, as {}.",
    "Since {}, {}.",
    "{} because {}.",
    "Let us look for a contradiction. {}.",
)


@pytest.mark.parametrize("frame", FRAMES)
def test_what_stands_around_a_claim_neither_hides_nor_breaks_it(frame):
    puzzle = problem("knights", 1, 0)
    for pair in puzzle.reference.split(", "):
        name, kind = pair.split(": ")
        other = {"knight": "knave", "knave": "knight"}[kind]
        framed = [
            frame.replace("{}", f"{name} is a {said}").replace("{all}", ", ".join("123")) for said in (kind, other)
        ]
        assert_twins(KNIGHTS, puzzle, *framed)


# --- who is what


PEOPLE = (
    "{name} is a {kind}",
    "{name} is the {kind}",
    "{name}: {kind}",
    "{name} = {kind}",
    "{name} must be a {kind}",
    "{name} has to be a {called}",
    "{name} can only be a {kind}",
    "{name} cannot be a {other}",
    "{name} can't be a {other}",
    "{name} is therefore a {kind}",
    "{name} must therefore be a {kind}",
    "{name} is not a {other}",
    "{name} isn't a {other}",
    "{name} {does}",
    "{name} always {does}",
    "{name} must {do}",
    "{name} does not {never}",
    "{name} cannot {never}",
    "{name} is {seems}",
    "{name}: {answer}",
    "{name}: {does}",
    "{name} -> {answer}",
    "{name}'s statement is {true}",
    "what {name} says is {true}",
    "it is not true that {name} is a {other}",
)
KEYS = ("kind", "other", "called", "do", "never", "does", "answer", "seems", "true")
HONEST = ("knight", "knave", "truth-teller", "tell the truth", "lie", "tells the truth", "truth", "honest", "true")
LYING = ("knave", "knight", "liar", "lie", "tell the truth", "lies", "lies", "lying", "false")


def said(wording: str, name: str, honest: bool) -> str:
    return wording.format(name=name, **dict(zip(KEYS, HONEST if honest else LYING, strict=True)))


@pytest.mark.parametrize("wording", PEOPLE)
@pytest.mark.parametrize("task", [KNIGHTS, CHAIN], ids=["knights", "truth_chain"])
def test_who_is_what_is_read_in_many_words(task, wording):
    puzzle = problem(task.name.removeprefix("logic."), 1, 1)
    for pair in puzzle.reference.split(", "):
        name, kind = pair.split(": ")
        honest = kind in ("knight", "truth")
        assert_twins(task, puzzle, f"{said(wording, name, honest)}.", f"{said(wording, name, not honest)}.")


def test_several_people_are_read_together():
    puzzle = problem("knights", 3, 2)
    pairs = [pair.split(": ") for pair in puzzle.reference.split(", ")]
    honest = {name: kind == "knight" for name, kind in pairs}
    for first, second in zip(honest, list(honest)[1:], strict=False):
        same = honest[first] == honest[second]
        kinds = {True: "knights", False: "knaves"}
        both = kinds[honest[first]], kinds[not honest[first]]
        alike = ("the same kind", "different kinds") if same else ("different kinds", "the same kind")
        assert_twins(KNIGHTS, puzzle, *(f"{first} and {second} are of {word}." for word in alike))
        if same:
            assert_twins(KNIGHTS, puzzle, *(f"Both {first} and {second} are {word}." for word in both))
            assert_twins(KNIGHTS, puzzle, *(f"{first} and {second} must both be {word}." for word in both))
            assert_twins(KNIGHTS, puzzle, *(f"Neither {first} nor {second} is a {word[:-1]}." for word in both[::-1]))
            verbs = {"knights": "tell the truth", "knaves": "lie"}
            assert_twins(KNIGHTS, puzzle, *(f"{first} and {second} both {verbs[word]}." for word in both))


# --- who lives where

PLACES = (
    "{value} in house {here}",
    "{value} is in house {here}",
    "the {value} lives in house {here}",
    "{value} must be in house {here}",
    "{value} must live in house {here}",
    "{value} can only be in house {here}",
    "{value}: house {here}",
    "{value} is in the {ordinal} house",
    "house {here}: {value}",
    "house {here} has {value}",
    "{here}: {value}",
    "{value} not in house {there}",
    "{value} is not in house {there}",
    "{value} isn't in house {there}",
    "{value} does not live in house {there}",
    "{value} doesn't live in house {there}",
    "{value} cannot live in house {there}",
    "{value} can't be in house {there}",
    "{value} cannot be in houses {there} or {other}",
    "{value} is not in houses {there} and {other}",
    "house {there} is not {value}",
    "house {here}: {value}, {second}",
    "{here}: {value}, {second}",
    "house {here} has {value} and {second}",
    "{value} is {second}",
    "{value} has {second}",
    "{value} drinks the {second}",
    "{value} = {here}",
    "{value} in {here}",
    "{value} takes house {here}",
    "{value} not in {there}",
    "the person in house {here} is {value}",
    "house {there} does not have {value}",
    "{value} must be the {second}",
)


EITHER = (
    "{value} is in house {here} or {there}",
    "{value} in {here}/{there}",
    "{value} is in house {here} or in house {there}",
)
ORDINALS = ("first", "second", "third")


def households(puzzle: Problem) -> list[list[str]]:
    return [row.split(": ")[1].split(", ") for row in puzzle.reference.split("; ")]


@pytest.mark.parametrize("wording", PLACES)
def test_who_lives_where_is_read_in_many_words(wording):
    puzzle = problem("zebra", 1, 3)
    rows = households(puzzle)

    def worded(value: str, here: int, there: int) -> str:
        other, second = 3 - here - there, rows[here][1]
        places = {"here": here + 1, "there": there + 1, "other": other + 1, "ordinal": ORDINALS[here]}
        return f"{wording.format(value=value, second=second, **places)}."

    for house, row in enumerate(rows):
        elsewhere = (house + 1) % 3
        assert_twins(ZEBRA, puzzle, worded(row[0], house, elsewhere), worded(row[0], elsewhere, house))


def test_houses_in_question_and_conditions_on_houses_are_read():
    puzzle = problem("zebra", 1, 3)
    rows = households(puzzle)
    for house, (value, second, *_) in enumerate(rows):
        here, there, other = house + 1, (house + 1) % 3 + 1, (house + 2) % 3 + 1
        for wording in EITHER:
            true, false = ((here, there), (there, other))
            texts = (wording.format(value=value, here=one, there=two) for one, two in (true, false))
            assert_twins(ZEBRA, puzzle, *texts)
        condition = f"If {value} is in house {here}, then {second} is in house"
        assert_twins(ZEBRA, puzzle, f"{condition} {here}.", f"{condition} {there}.")


# --- letters


@pytest.mark.parametrize(
    "wording",
    ["{} is {}", "{}: {}", "{} = {}", "{} must be {}", "{} cannot be {no}", "{} is not {no}", "{} isn't {no}"],
)
def test_letters_are_read_in_many_words(wording):
    puzzle = problem("propositional", 1, 4)
    pairs = [pair.split(": ") for pair in puzzle.reference.split(", ")]
    for letter, value in pairs:
        if value != "open":
            other = {"true": "false", "false": "true"}[value]
            assert_twins(
                FORMULAS, puzzle, wording.format(letter, value, no=other), wording.format(letter, other, no=value)
            )


# --- cases


def people(puzzle: Problem) -> list[tuple[str, str, str]]:
    """Everybody with what he or she is, and is not."""
    pairs = [pair.split(": ") for pair in puzzle.reference.split(", ")]
    return [(name, kind, {"knight": "knave", "knave": "knight"}[kind]) for name, kind in pairs]


HEADS = (
    "If {}:",
    "**If {}:**",
    "Case 1: {}.",
    "Case A: {}.",
    "Case {}:",
    "Suppose {}.",
    "Suppose, for the sake of contradiction, that {}.",
    "Assume towards a contradiction that {}.",
    "Assumption: {}.",
    "Let us consider the case that {}.",
    "Suppose {}. This will lead to a contradiction.",
    "Suppose {}. We look for a contradiction.",
    "Suppose {}. Let us see whether this is a contradiction.",
    "Suppose {}. We must find a contradiction.",
    "Suppose {}. Can we find a contradiction?",
    "Suppose {}. A contradiction would follow.",
)
ENDS = (
    "Contradiction",
    "This is a contradiction",
    "That is a clear contradiction",
    "This leads to a contradiction",
    "We get a contradiction",
    "A contradiction",
    "This contradicts statement 1",
    "This directly contradicts statements 1, 2 and 3",
    "But that is impossible",
    "Which is absurd",
    "From 1, 2, 3: contradiction",
    "This violates clue 1",
    "This is inconsistent",
    "This cannot be",
)


@pytest.mark.parametrize("head", HEADS)
def test_a_head_opens_a_case_in_which_what_follows_is_judged(head):
    puzzle = problem("knights", 1, 5)
    (name, kind, other), (second, _, wrong), *_ = people(puzzle)
    wrongly = f"{head.replace('{}', f'{name} is a {other}')}\n{second} is a {wrong}."
    end = f"\nContradiction, so {name} is a {kind}."
    assert judged(KNIGHTS, wrongly + end, puzzle) == "sound"
    assert judged(KNIGHTS, wrongly, puzzle) == "unsound", "the case is not given up"
    assert judged(KNIGHTS, f"{wrongly}{end}\n{second} is a {wrong}.", puzzle) == "unsound"
    rightly = head.replace("{}", f"{name} is a {kind}")
    assert judged(KNIGHTS, f"{rightly}\n{second} is a {wrong}.", puzzle) == "unsound"
    assert judged(KNIGHTS, f"{rightly}\nContradiction, so {name} is a {other}.", puzzle) == "unsound"


@pytest.mark.parametrize("end", ENDS)
def test_what_concludes_a_case_is_read_in_many_words(end):
    puzzle = problem("knights", 0, 6)
    for name, kind, other in people(puzzle):
        end = end.replace("1, 2 and 3", "1 and 2").replace("1, 2, 3", "1, 2")
        if "clue 1" in end or "statement 1" in end:
            end = end.replace("clue 1", "clues 1 and 2").replace("statement 1", "statements 1 and 2")
        assert judged(KNIGHTS, f"Suppose {name} is a {other}.\n{end}, so {name} is a {kind}.", puzzle) == "sound"
        assert judged(KNIGHTS, f"Suppose {name} is a {kind}.\n{end}, so {name} is a {other}.", puzzle) == "unsound"


def test_one_case_follows_another():
    puzzle = problem("knights", 1, 7)
    (name, kind, other), (second, right, wrong), *_ = people(puzzle)
    for head in ("If {}:", "Case: {}.", "Suppose {}."):
        this, that = (head.replace("{}", f"{name} is a {said}") for said in (other, kind))
        assert judged(KNIGHTS, f"{this}\n{second} is a {wrong}.\n{that}\n{second} is a {right}.", puzzle) == "sound"
        assert judged(KNIGHTS, f"{this}\n{second} is a {wrong}.\n{that}\n{second} is a {wrong}.", puzzle) == "unsound"
        assert judged(KNIGHTS, f"{that}\n{second} is a {right}.\n{this}\n{second} is a {right}.", puzzle) == "unsound"


def test_what_is_said_of_all_cases_is_judged_outside_of_them():
    puzzle = problem("knights", 1, 7)
    (name, kind, other), (second, right, wrong), *_ = people(puzzle)
    cases = "".join(f"If {name} is a {said}:\n{second} is a {right}.\n" for said in (kind, other))
    assert judged(KNIGHTS, cases, puzzle) == "unsound", "the last case is wrong and not given up"
    for form in ("In both cases {}.", "So in either case, {}.", "In each of these cases we see that {}."):
        claims = (form.replace("{}", f"{second} is a {said}") for said in (right, wrong))
        assert_twins(KNIGHTS, puzzle, *(cases + claim for claim in claims))


def test_a_contradiction_may_be_said_twice():
    puzzle = problem("knights", 2, 9)
    (name, kind, other), (second, right, wrong), *_ = people(puzzle)
    twice = f"Suppose {second} is a {right}.\nSuppose {name} is a {other}.\nThis is impossible.\nContradiction!\n"
    assert judged(KNIGHTS, f"{twice}This contradiction shows that {name} is a {kind}.", puzzle) == "sound"
    assert judged(KNIGHTS, f"{twice}{second} is a {wrong}.", puzzle) == "unsound"


def test_a_condition_in_one_line_leaves_nothing_behind():
    puzzle = problem("knights", 1, 8)
    (name, kind, other), (second, right, wrong), *_ = people(puzzle)
    for form in ("If {}, then {}.", "If {}, {}.", "If {}: {}.", "{} => {}.", "{} implies that {}.", "Assuming {}, {}."):
        ground, claim = f"{name} is a {kind}", f"{second} is a {right}"
        assert_twins(KNIGHTS, puzzle, form.format(ground, claim), form.format(ground, f"{second} is a {wrong}"))
        absurd = form.format(f"{name} is a {other}", f"{second} is a {wrong}")
        assert judged(KNIGHTS, absurd, puzzle) in ("unread", "sound")
        assert judged(KNIGHTS, f"{absurd}\n{second} is a {wrong}.", puzzle) == "unsound"
    chained = f"If {name} is a {kind}, then what {name} says is true, so {second} is a "
    assert_twins(KNIGHTS, puzzle, f"{chained}{right}.", f"{chained}{wrong}.")
    assert judged(KNIGHTS, f"If {name} is a {other}, then she lies, so {second} is a {wrong}.", puzzle) == "unread"
    shown = f"If {name} is a {other}, then {second} is a {wrong}, so we get a contradiction, so {name} is a {kind}."
    assert judged(KNIGHTS, shown, puzzle) == "sound"
    refuted = f"If {name} is a {other}: contradiction, so {name} is a {kind}."
    assert judged(KNIGHTS, refuted, puzzle) == "sound"
    assert judged(KNIGHTS, refuted.replace(kind, "?").replace(other, kind).replace("?", other), puzzle) == "unsound"


# --- what follows from the impossible


def test_what_follows_because_the_case_is_impossible_may_be_used_in_it():
    """The claim follows from all, the contradiction only from the claim: both are right."""
    for number in range(40):
        puzzle = problem("knights", 2, number)
        (name, kind, other), *rest = people(puzzle)
        for second, right, wrong in rest:
            for claimed in (right, wrong):
                case = f"Suppose {name} is a {other}.\nThen {second} is a {claimed}.\nThen {second} is a "
                opposite = {"knight": "knave", "knave": "knight"}[claimed]
                end = f"By elimination: contradiction, so {name} is a {kind}."
                assert judged(KNIGHTS, f"{case}{opposite}.\n{end}", puzzle) == "sound"
                assert judged(KNIGHTS, f"{case}{opposite}.\n{end}\nThen {second} is a {wrong}.", puzzle) == "unsound"


@pytest.mark.parametrize(("task", "tier"), [(task, tier) for task in TASKS.values() for tier in task.tiers])
@pytest.mark.parametrize("count", [8, pytest.param(80, marks=pytest.mark.long)])
def test_no_working_is_refused(task, tier, count):
    name = task.name.removeprefix("logic.")
    for number in range(3 if (name, count) == ("zebra", 8) and tier > 3 else count):
        source: Any = task.source
        drawn = source.generate(Rng("workings", name, tier, number), tier)
        assert checked(task, str(drawn.solution), drawn).unsound == (), (tier, number)
