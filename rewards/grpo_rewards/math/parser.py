r"""Tokens to a tree, by precedence climbing: lists, relations, sets, ratios, sums, products, powers.

The reader of single things (fractions, roots, brackets, functions) is in `atoms.py`. Four calls of Python per bracket
and a limit on brackets keep the recursion small. Whatever is left over after the tree makes the text unreadable:
nothing is silently dropped.
"""

from __future__ import annotations

from grpo_rewards.math import guard
from grpo_rewards.math.fold import fold, trim
from grpo_rewards.math.guard import UnreadableError
from grpo_rewards.math.operators import Operators
from grpo_rewards.math.tokens import Token, tokenise
from grpo_rewards.math.tree import (
    Call,
    Items,
    Node,
    Num,
    PlusMinus,
    Ratio,
    Relation,
    SetOp,
    add,
    divide,
    multiply,
    negate,
)

_RELATION_NAMES = """
= < > <= >= != in notin approx equiv to implies iff perp parallel mapsto propto subset subseteq
"""
_RELATIONS = frozenset(_RELATION_NAMES.split())
_LEVELS = {":": 25, "+": 30, "-": 30, "pm": 30, "mp": 30, "*": 40, "/": 40, "mod": 40, "pmod": 40} | {
    "cup": 20,
    "cap": 22,
    "minus": 22,
}
_RELATION_LEVEL = 10
SUM_LEVEL = 30
PRODUCT_LEVEL = 40
_SEPARATORS = (",", ";", "and", "or")


def parse(text: str, grouping: bool = True) -> Node:
    """Read an answer.

    Args:
        text: The answer as written, with or without dollar signs, boxes and the like.
        grouping: Whether a comma before three digits may be a thousands separator.

    Returns:
        The tree.

    Raises:
        UnreadableError: When the text is no maths that we know.
        TooBigError: When it is larger than the limits in `guard`.
    """
    folded = trim(fold(text))
    guard.check(len(folded), guard.MAX_ANSWER, "characters")
    return parse_folded(folded, grouping)


def parse_folded(folded: str, grouping: bool = True) -> Node:
    """Read an answer that is folded and trimmed already. Raises as `parse`."""
    if not folded:
        raise UnreadableError("nothing")
    tokens = _without_wrappers(tokenise(folded, grouping))
    if not tokens:
        raise UnreadableError("nothing")
    return Parser(tokens).whole()


class Parser(Operators):
    """Reads one answer; `position` walks over the tokens."""

    def whole(self) -> Node:
        """Read everything. Raises UnreadableError when something is left."""
        node = self.listed()
        if self.position < len(self.tokens):
            raise UnreadableError(f"{self.tokens[self.position].text!r} in the wrong place")
        return node

    def listed(self, closing: tuple[str, ...] = ()) -> Node:
        """Read things separated by commas, semicolons, "and" or "or", up to a closing bracket."""
        items, word = [self.expression()], ""
        while (token := self.peek()) is not None and token.text in _SEPARATORS and token.kind == "op":
            while (token := self.peek()) is not None and token.text in _SEPARATORS and token.kind == "op":
                word = token.text if word in ("", ",", ";") else word
                self.position += 1
            token = self.peek()
            if token is None or token.text in closing:
                raise UnreadableError("a separator at the end")
            items.append(self.expression())
        return items[0] if len(items) == 1 else Items(tuple(items), "," if word == ";" else word)

    def expression(self, level: int = 0) -> Node:
        """Read an expression whose operators bind at least as strongly as the level."""
        left = self.operand(level)
        while (token := self.peek()) is not None:
            if token.kind == "op" and token.text in _RELATIONS:
                if level > _RELATION_LEVEL:
                    break
                left = self._chain(left)
                continue
            binding = _LEVELS.get(token.text) if token.kind == "op" else None
            if binding is None:
                if not self.starts_operand(token) or level > PRODUCT_LEVEL:
                    break
                start = self.position
                left = self._times(left, self.operand(PRODUCT_LEVEL + 5), start)
            elif binding < level:
                break
            else:
                self.position += 1
                left = self._binary(token.text, left, binding)
        return left

    def _binary(self, sign: str, left: Node, binding: int) -> Node:
        if sign == "pmod":
            return Call("mod", (left, self.operand(PRODUCT_LEVEL + 5)))
        right = self.expression(binding + 1)
        if sign in "+-":
            return add(left, right if sign == "+" else negate(right))
        if sign in ("pm", "mp"):
            return PlusMinus(left, right, 1 if sign == "pm" else -1)
        if sign == "*":
            return multiply(left, right)
        if sign == "/":
            return divide(left, right)
        if sign == ":":
            return Ratio((*(left.items if isinstance(left, Ratio) else (left,)), right))
        if sign == "mod":
            return Call("mod", (left, right))
        if isinstance(left, SetOp) and left.operator == sign != "minus":
            return SetOp((*left.items, right), sign)
        return SetOp((left, right), sign)

    def _times(self, left: Node, right: Node, start: int) -> Node:
        """Multiply two things side by side: a whole number and a fraction are one number, digits behind digits none."""
        behind_number = isinstance(left, Num) and self.tokens[start - 1].kind == "num"
        first = self.tokens[start]
        if first.kind == "num" and self.tokens[start - 1].kind == "num":
            if not (behind_number and isinstance(right, Num) and self.accept("/")):
                raise UnreadableError("a number behind a number")
            bottom = self.operand(PRODUCT_LEVEL)
            part = divide(right, bottom)
            if not isinstance(part, Num) or not 0 < part.value < 1:
                raise UnreadableError("a number behind a number")
            return self.mixed_number(left, part)
        if behind_number and first.text == "frac" and isinstance(right, Num):
            return self.mixed_number(left, right)
        return multiply(left, right)

    def mixed_number(self, whole: Node, part: Num) -> Node:
        """Return 3 1/2 as one number; what only looks like it is a product."""
        if isinstance(whole, Num) and whole.value.denominator == 1 and not whole.rounded and 0 < part.value < 1:
            size = abs(whole.value) + part.value
            return Num(-size if whole.value < 0 else size)
        return multiply(whole, part)

    def _chain(self, left: Node) -> Node:
        sides, signs = [left], []
        while (token := self.peek()) is not None and token.kind == "op" and token.text in _RELATIONS:
            self.position += 1
            signs.append(token.text)
            sides.append(self.expression(_RELATION_LEVEL + 1))
        if set(signs) == {"to"} and all(isinstance(side, Num) for side in sides):
            return Ratio(tuple(sides))  # 3 to 2
        return Relation(tuple(sides), tuple(signs))


def _without_wrappers(tokens: list[Token]) -> list[Token]:
    """Take brackets off that enclose everything and only group, however many there are, without recursion."""
    partner: dict[int, int] = {}
    opened: list[int] = []
    for place, token in enumerate(tokens):
        if token.kind == "op" and token.text in ("(", "{"):
            opened.append(place)
        elif token.kind == "op" and token.text in (")", "}") and opened:
            partner[opened.pop()] = place
    separators = {
        place for place, token in enumerate(tokens) if token.kind == "op" and token.text in (*_SEPARATORS, "_")
    }
    start, end = 0, len(tokens)
    if any(token.kind == "cmd" and token.text in ("choose", "over") for token in tokens):
        return tokens  # these belong to the braces around them
    while start < end and partner.get(start) == end - 1 and not separators & {start - 1, end}:
        inside = tokens[start + 1 : start + 2]
        grouping_only = tokens[start].text == "{" or not separators or (inside and partner.get(start + 1) == end - 2)
        if not grouping_only:
            break
        start, end = start + 1, end - 1
    return tokens[start:end]
