"""Fits of coordinates: the sum of an answer model's loss over all answers, plus ridges, is minimised by L-BFGS.

`minimise` is a whole fit in compiled code, so that fits run side by side without Python's interpreter lock. Sums have a
fixed order, so a fit gives the same bits in any thread. A sum over many answers can also be computed in parts: a part
begins with `begin_sum` or with zeros, and `add_answers` adds to it.
"""

from typing import Any, NamedTuple

import numpy as np

from erkle._compiled.compiling import compiled
from erkle._compiled.lbfgs import advance, begin
from erkle._compiled.overloads import slopes, value
from erkle.answer_models import AnswerModel

Array = Any


class Penalty(NamedTuple):
    """The ridge on coordinates and the ridge on the logarithms of shifts; a shift ridge of 0 means no shifts."""

    ridge: float
    shift: float


class Prior(NamedTuple):
    """A normal prior of coordinates X by standardised variables Z: X = mean + scale ∘ Z + axes core axes' (Z / scale).

    Z has a ridge. Without columns in ``axes`` there is no such prior, and Z is X itself.

    Attributes
    ----------
    mean : (n, r) array
    scale : (n,) array
    axes : (n, p) array
    core : (p, p) array
        Symmetric.
    """

    mean: Array
    scale: Array
    axes: Array
    core: Array


# Only a ridge on the coordinates themselves.
NO_PRIOR = Prior(np.zeros((0, 0)), np.zeros(0), np.zeros((0, 0)), np.zeros((0, 0)))


@compiled
def to_coordinates(prior: Prior, Z: Array) -> Array:
    """The coordinates of the variables Z; their last column, the logarithms of the shifts, stays as it is."""
    X, last = Z.copy(), Z.shape[1] - 1
    inner = _inner(prior, Z, -1)
    X[:, :last] = prior.axes @ inner
    for i in range(Z.shape[0]):
        for k in range(last):
            X[i, k] += prior.mean[i, k] + prior.scale[i] * Z[i, k]
    return X


@compiled
def _inner(prior: Prior, G: Array, power: int) -> Array:
    """core · axes' G, (p, r), after dividing the rows of G by the scale if the power is -1."""
    last = G.shape[1] - 1
    rows = np.empty((G.shape[0], last))
    for i in range(G.shape[0]):
        factor = 1.0 / prior.scale[i] if power else 1.0
        for k in range(last):
            rows[i, k] = factor * G[i, k]
    return prior.core @ (prior.axes.T @ rows)


@compiled
def pull_back(prior: Prior, ridge: float, Z: Array, G: Array) -> float:
    """Turn a gradient in the coordinates into one in Z, add that of the ridge on Z, and return the ridge's term."""
    last, total = G.shape[1] - 1, 0.0
    moved = prior.axes @ _inner(prior, G, 0)
    for i in range(G.shape[0]):
        for k in range(last):
            total += ridge * Z[i, k] * Z[i, k]
            G[i, k] = prior.scale[i] * G[i, k] + moved[i, k] / prior.scale[i] + 2.0 * ridge * Z[i, k]
    return total


@compiled
def objective(
    model: AnswerModel, T: Array, lapses: Array, penalty: Penalty, prior: Prior, at: Array, G: Array
) -> float:
    """The objective at the variables ``at``; write its gradient to G. Each answer has its own lapse.

    The last column holds the logarithms of the shifts: d²(a, b) is the squared distance of the coordinates plus the
    shifts of a and b.
    """
    X = coordinates(prior, at)
    shifts = shifts_of(penalty, X)
    total = begin_sum(penalty, prior, X, G)
    total = add_answers(T, lapses, total, G, model, penalty, X, shifts)
    return end_sum(penalty, prior, at, total, G)


@compiled
def coordinates(prior: Prior, at: Array) -> Array:
    """The coordinates at the variables ``at``, which they are themselves without a prior."""
    return to_coordinates(prior, at) if prior.axes.shape[1] > 0 else at


@compiled
def shifts_of(penalty: Penalty, X: Array) -> Array:
    """The shift of each object; zeros if there are none."""
    return np.exp(X[:, -1]) if penalty.shift > 0.0 else np.zeros(X.shape[0])


@compiled
def begin_sum(penalty: Penalty, prior: Prior, X: Array, G: Array) -> float:
    """The ridges on the coordinates and on the logarithms of the shifts; write their gradient to G."""
    last, total = X.shape[1] - 1, 0.0
    ridge = 0.0 if prior.axes.shape[1] > 0 else penalty.ridge
    for i in range(X.shape[0]):
        for k in range(last):
            total += ridge * X[i, k] * X[i, k]
            G[i, k] = 2.0 * ridge * X[i, k]
        G[i, last] = 0.0
        if penalty.shift > 0.0:
            total += penalty.shift * X[i, last] * X[i, last]
            G[i, last] = 2.0 * penalty.shift * X[i, last]
    return total


@compiled
def add_answers(
    T: Array, lapses: Array, total: float, G: Array, model: AnswerModel, penalty: Penalty, X: Array, shifts: Array
) -> float:
    """Add the losses of the answers T to the total, and their gradient in the coordinates to G."""
    last = X.shape[1] - 1
    for i in range(T.shape[0]):
        a, b, c = T[i, 0], T[i, 1], T[i, 2]
        d_near, d_far = shifts[a] + shifts[b], shifts[a] + shifts[c]
        for k in range(last):
            d_near += (X[a, k] - X[b, k]) ** 2
            d_far += (X[a, k] - X[c, k]) ** 2
        own = AnswerModel(model.sensitivity, model.power, lapses[i])
        total += value(own, d_near, d_far)
        near, far = slopes(own, d_near, d_far)
        for k in range(last):
            to_near = 2.0 * near * (X[a, k] - X[b, k])
            to_far = 2.0 * far * (X[a, k] - X[c, k])
            G[a, k] += to_near + to_far
            G[b, k] -= to_near
            G[c, k] -= to_far
        if penalty.shift > 0.0:
            G[a, last] += (near + far) * shifts[a]
            G[b, last] += near * shifts[b]
            G[c, last] += far * shifts[c]
    return total


@compiled
def end_sum(penalty: Penalty, prior: Prior, at: Array, total: float, G: Array) -> float:
    """Under a prior, turn the gradient in the coordinates into one in the variables ``at``, and add their ridge."""
    return total + pull_back(prior, penalty.ridge, at, G) if prior.axes.shape[1] > 0 else total


@compiled
def minimise(
    model: AnswerModel,
    T: Array,
    lapses: Array,
    penalty: Penalty,
    prior: Prior,
    X: Array,
    iterations: int,
    tol: float,
    stop: Array,
) -> float:
    """Move the variables X (see `Prior`) to a lower objective, and return the objective there.

    It stops as `advance` says, or if another thread sets ``stop``, and X is then useless.
    """
    descent = begin(X, iterations)
    going_on = True
    while going_on and not stop[0]:
        reached = objective(model, T, lapses, penalty, prior, descent.next_at, descent.next_G)
        going_on = advance(descent, reached, tol)
    X[:] = descent.at
    return float(descent.numbers[0].lowest)
