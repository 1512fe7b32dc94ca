"""Environments as other people write them: texts in, texts out, and the answer told here, there or nowhere."""

from __future__ import annotations

from typing import Any

import gymnasium
from gymnasium.spaces import Text


class Adding(gymnasium.Env[str, str]):
    """Pays `most` for the sum in a box; tells it in a reset's info, as an attribute, or not at all."""

    observation_space = action_space = Text(200)

    def __init__(self, tells: str = "info", most: float = 1.0, turns: int = 1) -> None:
        self.tells, self.most, self.turns = tells, most, turns
        self.answer: str | None = None
        self.sum = 0
        self.taken = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        one, two = self.draw()
        self.sum, self.taken = one + two, 0
        self.answer = str(self.sum) if self.tells == "attribute" else None
        return f"{one} + {two} = ?", {"answer": self.sum, "note": "kept"} if self.tells == "info" else {}

    def draw(self) -> tuple[int, int]:
        return int(self.np_random.integers(1000)), int(self.np_random.integers(1000))

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self.taken += 1
        reward = self.most * (action == f"\\boxed{{{self.sum}}}") / self.turns
        return "", reward, self.taken >= self.turns, False, {"rewards": {"right": reward}}


class Unseeded(Adding):
    count = 0

    def draw(self) -> tuple[int, int]:
        Unseeded.count += 1
        return Unseeded.count, 1


class Numbers(Adding):
    def reset(self, **_: Any) -> Any:
        return 3, {}


class Talking(Adding):
    """Never ends, and says so with every step."""

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        return "go on", 1.0, False, False, {}


class Texts(Adding):
    def step(self, action: str) -> Any:
        return "", "1.0", True, False, {}


class Abstaining(Adding):
    def step(self, action: str) -> Any:
        return "", 0.0, True, False, {"abstain": 1.0, "feedback": "no judge"}


_ENVS: list[tuple[str, Any, dict[str, Any]]] = [
    ("Info", Adding, {}),
    ("Attribute", Adding, {"tells": "attribute", "most": 5.0}),
    ("Half", Adding, {"most": 0.5}),
    ("Nowhere", Adding, {"tells": "nowhere"}),
    ("Turns", Adding, {"turns": 4}),
    ("Unseeded", Unseeded, {}),
    ("Numbers", Numbers, {}),
    ("Talking", Talking, {"tells": "nowhere"}),
    ("Texts", Texts, {"tells": "nowhere"}),
    ("Abstaining", Abstaining, {"tells": "nowhere"}),
]
for _name, _class, _options in _ENVS:
    gymnasium.register(f"outside/{_name}-v0", entry_point=_class, kwargs=_options)
