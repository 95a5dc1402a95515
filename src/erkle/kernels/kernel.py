"""What every kernel offers, whether it is dense, low-rank or a mixture of several kernels."""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from erkle import embedding
from erkle.kernels import lapack

Floats = NDArray[np.float64]

# Rows that a low-rank kernel learns at once. This also limits the memory of replayed answers.
_BLOCK = 8192
# Most objects for which a kernel matrix is computed; at 20,000 objects it takes 3 GB.
_LARGEST_MATRIX = 20_000
# Most objects for which a file holds the kernel matrix beside the coordinates; at 5,000 objects it takes 200 MB.
LARGEST_MATRIX_SAVED = 5_000


class Counters(NamedTuple):
    """How often answers moved a kernel, and what the moves cost; replayed answers count again.

    Attributes
    ----------
    n_active : int
        Answers that moved the kernel.
    n_certified : int
        Moves that were known to make no eigenvalue negative without an eigenpair.
    n_eigenpairs : int
        Eigenpairs that were computed because a move might have made an eigenvalue negative.
    n_projections : int
        Moves that made an eigenvalue negative and were projected.
    """

    n_active: int
    n_certified: int
    n_eigenpairs: int
    n_projections: int


class Kernel(Protocol):
    """A kernel that can be read."""

    @property
    def n_objects(self) -> int:
        """Number of objects."""

    @property
    def shifts(self) -> Floats:
        """What is added to the squared distance between each object and every other object, (n,)."""

    @property
    def block(self) -> int:
        """How many answers to learn at once: they should take less than a second, so that Ctrl-C takes effect."""

    @property
    def counters(self) -> Counters:
        """How often answers moved the kernel, and what the moves cost."""

    def excess(self, T: NDArray[np.int64]) -> Floats:
        """d²(a, b) - d²(a, c) of each row."""

    def distances(self, T: NDArray[np.int64]) -> Floats:
        """d²(a, b) and d²(a, c) of each row, (m, 2)."""

    def coordinates(self, ids: ArrayLike | slice) -> Floats:
        """Coordinates of some objects, one row for each id, up to a rotation and a translation."""

    def embedding(self, n_components: int | None = None) -> Floats:
        """Coordinates of all objects, ordered by decreasing variance: all columns, or the first ``n_components``."""

    def matrix(self) -> Floats:
        """The kernel, (n, n), positive semidefinite to rounding."""

    def readable(self) -> dict[str, Floats]:
        """Arrays that a file holds for readers without this library: the kernel, coordinates, or both."""


class ByCoordinates(Kernel):
    """Methods that follow from the coordinates X of a low-rank kernel, K = XX' plus a diagonal of shifts."""

    @property
    def block(self) -> int:
        """How many answers to learn at once."""
        return _BLOCK

    def map(self) -> Floats:
        """Coordinates X of all objects, (n, r)."""
        return self.coordinates(slice(None))

    def embedding(self, n_components: int | None = None) -> Floats:
        """Coordinates, ordered by decreasing variance; columns beyond the rank are zeros."""
        X = embedding.principal(self.map())
        if n_components is None:
            return X
        return np.pad(X[:, :n_components], ((0, 0), (0, max(0, n_components - X.shape[1]))))

    def matrix(self) -> Floats:
        """K, (n, n); a `ValueError` if it would not fit into the memory of most machines."""
        X = self.map()
        n = len(X)
        if n > _LARGEST_MATRIX:
            raise ValueError(
                f"The kernel of {n} objects would take {8e-9 * n * n:.0f} GB; use embedding() for coordinates and "
                "decision_function() for predictions."
            )
        # Always one thread, because the number of threads changes the last bits.
        with lapack.one_thread(n):
            return np.asarray(X @ X.T + np.diag(self.shifts))

    def readable(self) -> dict[str, Floats]:
        """The coordinates, and the kernel if there are not too many objects."""
        X = self.embedding()
        return {"map": X, "kernel": self.matrix()} if len(X) <= LARGEST_MATRIX_SAVED else {"map": X}
