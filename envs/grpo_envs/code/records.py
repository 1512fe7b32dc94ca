"""Records of a table: filtered, grouped, summed up, and put in an order with a rule for ties."""

from __future__ import annotations

from functools import partial
from typing import Any

from grpo_envs.code.draft import Draft, coding
from grpo_gym.rng import Rng

Rows = list[list[Any]]

_NAMES = ("ann", "bob", "cid", "dee", "eva", "fay")
_GROUPS = ("tea", "oil", "rye", "fig", "nut")

_FOLDS = {
    "the sum of the amounts": "sum(amounts)",
    "the largest amount": "max(amounts)",
    "the smallest amount": "min(amounts)",
    "the number of records": "len(amounts)",
    "the amount of the last record (in the order of the list)": "amounts[-1]",
    "the largest minus the smallest amount": "max(amounts) - min(amounts)",
    "the sum of the amounts of the group, rounded down to a multiple of {m}": "sum(amounts) // {m} * {m}",
}
_TIES = {
    "in alphabetical order of their keys": ("pair[0]", lambda key, place: key),
    "in the order in which their keys first occur": ("", lambda key, place: place),
}


def _fold(code: str, amounts: list[int], m: int) -> int:
    total = 0
    for amount in amounts:
        total += amount
    ordered = sorted(amounts)
    return {
        "sum(amounts)": total,
        "max(amounts)": ordered[-1],
        "min(amounts)": ordered[0],
        "len(amounts)": sum(1 for _ in amounts),
        "amounts[-1]": amounts[len(amounts) - 1],
        "max(amounts) - min(amounts)": ordered[-1] - ordered[0],
        "sum(amounts) // {m} * {m}": total - total % m,
    }[code]


def _table(rng: Rng) -> list[Any]:
    names, groups = rng.sample(_NAMES, rng.integer(2, 5)), rng.sample(_GROUPS, rng.integer(2, 4))
    return [[[rng.choice(names), rng.choice(groups), rng.integer(0, 30)] for _ in range(rng.integer(3, 10))]]


def _of_group(fold: str) -> str:
    return fold if "the group" in fold else f"{fold} {'in' if 'rec' in fold else 'of'} the group"


def _statement(
    limit: bool,
    tie: str,
    down: bool,
    top: int,
    twice: str,
    factor: int,
    keep: str,
    column: int,
    told: dict[str, str],
    having: str,
    tie_code: str,
    fold: str,
    m: int,
) -> list[Any]:
    return [
        "It takes a list of records [person, product, amount] (two texts and a whole number, at least 0); "
        "the list may be empty.",
        f"Multiply the amounts of all records whose {'person' if column else 'product'} is {twice!r} by {factor}. "
        f"{told[keep]}Group the records by {'product' if column else 'person'}, which is the key of the group; "
        f"the value of a group is {_of_group(fold).format(m=m)}. {told[having]}",
        f"Return a list of pairs [key, value], one for each group, from the {'largest' if down else 'smallest'} "
        "value to "
        f"the {'smallest' if down else 'largest'}; groups of equal value stand {tie}"
        f"{' (among the records that count)' if keep and not tie_code else ''}.",
        (
            "Return only the first pair, or an empty list if there is none."
            if top == 1
            else f"Return only the first {top} pairs, or all if there are fewer."
        )
        if limit
        else "",
    ]


def _rule(
    *,
    formula: str,
    m: int,
    limit: bool,
    twice: str,
    other: str,
    low: int,
    down: bool,
    tie: str,
    least: int,
    top: int,
    keep: str,
    having: str,
    column: int,
    factor: int,
) -> Any:
    def compute(rows: Rows) -> Any:
        rows = [[*row[:2], row[2] * factor if row[1 - column] == twice else row[2]] for row in rows]
        if keep == "amount":
            rows = [row for row in rows if row[2] >= low]
        elif keep == "even":
            rows = [row for row in rows if row[2] % 2 == 0]
        elif keep == "other":
            rows = [row for row in rows if row[1 - column] != other]
        keys = list(dict.fromkeys(row[column] for row in rows))
        pairs = []
        for place, key in enumerate(keys):
            amounts = [row[2] for row in rows if row[column] == key]
            value = _fold(formula, amounts, m)
            if not (having == "value" and value < least) and not (having == "count" and len(amounts) < 2):
                rank = key if tie.startswith("in alpha") else place
                pairs.append((-value if down else value, rank, [key, value]))
        return [pair for *_, pair in sorted(pairs)][: top if limit else None]

    return compute


def _tests(low: int, other: str, column: int) -> dict[str, str]:
    return {
        "": "",
        "amount": f"amount >= {low}",
        "even": "amount % 2 == 0",
        "other": f"{'person' if column else 'product'} != {other!r}",
    }


def _told(low: int, other: str, least: int, column: int) -> dict[str, str]:
    return {
        "": "",
        "amount": f"Leave out all records whose amount (after that) is below {low}. ",
        "even": "Leave out all records whose amount (after that) is odd. ",
        "other": f"Leave out all records whose {'person' if column else 'product'} is {other!r}. ",
        "value": f"Leave out groups with a value below {least}. ",
        "count": "Leave out groups of a single record. ",
    }


def _edges() -> list[Any]:
    return [
        [[]],
        [[["ann", "tea", 5]]],
        [[["bob", "tea", 4], ["ann", "oil", 4], ["bob", "rye", 3], ["ann", "fig", 3], ["cid", "oil", 7]]],
        [[["eva", "nut", 0], ["dee", "fig", 8], ["eva", "fig", 1], ["eva", "fig", 7], ["dee", "nut", 0]]],
    ]


_HEAD = "solve(rows: list[list]) -> list[list]"


def _program(
    part: str,
    column: int,
    keep: str,
    having: str,
    low: int,
    least: int,
    other: str,
    twice: str,
    factor: int,
    down: bool,
    tie_code: str,
    top: int,
) -> str:
    tests = _tests(low, other, column)
    indent = "    " if keep else ""
    body = [f"def {_HEAD}:", "    groups = {}", "    for person, product, amount in rows:"]
    body += [f"        if {'person' if column else 'product'} == {twice!r}:", f"            amount *= {factor}"]
    body += [f"        if {tests[keep]}:"] if keep else []
    body.append(f"        {indent}groups.setdefault({'product' if column else 'person'}, []).append(amount)")
    final = {"": "", "value": f" if {part} >= {least}", "count": " if len(amounts) >= 2"}[having]
    body.append(f"    pairs = [[key, {part}] for key, amounts in groups.items(){final}]")
    value = "-pair[1]" if down else "pair[1]"
    body.append(f"    pairs.sort(key=lambda pair: {f'({value}, {tie_code})' if tie_code else value})")
    body.append(f"    return pairs[:{top}]" if top else "    return pairs")
    return "\n".join(body)


@coding("code.records", tiers=(1, 2, 3))
def records(rng: Rng, tier: int) -> Draft:
    """Group records and list the groups; from tier 2 on some records, from tier 3 on some groups do not count."""
    column = rng.below(2)
    fold, formula = rng.choice(list(_FOLDS.items()))
    tie, (tie_code, _) = rng.choice(list(_TIES.items()))
    down = rng.chance(1, 2)
    m, low, least, top = rng.integer(3, 20), rng.integer(4, 16), rng.integer(2, 30), rng.integer(1, 3)
    keep = rng.choice(("amount", "even", "other")) if tier >= 2 else ""
    other = rng.choice(_NAMES if column else _GROUPS)
    having = rng.choice(("value", "count")) if tier >= 3 else ""
    limit = tier == 1 or rng.chance(1, 2)
    part = formula.format(m=m)
    twice, factor = rng.choice(_NAMES[:4] if column else _GROUPS[:4]), rng.integer(2, 4)

    rule = partial(
        _rule,
        formula=formula,
        m=m,
        limit=limit,
        twice=twice,
        other=other,
        low=low,
        down=down,
        tie=tie,
        least=least,
        top=top,
        keep=keep,
        having=having,
        column=column,
        factor=factor,
    )

    told = _told(low, other, least, column)
    other_tie = next(words for words in _TIES if words != tie)
    mistakes = [rule(down=not down), rule(tie=other_tie), rule(factor=factor + 1)]
    mistakes += [rule(low=low + 1), rule(low=low - 1)] if keep == "amount" else []
    mistakes += [rule(least=least + 1), rule(least=least - 1)] if having == "value" else []
    mistakes += [rule(top=top + 1), rule(top=top - 1)] if limit else []
    edges: list[list[Any]] = _edges()
    return Draft(
        head=_HEAD,
        statement=_statement(limit, tie, down, top, twice, factor, keep, column, told, having, tie_code, fold, m),
        code=_program(
            part, column, keep, having, low, least, other, twice, factor, down, tie_code, top if limit else 0
        ),
        expected=rule(),
        inputs=_table,
        edges=edges,
        mistakes=mistakes,
        needed=[rule(factor=1)]
        + [rule(keep="")] * bool(keep)
        + [rule(having="")] * bool(having)
        + [rule(top=99)] * limit,
        rules=tier + 2,
    )
