"""All losses and steps, for tests that must hold for every one of them, and a stream of answers to try them on."""

import math
from typing import NamedTuple

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

from erkle import (
    CKL,
    GNMDS,
    SOE,
    STE,
    TSTE,
    Constant,
    Dense,
    Inverse,
    InverseSqrt,
    LowRank,
    PassiveAggressive,
    PassiveAggressiveI,
    PassiveAggressiveII,
)
from erkle.triplets import sample


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


LOSSES = named([STE(), GNMDS(), CKL(), TSTE(), SOE()])
STEPS = named(
    [
        Constant(0.5),
        Inverse(2.0),
        InverseSqrt(1.0, after=7.0),
        PassiveAggressive(),
        PassiveAggressiveI(C=0.05),
        PassiveAggressiveII(C=0.5),
    ]
)
DIRECTIONS = ["canonical", "gradient"]
# All kinds of model: one kernel, kernels in a race, fits of chosen and of given settings.
KERNELS = [
    pytest.param(LowRank(3, 1e-3), id="one"),
    pytest.param(LowRank(consolidate="off"), id="race"),
    pytest.param(LowRank(), id="fits"),
    pytest.param(LowRank(3, 1e-3, 0.2), id="fits of one"),
]
PROJECTIONS = ["inverse", "eigh"]


def precise(projection="inverse", initial=None):
    """A dense kernel whose projections are exact enough to compare with the naive ones."""
    tol = {"tol": 1e-8} if projection == "inverse" else {}
    return Dense(projection=projection, initial=initial, **tol)


def answers(n, size, seed=0, flipped=0.0):
    """Random questions about points in the plane, some answered wrongly."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    T = sample(n, size, rng)
    a, b, c = X[T.T]
    swap = (((a - b) ** 2).sum(1) > ((a - c) ** 2).sum(1)) ^ (rng.random(size) < flipped)
    T[swap, 1:] = T[swap, :0:-1]
    return T


def relative(K, expected):
    return np.linalg.norm(K - expected) / np.linalg.norm(expected)


def state(learner):
    """All a learner knows, as something that can be compared: equal states go on equally, to the last bit."""
    packed, meta = learner._model.pack()
    arrays = {name: array.tobytes() for name, array in packed.items()}
    replay = learner._replay
    draws = replay.rng.bit_generator.state if replay.passes > 1 else None
    return arrays, meta, replay.history.tolist(), replay.seen, draws, learner._n_mistakes


def assert_is_a_sentence(caught):
    """What was got or wanted; what to do."""
    text = str(caught.value)
    assert "\n" not in text
    assert text[-1] in ".?"
    assert ";" in text


def in_python(monkeypatch, *modules):
    """Put the Python source of every compiled function of the modules in its place."""
    for module in modules:
        for name, value in vars(module).copy().items():
            if isinstance(value, Dispatcher):
                monkeypatch.setattr(module, name, value.py_func)
