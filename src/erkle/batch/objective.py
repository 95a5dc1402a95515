"""What batch learners minimise: the sum of a loss over all answers plus a multiple of the trace.

By a kernel K or by coordinates X it is the same function where K = XX', for the trace of XX' is the sum of all
squared coordinates. The answers are sorted first: their order does not matter, to the last bit.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numba.core.errors
import numpy as np
from numpy.typing import NDArray

from erkle._compiled import sums
from erkle._compiled.overloads import cannot_compile, is_stamped
from erkle.losses import Loss

Floats = NDArray[np.float64]


class Terms(NamedTuple):
    """What is summed: sorted answers, their loss, and what is added to each ``d_near``."""

    T: NDArray[np.int64]
    loss: Loss
    offsets: Floats

    def sum(self, ours: Callable[..., float], own: Callable[..., float], at: Floats) -> tuple[float, Floats]:
        """The sum of the losses and its gradient. Our losses are compiled once per machine, others' per process."""
        G = np.empty(at.shape)
        function = ours if is_stamped(self.loss) else own
        try:
            return function(self.loss, self.T, self.offsets, at, G), G
        except numba.core.errors.NumbaError as error:
            name = type(self.loss).__name__
            raise cannot_compile(f"{name}.value or {name}.slopes", error) from None


def terms_of(T: NDArray[np.int64], loss: Loss) -> Terms:
    """The answers T under a loss, nothing added."""
    return Terms(np.ascontiguousarray(T[np.lexsort(T.T[::-1])]), loss, np.zeros(len(T)))


@dataclass(frozen=True)
class Objective(ABC):
    """What minimisers ask of an objective: a sum of losses plus a weight times the trace.

    Attributes
    ----------
    terms : Terms
        What is summed.
    weight : float
        Weight of the trace.
    convex : bool
        Whether it is convex for a loss that is a convex function of d_near - d_far.
    """

    terms: Terms
    weight: float
    convex: ClassVar[bool]

    @abstractmethod
    def __call__(self, at: Floats) -> tuple[float, Floats]:
        """Value and gradient."""

    @abstractmethod
    def excess(self, at: Floats) -> Floats:
        """d_near - d_far of each answer."""


class ByKernel(Objective):
    """sum of losses + weight * trace(K)."""

    # Distances are linear in a kernel.
    convex = True

    def __call__(self, at: Floats) -> tuple[float, Floats]:
        """Value and gradient at a kernel."""
        total, G = self.terms.sum(sums.sum_by_kernel, sums.sum_by_kernel_with_own_loss, at)
        G.flat[:: len(at) + 1] += self.weight
        return total + self.weight * float(np.trace(at)), G

    def excess(self, at: Floats) -> Floats:
        """d_near - d_far of each answer."""
        a, b, c = self.terms.T.T
        return np.asarray((at[b, b] - 2.0 * at[a, b]) - (at[c, c] - 2.0 * at[a, c]))


class ByMap(Objective):
    """sum of losses + weight * sum of all squared coordinates."""

    # Distances are quadratic in coordinates.
    convex = False

    def __call__(self, at: Floats) -> tuple[float, Floats]:
        """Value and gradient at coordinates."""
        total, G = self.terms.sum(sums.sum_by_map, sums.sum_by_map_with_own_loss, at)
        G += 2.0 * self.weight * at
        return total + self.weight * float(np.vdot(at, at)), G

    def excess(self, at: Floats) -> Floats:
        """d_near - d_far of each answer."""
        a, b, c = self.terms.T.T
        return np.asarray(((at[a] - at[b]) ** 2).sum(axis=1) - ((at[a] - at[c]) ** 2).sum(axis=1))


class ByShiftedMap(NamedTuple):
    """sum of losses + weight * sum of all squared coordinates + shift_weight * sum of squared shifts.

    The shifts are the last column: what is added to the squared distance of each object from all others. Without a
    weight they stay as they are.
    """

    terms: Terms
    weight: float
    shift_weight: float | None

    def __call__(self, at: Floats) -> tuple[float, Floats]:
        """Value and gradient at coordinates and shifts."""
        G = np.empty(at.shape)
        total = sums.sum_by_shifted_map(self.terms.loss, self.terms.T, at, G)
        X, shifts = at[:, :-1], at[:, -1]
        G[:, :-1] += 2.0 * self.weight * X
        total += self.weight * float(np.vdot(X, X))
        if self.shift_weight is None:
            G[:, -1] = 0.0
            return total, G
        G[:, -1] += 2.0 * self.shift_weight * shifts
        return total + self.shift_weight * float(shifts @ shifts), G
