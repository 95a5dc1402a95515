"""The inverse of a symmetric positive definite matrix, in place and in blocks between which Ctrl-C takes effect.

Sweeping the rows k replaces A_kk by -A_kk^-1, A_k: by A_kk^-1 A_k:, and every other A_ij by A_ij - A_ik A_kk^-1 A_kj.
After all rows have been swept, the matrix is -A^-1. A is positive definite exactly if each block A_kk is, at the time
it is swept. LAPACK inverts a matrix of one block.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack

from erkle.interruption import let_signals_through
from erkle.kernels.lapack import is_diagonal, symmetric

Floats = NDArray[np.floating[Any]]

# Largest matrix of one block. LAPACK inverts it in about half a second, or a second in float64.
LARGEST_BLOCK = 4096
# Rows of a block in larger matrices: at 20,000 objects a sweep takes about as long as one answer.
ROWS = 128


def invert_shifted(lower: NDArray[np.float64], shift: float, out: Floats) -> bool:
    """Write (A + shift I)^-1 to the lower triangle of ``out``, computed in the type of ``out``.

    Return False if A + shift I is not positive definite; ``out`` is then undefined.
    """
    np.copyto(out, lower, casting="same_kind")
    diagonal = out.reshape(-1)[:: len(out) + 1]
    diagonal += shift
    if is_diagonal(lower):
        if not (diagonal > 0.0).all():
            return False
        np.divide(1.0, diagonal, out=diagonal, casting="same_kind")
        return True
    return _invert(out) if len(out) <= LARGEST_BLOCK else _sweep_all(out)


def _invert(A: Floats) -> bool:
    """Replace the lower triangle of A by that of its inverse; return False if A is not positive definite."""
    # LAPACK reads columns, so the lower triangle of our rows is its upper triangle; it works in place.
    factorise, invert = _routines(lapack, A, "potrf", "potri")
    trouble = factorise(A.T, lower=0, clean=0, overwrite_a=1)[1]
    return bool(trouble == 0 and invert(A.T, lower=0, overwrite_c=1)[1] == 0)


def _sweep_all(A: Floats) -> bool:
    for start in range(0, len(A), ROWS):
        let_signals_through()
        if not _sweep(A, slice(start, min(start + ROWS, len(A)))):
            return False
    np.negative(A, out=A)
    return True


def _sweep(A: Floats, k: slice) -> bool:
    factorise, invert = _routines(lapack, A, "potrf", "potri")
    solve, update = _routines(blas, A, "trsm", "syrk")
    block = symmetric(A[k, k])
    columns = np.concatenate([A[k, : k.start].T, block, A[k.stop :, k]])
    factor, trouble = factorise(block, lower=1)
    if trouble:
        return False
    half = solve(1.0, factor, columns, side=1, lower=1, trans_a=1)
    update(-1.0, half, beta=1.0, c=A.T, lower=0, overwrite_c=1)
    whole = solve(1.0, factor, half, side=1, lower=1)
    A[k, : k.start], A[k.stop :, k] = whole[: k.start].T, whole[k.stop :]
    A[k, k] = -np.tril(invert(factor, lower=1)[0])
    return True


def _routines(library: Any, A: Floats, *names: str) -> list[Any]:
    """Routines for the type of A."""
    return [getattr(library, ("s" if A.dtype == np.float32 else "d") + name) for name in names]
