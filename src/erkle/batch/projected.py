"""Spectral projected gradient over the cone of kernels (Birgin, Martínez & Raydan 2000), in its monotone form.

The direction leads to the projection of a gradient step whose length is Barzilai and Borwein's; how far to go along
it is found by backtracking, which costs sums but no eigenvalues. All points are kernels, and the objective falls
at each of them, convex or not.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from erkle.batch.progress import has_settled
from erkle.kernels.lapack import projected

__all__ = ["minimise"]

Floats = NDArray[np.float64]
Function = Callable[[Floats], tuple[float, Floats]]
Point = tuple[Floats, float, Floats]

# Share of the promised fall a step must keep (Armijo), and how often a step is cut before rounding is to blame.
_KEPT, _CUTS = 1e-4, 40


def minimise(
    function: Function, K: Floats, max_iter: int, tol: float, note: Callable[[Floats, float], None]
) -> tuple[Floats, bool]:
    """A kernel with a lower value, and whether it is the lowest to ``tol``; each step on the way is noted.

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
        if has_settled(values, tol):
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
