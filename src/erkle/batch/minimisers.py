"""Minimisers: from a function and a start to a lower value, step by step.

Law: the value never rises from one step to the next, convex or not.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.optimize
from numpy.typing import NDArray

from erkle.kernels.lapack import projected

Floats = NDArray[np.float64]
Function = Callable[[Floats], tuple[float, Floats]]
Note = Callable[[Floats, float], None]
Minimise = Callable[[Function, Floats, int, float, Note], tuple[Floats, bool]]
Point = tuple[Floats, float, Floats]

# Share of the promised fall a step must keep (Armijo), and how often a step is cut before rounding is to blame.
_KEPT, _CUTS = 1e-4, 40
# Steps that L-BFGS remembers at most.
_CORRECTIONS = 10
# One small change in a row may be chance: a spectral step, or the start next to a saddle.
_WINDOW = 10


def projected_gradient(function: Function, K: Floats, max_iter: int, tol: float, note: Note) -> tuple[Floats, bool]:
    """A kernel with a lower value, and whether it is the lowest to ``tol``; each step on the way is noted.

    Spectral projected gradient over the cone of kernels (Birgin, Martínez & Raydan 2000), in its monotone form. The
    direction leads to the projection of a gradient step whose length is Barzilai and Borwein's; how far to go along it
    is found by backtracking, which costs sums but no eigenvalues. All points are kernels.

    Parameters
    ----------
    function : callable
        Value and gradient at a kernel.
    K : (n, n) array
        Where to start, positive semidefinite.
    max_iter : int
        Largest number of projections.
    tol : float
        Stop when ten iterations have lowered the value by no more than this share of it.
    note : callable
        Is told each kernel and its value.
    """
    value, G = function(K)
    values = [value]
    # The first step changes the kernel by about as much as there is of it.
    step = max(1.0, float(np.linalg.norm(K))) / max(float(np.linalg.norm(G)), np.finfo(float).tiny)
    for i in range(max_iter):
        found = _search(function, (K, value, G), projected(K - step * G) - K)
        if found is None:
            return K, True
        step = _spectral_step(found[0] - K, found[2] - G, step, long=i % 2 == 1)
        K, value, G = found
        values.append(value)
        note(K, value)
        if _has_settled(values, tol):
            return K, True
    return K, False


def _search(function: Function, start: Point, D: Floats) -> Point | None:
    """The first point along D that lowers the value enough; None where only rounding is left to gain."""
    K, value, G = start
    slope = float(np.vdot(G, D))
    if slope >= -np.finfo(float).eps * abs(value):
        return None
    share = 1.0
    for _ in range(_CUTS):
        point = K + share * D
        reached, gradient = function(point)
        if reached <= value + _KEPT * share * slope:
            return point, reached, gradient
        # The minimum of the parabola through what is known, if it is a sensible one; NaN is not.
        rise = reached - value - share * slope
        wanted = -0.5 * slope * share * share / rise if np.isfinite(rise) else 0.0
        share = min(max(wanted, 0.1 * share), 0.5 * share)
    return None


def _spectral_step(S: Floats, Y: Floats, before: float, long: bool) -> float:
    """Barzilai and Borwein's two steps in turn; where the curvature is negative, twice the step before."""
    curvature = float(np.vdot(S, Y))
    if curvature <= 0.0:
        return 2.0 * before
    return float(np.vdot(S, S)) / curvature if long else curvature / float(np.vdot(Y, Y))


def quasi_newton(
    function: Function, X: Floats, max_iter: int, tol: float, note: Note | None = None
) -> tuple[Floats, bool]:
    """Coordinates with a lower value, and whether it is the lowest nearby to ``tol``; each step is noted.

    L-BFGS over coordinates (Liu & Nocedal 1989), SciPy's; its line search lowers the value at every step.
    """
    values: list[float] = []

    def flat(x: Floats) -> tuple[float, Floats]:
        value, G = function(x.reshape(X.shape))
        if not values:
            values.append(value)
        return value, G.ravel()

    def look(intermediate_result: Any) -> None:
        values.append(float(intermediate_result.fun))
        if note is not None:
            note(intermediate_result.x.reshape(X.shape).copy(), values[-1])
        if _has_settled(values, tol):
            raise StopIteration

    # Of few iterations it need not remember many, and remembering takes longer than a gradient where answers are few.
    corrections = min(_CORRECTIONS, max(1, max_iter // 3))
    # SciPy's own rule looks at one iteration only, and gives up at the saddle in which a small start begins.
    options = {"maxiter": max_iter, "maxfun": 100 * max_iter, "maxcor": corrections, "ftol": 0.0, "gtol": 0.0}
    result = scipy.optimize.minimize(flat, X.ravel(), jac=True, method="L-BFGS-B", callback=look, options=options)
    # Status 1 says that iterations ran out; a line search that finds nothing lower (2) has only rounding left.
    return result.x.reshape(X.shape), result.status != 1


def _has_settled(objectives: Sequence[float], tol: float) -> bool:
    """Whether the last ten iterations lowered the objective by no more than ``tol`` times itself.

    >>> _has_settled([5.0] + 10 * [3.0], tol=0.1), _has_settled([5.0] + 11 * [3.0], tol=0.1)
    (False, True)
    """
    if len(objectives) <= _WINDOW:
        return False
    return objectives[-1 - _WINDOW] - objectives[-1] <= tol * abs(objectives[-1])
