"""Steps: how far to move the kernel for one answer.

A step computes the magnitude gamma >= 0 of the move K - gamma D. Its arguments are the number ``j`` of the answer,
from 1, the excess x = d_near - d_far, the slope of the loss at x, and ``fall``: how much x falls per unit of gamma (10
in the direction ``canonical``, 6 in the direction ``gradient``).

>>> from erkle import PassiveAggressive
>>> PassiveAggressive(margin=1.0).magnitude(j=1, excess=0.0, slope=1.0, fall=10.0)
0.1
"""

import math
from typing import NamedTuple, Protocol, runtime_checkable

from erkle.checks import check_part, compared_by_type

__all__ = [
    "STEPS",
    "Constant",
    "Inverse",
    "InverseSqrt",
    "PassiveAggressive",
    "PassiveAggressiveI",
    "PassiveAggressiveII",
    "Step",
    "check_step",
    "margin_of_probability",
]


@runtime_checkable
class Step(Protocol):
    """The method that learners need from a step."""

    def magnitude(self, j: int, excess: float, slope: float, fall: float) -> float:
        """How far to go, never negative; 0 leaves the kernel as it is."""


@compared_by_type
class Constant(NamedTuple):
    """gamma = rate * slope: every answer counts the same."""

    rate: float = 1.0

    def magnitude(self, j: int, excess: float, slope: float, fall: float) -> float:
        """How far to go, never negative."""
        return self.rate * slope


@compared_by_type
class Inverse(NamedTuple):
    """gamma = rate * slope / j, the classical schedule of stochastic gradient descent."""

    rate: float = 1.0

    def magnitude(self, j: int, excess: float, slope: float, fall: float) -> float:
        """How far to go, never negative."""
        return self.rate * slope / j


@compared_by_type
class InverseSqrt(NamedTuple):
    """gamma = rate * slope / sqrt(1 + (j - 1) / after): nearly constant for ``after`` answers, then shorter.

    ``after=1`` gives rate * slope / sqrt(j), as in the paper.
    """

    rate: float = 1.0
    after: float = 1.0

    def magnitude(self, j: int, excess: float, slope: float, fall: float) -> float:
        """How far to go, never negative."""
        return self.rate * slope / math.sqrt(1.0 + (j - 1) / self.after)


@compared_by_type
class PassiveAggressive(NamedTuple):
    """gamma = max(0, x + margin) / fall: the smallest move that satisfies the answer by the margin (PA)."""

    margin: float = 1.0

    @classmethod
    def with_probability(cls, probability: float) -> "PassiveAggressive":
        """The step that gives the answer this probability under STE, before any projection.

        >>> PassiveAggressive.with_probability(0.5 + 1e-9).margin < 1e-8
        True
        """
        return cls(margin_of_probability(probability))

    def magnitude(self, j: int, excess: float, slope: float, fall: float) -> float:
        """How far to go, never negative; 0 if the answer already holds by the margin."""
        return max(0.0, excess + self.margin) / fall


@compared_by_type
class PassiveAggressiveI(NamedTuple):
    """gamma = min(C, max(0, x + margin) / fall): PA with steps of at most C, for answers that may be wrong."""

    margin: float = 1.0
    C: float = 0.05

    def magnitude(self, j: int, excess: float, slope: float, fall: float) -> float:
        """How far to go, from 0 to C."""
        return min(self.C, max(0.0, excess + self.margin) / fall)


@compared_by_type
class PassiveAggressiveII(NamedTuple):
    """gamma = max(0, x + margin) / (fall + 1/(2C)): PA with shorter steps; a smaller C shortens them more."""

    margin: float = 1.0
    C: float = 0.05

    def magnitude(self, j: int, excess: float, slope: float, fall: float) -> float:
        """How far to go, never negative."""
        return max(0.0, excess + self.margin) / (fall + 0.5 / self.C)


STEPS: dict[str, type[Step]] = {
    "pa": PassiveAggressive,
    "pa1": PassiveAggressiveI,
    "pa2": PassiveAggressiveII,
    "constant": Constant,
    "inverse": Inverse,
    "inverse-sqrt": InverseSqrt,
}


def margin_of_probability(probability: float) -> float:
    """The margin log P - log(1 - P), with which a passive-aggressive step gives an answer the probability P.

    >>> step = PassiveAggressive(margin=margin_of_probability(0.9))
    >>> round(step.margin, 3)
    2.197
    """
    if not 0.5 < probability < 1.0:
        raise ValueError(f"The probability is {probability!r}; pass a number between 0.5 and 1, both excluded.")
    return math.log(probability) - math.log1p(-probability)


def check_step(step: Step) -> Step:
    """The step with its fields as floats, or an error that says what is wrong with it.

    >>> check_step(Constant(1))
    Constant(rate=1.0)
    """
    return check_part(step, "step", ("magnitude",))
