"""What can be asked of a kernel, whether it is exact or of low rank, one kernel or a mixture of several."""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from erkle import embedding
from erkle.kernels import lapack

Floats = NDArray[np.float64]

# Objects up to which the matrix of all pairs is given: that of 20,000 takes 3 GB.
_LARGEST_MATRIX = 20_000
# Objects up to which a file holds the matrix of all pairs, beside the coordinates: that of 5,000 takes 200 MB.
_LARGEST_MATRIX_SAVED = 5_000


class Counters(NamedTuple):
    """How often answers moved a kernel, and what the moves cost; replayed answers count again.

    Attributes
    ----------
    n_active : int
        Answers that moved the kernel.
    n_eigenpairs : int
        Eigenpairs that were computed, because the skip rule could not show that a move was harmless.
    n_projections : int
        Moves that made an eigenvalue negative and were projected.
    """

    n_active: int
    n_eigenpairs: int
    n_projections: int


class Kernel(Protocol):
    """A kernel to read from."""

    @property
    def n_objects(self) -> int:
        """Number of objects."""

    @property
    def shifts(self) -> Floats:
        """How much farther each object is from all others alike than its coordinates say, (n,)."""

    @property
    def counters(self) -> Counters:
        """How often answers moved the kernel, and what the moves cost."""

    def excess(self, T: NDArray[np.int64]) -> Floats:
        """d²(a, b) - d²(a, c) of each row."""

    def coordinates(self, ids: ArrayLike | slice) -> Floats:
        """Coordinates of some objects, one row for each id, turned and moved in some way."""

    def embedding(self, n_components: int | None = None) -> Floats:
        """Coordinates of all objects by falling variance: all of them, or so many."""

    def matrix(self) -> Floats:
        """The kernel, (n, n), positive semidefinite to rounding."""

    def readable(self) -> dict[str, Floats]:
        """What a file holds for those who read it without this library: the kernel, coordinates, or both."""


class ByCoordinates(Kernel):
    """What follows from the coordinates of a kernel of low rank, K = XX' plus a diagonal of shifts."""

    def map(self) -> Floats:
        """Coordinates X of all objects, (n, r)."""
        return self.coordinates(slice(None))

    def embedding(self, n_components: int | None = None) -> Floats:
        """Coordinates by falling variance; columns beyond the rank are zeros."""
        X = embedding.principal(self.map())
        if n_components is None:
            return X
        return np.pad(X[:, :n_components], ((0, 0), (0, max(0, n_components - X.shape[1]))))

    def matrix(self) -> Floats:
        """K, (n, n); an error where it would not fit into most memories."""
        X = self.map()
        n = len(X)
        if n > _LARGEST_MATRIX:
            raise ValueError(
                f"The kernel of {n} objects would take {8e-9 * n * n:.0f} GB; use embedding() for coordinates and "
                "decision_function() for predictions."
            )
        # One thread wherever it is asked for: the number of threads changes the last bits.
        with lapack.one_thread(n):
            return np.asarray(X @ X.T + np.diag(self.shifts))

    def readable(self) -> dict[str, Floats]:
        """The coordinates, and of few objects the kernel."""
        X = self.embedding()
        return {"map": X, "kernel": self.matrix()} if len(X) <= _LARGEST_MATRIX_SAVED else {"map": X}
