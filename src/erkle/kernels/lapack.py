"""The few dense factorisations Python does for the compiled loop, on matrices kept as lower triangles."""

import threading
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.linalg import lapack
from threadpoolctl import OpenBLASController, ThreadpoolController

Matrix = NDArray[np.float64]


def one_thread(n: int) -> AbstractContextManager[None]:
    """One BLAS thread for small problems: two make the eigensolver ten times slower at n = 1000."""
    return _LIMIT if n < 2000 else nullcontext()


class _Limit:
    """One limit for the whole process: whoever needs it first sets it, and the last one takes it away.

    A limit for each thread would end that of another one in between, and in the end bring back the other's.
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
    """Newer versions of threadpoolctl let only the thread that has set a limit set another, and ignore the rest."""
    if hasattr(OpenBLASController, "clear_controlling_thread"):
        OpenBLASController.clear_controlling_thread(force=True)


@cache
def _controller() -> Any:
    return ThreadpoolController()


def symmetric(lower: Matrix) -> Matrix:
    """The whole matrix of which the lower triangle is given."""
    return np.asarray(np.tril(lower) + np.tril(lower, -1).T)


def inverse(lower: Matrix, shift: float) -> Matrix | None:
    """(A + shift I)^-1 as a lower triangle, by Cholesky; None if A + shift I is not positive definite."""
    shifted = lower.copy()
    shifted.flat[:: len(lower) + 1] += shift
    # LAPACK reads columns: the lower triangle of our rows is its upper triangle, without a copy.
    factor, trouble = lapack.dpotrf(shifted.T, lower=0, clean=0, overwrite_a=1)
    if trouble == 0:
        factor, trouble = lapack.dpotri(factor, lower=0, overwrite_c=1)
    return None if trouble else np.ascontiguousarray(factor.T)


def smallest_eigenpair(lower: Matrix) -> tuple[float, NDArray[np.float64]]:
    """Smallest eigenvalue and its eigenvector."""
    values, vectors = scipy.linalg.eigh(lower, lower=True, subset_by_index=[0, 0], check_finite=False)
    return float(values[0]), vectors[:, 0]


def projected(A: Matrix) -> Matrix:
    """The nearest positive semidefinite matrix; A itself if it is one to rounding."""
    # Cholesky ends at once where A is not positive definite, and takes a tenth of the time where it is.
    if lapack.dpotrf(A, lower=1, clean=0)[1] == 0:
        return A
    # Divide and conquer: with all vectors wanted it is the fastest of LAPACK's solvers.
    values, vectors = scipy.linalg.eigh(A, check_finite=False, driver="evd")
    if values[0] >= -len(A) * np.finfo(float).eps * max(values[-1], 0.0):
        return A
    kept = values > 0.0
    half = vectors[:, kept] * np.sqrt(values[kept])
    return np.asarray(half @ half.T)
