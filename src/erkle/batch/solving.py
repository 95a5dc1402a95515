"""From an objective and a start to the optimum: at once for a smooth loss, by the method of multipliers for the hinge.

The hinge has no gradient at its kink. But max(0, x) is the largest s x over slopes s from 0 to 1, and less a penalty
(s - m)² width / 2 for leaving a multiplier m it is smooth: the rounded hinge at x + width m, less width m² / 2.
Minimise that, take the slopes found for the new multipliers, and repeat (Rockafellar 1976). The kink is met exactly,
at a width at which each stage is easy; every point is judged by the hinge itself; and since the smooth sum is never
above the true one, the two enclose the optimum of a convex problem.
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

# As a share of the margin: narrower makes each stage harder, wider asks for more of them.
_WIDTH = 0.5
# Iterations of a stage at most, and the tolerance at which it may end before.
_STAGE, _STAGE_TOL = 50, 1e-4
# A gap that has not fallen to so much of the last one has not fallen.
_ENOUGH = 0.95
# The gap that is asked for, in units of tol: tol speaks of ten iterations, the gap of all that is left.
_GAP = 1000.0


class Settings(NamedTuple):
    """Parameters that the batch learners share, in the form they work with."""

    n_objects: int
    loss: Loss
    weight: float
    max_iter: int
    tol: float
    callback: Callback | None


def check_settings(learner: "RCKL | TripletEmbedding", weight: str) -> Settings:
    """The learner's parameters, the weight of the trace under its own name, or an error that says which is wrong."""
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
    """The best point so far, and the objective after every iteration; a point that is no better is not taken.

    Law: the objective never rises from one entry to the next.
    """

    def __init__(self, start: Floats, objective: float, settings: Settings) -> None:
        if not math.isfinite(objective):
            raise FloatingPointError(
                f"The sum of {type(settings.loss).__name__} is {objective} at the start; use another initial kernel, "
                "or a loss that is finite."
            )
        self.best = start
        self.objectives = [objective]
        self.converged = False
        self._settings = settings

    @property
    def n_iter(self) -> int:
        """Number of iterations made."""
        return len(self.objectives) - 1

    def note(self, point: Floats, objective: float) -> None:
        """One more iteration has led to this point."""
        if objective < self.objectives[-1]:
            self.best = point
        self.objectives.append(min(objective, self.objectives[-1]))
        if self._settings.callback is not None:
            self._settings.callback(self.n_iter, self.objectives[-1])

    def warn_unless_converged(self) -> None:
        """Warn where iterations ran out."""
        if not self.converged:
            warnings.warn(
                f"The objective was still falling after max_iter={self._settings.max_iter} iterations; "
                "pass a larger max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )


def solve(objective: Objective, start: Floats, minimise: Minimise, settings: Settings) -> Progress:
    """The best point found, with the objective after each iteration and whether it converged."""
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
    # A stage may need no iteration, where only multipliers have to move; so stages are limited, too.
    for _ in range(settings.max_iter):
        left = settings.max_iter - progress.n_iter
        if left == 0:
            return False
        offsets = width * multipliers
        rounded = RoundedHinge(hinge.margin, width)
        smooth = replace(objective, terms=objective.terms._replace(loss=rounded, offsets=offsets))
        point, _ = minimise(smooth, point, min(_STAGE, left), _STAGE_TOL, note)
        below = smooth(point)[0] - 0.5 * float(offsets @ multipliers)
        gap = objective(point)[0] - below
        if gap <= _GAP * settings.tol * abs(below):
            return True
        multipliers = np.clip(multipliers + (hinge.margin + objective.excess(point)) / width, 0.0, 1.0)
        # Over maps, which are not convex, only a narrow enough hinge pins its multipliers down.
        if gap > _ENOUGH * last_gap and not objective.convex:
            width *= 0.5
        last_gap = gap
    return False
