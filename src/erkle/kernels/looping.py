"""How Python calls the compiled loop, and how it reports the loop's errors."""

from typing import NamedTuple

import numba.core.errors
import numpy as np
from numpy.typing import NDArray

from erkle._compiled.dense import DenseState
from erkle._compiled.loop import learn, learn_with_user_parts
from erkle._compiled.low_rank import LowRankState
from erkle._compiled.moves import NOT_FINITE
from erkle._compiled.overloads import cannot_compile, is_built_in
from erkle.losses import Loss
from erkle.steps import Step


class Rule(NamedTuple):
    """How an answer moves a kernel: the loss and the direction decide which way, the step decides how far.

    ``canonical`` chooses the paper's direction G; otherwise moves follow the gradient of the loss.
    """

    loss: Loss
    step: Step
    canonical: bool


class Stretch(NamedTuple):
    """A part of a stream: new answers, and old answers that are replayed between them.

    Attributes
    ----------
    rows : (m, 3) array
        Answers to learn, in order.
    numbers : (m,) array
        The number of each row in the stream, from 1; steps may depend on it.
    new : (k,) array
        Indices of the rows that are new answers.
    distances : (m, 2) array
        d²(a, b) and d²(a, c) of each row just before it was learned.
    excess : (m,) array
        d²(a, b) - d²(a, c) of each row just before it was learned; NaN for rows that were not learned yet.
    likely : (k,) array
        The probability of each new answer without slips, just before it was learned.
    """

    rows: NDArray[np.int64]
    numbers: NDArray[np.int64]
    new: NDArray[np.int64]
    distances: NDArray[np.float64]
    excess: NDArray[np.float64]
    likely: NDArray[np.float64]

    @classmethod
    def of(cls, rows: NDArray[np.int64], numbers: NDArray[np.int64], new: NDArray[np.int64]) -> "Stretch":
        """A stretch of which no row has been learned."""
        return cls(rows, numbers, new, np.zeros((len(rows), 2)), np.full(len(rows), np.nan), np.full(len(new), 0.5))

    @property
    def first(self) -> int:
        """The number of the first row."""
        return int(self.numbers[0]) if len(self.numbers) else 1

    def new_learned(self) -> NDArray[np.int64]:
        """Indices of the rows that are new answers and have been learned."""
        return self.new[~np.isnan(self.excess[self.new])]


def run_loop(state: DenseState | LowRankState, rule: Rule, stretch: Stretch, position: int) -> tuple[int, int]:
    """Learn the rows from ``position``; return the position where the loop stopped, and the status that says why."""
    loss, step, canonical = rule
    loop = learn if is_built_in(loss, step) else learn_with_user_parts
    # Numba would compile again for an array that is read-only or not aligned.
    rows = stretch.rows if stretch.rows.flags.behaved else stretch.rows.copy()
    before = stretch.distances, stretch.excess
    try:
        position, status = loop(state, loss, step, canonical, rows, stretch.numbers, position, *before)
    except numba.core.errors.NumbaError as error:
        methods = f"{type(loss).__name__}.slopes or {type(step).__name__}.magnitude"
        raise cannot_compile(methods, error) from None
    if status == NOT_FINITE:
        raise FloatingPointError(
            f"{type(step).__name__} with {type(loss).__name__} gives a move that is negative, not finite or above "
            f"1e100 at answer {stretch.numbers[position]}; use a smaller rate, or PassiveAggressive()."
        )
    return position, status
