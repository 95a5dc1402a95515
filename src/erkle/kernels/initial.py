"""The matrix that a dense kernel starts from."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from erkle.kernels import lapack


def check_initial_kernel(K: Any, n_objects: int) -> NDArray[np.float64]:
    """K as an array of floats, or a `ValueError` if it is not a kernel of ``n_objects`` objects; None: the identity."""
    if K is None:
        return np.eye(n_objects)
    try:
        K = np.asarray(K).astype(np.float64, casting="same_kind")
    except (TypeError, ValueError) as error:
        raise ValueError("The initial kernel is not an array of numbers; pass a matrix of floats.") from error
    if K.shape != (n_objects, n_objects):
        raise ValueError(f"The initial kernel has shape {K.shape}; pass one of shape ({n_objects}, {n_objects}).")
    if not np.isfinite(K).all():
        raise ValueError("The initial kernel has entries that are not finite; pass finite numbers only.")
    scale = np.abs(K).max()
    if scale > 0.0 and not 1e-100 < scale < 1e100:
        raise ValueError(f"The initial kernel has entries up to {scale:.3g}; scale it to between 1e-100 and 1e100.")
    if np.abs(K - K.T).max() > 1e-8 * scale:
        raise ValueError("The initial kernel is not symmetric; pass (K + K.T) / 2.")
    smallest = smallest_eigenvalue(K)
    if smallest < -1e-8 * scale:
        raise ValueError(
            f"The initial kernel has the eigenvalue {smallest:.3g}, but a kernel has no negative eigenvalues; "
            "project it onto the positive semidefinite cone first."
        )
    return lapack.projected(0.5 * (K + K.T))


def smallest_eigenvalue(K: NDArray[np.float64]) -> float:
    """The smallest eigenvalue of a symmetric matrix."""
    if lapack.is_diagonal(K):
        return float(np.diag(K).min())
    with lapack.one_thread(len(K)):
        return lapack.smallest_eigenpair(K)[0]
