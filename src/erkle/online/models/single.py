"""One kernel, which is the model: nothing to choose."""

import sys
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from erkle.kernels.dense import DenseKernel
from erkle.kernels.looping import Rule, Stretch
from erkle.kernels.low_rank import LowRankKernel
from erkle.online.packing import Packed, prefixed, under
from erkle.online.selection.evidence import Judge

__all__ = ["Alone"]


class Alone:
    """A kernel, and a judge who listens."""

    next_review = sys.maxsize

    def __init__(self, kernel: DenseKernel | LowRankKernel, judge: Judge | None = None) -> None:
        self.kernel = kernel
        self.judge = judge if judge is not None else Judge()

    @property
    def n_objects(self) -> int:
        """Number of objects."""
        return self.kernel.n_objects

    def count(self, name: str) -> int:
        """A counter of the kernel."""
        return self.kernel.count(name)

    def excess(self, T: NDArray[np.int64]) -> NDArray[np.float64]:
        """d²(a, b) - d²(a, c) of each row."""
        return self.kernel.excess(T)

    def map(self) -> NDArray[np.float64]:
        """Coordinates of a low-rank kernel."""
        return cast(LowRankKernel, self.kernel).map()

    def rows(self, ids: NDArray[Any]) -> NDArray[np.float64]:
        """Coordinates of some objects of a low-rank kernel."""
        return cast(LowRankKernel, self.kernel).rows(ids)

    def matrix(self) -> NDArray[np.float64]:
        """The kernel, (n, n), positive semidefinite up to the tolerance of its eigenpairs."""
        return self.kernel.matrix()

    def learn(self, rule: Rule, stretch: Stretch, new: NDArray[np.int64]) -> None:
        """Learn the rows in order."""
        try:
            self.kernel.learn(rule, stretch)
        finally:
            heard = stretch.excess[new]
            self.judge.hear(heard[~np.isnan(heard)], int(stretch.numbers[0]) if len(stretch.numbers) else 1)

    def review(self, seen: int, history: NDArray[np.int32]) -> None:
        """There is nothing to choose."""

    def grow(self, n_new: int) -> None:
        """Make room for new objects."""
        self.kernel.grow(n_new)

    def pack(self) -> Packed:
        """All of the state, as arrays and as what JSON can hold."""
        kind = "dense" if isinstance(self.kernel, DenseKernel) else "low rank"
        return {**self.kernel.arrays(), **prefixed("judge", self.judge.arrays())}, {"model": kind}

    @classmethod
    def unpack(cls, arrays: dict[str, NDArray[Any]], meta: dict[str, Any]) -> Self:
        """The model that was packed."""
        kind = DenseKernel if meta["model"] == "dense" else LowRankKernel
        return cls(kind.from_arrays(arrays), Judge.from_arrays(under("judge", arrays)))
