"""A whole fit of coordinates in compiled code, so that fits run side by side without Python's interpreter lock.

The objective is the sum of an answer model's loss over all answers, plus ridges. It is minimised by L-BFGS (Liu &
Nocedal 1989). Sums have a fixed order, so a fit gives the same bits in any thread.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from erkle._compiled.compiling import compiled
from erkle._compiled.overloads import slopes, value
from erkle.answer_models import AnswerModel

Array = Any

# Share of the predicted decrease that a step must achieve (Armijo's rule).
_ARMIJO = 1e-4
# A step is long enough when the slope along it has fallen to this share (Wolfe's rule).
_WOLFE = 0.9
# Most steps tried in one line search; after them only rounding is left to gain.
_MOST_TRIES = 20
# Most earlier iterations that L-BFGS remembers.
_MOST_PAIRS = 10
# Iterations over which progress is measured: a single small decrease can be a poor step or a saddle near the start.
_WINDOW = 10


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
    n, last = at.shape[0], at.shape[1] - 1
    has_prior = prior.axes.shape[1] > 0
    X = to_coordinates(prior, at) if has_prior else at
    ridge = 0.0 if has_prior else penalty.ridge
    shifted = penalty.shift > 0.0
    shifts = np.zeros(n)
    total = 0.0
    for i in range(n):
        for k in range(last):
            total += ridge * X[i, k] * X[i, k]
            G[i, k] = 2.0 * ridge * X[i, k]
        G[i, last] = 0.0
        if shifted:
            shifts[i] = math.exp(X[i, last])
            total += penalty.shift * X[i, last] * X[i, last]
            G[i, last] = 2.0 * penalty.shift * X[i, last]
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
        if shifted:
            G[a, last] += (near + far) * shifts[a]
            G[b, last] += near * shifts[b]
            G[c, last] += far * shifts[c]
    if has_prior:
        total += pull_back(prior, penalty.ridge, at, G)
    return total


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

    It stops after ``iterations``, or when the last ten iterations have lowered the objective by no more than ``tol``
    times itself. It also stops if another thread sets ``stop``, and X is then useless.
    """
    # With few iterations, a long memory gains nothing, and with few answers it costs more than the gradient.
    n_pairs = min(_MOST_PAIRS, max(1, iterations // 3))
    S, Y, curvatures = np.zeros((n_pairs, X.size)), np.zeros((n_pairs, X.size)), np.zeros(n_pairs)
    at, G, next_at, next_G = X.copy(), np.zeros_like(X), np.zeros_like(X), np.zeros_like(X)
    reached = np.zeros(iterations + 1)
    reached[0] = objective(model, T, lapses, penalty, prior, at, G)
    n_kept, scale, lowest = 0, 0.0, reached[0]
    for iteration in range(iterations):
        D = _direction(G.reshape(-1), S, Y, curvatures, n_kept, scale).reshape(X.shape)
        slope = _dot(G.reshape(-1), D.reshape(-1))
        if not slope < 0.0 or stop[0]:
            break
        step = 1.0 if n_kept else min(1.0, math.sqrt(X.shape[0]) * 0.1 / math.sqrt(-slope))
        found = _search(model, T, lapses, penalty, prior, at, D, lowest, slope, step, next_at, next_G)
        if not found < lowest:
            break
        lowest = reached[iteration + 1] = found
        s, y = (next_at - at).reshape(-1), (next_G - G).reshape(-1)
        curvature = _dot(s, y)
        if curvature > 0.0:
            slot = n_kept % n_pairs
            S[slot], Y[slot], curvatures[slot] = s, y, curvature
            scale = curvature / _dot(y, y)
            n_kept += 1
        at, next_at, G, next_G = next_at, at, next_G, G
        if iteration + 1 >= _WINDOW and reached[iteration + 1 - _WINDOW] - found <= tol * abs(found):
            break
    X[:] = at
    return float(lowest)


@compiled
def _search(
    model: AnswerModel,
    T: Array,
    lapses: Array,
    penalty: Penalty,
    prior: Prior,
    at: Array,
    D: Array,
    start: float,
    slope: float,
    step: float,
    next_at: Array,
    next_G: Array,
) -> float:
    """Find a step along D by bisection and doubling (Lewis & Overton 2013); return the objective after it."""
    low, high = 0.0, math.inf
    found = start
    for _ in range(_MOST_TRIES):
        next_at[:] = at + step * D
        found = objective(model, T, lapses, penalty, prior, next_at, next_G)
        if not found <= start + _ARMIJO * step * slope:
            high = step
        elif _dot(next_G.reshape(-1), D.reshape(-1)) < _WOLFE * slope:
            low = step
        else:
            return found
        step = 0.5 * (low + high) if high < math.inf else 2.0 * low
    return found


@compiled
def _direction(g: Array, S: Array, Y: Array, curvatures: Array, n_kept: int, scale: float) -> Array:
    """Minus the gradient, multiplied by the approximate inverse of the Hessian (the two-loop recursion)."""
    d = -g
    n_pairs = len(S)
    n_used = min(n_kept, n_pairs)
    alphas = np.zeros(n_pairs)
    for back in range(n_used):
        slot = (n_kept - 1 - back) % n_pairs
        alphas[slot] = _dot(S[slot], d) / curvatures[slot]
        _add(d, -alphas[slot], Y[slot])
    if n_used:
        d *= scale
    for back in range(n_used - 1, -1, -1):
        slot = (n_kept - 1 - back) % n_pairs
        _add(d, alphas[slot] - _dot(Y[slot], d) / curvatures[slot], S[slot])
    return d


@compiled
def _add(d: Array, factor: float, other: Array) -> None:
    for i in range(d.size):
        d[i] += factor * other[i]


@compiled
def _dot(x: Array, y: Array) -> float:
    """The inner product, in four sums that the processor computes at once; their order never changes."""
    a = b = c = d = 0.0
    blocks = x.size // 4 * 4
    for i in range(0, blocks, 4):
        a += x[i] * y[i]
        b += x[i + 1] * y[i + 1]
        c += x[i + 2] * y[i + 2]
        d += x[i + 3] * y[i + 3]
    for i in range(blocks, x.size):
        a += x[i] * y[i]
    return (a + b) + (c + d)
