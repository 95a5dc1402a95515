"""The learning loop: answers in, kernel moved, no Python in between."""

import math
from typing import Any

from erkle._kernels.compiling import compiled, compiled_in_memory
from erkle._kernels.dense import DONE, DenseState, Move, distances, move
from erkle._kernels.parts import magnitude, slopes
from erkle.losses import Loss
from erkle.steps import Step

__all__ = ["NOT_FINITE", "learn", "learn_with_own_parts", "move_along"]

Array = Any

NOT_FINITE = 4

# The canonical direction is G = 3 (w2 w2' - w1 w1') with these two unit eigenvectors.
_FALLING, _RISING = (2 / 3, -2 / 3, 1 / 3), (2 / 3, 1 / 3, -2 / 3)


@compiled
def move_along(gamma: float, near: float, far: float, canonical: bool) -> Move:
    """The move of magnitude gamma; in the gradient's direction the slopes decide, scaled to near - far = 2."""
    if canonical:
        return Move(3.0 * gamma, _RISING, 3.0 * gamma, _FALLING, 3.0 * gamma)
    mean = 0.5 * (near - far)
    # Below 1e-300 one over the mean may be infinite, and such a move is none.
    near, far = (near / mean, far / mean) if mean > 1e-300 else (1.0, -1.0)
    # The positive eigenvalue of near uu' + far vv' with u'u = v'v = 2 and u'v = 1.
    reach = near + far + math.sqrt((near + far) ** 2 - 3.0 * near * far)
    return Move(-gamma * far, (1.0, 0.0, -1.0), gamma * near, (1.0, -1.0, 0.0), gamma * reach)


def _learn(
    state: DenseState,
    loss: Loss,
    step: Step,
    canonical: bool,
    rows: Array,
    numbers: Array,
    start: int,
    excess: Array,
) -> tuple[int, int]:
    """Learn rows[start:], the j-th answer of the stream where numbers says j; write what each one's excess was before.

    Stops behind the first row after which Python is needed and returns that position and the status;
    with status `NOT_FINITE` the row has not been learned.
    """
    fall = 10.0 if canonical else 6.0
    for i in range(start, rows.shape[0]):
        triplet = (rows[i, 0], rows[i, 1], rows[i, 2])
        d_near, d_far, x = distances(state, triplet[0], triplet[1], triplet[2])
        # Rounding can leave a squared distance a hair below zero, where some losses are not defined.
        near, far = slopes(loss, max(0.0, d_near), max(0.0, d_far))
        slope = 0.5 * (near - far)
        gamma = magnitude(step, numbers[i], x, slope, fall)
        # The slope by itself too: not every step looks at it, but it decides the gradient's direction.
        if not (0.0 <= gamma < 1e100 and slope < math.inf):
            return i, NOT_FINITE
        # From here on the row counts as learned: its excess is no longer NaN.
        excess[i] = x
        if gamma == 0.0:
            continue
        status = move(state, triplet, move_along(gamma, near, far, canonical))
        if status != DONE:
            return i + 1, status
    return rows.shape[0], DONE


learn = compiled(_learn)
learn_with_own_parts = compiled_in_memory(_learn)
