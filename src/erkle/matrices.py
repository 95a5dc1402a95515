"""The boundary for matrices: a kernel is square, symmetric and finite, a map has a row for each object."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["check_kernel", "check_map", "is_plain"]

# What single precision leaves of a symmetric matrix, as a share of the largest entry.
_SYMMETRY = 1e-6


def check_kernel(K: ArrayLike, name: str = "K") -> NDArray[np.float64]:
    """K as an array of floats, or a `ValueError` that says why it is no kernel; eigenvalues are not looked at.

    >>> check_kernel([[1, 0], [0, 1]]).shape
    (2, 2)
    """
    K = _check_numbers(K, name)
    if K.ndim != 2 or K.shape[0] != K.shape[1] or not len(K):
        raise ValueError(
            f"Got {name} of shape {K.shape}, wanted (n_objects, n_objects); pass a kernel, not coordinates."
        )
    if np.abs(K - K.T).max() > _SYMMETRY * np.abs(K).max():
        raise ValueError(
            f"Got {name} that is not symmetric, wanted a kernel; pass ({name} + {name}.T) / 2 if that is what you mean."
        )
    return K


def check_map(X: ArrayLike, name: str = "X") -> NDArray[np.float64]:
    """X as an array of floats with a row for each object, or a `ValueError` that says why it is not.

    >>> check_map([[0, 1], [2, 3], [4, 5]]).shape
    (3, 2)
    """
    X = _check_numbers(X, name)
    if X.ndim != 2:
        raise ValueError(
            f"Got {name} of shape {X.shape}, wanted (n_objects, n_components); pass one row for each object."
        )
    return X


def _check_numbers(A: ArrayLike, name: str) -> NDArray[np.float64]:
    A = np.asarray(A)
    if A.dtype.kind not in "buif" or not np.isfinite(A).all():
        raise ValueError(f"Got {name} with entries that are not finite numbers; remove NaN, infinity and text from it.")
    return A.astype(np.float64, copy=False)


def is_plain(array: Any, shape: tuple[int, ...]) -> bool:
    """Whether it is an array of finite floats of this shape.

    >>> is_plain(np.eye(2), (2, 2)), is_plain(np.array([np.nan]), (1,))
    (True, False)
    """
    return bool(array.shape == shape and array.dtype == np.float64 and np.isfinite(array).all())
