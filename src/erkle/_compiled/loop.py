"""The learning loop: answers in, kernel moved, no Python in between."""

import math
from typing import Any

from numba.extending import overload

from erkle._compiled import dense, low_rank
from erkle._compiled.compiling import compiled, compiled_in_memory
from erkle._compiled.dense import DenseState
from erkle._compiled.low_rank import LowRankState
from erkle._compiled.moves import DONE, NOT_FINITE, Move
from erkle._compiled.overloads import magnitude, slopes
from erkle.losses import Loss
from erkle.steps import Step

Array = Any

# The canonical direction is G = 3 (w2 w2' - w1 w1') with these two unit eigenvectors.
_FALLING, _RISING = (2 / 3, -2 / 3, 1 / 3), (2 / 3, 1 / 3, -2 / 3)


@compiled
def move_along(gamma: float, near: float, far: float, canonical: bool) -> Move:
    """The move of magnitude gamma; in the gradient's direction the slopes decide, scaled to near - far = 2."""
    mean = 0.5 * (near - far)
    rate = gamma / mean if mean > 1e-300 else gamma
    if canonical:
        return Move(3.0 * gamma, _RISING, 3.0 * gamma, _FALLING, 3.0 * gamma, rate)
    # Below 1e-300 one over the mean may be infinite, and such a move is none.
    near, far = (near / mean, far / mean) if mean > 1e-300 else (1.0, -1.0)
    # The positive eigenvalue of near uu' + far vv' with u'u = v'v = 2 and u'v = 1.
    reach = near + far + math.sqrt((near + far) ** 2 - 3.0 * near * far)
    return Move(-gamma * far, (1.0, 0.0, -1.0), gamma * near, (1.0, -1.0, 0.0), gamma * reach, rate)


def _distances(state: DenseState | LowRankState, a: int, b: int, c: int) -> tuple[float, float, float]:
    """d²(a, b), d²(a, c) and their difference, under whatever kernel it is."""
    raise NotImplementedError


def _move(state: DenseState | LowRankState, triplet: tuple[int, int, int], change: Move) -> int:
    """Move the kernel, whatever it is; returns what is still to be done."""
    raise NotImplementedError


_KINDS = {DenseState: dense, LowRankState: low_rank}


# Numba compares the signatures of the functions below and of what they return, annotations included.
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
    excess: Array,
) -> tuple[int, int]:
    """Learn rows[start:], the j-th answer of the stream where numbers says j; write what each one's excess was before.

    Stops behind the first row after which Python is needed and returns that position and the status;
    with status `NOT_FINITE` the row has not been learned.
    """
    fall = 10.0 if canonical else 6.0
    for i in range(start, rows.shape[0]):
        triplet = (rows[i, 0], rows[i, 1], rows[i, 2])
        d_near, d_far, x = _distances(state, triplet[0], triplet[1], triplet[2])
        # Rounding can leave a squared distance a hair below zero, where some losses are not defined.
        near, far = slopes(loss, max(0.0, d_near), max(0.0, d_far))
        slope = 0.5 * (near - far)
        gamma = magnitude(step, numbers[i], x, slope, fall)
        # The slope by itself too: not every step looks at it, but it decides the gradient's direction. And the
        # excess: under a kernel that is no longer finite it may be NaN where slope and step are not.
        if not (0.0 <= gamma < 1e100 and slope < math.inf and x == x):
            return i, NOT_FINITE
        # From here on the row counts as learned: its excess is no longer NaN.
        excess[i] = x
        if gamma == 0.0:
            continue
        status = _move(state, triplet, move_along(gamma, near, far, canonical))
        if status != DONE:
            return i + 1, status
    return rows.shape[0], DONE


learn = compiled(_learn)
learn_with_own_parts = compiled_in_memory(_learn)
