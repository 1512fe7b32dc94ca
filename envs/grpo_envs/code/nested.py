"""Trees as nested lists: sums that depend on the depth, paths, pruning, mirror images."""

from __future__ import annotations

from typing import Any

from grpo_envs.code.draft import Draft, coding
from grpo_gym.rng import Rng

Tree = Any


def _leaves(tree: Tree, depth: int = 0) -> list[tuple[int, int]]:
    """Return the numbers of a tree with their depth, from left to right; those of the outer list have depth 1."""
    if isinstance(tree, int):
        return [(tree, depth)]
    return [leaf for part in tree for leaf in _leaves(part, depth + 1)]


def _tree(rng: Rng, depth: int = 0) -> Tree:
    tree: list[Any] = []
    for _ in range(rng.integer(2, 4) if depth == 0 else rng.integer(0, 3)):
        if depth < 3 and rng.chance(1, 2):
            tree.append(_tree(rng, depth + 1))
        else:
            tree.append(rng.integer(-6, 12))
    return tree


def _inputs(rng: Rng) -> list[Any]:
    return [_tree(rng)]


_CHANGES = ("mirror", "prune", "shift", "drop", "odd", "scale")


def _changed(how: str, tree: Tree, k: int, a: int, depth: int = 1) -> Tree:
    """Change a tree, by a walk that builds the new one."""
    if how == "mirror":
        return [_changed(how, part, k, a) if isinstance(part, list) else part for part in reversed(tree)]
    new: list[Any] = []
    for part in tree:
        if isinstance(part, list):
            if how == "prune" and depth + 1 > k:
                continue
            inner = _changed(how, part, k, a, depth + 1)
            if how != "drop" or inner:
                new.append(inner)
        elif how == "shift":
            new.append(part + a * depth)
        elif how == "scale":
            new.append(k * part + a)
        elif not (how == "drop" and part < a) and not (how == "odd" and part % 2 and depth >= k):
            new.append(part)
    return new


def _words(how: str, k: int, a: int) -> str:
    return {
        "scale": f"First replace every number x by {k} * x + {a}, at every depth. ".replace("+ -", "- "),
        "mirror": "First reverse the order of the elements in every list, at every depth. ",
        "prune": f"First remove every list of a depth greater than {k}, with all that is in it. ",
        "shift": f"First add {a} times its depth to every number (the depth of a number is that of the list it is "
        "in). ",
        "drop": f"First remove every number less than {a}, and then every inner list that is empty or has become empty "
        "(from the inside out, the outer list stays). ",
        "odd": f"First remove every odd number in a list of depth {k} or more; lists stay, even if they become empty. ",
    }[how]


def _code(how: str, k: int, a: int) -> str:
    """Return the program of a change; it is called `change`."""
    inner = {
        "mirror": "[change(x, depth + 1) if isinstance(x, list) else x for x in tree[::-1]]",
        "prune": f"[change(x, depth + 1) if isinstance(x, list) else x for x in tree\n"
        f"            if not isinstance(x, list) or depth < {k}]",
        "shift": f"[change(x, depth + 1) if isinstance(x, list) else x + {a} * depth for x in tree]",
        "scale": f"[change(x, depth + 1) if isinstance(x, list) else {k} * x + {a} for x in tree]".replace("+ -", "- "),
        "odd": f"[change(x, depth + 1) if isinstance(x, list) else x for x in tree\n"
        f"            if isinstance(x, list) or x % 2 == 0 or depth < {k}]",
    }
    if how == "drop":
        body = f"""    kept = []
    for x in tree:
        if isinstance(x, list):
            x = change(x, depth + 1)
            if x:
                kept.append(x)
        elif x >= {a}:
            kept.append(x)
    return kept"""
    else:
        body = f"    return {inner[how]}"
    return f"def change(tree: list, depth: int) -> list:\n{body}\n\n\n"


_RESULTS = ("weighted", "count", "levels", "deepest", "path", "flat", "tree")


def _result(what: str, tree: Tree, b: int, tie: int = 1) -> Any:
    leaves = _leaves(tree)
    if what == "tree":
        return tree
    if what == "weighted":
        return sum(n * (d + b) for n, d in leaves)
    if what == "levels":
        return [sum(n for n, d in leaves if d == level) for level in range(1, _height(tree) + 1)]
    if what == "deepest":
        most = max((d for _, d in leaves), default=0)
        return next((n for n, d in leaves[::tie] if d == most), 0)
    if what == "path":
        return _best(tree)
    if what == "flat":
        return [n for n, d in leaves if d % 2 == b % 2]
    return sum(n > b for n, _ in leaves)


def _height(tree: Tree) -> int:
    return 0 if isinstance(tree, int) else 1 + max((_height(part) for part in tree), default=0)


def _best(tree: Tree) -> int:
    own = sum(part for part in tree if isinstance(part, int))
    inner = sorted(_best(part) for part in tree if isinstance(part, list))
    return own + (max(0, inner[-1]) if inner else 0)


def _asked(what: str, b: int) -> tuple[str, str, str]:
    """Return words, type and program of a result."""
    return {
        "tree": ("Return the resulting nested list.", "list", "    return tree"),
        "weighted": (
            f"Return the sum of n * ({b} + d) over all numbers n, where d is the depth of n.",
            "int",
            "    def total(tree, depth):\n"
            f"        return sum(total(x, depth + 1) if isinstance(x, list) else x * ({b} + depth) for x in tree)\n\n"
            "    return total(tree, 1)",
        ),
        "levels": (
            "Return the list of the sums of the numbers at depth 1, 2, 3 and so on, down to the deepest list "
            "(0 where a depth has no numbers).",
            "list[int]",
            "    sums = []\n    level = [tree]\n    while level:\n"
            "        sums.append(sum(x for part in level for x in part if not isinstance(x, list)))\n"
            "        level = [x for part in level for x in part if isinstance(x, list)]\n    return sums",
        ),
        "deepest": (
            "Return the number of the greatest depth, the leftmost of them if there are several, and 0 if there is no "
            "number.",
            "int",
            "    best = [0, 0]\n\n    def visit(tree, depth):\n        for x in tree:\n"
            "            if isinstance(x, list):\n                visit(x, depth + 1)\n"
            "            elif depth > best[1]:\n                best[:] = [x, depth]\n\n"
            "    visit(tree, 1)\n    return best[0]",
        ),
        "path": (
            "The worth of a list is the sum of the numbers that stand directly in it, plus the largest worth of the "
            "lists that stand directly in it (nothing is added if there is none, or if that largest worth is "
            "negative). Return the worth of the outer list.",
            "int",
            "    def worth(tree):\n        own = sum(x for x in tree if not isinstance(x, list))\n"
            "        return own + max([0] + [worth(x) for x in tree if isinstance(x, list)])\n\n    return worth(tree)",
        ),
        "flat": (
            f"Return the list of the numbers whose depth is {'odd' if b % 2 else 'even'}, from left to right.",
            "list[int]",
            "    def numbers(tree, depth):\n        found = []\n        for x in tree:\n"
            "            if isinstance(x, list):\n                found += numbers(x, depth + 1)\n"
            f"            elif depth % 2 == {b % 2}:\n                found.append(x)\n        return found\n\n"
            "    return numbers(tree, 1)",
        ),
        "count": (
            f"Return how many numbers, at any depth, are greater than {b}.",
            "int",
            "    def count(tree):\n"
            f"        return sum(count(x) if isinstance(x, list) else x > {b} for x in tree)\n\n    return count(tree)",
        ),
    }[what]


@coding("code.nested", tiers=(2, 3, 4))
def nested(rng: Rng, tier: int) -> Draft:
    """A nested list is changed tier - 1 times and summed up, by rules on depth."""
    hows = rng.sample(_CHANGES, tier - 1) if tier > 2 else [rng.choice(("scale", "scale", "shift", "drop"))]
    what = rng.choice(_RESULTS)
    ks = [rng.choice((-4, -3, -2, 2, 3, 4, 5, 6, 7)) if how == "scale" else rng.integer(2, 3) for how in hows]
    numbers = [rng.choice((-9, -8, -7, -6, -5, -4, -3, -2, 2, 3, 4, 5, 6, 7, 8, 9)) for _ in hows]
    b = rng.integer(-15, 40) if what == "weighted" else rng.integer(-12, 25) if what != "flat" else rng.below(2)

    def rule(hows: list[str] = hows, ks: list[int] = ks, numbers: list[int] = numbers, b: int = b, tie: int = 1) -> Any:
        def compute(tree: Tree) -> Any:
            for how, k, a in zip(hows, ks, numbers, strict=True):
                tree = _changed(how, tree, k, a)
            return _result(what, tree, b, tie)

        return compute

    words, kind, last = _asked(what, b)
    head = f"solve(tree: list) -> {kind}"
    changes = [_code(how, k, a) for how, k, a in zip(hows, ks, numbers, strict=True)]
    names = ("change",) if len(hows) == 1 else ("first", "second", "third")
    changes = [text.replace("change(", f"{name}(") for text, name in zip(changes, names, strict=False)]
    calls = [f"    tree = {name}(tree, 1)" for name in names[: len(hows)]]
    told = [_words(how, k, a) for how, k, a in zip(hows, ks, numbers, strict=True)]
    told[1:] = [text.replace("First", "Then") for text in told[1:]]
    mistakes = [rule(b=b + 1)] if what in ("weighted", "count", "flat") else [rule(tie=-1)] if what == "deepest" else []
    for place, how in enumerate(hows):
        if how in ("prune", "odd", "scale"):
            mistakes += [rule(ks=[k + step * (i == place) for i, k in enumerate(ks)]) for step in (1, -1)]
        if how in ("shift", "drop", "scale"):
            mistakes.append(rule(numbers=[n + (i == place) for i, n in enumerate(numbers)]))
    return Draft(
        head=head,
        statement=[
            "It takes a list whose elements are whole numbers and, again, such lists, nested to any depth; every "
            "list may "
            "be empty. The outer list has depth 1, a list directly in it depth 2, and so on, and a number has the "
            "depth of the list that it stands in.",
            "".join(told).strip(),
            words,
        ],
        code="".join(changes) + f"def {head}:\n" + "\n".join([*calls, last]),
        expected=rule(),
        inputs=_inputs,
        edges=(
            [[]],
            [[5]],
            [[[]]],
            [[[], [[-2]], 4]],
            [[3, [1, [4, [1, [5, 9]]], [2]], [6, [5]]]],
            [[[7, 8], [8, 7], -3]],
        ),
        mistakes=mistakes,
        needed=[
            rule([*hows[:i], *hows[i + 1 :]], [*ks[:i], *ks[i + 1 :]], [*numbers[:i], *numbers[i + 1 :]])
            for i in range(len(hows))
        ],
        rules=tier + 1,
    )
