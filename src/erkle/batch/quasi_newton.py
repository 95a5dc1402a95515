"""L-BFGS over coordinates (Liu & Nocedal 1989), SciPy's; its line search lowers the objective at every step."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize
from numpy.typing import NDArray

from erkle.batch.progress import has_settled

__all__ = ["minimise"]

Floats = NDArray[np.float64]

_CORRECTIONS = 10


def minimise(
    function: Callable[[Floats], tuple[float, Floats]],
    X: Floats,
    max_iter: int,
    tol: float,
    note: Callable[[Floats, float], None],
) -> tuple[Floats, bool]:
    """Coordinates with a lower value, and whether it is the lowest nearby to ``tol``; each step is noted."""
    values: list[float] = []

    def flat(x: Floats) -> tuple[float, Floats]:
        value, G = function(x.reshape(X.shape))
        if not values:
            values.append(value)
        return value, G.ravel()

    def look(intermediate_result: Any) -> None:
        values.append(float(intermediate_result.fun))
        note(intermediate_result.x.reshape(X.shape).copy(), values[-1])
        if has_settled(values, tol):
            raise StopIteration

    # Of few iterations it need not remember many, and remembering takes longer than a gradient where answers are few.
    corrections = min(_CORRECTIONS, max(1, max_iter // 3))
    # SciPy's own rule looks at one iteration only, and gives up at the saddle in which a small start begins.
    options = {"maxiter": max_iter, "maxfun": 100 * max_iter, "maxcor": corrections, "ftol": 0.0, "gtol": 0.0}
    result = scipy.optimize.minimize(flat, X.ravel(), jac=True, method="L-BFGS-B", callback=look, options=options)
    # Status 1 says that iterations ran out; a line search that finds nothing lower (2) has only rounding left.
    return result.x.reshape(X.shape), result.status != 1
