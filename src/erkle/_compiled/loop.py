"""The learning loop: it moves a kernel by many answers without returning to Python in between."""

import math
from typing import Any

from numba.extending import overload

from erkle._compiled import dense, low_rank
from erkle._compiled.compiling import compiled, compiled_in_memory
from erkle._compiled.dense import DenseState
from erkle._compiled.low_rank import LowRankState
from erkle._compiled.moves import DONE, NOT_CERTIFIED, NOT_FINITE, Move
from erkle._compiled.overloads import magnitude, slopes
from erkle.losses import Loss
from erkle.steps import Step

Array = Any

# The canonical direction is G = 3 (w2 w2' - w1 w1'); these are the unit eigenvectors w2 and w1.
_FALLING, _RISING = (2 / 3, -2 / 3, 1 / 3), (2 / 3, 1 / 3, -2 / 3)


@compiled
def move_along(gamma: float, near: float, far: float, canonical: bool) -> Move:
    """The move of magnitude gamma; the direction of the gradient uses the slopes, scaled to near - far = 2."""
    mean = 0.5 * (near - far)
    rate = gamma / mean if mean > 1e-300 else gamma
    if canonical:
        return Move(3.0 * gamma, _RISING, 3.0 * gamma, _FALLING, 3.0 * gamma, rate)
    # Below 1e-300 the inverse of the mean may be infinite, and the move is negligible.
    near, far = (near / mean, far / mean) if mean > 1e-300 else (1.0, -1.0)
    # The positive eigenvalue of near uu' + far vv', where u'u = v'v = 2 and u'v = 1.
    reach = near + far + math.sqrt((near + far) ** 2 - 3.0 * near * far)
    return Move(-gamma * far, (1.0, 0.0, -1.0), gamma * near, (1.0, -1.0, 0.0), gamma * reach, rate)


def _distances(state: DenseState | LowRankState, a: int, b: int, c: int) -> tuple[float, float, float]:
    """d²(a, b), d²(a, c) and their difference, for either kind of kernel."""
    raise NotImplementedError


def _move(state: DenseState | LowRankState, triplet: tuple[int, int, int], change: Move) -> int:
    """Move either kind of kernel; return a status."""
    raise NotImplementedError


_KINDS = {DenseState: dense, LowRankState: low_rank}


# Numba requires these functions and the lambdas they return to have equal signatures, so they are not annotated.
@overload(_distances)
def _compiled_distances(state, a, b, c):  # type: ignore[no-untyped-def]
    function = _KINDS[state.instance_class].distances
    return lambda state, a, b, c: function(state, a, b, c)


@overload(_move)
def _compiled_move(state, triplet, change):  # type: ignore[no-untyped-def]
    function = _KINDS[state.instance_class].move
    return lambda state, triplet, change: function(state, triplet, change)


def _learn(
    state: DenseState | LowRankState,
    loss: Loss,
    step: Step,
    canonical: bool,
    rows: Array,
    numbers: Array,
    start: int,
    distances: Array,
    excess: Array,
) -> tuple[int, int]:
    """Learn rows[start:]; write the squared distances and the excess of each row just before it is learned.

    ``numbers`` are the numbers of the rows in the stream. The loop stops after the first row that needs the Python
    side, and returns the next position and the status. With status `NOT_FINITE` or `NOT_CERTIFIED`, the row at the
    position returned has not been learned.
    """
    fall = 10.0 if canonical else 6.0
    for i in range(start, rows.shape[0]):
        triplet = (rows[i, 0], rows[i, 1], rows[i, 2])
        d_near, d_far, x = _distances(state, triplet[0], triplet[1], triplet[2])
        # Rounding can make a squared distance negative, where some losses are not defined.
        distances[i, 0], distances[i, 1] = max(0.0, d_near), max(0.0, d_far)
        near, far = slopes(loss, distances[i, 0], distances[i, 1])
        slope = 0.5 * (near - far)
        gamma = magnitude(step, numbers[i], x, slope, fall)
        # The slope is checked because some steps ignore it, but the direction of the gradient needs it. The excess is
        # checked because it may be NaN under a kernel that is not finite, even if the slope and the step are finite.
        if not (0.0 <= gamma < 1e100 and slope < math.inf and x == x):
            return i, NOT_FINITE
        status = DONE if gamma == 0.0 else _move(state, triplet, move_along(gamma, near, far, canonical))
        if status == NOT_CERTIFIED:
            return i, status
        # An excess that is not NaN marks the row as learned.
        excess[i] = x
        if status != DONE:
            return i + 1, status
    return rows.shape[0], DONE


learn = compiled(_learn)
learn_with_user_parts = compiled_in_memory(_learn)
