r"""A small algebra: several rewards become one, and the verdict still says what each of them thought.

    reward = WeightedSum({"correct": (1.0, MathReward()), "short": (0.2, SoftOverlong(2_000, 500))})
    reward = Gate({"format": Tags("think", "answer"), "correct": MathReward()})   # no format, no judge, no reward

Parts are rewards, plain functions `(response, problem) -> float`, or such combinations again; the parts of a
combination have names, and those of one inside another are dotted ("style.short"). `range`, `cost`, `time_limit` and
`probes()` follow from the parts. `WeightedSum` adds; `Product` multiplies; `Minimum` and `Maximum` take one part's
value; `Gate` stops at zero: what is behind a closed gate is not evaluated. Only a gate saves work.

A verdict has each leaf's own value in `components`, and in `details["leaves"]` per leaf `value`, `weight` (the product
of the weights on its way up), `seconds`, `error`, `reason`, `feedback`, `components`, `details`; `details["sum"]` says
whether values times weights add up to the whole. Its `reason` is
CORRECT at the maximum, else that of the leaf which cost the most.

**When a leaf abstains** the whole abstains exactly when the missing value could change the result. It can be anything
in the leaf's declared range, so a combination computes with bounds, and abstains when lower and upper end differ:

* WeightedSum: unless the weight is 0 or the range is a single value. A part named in `optional` is left out instead.
* Product: unless another factor is exactly 0.
* Minimum, Maximum: unless another part is at least as low (high) as the missing one can get.
* Gate: unless an earlier gate is closed, or what is behind is worth just what a closed gate is.

**When a leaf raises** the same question comes first: one that cannot change the result changes nothing. Else the
verdict is a `scorer_error`, worth 0, or less where the answer could have earned less (a crash must never pay); the
environment then tries a right answer, and abstains if that fails too. `optional` does not forgive a leaf that raises:
an answer may have made it.

The declared range of a leaf is trusted, not enforced; `FunctionReward(f, range=(-1, 0))` declares a function's.
"""

from grpo_rewards.compose.composite import Composite
from grpo_rewards.compose.rules import Gate, Maximum, Minimum, Product, WeightedSum

__all__ = ["Composite", "Gate", "Maximum", "Minimum", "Product", "WeightedSum"]
