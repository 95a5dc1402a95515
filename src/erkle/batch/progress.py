"""Where a minimisation stands: the best point so far, and the objective after every iteration.

Law: the objective never rises from one entry to the next.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["Callback", "Progress", "has_settled"]

Floats = NDArray[np.float64]
Callback = Callable[[int, float], None]

# One small change in a row may be chance: a spectral step, or the start next to a saddle.
_WINDOW = 10


class Progress:
    """The best point so far; a point that is no better than it is not taken."""

    def __init__(self, start: Floats, objective: float, loss: str, callback: Callback | None) -> None:
        if not math.isfinite(objective):
            raise FloatingPointError(
                f"The sum of {loss} is {objective} at the start; use another initial kernel, or a loss that is finite."
            )
        self.best = start
        self.objectives = [objective]
        self.converged = False
        self._callback = callback

    @property
    def n_iter(self) -> int:
        """Number of iterations made."""
        return len(self.objectives) - 1

    def note(self, point: Floats, objective: float) -> None:
        """One more iteration has led to this point."""
        if objective < self.objectives[-1]:
            self.best = point
        self.objectives.append(min(objective, self.objectives[-1]))
        if self._callback is not None:
            self._callback(self.n_iter, self.objectives[-1])


def has_settled(objectives: Sequence[float], tol: float) -> bool:
    """Whether the last ten iterations lowered the objective by no more than ``tol`` times itself.

    >>> has_settled([5.0] + 10 * [3.0], tol=0.1), has_settled([5.0] + 11 * [3.0], tol=0.1)
    (False, True)
    """
    if len(objectives) <= _WINDOW:
        return False
    return objectives[-1 - _WINDOW] - objectives[-1] <= tol * abs(objectives[-1])
