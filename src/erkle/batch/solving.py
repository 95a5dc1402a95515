"""From an objective and a start to the optimum: at once for a smooth loss, by the method of multipliers for the hinge.

The hinge has no gradient at its kink. But max(0, x) is the largest s x over slopes s from 0 to 1, and less a penalty
(s - m)² width / 2 for leaving a multiplier m it is smooth: the rounded hinge at x + width m, less width m² / 2.
Minimise that, take the slopes found for the new multipliers, and repeat (Rockafellar 1976). The kink is met exactly,
at a width at which each stage is easy; every point is judged by the hinge itself; and since the smooth sum is never
above the true one, the two enclose the optimum of a convex problem.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from erkle.batch.objective import Objective
from erkle.batch.progress import Callback, Progress
from erkle.losses import GNMDS, RoundedHinge

__all__ = ["solve"]

Floats = NDArray[np.float64]
Note = Callable[[Floats, float], None]
Minimise = Callable[[Callable[[Floats], tuple[float, Floats]], Floats, int, float, Note], tuple[Floats, bool]]

# As a share of the margin: narrower makes each stage harder, wider asks for more of them.
_WIDTH = 0.5
# Iterations of a stage at most, and the tolerance at which it may end before.
_STAGE, _STAGE_TOL = 50, 1e-4
# A gap that has not fallen to so much of the last one has not fallen.
_ENOUGH = 0.95
# The gap that is asked for, in units of tol: tol speaks of ten iterations, the gap of all that is left.
_GAP = 1000.0


def solve(
    objective: Objective, start: Floats, minimise: Minimise, max_iter: int, tol: float, callback: Callback | None
) -> Progress:
    """The best point found, with the objective after each iteration and whether it converged."""
    loss = objective.terms.loss
    progress = Progress(start, objective(start)[0], type(loss).__name__, callback)
    if isinstance(loss, GNMDS):
        progress.converged = _by_multipliers(loss, objective, minimise, max_iter, tol, progress)
    else:
        _, progress.converged = minimise(objective, start, max_iter, tol, progress.note)
    return progress


def _by_multipliers(
    hinge: GNMDS, objective: Objective, minimise: Minimise, max_iter: int, tol: float, progress: Progress
) -> bool:
    def note(point: Floats, _: float) -> None:
        progress.note(point, objective(point)[0])

    width, last_gap = _WIDTH * hinge.margin, np.inf
    multipliers, point = np.full(len(objective.terms.T), 0.5), progress.best
    # A stage may need no iteration, where only multipliers have to move; so stages are limited, too.
    for _ in range(max_iter):
        left = max_iter - progress.n_iter
        if left == 0:
            return False
        offsets = width * multipliers
        rounded = RoundedHinge(hinge.margin, width)
        smooth = objective.of(objective.terms._replace(loss=rounded, offsets=offsets))
        point, _ = minimise(smooth, point, min(_STAGE, left), _STAGE_TOL, note)
        below = smooth(point)[0] - 0.5 * float(offsets @ multipliers)
        gap = objective(point)[0] - below
        if gap <= _GAP * tol * abs(below):
            return True
        multipliers = np.clip(multipliers + (hinge.margin + objective.excess(point)) / width, 0.0, 1.0)
        # Over maps, which are not convex, only a narrow enough hinge pins its multipliers down.
        if gap > _ENOUGH * last_gap and not objective.convex:
            width *= 0.5
        last_gap = gap
    return False
