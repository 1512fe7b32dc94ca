"""Plain data as a tree of JSON, and back: the only thing that crosses from one process of the judge to another.

Plain is what has exactly a built-in type (`type(x) is list`, never `isinstance`): a value of a class that the solution
wrote could answer every comparison with yes. What is not plain goes to a hook of the caller, or is refused by
`NotPlain`. Reading is strict: whatever a hostile process sends ends in plain data of bounded depth, or in `Malformed`.

In the tree None, booleans, strings, small integers and finite floats are themselves and a list is a list; everything
else is an object with one key, its tag. Large integers are written in base 16, since decimal takes quadratic time.
numpy is never imported here: its arrays are known where the process has it, and are lists where it has not.
"""

from grpo_rewards.code.confined.channel import Malformed
from grpo_rewards.code.confined.decoding import decode
from grpo_rewards.code.confined.encoding import BITS, DEPTH, ITEMS, NotPlain, encode

__all__ = ["BITS", "DEPTH", "ITEMS", "Malformed", "NotPlain", "decode", "encode"]
