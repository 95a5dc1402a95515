"""Minimisers: from a function and a start, iterate to a lower value.

Law: the value never rises from one iteration to the next, even if the function is not convex.
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

# Share of the predicted decrease that a step must achieve (Armijo's rule).
_ARMIJO = 1e-4
# Most cuts of a step before only rounding is left to gain.
_MAX_CUTS = 40
# Most steps that L-BFGS remembers.
_CORRECTIONS = 10
# Iterations over which progress is measured: a single small decrease can be a poor step or a saddle near the start.
_WINDOW = 10


def projected_gradient(function: Function, K: Floats, max_iter: int, tol: float, note: Note) -> tuple[Floats, bool]:
    """Minimise a function over kernels; return the kernel reached and whether the value has converged.

    The method is the spectral projected gradient (Birgin, Martínez & Raydan 2000), in its monotone form. Each
    iteration projects a gradient step of Barzilai and Borwein's length onto the cone of kernels, then backtracks
    towards the kernel before. Backtracking needs no eigenvalues, and all points on the way are kernels.

    Parameters
    ----------
    function : callable
        Returns value and gradient at a kernel.
    K : (n, n) array
        Where to start, positive semidefinite.
    max_iter : int
        Most iterations, with one projection each.
    tol : float
        Stop when the last ten iterations have lowered the value by no more than this share of it.
    note : callable
        Called with the kernel and its value after each iteration.
    """
    value, G = function(K)
    values = [value]
    # The first step is about as long as the kernel itself.
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
    """The first point along D that lowers the value enough; None if only rounding is left to gain."""
    K, value, G = start
    slope = float(np.vdot(G, D))
    if slope >= -np.finfo(float).eps * abs(value):
        return None
    share = 1.0
    for _ in range(_MAX_CUTS):
        point = K + share * D
        reached, gradient = function(point)
        if reached <= value + _ARMIJO * share * slope:
            return point, reached, gradient
        # Try the minimum of the parabola through the two values and the slope, if they are finite.
        rise = reached - value - share * slope
        wanted = -0.5 * slope * share * share / rise if np.isfinite(rise) else 0.0
        share = min(max(wanted, 0.1 * share), 0.5 * share)
    return None


def _spectral_step(S: Floats, Y: Floats, before: float, long: bool) -> float:
    """Barzilai and Borwein's long or short step; twice the step before if the curvature is negative."""
    curvature = float(np.vdot(S, Y))
    if curvature <= 0.0:
        return 2.0 * before
    return float(np.vdot(S, S)) / curvature if long else curvature / float(np.vdot(Y, Y))


def quasi_newton(
    function: Function, X: Floats, max_iter: int, tol: float, note: Note | None = None
) -> tuple[Floats, bool]:
    """Minimise a function over coordinates; return the coordinates reached and whether the value has converged.

    The method is SciPy's L-BFGS (Liu & Nocedal 1989), whose line search lowers the value at every iteration. The
    parameters are those of `projected_gradient`.
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

    # With few iterations, a long memory gains nothing, and with few answers it costs more than the gradient.
    corrections = min(_CORRECTIONS, max(1, max_iter // 3))
    # SciPy's own rule looks at one iteration only, and would stop at the saddle next to a small start.
    options = {"maxiter": max_iter, "maxfun": 100 * max_iter, "maxcor": corrections, "ftol": 0.0, "gtol": 0.0}
    result = scipy.optimize.minimize(flat, X.ravel(), jac=True, method="L-BFGS-B", callback=look, options=options)
    # Status 1 means that iterations ran out. Status 2, a failed line search, means that only rounding is left to gain.
    return result.x.reshape(X.shape), result.status != 1


def _has_settled(objectives: Sequence[float], tol: float) -> bool:
    """Whether the last ten iterations lowered the objective by no more than ``tol`` times itself.

    >>> _has_settled([5.0] + 10 * [3.0], tol=0.1), _has_settled([5.0] + 11 * [3.0], tol=0.1)
    (False, True)
    """
    if len(objectives) <= _WINDOW:
        return False
    return objectives[-1 - _WINDOW] - objectives[-1] <= tol * abs(objectives[-1])
