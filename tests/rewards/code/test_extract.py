"""Which text of a response is the program: each rule, and what must not count."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_gym import Reason
from grpo_rewards.code.extract import MAX_CODE, solution_code
from tests.rewards.hostile import HOSTILE, limited

F = "def f(x):\n    return x"
G = "def g(x):\n    return -x"


def fenced(code: str, tag: str = "python", fence: str = "```") -> str:
    return f"{fence}{tag}\n{code}\n{fence}"


@pytest.mark.parametrize(
    "response",
    [
        fenced(F),
        fenced(F, ""),
        fenced(F, "py"),
        fenced(F, "Python3"),
        fenced(F, " python "),
        fenced(F, "{.python}"),
        fenced(F, 'python title="f.py"'),
        fenced(F, fence="~~~"),
        fenced(F, fence="`````"),
        fenced(F).replace("\n", "\r\n"),
        f"Here it is:\n\n{fenced(F)}\nIt returns x.",
        f"<think>{fenced(G)}</think>{fenced(F)}",
        f"<think>\n{fenced(G)}\n</think>\n\n{fenced(F)}",
        f"{fenced(G)} </think>\n{fenced(F)}",
        "1. First:\n\n   ```python\n   def f(x):\n       return x\n   ```\n2. Done",
        "- ```python\n  def f(x):\n      return x\n  ```",
        "\t```python\n\tdef f(x):\n\t    return x\n\t```",
        f"Run `f(1)` or ```f(2)``` with\n{fenced(F)}",
        f"{fenced(F)}\nwhich prints\n{fenced('1', 'text')}",
        f"{fenced(F)}\nwhich prints\n{fenced('1', '')}",
        f"{fenced('pip install x', 'bash')}\n{fenced(F)}",
        f"{fenced(G)}\nNo, that is wrong:\n{fenced(F)}",
        f"{fenced(F)}\n{fenced('')}",
        f"{fenced(F)}\n{fenced('>>> f(1)' + chr(10) + '1')}",
    ],
)
def test_the_program_is_found(response):
    found = solution_code(response)
    assert (found.code or "").replace("\r", "").strip() == F
    assert found.why == ""


@pytest.mark.parametrize(
    ("response", "why"),
    [
        ("", "no fenced block"),
        ("5", "no fenced block"),
        ("hello", "no fenced block"),
        ("The function returns x.", "no fenced block"),
        ("x == 5", "no fenced block"),
        (fenced(F, "javascript"), "holds a Python program"),
        (fenced(F, "pycon"), "holds a Python program"),
        (fenced(F, "python2"), "holds a Python program"),
        (fenced(">>> f(1)\n1"), "holds a Python program"),
        (fenced(""), "holds a Python program"),
        (fenced(" \n\t"), "holds a Python program"),
        (f"```python\n{F}", "cut off"),
        (f"```python\n{F}\n``", "cut off"),
        (f"````python\n{F}\n```", "cut off"),
        (f"```python\n{F}\n~~~", "cut off"),
        (f"```python\n{F}\n```python", "cut off"),
        (f"{fenced(F)}\nFor example\n```python\nprint(f(", "cut off"),
        (f"<think>{fenced(F)}</think> It is as above.", "no fenced block"),
        (f"<think>{fenced(F)}", "no fenced block"),
    ],
)
def test_no_program(response, why):
    found = solution_code(response)
    assert found.code is None
    assert why in found.why
    assert found.reason is Reason.NO_ANSWER


@pytest.mark.parametrize(
    "program", [F, "import sys\nsys.exit()", "from os import path", "x = 5", "print(1)", "class A: pass"]
)
def test_a_response_without_fences_is_a_program_if_it_has_a_line_of_one(program):
    assert solution_code(program).code == program


def test_a_fence_deep_inside_the_program_does_not_close_it():
    code = 'def f(x):\n    """\n    ```\n    f(1)\n    ```\n    """\n    return x'
    assert solution_code(fenced(code)).code == code + "\n"
    assert solution_code("```\nx = 1\n   ```").code == "x = 1\n"
    assert solution_code("```\nx = 1\n    ```").code is None
    shallow = 'TEXT = """\n```\n"""\n'
    assert solution_code(fenced(shallow, fence="````")).code == shallow + "\n"


def test_indentation_that_all_lines_share_is_taken_off_and_no_other():
    text = "    x = 1\n      \n\n    if x:\n        y = 2"
    assert solution_code(fenced(text)).code == "x = 1\n      \n\nif x:\n    y = 2\n"
    uneven = "  x = 1\ny = 2"
    assert solution_code(f"  ```\n{uneven}\n  ```").code == uneven + "\n"
    assert solution_code("```\n\tif 1:\n\t    x = 1\n```").code == "if 1:\n    x = 1\n"
    assert solution_code("```\n\tx = 1\n    y = 1\n```").code == "\tx = 1\n    y = 1\n"


@pytest.mark.parametrize("definition", [F, "async def f(x): pass", "class f: pass", "f = 3", "f: int = 3"])
def test_the_last_block_that_defines_the_entry_point_is_the_program(definition):
    usage = fenced("print(f(3))\nf == 3\n# def f\n    def f(x): pass")
    response = f"{fenced(G)}\n{fenced('x = 1')}\n{fenced(definition)}\n{usage}"
    assert solution_code(response, "f").code == definition + "\n"
    assert (solution_code(response).code or "").startswith("print")
    assert (solution_code(response, "h").code or "").startswith("print")
    assert solution_code(f"{response}\n{fenced(F)}", "f").code == F + "\n"


def test_a_longer_name_is_not_the_entry_point():
    assert solution_code(f"{fenced(F)}\n{fenced(F.replace('f(', 'f2('))}", "f").code == F + "\n"


@given(
    st.lists(st.sampled_from([F, G, "x = 1", "print(f(1))"]), min_size=1, max_size=5), st.sampled_from([None, "f", "g"])
)
def test_exactly_one_of_the_blocks_is_judged(programs, entry_point):
    found = solution_code("\nor\n".join(map(fenced, programs)), entry_point)
    assert (found.code or "").removesuffix("\n") in programs


def test_a_program_has_a_bound():
    assert solution_code(fenced("x" * (MAX_CODE - 1))).code is not None
    found = solution_code(fenced("x" * MAX_CODE))
    assert (found.code, found.reason) == (None, Reason.TOO_BIG)
    assert solution_code("x = " + "1" * MAX_CODE).reason is Reason.TOO_BIG


def test_responses_that_are_slow_to_read_take_a_few_passes():
    more = {
        "fences": "```\n" * 50_000,
        "fences of all lengths": "\n".join("`" * length for length in range(3, 1_400)),
        "bullets": "1. " * 300_000,
        "definitions": "def f" * 200_000,
        "blanks before a fence": " " * 500_000 + "```\n" + " " * 500_000,
        "blank lines": fenced((" " * 99 + "\n") * 9_000),
        "assignments": "f:" * 400_000,
        "indented fences": "".join(" " * (number % 500) + "```\n" for number in range(4_000)),
    }
    with limited(60):
        for response in [*HOSTILE.values(), *more.values()]:
            solution_code(f"{fenced(response)}\n{response}", "f")
