"""What batch learners minimise: the sum of a loss over all answers, plus a multiple of the trace.

The trace of XX' is the sum of all squared coordinates, so for K = XX' the objective of a kernel K equals that of the
coordinates X. The answers are sorted first, so their order does not change the result, not even the last bit.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numba.core.errors
import numpy as np
from numpy.typing import NDArray

from erkle._compiled import sums
from erkle._compiled.fitting import Prior, pull_back, to_coordinates
from erkle._compiled.overloads import cannot_compile, is_built_in
from erkle.losses import Loss
from erkle.summing import Floats, Held, Summand, Sums, held


class Terms(NamedTuple):
    """The terms of the sum: sorted answers, their loss, and sums over them with an offset for each ``d_near``."""

    T: NDArray[np.int64]
    loss: Loss
    held: Held
    sums: Sums

    def sum(self, summand: Summand, at: Floats) -> tuple[float, Floats]:
        """The sum of the losses and its gradient."""
        return self.sums.sum(summand, at.shape, self.loss, at)

    def with_offsets(self, loss: Loss, offsets: Floats) -> Self:
        """The same answers, with a loss of ``d_near`` plus an offset."""
        return self._replace(loss=loss, sums=self.held.given(offsets))


def terms_of(T: NDArray[np.int64], loss: Loss) -> Terms:
    """The terms of the answers T under a loss, without offsets."""
    T = np.ascontiguousarray(T[np.lexsort(T.T[::-1])])
    answers = held(T)
    return Terms(T, loss, answers, answers.given(0.0))


@dataclass(frozen=True)
class Objective(ABC):
    """A sum of losses plus a weight times the trace, as a function for minimisers.

    Attributes
    ----------
    terms : Terms
        The terms of the sum.
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
        total, G = self.terms.sum(_add_by_kernel, at)
        sums.make_laplacian(G)
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
        total, G = self.terms.sum(_add_by_map, at)
        G += 2.0 * self.weight * at
        return total + self.weight * float(np.vdot(at, at)), G

    def excess(self, at: Floats) -> Floats:
        """d_near - d_far of each answer."""
        a, b, c = self.terms.T.T
        return np.asarray(((at[a] - at[b]) ** 2).sum(axis=1) - ((at[a] - at[c]) ** 2).sum(axis=1))


@dataclass(frozen=True)
class ByFeatures(Objective):
    """sum of losses + ridge of the standardised coordinates under a prior; the point is these coordinates.

    The prior contains the weight.
    """

    prior: Prior
    convex = False

    def __call__(self, at: Floats) -> tuple[float, Floats]:
        """Value and gradient at standardised coordinates."""
        total, G = self.terms.sum(_add_by_map, self.coordinates(at))
        gradient = _with_column(G)
        ridge = pull_back(self.prior, 1.0, _with_column(at), gradient)
        return total + ridge, np.ascontiguousarray(gradient[:, :-1])

    def coordinates(self, at: Floats) -> Floats:
        """The coordinates themselves."""
        return np.ascontiguousarray(to_coordinates(self.prior, _with_column(at))[:, :-1])

    def excess(self, at: Floats) -> Floats:
        """d_near - d_far of each answer."""
        return ByMap(self.terms, self.weight).excess(self.coordinates(at))


def _with_column(A: Floats) -> Floats:
    """A with a last column of zeros, where fits of the online learner have shifts."""
    return np.ascontiguousarray(np.pad(A, ((0, 0), (0, 1))))


def _add_by_kernel(
    T: NDArray[np.integer[Any]], offsets: Floats, total: float, G: Floats, loss: Loss, at: Floats
) -> float:
    add = sums.add_by_kernel if is_built_in(loss) else sums.add_by_kernel_with_user_loss
    with _named(loss):
        return float(add(T, offsets, total, G, loss, at))


def _add_by_map(T: NDArray[np.integer[Any]], offsets: Floats, total: float, G: Floats, loss: Loss, at: Floats) -> float:
    add = sums.add_by_map if is_built_in(loss) else sums.add_by_map_with_user_loss
    with _named(loss):
        return float(add(T, offsets, total, G, loss, at))


@contextmanager
def _named(loss: Loss) -> Iterator[None]:
    """Name the loss if it cannot be compiled."""
    try:
        yield
    except numba.core.errors.NumbaError as error:
        name = type(loss).__name__
        raise cannot_compile(f"{name}.value or {name}.slopes", error) from None
