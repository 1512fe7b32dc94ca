"""Programs that read a network: groups that grow, and the order of tasks that wait for one another."""

from __future__ import annotations

from functools import partial
from typing import Any

from grpo_envs.code.draft import Draft, coding
from grpo_gym.rng import Rng

Lines = list[list[Any]]

_GROUPS = """def find(n: int) -> int:
    while group[n] != n:
        n = group[n]
    return n


n, q = map(int, input().split())
group = list(range(n + 1))
{state}
for _ in range(q):
    word, a, b = input().split()
    a, b = find(int(a)), find(int(b))
    if word == 'join':
        if a != b:
{join}
    else:
        print({answer})
"""


class Groups:
    """Groups of numbers as sets that are merged."""

    def __init__(self, n: int) -> None:
        self.of = {i: frozenset([i]) for i in range(1, n + 1)}

    def join(self, a: int, b: int) -> None:
        """Merge the groups of a and b."""
        whole = self.of[a] | self.of[b]
        for i in whole:
            self.of[i] = whole


def _render(n: int, rows: Lines) -> str:
    return "\n".join([f"{n} {len(rows)}", *(" ".join(map(str, row)) for row in rows)]) + "\n"


@coding("code.networks", tiers=(3, 4))
def networks(rng: Rng, tier: int) -> Draft:
    """Joins and questions about groups (tier 3), or an order of tasks by a rule for ties (4); standard input."""
    return _groups(rng) if tier == 3 else _orders(rng)


def _group_statement(limit: int, words: dict[str, str], same: str, apart: dict[str, str], other: str) -> list[Any]:
    return [
        "The first line holds n and q, each at least 1. At first each of the numbers 1 to n forms a group of its "
        "own. Each of the next "
        "q lines is 'join A B' or 'ask A B', with two numbers A and B from 1 to n, which may be equal.",
        "'join A B' makes one group of the group of A and the group of B; if they are in the same group already, "
        "nothing happens."
        + (f" Nothing happens either if the new group would have more than {limit} members." if limit else ""),
        f"'ask A B' prints a line: if A and B are in the same group, {words[same]}; otherwise {apart[other]}.",
    ]


def _inside(k: int, m: int) -> dict[str, str]:
    return {
        "size": "the number of members of the group",
        "least": "the smallest member of the group",
        "most": "the largest member of the group",
        "sum": f"{k} times the sum of the members of the group, modulo {m}",
    }


def _apart(k: int, m: int) -> dict[str, str]:
    return {
        "gap": f"{k} times the difference (larger minus smaller) of the numbers of members of the two groups, "
        f"minus {m}",
        "sum": f"minus the sum of the members of both groups, modulo {m} (so a number from -{m - 1} to 0)",
        "size": f"minus the number of members of both groups together, minus {k}",
    }


def _group_edges(chain: Any) -> list[Any]:
    return [
        [1, [["ask", 1, 1]]],
        [4, [["ask", 2, 3], ["join", 2, 3], ["ask", 2, 3], ["join", 3, 2], ["ask", 1, 3]]],
        [6, [*chain, ["ask", 1, 6], ["ask", 5, 2], ["ask", 6, 6]]],
        [6, [*chain[::2], ["join", 1, 4], ["ask", 2, 3], ["ask", 1, 6]]],
        [3, [["join", 2, 2], ["ask", 2, 2], ["ask", 3, 2]]],
        [
            6,
            [
                ["join", 1, 2],
                ["join", 3, 2],
                ["join", 4, 5],
                ["join", 5, 1],
                ["ask", 3, 4],
                ["join", 6, 3],
                ["ask", 6, 1],
                ["ask", 4, 6],
            ],
        ],
    ]


def _group_rule(*, other: str, k: int, m: int, limit: int, same: str) -> Any:
    def compute(n: int, rows: Lines) -> str:
        groups, said = Groups(n), []
        for word, a, b in rows:
            one, two = groups.of[a], groups.of[b]
            if word == "join":
                if not limit or one == two or len(one) + len(two) <= limit:
                    groups.join(a, b)
            elif one == two:
                said.append({"size": len(one), "least": min(one), "most": max(one), "sum": k * sum(one) % m}[same])
            else:
                said.append(
                    {
                        "gap": k * abs(len(one) - len(two)) - m,
                        "sum": -(sum(one | two) % m),
                        "size": -len(one | two) - k,
                    }[other]
                )
        return "\n".join(map(str, said))

    return compute


def _folds() -> dict[str, str]:
    return {
        "size": "size[b] += size[a]",
        "least": "least[b] = min(least[a], least[b])",
        "most": "most[b] = max(most[a], most[b])",
        "total": "total[b] += total[a]",
    }


def _answer_apart(other: str, k: int, m: int) -> str:
    return {
        "gap": f"{k} * abs(size[a] - size[b]) - {m}",
        "sum": f"-((total[a] + total[b]) % {m})",
        "size": f"-(size[a] + size[b]) - {k}",
    }[other]


def _groups(rng: Rng) -> Draft:
    k, m = rng.integer(2, 9), rng.integer(5, 60)
    limit = rng.choice((0, 3, 4, 5))
    same, other = rng.choice(
        (("size", "gap"), ("least", "sum"), ("most", "gap"), ("sum", "size"), ("least", "gap"), ("most", "sum"))
    )
    words = _inside(k, m)
    apart = _apart(k, m)

    rule = partial(_group_rule, other=other, k=k, m=m, limit=limit, same=same)

    needs = {"size", "gap"} & {same, other} or limit
    fields = [
        ("size", "1", needs),
        ("least", "i", same == "least"),
        ("most", "i", same == "most"),
        ("total", "i", "sum" in (same, other)),
    ]
    used = [(name, first) for name, first, used in fields if used]
    state = [f"{name} = {'[1] * (n + 1)' if first == '1' else 'list(range(n + 1))'}" for name, first in used]
    folds = _folds()
    join = ["group[a] = b", *(folds[name] for name, _ in used)]
    if limit:
        join = [f"if size[a] + size[b] <= {limit}:", *(f"    {line}" for line in join)]
    left = {"size": "size[a]", "least": "least[a]", "most": "most[a]", "sum": f"{k} * total[a] % {m}"}[same]
    right = _answer_apart(other, k, m)

    def inputs(rng: Rng) -> list[Any]:
        n = rng.integer(3, 7)
        rows = [[rng.choice(("join", "ask")), rng.integer(1, n), rng.integer(1, n)] for _ in range(rng.integer(4, 11))]
        return [n, [*rows, ["ask", rng.integer(1, n), rng.integer(1, n)]]]

    chain: Lines = [["join", i, i + 1] for i in range(1, 6)]
    edges = _group_edges(chain)
    swap = {"least": "most", "most": "least", "size": "sum", "sum": "size"}[same]
    return Draft(
        head="",
        statement=_group_statement(limit, words, same, apart, other),
        code=_GROUPS.format(
            state="\n".join(state) or "",
            join="\n".join(f"            {line}" for line in join),
            answer=f"{left} if a == b else {right}",
        ),
        expected=rule(),
        inputs=inputs,
        edges=edges,
        mistakes=[
            rule(same=swap),
            rule(k=k + 1),
            rule(m=m + 1),
            *([rule(limit=limit + 1), rule(limit=limit - 1)] if limit else []),
        ],
        needed=[rule(limit=0)] if limit else [],
        rules=4,
        render=_render,
    )


_ORDER = """n, q = map(int, input().split())
waits = [0] * (n + 1)
after = [[] for _ in range(n + 1)]
for _ in range(q):
    a, b = map(int, input().split())
    after[a].append(b)
    waits[b] += 1
ready = [i for i in range(1, n + 1) if waits[i] == 0]
order = []
while ready:
    ready.sort(key=lambda i: {key})
    i = ready.pop(0)
    order.append(i)
    for b in after[i]:
        waits[b] -= 1
        if waits[b] == 0:
            ready.append(b)
{last}
"""

_LAST = {
    "order": (
        "Print the numbers of the tasks in the order in which they are done, separated by single spaces, on one "
        "line; if some "
        "tasks can never be done, print {k} instead",
        "print(*order) if len(order) == n else print({k})",
    ),
    "part": (
        "Print the number of tasks that are done, and on a second line the number of the last one (0 if none is "
        "done), times {k}",
        "print(len(order))\nprint((order[-1] if order else 0) * {k})",
    ),
    "sum": (
        "Print the sum over all tasks that are done of the number of the task times its place in the order (the "
        "first has place 1), "
        "modulo 1{k}9, and on a second line how many tasks can never be done",
        "print(sum(i * place for place, i in enumerate(order, 1)) % 1{k}9)\nprint(n - len(order))",
    ),
}


def _order_statement(told: str, words: str) -> list[Any]:
    return [
        "The first line holds n, at least 1, and q, at least 0; there are tasks with the numbers 1 to n. Each of "
        "the next q lines 'A B' says "
        "that task A must be done before task B (A and B are different; a line may occur twice).",
        f"Tasks are done one after the other. Of the tasks that can be done next, the one is chosen that has {told}.",
        f"{words}.",
    ]


def _keys(weigh: str, c: int, m: int) -> tuple[str, str]:
    return {
        "up": (
            f"(i * {c} % {m + 4}, i)",
            f"the smallest remainder of {c} times its number when divided by {m + 4}, and among those the smallest "
            "number",
        ),
        "down": (
            f"(i * {c} % {m + 4}, -i)",
            f"the smallest remainder of {c} times its number when divided by {m + 4}, and among those the largest "
            "number",
        ),
        "remainder": (
            f"(-(i % {m}), i)",
            f"the largest remainder when its number is divided by {m}, and among those the smallest number",
        ),
        "back": (
            f"(-len(after[i]), (i + {c}) % {m + 4}, i)",
            "the most lines of the input on which it stands first, among those the one with the smallest remainder "
            f"of its number plus {c} when "
            f"divided by {m + 4}, and among those the smallest number",
        ),
        "mix": (
            f"(abs(i - {c}), -i)",
            f"the smallest distance between its number and {c}, and among those the largest number",
        ),
    }[weigh]


def _order_edges() -> list[Any]:
    return [
        [1, []],
        [9, []],
        [2, [[1, 2], [2, 1]]],
        [5, [[5, 4], [4, 3], [3, 2], [2, 1]]],
        [8, [[8, 1], [8, 1], [1, 5]]],
        [4, [[1, 2], [2, 3], [3, 2]]],
        [9, [[2, 1], [3, 1], [4, 1], [9, 5]]],
    ]


def _order_rule(*, kind: str, m: int, k: int, c: int, weigh: str, tie: int = 1) -> Any:
    def rank(i: int, follow: dict[int, list[int]]) -> tuple[int, ...]:
        if weigh in ("up", "down"):
            return (i * c % (m + 4), tie * (i if weigh == "up" else -i))
        if weigh == "remainder":
            return (-(i % m), tie * i)
        if weigh == "back":
            return (-len(follow[i]), (i + c) % (m + 4), tie * i)
        return (abs(i - c), tie * -i) if weigh == "mix" else (i,)

    def compute(n: int, rows: Lines) -> str:
        follow = {i: [b for a, b in rows if a == i] for i in range(1, n + 1)}
        done: list[int] = []
        while True:
            free = [i for i in follow if i not in done and all(a in done for a, b in rows if b == i)]
            if not free:
                break
            done.append(min(free, key=lambda i: rank(i, follow)))
        if kind == "order":
            return " ".join(map(str, done)) if len(done) == n else str(k)
        if kind == "part":
            return f"{len(done)}\n{(done or [0])[-1] * k}"
        return f"{sum(i * p for p, i in enumerate(done, 1)) % int(f'1{k}9')}\n{n - len(done)}"

    return compute


def _orders(rng: Rng) -> Draft:
    m, k, kind = rng.integer(2, 7), rng.integer(2, 9), rng.choice(list(_LAST))
    weigh = rng.choice(("up", "down", "remainder", "back", "mix"))
    c = rng.integer(2, 9)
    key, told = _keys(weigh, c, m)

    rule = partial(_order_rule, kind=kind, m=m, k=k, c=c, weigh=weigh)

    def inputs(rng: Rng) -> list[Any]:
        n = rng.integer(3, 9)
        names = list(range(1, n + 1))
        rng.shuffle(names)
        rows: Lines = []
        for _ in range(rng.integer(2, n + 1)):
            a, b = sorted(rng.sample(range(n), 2))
            rows.append([names[a], names[b]])
        if rng.chance(1, 6):
            rows.append(rows[0][::-1])
        return [n, rows]

    words, last = (part.format(k=k) for part in _LAST[kind])
    edges: list[list[Any]] = _order_edges()
    return Draft(
        head="",
        statement=_order_statement(told, words),
        code=_ORDER.format(key=key, last=last),
        expected=rule(),
        inputs=inputs,
        edges=edges,
        mistakes=[rule(weigh="plain"), rule(m=m + 1), rule(k=k + 1), rule(c=c + 1), rule(tie=-1)],
        needed=[rule(weigh="plain")],
        rules=5,
        render=_render,
    )
