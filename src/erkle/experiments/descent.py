"""Batch fitting as in the MATLAB codes the paper used: projected gradient by plain steps, anew from K = I."""

import numpy as np
from numpy.typing import NDArray

from erkle.batch.objective import ByKernel
from erkle.kernels.lapack import projected

__all__ = ["plain_descent"]

_TOL = 1e-7


def plain_descent(objective: ByKernel, n_objects: int, max_iter: int) -> tuple[NDArray[np.float64], int]:
    """The best kernel on the way, and the number of steps.

    A step is as long as the mean of the losses asks for, times the number of objects. It gets a hundredth longer while
    the objective falls and is halved when it rises; five rises in a row end it, as does a change of less than 1e-7.
    """
    K = best = np.eye(n_objects)
    rate = n_objects / len(objective.terms.T)
    value, gradient = objective(K)
    lowest, before = value, np.inf
    n_steps = rises = 0
    while n_steps < max_iter and rises < 5 and abs(value - before) >= _TOL:
        K = projected(K - rate * gradient)
        before, (value, gradient) = value, objective(K)
        if value < lowest:
            lowest, best = value, K
        rises = 0 if value < before else rises + 1
        rate *= 0.5 if rises else 1.01
        n_steps += 1
    return best, n_steps
