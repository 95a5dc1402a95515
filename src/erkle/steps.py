"""Steps: how far to move the kernel for one answer.

A step gives the magnitude gamma >= 0 of the move K - gamma D. It sees the number ``j`` of the answer, its
excess x = d_near - d_far, the loss's slope there, and ``fall``: by how much x falls for a unit of gamma
(10 in direction ``canonical``, 6 in direction ``gradient``).

>>> from erkle import PassiveAggressive
>>> PassiveAggressive(margin=1.0).magnitude(j=1, excess=0.0, slope=1.0, fall=10.0)
0.1
"""

import math
from typing import NamedTuple, Protocol, runtime_checkable

from erkle.checks import check_part

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
    """What the learners ask of a step."""

    def magnitude(self, j: int, excess: float, slope: float, fall: float) -> float:
        """How far to go, never negative; 0 leaves the kernel as it is."""


class Constant(NamedTuple):
    """gamma = rate * slope: every answer counts the same."""

    rate: float = 1.0

    def magnitude(self, j: int, excess: float, slope: float, fall: float) -> float:
        """How far to go, never negative."""
        return self.rate * slope


class Inverse(NamedTuple):
    """gamma = rate * slope / j, the classical schedule of stochastic gradient descent."""

    rate: float = 1.0

    def magnitude(self, j: int, excess: float, slope: float, fall: float) -> float:
        """How far to go, never negative."""
        return self.rate * slope / j


class InverseSqrt(NamedTuple):
    """gamma = rate * slope / sqrt(1 + (j - 1) / after): constant at first, and shorter after so many answers.

    ``after=1`` is the paper's rate * slope / sqrt(j).
    """

    rate: float = 1.0
    after: float = 1.0

    def magnitude(self, j: int, excess: float, slope: float, fall: float) -> float:
        """How far to go, never negative."""
        return self.rate * slope / math.sqrt(1.0 + (j - 1) / self.after)


class PassiveAggressive(NamedTuple):
    """gamma = max(0, x + margin) / fall: the least move that satisfies the answer by the margin (PA)."""

    margin: float = 1.0

    @classmethod
    def with_probability(cls, probability: float) -> "PassiveAggressive":
        """The step after which, before any projection, the answer holds with this probability under STE.

        >>> PassiveAggressive.with_probability(0.5 + 1e-9).margin < 1e-8
        True
        """
        return cls(margin_of_probability(probability))

    def magnitude(self, j: int, excess: float, slope: float, fall: float) -> float:
        """How far to go, never negative; 0 where the answer already holds by the margin."""
        return max(0.0, excess + self.margin) / fall


class PassiveAggressiveI(NamedTuple):
    """gamma = min(C, max(0, x + margin) / fall): PA whose steps are cut at C, for answers that may be wrong."""

    margin: float = 1.0
    C: float = 0.05

    def magnitude(self, j: int, excess: float, slope: float, fall: float) -> float:
        """How far to go, never negative nor above C."""
        return min(self.C, max(0.0, excess + self.margin) / fall)


class PassiveAggressiveII(NamedTuple):
    """gamma = max(0, x + margin) / (fall + 1/(2C)): PA whose steps are all shortened, the more the smaller C."""

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
    """The margin log P - log(1 - P) at which a passive-aggressive step makes an answer hold with probability P.

    >>> step = PassiveAggressive(margin=margin_of_probability(0.9))
    >>> round(step.margin, 3)
    2.197
    """
    if not 0.5 < probability < 1.0:
        raise ValueError(f"The wanted probability is {probability!r}; pass one between 0.5 and 1, both excluded.")
    return math.log(probability) - math.log1p(-probability)


def check_step(step: Step) -> Step:
    """The step with its fields as floats, or an error that says what is wrong with it.

    >>> check_step(Constant(1))
    Constant(rate=1.0)
    """
    return check_part(step, "step", ("magnitude",))
