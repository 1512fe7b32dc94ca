"""A walk over the tokens of an answer: what all parts of the parser share."""

from __future__ import annotations

from abc import abstractmethod

from grpo_rewards.math.guard import UnreadableError
from grpo_rewards.math.tokens import Token
from grpo_rewards.math.tree import Node

_STARTS = frozenset(["(", "[", "{", "{{", "<<", "infty", "emptyset", "reals", "..."])
_INFIX_COMMANDS = frozenset(["rfloor", "rceil", "choose", "over", "circ"])


class Reader:
    """The tokens and the position among them.

    Attributes:
        depth: Calls of Python that nest, counted against `guard.MAX_DEPTH`.
        bars: Absolute values that are open: a bar behind a value closes one, else it opens one.
    """

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = list(tokens)
        self.position = 0
        self.depth = 0
        self.bars = 0

    @abstractmethod
    def listed(self, closing: tuple[str, ...] = ()) -> Node:
        """Read a list."""

    @abstractmethod
    def expression(self, level: int = 0) -> Node:
        """Read an expression."""

    @abstractmethod
    def primary(self) -> Node:
        """Read one thing without what stands behind it."""

    def peek(self, ahead: int = 0) -> Token | None:
        """Return the token at the current position, None at the end."""
        place = self.position + ahead
        return self.tokens[place] if place < len(self.tokens) else None

    def accept(self, text: str) -> bool:
        """Step over an operator if it is there."""
        token = self.peek()
        if token is not None and token.text == text and token.kind in ("op", "cmd"):
            self.position += 1
            return True
        return False

    def expect(self, *texts: str) -> str:
        """Step over one of these operators and return it. Raises UnreadableError when none is there."""
        for text in texts:
            if self.accept(text):
                return text
        raise UnreadableError(f"no {texts[0]!r} where one belongs")

    def starts_operand(self, token: Token) -> bool:
        """Whether a factor starts here."""
        if token.kind == "op":
            return token.text in _STARTS or (token.text == "|" and self.bars == 0)
        if token.kind == "cmd":
            return token.text not in _INFIX_COMMANDS
        return token.kind != "env" or token.text.startswith("\\begin")

    def matching(self, place: int) -> int:
        """Return where the bracket that opens at this place closes; the end when it does not."""
        depth = 0
        for at in range(place, len(self.tokens)):
            token = self.tokens[at]
            if token.kind == "op":
                depth += (token.text in ("(", "[", "{", "{{")) - (token.text in (")", "]", "}", "}}"))
                if depth == 0:
                    return at
        return len(self.tokens)

    def raw_group(self) -> str:
        """Read an index or an accent's argument as text."""
        token = self.peek()
        if token is None:
            raise UnreadableError("an index is missing")
        if token.text != "{":
            self.position += 1
            return token.text
        end = self.matching(self.position)
        inside = self.tokens[self.position + 1 : end]
        self.position = end + 1
        if end >= len(self.tokens) or not inside:
            raise UnreadableError("an index that does not end")
        return "".join(t.text for t in inside)
