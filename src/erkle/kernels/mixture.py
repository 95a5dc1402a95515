"""A mixture of low-rank kernels: K = the sum of share · K_i, which is a kernel of low rank again."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from erkle.kernels.kernel import ByCoordinates
from erkle.kernels.low_rank import LowRankKernel

__all__ = ["Mixture", "Part"]

Floats = NDArray[np.float64]


class Part(NamedTuple):
    """A kernel, and what it is multiplied by."""

    kernel: LowRankKernel
    share: float


class Mixture(ByCoordinates):
    """The kernels whose shares are above zero, as they are now: they may go on learning.

    Parameters
    ----------
    parts : list of Part
    leader : LowRankKernel
        The kernel whose counters are those of the mixture.
    """

    def __init__(self, parts: list[Part], leader: LowRankKernel) -> None:
        self.parts, self._leader = [part for part in parts if part.share > 0.0], leader

    @property
    def n_objects(self) -> int:
        """Number of objects."""
        return self._leader.n_objects

    @property
    def shifts(self) -> Floats:
        """The shifts of all kernels by their shares, (n,)."""
        return np.asarray(sum(share * kernel.shifts for kernel, share in self.parts))

    def count(self, name: str) -> int:
        """A counter of the leader."""
        return self._leader.count(name)

    def excess(self, T: NDArray[np.int64]) -> Floats:
        """d²(a, b) - d²(a, c) of each row."""
        return np.asarray(sum(share * kernel.excess(T) for kernel, share in self.parts))

    def coordinates(self, ids: ArrayLike | slice) -> Floats:
        """Coordinates of some objects: those under each kernel, side by side."""
        return np.concatenate([np.sqrt(share) * kernel.coordinates(ids) for kernel, share in self.parts], axis=1)
