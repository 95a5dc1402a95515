"""From an objective and a start to the optimum: directly for smooth losses, by the method of multipliers for the hinge.

The hinge has no gradient at its kink. But max(0, x) is the maximum of s x over slopes s from 0 to 1. Subtracting a
penalty (s - m)² width / 2 for each multiplier m makes it smooth: the maximum becomes the rounded hinge at x + width m,
minus width m² / 2. Each stage minimises this smooth sum; the slopes at its minimum are the next multipliers
(Rockafellar 1976). The multipliers converge to the exact solution without a narrower width, which would make the
stages harder. Every point is compared by the hinge itself. The smooth sum is never above the true objective, so for a
convex problem the two bracket the optimum.
"""

import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from erkle.batch.minimisers import Minimise
from erkle.batch.objective import Objective
from erkle.checks import number, whole
from erkle.losses import GNMDS, Loss, RoundedHinge, check_loss

if TYPE_CHECKING:
    from erkle.batch.rckl import RCKL
    from erkle.batch.triplet_embedding import TripletEmbedding

Floats = NDArray[np.float64]
Callback = Callable[[int, float], None]

# Width of the rounded hinge, as a share of the margin. A narrower hinge makes stages harder, a wider one needs more.
_WIDTH = 0.5
# Most iterations of a stage.
_STAGE_ITERATIONS = 50
# Relative decrease over ten iterations at which a stage stops.
_STAGE_TOL = 1e-4
# Ratio of two gaps in a row above which the gap counts as stalled.
_STALLED = 0.95
# Relative gap at which the method stops, in units of tol. The gap bounds all that is left to gain, not ten iterations.
_GAP = 1000.0


class Settings(NamedTuple):
    """The checked parameters that the batch learners share."""

    n_objects: int
    loss: Loss
    weight: float
    max_iter: int
    tol: float
    callback: Callback | None


def check_settings(learner: "RCKL | TripletEmbedding", weight: str) -> Settings:
    """Check the parameters of a learner; ``weight`` is the name of its weight of the trace."""
    callback = learner.callback
    if callback is not None and not callable(callback):
        raise ValueError(f"callback is {callback!r}; pass a function of the iteration and the objective, or None.")
    return Settings(
        whole(learner.n_objects, "n_objects", 3, "a question needs three objects"),
        check_loss(learner.loss),
        number(getattr(learner, weight), weight, "0 leaves the size of the kernel free"),
        whole(learner.max_iter, "max_iter", 1, "each iteration lowers the objective"),
        number(learner.tol, "tol", "0 goes on until only rounding is left"),
        callback,
    )


class Progress:
    """The best point so far, and the objective of the best point after every iteration.

    Law: the objective never rises from one entry to the next.
    """

    def __init__(self, start: Floats, objective: float, settings: Settings) -> None:
        if not math.isfinite(objective):
            raise FloatingPointError(
                f"The sum of {type(settings.loss).__name__} is {objective} at the start; start from other values, "
                "or use a loss that is finite."
            )
        self.best = start
        self.objectives = [objective]
        self.converged = False
        self._settings = settings

    @property
    def n_iter(self) -> int:
        """Number of iterations so far."""
        return len(self.objectives) - 1

    def note(self, point: Floats, objective: float) -> None:
        """Record the point and the objective after one more iteration."""
        if objective < self.objectives[-1]:
            self.best = point
        self.objectives.append(min(objective, self.objectives[-1]))
        if self._settings.callback is not None:
            self._settings.callback(self.n_iter, self.objectives[-1])

    def warn_unless_converged(self) -> None:
        """Warn if iterations ran out."""
        if not self.converged:
            warnings.warn(
                f"The objective with {self._settings.loss!r} was still falling after "
                f"max_iter={self._settings.max_iter} iterations; pass a larger max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )


def solve(objective: Objective, start: Floats, minimise: Minimise, settings: Settings) -> Progress:
    """Minimise the objective; return the best point, the objective after each iteration, and whether it converged."""
    progress = Progress(start, objective(start)[0], settings)
    if isinstance(settings.loss, GNMDS):
        progress.converged = _by_multipliers(settings.loss, objective, minimise, settings, progress)
    else:
        _, progress.converged = minimise(objective, start, settings.max_iter, settings.tol, progress.note)
    return progress


def _by_multipliers(
    hinge: GNMDS, objective: Objective, minimise: Minimise, settings: Settings, progress: Progress
) -> bool:
    def note(point: Floats, _: float) -> None:
        progress.note(point, objective(point)[0])

    width, last_gap = _WIDTH * hinge.margin, np.inf
    multipliers, point = np.full(len(objective.terms.T), 0.5), progress.best
    # The number of stages has a limit because a stage may need no iteration if only the multipliers have to change.
    for _ in range(settings.max_iter):
        left = settings.max_iter - progress.n_iter
        if left == 0:
            return False
        offsets = width * multipliers
        rounded = RoundedHinge(hinge.margin, width)
        smooth = replace(objective, terms=objective.terms.with_offsets(rounded, offsets))
        point, _ = minimise(smooth, point, min(_STAGE_ITERATIONS, left), _STAGE_TOL, note)
        lower_bound = smooth(point)[0] - 0.5 * float(offsets @ multipliers)
        gap = objective(point)[0] - lower_bound
        if gap <= _GAP * settings.tol * abs(lower_bound):
            return True
        multipliers = np.clip(multipliers + (hinge.margin + objective.excess(point)) / width, 0.0, 1.0)
        # If the objective is not convex, the multipliers converge only if the hinge is narrow enough.
        if gap > _STALLED * last_gap and not objective.convex:
            width *= 0.5
        last_gap = gap
    return False
