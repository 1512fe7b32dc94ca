"""Right answers in the forms people write them in: each is read, and a wrong answer in the same dress earns nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import pytest

from grpo_envs.diagnosis.noisy_or import noisy_or
from grpo_envs.logic.circuit import circuit
from grpo_envs.logic.guess_number import read_guess
from grpo_envs.logic.knights import knights_and_knaves
from grpo_envs.logic.ordering import ordering
from grpo_envs.logic.paths import paths
from grpo_envs.logic.sequence import sequence
from grpo_envs.logic.solvers.questions import NoQuestionError
from grpo_envs.logic.syllogism import LABELS, syllogism
from grpo_envs.logic.twenty_questions import move
from grpo_envs.logic.zebra import zebra
from grpo_gym import Task
from tests.envs.puzzles import boxed, problems, value

Houses = Sequence[tuple[str, list[str]]]
Pairs = Sequence[tuple[str, str]]


def joined(pieces: Sequence[str], by: str = ", ") -> str:
    return by.join(pieces)


def below(lines: Sequence[str]) -> str:
    return "So I have it.\nAnswer:\n" + "\n".join(lines)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    drawn = [head, ["---"] * len(head), *rows]
    return "Answer:\n" + "\n".join(f"| {' | '.join(row)} |" for row in drawn)


def array(rows: Sequence[Sequence[str]], joint: str = " & ") -> str:
    ends = r" \\ "
    return boxed(rf"\begin{{array}}{{|c|c|}} \hline {ends.join(joint.join(row) for row in rows)} \end{{array}}")


# --- houses

HOUSES: dict[str, Callable[[Houses], str]] = {
    "numbered lines": lambda h: below([f"{n}. {joined(who)}" for n, who in h]),
    "numbered lines in a box": lambda h: boxed("\n".join(f"{n}. {joined(who)}" for n, who in h)),
    "bullets": lambda h: below([f"- House {n}: {joined(who)}" for n, who in h]),
    "bold bullets": lambda h: below([f"* **House {n}**: {joined(who)}" for n, who in h]),
    "brackets": lambda h: boxed(joined([f"{n}: ({joined(who)})" for n, who in h])),
    "brackets behind a name": lambda h: boxed(joined([f"{n}: {who[0]} ({joined(who[1:])})" for n, who in h], "; ")),
    "dashes": lambda h: boxed(joined([f"House {n} - {joined(who)}" for n, who in h], "; ")),
    "sentences": lambda h: boxed(" ".join(f"House {n}: {joined(who)}." for n, who in h)),
    "numbers in brackets": lambda h: boxed(" ".join(f"({n}) {joined(who)}" for n, who in h)),
    "JSON": lambda h: boxed(joined([f'"{n}": ["{joined(who, chr(34) + ", " + chr(34))}"]' for n, who in h])),
    "a table": lambda h: table(["House", "Name", "Pet", "Fruit"], [[n, *who] for n, who in h]),
    "an array": lambda h: array([["House", "Names", "Pets", "Fruits"], *([n, *who] for n, who in h)]),
    "a fence and a remark": lambda h: "```\n" + "\n".join(f"{n}: {joined(who)}" for n, who in h) + "\n```\nAll fits.",
}


@pytest.mark.parametrize("form", HOUSES)
def test_houses_may_be_written_in_many_ways(form):
    problem = next(
        p for p in problems(zebra, 1, 40) if [a[0] for a in p.meta["attributes"]] == ["Names", "Pets", "Fruits"]
    )
    rows = [row.split(": ") for row in problem.reference.split("; ")]
    right = [(n, who.split(", ")) for n, who in rows]
    wrong = [(n, who) for (n, _), (_, who) in zip(right, right[1:] + right[:1], strict=True)]
    twice = [*right, (right[0][0], right[1][1])]

    assert value(zebra, problem, HOUSES[form](right)) == 1
    assert value(zebra, problem, HOUSES[form](wrong)) == 0
    assert value(zebra, problem, HOUSES[form](twice)) == 0
    assert value(zebra, problem, HOUSES[form]([*right[:-1], (right[-1][0], [*right[-1][1][:-1], "or none"])])) == 0


# --- names with values

PAIRS: dict[str, Callable[[Pairs], str]] = {
    "an index": lambda p: boxed(joined([f"{n[0]}_{n[1:]} = {v}" for n, v in p])),
    "an index in braces": lambda p: boxed(joined([f"{n[0]}_{{{n[1:]}}} = {v}" for n, v in p])),
    "a table": lambda p: table(["Wire", "Value"], p),
    "a table on its side": lambda p: table([n for n, _ in p], [[v for _, v in p]]),
    "an array": lambda p: array([[f"{n[0]}_{n[1:]}", v] for n, v in p]),
    "an array with a head": lambda p: array([["Wire", "Value"], *p]),
    "an aligned array": lambda p: array(p, " &= "),
    "values in brackets": lambda p: boxed(joined([f"{n} ({v})" for n, v in p])),
    "pairs in brackets": lambda p: boxed(joined([f"({n}, {v})" for n, v in p])),
    "that": lambda p: f"The answer is that {joined([f'{n} is {v}' for n, v in p], ' and ')}.",
    "a fence of one line": lambda p: f"So:\n```\n{joined([f'{n}: {v}' for n, v in p])}\n```",
    "a fence in a line": lambda p: f"So: ```{joined([f'{n}: {v}' for n, v in p])}```",
    "a fence and a remark": lambda p: f"```\n{joined([f'{n}: {v}' for n, v in p])}\n```\nEvery gate agrees.",
}


@pytest.mark.parametrize("form", PAIRS)
@pytest.mark.parametrize("tier", [0, 3])
def test_values_of_wires_may_be_written_in_many_ways(form, tier):
    problem = problems(circuit, tier, 1)[0]
    right = [(n, v) for n, v in (pair.split(" = ") for pair in problem.reference.split(", "))]
    (name, bit), *others = right

    assert value(circuit, problem, PAIRS[form](right)) == 1
    for wrong in (
        [(n, "01"[v == "0"]) for n, v in right],
        [*right, (name, "01"[bit == "0"])],
        [(name, "2"), *others],
        others,
    ):
        assert value(circuit, problem, PAIRS[form](wrong)) == 0


def test_who_is_what_may_stand_in_a_table_or_in_brackets():
    problem = problems(knights_and_knaves, 0, 1)[0]
    right = [tuple(pair.split(": ")) for pair in problem.reference.split(", ")]
    turned = [(n, {"knight": "knave", "knave": "knight"}[v]) for n, v in right]

    for form in (
        "a table",
        "a table on its side",
        "an array with a head",
        "values in brackets",
        "pairs in brackets",
        "that",
    ):
        assert value(knights_and_knaves, problem, PAIRS[form](right)) == 1, form
        assert value(knights_and_knaves, problem, PAIRS[form](turned)) == 0, form
        assert value(knights_and_knaves, problem, PAIRS[form]([*right, turned[0]])) == 0, form


@pytest.mark.parametrize("sign", ["\u2248", r"\approx", "is about", "is approximately"])
def test_a_probability_may_be_said_to_be_about_so_much(sign):
    problem = problems(noisy_or, 3, 1)[0]
    pairs = [pair.split(": ") for pair in problem.reference.split(", ")]

    assert value(noisy_or, problem, boxed(joined([f"{n} {sign} {v}" for n, v in pairs]))) == 1
    assert value(noisy_or, problem, boxed(joined([f"{n} {sign} {1 - float(v):.2f}" for n, v in pairs]))) == 0
    assert value(noisy_or, problem, boxed(joined([f"{n} {sign} {sign} {v}" for n, v in pairs]))) == 0


def test_the_probability_of_one_thing_may_stand_alone_and_those_of_several_not():
    one, several = problems(noisy_or, 0, 1)[0], problems(noisy_or, 3, 1)[0]
    chance = float(one.reference.split(": ")[1])

    for text in (f"{chance:.2f}", rf"{100 * chance:.0f}\%"):
        assert value(noisy_or, one, boxed(text)) == 1
        assert value(noisy_or, one, boxed(f"{text}, 0.01")) == 0
        assert value(noisy_or, one, boxed(f"{text} or 0.01")) == 0
        assert value(noisy_or, several, boxed(text)) == 0
    assert value(noisy_or, one, boxed(f"{(chance + 0.5) % 1:.2f}")) == 0


# --- orders, ways, letters, numbers


def between(sign: str, names: Sequence[str]) -> str:
    return boxed(joined(names, f" {sign} "))


SIGNS = (r"\rightarrow", r"\longrightarrow", r"\to", r"\succ", r"\gt", "\u2192", "=>", ", then")
ORDERS: dict[str, Callable[[Sequence[str]], str]] = {
    **{sign: partial(between, sign) for sign in SIGNS},
    "numbers": lambda names: boxed(joined([f"{k}. {name}" for k, name in enumerate(names, 1)])),
    "numbers without commas": lambda names: boxed(joined([f"{k}. {name}" for k, name in enumerate(names, 1)], " ")),
    "places in brackets": lambda names: boxed(joined([f"{name} ({k})" for k, name in enumerate(names, 1)])),
    "places, last first": lambda names: boxed(joined([f"{n}: {k}" for k, n in reversed([*enumerate(names, 1)])])),
    "lines, last first": lambda names: below([f"{k}. {name}" for k, name in reversed([*enumerate(names, 1)])]),
    "ordinals": lambda names: below([f"- **{k}th**: {name}" for k, name in enumerate(names, 1)]),
}


@pytest.mark.parametrize("form", ORDERS)
def test_an_order_may_be_written_in_many_ways(form):
    problem = problems(ordering, 0, 1)[0]
    names = problem.reference.split(" > ")

    assert value(ordering, problem, ORDERS[form](names)) == 1
    for wrong in (
        names[::-1],
        names[1:],
        [*names, names[0]],
        [*names[:-1], "Zoe"],
        [*names[:-1], f"{names[-1]} or so"],
    ):
        assert value(ordering, problem, ORDERS[form](wrong)) == 0


@pytest.mark.parametrize(
    "text", ["1. {0}, 1. {1}, 2. {2}, 3. {3}", "1. {0}, 2. {1}, 3. {2}, 5. {3}", "1. {0}, {1}, {2}, {3}"]
)
def test_places_that_are_told_are_all_places(text):
    problem = problems(ordering, 0, 1)[0]

    assert value(ordering, problem, boxed(text.format(*problem.reference.split(" > ")))) == 0


LATEX = {"U": r"\uparrow", "D": r"\downarrow", "L": r"\leftarrow", "R": r"\rightarrow"}
WAYS: dict[str, Callable[[str], str]] = {
    "arrows to the right between letters": lambda moves: joined(moves, r" \rightarrow "),
    "signs between letters": lambda moves: joined(moves, " \u2192 "),
    "arrows": lambda moves: joined([LATEX[move] for move in moves], " "),
    "long arrows without blanks": lambda moves: joined([LATEX[m].replace("\\", r"\long") for m in moves], ""),
    "words": lambda moves: joined([rf"\text{{{LATEX[m][1:].removesuffix('arrow')}}}" for m in moves], r" \to "),
}


@pytest.mark.parametrize("form", WAYS)
def test_a_way_may_be_drawn_in_many_ways(form):
    for problem in problems(paths, 0, 4):
        moves = problem.reference

        assert value(paths, problem, boxed(WAYS[form](moves))) == 1
        assert value(paths, problem, boxed(WAYS[form](moves + "R"))) == 0
        assert value(paths, problem, boxed(WAYS[form](moves.translate(str.maketrans("UDLR", "DURL"))))) == 0


def test_conclusions_may_be_named_in_one_word_of_capitals():
    for problem in problems(syllogism, 0, 6):
        right = problem.reference.split(", ")
        wrong = [label for label in LABELS if label not in right]

        assert value(syllogism, problem, boxed("".join(right))) == 1
        assert value(syllogism, problem, boxed(" ".join(right))) == 1
        assert value(syllogism, problem, boxed("".join([*right, right[0]]))) == 0
        assert value(syllogism, problem, boxed("".join([*right, wrong[0]]))) == 0
        assert value(syllogism, problem, boxed("".join([*right, "F"]))) == 0


def test_a_minus_sign_is_a_minus():
    problem = next(p for p in problems(sequence, 1, 60) if "-" in p.reference)

    assert value(sequence, problem, boxed(problem.reference.replace("-", "\u2212"))) == 1
    assert value(sequence, problem, boxed(problem.reference.replace("-", "\u2212\u2212"))) == 0
    assert value(sequence, problem, boxed(problem.reference.replace("-", ""))) == 0


# --- turns


@pytest.mark.parametrize(
    ("turn", "guess"),
    [
        ("<think>mid of 6618 and 6621</think>\n\\boxed{6619}", 6619),
        ("The range is 6618 to 6621, so I guess 6619.", 6619),
        ("6,619", 6619),
        (r"\boxed{6{,}619}", 6619),
        ("From 6618 to 6621: **6619**", 6619),
        ("From 6618 to 6621.\n6619", 6619),
        ("From 6618 to 6621. The answer is 6619.", 6619),
        ("My guess is 6,619, for 6618 is too low.", 6619),
        ("Is it 6619?", 6619),
        ("<think>6619</think>", None),
        ("6619 or 6620", None),
        ("I guess 6619 or 6620", None),
        ("I guess 6619, 6620", None),
        ("I guess 6619. I guess 6620.", None),
        ("6618\n6619\n6620", None),
        (r"\boxed{6619} or \boxed{6620}", None),
        (r"\boxed{6619, 6620}", None),
        ("It is between 6618 and 6621.", None),
        ("6619.5", None),
        ("66190000001", None),
        ("6619, " * 5_000, None),
        ("6,619" * 20_000, None),
    ],
)  # fmt: skip
def test_a_turn_names_one_number_whatever_else_it_says(turn, guess):
    assert read_guess(turn) == guess


@pytest.mark.parametrize(
    ("turn", "meant"),
    [
        ("<think>\nask: hat is red\n</think>\nname: Ines", ("name", "Ines")),
        ("**ask: hat is red**", ("ask", "hat is red")),
        ("**Ask:** hat is red?", ("ask", "hat is red")),
        ("There are four left.\n`ask: hat is red`", ("ask", "hat is red")),
        (r"\boxed{name: Ines}", ("name", "Ines")),
        (r"So I say $\boxed{\text{name: Ines}}$.", ("name", "Ines")),
        ("name: Ines...", ("name", "Ines")),
    ],
)
def test_a_move_may_stand_behind_thoughts_in_bold_and_in_a_box(turn, meant):
    assert move(turn) == meant


@pytest.mark.parametrize(
    "turn",
    [
        "<think>name: Ines</think>",
        "**name: Ines**\n**name: Bo**",
        "ask: hat is red\n\\boxed{name: Ines}",
        r"\boxed{name: Ines} or \boxed{name: Bo}",
        r"\boxed{name: Ines} or name: Bo",
        "**name: Ines**\nor so",
    ],
)
def test_two_moves_in_any_dress_are_none(turn):
    with pytest.raises(NoQuestionError):
        move(turn)


def forms_of(task: Task) -> list[str]:
    """The reference of the task's first problem in dress that no answer may have."""
    text = str(problems(task, 0, 1)[0].reference)
    return [
        f"<answer>zzz</answer><answer>{text}</answer>",
        f"```\nzzz\n```\n```\n{text}\n```",
        f"```\n{text}\n```\nOr not.",
    ]


@pytest.mark.parametrize(
    "task", [zebra, circuit, ordering, paths, syllogism, sequence, noisy_or], ids=lambda task: task.name
)
def test_a_right_answer_beside_another_or_in_doubt_earns_nothing(task):
    for answer in forms_of(task):
        assert value(task, problems(task, 0, 1)[0], answer) == 0, answer
