"""Countdown, 24 and cryptarithms: solved again by other means from the prompt alone; the reader of expressions."""

from __future__ import annotations

import ast
import itertools
import operator
import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache

import pytest

from grpo_envs.logic.countdown import countdown
from grpo_envs.logic.cryptarithm import cryptarithm
from grpo_envs.logic.game24 import game24
from grpo_envs.logic.solvers import game24_store
from grpo_envs.logic.solvers.columns import Columns, Solver
from grpo_envs.logic.solvers.numbers_game import Hunt, Tree, as_latex, closest, combined, value, written
from grpo_gym import Problem, Reason, Rng
from grpo_rewards.logic import UnreadError
from grpo_rewards.logic.arithmetic import expression
from tests.envs.puzzles import TIERS, boxed, found, problems
from tests.envs.puzzles import value as worth

# --- expressions


@pytest.mark.parametrize(
    ("text", "result", "numbers"),
    [
        ("8 / (3 - 8 / 3)", 24, (8, 3, 8, 3)),
        (r"\frac{8}{3-\frac{8}{3}}", 24, (8, 3, 8, 3)),
        (r"\left(1 + 3\right) \times \left[2+4\right]", 24, (1, 3, 2, 4)),
        ("8\u00f7(3\u22128\u00f73)", 24, (8, 3, 8, 3)),
        ("2 \u00d7 3 \u00b7 4", 24, (2, 3, 4)),
        ("6 x 4", 24, (6, 4)),
        ("(1+3)(2+4)", 24, (1, 3, 2, 4)),
        ("-2 + 26", 24, (2, 26)),
        ("7 - 2 - 1", 4, (7, 2, 1)),
        ("12 / 3 / 2", 2, (12, 3, 2)),
        ("2 + 3 * 4", 14, (2, 3, 4)),
        ("1 / 3", Fraction(1, 3), (1, 3)),
        ("999999999 * 999999999", 999999998000000001, (999999999, 999999999)),
    ],
)
def test_an_expression_is_calculated_exactly(text, result, numbers):
    read = expression(text)
    assert read.value == result
    assert read.numbers == numbers
    assert read.claimed is None


@pytest.mark.parametrize("text", ["1 / 0", "5 / (3 - 3)", r"\frac{1}{2-2}", "(1/0) * 0", "1/0 - 1/0"])
def test_what_divides_by_zero_has_no_value(text):
    assert expression(text).value is None


@pytest.mark.parametrize(("text", "claimed"), [("6 * 4 = 24", 24), ("24 = 6 * 4", 24), ("6*4=25", 25)])
def test_one_side_of_an_equation_is_the_expression(text, claimed):
    assert expression(text).value == 24
    assert expression(text).claimed == claimed


@pytest.mark.parametrize(
    "text",
    [
        "", "()", "3 4", "3 +", "* 3", "3 ** 2", "3 // 2", "3^2", "3 * -2", "+3", "--3", "((3)", "3)", "2e3", "3!",
        "007", "1,000", "1.5", "1_000", "abs(3)", "__import__('os')", "3; 4", "3, 4", "3 or 4", "3 = 4 = 5", "= 3",
        "3 =", "6 * 4 = 20 + 4", "6 / 2 (3)", r"\sqrt{9}", r"\frac{1}", r"\frac12", "\u0663 + 1", "\u00b2", "1" * 10,
        "{3}", "3\x00",
    ],
)  # fmt: skip
def test_what_is_no_expression_is_refused(text):
    with pytest.raises(UnreadError):
        expression(text)


@pytest.mark.parametrize("text", ["(" * 140 + "1" + ")" * 140, "1" + "+1" * 16, "1+" * 10**5, "-" * 300, "(" * 300])
def test_what_is_too_long_or_too_deep_is_refused(text):
    with pytest.raises(UnreadError):
        expression(text)


def test_what_is_written_is_read_back_with_its_value():
    for key in range(300):
        rng = Rng("trees", key)
        numbers = [rng.integer(1, 12) for _ in range(rng.integer(2, 6))]
        _, tree = combined(rng, numbers, [rng.choice("+-*/") for _ in numbers[1:]])
        tree = _shuffled(rng, tree)
        for text in (written(tree), as_latex(tree)):
            read = expression(text)
            assert read.value == _exact(tree), text
            assert sorted(read.numbers) == sorted(numbers)


def _shuffled(rng: Rng, tree: Tree) -> Tree:
    """Change signs at random, so that every bracket is needed somewhere."""
    if isinstance(tree, int):
        return tree
    return rng.choice("+-*/"), _shuffled(rng, tree[1]), _shuffled(rng, tree[2])


def _exact(tree: Tree) -> Fraction | None:
    try:
        return value(tree)
    except ZeroDivisionError:
        return None


# --- a second solver for number games: every value of every set of the numbers


def reachable(numbers: Sequence[int]) -> list[set[Fraction]]:
    """For every set of places, as bits, what all of its numbers together can make, fractions and negatives included."""
    tables: list[set[Fraction]] = [set() for _ in range(1 << len(numbers))]
    for places in range(1, 1 << len(numbers)):
        if places & (places - 1) == 0:
            tables[places] = {Fraction(numbers[places.bit_length() - 1])}
            continue
        part = places & (places - 1)
        while part:
            for a, b in itertools.product(tables[part], tables[places ^ part]):
                tables[places] |= {a + b, a - b, a * b} | ({a / b} if b else set())
            part = (part - 1) & places
    return tables


def asked(prompt: str) -> tuple[int, list[int]]:
    target, listed = re.match(r"Make (\d+) from the numbers ([\d, ]+)\.", prompt).groups()  # type: ignore[union-attr]
    return int(target), [int(number) for number in listed.split(", ")]


@pytest.mark.parametrize("tier", [0, 1, 2, 3])
def test_a_countdown_can_be_won_and_not_by_a_number_or_two(tier):
    for problem in problems(countdown, tier, 8):
        target, numbers = asked(problem.prompt)
        tables = reachable(numbers)
        assert target in tables[-1]
        assert not any(target in table for places, table in enumerate(tables) if places.bit_count() <= 2)


@pytest.mark.parametrize("tier", TIERS)
def test_what_the_countdown_solver_finds_obeys_the_prompt_and_is_paid(tier):
    for problem in problems(countdown, tier, 10):
        target, numbers = asked(problem.prompt)
        for answer in [boxed(problem.reference), *found(countdown, problem)]:
            text = answer[7:-1]
            assert _by_python(text) == target
            left = list(numbers)
            for used in re.findall(r"\d+", text):
                left.remove(int(used))
            assert worth(countdown, problem, answer) == 1


def _by_python(text: str) -> Fraction:
    """Calculate what Python's own grammar reads."""

    def at(node: ast.expr) -> Fraction:
        if isinstance(node, ast.Constant):
            return Fraction(node.value)  # type: ignore[arg-type]
        assert isinstance(node, ast.BinOp)
        return _MEANS[type(node.op)](at(node.left), at(node.right))

    return at(ast.parse(text, mode="eval").body)


_MEANS: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def test_the_hunt_finds_what_whole_positive_steps_can_make():
    for key in range(60):
        rng = Rng("hunt", key)
        numbers, target = [rng.integer(1, 9) for _ in range(3)], rng.integer(2, 60)
        possible = target in numbers or any(target in _steps(order) for order in itertools.permutations(numbers))
        assert bool(Hunt(numbers, target).found) or target in numbers or not possible
        for tree in Hunt(numbers, target, 5).found:
            assert value(tree) == target


def _steps(numbers: tuple[int, ...]) -> set[int]:
    def pair(a: int, b: int) -> set[int]:
        return {a + b, a * b} | ({a - b} if a > b else set()) | ({a // b} if a % b == 0 else set())

    a, b, c = numbers
    return pair(a, b) | {v for p in pair(a, b) for v in pair(p, c) | (pair(c, p) if p else set())}


@pytest.mark.parametrize("tier", TIERS)
def test_every_equation_of_a_worked_countdown_holds(tier):
    for problem in problems(countdown, tier, 25):
        _check_equations(problem, asked(problem.prompt)[1])


def _check_equations(problem: Problem, numbers: list[int]) -> None:
    *lines, _ = str(problem.solution).splitlines()
    assert lines
    for line in lines:
        for equation in re.sub(r"^without (\d+): ", "", line).split(", "):
            left, right = equation.split(" = ")
            assert _by_python(left) == _by_python(right), line
        if (aside := re.match(r"without (\d+)", line)) is not None:
            assert int(aside[1]) in numbers


def test_each_number_counts_as_often_as_it_is_given():
    """reasoning-gym took 81 * 1 for right where 1, 81, 1, 1 were given and paid 81 * 1 * 1 * 1 * 1 as well."""
    problem = Problem("", "", meta={"numbers": [1, 81, 1, 1], "target": 82})
    earned = {
        text: worth(countdown, problem, boxed(text)) for text in ("81 + 1", "81 * 1 * 1 + 1", "81 * 1 * 1 * 1 + 1")
    }
    assert list(earned.values()) == [1, 1, 0]
    verdict = countdown.reward.score(boxed("81 * 1 * 1 * 1 + 1"), problem)
    assert (verdict.reason, verdict.feedback) == (Reason.WRONG, "1 is used 4 times and given 3 times")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("60 + 22", "60 is used 1 times and given 0 times"),
        ("81 - 1", "its value is 80, not 82"),
        ("81 + 1 / (1 - 1)", "it divides by zero"),
        ("81 + 1 = 83", "it says = 83, not 82"),
        ("82", "82 is used 1 times and given 0 times"),
    ],
)
def test_a_wrong_expression_is_told_what_is_wrong(text, told):
    verdict = countdown.reward.score(boxed(text), Problem("", "", meta={"numbers": [1, 81, 1, 1], "target": 82}))
    assert float(verdict) == 0
    assert told in verdict.feedback


def test_a_value_close_to_the_target_is_not_the_target():
    problem = Problem("", "", meta={"numbers": [100, 3, 33, 1], "target": 33})
    assert worth(countdown, problem, boxed("100 / 3")) == 0
    assert worth(countdown, problem, boxed("(100 - 1) / 3")) == 1


# --- 24


@cache
def _stored() -> dict[tuple[int, ...], tuple[int, int]]:
    return {hand: (tier, ways) for tier in TIERS for hand, ways in game24_store.stored(tier)}


@pytest.mark.parametrize("part", [pytest.param(k, marks=() if k == 0 else pytest.mark.long) for k in range(12)])
def test_the_stored_hands_are_those_that_make_24(part):
    hands = list(itertools.combinations_with_replacement([n for n in range(1, 31) if n != 24], 4))
    for hand in Rng("hands", part).sample(hands, 60):
        assert (hand in _stored()) == (Fraction(24) in reachable(hand)[-1]), hand


def test_hands_of_four_cards_are_as_many_as_are_known():
    """1,362 of the 1,820 hands of cards from 1 to 13 were counted by others."""
    assert sum(max(hand) <= 13 for hand in _stored()) == 1_362
    assert (3, 3, 8, 8) in _stored()
    assert (1, 1, 1, 1) not in _stored()


def test_tiers_of_24_go_by_the_share_of_right_ways():
    by_tier = [[ways for hand, (of, ways) in _stored().items() if of == tier] for tier in TIERS]
    assert min(map(len, by_tier)) >= 2_000
    assert all(min(easier) >= max(harder) for easier, harder in itertools.pairwise(by_tier[1:]))
    for hand, (tier, ways) in Rng("ways").sample(sorted(_stored().items()), 15):
        assert game24_store.right_ways([float(number) for number in hand]) == ways
        signs = itertools.product((1, -1), repeat=3)
        assert (tier == 0) == any(
            hand[3] + sum(s * n for s, n in zip(sign, hand, strict=False)) == 24 for sign in signs
        )


@pytest.mark.parametrize("tier", TIERS)
def test_24_takes_every_number_once(tier):
    for problem in problems(game24, tier, 10):
        target, numbers = asked(problem.prompt)
        assert target == 24
        for answer in [boxed(problem.reference), *found(game24, problem)]:
            assert _by_python(answer[7:-1]) == 24
            assert sorted(map(int, re.findall(r"\d+", answer))) == sorted(numbers)
            assert worth(game24, problem, answer) == 1
        _check_equations(problem, numbers)
        left_out = f"{problem.reference} + {numbers[0]} - {numbers[0]}"
        assert worth(game24, problem, boxed(left_out)) == 0
    verdict = game24.reward.score(boxed("20 + 4"), Problem("", "", meta={"numbers": [1, 4, 5, 20], "ways": 1}))
    assert (float(verdict), verdict.feedback) == (0, "1 is not used as often as it is given")


def test_the_weak_solver_of_number_games_uses_what_is_given():
    for key in range(50):
        tree = closest(Rng("closest", key), [3, 7, 11, 20], 24, "+-*/", 3)
        assert sorted(expression(written(tree)).numbers) == [3, 7, 11, 20]


# --- cryptarithms


def equation_of(prompt: str) -> tuple[list[str], str, dict[str, int]]:
    match = re.match(r"In (\w+) ([-+*]) (\w+) = (\w+) every", prompt)
    assert match is not None
    given = {letter: int(digit) for letter, digit in re.findall(r"([A-Z]) = (\d)", prompt)}
    return [match[1], match[3], match[4]], match[2], given


def all_solutions(words: list[str], sign: str, given: dict[str, int]) -> list[dict[str, int]]:
    """Try every way to give the open letters unused digits."""
    letters = sorted(set("".join(words)))
    opened = [letter for letter in letters if letter not in given]
    right = []
    for chosen in itertools.permutations([d for d in range(10) if d not in given.values()], len(opened)):
        digits = {**given, **dict(zip(opened, chosen, strict=True))}
        if any(digits[word[0]] == 0 for word in words):
            continue
        a, b, c = (int("".join(str(digits[letter]) for letter in word)) for word in words)
        if {"+": a + b, "-": a - b, "*": a * b}[sign] == c:
            right.append(digits)
    return right


@pytest.mark.parametrize("tier", TIERS)
def test_a_cryptarithm_has_one_solution(tier):
    tried = 0
    for problem in problems(cryptarithm, tier, 25):
        words, sign, given = equation_of(problem.prompt)
        if len(set("".join(words))) - len(given) > 5 or tried == 8:
            continue  # too many ways to try them all
        tried += 1
        [digits] = all_solutions(words, sign, given)
        assert problem.reference == ", ".join(f"{letter} = {digits[letter]}" for letter in sorted(digits))
        assert found(cryptarithm, problem) == [boxed(problem.reference)]
    assert tried >= 2


def test_the_column_search_finds_what_trying_all_digits_finds():
    for words, sign in ((["AB", "BA", "CAC"], "+"), (["AB", "C", "DE"], "*"), (["AAB", "BC", "CAD"], "+")):
        columns = Columns(words, sign == "*")
        assert sorted(map(str, map(sorted, (d.items() for d in Solver(columns, {}, 10**6).found)))) == sorted(
            str(sorted(digits.items())) for digits in all_solutions(words, sign, {})
        )


def test_send_more_money_has_its_one_solution():
    [digits] = Solver(Columns(["SEND", "MORE", "MONEY"], times=False), {}).found
    assert [digits[letter] for letter in "SENDMORY"] == [9, 5, 6, 7, 1, 0, 8, 2]


@pytest.mark.parametrize("tier", TIERS)
def test_every_column_of_a_worked_cryptarithm_is_right(tier):
    for problem in problems(cryptarithm, tier, 20):
        words, sign, known = equation_of(problem.prompt)
        *lines, last = str(problem.solution).splitlines()
        top, bottom, result = [words[1], words[2], words[0]] if sign == "-" else words
        carry = 0
        assert len(lines) == len(result)
        for k, line in enumerate(lines):
            match = re.fullmatch(r"[a-z ]+: (?:try (.*): )?([\d+* ]+) = (\d+)((?:, so \w = \d)*), carry (\d+)", line)
            assert match is not None, line
            new = [(letter, int(digit)) for letter, digit in re.findall(r"(\w) = (\d)", f"{match[1]} {match[4]}")]
            for letter, digit in new:
                assert letter not in known
                assert digit not in known.values()
                known[letter] = digit
            here = [known[word[-1 - k]] if k < len(word) else 0 for word in (top, bottom)]
            made = (known[bottom] * here[0] if sign == "*" else sum(here)) + carry
            assert _by_python(match[2]) == int(match[3]) == made
            assert (made % 10, made // 10) == (known[result[-1 - k]], int(match[5]))
            carry = made // 10
            assert tier > 1 or (match[1] is None and len(new) <= 1)
        assert carry == 0
        assert last == boxed(", ".join(f"{letter} = {known[letter]}" for letter in sorted(known)))


def test_a_wrong_digit_is_told_which_rule_it_breaks():
    problem = Problem("", "", meta={"words": ["AB", "AB", "BC"], "sign": "+", "given": {"A": 1}})

    def told(answer: str) -> str:
        return cryptarithm.reward.score(boxed(answer), problem).feedback

    assert told("A = 1, B = 2, C = 4") == ""
    assert told("A = 1, B = 2, C = 5") == "12 + 12 = 25 is wrong"
    assert told("A = 2, B = 4, C = 8").startswith("A is 1, not 2")
    assert "A and B are both 1" in told("A = 1, B = 1, C = 2")
    assert "a number begins with B = 0" in told("A = 1, B = 0, C = 0")


def test_a_sum_is_not_cut_to_the_digits_that_its_word_has():
    problem = Problem("", "", meta={"words": ["AB", "CD", "EF"], "sign": "+", "given": {}})
    assert worth(cryptarithm, problem, boxed("A = 1, B = 2, C = 4, D = 6, E = 5, F = 8")) == 1
    verdict = cryptarithm.reward.score(boxed("A = 8, B = 1, C = 6, D = 2, E = 4, F = 3"), problem)
    assert verdict.feedback == "81 + 62 = 43 is wrong"
