"""Variables, and what stands behind a thing: indices, primes, arguments, exponents, factorials, degrees, bases."""

from __future__ import annotations

from grpo_rewards.math import guard
from grpo_rewards.math.guard import UnreadableError
from grpo_rewards.math.reader import Reader
from grpo_rewards.math.tree import Based, Call, Const, Items, Node, Num, Pow, Sym, Text, multiply, negate

_ALWAYS_FUNCTIONS = frozenset("fghFG")
_BASE_NAMES = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
"""
_BASES = _BASE_NAMES.split()


class Suffixes(Reader):
    """Reads variables and suffixes."""

    def symbol(self, letter: str) -> Node:
        """Read what belongs to a variable's name, and its arguments where it is a function."""
        name = letter
        if self.accept("_"):
            name += f"_{self.raw_group()}"
        primes = 0
        while (token := self.peek()) is not None and token.text in ("'", "^"):
            if token.text == "'":
                self.position += 1
                primes += 1
            elif (count := self._primes_ahead()) > 0:
                primes += count
            else:
                break
        name += "'" * primes
        if name in ("e", "i"):
            return Const(name)
        return self._applied(name)

    def _primes_ahead(self) -> int:
        r"""Step over `^{\prime\prime}` and return how many primes it holds."""
        place = self.position + 1
        texts = [token.text for token in self.tokens[place : place + 6]]
        braced = texts[:1] == ["{"]
        count = 0
        while count + braced < len(texts) and texts[count + braced] == "'":
            count += 1
        if count:
            self.position = place + count + 2 * braced
        return count

    def _applied(self, name: str) -> Node:
        """Read f(x), I(0), x(t): a variable is a function when what follows in brackets looks like an argument."""
        token = self.peek()
        if token is None or token.text != "(" or token.kind != "op":
            return Sym(name)
        inside, closing = self.peek(1), self.peek(2)
        single = inside is not None and inside.kind in ("num", "sym") and closing is not None and closing.text == ")"
        comma = False
        if not single and name[0] not in _ALWAYS_FUNCTIONS and "'" not in name:
            end = self.matching(self.position)
            comma = any(t.text == "," and t.kind == "op" for t in self.tokens[self.position : end])
            if not comma:
                return Sym(name)
        self.position += 1
        arguments = self.listed((")",))
        self.expect(")")
        return Call(f"{name}()", arguments.items if isinstance(arguments, Items) else (arguments,))

    def behind(self, node: Node) -> Node:
        """Read exponents, factorials, degree signs and number bases behind a thing."""
        while (token := self.peek()) is not None:
            if token.kind == "cmd" and token.text in ("circ", "deg"):
                raise UnreadableError("a circle in the wrong place")
            if token.kind != "op" and token.kind != "cmd":
                break
            if token.text == "^":
                self.position += 1
                node = multiply(node, Text(self._degrees())) if self._circle_ahead() else Pow(node, self.exponent())
            elif token.text == "deg":
                self.position += 1
                node = multiply(node, Text("\u00b0"))
            elif token.text == "!":
                node = self._factorial(node)
            elif token.text == "_" and isinstance(node, Num):
                node = self._based()
            elif token.text == "'" and isinstance(node, Call):
                self.position += 1
                node = Call(node.name + "'", node.args)
            else:
                break
        return node

    def _circle_ahead(self) -> bool:
        token, following = self.peek(), self.peek(1)
        return (token is not None and token.text in ("circ", "deg")) or (
            token is not None and token.text == "{" and following is not None and following.text in ("circ", "deg")
        )

    def _degrees(self) -> str:
        """Step over a raised circle, and the letter of a temperature scale behind it."""
        braced = self.accept("{")
        self.position += 1
        scale = self.peek()
        unit = "\u00b0"
        if scale is not None and scale.text in ("C", "F") and scale.kind in ("sym", "text"):
            self.position += 1
            unit = "celsius" if scale.text == "C" else "fahrenheit"
        if braced:
            self.expect("}")
            scale = self.peek()
            if scale is not None and scale.text in ("C", "F") and scale.kind in ("sym", "text"):
                self.position += 1
                unit = "celsius" if scale.text == "C" else "fahrenheit"
        return unit

    def exponent(self) -> Node:
        """Read an exponent; a tower binds from the right."""
        self.depth += 1
        guard.check(self.depth, guard.MAX_DEPTH * 2, "nested expressions")
        token, closing = self.peek(), self.peek(1)
        if token is not None and token.text in "+-" and (closing is None or closing.text in ("}", ")")):
            self.position += 1
            return Sym(f"from {token.text}")  # a limit from one side: 0^+
        negative = self.accept("-")
        if not negative:
            self.accept("+")
        node = self.primary()
        if self.accept("^"):
            node = Pow(node, self.exponent())
        self.depth -= 1
        return negate(node) if negative else node

    def _factorial(self, node: Node) -> Node:
        count = 0
        while self.accept("!"):
            count += 1
        if count > 2:
            raise UnreadableError("more than two exclamation marks")
        return Call("factorial" if count == 1 else "factorial2", (node,))

    def _based(self) -> Node:
        """Read the base of a number: 52_8, 52_{eight}, (52)_8."""
        number = self.tokens[self.position - 1]
        if number.text == ")":
            number = self.tokens[self.position - 2]
        self.position += 1
        name = self.raw_group().lower().replace("base", "").strip()
        base = _BASES.index(name) if name in _BASES else int(name[:3]) if name.isdigit() else 0
        if not 2 <= base <= 36 or not number.text.isdigit():
            raise UnreadableError("no number base")
        return Based(number.text.lstrip("0") or "0", base)
