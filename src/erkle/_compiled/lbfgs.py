"""L-BFGS (Liu & Nocedal 1989), which asks for the objective at one point after another.

Whoever minimises computes the objective and its gradient at ``next_at``, and `advance` chooses the next point. So the
same iterations serve a fit in a single thread, and sums that many threads or computers compute.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from erkle._compiled.compiling import compiled

Array = Any

# Share of the predicted decrease that a step must achieve (Armijo's rule).
_ARMIJO = 1e-4
# A step is long enough when the slope along it has fallen to this share (Wolfe's rule).
_WOLFE = 0.9
# Most steps tried in one line search; after them only rounding is left to gain.
_MOST_TRIES = 20
# Most earlier iterations that are remembered.
_MOST_PAIRS = 10
# Iterations over which progress is measured: a single small decrease can be a poor step or a saddle near the start.
_WINDOW = 10

# The numbers that change: iterations done (-1 before the first objective), remembered iterations, steps tried in this
# line search; the lowest objective, the scale of the inverse Hessian, the slope along the direction, the step, and the
# bounds between which it lies.
_COUNTS, _VALUES = ("n_done", "n_kept", "n_tried"), ("lowest", "scale", "slope", "step", "low", "high")
numbers_dtype = np.dtype(
    (np.record, [*((name, np.int64) for name in _COUNTS), *((name, np.float64) for name in _VALUES)])
)


class Descent(NamedTuple):
    """A minimisation under way.

    Attributes
    ----------
    at, G : (n, r) arrays
        The lowest point so far, and the gradient there.
    next_at, next_G : (n, r) arrays
        The point at which the objective is wanted next, and room for the gradient there.
    D : (n, r) array
        The direction of the line search.
    S, Y, curvatures : (pairs, n * r), (pairs, n * r), (pairs,) arrays
        Remembered steps, changes of the gradient, and their inner products.
    reached : (iterations + 1,) array
        The objective at the start and after each iteration.
    numbers : (1,) array
        A record of `numbers_dtype`.
    """

    at: Array
    G: Array
    next_at: Array
    next_G: Array
    D: Array
    S: Array
    Y: Array
    curvatures: Array
    reached: Array
    numbers: Array


@compiled
def begin(X: Array, iterations: int) -> Descent:
    """A minimisation from X; it first needs the objective there."""
    # With few iterations, a long memory gains nothing, and with few answers it costs more than the gradient.
    n_pairs = min(_MOST_PAIRS, max(1, iterations // 3))
    numbers = np.zeros(1, numbers_dtype)
    numbers[0].n_done = -1
    return Descent(
        X.copy(),
        np.zeros_like(X),
        X.copy(),
        np.zeros_like(X),
        np.zeros_like(X),
        np.zeros((n_pairs, X.size)),
        np.zeros((n_pairs, X.size)),
        np.zeros(n_pairs),
        np.zeros(iterations + 1),
        numbers,
    )


@compiled
def advance(descent: Descent, value: float, tol: float) -> bool:
    """Take in the objective at ``next_at``, whose gradient is in ``next_G``, and choose the next point.

    False ends the minimisation: after all iterations, when the last ten of them have lowered the objective by no more
    than ``tol`` times itself, or when no step lowers it.
    """
    numbers = descent.numbers[0]
    if numbers.n_done < 0:
        descent.G[:] = descent.next_G
        descent.reached[0] = numbers.lowest = value
        numbers.n_done = 0
        return _search_along_new_direction(descent)
    if not _is_good_step(descent, value):
        _step(descent)
        return True
    if not value < numbers.lowest:
        return False
    _take_step(descent, value)
    if numbers.n_done >= _WINDOW:
        lowered = descent.reached[numbers.n_done - _WINDOW] - value
        if lowered <= tol * abs(value):
            return False
    return _search_along_new_direction(descent)


@compiled
def _search_along_new_direction(descent: Descent) -> bool:
    numbers = descent.numbers[0]
    if numbers.n_done == descent.reached.size - 1:
        return False
    g = descent.G.reshape(-1)
    d = direction(g, descent.S, descent.Y, descent.curvatures, numbers.n_kept, numbers.scale)
    descent.D[:] = d.reshape(descent.D.shape)
    numbers.slope = dot(g, d)
    if not numbers.slope < 0.0:
        return False
    first = math.sqrt(descent.at.shape[0]) * 0.1 / math.sqrt(-numbers.slope)
    numbers.step = 1.0 if numbers.n_kept else min(1.0, first)
    numbers.low, numbers.high, numbers.n_tried = 0.0, math.inf, 0
    _step(descent)
    return True


@compiled
def _step(descent: Descent) -> None:
    descent.next_at[:] = descent.at + descent.numbers[0].step * descent.D


@compiled
def _is_good_step(descent: Descent, value: float) -> bool:
    """Whether the line search ends with this step; if not, bisect or double it (Lewis & Overton 2013)."""
    numbers = descent.numbers[0]
    numbers.n_tried += 1
    if not value <= numbers.lowest + _ARMIJO * numbers.step * numbers.slope:
        numbers.high = numbers.step
    elif dot(descent.next_G.reshape(-1), descent.D.reshape(-1)) < _WOLFE * numbers.slope:
        numbers.low = numbers.step
    else:
        return True
    if numbers.n_tried == _MOST_TRIES:
        return True
    numbers.step = 0.5 * (numbers.low + numbers.high) if numbers.high < math.inf else 2.0 * numbers.low
    return False


@compiled
def _take_step(descent: Descent, value: float) -> None:
    """Move to the next point, and remember the step."""
    numbers = descent.numbers[0]
    s, y = (descent.next_at - descent.at).reshape(-1), (descent.next_G - descent.G).reshape(-1)
    curvature = dot(s, y)
    if curvature > 0.0:
        slot = numbers.n_kept % descent.curvatures.size
        descent.S[slot], descent.Y[slot], descent.curvatures[slot] = s, y, curvature
        numbers.scale = curvature / dot(y, y)
        numbers.n_kept += 1
    descent.at[:] = descent.next_at
    descent.G[:] = descent.next_G
    numbers.n_done += 1
    descent.reached[numbers.n_done] = numbers.lowest = value


@compiled
def direction(g: Array, S: Array, Y: Array, curvatures: Array, n_kept: int, scale: float) -> Array:
    """Minus the gradient, multiplied by the approximate inverse of the Hessian (the two-loop recursion)."""
    d = -g
    n_pairs = len(S)
    n_used = min(n_kept, n_pairs)
    alphas = np.zeros(n_pairs)
    for back in range(n_used):
        slot = (n_kept - 1 - back) % n_pairs
        alphas[slot] = dot(S[slot], d) / curvatures[slot]
        _add(d, -alphas[slot], Y[slot])
    if n_used:
        d *= scale
    for back in range(n_used - 1, -1, -1):
        slot = (n_kept - 1 - back) % n_pairs
        _add(d, alphas[slot] - dot(Y[slot], d) / curvatures[slot], S[slot])
    return d


@compiled
def _add(d: Array, factor: float, other: Array) -> None:
    for i in range(d.size):
        d[i] += factor * other[i]


@compiled
def dot(x: Array, y: Array) -> float:
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
