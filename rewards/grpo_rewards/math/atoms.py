r"""The single things of an expression: numbers, variables, fractions, roots, functions, brackets, matrices.

Calculus (`\sum`, `\int`, `\lim`, `\frac{d}{dx}`) is in `operators.py`. What is unknown raises UnreadableError.
"""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction

from grpo_rewards.math import guard
from grpo_rewards.math.guard import UnreadableError
from grpo_rewards.math.suffixes import Suffixes
from grpo_rewards.math.tokens import Token
from grpo_rewards.math.tree import (
    EMPTY,
    HALF,
    INFINITY,
    MINUS_ONE,
    REALS,
    Call,
    Const,
    Items,
    Matrix,
    Node,
    Num,
    PlusMinus,
    Pow,
    Relation,
    Set,
    Sym,
    Text,
    Tuple,
    integer,
    multiply,
    negate,
)

_CLOSING = frozenset((")", "]", "}", "}}", ">>", "|", "&", "\\"))
_WHOLE: dict[str, Node] = {"infty": INFINITY, "emptyset": EMPTY, "reals": REALS, "...": Sym("...")}
_NAMES = frozenset(["angle", "triangle", "square", "Box", "partial", "mathcal", "dagger", "top", "cdots"])
_NUMBER_SETS = {"R": REALS, "Z": Sym("\u2124"), "N": Sym("\u2115"), "Q": Sym("\u211a"), "C": Sym("\u2102")}
_ARGUMENT_LEVEL = 45
_PRODUCT_LEVEL = 40
_CURRENCIES = frozenset("$\u20ac\u00a3\u00a5\u20b9")
_SAME_FUNCTION = {
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "arsinh": "asinh", "arcosh": "acosh", "artanh": "atanh",
    "lg": "log10", "sgn": "sign", "Re": "re", "Im": "im", "Gamma": "gamma", "arccsc": "acsc", "arcsec": "asec",
}  # fmt: skip
_INVERSES = {name: f"arc{name}" for name in ("sin", "cos", "tan", "cot", "sec", "csc")} | {
    name: f"a{name}" for name in ("sinh", "cosh", "tanh")
}


class Atoms(Suffixes):
    """Reads one thing at the current position."""

    @abstractmethod
    def calculus(self, name: str) -> Node | None:
        """Read an operator of calculus, None when the command is none."""

    @abstractmethod
    def matrix(self, opening: str) -> Node:
        """Read what stands in an environment."""

    @abstractmethod
    def derivative(self) -> Node | None:
        """Read what follows a fraction sign when it is a derivative."""

    def operand(self, level: int) -> Node:
        """Read a factor with its sign, exponents and the like."""
        self.depth += 1
        guard.check(self.depth, guard.MAX_DEPTH * 2, "nested expressions")
        try:
            if self.accept("-"):
                return negate(self.expression(max(level, 40)))
            if self.accept("+"):
                return self.expression(max(level, 40))
            if self.accept("pm"):
                return PlusMinus(integer(0), self.expression(max(level, 31)))
            if self.accept("mp"):
                return PlusMinus(integer(0), self.expression(max(level, 31)), -1)
            return self.behind(self.primary())
        finally:
            self.depth -= 1

    def primary(self) -> Node:
        """Read one thing without what stands behind it."""
        token = self.peek()
        if token is None:
            raise UnreadableError("something is missing at the end")
        self.position += 1
        if token.kind == "num":
            return Num(token.value, token.rounded)
        if token.kind == "sym":
            return self.symbol(token.text)
        if token.kind == "fun":
            return self._root() if token.text == "sqrt" else self._function(token.text)
        if token.kind == "text":
            return self._text(token.text)
        if token.kind == "env":
            return self.matrix(token.text)
        return self._command(token.text) if token.kind == "cmd" else self._bracketed(token.text)

    def _text(self, words: str) -> Node:
        before = self.tokens[self.position - 2].kind if self.position > 1 else ""
        if len(words) == 1 and words.isalpha() and before not in ("num", "text"):
            close = before == "op" and self.tokens[self.position - 2].text in _CLOSING
            return Text(words) if close else self.symbol(words)
        if not self._is_behind_value():
            if words in _CURRENCIES:
                return multiply(self.operand(_PRODUCT_LEVEL), Text(words))
            if words in ("%", "percent"):
                raise UnreadableError("a percent sign without a number")
        return Text(words)

    def _is_behind_value(self) -> bool:
        before = self.tokens[self.position - 2] if self.position > 1 else None
        return before is not None and (before.kind in ("num", "sym", "text") or before.text in (")", "}", "]", "pi"))

    def _command(self, name: str) -> Node:
        known = self.calculus(name)
        if known is not None:
            return known
        if name == "pi":
            return Const("pi")
        if name == "frac":
            return self._fraction()
        if name == "binom":
            return Call("binom", (self._digit_or_group(), self._digit_or_group()))
        if name == "cuberoot":
            return Call("root", (self.primary(), integer(3)))
        if name in ("lfloor", "lceil"):
            inside = self.expression()
            self.expect("rfloor" if name == "lfloor" else "rceil")
            return Call("floor" if name == "lfloor" else "ceil", (inside,))
        if name in ("overline", "bar", "hat", "tilde", "dot", "ddot", "widehat", "widetilde", "overleftrightarrow"):
            return self.symbol(f"{name} {self.raw_group()}")
        if name in ("mathbb", "Bbb"):
            letter = self.raw_group()
            return _NUMBER_SETS.get(letter, Sym(f"mathbb {letter}"))
        if name in _NAMES:
            return self.symbol(name)
        raise UnreadableError(f"the command \\{name[:20]}")

    def _digit_or_group(self) -> Node:
        r"""Read an argument of a fraction: of `\frac12` one digit."""
        token = self.peek()
        if token is not None and token.kind == "num" and token.text.isdigit() and len(token.text) > 1:
            rest = token.text[1:]
            self.tokens[self.position] = Token("num", rest, Fraction(int(rest[:4000])))
            return integer(int(token.text[0]))
        return self.primary()

    def _fraction(self) -> Node:
        derivative = self.derivative()
        if derivative is not None:
            return derivative
        top, bottom = self._digit_or_group(), self._digit_or_group()
        if isinstance(top, Num) and isinstance(bottom, Num) and bottom.value:
            return Num(top.value / bottom.value, top.rounded or bottom.rounded)
        return multiply(top, Pow(bottom, MINUS_ONE))

    def _root(self) -> Node:
        if self.accept("["):
            index = self.listed()
            self.expect("]")
            inside = self.primary()
            return Pow(inside, HALF) if index == integer(2) else Call("root", (inside, index))
        return Pow(self.primary(), HALF)

    def _function(self, name: str) -> Node:
        r"""Read a function with its power (`\sin^2 x`), its index (`\log_2 x`) and its argument."""
        power: Node | None = None
        index: Node | None = None
        while (token := self.peek()) is not None and token.text in ("^", "_") and token.kind == "op":
            self.position += 1
            if token.text == "^":
                power = self.exponent()
            else:
                index = self.primary()
        name = _SAME_FUNCTION.get(name, name)
        if power == MINUS_ONE and name in _INVERSES:
            name, power = _INVERSES[name], None
        arguments = self._arguments()
        if name == "exp":
            call: Node = Pow(Const("e"), arguments[0])
        elif name == "cbrt":
            call = Call("root", (arguments[0], integer(3)))
        elif index is not None:
            call = Call(name, (*arguments, index)) if name == "log" else Call(f"{name}_", (*arguments, index))
        else:
            call = Call(name, arguments)
        return call if power is None else Pow(call, power)

    def _arguments(self) -> tuple[Node, ...]:
        token = self.peek()
        if token is None:
            raise UnreadableError("a function without an argument")
        if token.text in ("(", "{", "[") and token.kind == "op":
            self.position += 1
            inside = self.listed((")", "}", "]"))
            self.expect({"(": ")", "{": "}", "[": "]"}[token.text])
            return inside.items if isinstance(inside, Items) else (inside,)
        if self.accept("-"):
            return (negate(self._tight_product()),)
        return (self._tight_product(),)

    def _tight_product(self) -> Node:
        r"""Read the argument of `\sin 2x`: factors side by side, up to the next function or sign."""
        factors = [self.operand(_ARGUMENT_LEVEL)]
        while (token := self.peek()) is not None and self.starts_operand(token):
            if token.kind in ("fun", "text", "env") or token.text in ("(", "[", "{{", "|", "..."):
                break
            factors.append(self.operand(_ARGUMENT_LEVEL))
        return multiply(*factors)

    def _bracketed(self, opening: str) -> Node:
        if opening in _WHOLE:
            return _WHOLE[opening]
        if opening == "|":
            return self._absolute()
        if opening == "{{":
            return self._set()
        if opening not in ("(", "[", "{", "<<"):
            raise UnreadableError(f"{opening!r} in the wrong place")
        return self._enclosed(opening)

    def _absolute(self) -> Node:
        self.bars += 1
        inside = self.expression()
        self.expect("|")
        self.bars -= 1
        return Call("abs", (inside,))

    def _enclosed(self, opening: str) -> Node:
        """Read what brackets hold: a group, a tuple, an interval, a matrix."""
        bars, self.bars = self.bars, 0
        inside = self.listed((")", "]", "}", ">>"))
        self.bars = bars
        if opening == "{":
            return self._braced(inside)
        closing = self.expect(*((">>",) if opening == "<<" else (")", "]")))
        if isinstance(inside, Items) and inside.word == ",":
            guard.check(len(inside.items), guard.MAX_ITEMS * 4, "things in brackets")
            rows = [item for item in inside.items if isinstance(item, Tuple) and item.brackets == "[]"]
            if opening + closing == "[]" and len(rows) == len(inside.items) and len({len(r.items) for r in rows}) == 1:
                return Matrix(tuple(cell for row in rows for cell in row.items), len(rows[0].items))
            return Tuple(inside.items, "()" if opening == "<<" else opening + closing)
        if opening + closing in ("(]", "[)"):
            raise UnreadableError("brackets that do not match")
        return inside

    def _braced(self, inside: Node) -> Node:
        infix = self.peek()
        if infix is not None and infix.text in ("choose", "over") and infix.kind == "cmd":
            self.position += 1
            other = self.listed()
            inside = (
                Call("binom", (inside, other)) if infix.text == "choose" else multiply(inside, Pow(other, MINUS_ONE))
            )
        self.expect("}")
        return inside

    def _set(self) -> Node:
        r"""Read a set: members, or a condition as in `\{x : x > 3\}`."""
        if self.accept("}}"):
            return EMPTY
        condition_at = self._condition_at()
        if condition_at is None:
            bars, self.bars = self.bars, 0
            inside = self.listed(("}}",))
            self.bars = bars
            self.expect("}}")
            return Set(inside.items if isinstance(inside, Items) else (inside,))
        self.position = condition_at
        condition = self.listed(("}}",))
        self.expect("}}")
        if not isinstance(condition, (Relation, Items)):
            raise UnreadableError("a set without a condition")
        return condition

    def _condition_at(self) -> int | None:
        r"""Return where the condition of `\{x : ...\}` or `\{x \in S \mid ...\}` starts, None in a list of members."""
        variable, sign = self.peek(), self.peek(1)
        if variable is None or variable.kind != "sym" or sign is None:
            return None
        if sign.text in ("|", ":", "mid"):
            return self.position + 2
        if sign.text != "in":
            return None
        end = self.matching(self.position - 1)
        inside = range(self.position + 2, end)
        return next((place + 1 for place in inside if self.tokens[place].text in ("|", ":", "mid")), None)
