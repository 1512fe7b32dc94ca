"""Form is measured on the syntax tree and scored by counts: what pads a program never raises its score."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_rewards.code.confined.metrics import measure
from grpo_rewards.code.style import PARTS, style_score
from tests.rewards.hostile import limited

TIDY = '''
import math


def circle_area(radius: float) -> float:
    """Return the area of a circle from its radius."""
    return math.pi * radius**2


class BankAccount:
    """Holds money until somebody wants it back."""

    def __init__(self, owner):
        self.owner = owner
        self.balance = 0

    def deposit(self, amount):
        """Put an amount of money on the account."""
        if amount <= 0:
            raise ValueError("nothing to put there")
        self.balance += amount


def primes_below(limit):
    """List all prime numbers smaller than a limit."""
    found = []
    for number in range(2, limit):
        if all(number % prime for prime in found):
            found.append(number)
    return found
'''

UNTIDY = """
import os, sys
def Solve(l, m=[]):
    unused_value = 3
    other = unused_value + 1
    a = 0
    for i in range(len(l)):
        for j in range(len(l)):
            if l[i] > 0:
                if l[j] > 0:
                    while True:
                        try:
                            a += l[i] * l[j] + l[i] ** 2 - l[j] ** 3
                            break
                        except:
                            pass
    if a:
        return a
        print(a)
    None
    return 0
"""

PADDING = [
    "pass", "0", "...", "'text'", "None", "(a, total, value, other)", "value", "len(value)", "[value, total]",
    "_ = value", "_ = a, total, other, unused_value", "value = value", "if value: pass", "str(unused_value)",
    "if value and total:\n    other\nelse:\n    pass", "for item in (total, unused_value): pass", "assert True",
    "0 and other",     "while False:\n    print(value, other, total)", "if 0:\n    print(a, other)", "assert 1, total",
    "well_chosen_name = 1", "well_chosen_name = unused_value, other", "def helpful_function():\n    pass",
    "lambda: (total, other)", "import json", "from math import pi", "with_value: int = unused_value", "x = y = z = 1",
    "def first_helper(): return 1\ndef second_helper(): return first_helper()", "class Thing: pass", "# noqa", "",
    "try:\n    pass\nfinally:\n    other", "# A comment that explains the whole program in many words.", "\n\n\n",
    "'''A text with several different words in it.'''", "return 1\nprint(unused_value, other)",
]  # fmt: skip


def metrics(code: str) -> dict[str, int]:
    report = measure(code)
    assert report["ok"], report
    found: dict[str, int] = report["metrics"]
    return found


def score(code: str) -> float:
    return style_score(metrics(code))[0]


def test_a_tidy_program_has_no_faults_and_the_full_score():
    counts = metrics(TIDY)
    assert style_score(counts) == (1.0, dict.fromkeys(PARTS, 1.0))
    sizes = {"statements", "functions", "longest_function", "most_complex", "deepest_nesting", "largest_expression"}
    assert {name: count for name, count in counts.items() if count and name not in sizes} == {}
    assert (counts["statements"], counts["functions"], counts["longest_function"]) == (17, 4, 6)
    assert (counts["most_complex"], counts["deepest_nesting"]) == (4, 2)


def test_the_faults_of_an_untidy_program_are_counted_one_by_one():
    counts = metrics(UNTIDY)
    wanted = {
        "misnamed": 1, "one_letter_names": 1, "undocumented": 1, "bare_excepts": 1, "mutable_defaults": 1,
        "unreachable": 1, "useless": 1, "unused": 4, "deepest_nesting": 6, "most_complex": 8, "repeated": 0,
    }  # fmt: skip
    assert {name: counts[name] for name in wanted} == wanted
    assert score(UNTIDY) < 0.7 < score(TIDY)


@pytest.mark.parametrize(
    ("name", "count", "code"),
    [
        ("misnamed", 2, "class lower_case: pass\ndef camelCase(): pass"),
        (
            "misnamed",
            0,
            "LIMIT = 3\n_private = 1\nclass _Inner: pass\ndef __dunder__(self, *args): pass\nVector = tuple",
        ),
        (
            "one_letter_names",
            2,
            "def f(n):\n    a = 1\n    for i in [k for k in range(n)]:\n        a += i\n    return a",
        ),
        ("overlong_names", 1, f"{'long_' * 9}name = 1"),
        ("undocumented", 0, "def _helper(): pass"),
        ("undocumented", 1, "def area(): 'area'"),
        ("undocumented", 1, "def area(): 'The area area area.'"),
        ("undocumented", 1, "def one(): 'Say how this works.'\ndef two(): 'Say how this works!'"),
        ("undocumented", 1, "area = lambda r: r * r"),
        ("undocumented", 1, "def area():\n    x = 1\n    'Return the area of a circle.'"),
        ("unreachable", 3, "def f():\n    raise ValueError\n    if 1:\n        pass\n    return 2"),
        ("unreachable", 1, "while 0:\n    f()"),
        ("unreachable", 1, "if True:\n    f()\nelse:\n    g()"),
        ("useless", 2, "def f(x):\n    x\n    x == 3\n    return x"),
        ("useless", 0, "def f(): pass\nclass A: ...\ntry:\n    f()\nexcept ValueError:\n    pass"),
        ("useless", 0, "def f(x):\n    x.sort()\n    yield x\n    (y := 1)\n    del x"),
        ("useless", 1, "def f(x):\n    if x:\n        pass\n    return x"),
        ("unused", 1, "def f():\n    a = 1\n    return 2"),
        ("unused", 3, "def f():\n    a = 1\n    b = a\n    c = b, a\n    return 2"),
        ("unused", 0, "def f():\n    a = 1\n    b = a\n    return b"),
        ("unused", 0, "def f():\n    a = 0\n    def inner():\n        nonlocal a\n        a += 1\n    return inner"),
        ("unused", 0, "def f(pairs):\n    for a, b in pairs:\n        c, d = a\n    with open(b) as g:\n        pass"),
        ("unused", 0, "def f():\n    global state\n    state = 1"),
        ("unused", 1, "def f():\n    a = 1\n    a += 1"),
        ("unused", 2, "import os\nfrom sys import path as p"),
        ("unused", 0, "from __future__ import annotations\nimport os.path\nprint(os)"),
        (
            "repeated",
            1,
            "def f(a, b):\n    c = a * b + a - b * 2\n    d = c\n    c = a * b + a - b * 2\n    return c + d",
        ),
        ("repeated", 0, "def f(a, b):\n    a += 1\n    a += 1\n    return a"),
        ("deepest_nesting", 1, "if a: pass\nelif b: pass\nelif c: pass\nelse: pass"),
        ("deepest_nesting", 2, "if a: pass\nelse:\n    if b: pass\n    c"),
        ("deepest_nesting", 1, "def f():\n    if a:\n        def g():\n            if b: pass"),
        (
            "most_complex",
            6,
            "def f(a):\n    if a and a > 1 or a < 2:\n        return [b for b in a if b]\n    return a",
        ),
        ("longest_function", 4, "def f():\n    def g():\n        a = 1\n        return a\n    return g"),
        ("longest_function", 3, "a = 1; b = 2; c = 3"),
        ("largest_expression", 6, "x = a + b(c)"),
        ("text_run_as_code", 1, "exec('print(1)')"),
        ("text_run_as_code", 0, "import re\nre.compile('a')"),
        ("text_run_as_code", 1, "from builtins import exec as run"),
    ],
)
def test_each_measure(name, count, code):
    assert metrics(code)[name] == count


def test_code_inside_a_text_and_an_empty_program_have_no_style():
    assert score("exec('def f(x): return x')") == 0.0
    assert score("") == 0.0
    assert score("# nothing\n") == 0.0


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("def f(:", "SyntaxError"),
        ("return 1", "SyntaxError"),
        ("a\0b", "ValueError"),
        ("-" * 100_000 + "1", "MemoryError"),
    ],
)
def test_what_is_no_program_is_told(code, kind):
    report = measure(code)
    assert not report["ok"]
    assert report["error"]["kind"] == "syntax"
    assert report["error"]["type"] in (kind, "SyntaxError", "RecursionError")


def bodies(tree: ast.Module) -> list[list[ast.stmt]]:
    """The lists of statements of a program, in a fixed order."""
    return [node.body for node in ast.walk(tree) if isinstance(getattr(node, "body", None), list)]  # type: ignore[attr-defined]


@given(
    st.sampled_from([TIDY, UNTIDY]),
    st.lists(st.tuples(st.sampled_from(PADDING), st.integers(0, 99), st.integers(0, 99)), min_size=1, max_size=3),
)
def test_padding_never_raises_the_score(program, paddings):
    tree = ast.parse(program)
    for text, which, where in paddings:
        block = bodies(tree)[which % len(bodies(tree))]
        is_function = any(isinstance(node, ast.FunctionDef) and node.body is block for node in ast.walk(tree))
        statements = ast.parse(text.replace("return 1", "return 1" if is_function else "raise ValueError")).body
        place = 1 + where % len(block)
        block[place:place] = statements
    assert score(ast.unparse(ast.fix_missing_locations(tree))) <= score(ast.unparse(ast.parse(program)))


@given(st.sampled_from(PADDING), st.booleans())
def test_padding_around_a_program_never_raises_the_score(text, before):
    if "return" not in text:
        for program in (TIDY, UNTIDY):
            assert score(f"{text}\n{program}" if before else f"{program}\n{text}\n") <= score(program)


def test_comments_blank_lines_and_the_kind_of_line_ends_change_nothing():
    assert metrics("\ufeff" + TIDY.replace("\n", "\r\n")) == metrics(TIDY)
    padded = TIDY.replace("\n    ", "\n\n    # why this is so\n    ")
    assert metrics(padded) == metrics(TIDY)


measured = st.fixed_dictionaries({name: st.integers(0, 200) for name in metrics(TIDY)})


@given(measured, st.data())
def test_more_faults_never_score_more(counts: dict[str, int], data: Any):
    name = data.draw(st.sampled_from(sorted(set(counts) - {"statements"})))
    more = {**counts, name: counts[name] + data.draw(st.integers(1, 50))}
    low, high = style_score(more)[0], style_score(counts)[0]
    assert 0 <= low <= high <= 1


def test_programs_that_are_slow_to_read_are_measured_in_time():
    deep = "".join(" " * level + "if a:\n" for level in range(99)) + " " * 99 + "a = 1\n"
    programs = {
        "lines": "a = b + c * d - e\n" * 2_000,
        "names": "".join(f"name_{number} = 1\n" for number in range(1_500)),
        "functions": "".join(f"def f{number}(): pass\n" for number in range(1_500)),
        "chain": "def f():\n" + "".join(f"    a{number + 1} = a{number}\n" for number in range(1_500)),
        "depth": deep * 50,
        "nested functions": "".join(" " * level + f"def f{level}():\n" for level in range(99)) + " " * 99 + "pass\n",
        "list": "a = [" + "1, " * 2_000 + "]",
        "elif": "if a: pass\n" + "elif b: pass\n" * 900,
        "dead": "def f():\n    return\n" + "    a = 1\n" * 2_000,
        "jumps": "def f():\n" + "    return\n" * 2_000,
    }
    with limited(60):
        for program in programs.values():
            assert measure(program)["ok"]
