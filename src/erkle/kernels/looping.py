"""The compiled loop as Python calls it: which one, on what arrays, and what its errors mean."""

from typing import NamedTuple

import numba.core.errors
import numpy as np
from numpy.typing import NDArray

from erkle._compiled.dense import DenseState
from erkle._compiled.loop import NOT_FINITE, learn, learn_with_own_parts
from erkle._compiled.low_rank import LowRankState
from erkle._compiled.overloads import cannot_compile, is_stamped
from erkle.losses import Loss
from erkle.steps import Step

__all__ = ["Rule", "Stretch", "go_on"]


class Rule(NamedTuple):
    """How an answer moves a kernel: which way by a loss, how far by a step, along G or along the gradient."""

    loss: Loss
    step: Step
    canonical: bool


class Stretch(NamedTuple):
    """Rows to learn in order, the number each counts as, and room for the excess each had before it was learned."""

    rows: NDArray[np.int64]
    numbers: NDArray[np.int64]
    excess: NDArray[np.float64]

    def after(self, done: int) -> "Stretch":
        """The rest, when so many are done."""
        return Stretch(self.rows[done:], self.numbers[done:], self.excess[done:])


def go_on(state: DenseState | LowRankState, rule: Rule, stretch: Stretch, position: int) -> tuple[int, int]:
    """Learn from a position on; where the loop stopped, and why."""
    loss, step, canonical = rule
    loop = learn if is_stamped(loss, step) else learn_with_own_parts
    # An array that is read-only or not aligned would be compiled for anew.
    rows = stretch.rows if stretch.rows.flags.behaved else stretch.rows.copy()
    try:
        position, status = loop(state, loss, step, canonical, rows, stretch.numbers, position, stretch.excess)
    except numba.core.errors.NumbaError as error:
        methods = f"{type(loss).__name__}.slopes or {type(step).__name__}.magnitude"
        raise cannot_compile(methods, error) from None
    if status == NOT_FINITE:
        raise FloatingPointError(
            f"{type(step).__name__} of {type(loss).__name__} asks for a move that is negative, not finite or "
            f"beyond 1e100 at answer {stretch.numbers[position]}; use a smaller rate, or PassiveAggressive()."
        )
    return position, status
