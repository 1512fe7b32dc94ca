"""What is accepted that is not strictly the reference: the decisions on which reasonable people differ, by name.

`DEFAULT` is what mathematicians and most benchmarks agree on, `WORKED` what a task of one's own can ask for. `STRICT`
switches every leniency off: what remains is equality of values, which is reflexive and symmetric (the tests hold it to
that).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Policy:
    r"""Options of the comparison.

    Attributes:
        missing_units: `10` is right for `10 cm`. A contradicting unit never is.
        extra_units: `10 cm` is right for `10`. Off for tasks that ask for a bare number.
        bare_percent: `25` is right for `25\%`, and the other way round. As values, `25\%` is 1/4 under every policy.
        bare_values: `5` is right for `x = 5`, and `x = 5` for `5`. Another name (`y = 5`) never is.
        regions: `x < 3` is right for `(-\infty, 3)`, and the other way round.
        integration_constants: `x^2 + k` is right for `x^2 + C`: the constant's name and size do not matter.
        unevaluated: Accept a sum, product, integral, limit, derivative, gcd, determinant or remainder as the answer
            although the reference is its value. Off by default: it is usually the question's own, unanswered.
        plain_numbers: Where the reference is a plain number, accept only a plain number (12, -3/4, 0.75, 1.2e3, 75\%),
            no sums, powers or roots to be worked out. For tasks that ask for the working out: else the question is an
            answer to itself.
        tolerance: Relative error allowed where the reference is written as a decimal, e.g. 0.01 for references that
            were measured or rounded. 0 compares exactly.
    """

    missing_units: bool = True
    extra_units: bool = True
    bare_percent: bool = True
    bare_values: bool = True
    regions: bool = True
    integration_constants: bool = True
    unevaluated: bool = False
    plain_numbers: bool = False
    tolerance: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.tolerance < 1:
            raise ValueError(f"Policy.tolerance is {self.tolerance}, must be in [0, 1)")


DEFAULT = Policy()
"""What `verify` takes: for references and answers of any origin, data sets above all."""

WORKED = Policy(plain_numbers=True, extra_units=False, bare_percent=False)
"""What `MathReward` takes: for tasks that ask for a worked-out value. Else the question is an answer to itself, and a
unit or sign that nobody asked for costs nothing."""

STRICT = Policy(
    missing_units=False,
    extra_units=False,
    bare_percent=False,
    bare_values=False,
    regions=False,
    integration_constants=False,
)
"""Nothing but equality of values."""
