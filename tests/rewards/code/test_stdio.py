"""A solution runs as Python runs a program, and its functions answer calls with plain data."""

from typing import Any

import pytest

from grpo_rewards.code.confined.codec import decode
from tests.rewards.code.confined import Side, Zygote


@pytest.fixture(scope="module")
def zygote():
    server = Zygote("solution")
    yield server
    server.close()


@pytest.fixture
def start(zygote):
    sides = []

    def begin(message, stdin=""):
        side = Side(zygote, stdin=stdin.encode())
        sides.append(side)
        side.control.send(message)
        return side

    yield begin
    for side in sides:
        side.close()


PROGRAMS = {
    "input": ("n = int(input())\nprint(n * 2)", "4\n", "8\n"),
    "lines": ("import sys\nfor line in sys.stdin:\n    print(line.strip()[::-1])", "ab\ncd", "ba\ndc\n"),
    "readline": ("import sys\nr = sys.stdin.readline\nprint(int(r()) + int(r()))", "1\n2\n", "3\n"),
    "mixed": ("import sys\na = input()\nprint(a, sys.stdin.read().split())", "x\n1 2\n3\n", "x ['1', '2', '3']\n"),
    "buffer": ("import sys\nsys.stdout.buffer.write(sys.stdin.buffer.read())", "é\n", "é\n"),
    "open(0)": ("print(open(0).read().count('a'))", "aab", "2\n"),
    "os.read": ("import os\nos.write(1, os.read(0, 10))", "abc", "abc"),
    "crlf": ("a = input()\r\nprint(a)\r\n", "x\r\n", "x\n"),
    "main": ("def main():\n    print(__name__)\nif __name__ == '__main__':\n    main()", "", "__main__\n"),
    "global": ("x = 0\ndef f():\n    global x\n    x += 1\nf()\nprint(x)", "", "1\n"),
    "exit": ("print(1)\nexit()\nprint(2)", "", "1\n"),
    "quit": ("print(1)\nquit(0)", "", "1\n"),
    "argv": ("import sys\nprint(len(sys.argv))", "", "1\n"),
    "future": ("from __future__ import annotations\ndef f(x: Nope): return 3\nprint(f(1))", "", "3\n"),
    "bom": ("\ufeffprint(1)", "", "1\n"),
    "coding": ("# -*- coding: latin-1 -*-\nprint('é')", "", "é\n"),
    "unclosed file": ("f = open(1, 'w', closefd=False)\nf.write('kept')", "", "kept"),
    "thread": ("import threading\nthreading.Timer(0.02, print, ['t']).start()", "", "t\n"),
    "atexit": ("import atexit\natexit.register(print, 'bye')\nprint('hi')", "", "hi\nbye\n"),
    "deep": ("def f(n): return n and f(n - 1)\nprint(f(980))", "", "0\n"),
    "dataclass": ("from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\nprint(P(1))", "", "P(x=1)\n"),
    "pickle": ("import pickle\nclass P: pass\nprint(type(pickle.loads(pickle.dumps(P()))).__name__)", "", "P\n"),
    "source": ("import inspect\ndef f(): return 1\nprint(inspect.getsource(f), end='')", "", "def f(): return 1\n"),
    "replaced": ("import sys, io\nsys.stdout = io.TextIOWrapper(open(1, 'wb', closefd=False))\nprint(5)", "", "5\n"),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_read_and_write_as_under_python(start, name):
    code, stdin, expected = PROGRAMS[name]
    side = start({"mode": "stdio", "code": code}, stdin)
    assert side.reply() == {"end": {"status": 0}}
    assert side.output() == expected


@pytest.mark.parametrize(
    ("code", "status", "kind", "type_", "line"),
    [
        ("print(1)\n1 / 0", 1, "exception", "ZeroDivisionError", 2),
        ("import sys\nsys.exit(3)", 3, "exit", "SystemExit", 2),
        ("raise SystemExit('text')", 1, "exit", "SystemExit", 1),
        ("def f(:\n", 1, "syntax", "SyntaxError", 1),
        ("a\0b", 1, "syntax", "SyntaxError", None),
        ("x = '\ud800'", 1, "syntax", "UnicodeEncodeError", None),
        ("(" * 300 + ")" * 300, 1, "syntax", "SyntaxError", 1),
        ("class Q(BaseException):\n  def __str__(self): raise self\nraise Q", 1, "exception", "Q", 3),
        ("raise KeyboardInterrupt", 1, "exception", "KeyboardInterrupt", 1),
    ],
)
def test_how_a_program_ended_is_told(start, code, status, kind, type_, line):
    end = start({"mode": "stdio", "code": code}).reply()["end"]
    assert end["status"] == status
    assert (end["error"]["kind"], end["error"]["line"]) == (kind, line)
    assert end["error"]["type"] in (type_, "ValueError")  # a null byte is no SyntaxError in every version


FUNCTIONS = """
from collections import namedtuple
import asyncio
print('loaded')
def double(x): print('called'); return x * 2
def grow(xs): xs.append(1); return xs
def gen(n): yield from range(n)
def forever():
    while True: yield 1
async def later(x):
    await asyncio.sleep(0)
    return x + 1
class Solution:
    count = 0
    def solve(self, n):
        self.count += 1
        return helper(n), self.count
class Liar(int):
    def __eq__(self, other): return True
def lie(): return [Liar(3), namedtuple('P', 'x')(1)]
def thing(): return object()
def leave(): raise SystemExit
def fail(): raise ValueError('x' * 1000)
def deep():
    r = []
    for _ in range(1000): r = [r]
    return r
"""


def test_functions_are_called_and_answer_with_plain_data(start):
    side = start({"mode": "function", "code": FUNCTIONS, "given": "def helper(n): return n + 1"})
    assert side.reply() == {"loaded": True}

    def call(name: str, *args: Any) -> Any:
        return side.ask({"call": name, "args": list(args)})

    assert call("double", 4) == {"value": 8}
    assert call("grow", [0]) == {"value": [0, 1]}
    assert call("gen", 3) == {"value": [0, 1, 2]}
    assert call("later", 1) == {"value": 2}
    assert [decode(call("Solution.solve", n)["value"]) for n in (1, 2)] == [(2, 1), (3, 1)]  # a new instance each time
    lies = decode(call("lie")["value"])
    assert lies == [3, (1,)]
    assert [type(value) for value in lies] == [int, tuple]
    assert call("thing") == {"refused": "object"}
    assert call("forever") == {"refused": "an iterator without end"}
    assert call("deep") == {"refused": "too deep"}
    assert call("leave")["error"]["kind"] == "exit"
    assert call("nothing")["error"]["type"] == "NameError"
    fault = call("fail")["error"]
    assert (fault["type"], len(fault["message"])) == ("ValueError", 300)
    side.hang_up()
    assert side.output() == "loaded\ncalled\n"


@pytest.mark.parametrize(
    ("code", "kind"),
    [("1 / 0", "exception"), ("raise SystemExit", "exit"), ("def f(", "syntax"), ("raise BaseException", "exception")],
)
def test_code_that_does_not_load_is_told(start, code, kind):
    assert start({"mode": "function", "code": code}).reply()["error"]["kind"] == kind
