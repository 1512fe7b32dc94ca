"""A robot on a grid: commands, walls or wrap-around, turns of its own kind, and, in the end, very many rounds."""

from __future__ import annotations

from functools import partial
from typing import Any

from grpo_envs.code.draft import Draft, coding
from grpo_gym.rng import Rng

STEPS = [(0, 1), (1, 0), (0, -1), (-1, 0)]
"""North, east, south, west."""

_EDGES = {
    "wrap": "a step over an edge leads to the opposite side of the field",
    "stop": "a step over an edge is not made",
    "bounce": "instead of a step over an edge the robot turns round (by 180 degrees) where it stands",
    "right": "instead of a step over an edge the robot turns right (by 90 degrees) where it stands",
}
_RESULTS = {
    "place": ("its final place [x, y]", "list[int]", "[x, y]"),
    "heading": (
        "[x, y, d], its final place and the direction d it faces (0 north, 1 east, 2 south, 3 west)",
        "list[int]",
        "[x, y, d]",
    ),
    "seen": ("the number of different places it has been on, the first and the last included", "int", "len(seen)"),
    "most": ("the largest distance |x| + |y| from (0, 0) that it ever had", "int", "most"),
}


class Robot:
    """A robot that is moved one step at a time; places are complex numbers."""

    def __init__(self, width: int, height: int, edge: str, first: int) -> None:
        self.width, self.height, self.edge = width, height, edge
        self.place, self.heading = 0 + 0j, 1j * (-1j) ** first
        self.seen = [self.place]

    def step(self, back: bool = False) -> None:
        """Make a step, or what happens instead of one over an edge."""
        goal = self.place + (-self.heading if back else self.heading)
        if 0 <= goal.real < self.width and 0 <= goal.imag < self.height:
            self.place = goal
        elif self.edge == "wrap":
            self.place = complex(goal.real % self.width, goal.imag % self.height)
        elif self.edge == "bounce":
            self.heading = -self.heading
        elif self.edge == "right":
            self.heading *= -1j
        self.seen.append(self.place)

    def result(self, kind: str) -> Any:
        """Return what is asked for."""
        x, y = int(self.place.real), int(self.place.imag)
        if kind == "place":
            return [x, y]
        if kind == "heading":
            return [x, y, {1j: 0, 1: 1, -1j: 2, -1: 3}[self.heading]]
        return len(set(self.seen)) if kind == "seen" else max(int(p.real + p.imag) for p in self.seen)


def _program(
    head: str, width: int, height: int, edge: str, first: int, kind: str, commands: list[str], k: int, rounds: bool
) -> str:
    """Return the reference program."""
    trail = {"seen": ["seen.add((x, y))"], "most": ["most = max(most, x + y)"]}.get(kind, [])
    start = {"seen": ["seen = {(0, 0)}"], "most": ["most = 0"]}.get(kind, [])
    move = {
        "wrap": [f"x, y = (x + dx) % {width}, (y + dy) % {height}"],
        "stop": [f"if 0 <= x + dx < {width} and 0 <= y + dy < {height}:", "    x, y = x + dx, y + dy"],
        "bounce": [
            f"if 0 <= x + dx < {width} and 0 <= y + dy < {height}:",
            "    x, y = x + dx, y + dy",
            "else:",
            "    d = (d + 2) % 4",
        ],
        "right": [
            f"if 0 <= x + dx < {width} and 0 <= y + dy < {height}:",
            "    x, y = x + dx, y + dy",
            "else:",
            "    d = (d + 1) % 4",
        ],
    }[edge]
    turns = {"L": "d = (d - 1) % 4", "R": "d = (d + 1) % 4", "U": "d = (d + 2) % 4"}
    inner = []
    word = "if"
    for command in commands:
        if command in turns:
            inner += [f"{word} c == '{command}':", f"    {turns[command]}"]
            word = "elif"
    moving = [f"for _ in range({k} if c == 'J' else 1):"] if "J" in commands else []
    deltas = ["dx, dy = [(0, 1), (1, 0), (0, -1), (-1, 0)][d]"]
    deltas += ["if c == 'B':", "    dx, dy = -dx, -dy"] if "B" in commands else []
    body = deltas + move + trail
    inner += [f"{word} c in '{''.join(c for c in commands if c not in turns)}':"]
    inner += [f"    {line}" for line in moving] + [f"    {'    ' * bool(moving)}{line}" for line in body]
    lines = [f"x, y, d = 0, 0, {first}", *start]
    if rounds:
        lines += [
            "seen = {}",
            "rest = n",
            "while rest > 0:",
            "    if (x, y, d) in seen:",
            "        rest %= seen[x, y, d] - rest",
            "        seen = {}",
            "    if rest == 0:",
            "        break",
            "    seen[x, y, d] = rest",
            "    for c in commands:",
            *[f"        {line}" for line in inner],
            "    rest -= 1",
        ]
    else:
        lines += ["for c in commands:", *[f"    {line}" for line in inner]]
    return "\n".join([f"def {head}:", *[f"    {line}" for line in lines], f"    return {_RESULTS[kind][2]}"])


def _statement(
    rounds: bool, width: int, height: int, words: Any, first: int, edge: str, told: dict[str, str], commands: list[str]
) -> list[Any]:
    return [
        f"A robot stands on a field of places (x, y) with 0 <= x < {width} and 0 <= y < {height}. It starts at "
        "(0, 0) and "
        f"faces {('north', 'east', 'south', 'west')[first]}; a step to the north makes y larger by 1, a step to "
        "the east "
        "makes x larger by 1.",
        f"It obeys a text of commands: {'; '.join(told[c] for c in commands)}. At the edges, {_EDGES[edge]}"
        f"{' (for every single step of J again)' if 'J' in commands and edge != 'wrap' else ''}"
        f"{', also for steps backward' if 'B' in commands and edge != 'wrap' else ''}.",
        "The whole text of commands is carried out n times, one after the other; n may be 0, and it may be as "
        "large as "
        "10**12."
        if rounds
        else "The text may be empty.",
        f"Return {words}.",
    ]


def _rule(*, kind: str, rounds: bool, edge: str, first: int, k: int, width: int, height: int, turn: int = 1) -> Any:
    def compute(text: str, n: int = 1) -> Any:
        robot = Robot(width, height, edge, first)
        states: dict[Any, int] = {}
        while n > 0:
            if rounds and n > 50 and (state := (robot.place, robot.heading)) in states:
                n %= states[state] - n
                states = {}
                continue
            states[robot.place, robot.heading] = n
            for c in text:
                if c in "LRU":
                    robot.heading *= {"L": 1j * turn, "R": -1j * turn, "U": -1}[c]
                else:
                    for _ in range(k if c == "J" else 1):
                        robot.step(back=c == "B")
            n -= 1
        return robot.result(kind)

    return compute


@coding("code.robots", tiers=(1, 2, 3, 4))
def robots(rng: Rng, tier: int) -> Draft:
    """Move a robot by commands, ever more kinds of them; at tier 4 they are repeated up to 10**12 times."""
    width, height, first, k = rng.integer(3, 9), rng.integer(3, 9), rng.below(4), rng.integer(2, 4)
    edge = rng.choice(list(_EDGES))
    extra = rng.sample(("B", "J", "U"), min(tier - 1, 2))
    commands = ["L", "R", *extra, "F"]
    rounds = tier == 4
    kind = rng.choice(("place", "heading") if rounds else list(_RESULTS))

    rule = partial(_rule, kind=kind, rounds=rounds, edge=edge, first=first, k=k, width=width, height=height)

    def inputs(rng: Rng) -> list[Any]:
        text = ""
        for _ in range(rng.integer(2, 7)):
            text += rng.choice(commands) + "F" * rng.integer(0, 4)
        return [text, rng.integer(1, 9)] if rounds else [text]

    told = {
        "L": "L turns it left by 90 degrees",
        "R": "R turns it right by 90 degrees",
        "U": "U turns it round by 180 degrees",
        "F": "F is a step forward",
        "B": "B is a step backward, without turning",
        "J": f"J is {k} steps forward, one by one",
    }
    words, result, _ = _RESULTS[kind]
    head = f"solve(commands: str{', n: int' if rounds else ''}) -> {result}"
    long = "F" * (max(width, height) + 1)
    one = [1] if rounds else []
    texts = ["", "F", "L" + long, "R" + long, long + "R" + long + "R" + long, "".join(commands) * 3]
    texts += [f"{c}F{c}{c}RF{c}LFF{c}" for c in extra]
    mistakes = [
        rule(turn=-1),
        rule(first=(first + 2) % 4),
        rule(width=width + 1),
        rule(height=height + 1),
        rule(width=width - 1),
        rule(height=height - 1),
    ]
    mistakes += [rule(edge=other) for other in _EDGES if other != edge] + ([rule(k=k + 1)] if "J" in commands else [])
    heavy = [["FRFFL" + "F" * (width + 1) + "RF", 10**12 - 7], ["F" * height + "RFL", 10**11 + 3]]
    return Draft(
        head=head,
        statement=_statement(rounds, width, height, words, first, edge, told, commands),
        code=_program(head, width, height, edge, first, kind, commands, k, rounds),
        expected=rule(),
        inputs=inputs,
        edges=[[text, *one] for text in texts] + ([["FRF", 0], ["FFRF", 60]] if rounds else []),
        mistakes=mistakes,
        heavy=(lambda rng: heavy) if rounds else None,
        rules=tier + 1,
    )
