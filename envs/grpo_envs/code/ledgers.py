"""Programs that read commands and keep accounts: balances, limits, fees, and a report in a fixed form."""

from __future__ import annotations

from functools import partial
from typing import Any

from grpo_envs.code.draft import Draft, coding
from grpo_gym.rng import Rng

_NAMES = ("ann", "bob", "cid", "dee", "eva")
Command = list[Any]

_ORDERS = {
    "alphabet": ("in alphabetical order of the names", "sorted(balance)"),
    "rich": (
        "from the largest balance to the smallest, equal balances in alphabetical order of the names",
        "sorted(balance, key=lambda name: (-balance[name], name))",
    ),
    "first": ("in the order in which the names first occur in the input", "balance"),
    "poor": (
        "from the smallest balance to the largest, equal balances in the order in which the names first occur",
        "sorted(balance, key=lambda name: balance[name])",
    ),
}


class Bank:
    """Accounts by the rules of a draft."""

    def __init__(
        self, start: int, fee: int, floor: int, bonus: tuple[int, int], kinds: list[str], strict: bool
    ) -> None:
        self.start, self.fee, self.floor, self.bonus, self.kinds, self.strict = start, fee, floor, bonus, kinds, strict
        self.accounts: dict[str, int] = {}
        self.refused = 0

    def carry_out(self, command: Command) -> None:
        """Carry out a command, or count it as refused."""
        kind, name, *rest = command
        for one in [name, *rest[:1]] if kind == "move" else [name]:
            self.accounts.setdefault(one, self.start)
        amount = rest[-1] if rest else 0
        if kind == "in":
            extra = self.bonus[1] if self.bonus[0] and amount >= self.bonus[0] else 0
            self.accounts[name] += amount + extra
            return
        if kind == "close":
            self.accounts[name] = self.start
            return
        left = self.accounts[name] - amount - self.fee
        if left < self.floor or (self.strict and left == self.floor):
            self.refused += 1
            return
        self.accounts[name] = left
        if kind == "move":
            self.accounts[rest[0]] += amount


def _one(*commands: Command) -> list[Any]:
    """Return the arguments for a single bank."""
    return [[list(commands)]]


def _report(bank: Bank, order: str, kind: str) -> str:
    names = list(bank.accounts)
    balance = bank.accounts
    if order == "alphabet":
        names.sort()
    elif order == "rich":
        names = [n for _, n in sorted((-balance[n], n) for n in names)]
    elif order == "poor":
        names = [n for *_, n in sorted((balance[n], i, n) for i, n in enumerate(names))]
    rows = [f"{n} {balance[n]}" for n in names]
    if kind == "refused":
        return "\n".join([*rows, f"refused {bank.refused}"])
    if kind == "total":
        return "\n".join([*rows, f"total {sum(balance.values())}"])
    return "\n".join(rows)


def _render(cases: list[list[Command]]) -> str:
    rows = [str(len(cases))]
    for commands in cases:
        rows += [str(len(commands)), *(" ".join(map(str, command)) for command in commands)]
    return "\n".join(rows) + "\n"


def _code(
    start: int,
    fee: int,
    floor: int,
    bonus: tuple[int, int],
    kinds: list[str],
    strict: bool,
    order: str,
    last: str,
    several: bool,
) -> str:
    extra = (
        [f"                if amount >= {bonus[0]}:", f"                    balance[name] += {bonus[1]}"]
        if bonus[0]
        else []
    )
    body = [
        "    balance = {}",
        "    refused = 0",
        "    for _ in range(int(input())):",
        "        kind, name, *rest = input().split()",
        f"        balance.setdefault(name, {start})",
    ]
    body += ["        if kind == 'in':", "            amount = int(rest[0])", "            balance[name] += amount"]
    body += [line[4:] for line in extra]
    if "close" in kinds:
        body += ["        elif kind == 'close':", f"            balance[name] = {start}"]
    body += ["        else:"]
    body += (
        [f"            if kind == 'move':\n                balance.setdefault(rest[0], {start})"]
        if "move" in kinds
        else []
    )
    body += ["            amount = int(rest[-1])"]
    cost = f"amount + {fee}" if fee else "amount"
    body += [
        f"            if balance[name] - {f'({cost})' if fee else cost} {'<=' if strict else '<'} {floor}:",
        "                refused += 1",
        "            else:",
        f"                balance[name] -= {cost}",
    ]
    body += (
        ["                if kind == 'move':", "                    balance[rest[0]] += amount"]
        if "move" in kinds
        else []
    )
    body += [f"    for name in {_ORDERS[order][1]}:", "        print(name, balance[name])"]
    body += {"refused": ["    print('refused', refused)"], "total": ["    print('total', sum(balance.values()))"]}.get(
        last, []
    )
    call = "for _ in range(int(input())):\n    account()" if several else "account()"
    return "\n".join(["def account() -> None:", *body, "", "", call])


def _statement(
    several: bool,
    start: int,
    tier: int,
    takers: str,
    fee: int,
    floor: int,
    last: str,
    strict: bool,
    bonus: tuple[int, int],
    told: dict[str, str],
    kinds: list[str],
    order: str,
) -> list[Any]:
    return [
        "The first line holds the number of banks; each bank is then described by" if several else "The input is",
        "a line with the number of commands (at least 1), and these commands, one a line. Names are lower-case "
        "words, amounts "
        "are positive whole numbers. A name that a command mentions for the first time gets an account with a "
        "balance of "
        f"{start}. Commands: {'; '.join(told[kind] for kind in kinds)}.",
        f"Each {takers} costs a fee of {fee}, which the account of NAME pays on top of the amount. It is "
        "refused, and changes no "
        f"balance, if after it the balance of NAME would be {'at most' if strict else 'less than'} {floor}."
        + (" Its names still get their accounts." if tier > 1 else " The name still gets its account."),
        f"An 'in' with an amount of at least {bonus[0]} adds {bonus[1]} more as a bonus." if tier > 1 else "",
        f"At the end{' of each bank' if several else ''} print one line 'NAME BALANCE' for every account, "
        f"{_ORDERS[order][0]}"
        + {
            "refused": ", and then a line 'refused N' with the number of refused commands.",
            "total": ", and then a line 'total N' with the sum of the balances.",
            "": ".",
        }[last]
        + (" Nothing stands between two banks, and names of one bank mean nothing in another." if several else ""),
    ]


def _rule(
    *, kinds: list[str], last: str, fee: int, floor: int, bonus: tuple[int, int], strict: bool, order: str, start: int
) -> Any:
    def compute(cases: list[list[Command]]) -> str:
        reports = []
        for commands in cases:
            bank = Bank(start, fee, floor, bonus, kinds, strict)
            for command in commands:
                bank.carry_out(command)
            reports.append(_report(bank, order, last))
        return "\n".join(reports)

    return compute


def _told(start: int) -> dict[str, str]:
    return {
        "in": "'in NAME AMOUNT' adds the amount to the balance of the name",
        "out": "'out NAME AMOUNT' takes the amount from it",
        "move": "'move NAME OTHER AMOUNT' takes the amount from the balance of NAME and adds it to that of OTHER",
        "close": f"'close NAME' sets the balance of the name to {start}",
    }


def _mistakes(rule: Any, fee: int, floor: int, strict: bool, start: int) -> list[Any]:
    return [rule(fee=0), rule(fee=fee + 1), rule(floor=floor - 1), rule(strict=not strict), rule(start=start + 1)]


@coding("code.ledgers", tiers=(1, 2, 3))
def ledgers(rng: Rng, tier: int) -> Draft:
    """Keep accounts by two kinds of commands and up to four rules; from tier 2 on for several banks in one input."""
    several = tier > 1
    kinds = ["in", "out"] + (["move"] if tier > 1 else []) + (["close"] if tier > 2 else [])
    start, floor = rng.choice((0, 0, 5, 10, 20)), -rng.integer(0, 20)
    fee = rng.integer(1, 4)
    bonus = (rng.integer(8, 20), rng.integer(1, 5)) if tier > 1 else (0, 0)
    strict, order = rng.chance(1, 2), rng.choice(list(_ORDERS))
    last = rng.choice(("refused", "total", ""))

    rule = partial(
        _rule, kinds=kinds, last=last, fee=fee, floor=floor, bonus=bonus, strict=strict, order=order, start=start
    )

    def commands(rng: Rng) -> list[Command]:
        names = rng.sample(_NAMES, rng.integer(2, 4))
        found: list[Command] = []
        for _ in range(rng.integer(2, 8)):
            kind, name = rng.choice(kinds), rng.choice(names)
            amount = rng.integer(1, 25)
            other = rng.choice([n for n in names if n != name])
            found.append([kind, name, *([other] if kind == "move" else []), *([amount] if kind != "close" else [])])
        return found

    def inputs(rng: Rng) -> list[Any]:
        return [[commands(rng) for _ in range(rng.integer(1, 3) if several else 1)]]

    room = max(1, start - floor - fee)
    edges = [
        _one(["out", "bob", room]),
        _one(["in", "eva", 1], ["out", "bob", room], ["in", "ann", 1]),
        _one(["out", "bob", room + 1], ["in", "ann", 3]),
        _one(["in", "dee", 5], ["in", "ann", 5], ["in", "cid", 9]),
        _one(["in", "dee", 2], ["in", "ann", 5], ["out", "ann", room + 5], ["in", "bob", 5]),
    ]
    if tier > 1:
        edges += [
            _one(["in", "bob", bonus[0]], ["in", "ann", bonus[0] - 1]),
            _one(["move", "eva", "ann", room]),
            _one(["move", "eva", "ann", room + 1], ["in", "cid", 2]),
        ]
    told = _told(start)
    takers = "'out' and each 'move'" if tier > 1 else "'out'"
    mistakes = _mistakes(rule, fee, floor, strict, start)
    mistakes += [rule(order=other) for other in _ORDERS if other != order]
    mistakes += [rule(bonus=(bonus[0] + 1, bonus[1])), rule(bonus=(bonus[0] - 1, bonus[1]))] if tier > 1 else []
    return Draft(
        head="",
        statement=_statement(several, start, tier, takers, fee, floor, last, strict, bonus, told, kinds, order),
        code=_code(start, fee, floor, bonus, kinds, strict, order, last, several),
        expected=rule(),
        inputs=inputs,
        edges=edges,
        mistakes=mistakes,
        rules=tier + 2,
        render=_render if several else lambda cases: _render(cases).partition("\n")[2],
    )
