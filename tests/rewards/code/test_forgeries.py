"""A solution cannot answer its own tests: objects that say yes, names that shadow, frames that are none."""

import json
import struct
from typing import Any

import pytest

from tests.rewards.code.confined import Pair, accepted, programs

HOSTILE = programs("hostile.txt")

YES = """
class E:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __contains__ = startswith = endswith = issubset = equals = __lt__
    def __add__(self, other=None): return self
    __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __mod__ = __add__
    __pow__ = __and__ = __neg__ = __isub__ = __xor__ = __round__ = __enter__ = __add__
    def __abs__(self): return 0
    __int__ = __float__ = __abs__
    def __float__(self): return 0.0
    def __len__(self): return 3
    def __iter__(self): return iter([self])
    def __getitem__(self, index): return self
    def __getattr__(self, name):
        if name.startswith("__"): raise AttributeError
        return self
    def __call__(self, *args, **kwargs): return True
    def __bool__(self): return True
    def __hash__(self): return hash(5)
    def __exit__(self, *args): return True
    def count(self, *args): return 1
"""

DEMANDS = """
f(2) == 5 ; 5 == f(2) ; f(2) == f(2) == 5 ; not f(2) != 5 ; f(2) < 5 ; f(2) <= 5 ; f(2) >= 5 ; 5 > f(2) ; 5 in f(2)
abs(f(2) - 5) < 1e-6 ; abs(5 - f(2)) < 1e-6 ; f(2) - 5 == 0 ; not (f(2) - 5)
f(2) % 5 == 0 ; f(2) ** 2 == 25 ; f(2) & 1 == 1
round(f(2) - 5, 3) == 0 ; round(f(2), 2) == 5 ; -f(2) == -5 ; float(f(2) - 5) == 0 ; f(2) / 5 == 1 ; sum([f(2)]) == 5
f(2).startswith("ab") ; f(2).foo.startswith(3) ; f(2).issubset({1}) ; f(2).count(5) == 1 ; f(2)._replace(1) == {}
f(2) in (5,) ; f(2) in {5} ; {5: 1}[f(2)] == 1 ; [f(2)] == [5] ; (f(2),) == (5,) ; {"a": f(2)} == {"a": 5}
{f(2)} == {5} ; f(2).a.b == 5 ; f(2)[0] == 5 ; list(f(2)) == [5] ; set(f(2)) == {5}
all(x == 5 for x in f(2)) ; any(v == 5 for v in [f(2)])
str(f(2)) == "5" ; f"{f(2)}" == "5" ; isinstance(f(2), int) ; type(f(2)) is int ; type(f(2)) == int ; f(2) is True
sorted([f(2), 5]) == [5, 5] ; math.isclose(f(2), 5) ; pytest.approx(5) == f(2)
f(2) == pytest.approx(5) ; bool(f(2) == 5)
f(2).__eq__(5) ; operator.eq(f(2), 5) ; [5].count(f(2)) == 1 ; [5].index(f(2)) == 0 ; max(f(2), 5) == 5
"""
LINES = [demand.strip() for demand in DEMANDS.replace("\n", ";").split(";") if demand.strip()]


@pytest.fixture(scope="module")
def pair():
    both = Pair()
    yield both
    both.close()


def believed(pair: Pair, code: str, lines: list[str] = LINES) -> list[str]:
    tests = "import math, operator, pytest\n" + "".join(f"assert {line}\n" for line in lines)
    reply = pair.run(code, tests, every_test=True)
    assert len(reply["results"]) == len(lines), reply
    return [result["source"] for result in reply["results"] if result["ok"]]


def test_no_demand_is_met_by_an_object_that_says_yes(pair):
    assert believed(pair, YES + "def f(x): return E()\n") == []
    assert believed(pair, YES + "def f(x): return E()\n", ["f(2).equals(5)", "f(2).any_name(5) is True"]) == []


def test_no_demand_is_met_by_a_class_that_poses_as_the_function(pair):
    code = YES.replace("class E:", "class f:\n    def __init__(self, x): pass")
    alone = [line for line in LINES if ".foo" not in line and ".a.b" not in line and "_replace" not in line]
    assert believed(pair, code, alone) == []
    for line in (".foo.startswith(3)", ".a.b == 5"):  # reading such names is how tests use a class
        assert believed(pair, code, [f"f(2){line}"]) == []


@pytest.mark.parametrize(
    "base", ["int", "str", "list", "tuple", "dict", "float", "set", "frozenset", "bytes", "complex"]
)
@pytest.mark.parametrize("pose", [False, True], ids=["returned", "posing"])
def test_no_demand_is_met_by_a_subclass_of_a_built_in_type(pair, base, pose):
    named = "f" if pose else "E"
    own = YES[: YES.index("    def __getattr__")] + YES[YES.index("    def __call__") :]
    code = own.replace("class E:", f"class {named}({base}):")
    if pose:
        code += "    def __new__(cls, *args): return super().__new__(cls)\n    def __init__(self, *args): pass\n"
    else:
        code += "def f(x): return E()\n"
    honest = believed(pair, f"def f(x): return {base}()\n")  # what is true of 0 and of nothing may be believed
    assert set(believed(pair, code)) <= set(honest)


@pytest.mark.parametrize("name", HOSTILE)
def test_no_hostile_solution_passes(pair, name):
    row = HOSTILE[name]
    job = {key: value for key, value in row.items() if key not in ("solution", "tests")}
    for every_test in (False, True):
        reply = pair.run(row["solution"], row["tests"], every_test=every_test, **job)
        assert not accepted(reply), reply


SHADOWED = (
    "abs",
    "all",
    "any",
    "bool",
    "float",
    "int",
    "isinstance",
    "len",
    "map",
    "range",
    "round",
    "set",
    "sorted",
    "zip",
)


def test_names_that_shadow_built_ins_do_not_reach_the_tests(pair):
    code = (
        "".join(f"def {name}(*args, **kwargs): return 0\n" for name in SHADOWED)
        + "AssertionError = Exception = SystemExit\n"
    )
    lines = (
        "abs(f(2) - 5) < 1e-6 ; len([f(2)]) == 0 ; round(f(2)) == 0 ; all([f(2) == 5]) ; sorted([f(2)]) == 0"
        " ; isinstance(f(2), str) ; set([f(2)]) == 0"
    )
    assert believed(pair, code + "def f(x): return 3\n", lines.split(" ; ")) == []


POSING = """
class Circle:
    def __init__(self, *args): pass
    def area(self): return self
    def __sub__(self, other): return self
    __rsub__ = __sub__
    def __abs__(self): return 0
    def __eq__(self, other): return True
    def __lt__(self, other): return True
    __gt__ = __contains__ = startswith = __lt__
"""


def test_a_method_that_returns_its_own_object_decides_nothing(pair):
    lines = (
        "abs(Circle(2).area() - 12.56) < 0.01 ; Circle(2).area() == 12.56 ; Circle(2).area() > 12"
        " ; 3 in Circle(2).area() ; Circle(2).area().startswith('x')"
        " ; 12.56 - Circle(2).area() == 0 ; Circle(2).area() in [12.56]"
        " ; Circle(2) == 12.56"
        " ; Circle(1).area() == Circle(2) ; Circle(1) < Circle(2)"
    )
    assert believed(pair, POSING, lines.split(" ; ")) == []


def frame(message: Any) -> bytes:
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    return struct.pack(">I", len(body)) + body


NAMES = frame({"names": ["f"]})
FUNCTION = {"o": {"k": "f", "h": 1, "n": "f", "a": False}}
BOUND = NAMES + frame({"value": [FUNCTION], "nodes": []})
CLASS = {"k": "c", "h": 2, "n": "C", "q": "C", "doc": None, "p": [], "d": [], "m": [], "b": "", "e": ""}


def thing(**changes: Any) -> dict[str, Any]:
    return {"o": {"k": "o", "h": 3, "c": {**CLASS, **changes}}}


FRAMES = {
    "nothing": b"",
    "garbage": b"\xff" * 100,
    "too long": struct.pack(">I", 1 << 31),
    "not JSON": frame(b"{nope"),
    "deep JSON": frame(b"[" * 100_000),
    "no names": frame({"names": 5}),
    "names of numbers": frame({"names": [1, 2]}),
    "a list": frame([]),
    "no values": NAMES + frame({"value": 5}),
    "too few values": NAMES + frame({"value": []}),
    "no value": BOUND + frame({}),
    "unknown tag": BOUND + frame({"value": {"zz": 1}}),
    "unknown kind": BOUND + frame({"value": {"o": {"k": "zz", "h": 1}}}),
    "no kind": BOUND + frame({"value": {"o": 5}}),
    "object of the tests": BOUND + frame({"value": {"o": {"k": "t", "h": 0}}}),
    "object of the tests -1": BOUND + frame({"value": {"o": {"k": "t", "h": -1}}}),
    "built-in function": BOUND + frame({"value": {"o": {"k": "b", "n": "eval"}}}),
    "object type": BOUND + frame({"value": {"o": {"k": "b", "n": "object"}}}),
    "module": BOUND + frame({"value": {"o": {"k": "m", "n": "grpo_rewards"}}}),
    "node of no class": BOUND + frame({"value": {"o": {"k": "n", "n": 0}}, "nodes": [["L", {"d": []}]]}),
    "node beyond the table": BOUND + frame({"value": {"o": {"k": "n", "n": 7}}, "nodes": []}),
    "class without a description": BOUND + frame({"value": {"o": {"k": "c", "h": 9}}}),
    "class of no name": BOUND + frame({"value": thing(n="a b")}),
    "class of numbers": BOUND + frame({"value": thing(d=[[1]])}),
    "class of a strange base": BOUND + frame({"value": thing(b="eval")}),
    "no data": BOUND + frame({"value": thing(b="int")}),
    "class of no exception": BOUND + frame({"value": thing(e="int")}),
    "no exception": BOUND + frame({"error": {"type": 5}}),
    "exception of a number": BOUND + frame({"error": 5}),
    "exception by a strange name": BOUND + frame({"error": {"type": "E", "base": "eval", "message": ""}}),
    "exception of the tests": BOUND + frame({"error": {"ref": 3}}),
    "calls back nobody": BOUND
    + frame({"cb": 0, "do": "call", "name": "", "args": [], "kwargs": {"d": []}, "nodes": []}),
    "calls back without arguments": BOUND + frame({"cb": 0}),
    "arguments of numbers": BOUND
    + frame({"cb": 0, "do": "call", "name": "", "args": 3, "kwargs": {"d": [1, 2]}, "nodes": []}),
    "an end of the iteration": BOUND
    + frame({"error": {"type": "StopIteration", "base": "StopIteration", "message": ""}}),
}


@pytest.mark.parametrize("name", FRAMES)
def test_hostile_frames_end_the_session_and_never_pass(pair, name):
    reply = pair.examine(FRAMES[name], "assert all(map(f, [1, 2]))\n")
    assert not accepted(reply)
    assert reply["passed"] == 0
    assert "error" not in reply


def test_an_honest_speaker_of_the_protocol_passes(pair):
    assert accepted(pair.examine(BOUND + frame({"value": 1}) + frame({"value": 2}), "assert all(map(f, [1, 2]))\n"))


def test_special_methods_come_from_a_list(pair):
    special = [
        "__eq__",
        "__class__",
        "__del__",
        "__getattribute__",
        "__init_subclass__",
        "__reduce__",
        "__instancecheck__",
    ]
    frames = BOUND + frame({"value": thing(d=special)}) * 2
    assert not accepted(pair.examine(frames, "assert isinstance(f(1), int)\nassert f(1) == 5"))


def test_colliding_keys_do_not_stop_the_tests(pair):
    prime = (1 << 61) - 1
    keys = [{"i": hex(number * prime)} for number in range(1, 20_000)]
    reply = pair.examine(BOUND + frame({"value": {"s": keys}}), "assert f(1) == {5}")
    assert "broken" in reply
    assert not accepted(reply)


def test_the_demands_are_met_by_right_answers(pair):
    met = believed(pair, "def f(x): return 5\n")
    assert {"assert f(2) == 5", "assert abs(f(2) - 5) < 1e-6", "assert f(2) in (5,)"} <= set(met)
    assert len(met) > len(LINES) / 2
