"""Dense factorisations for the compiled loop; matrices are stored as lower triangles."""

import threading
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any, TypeVar

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.linalg import lapack
from threadpoolctl import OpenBLASController, ThreadpoolController

Matrix = NDArray[np.float64]
AnyMatrix = TypeVar("AnyMatrix", bound=NDArray[np.floating[Any]])


def one_thread(n: int) -> AbstractContextManager[None]:
    """One BLAS thread for small problems: two make the eigensolver ten times slower at n = 1000."""
    return _LIMIT if n < 2000 else nullcontext()


class _Limit:
    """One BLAS limit for the whole process: the first thread that enters sets it, the last one that leaves removes it.

    Separate limits would interfere: a thread that leaves would lift the limit while others still need it, and the last
    thread would restore another thread's limit in place of the original.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_inside = 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if not self._n_inside:
                _free_control()
                self._limit = _controller().limit(limits=1, user_api="blas")
            self._n_inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._n_inside -= 1
            if not self._n_inside:
                _free_control()
                self._limit.restore_original_limits()
                _free_control()


_LIMIT = _Limit()


def _free_control() -> None:
    """Let any thread set a limit; newer versions of threadpoolctl ignore all but the thread that set the first one."""
    if hasattr(OpenBLASController, "clear_controlling_thread"):
        OpenBLASController.clear_controlling_thread(force=True)


@cache
def _controller() -> Any:
    return ThreadpoolController()


def symmetric(lower: AnyMatrix) -> AnyMatrix:
    """The full symmetric matrix with this lower triangle."""
    return mirrored(lower.copy())


def mirrored(A: AnyMatrix, block: int = 512) -> AnyMatrix:
    """A itself, after its lower triangle has been copied to the upper one; needs no memory for another matrix."""
    for start in range(0, len(A), block):
        rows = slice(start, start + block)
        corner = np.tril(A[rows, rows])
        A[rows, rows] = corner + np.tril(corner, -1).T
        A[rows, start + block :] = A[start + block :, rows].T
    return A


def is_diagonal(A: Matrix) -> bool:
    """Whether all entries off the diagonal are 0, including those above it."""
    # Most matrices have entries in their last row, and then need not be read.
    return not A[-1, :-1].any() and bool(np.count_nonzero(A) == np.count_nonzero(np.diag(A)))


def smallest_eigenpair(lower: Matrix) -> tuple[float, NDArray[np.float64]]:
    """Smallest eigenvalue and its eigenvector."""
    values, vectors = scipy.linalg.eigh(lower, lower=True, subset_by_index=[0, 0], check_finite=False)
    return float(values[0]), vectors[:, 0]


def projected(A: Matrix) -> Matrix:
    """The nearest positive semidefinite matrix; A itself if it is positive semidefinite up to rounding."""
    # Cholesky takes a tenth of the time of eigh, and stops early if A is not positive definite.
    if lapack.dpotrf(A, lower=1, clean=0)[1] == 0:
        return A
    # Divide and conquer is LAPACK's fastest solver for all eigenvectors.
    values, vectors = scipy.linalg.eigh(A, check_finite=False, driver="evd")
    if values[0] >= -len(A) * np.finfo(float).eps * max(values[-1], 0.0):
        return A
    kept = values > 0.0
    half = vectors[:, kept] * np.sqrt(values[kept])
    return np.asarray(half @ half.T)
