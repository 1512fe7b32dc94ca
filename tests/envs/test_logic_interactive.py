"""Puzzles of several turns: what is told is true, good play always gets there, and stalling is not paid."""

from __future__ import annotations

import contextlib
import math
import re
from itertools import product
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grpo_envs.logic.mastermind import SIZES, Breaking, first_left, mastermind, sift
from grpo_envs.logic.solvers.codes import all_codes, opening, told, worst_turns
from grpo_envs.logic.solvers.questions import (
    LONGEST,
    Condition,
    NoQuestionError,
    Person,
    Question,
    can_be_found,
    read_question,
)
from grpo_envs.logic.twenty_questions import SIZES as ASKED
from grpo_envs.logic.twenty_questions import halve, move, twenty_questions
from grpo_gym import Problem, Reason, Rng, Task
from tests.envs.interactive_play import PLAYERS, measured, optimal, play, some

DOCS = Path(__file__).resolve().parents[2] / "docs" / "interactive-puzzles.md"


def hidden(code: str, letters: str, turns: int = 4) -> Problem:
    meta = {"letters": letters, "places": len(code), "turns": turns}
    return Problem(f"{letters} {code}", code, meta=meta, task="logic.mastermind")


def talk(of: Task, problem: Problem, *actions: str) -> list[str]:
    """What is said to actions."""
    assert of.dialogue is not None
    dialogue = of.dialogue(problem)
    return [dialogue.reply(action).message for action in actions]


# --- mastermind


def crossed_off(code: str, guess: str) -> tuple[int, int]:
    """What a guess is told, by crossing letters off a list as one does on paper."""
    open_code = [a for a, b in zip(code, guess, strict=True) if a != b]
    open_guess = [b for a, b in zip(code, guess, strict=True) if a != b]
    elsewhere = 0
    for letter in open_guess:
        if letter in open_code:
            open_code.remove(letter)
            elsewhere += 1
    return sum(a == b for a, b in zip(code, guess, strict=True)), elsewhere


@pytest.mark.parametrize(("letters", "places"), [("ABC", 2), ("ABC", 3), ("AB", 5), ("ABCD", 4)])
def test_each_letter_of_the_code_answers_for_one_letter_of_the_guess(letters, places):
    for code, guess in product(all_codes(letters, places), repeat=2):
        assert told(code, guess) == crossed_off(code, guess), (code, guess)


@pytest.mark.parametrize(
    ("code", "guess", "said"),
    [
        ("AABB", "BBAA", "0 in place, 4 elsewhere"),
        ("ABBB", "AAAC", "1 in place, 0 elsewhere"),
        ("AAAB", "BACC", "1 in place, 1 elsewhere"),
        ("ABCA", "AABC", "1 in place, 3 elsewhere"),
    ],
)
def test_doubles_are_counted_once(code, guess, said):
    assert talk(mastermind, hidden(code, "ABC"), guess) == [f"Guess {guess}: {said}. 3 guesses left."]


@pytest.mark.parametrize("tier", [0, 1, 2])
def test_the_oracle_breaks_every_code_of_a_tier_within_its_guesses(tier):
    size = SIZES[tier]
    letters = "KQXZ"[: size.letters]
    problems = [hidden(code, letters, size.turns) for code in all_codes(letters, size.places)]
    result = measured(mastermind, optimal(sift), problems)
    assert (result.won, result.most) == (1, size.turns)


@pytest.mark.parametrize("tier", mastermind.tiers)
def test_the_guesses_that_a_tier_allows_are_what_the_strategy_needs_in_the_worst_case(tier):
    """All codes at once: the answers split them as the episodes would."""
    letters = "ABCDEF"[: SIZES[tier].letters]
    most, total = worst_turns(all_codes(letters, SIZES[tier].places), opening(letters, SIZES[tier].places))
    assert most == SIZES[tier].turns
    assert f"{total / len(letters) ** SIZES[tier].places:.2f}, {most}" in row_of("mastermind", tier)


def test_a_player_who_takes_any_code_that_fits_does_not_always_get_there():
    problems = [hidden(code, "ABCD", SIZES[3].turns) for code in all_codes("ABCD", 4)]
    assert 0.7 < measured(mastermind, optimal(first_left), problems).won < 0.95


def test_a_guess_that_cannot_be_right_is_told_which_answer_it_overlooks():
    said = talk(mastermind, hidden("AB", "ABC"), "AA", "CC", "AA")
    assert said[0] == "Guess AA: 1 in place, 0 elsewhere. 3 guesses left."
    assert said[1] == "Guess CC: 0 in place, 0 elsewhere. It could not be right: see what AA was told. 2 guesses left."
    assert "see what AA was told. 1 guess left." in said[2]


@pytest.mark.parametrize(
    ("action", "why"),
    [
        ("", r"no \boxed{...} and no final-answer line"),
        ("ABC", "a guess is 2 letters, each one of A, B, C"),
        ("AD", "a guess is 2 letters, each one of A, B, C"),
        ("AB or BA", "a guess is 2 letters"),
        ("AB, BA, CC", "a guess is 2 letters"),
        ("__import__('os')", "a guess is 2 letters"),
        ("A" * 100_000, "a turn of 100000 characters"),
        (r"\boxed{A}\boxed{B}", "several different answers"),
    ],
)
def test_what_is_no_guess_uses_up_a_turn_and_is_told_why(action, why):
    (said,) = talk(mastermind, hidden("AB", "ABC"), action)
    assert said.startswith("No guess: ")
    assert why in said
    assert said.endswith("3 guesses left.")


@pytest.mark.parametrize("action", ["AB", " a b ", "A, B", r"\boxed{AB}", "I think so.\nThe answer is AB.", "**AB**"])
def test_a_guess_may_be_spelled_in_many_ways(action):
    assert talk(mastermind, hidden("AB", "ABC"), action) == ["Right."]


def test_guesses_are_counted_by_the_tier_and_the_last_one_still_counts():
    for last, paid, reason in (("BA", 0.0, "wrong"), ("AB", 1.0, "correct"), ("?", 0.0, "unparseable")):
        dialogue = Breaking(hidden("AB", "ABC", turns=2))
        assert dialogue.reply("CC").verdict is None
        verdict = dialogue.reply(last).verdict
        assert verdict is not None
        assert (float(verdict), str(verdict.reason)) == (paid, reason)
        assert verdict.feedback == ("" if paid else "the code was AB")
    assert mastermind.max_turns == max(size.turns for size in SIZES)


def test_the_oracle_goes_on_from_whatever_was_guessed_before():
    for seed in range(20):
        problem = mastermind.problem(1, "train", seed, 0)
        transcript = [("environment", problem.prompt)]
        dialogue = Breaking(problem)
        letters, places = problem.meta["letters"], problem.meta["places"]
        for action in (letters[0] * places, "nothing"):
            transcript += [("policy", action), ("environment", dialogue.reply(action).message)]
        guess = sift(problem, transcript)
        assert told(problem.reference, letters[0] * places) == told(guess[-places - 1 : -1], letters[0] * places)


# --- twenty questions


def people_in(prompt: str) -> list[dict[str, Any]]:
    rows = re.findall(r"^(\w+): (\w+) hat, (\w+), floor (\d)$", prompt, re.MULTILINE)
    return [{"name": name, "hat": hat, "pet": pet, "floor": int(floor)} for name, hat, pet, floor in rows]


def yes(text: str, person: dict[str, Any]) -> bool:
    """Whether a question's answer is yes: by words, for questions that the tests write themselves."""
    truths = []
    for piece in re.split(" and | or ", text):
        if piece.startswith("name in "):
            truths.append(person["name"] in re.split(", ?", piece[8:]))
            continue
        attribute, relation, value = re.fullmatch(r"(\w+) (is not|is|<=|>=|<|>|=) (\w+)", piece).groups()  # type: ignore[union-attr]
        found = str(person[attribute])
        less = (found < value) - (found > value)  # of words, and of single digits
        wanted = {"<": (1,), ">": (-1,), "<=": (0, 1), ">=": (-1, 0), "is": (0,), "=": (0,), "is not": (-1, 1)}
        truths.append(less in wanted[relation])
    return any(truths) if " or " in text else all(truths)


def any_text(people: list[dict[str, Any]], rng: Rng) -> str:
    pieces = []
    for _ in range(rng.integer(1, 4)):
        kind = rng.below(3)
        if kind == 0:
            names = rng.sample([p["name"] for p in people], rng.integer(1, 4))
            pieces.append(f"name in {', '.join(names)}")
        elif kind == 1:
            attribute = rng.choice(["hat", "pet"])
            pieces.append(f"{attribute} {rng.choice(['is', 'is not'])} {rng.choice(people)[attribute]}")
        else:
            relation = rng.choice(["is", "is not", "=", "<", ">", "<=", ">="])
            pieces.append(f"floor {relation} {rng.integer(1, 9)}")
    return rng.choice([" and ", " or "]).join(pieces)


def test_answers_are_what_the_prompt_says():
    rng, answers = Rng("questions"), []
    for seed in range(40):
        problem = twenty_questions.problem(seed % 6, "train", seed, 0)
        people = people_in(problem.prompt)
        assert len(people) == len({p["name"] for p in people}) == ASKED[seed % 6].people
        meant = next(p for p in people if p["name"] == problem.reference)
        for _ in range(10):
            text = any_text(people, rng)
            if len(text) > LONGEST:
                continue
            said = talk(twenty_questions, problem, f"ask: {text}")[0]
            assert said.startswith("Yes." if yes(text, meant) else "No."), (text, meant)
            answers.append(said[:3])
    assert 80 < answers.count("Yes") < 320


@pytest.mark.parametrize("tier", twenty_questions.tiers)
def test_halving_finds_everybody_within_the_turns(tier):
    size = ASKED[tier]
    for problem in some(twenty_questions, tier, 4 if tier < 3 else 1):
        people = problem.meta["people"]
        for person in people[:: 1 if tier < 3 else 4]:
            meant = Problem(problem.prompt, person["name"], meta=problem.meta, task=problem.task)
            reward, turns = play(twenty_questions, meant, optimal(halve), Rng("none"))
            assert (reward, turns <= size.turns) == (1, True)
    bound = math.ceil(math.log2(size.people)) + 1
    assert size.turns - bound in ((0, 1) if tier == 0 else (0,))


def test_people_whom_no_question_halves_are_not_posed():
    """Of 64 people drawn at random, one crowd in fourteen has no half that two conditions describe."""
    for problem in some(twenty_questions, 5, 80):
        assert can_be_found(problem.meta["people"], problem.meta["turns"])


def test_more_people_than_bits_cannot_be_told_apart():
    people = twenty_questions.problem(2, "train", 1, 0).meta["people"]
    assert can_be_found(people, 5)
    assert not can_be_found(people, 4)
    alike: list[Person] = [{"name": f"N{k}", "hat": "red", "pet": "cat", "floor": 1} for k in range(32)]
    assert not can_be_found(alike, 6)  # no condition tells them apart, and a list holds eight names


@pytest.mark.parametrize(
    ("action", "why"),
    [
        ("", "a turn ends with one line"),
        ("is the hat red?", "a turn ends with one line"),
        ("ask: hat is red\nask: pet is cat", "a turn ends with one line"),
        ("ask: hat is red\nname: Ada", "a turn ends with one line"),
        ("ask: hat is red\nfor I wonder", "a turn ends with one line"),
        ("ask: hat is red and pet is cat or floor > 4", 'join all conditions by "and", or all by "or"'),
        ("ask: " + " or ".join(["hat is red"] * 5), "5 conditions, at most 4"),
        ("ask: name in " + ", ".join("ABCDEFGHI"), "9 names, at most 8"),
        ("ask: " + "hat is red and " * 20 + "hat is red", "longer than 200 characters"),
        ("ask: shoe is red", "the attributes are name, hat, pet, floor"),
        ("ask: hat is purple", "nobody has that hat"),
        ("ask: hat > 4", 'a word "is" or "is not" another'),
        ("ask: hat in red, blue", 'a word "is" or "is not" another'),
        ("ask: floor > four", "floor is a number"),
        ("ask: floor > 4 + 1", "floor is a number"),
        ("ask: __import__('os').getcwd()", "a condition names an attribute"),
        ("ask: (hat is red)", "a condition names an attribute"),
        ("name: Nobody", "name one of the people"),
        ("name: Ada, Ben", "name one of the people"),
        ("ask: " + "x" * 1_000_000, "at most 20000 characters"),
    ],
)
def test_what_is_no_question_uses_up_a_turn_and_is_told_why_with_an_example(action, why):
    people = [
        {"name": name, "hat": hat, "pet": "cat", "floor": 3}
        for name, hat in zip(("Ada", "Ben", *"ABCDEFGHI"), ("red", "blue", *["red"] * 9), strict=True)
    ]
    problem = Problem("", "Ada", meta={"people": people, "turns": 3})
    (said,) = talk(twenty_questions, problem, action)
    assert said.startswith("Not understood: ")
    assert why in said
    assert said.endswith("For example: ask: hat is red and floor > 4. 2 turns left.")


def test_a_wrong_name_ends_the_game_and_so_does_the_last_question():
    problem = some(twenty_questions, 0, 1)[0]
    other = next(p["name"] for p in problem.meta["people"] if p["name"] != problem.reference)
    for actions in ([f"name: {other}"], ["ask: floor > 4"] * ASKED[0].turns, [""] * ASKED[0].turns):
        assert twenty_questions.dialogue is not None
        dialogue = twenty_questions.dialogue(problem)
        verdicts = [dialogue.reply(action).verdict for action in actions]
        assert verdicts[:-1] == [None] * (len(actions) - 1)
        assert verdicts[-1] is not None
        assert (verdicts[-1].value, verdicts[-1].feedback) == (0.0, f"it was {problem.reference}")


@pytest.mark.parametrize(
    ("action", "question"),
    [
        ("ask: hat is red", Question((Condition("hat", "is", ("red",)),))),
        ("Let me halve them.\n  ASK :  Hat IS Red ? ", Question((Condition("hat", "is", ("red",)),))),
        ("ask: name in ada,Ben.", Question((Condition("name", "in", ("Ada", "Ben")),))),
        ("ask: floor>2", Question((Condition("floor", ">", (2,)),))),
    ],
)
def test_a_question_may_be_spelled_in_many_ways(action, question):
    people: list[Person] = [{"name": n, "hat": "red", "pet": "cat", "floor": 1} for n in ("Ada", "Ben")]
    kind, said = move(action)
    assert kind == "ask"
    assert read_question(said, people) == question


# --- all of them


@pytest.mark.parametrize("identifier", ["grpo/Logic.Mastermind-v0", "grpo/Logic.TwentyQuestions-v0"])
@settings(max_examples=100, deadline=None)
@given(text=st.text())
def test_no_text_breaks_an_episode(identifier, text):
    env = gymnasium.make(identifier)
    env.reset(seed=1)
    _, reward, terminated, truncated, info = env.step(text)
    assert (reward, terminated, truncated, info["abstain"]) == (0.0, False, False, 0.0)
    assert info["reason"] != str(Reason.SCORER_ERROR)


@given(text=st.text(alphabet="hatispeflornamdc<>=,0123 redABu"))
def test_no_text_breaks_the_language(text):
    people: list[Person] = [{"name": "Ada", "hat": "red", "pet": "cat", "floor": 1}]
    with contextlib.suppress(NoQuestionError):
        assert read_question(text, people).holds(people[0]) in (True, False)


@pytest.mark.parametrize("name", PLAYERS)
@pytest.mark.parametrize("tier", [0, pytest.param(5, marks=pytest.mark.long)])
def test_the_players_do_as_well_as_the_docs_say(name, tier):
    of, players = PLAYERS[name]
    cells = re.findall(r"(\d+) %", row_of(name, tier))
    for player, cell in zip(players.values(), cells, strict=True):
        won, result = int(cell) / 100, measured(of, player, some(of, tier, 80))
        error = math.sqrt(max(won * (1 - won), 0.01) * (1 / 80 + 1 / 300))
        assert abs(result.won - won) <= 3 * error, (cell, result)


def row_of(name: str, tier: int) -> str:
    """The row of the table in the docs."""
    section = DOCS.read_text(encoding="utf-8").split(f"`logic.{name}`", 1)[1]
    return next(line for line in section.splitlines() if line.startswith(f"| {tier} |"))
