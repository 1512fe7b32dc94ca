"""Deductions in a response: what follows is sound, the first that does not is named, and no padding hides it."""

from __future__ import annotations

import random
import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_gym import Problem
from grpo_rewards.logic import Findings, PuzzleReward
from grpo_rewards.logic.deduction import MAX_DEDUCTIONS, Worlds, _Argument, check_deductions
from grpo_rewards.logic.sentences import sentences

PEOPLE = ("ann", "bob", "cy")
FULL = 0xFF
KNIGHT = {name: sum(1 << world for world in range(8) if world >> j & 1) for j, name in enumerate(PEOPLE)}


def reader(text: str) -> int | None:
    """The smallest language: "Ann is a knave", of three people."""
    match = re.fullmatch(r"(\w+) is a (knight|knave)", text, re.IGNORECASE)
    mask = KNIGHT.get(match[1].casefold()) if match else None
    return mask if match is None or mask is None or match[2].casefold() == "knight" else FULL & ~mask


def says(who: str, mask: int) -> int:
    return FULL & ~(KNIGHT[who] ^ mask)


# 1 Ann: "Bob is a knave."  2 Bob: "Ann and Cy are of the same kind."  3 Cy: "Ann is a knave."
PREMISES = {
    "1": says("ann", FULL & ~KNIGHT["bob"]),
    "2": says("bob", FULL & ~(KNIGHT["ann"] ^ KNIGHT["cy"])),
    "3": says("cy", FULL & ~KNIGHT["ann"]),
}
THEORY = Worlds(FULL, PREMISES, reader)
LEFT = [w for w in range(8) if all(mask >> w & 1 for mask in PREMISES.values())]


def sound(text: str) -> bool:
    return not check_deductions(text, THEORY).unsound


def test_the_example_has_one_world():
    assert LEFT == [0b001], "Ann is a knight, Bob and Cy are knaves"


# --- the frame of a deduction


@pytest.mark.parametrize(
    ("line", "said", "cited"),
    [
        ("From 2: Bob is a knave.", "Bob is a knave", ("2",)),
        ("From clue 2, Bob is a knave", "Bob is a knave", ("2",)),
        ("By statements 1 and 3: Bob is a knave", "Bob is a knave", ("1", "3")),
        ("By clue 1 and clue 12, we get that Bob is a knave.", "Bob is a knave", ("1", "12")),
        ("2, 4 => Bob is a knave", "Bob is a knave", ("2", "4")),
        ("(2), (4) -> Bob is a knave", "Bob is a knave", ("2", "4")),
        ("$2 \\Rightarrow$ Bob is a knave", "Bob is a knave", ("2",)),
        ("Statement 2 implies that Bob is a knave.", "Bob is a knave", ("2",)),
        ("Bob is a knave (from 2).", "Bob is a knave", ("2",)),
        ("Bob is a knave (2, 3)", "Bob is a knave", ("2", "3")),
        ("Bob is a knave by clue 2.", "Bob is a knave", ("2",)),
        ("By elimination: Bob is a knave.", "Bob is a knave", ()),
        ("So by exclusion, Bob is a knave.", "Bob is a knave", ()),
        ("So Bob is a knave.", "Bob is a knave", None),
        ("Therefore, Bob is a knave.", "Bob is a knave", None),
        ("- **Bob is a knave**", "Bob is a knave", None),
        ("3. From 2: Bob is a knave.", "Bob is a knave", ("2",)),
        ("Step 3: Bob is a knave.", "Bob is a knave", None),
    ],
)
def test_claims_are_found_with_what_they_cite(line, said, cited):
    found = list(sentences(line))
    assert [(s.kind, s.said, s.cited) for s in found] == [("claim", said, cited)]


def test_suppositions_and_contradictions_are_found():
    text = "Suppose Ann is a knight. From 3: contradiction, so Ann is a knave."
    assert [(s.kind, s.said, s.cited, s.concludes) for s in sentences(text)] == [
        ("supposition", "Ann is a knight", None, False),
        ("contradiction", "", ("3",), False),
        ("claim", "Ann is a knave", None, True),
    ]
    assert [s.kind for s in sentences("This contradicts statement 3.")] == ["contradiction"]
    assert next(sentences("This contradicts statement 3.")).cited == ("3",)
    assert [s.kind for s in sentences("There is no contradiction here.")] == []
    assert [s.kind for s in sentences("Assume that Bob is a knave;\nThat is impossible.")] == [
        "supposition",
        "contradiction",
    ]


# --- what follows


@pytest.mark.parametrize(
    "text",
    [
        "Suppose Ann is a knave.\nFrom 1: Bob is a knight.\nFrom 2: Cy is a knave.\nFrom 3: contradiction, so Ann is a "
        "knight.\nFrom 1: Bob is a knave.\nFrom 3: Cy is a knave.",
        "Ann is a knight. So Bob is a knave (from 1).",
        "1, 2, 3 => Ann is a knight",
        "Suppose Ann is a knight. From 1: Bob is a knave.",  # never given up, but it is so
        "Bob is a knave and Cy is a knave.",
        "",
        "Let me think. Who is a knight? Perhaps Bob is a knight. Bob is a knight, says Ann.",
        "I see no contradiction in Bob being a knight.",
        "That would be a contradiction.",  # of nothing that was supposed
        "So Bob is a knight? Is Cy a knight?",
        "\\boxed{Bob is a knight}",
    ],
)
def test_what_follows_is_sound_and_prose_is_left_alone(text):
    assert check_deductions(text, THEORY).unsound == ()


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("From 1: Bob is a knight.", "Bob is a knight"),
        ("From 1: Bob is a knave.", "From 1: Bob is a knave"),  # true, but not for that reason
        ("From 9: Ann is a knight.", "there is no 9"),
        ("So Cy is a knight.", "Cy is a knight"),
        ("So Cy is a knight. \\boxed{x}", "Cy is a knight"),
        ("By elimination: Ann is a knight.", "By elimination: Ann is a knight"),  # nothing is established yet
        ("Ann is a knight. From 2: Bob is a knave.\nFrom 1: Cy is a knight.", "From 2: Bob is a knave"),
        ("Suppose Ann is a knave. From 1: Bob is a knave.", "From 1: Bob is a knave"),
        ("Suppose Ann is a knight. Contradiction, so Ann is a knave.", "Contradiction"),
        ("Suppose Ann is a knave. From 1: contradiction, so Ann is a knight.", "From 1: contradiction"),
        ("Suppose Bob is a knight. Contradiction, so Bob is a knave, so Cy is a knight.", "Cy is a knight"),
        ("Suppose Ann is a knave.\nFrom 1: Bob is a knight.", "never given up"),
        ("Suppose Ann is a knave. Contradiction, so Bob is a knave.", "Contradiction, so Bob is a knave"),
    ],
)
def test_the_first_deduction_that_does_not_follow_is_named(text, named):
    assert named in check_deductions(text, THEORY).unsound[0]


def test_what_is_said_in_a_supposition_is_forgotten_behind_it():
    inside = "Suppose Ann is a knave. From 1: Bob is a knight. From 2: Cy is a knave. From 3: contradiction"
    assert sound(f"{inside}, so Ann is a knight.")
    assert not sound(f"{inside}, so Ann is a knight. From 2: Cy is a knave.")


def test_a_contradictory_supposition_proves_nothing_outside_it():
    absurd = "Suppose Ann is a knave and Ann is a knight. So Cy is a knight. So Bob is a knight."
    assert not sound(absurd)  # it is never given up
    assert check_deductions(f"{absurd} Contradiction.", THEORY).checked == 1, (
        "what follows from everything counts nothing"
    )
    assert not sound(f"{absurd} Contradiction. So Cy is a knight.")
    assert not sound(f"{absurd} Contradiction. From 1: Bob is a knight.")


def test_suppositions_nest():
    text = (
        "Suppose Ann is a knave.\nSuppose Bob is a knave.\nFrom 1: contradiction, so Bob is a knight.\n"
        "From 2: Cy is a knave.\nFrom 3: contradiction, so Ann is a knight.\nFrom 1: Bob is a knave."
    )
    assert sound(text)
    assert not sound(text.replace("so Bob is a knight", "so Cy is a knight"))
    assert not sound(text.replace("From 3: contradiction, so Ann is a knight.\n", ""))


PIECES = (
    "Suppose {}.",
    "If {}:",
    "Case: {}.",
    "If {}, then {}.",
    "{} => {}.",
    "Since {}, {}.",
    "If {}: contradiction, so {}.",
    "{}.",
    "From 1: {}.",
    "From 2: {}.",
    "By 3, {}.",
    "By elimination: {}.",
    "So {}.",
    "In both cases {}.",
    "Contradiction.",
    "From 1: contradiction, so {}.",
    "From 2, 3: contradiction, so {}.",
    "This is impossible.",
)


class Watched(Worlds):
    """Undecided about some claims, as a search with a bound is."""

    def entails(self, given, claim):
        return None if claim == FULL & ~KNIGHT["cy"] and len(given) % 3 == 0 else super().entails(given, claim)


@pytest.mark.parametrize("kind", [Worlds, Watched])
def test_what_is_established_follows_from_premises_and_suppositions(kind, monkeypatch):
    """Whatever order suppositions, cases, conditions and contradictions come in, nothing leaks out of them."""
    rng, seen = random.Random(5), Counter[str]()

    def watched(self, step, take=_Argument.take):
        fault = take(self, step)
        left = [world for world in LEFT if not fault]
        for scope in self.scopes:
            left = [world for world in left if all(mask >> world & 1 for mask in scope.supposed)]
            assert all(mask >> world & 1 for mask in scope.established for world in left)
        seen["fault" if fault else f"depth {min(len(self.scopes), 3)}"] += 1
        return fault

    monkeypatch.setattr(_Argument, "take", watched)
    for _ in range(1500):
        pieces = rng.choices(PIECES, k=rng.randint(2, 9))
        text = "\n".join(pieces)
        while "{}" in text:
            text = text.replace("{}", f"{rng.choice(PEOPLE)} is a {rng.choice(['knight', 'knave'])}", 1)
        check_deductions(text, kind(FULL, PREMISES, reader))
    assert min(seen[key] for key in ("fault", "depth 1", "depth 2", "depth 3")) > 100, seen


# --- what it is worth


PROBLEM = Problem("?", "x")
REWARD = PuzzleReward(
    lambda text, problem: text,
    lambda said, problem: Findings([] if said == "x" else ["wrong"]),
    soundness=lambda response, problem: check_deductions(response, THEORY),
)
RIGHT, FALSE = "Ann is a knight.\nFrom 1: Bob is a knave.\n", "From 2: Bob is a knight.\n"


def test_a_right_answer_over_false_deductions_never_beats_right_and_sound():
    reward = REWARD.crediting(steps=0.4)
    values = [float(reward.score(f"{text}\\boxed{{x}}", PROBLEM)) for text in (RIGHT, "", RIGHT + FALSE, FALSE + RIGHT)]
    assert values == [1.0, 1.0, 0.6, 0.6]
    verdict = reward.score(f"{RIGHT}{FALSE}\\boxed{{x}}", PROBLEM)
    assert verdict.components == {"answer": 1.0, "steps": 0.0}
    assert "does not follow: From 2: Bob is a knight" in verdict.feedback
    assert float(reward.score(f"{RIGHT}\\boxed{{y}}", PROBLEM)) == 0.0
    assert float(REWARD.score(f"{FALSE}\\boxed{{x}}", PROBLEM)) == 1.0  # unread unless asked for


@pytest.mark.parametrize("place", ["before", "behind", "around"])
@pytest.mark.parametrize(
    "padding",
    [
        RIGHT,
        50 * RIGHT,
        "".join(f"{n}. Ann is a knight.\n" for n in range(1, 90)),
        "From 1, 2, 3: Ann is a knight and Bob is a knave and Cy is a knave.\n",
        "Suppose Ann is a knight.\n",
        "Suppose Ann is a knave. Contradiction.\n",
    ],
)
def test_no_padding_restores_what_a_false_deduction_costs(padding, place):
    text = {"before": padding + FALSE, "behind": FALSE + padding, "around": padding + FALSE + padding}[place]
    assert check_deductions(text, THEORY).share == 0.0


def test_a_false_deduction_cannot_hide_behind_too_many():
    claims = [f"{name} is a knight or knave {n}" for name in PEOPLE for n in range(MAX_DEDUCTIONS)]
    theory = Worlds(FULL, PREMISES, lambda text: FULL if "or knave" in text else reader(text))
    assert check_deductions(".\n".join(claims[:MAX_DEDUCTIONS]), theory).unsound == ()
    assert "more than" in check_deductions(".\n".join(claims[: MAX_DEDUCTIONS + 1]), theory).unsound[0]
    assert check_deductions(".\n".join([*claims, FALSE]), theory).share == 0.0


def test_what_a_theory_cannot_decide_is_neither_sound_nor_unsound():
    class Undecided(Worlds):
        def entails(self, given, claim):
            return None

        def consistent(self, given):
            return None

    theory = Undecided(FULL, PREMISES, reader)
    found = check_deductions(f"{FALSE}Suppose Ann is a knight. Contradiction, so Ann is a knave.", theory)
    assert (found.checked, found.unsound, found.share) == (0, (), 1.0)


# --- hostile texts


@given(st.text(alphabet="Ann BobCy is a knightknve.,;:\n123()=>so suppose contradiction from", max_size=200))
def test_no_text_raises(text):
    found = check_deductions(text, THEORY)
    assert found.share in (0.0, 1.0)


@pytest.mark.parametrize(
    "text",
    [
        "1, " * 40_000 + "=> Ann is a knight",
        "From " * 20_000,
        "so " * 40_000,
        "Suppose Ann is a knight. " * 4_000,
        "(" * 100_000,
        "__import__('os').abort() => Ann is a knight",
        "contradiction " * 8_000,
        "x" * 100_000,
    ],
)
def test_long_and_hostile_texts_raise_nothing(text):
    assert check_deductions(text, THEORY).share in (0.0, 1.0)
