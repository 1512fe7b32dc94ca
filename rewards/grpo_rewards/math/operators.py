r"""Calculus and matrices in the parser: sums, products, integrals, limits, derivatives, environments."""

from __future__ import annotations

import re

from grpo_rewards.math import guard
from grpo_rewards.math.atoms import Atoms
from grpo_rewards.math.guard import UnreadableError
from grpo_rewards.math.tokens import Token
from grpo_rewards.math.tree import (
    ONE,
    Call,
    Items,
    Matrix,
    Node,
    Relation,
    Sym,
    integer,
    negate,
)

_INTEGRALS = {"int": 1, "iint": 2, "iiint": 3, "oint": 1}
_LINES = frozenset(["cases", "aligned", "align", "gathered", "split", "eqnarray", "equation"])
_PRODUCT_LEVEL = 40


class Operators(Atoms):
    """What the single things of `Atoms` do not cover."""

    def calculus(self, name: str) -> Node | None:
        """Read an operator of calculus behind its command, None when the command is none."""
        if name in ("sum", "prod"):
            return self._sum(name)
        if name == "int":
            return self._integral()
        if name in _INTEGRALS:
            raise UnreadableError("a multiple integral")
        if name == "lim":
            return self._limit()
        return None

    def _scripts(self) -> tuple[Node | None, Node | None]:
        lower: Node | None = None
        upper: Node | None = None
        while (token := self.peek()) is not None and token.kind == "op" and token.text in ("_", "^"):
            self.position += 1
            negative = self.accept("-")
            node = self.primary()
            node = negate(node) if negative else node
            if token.text == "_":
                lower = node
            else:
                upper = node
        return lower, upper

    def _sum(self, name: str) -> Node:
        lower, upper = self._scripts()
        body = self.expression(_PRODUCT_LEVEL)
        if isinstance(lower, Relation) and lower.signs == ("=",) and isinstance(lower.items[0], Sym) and upper:
            return Call(name, (body, lower.items[0], lower.items[1], upper))
        return Call(f"{name}_", tuple(part for part in (body, lower, upper) if part is not None))

    def _limit(self) -> Node:
        lower, _ = self._scripts()
        body = self.expression(_PRODUCT_LEVEL)
        if isinstance(lower, Relation) and lower.signs == ("to",) and isinstance(lower.items[0], Sym):
            return Call("lim", (body, *lower.items))
        raise UnreadableError("a limit of nothing")

    def _integral(self) -> Node:
        """Read up to the first differential and take that out: dx may also stand in a numerator."""
        lower, upper = self._scripts()
        at = self._differential()
        variable = Sym(self.tokens[at + 1].text)
        self.tokens[at : at + 2] = [Token("num", "1", ONE.value)]
        level = [token.text for token in self.tokens[self.position : at]]
        if level.count("{") == level.count("}") and level.count("(") == level.count(")"):
            rest = self.tokens[at + 1 :]
            del self.tokens[at + 1 :]
            if self.position < at:  # else the integrand is the 1 that stands for dx
                del self.tokens[at:]
            body = self.expression()
            if self.position < len(self.tokens):
                raise UnreadableError("an integral that does not end")
            self.tokens += rest
        else:
            body = self.expression(_PRODUCT_LEVEL)
        bounds = (lower, upper) if lower is not None and upper is not None else ()
        return Call("int", (body, variable, *bounds))

    def _differential(self) -> int:
        for place in range(self.position, len(self.tokens) - 1):
            token, following = self.tokens[place], self.tokens[place + 1]
            if token.text == "d" and token.kind in ("sym", "text") and following.kind == "sym":
                return place
        raise UnreadableError("an integral without a differential")

    def derivative(self) -> Node | None:
        r"""Read `{d}{dx}` and its operand, or `{dy}{dx}` as a name, behind a fraction sign; None for others."""
        opening, sign = self.peek(), self.peek(1)
        if opening is None or opening.text != "{" or sign is None or sign.text not in ("d", "partial"):
            return None
        middle = self.matching(self.position)
        end = self.matching(middle + 1) if middle + 1 < len(self.tokens) else middle
        top, bottom = self.tokens[self.position + 1 : middle], self.tokens[middle + 2 : end]
        if len(bottom) < 2 or not top or bottom[0].text != top[0].text:
            return None
        if bottom[1].kind != "sym" or top[0].kind not in ("sym", "text", "cmd"):
            return None
        above = "".join(t.text for t in top[1:] if t.text not in "{}")
        below = "".join(t.text for t in bottom[1:] if t.text not in "{}")
        self.position = end + 1
        order = re.fullmatch(r"(?:\^(\d))?", above)
        if order is None:
            return Sym(f"d{above}/d{below}")
        body = self.expression(_PRODUCT_LEVEL)
        return Call("diff", (body, Sym(bottom[1].text), integer(int(order[1] or 1))))

    def matrix(self, opening: str) -> Node:
        """Read the rows of an environment up to its end."""
        name = re.sub(r"\\begin ?\{|\*?\}.*", "", opening)
        if not opening.startswith("\\begin"):
            raise UnreadableError("an end without a beginning")
        if name in _LINES:
            return self._lines()
        if not name.endswith(("matrix", "array")):
            raise UnreadableError(f"the environment {name[:20]!r}")
        rows: list[list[Node]] = [[]]
        while True:
            token = self.peek()
            if token is None:
                raise UnreadableError("a matrix that does not end")
            if token.kind == "env":
                self.position += 1
                break
            if self.accept("\\\\"):
                rows.append([])
            elif not self.accept("&"):
                rows[-1].append(self.expression())
        rows = [row for row in rows if row]
        if not rows or len({len(row) for row in rows}) != 1:
            raise UnreadableError("a matrix with rows of different lengths")
        node = Matrix(tuple(cell for row in rows for cell in row), len(rows[0]))
        guard.check(len(node.items), guard.MAX_CELLS, "cells")
        return Call("det", (node,)) if name == "vmatrix" else node

    def _lines(self) -> Node:
        rows: list[Node] = []
        depth = self.position
        for place in range(depth, len(self.tokens)):
            if self.tokens[place].kind == "env":
                break
        else:
            raise UnreadableError("lines that do not end")
        self.tokens[depth:place] = [token for token in self.tokens[depth:place] if token.text != "&"]
        while (token := self.peek()) is not None and token.kind != "env":
            if not self.accept("\\\\") and not self.accept(","):
                rows.append(self.expression())
        self.position += 1
        if not rows:
            raise UnreadableError("no lines")
        return rows[0] if len(rows) == 1 else Items(tuple(rows))
