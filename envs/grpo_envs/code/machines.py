"""Tiny interpreters: a stack machine with a drawn set of instructions, some of them unusual."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from grpo_envs.code.draft import Draft, coding
from grpo_gym.rng import Rng

Stack = list[int]


@dataclass(frozen=True)
class Instruction:
    """An instruction without operand.

    Attributes:
        needs: How many numbers it takes from the stack; with fewer it does nothing.
        words: What it does.
        code: Its program, with the numbers taken as a (the top) and b (below it).
        effect: What it puts back, from the numbers taken (top first), bottom first.
        wrong: What a mistaken one puts back.
        tries: Values of a that tell its cases apart.
    """

    needs: int
    words: str
    code: str
    effect: Callable[..., Stack]
    wrong: Callable[..., Stack]
    tries: tuple[int, ...] = ()


def _instruction(rng: Rng, kind: str, cap: int) -> Instruction:
    k = rng.integer(2, 9)
    return {**_of_two(k, cap), **_of_one(k)}[kind]


def _of_two(k: int, cap: int) -> dict[str, Instruction]:
    return {
        "ADD": Instruction(2, "push b + a", "stack.append(b + a)", lambda a, b: [b + a], lambda a, b: [b - a]),
        "SUB": Instruction(2, "push b - a", "stack.append(b - a)", lambda a, b: [b - a], lambda a, b: [a - b]),
        "MUL": Instruction(
            2,
            f"push b * a, cut to the range from -{cap} to {cap} (a product beyond an end becomes that end)",
            f"stack.append(max(-{cap}, min({cap}, b * a)))",
            lambda a, b: [sorted((-cap, a * b, cap))[1]],
            lambda a, b: [a * b],
            (cap, -cap),
        ),
        "MIX": Instruction(
            2, f"push {k} * b - a", f"stack.append({k} * b - a)", lambda a, b: [k * b - a], lambda a, b: [k * a - b]
        ),
        "SWAP": Instruction(
            2, "push a, then b (the two change places)", "stack += [a, b]", lambda a, b: [a, b], lambda a, b: [b, a]
        ),
        "MAX": Instruction(
            2,
            "push the larger of a and b",
            "stack.append(max(a, b))",
            lambda a, b: [a if a > b else b],
            lambda a, b: [min(a, b)],
            (9, -9),
        ),
        "KEEP": Instruction(
            2,
            f"if a < {k} push b, else push a",
            f"stack.append(b if a < {k} else a)",
            lambda a, b: [a if a >= k else b],
            lambda a, b: [b if a <= k else a],
            (k, k - 1),
        ),
        "OVER": Instruction(
            2, "push b, then a, then b", "stack += [b, a, b]", lambda a, b: [b, a, b], lambda a, b: [b, a, a]
        ),
    }


def _of_one(k: int) -> dict[str, Instruction]:
    return {
        "DUP": Instruction(1, "push a, then a again", "stack += [a, a]", lambda a: [a, a], lambda a: [a]),
        "NEG": Instruction(1, "push -a", "stack.append(-a)", lambda a: [-a], lambda a: [abs(a)], (-5,)),
        "INC": Instruction(1, f"push a + {k}", f"stack.append(a + {k})", lambda a: [a + k], lambda a: [a + k + 1]),
        "MOD": Instruction(
            1, f"push a % {k}", f"stack.append(a % {k})", lambda a: [a - a // k * k], lambda a: [a % (k + 1)], (-1, k)
        ),
        "HALF": Instruction(
            1,
            "push a // 2 if a is even, else push a, then 1",
            "stack += [a // 2] if a % 2 == 0 else [a, 1]",
            lambda a: [a, 1] if a % 2 else [a // 2],
            lambda a: [a // 2],
            (-3, 6),
        ),
        "DROP": Instruction(1, "push nothing", "pass", lambda a: [], lambda a: [a]),
        "SIGN": Instruction(
            1,
            "push 1 if a > 0, 0 if a is 0, and -1 if a < 0",
            "stack.append((a > 0) - (a < 0))",
            lambda a: [1 if a > 0 else -1 if a else 0],
            lambda a: [1 if a >= 0 else -1],
            (-1, 0, 1),
        ),
    }


_PAIRS = ("ADD", "SUB", "MUL", "MIX", "SWAP", "MAX", "KEEP", "OVER")
_SINGLES = ("DUP", "NEG", "INC", "MOD", "HALF", "DROP", "SIGN")

_RESULTS = {
    "top": ("the top of the stack, or {empty} if it is empty", "int", "stack[-1] if stack else {empty}"),
    "sum": ("the sum of the numbers on the stack (0 if it is empty)", "int", "sum(stack)"),
    "stack": ("the stack as a list, from bottom to top", "list[int]", "stack"),
    "count": (
        "the list [number of entries on the stack, largest of them], or [0, {empty}] if it is empty",
        "list[int]",
        "[len(stack), max(stack, default={empty})]",
    ),
}


def _result(kind: str, stack: Stack, empty: int) -> Any:
    if kind == "top":
        return stack[-1] if len(stack) > 0 else empty
    if kind == "count":
        return [len(stack), sorted(stack)[-1] if stack else empty]
    return stack if kind == "stack" else sum(stack)


def _code(head: str, table: dict[str, Instruction], skip: str, last: str) -> str:
    body = [f"def {head}:", "    stack = []"]
    body += (
        ["    place = 0", "    while place < len(program):", "        word = program[place]", "        place += 1"]
        if skip
        else ["    for word in program:"]
    )
    start = "if"
    for name, one in table.items():
        body.append(f"        {start} word == '{name}':")
        body.append(f"            if len(stack) >= {one.needs}:")
        body.append(f"                {', '.join(('a', 'b')[: one.needs])} = {', '.join(['stack.pop()'] * one.needs)}")
        body += [f"                {one.code}"] if one.code != "pass" else []
        start = "elif"
    if skip:
        body += [
            f"        elif word == 'SKIP':\n            if stack and stack.pop() {skip}:\n                place += 1"
        ]
    body += ["        else:\n            stack.append(int(word))", f"    return {last}"]
    return "\n".join(body)


def _statement(words: Any, listed: str, skips: str) -> list[Any]:
    return [
        "It runs a program for a stack machine. The program is a list of words; the stack is empty at first. A "
        "word that "
        "is a whole number, such as '12' or '-3', is pushed on the stack. Every other word is an instruction: it "
        "takes "
        "numbers off the top of the stack and then pushes others; if the stack holds fewer numbers than it "
        "takes, it "
        "does nothing at all.",
        f"The instructions: {listed} {skips}".strip(),
        f"Return {words}.",
    ]


def _edges(table: Any, skip: str, numbers: Any) -> list[Any]:
    return [
        [[]],
        [["7"]],
        [list(table)],
        [[*numbers, *table]],
        [[*numbers, *reversed(list(table))]],
        *([[*numbers[: one.needs], name]] for name, one in table.items()),
        *([[*numbers[1 : one.needs], name]] for name, one in table.items() if one.needs > 1),
        *([[*numbers, str(a), name]] for name, one in table.items() for a in one.tries),
        *([["5", str(a), "SKIP", "7", "2"][: 4 + long]] for a in (-1, 0, 1) for long in (0, 1) if skip),
        *([[["6", "2", "SKIP", "9", "0", "SKIP", "4", "-1", "SKIP", "3"]], [["SKIP", "5"]]] if skip else []),
    ]


def _rule(
    *, kind: str, empty: int, table: dict[str, Instruction], skip: str, wrong: str = "", strict: bool = True
) -> Any:
    def compute(program: list[str]) -> Any:
        stack: Stack = []
        jumped = False
        for word in program:
            if jumped:
                jumped = False
            elif word == "SKIP":
                if stack:
                    n = stack.pop()
                    jumped = {"> 0": n > 0, "== 0": n == 0, "< 0": n < 0, "": False, ">= 0": n >= 0}[skip]
            elif word in table:
                one = table[word]
                if len(stack) >= one.needs:
                    taken = [stack.pop() for _ in range(one.needs)]
                    stack.extend((one.wrong if word == wrong else one.effect)(*taken))
                elif not strict:
                    stack.clear()
            else:
                stack.append(int(word))
        return _result(kind, stack, empty)

    return compute


@coding("code.machines", tiers=(2, 3, 4))
def machines(rng: Rng, tier: int) -> Draft:
    """Run programs of a stack machine with tier + 1 instructions; from tier 3 on one of them skips."""
    pairs = rng.integer(1, 2) + (tier > 2)
    names = sorted([*rng.sample(_PAIRS, pairs), *rng.sample(_SINGLES, tier + 1 - pairs)])
    cap, empty = rng.choice((20, 50, 99, 100)), rng.choice((-1, 0))
    table = {name: _instruction(rng, name, cap) for name in names}
    skip = rng.choice(("> 0", "== 0", "< 0")) if tier > 2 else ""
    kind = rng.choice(list(_RESULTS))

    rule = partial(_rule, kind=kind, empty=empty, table=table, skip=skip)

    def inputs(rng: Rng) -> list[Any]:
        words = [*table, "SKIP"] if skip else list(table)
        program = [str(rng.integer(-9, 12)) for _ in range(rng.integer(1, 3))]
        for _ in range(rng.integer(2, 9)):
            program += [rng.choice(words) if rng.chance(3, 5) else str(rng.integer(-5, 9))]
        return [program]

    words, result, last = (part.format(empty=empty) for part in _RESULTS[kind])
    head = f"solve(program: list[str]) -> {result}"
    listed = " ".join(
        f"{name} ({('takes a', 'takes a, then b')[one.needs - 1]}): {one.words}." for name, one in table.items()
    )
    condition = {"> 0": "greater than 0", "== 0": "0", "< 0": "less than 0", "": ""}[skip]
    skips = (
        f"SKIP takes the top off the stack, if there is one, and if it is {condition}, the next word of the program "
        "is passed over (whatever it is)."
        if skip
        else ""
    )
    mistakes = [rule(wrong=name) for name in table] + [rule(strict=False)]
    mistakes += [rule(skip=">= 0" if skip != "< 0" else "> 0")] if skip else []
    numbers = ["13", "-4", "8", "0", "5"]
    edges = _edges(table, skip, numbers)
    return Draft(
        head=head,
        statement=_statement(words, listed, skips),
        code=_code(head, table, skip, last),
        expected=rule(),
        inputs=inputs,
        edges=edges,
        mistakes=mistakes,
        rules=tier + 1 + bool(skip),
    )
