"""All losses and steps, for tests that must hold for every one of them."""

import math
from typing import NamedTuple

import pytest

from erkle import (
    CKL,
    GNMDS,
    STE,
    TSTE,
    Constant,
    Inverse,
    InverseSqrt,
    PassiveAggressive,
    PassiveAggressiveI,
    PassiveAggressiveII,
)


class SquaredHinge(NamedTuple):
    """A loss of the user's own, with two unequal slopes."""

    margin: float = 1.0

    def value(self, d_near, d_far):
        return max(0.0, self.margin + d_near - 0.5 * d_far) ** 2

    def slopes(self, d_near, d_far):
        violation = max(0.0, self.margin + d_near - 0.5 * d_far)
        return 2.0 * violation, -violation


class Cooling(NamedTuple):
    """A step of the user's own, without a field."""

    def magnitude(self, j, excess, slope, fall):
        return slope / (fall + math.log(j))


def named(values):
    return [pytest.param(value, id=type(value).__name__) for value in values]


LOSSES = named([STE(), GNMDS(), CKL(), TSTE()])
STEPS = named(
    [
        Constant(0.5),
        Inverse(2.0),
        InverseSqrt(1.0),
        PassiveAggressive(),
        PassiveAggressiveI(C=0.05),
        PassiveAggressiveII(C=0.5),
    ]
)
