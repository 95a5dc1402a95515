"""All losses and steps, for tests that must hold for each of them, and streams of answers to learn."""

import itertools
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
    AnswerModel,
    Constant,
    Dense,
    Inverse,
    InverseSqrt,
    LowRank,
    PassiveAggressive,
    PassiveAggressiveI,
    PassiveAggressiveII,
)
from erkle._compiled import dense, loop, low_rank
from erkle.kernels import looping
from erkle.triplets import sample


class SquaredHinge(NamedTuple):
    """A loss that a user wrote, with two slopes of different size."""

    margin: float = 1.0

    def value(self, d_near, d_far):
        return max(0.0, self.margin + d_near - 0.5 * d_far) ** 2

    def slopes(self, d_near, d_far):
        violation = max(0.0, self.margin + d_near - 0.5 * d_far)
        return 2.0 * violation, -violation


class Cooling(NamedTuple):
    """A step that a user wrote, without fields."""

    def magnitude(self, j, excess, slope, fall):
        return slope / (fall + math.log(j))


def named(values):
    return [pytest.param(value, id=type(value).__name__) for value in values]


LOSSES = named([STE(), GNMDS(), CKL(), TSTE(), SOE(), AnswerModel(2.0, 0.5, 0.05)])
# Answer models at the limits of their parameters and between them.
ANSWER_MODELS = [
    pytest.param(AnswerModel(sensitivity, power, lapse), id=f"{sensitivity}-{power}-{lapse}")
    for power, lapse in itertools.product([0.0, 1e-13, 1e-3, 0.5, 1.0], [0.0, 0.05, 0.4])
    for sensitivity in ([0.3, 2.0] if power == 0.5 else [2.0])
]
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


def _paired(loss, step):
    return pytest.param(loss, step, id=f"{type(loss).__name__}-{type(step).__name__}")


# Pairs that cover every loss and every step. Numba compiles each pair by itself, so tests compile only these.
PAIRS = [
    _paired(STE(), Constant(0.5)),
    _paired(AnswerModel(2.0, 0.5, 0.05), Constant(0.5)),
    _paired(STE(), InverseSqrt(1.0, after=7.0)),
    _paired(GNMDS(), PassiveAggressive()),
    _paired(GNMDS(), PassiveAggressiveI(C=0.05)),
    _paired(CKL(), Constant(0.5)),
    _paired(TSTE(), Inverse(2.0)),
    _paired(SOE(), Constant(0.5)),
    _paired(GNMDS(), PassiveAggressiveII(C=0.5)),
]
# All other pairs; tests run them with `loop_in_python`.
OTHER_PAIRS = [
    pair
    for loss, step in itertools.product(LOSSES, STEPS)
    if (pair := _paired(*loss.values, *step.values)).id not in {pair.id for pair in PAIRS}
]
DIRECTIONS = ["canonical", "gradient"]


def directions_of(loss, step):
    """The directions in which the loss matters: in the canonical one, a passive-aggressive step ignores it."""
    ignored = type(step).__name__.startswith("PassiveAggressive") and not isinstance(loss, GNMDS)
    return ["gradient"] if ignored else DIRECTIONS


# One of each model: a single kernel, a race of kernels, and fits with chosen and with given settings.
KERNELS = [
    pytest.param(LowRank(3, 1e-3), id="one"),
    pytest.param(LowRank(consolidate="off"), id="race"),
    pytest.param(LowRank(), id="fits"),
    pytest.param(LowRank(3, 1e-3, 0.2), id="fits of one"),
]
PROJECTIONS = ["inverse", "eigh"]


def precise(projection="inverse", initial=None):
    """A dense kernel with projections that are exact enough to compare with the naive ones."""
    tol = {"tol": 1e-8} if projection == "inverse" else {}
    return Dense(projection=projection, initial=initial, **tol)


def answers(n, size, seed=0, flipped=0.0):
    """Answers to random questions about points in the plane; the share ``flipped`` is wrong."""
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
    """The complete state of a learner, for comparison: learners with equal states stay equal to the last bit."""
    packed, meta = learner._model.pack()
    packed |= learner._participants.arrays()
    arrays = {name: array.tobytes() for name, array in packed.items()}
    replay = learner._replay
    draws = replay.rng.bit_generator.state if replay.passes > 1 else None
    kept = replay.history.tolist(), replay.participants.tolist()
    return arrays, meta, kept, replay.seen, draws, learner._n_mistakes


def assert_is_a_sentence(caught):
    """The error is one line: what is wrong; what to do."""
    text = str(caught.value)
    assert "\n" not in text
    assert text[-1] in ".?"
    assert ";" in text


def in_python(monkeypatch, *modules):
    """Replace all compiled functions of the modules by their Python source."""
    for module in modules:
        for name, value in vars(module).copy().items():
            if isinstance(value, Dispatcher):
                monkeypatch.setattr(module, name, value.py_func)


def loop_in_python(monkeypatch, kernel):
    """Run the learning loop in Python; the moves of the kernel, "dense" or "low rank", stay compiled.

    So a loss and a step need no compilation. Other tests compare their compiled methods with Python.
    """
    module = {"dense": dense, "low rank": low_rank}[kernel]
    monkeypatch.setattr(looping, "learn", loop.learn.py_func)
    monkeypatch.setattr(looping, "learn_with_user_parts", loop.learn_with_user_parts.py_func)
    monkeypatch.setattr(loop, "_distances", module.distances)
    monkeypatch.setattr(loop, "_move", module.move)


def differences(function, at, step):
    """Central differences of a function in every entry."""
    slopes = np.empty_like(at)
    for i in np.ndindex(at.shape):
        up, down = at.copy(), at.copy()
        up[i] += step
        down[i] -= step
        slopes[i] = (function(up) - function(down)) / (2 * step)
    return slopes


def assert_is_the_derivative(G, function, at, scale):
    """Each entry agrees with the differences for some step; long steps curve, short ones suffer from rounding."""
    apart = [np.abs(G - differences(function, at, share * scale)) for share in (1e-3, 1e-5, 1e-7)]
    rounding = 10 * np.finfo(float).eps * abs(function(at)) / (1e-3 * scale)
    assert np.min(apart, axis=0).max() <= 1e-6 * np.abs(G).max() + rounding
