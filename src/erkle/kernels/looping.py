"""The compiled loop as Python calls it: which one, on what arrays, and what its errors mean."""

from typing import NamedTuple

import numba.core.errors
import numpy as np
from numpy.typing import NDArray

from erkle._compiled.dense import DenseState
from erkle._compiled.loop import learn, learn_with_own_parts
from erkle._compiled.low_rank import LowRankState
from erkle._compiled.moves import NOT_FINITE
from erkle._compiled.overloads import cannot_compile, is_stamped
from erkle.losses import Loss
from erkle.steps import Step


class Rule(NamedTuple):
    """How an answer moves a kernel: which way by a loss, how far by a step, along G or along the gradient."""

    loss: Loss
    step: Step
    canonical: bool


class Stretch(NamedTuple):
    """A part of a stream: new answers and the old ones that are replayed between them.

    Attributes
    ----------
    rows : (m, 3) array
        What to learn, in order.
    numbers : (m,) array
        The number in the stream that each row counts as.
    new : (k,) array
        Where in the rows the new answers are.
    excess : (m,) array
        d²(a, b) - d²(a, c) of each row just before it was learned; NaN until then.
    """

    rows: NDArray[np.int64]
    numbers: NDArray[np.int64]
    new: NDArray[np.int64]
    excess: NDArray[np.float64]

    @classmethod
    def of(cls, rows: NDArray[np.int64], numbers: NDArray[np.int64], new: NDArray[np.int64]) -> "Stretch":
        """Rows of which none has been learned."""
        return cls(rows, numbers, new, np.full(len(rows), np.nan))

    @property
    def first(self) -> int:
        """The number of the first row."""
        return int(self.numbers[0]) if len(self.numbers) else 1

    def rest(self) -> "Stretch":
        """The rows that have not been learned; writing their excess writes it here."""
        # Rows are learned in order, and then their excess is a number.
        done = np.count_nonzero(~np.isnan(self.excess))
        new = self.new[self.new >= done] - done
        return Stretch(self.rows[done:], self.numbers[done:], new, self.excess[done:])

    def new_learned(self) -> NDArray[np.int64]:
        """Where in the rows the new answers are that have been learned."""
        return self.new[~np.isnan(self.excess[self.new])]


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
